# SPDX-License-Identifier: MIT
# cmake -D VARIANTS=variants.txt -D FILES=files.txt -D ROOT=shaders -D OUTPUT=kernel_sources.cpp
#   -P WriteKernelSources.cmake
# Writes the C++ source with the text of each line of FILES, which are paths below ROOT, and with the rows of VARIANTS:
# "name|file|macros|target". Macros are separated by spaces.
set(piece_bytes 8000) # compilers limit the length of a literal

# Sets ${result} to C++ literals that together are the text of a file. They make a view of known length: clang refuses
# to count the characters of all files in one constant expression.
function(literals_of file result)
  file(READ "${file}" text)
  string(LENGTH "${text}" bytes)
  set(literals "")
  set(begin 0)
  while(begin LESS bytes)
    string(SUBSTRING "${text}" ${begin} ${piece_bytes} piece)
    string(APPEND literals "\nR\"glsl(${piece})glsl\"")
    math(EXPR begin "${begin} + ${piece_bytes}")
  endwhile()
  set(${result} "${literals}sv" PARENT_SCOPE)
endfunction()

file(STRINGS "${FILES}" files)
set(sources "")
foreach(file ${files})
  literals_of("${ROOT}/${file}" literals)
  string(APPEND sources "    {\"${file}\",${literals}},\n")
endforeach()

file(STRINGS "${VARIANTS}" lines)
set(variants "")
foreach(line ${lines})
  if(NOT line MATCHES "^([^|]+)\\|([^|]+)\\|([^|]*)\\|([^|]+)$")
    message(FATAL_ERROR "${VARIANTS}: cannot read \"${line}\"")
  endif()
  string(APPEND variants
    "    {\"${CMAKE_MATCH_1}\", \"${CMAKE_MATCH_2}\", \"${CMAKE_MATCH_3}\", \"${CMAKE_MATCH_4}\"},\n")
endforeach()

file(WRITE "${OUTPUT}.new" "// Generated from the files in shaders/.
#include \"functions/kernel_sources.hpp\"

namespace {

using namespace std::string_view_literals;

constexpr vkf::functions::SourceFile files[] = {
${sources}};

constexpr vkf::functions::KernelVariant variants[] = {
${variants}};

} // namespace

namespace vkf::functions {
const std::span<const SourceFile> sourceFiles = files;
const std::span<const KernelVariant> kernelVariants = variants;
} // namespace vkf::functions
")
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
