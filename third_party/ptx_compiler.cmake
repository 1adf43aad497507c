# SPDX-License-Identifier: MIT
# clang with the NVPTX target, which compiles the kernels of path wgmma. Needed only at build time, and optional: without
# it the build leaves out the path, with a message (cmake/VkfPtx.cmake). Version 17 is the first one that knows sm_90a.
#
# Sets the global properties VKF_PTX_COMMAND, the command line without files and macros, and VKF_PTX_PROBLEM, why there
# is none, or "".
find_program(VKFLASH_PTX_COMPILER
  NAMES clang++-19 clang-19 clang++-20 clang-20 clang++-21 clang-21 clang++-18 clang-18 clang++-17 clang-17 clang++ clang
  DOC "clang 17 or later with the NVPTX target, for the kernels of path wgmma")
# +ptx80: the first version of PTX with wgmma. clang would choose it from the installed CUDA, and there is none.
set(VKF_PTX_FLAGS -x cuda --cuda-gpu-arch=sm_90a -nocudainc -nocudalib --cuda-device-only -O3 -std=c++20 -S
  -Xclang -target-feature -Xclang +ptx80 -Wno-unknown-cuda-version -Wall)

set(VKF_PTX_PROBLEM "")
if(NOT VKFLASH_PTX_COMPILER)
  set(VKF_PTX_PROBLEM "built without clang 17 or later")
elseif(NOT VKF_PTX_TESTED STREQUAL VKFLASH_PTX_COMPILER)
  set(source "${CMAKE_BINARY_DIR}/probes/ptx.cu")
  file(WRITE "${source}" "#include <cstddef>\n#include <cstdint>\n"
    "extern \"C\" __attribute__((global)) void empty(uint32_t* x) { asm volatile(\"wgmma.fence.sync.aligned;\"); *x = 1; }\n")
  execute_process(COMMAND ${VKFLASH_PTX_COMPILER} ${VKF_PTX_FLAGS} "${source}" -o "${source}.ptx"
    RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
  if(status EQUAL 0)
    set(VKF_PTX_TESTED "${VKFLASH_PTX_COMPILER}" CACHE INTERNAL "The compiler that makes PTX for sm_90a")
  else()
    set(VKF_PTX_PROBLEM "built with a clang that cannot make PTX for sm_90a")
  endif()
endif()
set_property(GLOBAL PROPERTY VKF_PTX_COMMAND "${VKFLASH_PTX_COMPILER};${VKF_PTX_FLAGS}")
set_property(GLOBAL PROPERTY VKF_PTX_PROBLEM "${VKF_PTX_PROBLEM}")
if(VKF_PTX_PROBLEM)
  message(STATUS "Leaving out path wgmma: ${VKF_PTX_PROBLEM}")
else()
  message(STATUS "Using for PTX: ${VKFLASH_PTX_COMPILER}")
endif()
