# SPDX-License-Identifier: MIT
# cmake -D "RUN=words that start test-backend-ops" -D VERSION=0.27.0 -D BACKEND=vkflash -D MODE=test -D CASES=48
#   -D SUPPORTED=40 [-D REPLACED=37] [-D "PARAMETERS=regex"] -P check_cases.cmake
# Runs ggml's own cases of attention whose parameters match, and counts. ggml skips a case that the backend does not
# support, and calls that a success. Here a skipped case is not a pass: there must be exactly CASES cases, at least
# SUPPORTED must be supported, and all supported ones must pass. MODE "support" asks what is supported, and runs none.
# REPLACED: the layer under ggml-vulkan must say that it replaced so many calls, or more than none if it is "some", and
# passed all others through.
# The numbers are those of ggml VERSION. With another version, only failures and a lack of passes count.
set(counted_version 0.27.0)

set(filter)
if(PARAMETERS)
  set(filter -p "${PARAMETERS}")
endif()
execute_process(
  COMMAND ${RUN} ${MODE} -b ${BACKEND} -o FLASH_ATTN_EXT ${filter}
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE errors)

# Sets ${result} to the number of matches in the output.
function(count pattern result)
  string(REGEX MATCHALL "${pattern}" matches "${output}")
  list(LENGTH matches n)
  set(${result} ${n} PARENT_SCOPE)
endfunction()
string(ASCII 27 escape)
string(REGEX REPLACE "${escape}\\[[0-9;]*m" "" output "${output}")
string(REPLACE ";" "," output "${output}") # so that matches are not lists
string(REPLACE "[" "(" output "${output}") # brackets would join the items of a list
string(REPLACE "]" ")" output "${output}")
count("\n  FLASH_ATTN_EXT" cases)
count("\n  FLASH_ATTN_EXT[^\n]*\\): (OK|SUPPORTED)" passed)
count("\n  FLASH_ATTN_EXT[^\n]*\\): (not supported|NOT SUPPORTED)" refused)
math(EXPR supported "${cases} - ${refused}")
message("ggml ${VERSION}: ${cases} cases, ${supported} supported, ${passed} passed")

set(problems)
if(NOT status EQUAL 0)
  list(APPEND problems "test-backend-ops: ${status}")
endif()
if(NOT passed EQUAL supported)
  list(APPEND problems "not all supported cases passed")
endif()
if("${output}${errors}" MATCHES "validation: |Validation (Error|Warning)")
  list(APPEND problems "validation messages")
endif()
if(DEFINED REPLACED)
  string(REGEX MATCH "([0-9]+) attention calls replaced, ([0-9]+) passed through" told "${errors}")
  message("${told}")
  if(told)
    math(EXPR calls "${CMAKE_MATCH_1} + ${CMAKE_MATCH_2}")
  endif()
  if(NOT told OR NOT calls EQUAL supported)
    list(APPEND problems "the layer did not count a call for each case")
  elseif(CMAKE_MATCH_1 EQUAL 0 AND NOT REPLACED STREQUAL "0")
    list(APPEND problems "no call was replaced")
  elseif(VERSION STREQUAL counted_version AND NOT REPLACED STREQUAL "some" AND NOT CMAKE_MATCH_1 EQUAL REPLACED)
    list(APPEND problems "expected ${REPLACED} replaced calls")
  endif()
endif()
if(NOT VERSION STREQUAL counted_version)
  message("The expected numbers are those of ggml ${counted_version}; they are not compared.")
  if(SUPPORTED GREATER 0 AND passed EQUAL 0)
    list(APPEND problems "no case passed")
  endif()
elseif(NOT cases EQUAL CASES OR supported LESS SUPPORTED)
  list(APPEND problems "expected ${CASES} cases, of which ${SUPPORTED} are supported")
endif()
if(problems)
  string(REGEX REPLACE "[^\n]*: (OK|SUPPORTED)\n" "" output "${output}")
  message("${errors}\n${output}")
  list(JOIN problems "; " text)
  message(FATAL_ERROR "${text}")
endif()
