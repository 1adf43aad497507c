# SPDX-License-Identifier: MIT
# cmake -D SOURCE=<root of the repository> -D FOLDER=<folder to write to> -P CheckReference.cmake
#
# Fails if Doxygen finds a public symbol without a comment, or a name or a link that leads nowhere. Then removes a
# comment of a function, and one of a field, and fails if Doxygen does not notice.
find_program(doxygen NAMES doxygen NO_CACHE)
if(NOT doxygen)
  message("doxygen was not found, so nothing checks the reference of the public headers")
  return()
endif()

# vkf_run_doxygen(<settings> <variable of the exit status> <variable of the messages>)
function(vkf_run_doxygen settings status messages)
  set(pages "${FOLDER}/${settings}")
  file(REMOVE_RECURSE "${pages}")
  file(MAKE_DIRECTORY "${pages}")
  file(WRITE "${FOLDER}/${settings}.doxyfile" "@INCLUDE = docs/Doxyfile\n${ARGN}")
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E env VKFLASH_VERSION=0 VKFLASH_BRIEF=check "VKFLASH_PAGES=${pages}"
      "${doxygen}" "${FOLDER}/${settings}.doxyfile"
    WORKING_DIRECTORY "${SOURCE}" RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE text)
  set(${status} "${result}" PARENT_SCOPE)
  set(${messages} "${text}" PARENT_SCOPE)
endfunction()

# vkf_expect_gap(<header> <comment and code> <code alone> <symbol>)
function(vkf_expect_gap header commented bare symbol)
  file(REMOVE_RECURSE "${FOLDER}/include")
  file(COPY "${SOURCE}/include/vkflash" DESTINATION "${FOLDER}/include")
  file(READ "${FOLDER}/include/vkflash/${header}" text)
  string(REPLACE "${commented}" "${bare}" changed "${text}")
  if(changed STREQUAL text)
    message(FATAL_ERROR "${header} does not have this text any more, choose another example:\n${commented}")
  endif()
  file(WRITE "${FOLDER}/include/vkflash/${header}" "${changed}")
  vkf_run_doxygen(gap status messages "INPUT = \"${FOLDER}/include/vkflash\"\nUSE_MDFILE_AS_MAINPAGE =\n")
  if(status EQUAL 0 OR NOT messages MATCHES "Member ${symbol}[( ][^\n]* is not documented")
    message(FATAL_ERROR "Doxygen did not notice that ${symbol} has no comment (${status}):\n${messages}")
  endif()
endfunction()

vkf_run_doxygen(pages status messages)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "Doxygen found faults (./dev docs):\n${messages}")
endif()
vkf_expect_gap(inspect.h "/* Number of shader variants that the library knows, the PTX kernels of path wgmma among them. */\n" "" vkfGetShaderVariantCount)
vkf_expect_gap(problem_types.h " /* elements from one head to the next */" "" headStride)
