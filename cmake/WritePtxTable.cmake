# SPDX-License-Identifier: MIT
# cmake -D LIST=texts.txt -D OUTPUT=ptx_table.cpp -P WritePtxTable.cmake
# Writes the C++ source with the PTX texts of LIST. LIST has one line "name|ptx file|missing reason" for each text.
file(STRINGS "${LIST}" lines)
set(arrays "")
set(rows "")
set(count 0)
foreach(line ${lines})
  if(NOT line MATCHES "^([^|]+)\\|([^|]*)\\|(.*)$")
    message(FATAL_ERROR "${LIST}: cannot read \"${line}\"")
  endif()
  set(name ${CMAKE_MATCH_1})
  set(ptx "${CMAKE_MATCH_2}")
  set(reason "${CMAKE_MATCH_3}")
  math(EXPR count "${count} + 1")
  if(reason)
    string(APPEND rows "    {\"${name}\", nullptr, 0, \"${reason}\"},\n")
    continue()
  endif()
  file(READ "${ptx}" hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(APPEND arrays "constexpr char ${name}_ptx[] = {${bytes}0};\n")
  string(APPEND rows "    {\"${name}\", ${name}_ptx, std::size(${name}_ptx), nullptr},\n")
endforeach()
if(NOT rows)
  set(rows "    {},\n") # C++ has no empty arrays
endif()

file(WRITE "${OUTPUT}.new" "// Generated from the PTX of shaders/wgmma.
#include \"pipelines/ptx_table.hpp\"

#include <iterator>

namespace {
${arrays}}

namespace vkf {
const PtxText ptxTexts[] = {
${rows}};
const size_t ptxTextsCount = ${count};
} // namespace vkf
")
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
