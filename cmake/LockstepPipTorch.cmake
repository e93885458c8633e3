# The LibTorch of a pip install, in LOCKSTEP_TORCH_ROOT: sets LOCKSTEP_TORCH_LIBRARIES, TORCH_INCLUDE_DIRS
# and TORCH_CXX_FLAGS.
set(lib ${LOCKSTEP_TORCH_ROOT}/lib)
set(TORCH_INCLUDE_DIRS ${LOCKSTEP_TORCH_ROOT}/include ${LOCKSTEP_TORCH_ROOT}/include/torch/csrc/api/include)
set(TORCH_CXX_FLAGS "-DUSE_DISTRIBUTED -DUSE_C10D_GLOO")
file(STRINGS ${LOCKSTEP_TORCH_ROOT}/version.py version REGEX "__version__ = ")
string(REGEX REPLACE ".*'([^']+)'.*" "\\1" version "${version}")
message(STATUS "LibTorch ${version} of a pip install: ${LOCKSTEP_TORCH_ROOT}")

# As flags, since CMake would warn of the OpenMP runtime that lies beside them: it is the one to use.
# Nothing calls into torch_cuda by name: it must stay for what it registers.
set(LOCKSTEP_TORCH_LIBRARIES -L${lib} -Wl,-rpath,${lib} -Wl,--allow-shlib-undefined
    -Wl,--no-as-needed -ltorch -ltorch_cpu -lc10)

if(EXISTS ${lib}/libtorch_cuda.so)
  # Headers and run-time library of CUDA, from the packages that pip installed beside torch or a toolkit.
  file(GLOB cuda_headers LIST_DIRECTORIES true ${LOCKSTEP_TORCH_ROOT}/../nvidia/*/include)
  list(APPEND cuda_headers /usr/local/cuda/include)
  foreach(header IN ITEMS cuda_runtime.h crt/host_config.h cublas_v2.h cusolverDn.h nccl.h)
    find_path(LOCKSTEP_HAS_${header} ${header} PATHS ${cuda_headers} NO_DEFAULT_PATH)
    mark_as_advanced(LOCKSTEP_HAS_${header})
    if(NOT LOCKSTEP_HAS_${header})
      list(APPEND missing ${header})
    endif()
  endforeach()
  file(GLOB cudart ${LOCKSTEP_TORCH_ROOT}/../nvidia/*/lib/libcudart.so* /usr/local/cuda/lib64/libcudart.so)
  if(cudart)
    list(GET cudart 0 cudart)
  else()
    list(APPEND missing libcudart.so)
  endif()
  if(missing)
    message(WARNING "This LibTorch has CUDA, but ${missing} was not found: building for CPUs only. "
      "A CUDA toolkit in /usr/local/cuda has them, or: pip install nvidia-cuda-crt, in the version of the "
      "nvidia-cuda-runtime that is installed.")
  else()
    list(APPEND LOCKSTEP_TORCH_LIBRARIES -ltorch_cuda -lc10_cuda ${cudart})
    list(APPEND TORCH_INCLUDE_DIRS ${cuda_headers})
    string(APPEND TORCH_CXX_FLAGS " -DUSE_C10D_NCCL")
    set(LOCKSTEP_CUDA ON)
  endif()
endif()
