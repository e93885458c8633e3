# LibTorch, and the precompiled header that makes building against it bearable.
#
# Debian's libtorch-dev is the default. For the LibTorch inside a pip install of torch, configure with
# -DTorch_DIR=$(python3 -c 'import torch; print(torch.utils.cmake_prefix_path)')/Torch

# The CMake files of a pip install insist on a CUDA toolkit with nvcc, which nothing here needs, and take
# parts of another LibTorch where one is installed: its headers and libraries are named directly.
find_file(LOCKSTEP_TORCH_CONFIG TorchConfig.cmake HINTS ${Torch_DIR} PATHS ${CMAKE_PREFIX_PATH}
  PATH_SUFFIXES Torch share/cmake/Torch NO_DEFAULT_PATH)
get_filename_component(LOCKSTEP_TORCH_ROOT "${LOCKSTEP_TORCH_CONFIG}/../../../.." ABSOLUTE)
if(LOCKSTEP_TORCH_CONFIG AND EXISTS ${LOCKSTEP_TORCH_ROOT}/version.py)
  include(LockstepPipTorch)
  set(LOCKSTEP_PIP_TORCH ${LOCKSTEP_TORCH_ROOT})
else()
  find_package(Torch QUIET)
  if(NOT Torch_FOUND)
    message(FATAL_ERROR "LibTorch was not found, so lockstep-worker cannot be built.\n"
      "Install libtorch-dev, point -DTorch_DIR at the share/cmake/Torch of a pip install, "
      "or configure with -DLOCKSTEP_WORKER=OFF to build the rest.")
  endif()
  set(LOCKSTEP_TORCH_LIBRARIES torch torch_cpu c10)
  set(LOCKSTEP_HAS_CUDA OFF)
  if(TARGET torch_cuda AND NOT (DEFINED LOCKSTEP_CUDA AND NOT LOCKSTEP_CUDA))
    # The zip of LibTorch has no nccl.h, which the header of its NCCL back end includes.
    include(LockstepCuda)
    lockstep_find_cuda(cuda_headers cudart missing)
    if("nccl.h" IN_LIST missing)
      lockstep_cuda_missing("nccl.h was not found" "Install NCCL's headers (libnccl-dev), or set NCCL_HOME.")
    else()
      list(APPEND LOCKSTEP_TORCH_LIBRARIES torch_cuda c10_cuda)
      list(APPEND TORCH_INCLUDE_DIRS ${cuda_headers})
      string(APPEND TORCH_CXX_FLAGS " -DUSE_C10D_NCCL")
      set(LOCKSTEP_HAS_CUDA ON)
    endif()
  elseif(LOCKSTEP_CUDA)
    message(FATAL_ERROR "-DLOCKSTEP_CUDA=ON, but this LibTorch was built without CUDA. "
      "Point -DTorch_DIR at one with CUDA, for example that of pip install torch.")
  endif()
endif()

# A target of our own around Torch's variables: their flags must not leak into torch-free modules,
# and their headers are not ours to warn about.
add_library(lockstep_torch INTERFACE)
target_link_libraries(lockstep_torch INTERFACE ${LOCKSTEP_TORCH_LIBRARIES})
target_include_directories(lockstep_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
if(LOCKSTEP_HAS_CUDA)
  target_compile_definitions(lockstep_torch INTERFACE LOCKSTEP_HAS_CUDA=1)
endif()
separate_arguments(LOCKSTEP_TORCH_FLAGS UNIX_COMMAND "${TORCH_CXX_FLAGS}")
target_compile_options(lockstep_torch INTERFACE ${LOCKSTEP_TORCH_FLAGS})
# A pip install of torch has headers of its own fmt in its include folder, and no library to go with
# them; header-only, either fmt works. FMT_SHARED has no effect then; modules have it from fmt::fmt, and the users of one
# precompiled header must agree.
target_compile_definitions(lockstep_torch INTERFACE FMT_SHARED $<$<BOOL:${LOCKSTEP_PIP_TORCH}>:FMT_HEADER_ONLY=1>)
# Some of these sources are in the shared library too. Compiling all of them for it makes one precompiled header do.
target_compile_options(lockstep_torch INTERFACE -fPIC -fno-semantic-interposition)

# Every torch source includes torch/torch.h: 15-29 s each without a precompiled one. The first target has it made,
# because even an empty source that uses it takes 8 s.
function(lockstep_use_torch target)
  target_link_libraries(${target} PUBLIC lockstep_torch)
  get_property(owner GLOBAL PROPERTY lockstep_torch_header)
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${target} PRIVATE <torch/torch.h> ${lockstep_common_headers})
    set_property(GLOBAL PROPERTY lockstep_torch_header ${target})
  endif()
endfunction()
