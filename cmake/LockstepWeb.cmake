# The page of `lockstep report --html` and `lockstep serve`: TypeScript under web/, bundled by esbuild
# into a C++ source. Needs Node and, once, the network for npm ci. Without either the rest is built
# and the program reports what is missing.
find_program(LOCKSTEP_NODE node)
find_program(LOCKSTEP_NPM npm)
set(LOCKSTEP_WEB_SOURCE_DIR ${CMAKE_CURRENT_SOURCE_DIR}/web)

# lockstep_page_assets(VARIABLE): the source file that contains the page, or a note that it is missing.
function(lockstep_page_assets variable)
  if(NOT LOCKSTEP_NODE OR NOT LOCKSTEP_NPM)
    message(WARNING "node and npm were not found: lockstep report --html and lockstep serve are left out. "
      "Install nodejs and npm and configure again to have them; everything else is built.")
    set(${variable} no_assets.cpp PARENT_SCOPE)
    return()
  endif()
  set(output ${CMAKE_CURRENT_BINARY_DIR}/page_assets.cpp)
  set(stamp ${CMAKE_CURRENT_BINARY_DIR}/page_assets.stamp)
  file(GLOB_RECURSE views CONFIGURE_DEPENDS ${LOCKSTEP_WEB_SOURCE_DIR}/src/*)
  add_custom_command(
    # The stamp is missing after a failure, so that the next build tries again.
    OUTPUT ${output} ${stamp}
    COMMAND ${CMAKE_COMMAND} -DNODE=${LOCKSTEP_NODE} -DNPM=${LOCKSTEP_NPM}
      -DWEB=${LOCKSTEP_WEB_SOURCE_DIR} -DOUTPUT=${output} -DSTAMP=${stamp}
      -DWITHOUT=${CMAKE_CURRENT_SOURCE_DIR}/no_assets.cpp
      -P ${PROJECT_SOURCE_DIR}/cmake/BuildPage.cmake
    DEPENDS ${views} ${LOCKSTEP_WEB_SOURCE_DIR}/build.mjs ${LOCKSTEP_WEB_SOURCE_DIR}/notices.mjs ${LOCKSTEP_WEB_SOURCE_DIR}/package.json
      ${LOCKSTEP_WEB_SOURCE_DIR}/package-lock.json ${PROJECT_SOURCE_DIR}/cmake/BuildPage.cmake
    COMMENT "Bundling the page"
    VERBATIM)
  set(${variable} ${output} PARENT_SCOPE)
endfunction()
