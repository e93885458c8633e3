# The two commands of a newcomer: `make run` and `make test`. Both install what is missing (once),
# build, and are quick the second time. `make package` makes what is given to others, in dist/.
# Everything else is CMake (see CONTRIBUTING.md).
BUILD ?= build/release
STORE ?= lockstep.db
PRESET ?= release
DIST ?= dist
DEPENDENCIES ?= install

# $(call install, LIST...): the packages of tools/packages/LIST.txt that are missing.
ifeq ($(DEPENDENCIES),skip)
install =
static_libraries =
else
install = @tools/install-dependencies $(1:%=tools/packages/%.txt)
static_libraries = tools/package/static-libraries build/static-libraries
endif

# The first configuration; what it leaves out is reported when all programs are built. Without ccache, which makes a
# first build 6 % longer.
configure_once = mkdir -p $(BUILD) && { test -f $(BUILD)/build.ninja || { \
  echo "building lockstep and its worker: about 6 minutes on 2 cores, the first time" >&2; \
  cmake --preset $(PRESET) -B $(BUILD) -DBUILD_TESTING=OFF -DLOCKSTEP_CCACHE=OFF > $(BUILD)/configure.log 2>&1 || { \
  tail -n 20 $(BUILD)/configure.log >&2; exit 3; }; }; }

# $(call run_tests, FOLDER, CHOICE)
define run_tests
@ctest --test-dir $(1) $(2) --output-on-failure -j $$(nproc) || { \
  echo "repeating the failed tests one at a time" >&2; \
  ctest --test-dir $(1) $(2) --output-on-failure --rerun-failed; }
endef

.PHONY: run test programs all package bench format-check sanitized lint clean

# The verdict first: the page and the simulator, which the first study does not need, are built after it.
run:
	$(call install, programs)
	@$(configure_once)
	@tools/build $(BUILD) lockstep lockstep-worker
	@tools/first-study $(BUILD)/bin/lockstep $(STORE)
	@test -x $(BUILD)/bin/lockstep-sim || echo "building the rest: the page of report --html and serve, and the simulator" >&2
	@$(MAKE) --no-print-directory programs

# What CI runs. The quick checks come first; the first failure ends it. Tests that failed beside others are repeated
# alone, once, under their names: on a busy machine that tells a defect from a shortage of processors.
test: format-check all sanitized
	$(call run_tests, $(BUILD))

# Only what a user runs: no tests, no benchmarks, and none of their packages.
programs:
	$(call install, programs page-and-simulator)
	@$(configure_once)
	@cmake $(BUILD) --log-level=WARNING > $(BUILD)/configure.log
	@tools/build $(BUILD) programs

# Without the sources that the static program needs, it and the tests of it are left out.
all:
	$(call install, programs page-and-simulator tests)
	-@$(static_libraries)
	@mkdir -p $(BUILD)
	@cmake --preset $(PRESET) -B $(BUILD) -DBUILD_TESTING=ON --log-level=WARNING > $(BUILD)/configure.log
	@tools/build $(BUILD) all

# The static program, the wheel, the .deb and the tarball with the worker.
package:
	$(call install, programs page-and-simulator package)
	@$(static_libraries)
	@mkdir -p $(BUILD)
	@cmake --preset $(PRESET) -B $(BUILD) --log-level=WARNING > $(BUILD)/configure.log
	@tools/build $(BUILD) programs texts lockstep-static
	@tools/package/all $(BUILD) $(DIST)

bench: programs
	@cmake --build $(BUILD) --target bench

format-check:
	$(call install, tests)
	@git ls-files '*.cpp' '*.h' | xargs clang-format --dry-run --Werror

# The tests of the torch-free modules under AddressSanitizer and UndefinedBehaviorSanitizer. Tests of whole programs
# run the same code, and would take as long again to build.
# A library that the host preloads, as many clusters do, comes before ASan's; without the option tests would not start.
sanitized: export ASAN_OPTIONS += verify_asan_link_order=0
sanitized:
	$(call install, programs page-and-simulator tests)
	@mkdir -p build/asan
	@cmake --preset asan -DLOCKSTEP_WORKER=OFF --log-level=WARNING > build/asan/configure.log
	@tools/build build/asan module_tests
	$(call run_tests, build/asan, -L module)

lint:
	@tools/lint

clean:
	rm -rf build
