# SPDX-License-Identifier: MIT
# cmake -D SOURCE=<include/vkflash> -D OUTPUT=<folder> -P later_headers.cmake
#
# Writes the public headers of an imagined later version: every struct that starts with structSize has four more
# fields at its end. Files that would not change stay untouched, so that nothing is compiled again.
set(later "\n    uint64_t later[4];")
string(LENGTH "${later}" later_length)
file(GLOB headers "${SOURCE}/*.h" "${SOURCE}/*.hpp")
foreach(header ${headers})
  file(READ "${header}" text)
  # No semicolon in these patterns: CMake would take it for the end of a list element.
  string(REGEX MATCHALL "size_t structSize" fields "${text}")
  string(REGEX MATCHALL "typedef struct Vkf[A-Za-z0-9]+ {[ \n]*size_t structSize" structs "${text}")
  list(LENGTH fields field_count)
  list(LENGTH structs struct_count)
  if(NOT struct_count EQUAL field_count)
    message(FATAL_ERROR "${header}: ${struct_count} structs start with structSize, but ${field_count} have the field")
  endif()

  foreach(struct ${structs})
    string(REGEX REPLACE "^typedef struct (Vkf[A-Za-z0-9]+) .*" "\\1" name "${struct}")
    string(REPLACE "\n} ${name};" "${later}\n} ${name};" grown "${text}")
    string(LENGTH "${text}" before)
    string(LENGTH "${grown}" after)
    math(EXPR added "${after} - ${before}")
    if(NOT added EQUAL later_length)
      message(FATAL_ERROR "${header}: the end of ${name} was not found once")
    endif()
    set(text "${grown}")
    list(APPEND grown_structs ${name})
  endforeach()

  cmake_path(GET header FILENAME file)
  file(WRITE "${OUTPUT}/vkflash/${file}.new" "${text}")
  file(COPY_FILE "${OUTPUT}/vkflash/${file}.new" "${OUTPUT}/vkflash/${file}" ONLY_IF_DIFFERENT)
  file(REMOVE "${OUTPUT}/vkflash/${file}.new")
endforeach()

list(LENGTH grown_structs count)
if(count EQUAL 0)
  message(FATAL_ERROR "no struct under ${SOURCE} starts with structSize")
endif()
message(STATUS "${count} structs have later fields")
