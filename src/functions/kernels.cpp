// SPDX-License-Identifier: MIT
#include "functions/kernels.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "functions/compiler.hpp"
#include "functions/kernel_sources.hpp"
#include "functions/messages.hpp"

namespace vkf::functions {
namespace {

// What shaders/functions/ gives to the user's file, and calls of all functions that the file has.
constexpr const char* probe = R"glsl(#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 1) in;
#include "functions/position.glsl"
float functionF32(const uint array, const int i) {
    return 0.0;
}
float functionF16(const uint array, const int i) {
    return 0.0;
}
float functionBf16(const uint array, const int i) {
    return 0.0;
}
int functionI32(const uint array, const int i) {
    return 0;
}
int functionU8(const uint array, const int i) {
    return 0;
}
#include "functions/user.glsl"
void main() {
    Position at = Position(0, 0, 0, 0, 0, 0, 0);
    float s = user_score(0.0, at);
    bool keeps = user_keep(at);
    float derivative = user_scoreDerivative(0.0, at);
}
)glsl";

std::optional<std::string_view> findSource(std::string_view name) {
    const auto found =
        std::lower_bound(sourceFiles.begin(), sourceFiles.end(), name,
                         [](const SourceFile& file, std::string_view other) { return file.name < other; });
    if (found == sourceFiles.end() || found->name != name) {
        return {};
    }
    return found->text;
}

const KernelVariant& variantOf(std::string_view name) {
    const auto found = std::find_if(kernelVariants.begin(), kernelVariants.end(),
                                    [name](const KernelVariant& variant) { return variant.name == name; });
    if (found == kernelVariants.end()) {
        throw Error(VKF_ERROR_INVALID_ARGUMENT, "there is no kernel " + std::string(name));
    }
    return *found;
}

Shader shaderOf(const KernelVariant& variant) {
    Shader shader;
    shader.text = findSource(variant.file).value();
    shader.target = variant.target;
    for (size_t begin = 0; begin < variant.macros.size();) {
        const size_t end = std::min(variant.macros.find(' ', begin), variant.macros.size());
        shader.macros.emplace_back(variant.macros.substr(begin, end - begin));
        begin = end + 1;
    }
    return shader;
}

// Moves the user's functions to the front, behind the extensions. So the user's file may have the names of all macros
// of the kernel. An include of later lines finds the file included.
std::string withFunctionsFirst(const std::string& text) {
    size_t begin = text.rfind("\n#extension ");
    begin = begin == std::string::npos ? text.find("#version ") : begin + 1;
    const size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    const auto lines = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
    return text.substr(0, end) + "#include \"functions/hooks.glsl\"\n#line " + std::to_string(lines + 1) + "\n" +
           text.substr(end);
}

// Compiles a shader that includes the user's file. `where` names the shader in the message of an error.
std::vector<uint32_t> compileWith(const UserFile& file, Shader shader, std::string_view where) {
    shader.findText = [&file](std::string_view name) -> std::optional<std::string_view> {
        if (name == includedName) {
            return file.included;
        }
        return findSource(name == "functions/hooks.glsl" ? "functions/own_hooks.glsl" : name);
    };
    try {
        return compileShader(shader);
    } catch (const CompileError& error) {
        throw Error(VKF_ERROR_INVALID_ARGUMENT, messageOf(file, where, error.what()));
    }
}

} // namespace

void checkCompiles(const UserFile& file) {
    Shader shader;
    shader.text = probe;
    compileWith(file, std::move(shader), "a file of functions");
}

std::vector<uint32_t> compileKernel(const UserFile& file, std::string_view name) {
    Shader shader = shaderOf(variantOf(name));
    shader.text = withFunctionsFirst(shader.text);
    return compileWith(file, std::move(shader), "kernel " + std::string(name));
}

std::vector<uint32_t> compilePlainKernel(std::string_view name) {
    Shader shader = shaderOf(variantOf(name));
    shader.findText = findSource;
    return compileShader(shader);
}

} // namespace vkf::functions
