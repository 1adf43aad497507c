// SPDX-License-Identifier: MIT
#include "functions/compiler.hpp"

#include <list>
#include <memory>
#include <stdexcept>

#include <glslang/Include/glslang_c_interface.h>
#include <glslang/Public/resource_limits_c.h>

namespace vkf::functions {
namespace {

using ShaderHandle = std::unique_ptr<glslang_shader_t, decltype(&glslang_shader_delete)>;
using ProgramHandle = std::unique_ptr<glslang_program_t, decltype(&glslang_program_delete)>;

// The compiler is ready as long as the process lives.
void initializeOnce() {
    static const bool ready = glslang_initialize_process() != 0;
    if (!ready) {
        throw std::runtime_error("the GLSL compiler cannot be initialized");
    }
}

// Answers the compiler's questions for files. No exception may cross the compiler's C interface.
class Includes {
public:
    explicit Includes(const FindText& findText) : findText_(findText) {}

    static glsl_include_result_t* find(void* self, const char* name, const char*, size_t) noexcept {
        auto& includes = *static_cast<Includes*>(self);
        try {
            const std::optional<std::string_view> text = includes.findText_(name);
            if (!text) {
                return nullptr;
            }
            includes.names_.emplace_back(name);
            includes.results_.push_back({includes.names_.back().c_str(), text->data(), text->size()});
            return &includes.results_.back();
        } catch (...) {
            return nullptr; // the compiler reports a file that it did not find
        }
    }

private:
    const FindText& findText_;
    std::list<std::string> names_;
    std::list<glsl_include_result_t> results_;
};

struct Target {
    std::string_view name;
    glslang_target_client_version_t vulkan;
    glslang_target_language_version_t spirv;
};

constexpr Target targets[] = {
    {"vulkan1.1", GLSLANG_TARGET_VULKAN_1_1, GLSLANG_TARGET_SPV_1_3},
    {"vulkan1.2", GLSLANG_TARGET_VULKAN_1_2, GLSLANG_TARGET_SPV_1_5},
    {"vulkan1.3", GLSLANG_TARGET_VULKAN_1_3, GLSLANG_TARGET_SPV_1_6},
};

const Target& targetOf(std::string_view name) {
    for (const Target& target : targets) {
        if (target.name == name) {
            return target;
        }
    }
    throw std::logic_error("unknown target " + std::string(name));
}

constexpr auto messages = static_cast<glslang_messages_t>(GLSLANG_MSG_SPV_RULES_BIT | GLSLANG_MSG_VULKAN_RULES_BIT);

glslang_input_t inputOf(const Shader& shader, Includes& includes) {
    const Target& target = targetOf(shader.target);
    glslang_input_t input{};
    input.language = GLSLANG_SOURCE_GLSL;
    input.stage = GLSLANG_STAGE_COMPUTE;
    input.client = GLSLANG_CLIENT_VULKAN;
    input.client_version = target.vulkan;
    input.target_language = GLSLANG_TARGET_SPV;
    input.target_language_version = target.spirv;
    input.code = shader.text.c_str();
    input.default_version = 110;
    input.default_profile = GLSLANG_NO_PROFILE;
    input.messages = messages;
    input.resource = glslang_default_resource();
    input.callbacks.include_local = Includes::find;
    input.callbacks_ctx = &includes;
    return input;
}

std::string preambleOf(const std::vector<std::string>& macros) {
    std::string preamble;
    for (std::string macro : macros) {
        const size_t equal = macro.find('=');
        if (equal != std::string::npos) {
            macro[equal] = ' ';
        }
        preamble += "#define " + macro + "\n";
    }
    return preamble;
}

std::vector<uint32_t> spirvOf(glslang_shader_t* shader) {
    const ProgramHandle program(glslang_program_create(), glslang_program_delete);
    glslang_program_add_shader(program.get(), shader);
    if (glslang_program_link(program.get(), messages) == 0 || glslang_program_map_io(program.get()) == 0) {
        throw CompileError(glslang_program_get_info_log(program.get()));
    }
    glslang_spv_options_t options{};
    options.strip_debug_info = true;
    options.disable_optimizer = true;
    glslang_program_SPIRV_generate_with_options(program.get(), GLSLANG_STAGE_COMPUTE, &options);
    const uint32_t* const words = glslang_program_SPIRV_get_ptr(program.get());
    return {words, words + glslang_program_SPIRV_get_size(program.get())};
}

} // namespace

std::vector<uint32_t> compileShader(const Shader& shader) {
    initializeOnce();
    Includes includes(shader.findText);
    const glslang_input_t input = inputOf(shader, includes);
    const std::string preamble = preambleOf(shader.macros);
    const ShaderHandle handle(glslang_shader_create(&input), glslang_shader_delete);
    glslang_shader_set_preamble(handle.get(), preamble.c_str());
    if (glslang_shader_preprocess(handle.get(), &input) == 0) {
        throw CompileError(glslang_shader_get_info_log(handle.get()));
    }
    // The macros are expanded, and the compiler would count the preamble's lines.
    glslang_shader_set_preamble(handle.get(), "");
    if (glslang_shader_parse(handle.get(), &input) == 0) {
        throw CompileError(glslang_shader_get_info_log(handle.get()));
    }
    return spirvOf(handle.get());
}

} // namespace vkf::functions
