# SPDX-License-Identifier: MIT
# cmake -D SOURCE=<include/vkflash> -D PREFIX=folder -D HAS_FUNCTIONS=0|1 -P installed_headers.cmake
# Every public header is installed, except the one of a library that this build left out.
file(GLOB headers RELATIVE "${SOURCE}" "${SOURCE}/*.h" "${SOURCE}/*.hpp")
if(NOT HAS_FUNCTIONS)
  list(REMOVE_ITEM headers functions.hpp)
endif()
foreach(header ${headers})
  if(NOT EXISTS "${PREFIX}/include/vkflash/${header}")
    message(SEND_ERROR "vkflash/${header} is not installed")
  endif()
endforeach()
