# SPDX-License-Identifier: MIT
# cmake -D SPIRV_VAL=command -D FILES="target|file;..." -D WRITER=command -D FOLDER=folder -P ValidateSpirv.cmake
#
# Runs spirv-val on FILES. WRITER first writes more files for Vulkan 1.2 into FOLDER, and these are checked too.
if(NOT SPIRV_VAL)
  message("spirv-val was not found")
  return()
endif()
execute_process(COMMAND ${WRITER} "${FOLDER}" COMMAND_ERROR_IS_FATAL ANY)
file(GLOB written "${FOLDER}/*.spv")
list(TRANSFORM written PREPEND "vulkan1.2|")
foreach(item ${FILES} ${written})
  string(REPLACE "|" ";" item "${item}")
  list(GET item 0 target_env)
  list(GET item 1 file)
  execute_process(COMMAND ${SPIRV_VAL} --target-env ${target_env} "${file}"
    RESULT_VARIABLE status ERROR_VARIABLE text OUTPUT_VARIABLE text)
  if(NOT status EQUAL 0)
    message(SEND_ERROR "${file}:\n${text}")
  endif()
endforeach()
