# SPDX-License-Identifier: MIT
# cmake -D HEADERS=<later vkflash folder> -D RUN_PREFIX=words -D TODAY=program -D TODAY_LATER=program
#   -D LATER_TODAY=program -P run.cmake
#
# Runs the three programs. Each must print the same: TODAY has headers and library of today. TODAY_LATER has headers of
# today and a later library. LATER_TODAY has later headers and the library of today.

# Every struct that grows must be in some source, or else nothing passes it to the library.
file(GLOB sources "${CMAKE_CURRENT_LIST_DIR}/*.c" "${CMAKE_CURRENT_LIST_DIR}/../c11/attend.c")
set(text)
foreach(source ${sources})
  file(READ "${source}" source_text)
  string(APPEND text "${source_text}")
endforeach()
file(GLOB headers "${HEADERS}/*.h")
foreach(header ${headers})
  file(STRINGS "${header}" ends REGEX "^} Vkf[A-Za-z0-9]+;$|later\\[4\\]")
  set(grows OFF)
  foreach(line ${ends})
    if(line MATCHES "later")
      set(grows ON)
    elseif(grows)
      string(REGEX MATCH "Vkf[A-Za-z0-9]+" name "${line}")
      if(NOT text MATCHES "${name}[^A-Za-z0-9]")
        message(SEND_ERROR "no source of ${CMAKE_CURRENT_LIST_DIR} has a ${name}")
      endif()
      set(grows OFF)
    endif()
  endforeach()
endforeach()

foreach(program TODAY TODAY_LATER LATER_TODAY)
  execute_process(COMMAND ${RUN_PREFIX} "${${program}}"
    OUTPUT_VARIABLE output_${program} ERROR_VARIABLE errors RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(SEND_ERROR "${program} ended with ${status}: ${errors}${output_${program}}")
  elseif(NOT output_${program} STREQUAL output_TODAY)
    message(SEND_ERROR "${program} printed\n${output_${program}}instead of\n${output_TODAY}")
  endif()
endforeach()
message("${output_TODAY}")
