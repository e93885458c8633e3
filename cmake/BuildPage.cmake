# Run at build time by lockstep_page_assets(): fetches what web/ needs when that changed, then bundles.
file(REMOVE ${STAMP})

function(leave_out reason)
  message("warning: ${reason}\n"
    "warning: lockstep report --html and lockstep serve are left out of this build; all else is built. "
    "The next build tries again.")
  file(COPY_FILE ${WITHOUT} ${OUTPUT} ONLY_IF_DIFFERENT)
endfunction()

# npm ci writes this file last, so it marks a complete installation.
set(installed ${WEB}/node_modules/.package-lock.json)
if(NOT EXISTS ${installed} OR ${WEB}/package-lock.json IS_NEWER_THAN ${installed})
  execute_process(COMMAND ${NPM} ci --no-audit --no-fund --fetch-retries=1
      --fetch-timeout=20000 --loglevel=error
    WORKING_DIRECTORY ${WEB} TIMEOUT 300 RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE said)
  if(failed)
    leave_out("npm ci could not fetch what the page needs (no network?): ${said}")
    return()
  endif()
  file(TOUCH ${installed})
endif()
execute_process(COMMAND ${NODE} ${WEB}/build.mjs ${OUTPUT} RESULT_VARIABLE failed)
if(failed)
  # Not the network: a mistake in web/ must not pass as a build without a page.
  message(FATAL_ERROR "web/build.mjs failed")
endif()
file(TOUCH ${STAMP})
