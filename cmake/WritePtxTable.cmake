# SPDX-License-Identifier: MIT
# cmake -D LIST=texts.txt -D OUTPUT=ptx_table.cpp -P WritePtxTable.cmake
# Writes the C++ source with the PTX texts of LIST (src/pipelines/ptx_table.hpp). LIST has one line
# "name|ptx file|missing reason" for each text.
file(STRINGS "${LIST}" lines)
set(whole "${OUTPUT}.ptx")
file(WRITE "${whole}" "")
set(rows "")
set(count 0)
set(begin 0)
foreach(line ${lines})
  if(NOT line MATCHES "^([^|]+)\\|([^|]*)\\|(.*)$")
    message(FATAL_ERROR "${LIST}: cannot read \"${line}\"")
  endif()
  set(name ${CMAKE_MATCH_1})
  set(ptx "${CMAKE_MATCH_2}")
  set(reason "${CMAKE_MATCH_3}")
  math(EXPR count "${count} + 1")
  if(reason)
    string(APPEND rows "    {\"${name}\", 0, 0, \"${reason}\"},\n")
    continue()
  endif()
  file(READ "${ptx}" text)
  file(APPEND "${whole}" "${text}")
  string(LENGTH "${text}" bytes)
  string(APPEND rows "    {\"${name}\", ${begin}, ${bytes}, nullptr},\n")
  math(EXPR begin "${begin} + ${bytes}")
endforeach()
if(NOT rows)
  set(rows "    {},\n") # C++ has no empty arrays
endif()
set(packed "0")
set(packed_bytes 0)
if(begin)
  file(ARCHIVE_CREATE OUTPUT "${whole}.xz" PATHS "${whole}" FORMAT raw COMPRESSION XZ COMPRESSION_LEVEL 9)
  file(READ "${whole}.xz" hex HEX)
  string(LENGTH "${hex}" packed_bytes)
  math(EXPR packed_bytes "${packed_bytes} / 2")
  string(REGEX REPLACE "(..)" "0x\\1," packed "${hex}")
endif()

file(WRITE "${OUTPUT}.new" "// Generated from the PTX of shaders/wgmma.
#include \"pipelines/ptx_table.hpp\"

namespace vkf {
const PtxText ptxTexts[] = {
${rows}};
const size_t ptxTextsCount = ${count};
const uint8_t ptxPacked[] = {${packed}};
const size_t ptxPackedBytes = ${packed_bytes};
} // namespace vkf
")
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
