# The two commands of a newcomer: `make run` and `make test`. Both install what is missing (once),
# build, and are quick the second time. Everything else is CMake (see CONTRIBUTING.md).
BUILD ?= build/release
STORE ?= lockstep.db
PRESET ?= release
DEPENDENCIES ?= install

# $(call install, LIST...): the packages of tools/packages/LIST.txt that are missing.
ifeq ($(DEPENDENCIES),skip)
install =
else
install = @tools/install-dependencies $(1:%=tools/packages/%.txt)
endif

.PHONY: run test programs all bench format-check sanitized lint clean

run: programs
	@tools/first-study $(BUILD)/bin/lockstep $(STORE)

test: all format-check
	ctest --test-dir $(BUILD) --output-on-failure -j $$(nproc)

# Only what a user runs: no tests, no benchmarks, and none of their packages.
programs:
	$(call install, programs)
	@test -f $(BUILD)/build.ninja || cmake --preset $(PRESET) -B $(BUILD) -DBUILD_TESTING=OFF --log-level=WARNING
	@NINJA_STATUS='[%p after %e s] ' cmake --build $(BUILD) --target programs

all:
	$(call install, programs tests)
	@cmake --preset $(PRESET) -B $(BUILD) -DBUILD_TESTING=ON --log-level=WARNING
	@cmake --build $(BUILD)

bench: programs
	@cmake --build $(BUILD) --target bench

format-check:
	@git ls-files '*.cpp' '*.h' | xargs clang-format --dry-run --Werror

# The torch-free modules and the commands under AddressSanitizer and UndefinedBehaviorSanitizer.
sanitized:
	@cmake --preset asan -DLOCKSTEP_WORKER=OFF --log-level=WARNING
	@cmake --build build/asan
	ctest --test-dir build/asan --output-on-failure -j $$(nproc) -LE browser

lint:
	@tools/lint

clean:
	rm -rf build
