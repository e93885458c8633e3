# Every third-party library, found once. Nothing is downloaded at configure time.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Eigen3 REQUIRED)
find_package(NLopt REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)  # of comm alone
find_package(PNG REQUIRED)
pkg_check_modules(HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib)
pkg_check_modules(TURBOJPEG REQUIRED IMPORTED_TARGET libturbojpeg)
pkg_check_modules(TOMLPLUSPLUS REQUIRED IMPORTED_TARGET tomlplusplus)
pkg_check_modules(SIMGRID IMPORTED_TARGET simgrid)  # of lockstep-sim alone, which is left out without it
if(LOCKSTEP_WORKER)
  find_package(OpenMP REQUIRED COMPONENTS CXX)
  pkg_check_modules(OMPI IMPORTED_TARGET ompi-c)  # for the MPI back end, which is left out without it
endif()
if(BUILD_TESTING)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
