# Compiler settings shared by every target: language level, warnings, sanitizers, ccache, linker.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
# -O1 and no debug information: two thirds of the compile time of -O2 -g. Modules that compute for long have -O2
# (FAST in their CMakeLists.txt), and the loops that training and sums spend their time in have -O3.
set(CMAKE_CXX_FLAGS_RELEASE "-O1")
# For profilers and back traces with line numbers; -g1 takes a third of the compile time that -g adds.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
if(LOCKSTEP_SANITIZE MATCHES "address" AND NOT LOCKSTEP_FUZZ)
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O0 -g1")  # 0.6 of the compile time of -O1; the tests are short
endif()
# One kind of object for programs and the shared library, so that one precompiled header serves both.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_program(LOCKSTEP_CCACHE ccache)
if(LOCKSTEP_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Precompiled headers need these two to be cached at all.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${LOCKSTEP_CCACHE})
endif()
# GCC frees memory whenever its heap has doubled, from 128 MB on: 5 % of a compilation. From 1 GB on only the largest do.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options("SHELL:--param ggc-min-heapsize=1000000")
endif()
find_program(LOCKSTEP_MOLD mold)
if(LOCKSTEP_MOLD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_link_options(-fuse-ld=mold)
endif()

# Warnings are errors with the compiler that CI has. Other versions warn of other things, which must not keep
# anybody from building.
set(werror OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.")
  set(werror ON)
endif()
option(LOCKSTEP_WERROR "Treat warnings as errors" ${werror})
# Joined sources look like headers to this warning: types of anonymous namespaces are fine there.
add_compile_options(-Wno-subobject-linkage)
add_compile_options(-Wall -Wextra -Wno-unused-parameter)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  add_compile_options(-Wno-restrict)  # false alarms on std::string (GCC bug 105651)
endif()
if(LOCKSTEP_CCACHE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-fpch-preprocess)
endif()
if(LOCKSTEP_WERROR)
  # Not maybe-uninitialized: GCC 12 takes the members of an empty std::optional for uninitialized ones when it
  # inlines its destructor. Nor what another version of a library calls deprecated.
  add_compile_options(-Werror -Wno-error=maybe-uninitialized -Wno-error=deprecated-declarations)
endif()
if(LOCKSTEP_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(LOCKSTEP_SANITIZE)
  # The first finding ends the program, so that the test fails.
  add_compile_options(-fsanitize=${LOCKSTEP_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${LOCKSTEP_SANITIZE})
endif()
