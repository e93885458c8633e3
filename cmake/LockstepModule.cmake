# Compiling several sources as one spares most of the cost of a cold build, which is headers. Names in
# anonymous namespaces are therefore unique within a module. Turn it off to edit one file again and again.
option(LOCKSTEP_JOIN_SOURCES "Compile several sources as one: a third of the cold build" ON)

# lockstep_join(TARGET COUNT): compiles COUNT sources of the target as one.
function(lockstep_join target count)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${LOCKSTEP_JOIN_SOURCES}
                                             UNITY_BUILD_BATCH_SIZE ${count})
endfunction()

# lockstep_module(NAME SOURCES ... [TESTS ...] [DEPENDS modules ...] [LINK third-party targets ...]
#                 [PUBLIC_LINK third-party targets ...] [TORCH])
#
# Declares one folder of src/lockstep as the library lockstep::NAME, and its *_test.cpp files as the
# program NAME_test. DEPENDS are the modules below it, which its files may include. A third-party library
# is in PUBLIC_LINK if its headers are included by headers of the module, else in LINK.
function(lockstep_module name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;TESTS;DEPENDS;LINK;PUBLIC_LINK" ${ARGN})
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
    lockstep_join(${target} 18)
  else()
    lockstep_join(${target} 12)
  endif()
  if(BUILD_TESTING AND ARG_TESTS)
    lockstep_test(${name}_test SOURCES ${ARG_TESTS} LINK ${target} ${ARG_LINK} ${torch})
  endif()
endfunction()

# lockstep_test(NAME SOURCES ... [LINK targets ...] [TORCH]): a GoogleTest program, one ctest per case.
# The tests themselves are not optimised: compiling them is most of what they cost.
function(lockstep_test name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest_main)
  lockstep_join(${name} 8)
  if(ARG_TORCH)
    lockstep_use_torch(${name})
  else()
    target_compile_options(${name} PRIVATE -O0)
  endif()
  gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES PROPERTIES TIMEOUT 300)
endfunction()
