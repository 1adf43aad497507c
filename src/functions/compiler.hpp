// SPDX-License-Identifier: MIT
//
// The GLSL compiler: one shader from text to SPIR-V, exactly as the build's glslang does it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace vkf::functions {

// The text of a file that an #include line names. It must stay valid during the compilation. Nothing = no such file.
using FindText = std::function<std::optional<std::string_view>(std::string_view name)>;

struct Shader {
    std::string text;                      // of a compute shader
    std::vector<std::string> macros;       // "NAME" or "NAME=VALUE"
    std::string_view target = "vulkan1.2"; // as glslang's --target-env
    FindText findText;
};

// what() is the compiler's log: lines "ERROR: <file>:<line>: <text>" and others.
class CompileError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Returns the SPIR-V, without names and other debug information. Throws CompileError. Thread-safe.
std::vector<uint32_t> compileShader(const Shader& shader);

} // namespace vkf::functions
