# What the configuration makes of LibTorch in a pip install, from folders that only look like one.
# usage: cmake -DSOURCE=... -DSCRATCH=... -P pip_torch_test.cmake
cmake_minimum_required(VERSION 3.22)

# What libc10.so contains, as the wheels of torch 2.5.1 and 2.15 do: the first has the new ABI in copies of the standard
# library's names alone.
set(old_abi "_ZGTtNSt11logic_errorC1ERKNSt7__cxx1112basic_stringIcE\n_ZN3c105ErrorC1ENS_14SourceLocationESs")
set(new_abi "_ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE")

# make_torch(FOLDER [names in libc10.so] [CUDA] [HEADERS]): site-packages with torch and, with HEADERS, CUDA's.
function(make_torch folder abi)
  file(REMOVE_RECURSE ${folder})
  file(WRITE ${folder}/torch/version.py "__version__ = '2.15.0+cu132'\n")
  file(WRITE ${folder}/torch/lib/libc10.so "${abi}\n")
  if("CUDA" IN_LIST ARGN)
    file(WRITE ${folder}/torch/lib/libtorch_cuda.so "")
  endif()
  if("HEADERS" IN_LIST ARGN)
    foreach(file IN ITEMS include/cuda_runtime.h include/crt/host_config.h include/cublas_v2.h include/cusolverDn.h
            include/nccl.h lib/libcudart.so.13)
      file(WRITE ${folder}/nvidia/cu13/${file} "")
    endforeach()
  endif()
endfunction()

# configured(FOLDER CODE OUTPUT [arguments]): includes LockstepPipTorch in a CMake of its own.
function(configured folder code output)
  file(WRITE ${SCRATCH}/configure.cmake "cmake_minimum_required(VERSION 3.22)\nset(CMAKE_MODULE_PATH ${SOURCE}/cmake)\n"
    "set(LOCKSTEP_TORCH_ROOT ${folder}/torch)\ninclude(LockstepPipTorch)\n"
    "message(STATUS \"HAS_CUDA=\${LOCKSTEP_HAS_CUDA} INCLUDES=\${TORCH_INCLUDE_DIRS}\")\n")
  execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=CUDA_HOME --unset=CUDA_PATH --unset=CONDA_PREFIX ${ENVIRONMENT}
    ${CMAKE_COMMAND} ${ARGN} -P ${SCRATCH}/configure.cmake RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE text)
  set(${code} ${result} PARENT_SCOPE)
  string(REGEX REPLACE "[ \n]+" " " text "${text}")
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

function(expect what condition_text text)
  if(NOT "${text}" MATCHES "${condition_text}")
    message(FATAL_ERROR "${what}: expected '${condition_text}' in:\n${text}")
  endif()
endfunction()

set(site ${SCRATCH}/site-packages)

make_torch(${site} "${old_abi}" CUDA HEADERS)
configured(${site} code text)
expect("an old C++ ABI is said" "old C\\+\\+ ABI" "${text}")
if(code EQUAL 0)
  message(FATAL_ERROR "an old C++ ABI is an error")
endif()

make_torch(${site} "${new_abi}" CUDA HEADERS)
configured(${site} code text)
expect("headers of pip packages are found" "HAS_CUDA=ON INCLUDES=.*nvidia/cu13/include" "${text}")

make_torch(${site} "${new_abi}" CUDA)
configured(${site} code text)
expect("missing headers are said" "nccl.h.* was not found: building for CPUs only" "${text}")
expect("and the build goes on" "HAS_CUDA=OFF" "${text}")

configured(${site} code text -DLOCKSTEP_CUDA=ON)
expect("asked for, they are an error" "-DLOCKSTEP_CUDA=ON, but .*nccl.h.* was not found" "${text}")
if(code EQUAL 0)
  message(FATAL_ERROR "-DLOCKSTEP_CUDA=ON without headers is an error")
endif()

# A toolkit in CUDA_HOME, as modules of clusters and conda have it.
foreach(variable IN ITEMS CUDA_HOME CUDA_PATH CONDA_PREFIX)
  foreach(file IN ITEMS include/cuda_runtime.h include/crt/host_config.h include/cublas_v2.h include/cusolverDn.h
          include/nccl.h lib64/libcudart.so)
    file(WRITE ${SCRATCH}/toolkit/${file} "")
  endforeach()
  set(ENVIRONMENT ${variable}=${SCRATCH}/toolkit)
  configured(${site} code text -DLOCKSTEP_CUDA=ON)
  expect("CUDA in ${variable} is found" "HAS_CUDA=ON INCLUDES=.*toolkit/include" "${text}")
endforeach()
set(ENVIRONMENT "")

configured(${site} code text -DLOCKSTEP_CUDA=OFF)
expect("switched off, nothing is missing" "HAS_CUDA=OFF" "${text}")
if(text MATCHES "not found")
  message(FATAL_ERROR "-DLOCKSTEP_CUDA=OFF needs no headers")
endif()

make_torch(${site} "${new_abi}")
configured(${site} code text -DLOCKSTEP_CUDA=ON)
expect("a wheel without CUDA is said" "was built without CUDA" "${text}")
file(REMOVE_RECURSE ${SCRATCH})
