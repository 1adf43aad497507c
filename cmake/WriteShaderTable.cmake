# SPDX-License-Identifier: MIT
# cmake -D LIST=variants.txt -D ARRAY=shaderBinaries -D OUTPUT=shader_table.cpp -P WriteShaderTable.cmake
# Writes the C++ source with the SPIR-V of LIST. LIST has one line "name|spv file|missing reason" for each variant.
file(STRINGS "${LIST}" lines)
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/../src/pipelines/common_words.hpp" common_words REGEX "^    0x")
set(arrays "")
set(rows "")
foreach(line ${lines})
  if(NOT line MATCHES "^([^|]+)\\|([^|]*)\\|(.*)$")
    message(FATAL_ERROR "${LIST}: cannot read \"${line}\"")
  endif()
  set(name ${CMAKE_MATCH_1})
  set(spv "${CMAKE_MATCH_2}")
  set(reason "${CMAKE_MATCH_3}")
  if(reason)
    string(APPEND rows "    {\"${name}\", nullptr, 0, \"${reason}\"},\n")
    continue()
  endif()
  # The SPIR-V files of glslang consist of little-endian words.
  file(READ "${spv}" hex HEX)
  # The encoding of src/pipelines/shader_table.hpp: common words, small words, other words.
  string(REGEX REPLACE "(........)" "\\1;" units "${hex}")
  set(number 0)
  foreach(word ${common_words})
    string(REGEX REPLACE "^    0x(..)(..)(..)(..),$" "\\4\\3\\2\\1;" little_endian "${word}")
    string(REPLACE "${little_endian}" "${number}," units "${units}")
    math(EXPR number "${number} + 1")
  endforeach()
  string(REGEX REPLACE "(..)([0-2].)0000;" "${number}+0x\\2,0x\\1," units "${units}")
  string(REGEX REPLACE "(..)(..)(..)(..);" "\n255,0x\\1,0x\\2,0x\\3,0x\\4," units "${units}")
  string(APPEND arrays "constexpr uint8_t ${name}_spirv[] = {${units}};\n")
  string(APPEND rows "    {\"${name}\", ${name}_spirv, std::size(${name}_spirv), nullptr},\n")
endforeach()

file(WRITE "${OUTPUT}.new" "// Generated from a table in shaders/.
#include \"pipelines/shader_table.hpp\"

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace {
${arrays}}

namespace vkf {
const ShaderBinary ${ARRAY}[] = {
${rows}};
const size_t ${ARRAY}Count = std::size(${ARRAY});
} // namespace vkf
")
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
