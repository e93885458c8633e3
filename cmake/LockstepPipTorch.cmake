# The LibTorch of a pip install, in LOCKSTEP_TORCH_ROOT: sets LOCKSTEP_TORCH_LIBRARIES, TORCH_INCLUDE_DIRS,
# TORCH_CXX_FLAGS, Torch_VERSION and LOCKSTEP_HAS_CUDA.
include(LockstepCuda)
set(lib ${LOCKSTEP_TORCH_ROOT}/lib)
set(TORCH_INCLUDE_DIRS ${LOCKSTEP_TORCH_ROOT}/include ${LOCKSTEP_TORCH_ROOT}/include/torch/csrc/api/include)
set(TORCH_CXX_FLAGS "-DUSE_DISTRIBUTED -DUSE_C10D_GLOO")
file(STRINGS ${LOCKSTEP_TORCH_ROOT}/version.py version REGEX "__version__ = ")
string(REGEX REPLACE ".*'([^']+)'.*" "\\1" version "${version}")
string(REGEX REPLACE "\\+.*" "" Torch_VERSION "${version}")
message(STATUS "LibTorch ${version} of a pip install: ${LOCKSTEP_TORCH_ROOT}")

# Wheels up to 2.5 have strings of the C++ ABI before GCC 5; every other library here has the new one, and
# linking both fails with a page of undefined references. The constructor of c10::Error takes one; some names of the
# standard library are there with the new ABI in any wheel.
file(STRINGS ${lib}/libc10.so new_abi REGEX "3c105ErrorC[12]E.*__cxx11" LIMIT_COUNT 1)
if(NOT new_abi)
  message(FATAL_ERROR "LibTorch ${version} in ${LOCKSTEP_TORCH_ROOT} was built with the old C++ ABI "
    "(_GLIBCXX_USE_CXX11_ABI=0), which does not link with the other libraries. Use a wheel of torch 2.6 or later, "
    "the LibTorch zip with \"cxx11 ABI\" in its name, or libtorch-dev.")
endif()

# As flags, since CMake would warn of the OpenMP runtime that lies beside them: it is the one to use.
# Nothing calls into torch_cuda by name: it must stay for what it registers.
set(LOCKSTEP_TORCH_LIBRARIES -L${lib} -Wl,-rpath,${lib} -Wl,--allow-shlib-undefined
    -Wl,--no-as-needed -ltorch -ltorch_cpu -lc10)

set(LOCKSTEP_HAS_CUDA OFF)
set(use_cuda ON)
if(DEFINED LOCKSTEP_CUDA AND NOT LOCKSTEP_CUDA)
  set(use_cuda OFF)
endif()
if(use_cuda AND EXISTS ${lib}/libtorch_cuda.so)
  file(GLOB packages LIST_DIRECTORIES true ${LOCKSTEP_TORCH_ROOT}/../nvidia/*)
  lockstep_find_cuda(cuda_headers cudart missing ${packages})
  if(missing)
    list(JOIN missing ", " missing)
    lockstep_cuda_missing("${missing} was not found" "Set CUDA_HOME to a CUDA toolkit, or: pip install \
nvidia-cuda-crt, in the version of the nvidia-cuda-runtime that is installed.")
  else()
    cmake_path(GET cudart PARENT_PATH cudart_folder)
    list(APPEND LOCKSTEP_TORCH_LIBRARIES -ltorch_cuda -lc10_cuda ${cudart} -Wl,-rpath,${cudart_folder})
    list(APPEND TORCH_INCLUDE_DIRS ${cuda_headers})
    string(APPEND TORCH_CXX_FLAGS " -DUSE_C10D_NCCL")
    set(LOCKSTEP_HAS_CUDA ON)
  endif()
elseif(LOCKSTEP_CUDA)
  message(FATAL_ERROR "-DLOCKSTEP_CUDA=ON, but LibTorch ${version} in ${LOCKSTEP_TORCH_ROOT} was built without CUDA. "
    "Install a wheel with CUDA.")
endif()
