# What is installed, by component, and the .deb that CPack makes of it (`make package`):
#   programs  lockstep, its manual pages and completions
#   worker    lockstep-worker and the MPI module, for the LibTorch that they were built against
#   simulator lockstep-sim, for the SimGrid that it was built against
#   library   lockstep::lockstep for programs of your own (src/lockstep/library)
include(GNUInstallDirs)
install(TARGETS lockstep RUNTIME COMPONENT programs)
install(FILES LICENSE NOTICE CHANGELOG.md README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT programs)
install(DIRECTORY examples/studies DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples COMPONENT programs)
if(LOCKSTEP_WORKER)
  # The tarball brings libraries there that a host may lack.
  set_target_properties(lockstep-worker PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/lockstep")
  install(TARGETS lockstep-worker RUNTIME COMPONENT worker)
  if(TARGET lockstep-mpi)
    set_target_properties(lockstep-mpi PROPERTIES INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
    install(TARGETS lockstep-mpi LIBRARY DESTINATION lib/lockstep COMPONENT worker)
    install(TARGETS lockstep-mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/lockstep COMPONENT library)
  endif()
endif()
if(TARGET lockstep-sim)
  install(TARGETS lockstep-sim RUNTIME COMPONENT simulator)
endif()

# Manual pages and completions, from the options of the program itself.
set(texts ${CMAKE_BINARY_DIR}/texts)
add_custom_command(
  OUTPUT ${texts}/stamp
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${texts}
  COMMAND lockstep manual ${texts}/man1
  COMMAND gzip -n9 -r ${texts}/man1
  COMMAND lockstep completion bash > ${texts}/lockstep
  COMMAND lockstep completion zsh > ${texts}/_lockstep
  COMMAND lockstep completion fish > ${texts}/lockstep.fish
  COMMAND ${CMAKE_COMMAND} -E touch ${texts}/stamp
  DEPENDS lockstep
  COMMENT "Writing manual pages and completions"
  VERBATIM)
add_custom_target(texts ALL DEPENDS ${texts}/stamp)
install(DIRECTORY ${texts}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT programs)
install(FILES ${texts}/lockstep DESTINATION share/bash-completion/completions COMPONENT programs)
install(FILES ${texts}/_lockstep DESTINATION share/zsh/vendor-completions COMPONENT programs)
install(FILES ${texts}/lockstep.fish DESTINATION share/fish/vendor_completions.d COMPONENT programs)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME lockstep)
set(CPACK_PACKAGE_CONTACT "the Lockstep authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Data-parallel training: train, study, decide")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Trains networks on several workers with LibTorch, studies how training scales
with any command or from the logs of other tools, and names the configuration
that pays.")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libopenblas0-openmp, dataset-fashion-mnist")
include(CPack)
