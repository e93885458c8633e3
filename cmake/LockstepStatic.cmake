# lockstep-static: the torch-free program as one file without shared libraries, for any x86-64 Linux since
# kernel 3.10. The same objects as lockstep in another link: only serve is compiled again, because Debian's
# cpp-httplib is built with OpenSSL. Exists where tools/package/static-libraries has made the archives that
# Debian lacks (`make package` and `make test` call it).
set(LOCKSTEP_STATIC_LIBRARIES ${PROJECT_SOURCE_DIR}/build/static-libraries CACHE PATH
    "Folder that tools/package/static-libraries filled")
if(NOT EXISTS ${LOCKSTEP_STATIC_LIBRARIES}/done OR LOCKSTEP_SANITIZE)
  return()
endif()

get_target_property(serve_sources lockstep_serve SOURCES)
list(TRANSFORM serve_sources PREPEND ${PROJECT_SOURCE_DIR}/src/lockstep/serve/)
add_library(lockstep_static_parts STATIC ${serve_sources} ${CMAKE_CURRENT_LIST_DIR}/static/toml.cpp)
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/static/toml.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
target_include_directories(lockstep_static_parts SYSTEM BEFORE PRIVATE ${LOCKSTEP_STATIC_LIBRARIES}/include)
target_link_libraries(lockstep_static_parts PRIVATE lockstep::store nlohmann_json::nlohmann_json)
lockstep_join(lockstep_static_parts 12)

# collect_modules(TARGET): the target and all modules that it links, added to `modules`.
function(collect_modules target)
  if(target IN_LIST modules)
    return()
  endif()
  list(APPEND modules ${target})
  get_target_property(linked ${target} LINK_LIBRARIES)
  foreach(name IN LISTS linked)
    string(REPLACE "lockstep::" "lockstep_" name ${name})
    if(name MATCHES "^lockstep_")
      collect_modules(${name})
    endif()
  endforeach()
  set(modules ${modules} PARENT_SCOPE)
endfunction()
set(modules "")
collect_modules(lockstep_cli)
list(REMOVE_ITEM modules lockstep_serve)

# By file: the modules' own link libraries are shared ones. The order does not matter inside a group.
set(archives "")
foreach(module IN LISTS modules)
  list(APPEND archives $<TARGET_FILE:${module}>)
endforeach()
find_library(LOCKSTEP_SQLITE_ARCHIVE libsqlite3.a REQUIRED)
find_library(LOCKSTEP_ZLIB_ARCHIVE libz.a REQUIRED)
# Its own reader of GPU counters finds none: a static program must not load libraries.
add_executable(lockstep-static ${PROJECT_SOURCE_DIR}/apps/lockstep/main.cpp
  ${PROJECT_SOURCE_DIR}/src/lockstep/measure/nvml.cpp)
target_compile_definitions(lockstep-static PRIVATE LOCKSTEP_STATIC)
add_dependencies(lockstep-static ${modules})
target_include_directories(lockstep-static PRIVATE ${PROJECT_SOURCE_DIR}/src $<TARGET_PROPERTY:lockstep_cli,INTERFACE_INCLUDE_DIRECTORIES>)
target_link_options(lockstep-static PRIVATE -static)
target_link_libraries(lockstep-static PRIVATE
  lockstep_static_parts -Wl,--start-group ${archives} -Wl,--end-group
  ${LOCKSTEP_STATIC_LIBRARIES}/lib/libfmt.a ${LOCKSTEP_STATIC_LIBRARIES}/lib/libnlopt.a
  ${LOCKSTEP_SQLITE_ARCHIVE} ${LOCKSTEP_ZLIB_ARCHIVE})
