# SPDX-License-Identifier: MIT
# cmake -D CC=compiler -D PREFIX=folder -D VULKAN_INCLUDE_DIR=folder -D OUTPUT=program -D RUN_PREFIX=words
#   -P build.cmake
# Builds the program with nothing but a C compiler and the flags of pkg-config, and runs it.
find_program(PKG_CONFIG NAMES pkg-config pkgconf)
if(NOT PKG_CONFIG)
  message("pkg-config was not found")
  return()
endif()
file(GLOB_RECURSE pc "${PREFIX}/*/vkflash.pc")
execute_process(COMMAND ${PKG_CONFIG} --cflags --libs "${pc}"
  OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")

set(common "${CMAKE_CURRENT_LIST_DIR}/../common")
file(GLOB sources "${CMAKE_CURRENT_LIST_DIR}/*.c" "${common}/*.c")
execute_process(
  COMMAND ${CC} -std=c11 -pedantic-errors -Wall -Wextra -Wconversion -Wshadow -Wno-missing-field-initializers -Werror
    -O1 ${sources} "-I${CMAKE_CURRENT_LIST_DIR}" "-I${common}" -isystem "${VULKAN_INCLUDE_DIR}"
    -o "${OUTPUT}" ${flags} -ldl -lm
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${RUN_PREFIX} "${OUTPUT}" COMMAND_ERROR_IS_FATAL ANY)
