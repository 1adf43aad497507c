// SPDX-License-Identifier: MIT
//
// vkflash compile: compiles masks and scores in GLSL into the kernels, and writes them to a file for vkfLoadFunctions.
#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "cli/error.hpp"
#include "cli/files.hpp"
#include "cli/function_inputs.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "commands/commands.hpp"
#include "vkflash/functions.h"
#if defined(VKFLASH_HAS_FUNCTIONS)
#include "vkflash/functions.hpp"
#endif

namespace vkf::tools {

namespace {

struct CompileOptions {
    std::string file;
    std::string output;
    std::vector<std::string> arrays; // "NAME=TYPE"
    std::vector<std::string> paths;  // empty = all
};

constexpr std::array<std::pair<std::string_view, VkfElement>, 5> elements = {{{"f32", VKF_ELEMENT_F32},
                                                                              {"f16", VKF_ELEMENT_F16},
                                                                              {"bf16", VKF_ELEMENT_BF16},
                                                                              {"i32", VKF_ELEMENT_I32},
                                                                              {"u8", VKF_ELEMENT_U8}}};

VkfFunctionArray parseArray(const std::string& text) {
    const size_t equal = text.find('=');
    const std::string name = text.substr(0, equal);
    const std::string type = equal == std::string::npos ? "" : text.substr(equal + 1);
    const auto* const found =
        std::find_if(elements.begin(), elements.end(), [&type](const auto& element) { return element.first == type; });
    VkfFunctionArray array{};
    if (found == elements.end() || name.empty() || name.size() >= sizeof array.name)
        failInput("--array {}: must be NAME=TYPE, with a name of up to {} bytes and a type f32, f16, bf16, i32 or u8",
                  text, sizeof array.name - 1);
    std::copy(name.begin(), name.end(), array.name);
    array.element = found->second;
    return array;
}

#if defined(VKFLASH_HAS_FUNCTIONS)

// The kernels of the paths, each one once.
std::vector<std::string> kernelsOfPaths(const std::vector<std::string>& paths) {
    const std::vector<std::string> known = functions::pathNames();
    std::vector<std::string> kernels;
    for (const std::string& path : paths.empty() ? known : paths) {
        if (std::find(known.begin(), known.end(), path) == known.end())
            failInput("--paths {}: must be of {}", path, fmt::join(known, ", "));
        const std::vector<std::string> some = functions::kernelsOf(path);
        kernels.insert(kernels.end(), some.begin(), some.end());
    }
    std::sort(kernels.begin(), kernels.end());
    kernels.erase(std::unique(kernels.begin(), kernels.end()), kernels.end());
    return kernels;
}

// The functions and arrays that a compiled file has: "keep, score; arrays bias f16".
std::string contentOf(const std::vector<std::byte>& file) {
    VkfFunctions handle = nullptr;
    VkfMessage message{};
    if (vkfLoadFunctions(file.data(), file.size(), &handle, &message) != VKF_SUCCESS)
        fail("{}", static_cast<const char*>(message.text));
    const std::unique_ptr<VkfFunctions_T, decltype(&vkfDestroyFunctions)> owned(handle, vkfDestroyFunctions);
    std::array<VkfFunctionArray, VKF_MAX_FUNCTION_ARRAYS> arrays{};
    std::vector<std::string> texts;
    for (uint32_t i = 0; i < vkfGetFunctionArrays(handle, arrays.data(), VKF_MAX_FUNCTION_ARRAYS); i++) {
        const auto* const type = std::find_if(elements.begin(), elements.end(),
                                              [&](const auto& element) { return element.second == arrays[i].element; });
        texts.push_back(fmt::format("{} {}", static_cast<const char*>(arrays[i].name), type->first));
    }
    return fmt::format("{}{}{}", fmt::join(functionNames(handle), ", "), texts.empty() ? "" : "; arrays ",
                       fmt::join(texts, ", "));
}

std::vector<std::byte> compileAll(const functions::Source& source, const std::vector<std::string>& kernels) {
    Progress progress("compiling");
    try {
        return functions::compileToFile(source, kernels, [&](size_t done) {
            progress.update(static_cast<double>(done) / static_cast<double>(kernels.size()));
        });
    } catch (const functions::Error& error) {
        failInput("{}", error.what());
    }
}

void compileFunctions(const CompileOptions& options) {
    functions::Source source{readText(options.file, options.file), options.file, {}};
    std::transform(options.arrays.begin(), options.arrays.end(), std::back_inserter(source.arrays), parseArray);
    const std::vector<std::string> kernels = kernelsOfPaths(options.paths);
    if (sameFile(options.output, options.file))
        failInput("-o {}: is the file of functions", options.output);
    checkOutputFile("-o", options.output);
    const std::vector<std::byte> bytes = compileAll(source, kernels);
    writeOutputFile("-o", options.output, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    fmt::print("wrote {}: {}; {} kernels, {} bytes\n", options.output, contentOf(bytes), kernels.size(), bytes.size());
}

#else

void compileFunctions(const CompileOptions& options) {
    readText(options.file, options.file);
    for (const std::string& array : options.arrays)
        parseArray(array);
    failInput("compile: this program was built without glslang as a library, so that it has no compiler of functions");
}

#endif

} // namespace

void addCompileCommand(CLI::App& program, Action& action) {
    auto options = std::make_shared<CompileOptions>();
    CLI::App* command = program.add_subcommand(
        "compile", "Compiles masks and scores in GLSL into the kernels, and writes them to a file for applications.");
    command->footer("vkflash compile natten.glsl -o natten.vkfn --array bias=f16");
    command->add_option("FILE", options->file, "file with score, keep or scoreDerivative")->type_name("");
    command->add_option("-o,--output", options->output, "path of the compiled file");
    addList(*command, "--array", options->arrays,
            "names and types of the arrays that the functions read, in the order of the bindings: NAME=f32, f16, bf16, "
            "i32 or u8; the flag may stand several times");
    command->get_option("--array")->allow_extra_args(false);
    addList(*command, "--paths", options->paths,
            "paths whose kernels to compile: scalar, coopmat, decode, standard, key_outer, backward; without it all");
    command->callback([options, &action] {
        if (options->file.empty())
            failInput("compile: the file of functions is missing; see vkflash compile --help");
        if (options->output.empty())
            failInput("-o: the path of the compiled file is missing; see vkflash compile --help");
        action = [options] { compileFunctions(*options); };
    });
}

} // namespace vkf::tools
