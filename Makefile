# The two commands of a newcomer: `make run` and `make test`. Both install what is missing (once),
# build, and are quick the second time. Everything else is CMake (see CONTRIBUTING.md).
BUILD ?= build/release
STORE ?= lockstep.db
PRESET ?= release
DEPENDENCIES ?= install

.PHONY: run test build bench dependencies clean

run: build
	tools/first-study $(BUILD)/bin/lockstep $(STORE)

test: build
	ctest --test-dir $(BUILD) --output-on-failure -j $$(nproc)

build: dependencies
	@test -f $(BUILD)/build.ninja || cmake --preset $(PRESET) -B $(BUILD)
	@cmake --build $(BUILD)

dependencies:
ifneq ($(DEPENDENCIES),skip)
	@tools/install-dependencies tools/debian-packages.txt
endif

clean:
	rm -rf build
