# SPDX-License-Identifier: MIT
# cmake -D SOURCE=<include/vkflash> -D PREFIX=folder -P installed_headers.cmake
# Every public header is installed, except those of libraries that this build left out.
file(GLOB headers RELATIVE "${SOURCE}" "${SOURCE}/*.h" "${SOURCE}/*.hpp")
foreach(library_and_header functions/functions.hpp host/host.hpp reference/reference.h)
  string(REPLACE "/" ";" library_and_header "${library_and_header}")
  list(GET library_and_header 0 library)
  list(GET library_and_header 1 header)
  file(GLOB_RECURSE found "${PREFIX}/lib*/*vkflash_${library}.*")
  if(NOT found)
    list(REMOVE_ITEM headers ${header})
  endif()
endforeach()
foreach(header ${headers})
  if(NOT EXISTS "${PREFIX}/include/vkflash/${header}")
    message(SEND_ERROR "vkflash/${header} is not installed")
  endif()
endforeach()
