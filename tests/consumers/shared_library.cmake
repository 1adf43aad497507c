# SPDX-License-Identifier: MIT
# cmake -D NM=nm -D PREFIX=folder -P shared_library.cmake
# The shared library exports functions with the prefix vkf and nothing else, and stays under 2 MB.
file(GLOB_RECURSE library "${PREFIX}/lib*/libvkflash.so")
if(NOT library)
  message(FATAL_ERROR "no libvkflash.so under ${PREFIX}")
endif()
execute_process(COMMAND ${NM} -D --defined-only "${library}" OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" lines "${text}")
set(exported 0)
foreach(line ${lines})
  if(line MATCHES " T vkf[A-Z][A-Za-z0-9]*$")
    math(EXPR exported "${exported} + 1")
  else()
    message(SEND_ERROR "exported without the prefix: ${line}")
  endif()
endforeach()
if(exported EQUAL 0)
  message(SEND_ERROR "nothing is exported")
endif()

file(REAL_PATH "${library}" library)
file(SIZE "${library}" bytes)
# Variants of a kernel may take up to 2 MB where they pay (lab/log-0.4.md): narrow heads, fp32 as bf16x3.
if(bytes GREATER_EQUAL 2000000)
  message(SEND_ERROR "${library} has ${bytes} bytes, 2000000 or more")
endif()
message(STATUS "${exported} functions exported, ${bytes} bytes")
