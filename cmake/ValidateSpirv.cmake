# SPDX-License-Identifier: MIT
# cmake -D SPIRV_VAL=command -D FILES="target|file;..." -P ValidateSpirv.cmake
if(NOT SPIRV_VAL)
  message("spirv-val was not found")
  return()
endif()
foreach(item ${FILES})
  string(REPLACE "|" ";" item "${item}")
  list(GET item 0 target_env)
  list(GET item 1 file)
  execute_process(COMMAND ${SPIRV_VAL} --target-env ${target_env} "${file}"
    RESULT_VARIABLE status ERROR_VARIABLE text OUTPUT_VARIABLE text)
  if(NOT status EQUAL 0)
    message(SEND_ERROR "${file}:\n${text}")
  endif()
endforeach()
