# Compiling several sources as one spares most of the cost of a cold build, which is headers. Names in
# anonymous namespaces are therefore unique within a module. Turn it off to edit one file again and again.
option(LOCKSTEP_JOIN_SOURCES "Compile several sources as one: a third of the cold build" ON)
set(LOCKSTEP_SEPARATE "" CACHE STRING "Modules whose sources are compiled one by one (import;predict)")

# lockstep_join(TARGET COUNT): compiles COUNT sources of the target as one.
function(lockstep_join target count)
  set(join ${LOCKSTEP_JOIN_SOURCES})
  string(REGEX REPLACE "^lockstep_|_test$" "" module ${target})
  if(module IN_LIST LOCKSTEP_SEPARATE)
    set(join OFF)
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${join}
                                             UNITY_BUILD_BATCH_SIZE ${count})
endfunction()

# lockstep_precompile(NAME HEADERS): a precompiled header for targets with the flags of the target lockstep_NAME_pch.
function(lockstep_precompile name)
  set(source ${CMAKE_BINARY_DIR}/${name}_pch.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "// A library has a source.\n")
  add_library(lockstep_${name}_pch STATIC ${source})
  target_link_libraries(lockstep_${name}_pch PUBLIC fmt::fmt nlohmann_json::nlohmann_json)
  target_precompile_headers(lockstep_${name}_pch PRIVATE ${ARGN})
endfunction()

# Of loops with LOCKSTEP_SIMD_CLONES. GCC 12 vectorises them only from -O3 up. Their AVX-512 version would fuse products
# with sums, the others cannot: ranks on different CPUs must compute the same bits.
set(LOCKSTEP_LOOPS -O3 -ffp-contract=off)

# lockstep_fast(TARGET): compiled with -O2.
function(lockstep_fast target)
  if(CMAKE_BUILD_TYPE MATCHES "^Rel" AND NOT LOCKSTEP_SANITIZE)
    target_compile_options(${target} PRIVATE -O2)
  endif()
endfunction()

# The headers that most sources include cost 3 s per compilation: once for each set of flags instead.
set(lockstep_common_headers <algorithm> <array> <chrono> <cmath> <cstdint> <cstring> <filesystem> <fstream> <functional>
    <map> <memory> <optional> <set> <span> <sstream> <string> <string_view> <vector> <fmt/format.h> <fmt/ranges.h>
    <nlohmann/json.hpp>)
lockstep_precompile(plain ${lockstep_common_headers})
lockstep_precompile(fast ${lockstep_common_headers})
lockstep_fast(lockstep_fast_pch)
if(BUILD_TESTING)
  lockstep_precompile(test ${lockstep_common_headers} <gtest/gtest.h>)
  target_compile_options(lockstep_test_pch PRIVATE -O0)
  target_link_libraries(lockstep_test_pch PUBLIC GTest::gtest)
endif()

# The tests of all modules, without those of whole programs: `ninja module_tests`, `ctest -L module`.
add_custom_target(module_tests)

# lockstep_module(NAME SOURCES ... [TESTS ...] [DEPENDS modules ...] [LINK third-party targets ...]
#                 [PUBLIC_LINK third-party targets ...] [TORCH] [FAST] [OWN_FLAGS])
#
# Declares one folder of src/lockstep as the library lockstep::NAME, and its *_test.cpp files as the
# program NAME_test. DEPENDS are the modules below it, which its files may include. A third-party library
# is in PUBLIC_LINK if its headers are included by headers of the module, else in LINK. FAST modules have code that runs
# for long; OWN_FLAGS ones are compiled with flags that the precompiled headers were made without.
function(lockstep_module name)
  cmake_parse_arguments(ARG "TORCH;FAST;OWN_FLAGS" "" "SOURCES;TESTS;DEPENDS;LINK;PUBLIC_LINK" ${ARGN})
  set(target lockstep_${name})
  add_library(${target} STATIC ${ARG_SOURCES})
  add_library(lockstep::${name} ALIAS ${target})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  list(TRANSFORM ARG_DEPENDS PREPEND lockstep::)
  target_link_libraries(${target} PUBLIC ${ARG_DEPENDS} ${ARG_PUBLIC_LINK} PRIVATE ${ARG_LINK})
  set(torch "")
  if(ARG_TORCH)
    set(torch TORCH)
    lockstep_use_torch(${target})
    lockstep_join(${target} 32)
  else()
    lockstep_join(${target} 24)
    if(ARG_FAST)
      lockstep_fast(${target})
      target_precompile_headers(${target} REUSE_FROM lockstep_fast_pch)
    else()
      target_precompile_headers(${target} REUSE_FROM lockstep_plain_pch)
    endif()
  endif()
  set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ${ARG_OWN_FLAGS})
  if(BUILD_TESTING AND ARG_TESTS)
    lockstep_test(${name}_test SOURCES ${ARG_TESTS} LINK ${target} ${ARG_LINK} LABEL module ${torch})
    set_target_properties(${name}_test PROPERTIES DISABLE_PRECOMPILE_HEADERS ${ARG_OWN_FLAGS})
    add_dependencies(module_tests ${name}_test)
  endif()
endfunction()

# lockstep_test(NAME SOURCES ... [LINK targets ...] [LABEL label] [TORCH]): a GoogleTest program, one ctest per case.
# The tests themselves are not optimised: compiling them is most of what they cost.
function(lockstep_test name)
  cmake_parse_arguments(ARG "TORCH" "LABEL" "SOURCES;LINK" ${ARGN})
  set(labels "")
  if(ARG_LABEL)
    set(labels LABELS ${ARG_LABEL})
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest_main)
  lockstep_join(${name} 16)
  if(ARG_TORCH)
    lockstep_use_torch(${name})
  else()
    target_compile_options(${name} PRIVATE -O0 -fPIC)
    target_precompile_headers(${name} REUSE_FROM lockstep_test_pch)
  endif()
  set(limit 300)
  if(LOCKSTEP_SANITIZE)
    set(limit 1200)  # not optimised
  endif()
  gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES
    PROPERTIES TIMEOUT ${limit} ${labels})
endfunction()

# lockstep_embed(OUTPUT NAMESPACE ... FUNCTION ... HEADER ... FOLDER ... FILES ...): a source that carries the
# files inside the program; see EmbedFiles.cmake.
function(lockstep_embed output)
  cmake_parse_arguments(ARG "" "NAMESPACE;FUNCTION;HEADER;FOLDER" "FILES" ${ARGN})
  list(TRANSFORM ARG_FILES PREPEND ${ARG_FOLDER}/ OUTPUT_VARIABLE paths)
  set(script ${PROJECT_SOURCE_DIR}/cmake/EmbedFiles.cmake)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DNAMESPACE=${ARG_NAMESPACE} -DFUNCTION=${ARG_FUNCTION} -DHEADER=${ARG_HEADER}
      -DFOLDER=${ARG_FOLDER} "-DFILES=${ARG_FILES}" -DOUTPUT=${output} -P ${script}
    DEPENDS ${paths} ${script}
    COMMENT "Embedding ${ARG_FUNCTION}"
    VERBATIM)
  # tools/lint reads joined sources without building anything.
  set_source_files_properties(${output} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
