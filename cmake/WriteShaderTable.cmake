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
  string(REGEX REPLACE "(..)(..)(..)(..)" "0x\\4\\3\\2\\1," words "${hex}")
  string(REGEX REPLACE "((0x........,)(0x........,)(0x........,)(0x........,)(0x........,)(0x........,)(0x........,)(0x........,))"
    "\\1\n" words "${words}")
  string(APPEND arrays "constexpr uint32_t ${name}_spirv[] = {\n${words}};\n")
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
