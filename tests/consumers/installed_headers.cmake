# SPDX-License-Identifier: MIT
# cmake -D SOURCE=<include/vkflash> -D PREFIX=folder -P installed_headers.cmake
# Every public header is installed.
file(GLOB headers RELATIVE "${SOURCE}" "${SOURCE}/*.h" "${SOURCE}/*.hpp")
foreach(header ${headers})
  if(NOT EXISTS "${PREFIX}/include/vkflash/${header}")
    message(SEND_ERROR "vkflash/${header} is not installed")
  endif()
endforeach()
