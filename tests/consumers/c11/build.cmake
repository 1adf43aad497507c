# SPDX-License-Identifier: MIT
# Builds main.c as a C11 program with nothing but a C compiler and pkg-config, and runs it.
find_program(PKG_CONFIG NAMES pkg-config pkgconf)
if(NOT PKG_CONFIG)
  message("pkg-config was not found")
  return()
endif()
file(GLOB_RECURSE pc "${PREFIX}/*/vkflash.pc")
execute_process(COMMAND ${PKG_CONFIG} --cflags --libs "${pc}"
  OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")
execute_process(
  COMMAND ${CC} -std=c11 -Wall -Wextra -Wpedantic -Werror "${CMAKE_CURRENT_LIST_DIR}/main.c"
    -isystem "${VULKAN_INCLUDE_DIR}" -o "${OUTPUT}" ${flags}
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${OUTPUT}" COMMAND_ERROR_IS_FATAL ANY)
