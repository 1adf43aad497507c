# SPDX-License-Identifier: MIT
# cmake -D LIST=variants.txt -D ARRAY=shaderBinaries -D OUTPUT=shader_table.cpp -P WriteShaderTable.cmake
# Writes the C++ source that holds the SPIR-V of every line "name|spv file|missing reason" of LIST.
file(STRINGS "${LIST}" lines)
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
  # SPIR-V files of glslang are little-endian words.
  file(READ "${spv}" hex HEX)
  # As src/shader_table.hpp tells: small words, heads of instructions, the rest.
  string(REGEX REPLACE "(........)" "\\1;" units "${hex}")
  string(REGEX REPLACE "(..)([0-7].)0000;" "0x\\2\\1," units "${units}")
  string(REGEX REPLACE "(..)(0[0-7])(0[1-9a-f])00;" "0x8000|0x\\3<<11|0x\\2\\1," units "${units}")
  string(REGEX REPLACE "(..)(..)(..)(..);" "0x8000,0x\\4\\3,0x\\2\\1," units "${units}")
  string(REGEX REPLACE "(0x8000,)" "\n\\1" units "${units}")
  string(APPEND arrays "constexpr uint16_t ${name}_spirv[] = {${units}};\n")
  string(APPEND rows "    {\"${name}\", ${name}_spirv, std::size(${name}_spirv), nullptr},\n")
endforeach()

file(WRITE "${OUTPUT}.new" "// Generated from a table in shaders/.
#include \"shader_table.hpp\"

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
