// SPDX-License-Identifier: MIT
#include "cli/function_inputs.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "cli/error.hpp"
#include "cli/files.hpp"
#include "cli/program/help.hpp"

namespace vkf::tools {

namespace {

VkfElement elementOf(const std::string& flag, ElementType type) {
    switch (type) {
    case ElementType::f32:
        return VKF_ELEMENT_F32;
    case ElementType::f16:
        return VKF_ELEMENT_F16;
    case ElementType::bf16:
        return VKF_ELEMENT_BF16;
    case ElementType::i32:
        return VKF_ELEMENT_I32;
    case ElementType::u8:
    case ElementType::boolean:
        return VKF_ELEMENT_U8;
    default:
        failInput("{}: holds {}; functions read f32, f16, bf16, i32, u8 and bool", flag, elementName(type));
    }
}

FunctionArrayFile loadNamed(const std::string& text) {
    const size_t equal = text.find('=');
    FunctionArrayFile named;
    named.flag = fmt::format("--function-array {}", text);
    if (equal == std::string::npos || equal == 0 || equal >= sizeof named.array.name)
        failInput("{}: must be NAME=FILE.npy, with a name of up to {} bytes", named.flag, sizeof named.array.name - 1);
    std::copy_n(text.begin(), equal, named.array.name);
    try {
        named.tensor = loadNpy(pathOf(text.substr(equal + 1)));
    } catch (const FormatError& error) {
        failInput("{}: {}", named.flag, error.what());
    }
    named.array.element = elementOf(named.flag, named.tensor.type);
    return named;
}

} // namespace

std::vector<FlagFile> filesGiven(const FunctionFiles& files) {
    std::vector<FlagFile> given;
    if (!files.functions.empty())
        given.push_back({"--functions", files.functions});
    for (const std::string& text : files.arrays)
        given.push_back({"--function-array", text.substr(text.find('=') + 1)});
    return given;
}

FunctionInputs::FunctionInputs(const FunctionFiles& files) {
    std::transform(files.arrays.begin(), files.arrays.end(), std::back_inserter(arrays_), loadNamed);
    if (files.functions.empty()) {
        if (!arrays_.empty())
            failInput("{}: needs --functions", arrays_.front().flag);
        return;
    }
    const std::string content = readText(fmt::format("--functions {}", files.functions), files.functions);
    if (files.functions.ends_with(".vkfn"))
        load(files.functions, content);
    else
        compile(files.functions, content);
}

// A compiled file says which arrays it reads.
void FunctionInputs::load(const std::string& file, const std::string& content) {
    VkfMessage message{};
    if (vkfLoadFunctions(content.data(), content.size(), loaded_.put(), &message) != VKF_SUCCESS)
        failInput("--functions {}: {}", file, message.text);
    std::array<VkfFunctionArray, VKF_MAX_FUNCTION_ARRAYS> wanted{};
    const uint32_t count = vkfGetFunctionArrays(loaded_.get(), wanted.data(), VKF_MAX_FUNCTION_ARRAYS);
    std::vector<FunctionArrayFile> inOrder;
    for (uint32_t i = 0; i < count; i++) {
        const auto found = std::find_if(arrays_.begin(), arrays_.end(), [&](const FunctionArrayFile& given) {
            return std::string_view(given.array.name) == wanted[i].name;
        });
        if (found == arrays_.end())
            failInput("--functions {}: reads the array {}; give it with --function-array {}=FILE.npy", file,
                      wanted[i].name, wanted[i].name);
        if (found->array.element != wanted[i].element)
            failInput("{}: has elements of another type than the array of --functions {}", found->flag, file);
        inOrder.push_back(*found);
    }
    if (inOrder.size() != arrays_.size())
        failInput("--functions {}: reads {} arrays, but {} are given with --function-array", file, count,
                  arrays_.size());
    arrays_ = std::move(inOrder);
}

void FunctionInputs::compile(const std::string& file, [[maybe_unused]] const std::string& content) {
#if defined(VKFLASH_HAS_FUNCTIONS)
    functions::Source source{content, file, {}};
    for (const FunctionArrayFile& array : arrays_)
        source.arrays.push_back(array.array);
    try {
        compiled_ = functions::compile(source);
    } catch (const functions::Error& error) {
        failInput("{}", error.what());
    }
#else
    failInput("--functions {}: this program was built without a compiler of functions; it takes .vkfn files", file);
#endif
}

VkfFunctions FunctionInputs::handle() const {
#if defined(VKFLASH_HAS_FUNCTIONS)
    if (compiled_)
        return compiled_->handle();
#endif
    return loaded_.get();
}

void FunctionInputs::apply(VkfProblem& problem) const {
    problem.functions = handle();
    enable(problem, VKF_USE_FUNCTIONS, problem.functions != nullptr);
}

void FunctionInputs::hand(host::HostTensors& tensors) const {
    for (size_t i = 0; i < std::min<size_t>(arrays_.size(), VKF_MAX_FUNCTION_ARRAYS); i++)
        tensors.functionArrays[i] = {arrays_[i].tensor.bytes.data(), arrays_[i].tensor.bytes.size()};
}

void addFunctionOptions(CLI::App& command, FunctionFiles& files) {
    const HelpGroup group(command, masksGroup);
    command
        .add_option("--functions", files.functions,
                    "masks and scores of your own: a .glsl file, or a .vkfn file of vkflash compile "
                    "(docs/functions.md)")
        ->type_name("FILE");
    command
        .add_option("--function-array", files.arrays,
                    "array that the functions read as NAME(i): NAME=FILE.npy; once for each array")
        ->type_name("NAME=FILE")
        ->allow_extra_args(false);
}

std::vector<std::string> functionNames(VkfFunctions functions) {
    constexpr std::array<std::pair<VkfFunctionBits, const char*>, 3> known = {
        {{VKF_FUNCTION_KEEP, "keep"},
         {VKF_FUNCTION_SCORE, "score"},
         {VKF_FUNCTION_SCORE_DERIVATIVE, "scoreDerivative"}}};
    std::vector<std::string> names;
    for (const auto& [bit, name] : known)
        if ((vkfGetFunctionSet(functions) & static_cast<VkfFunctionSet>(bit)) != 0)
            names.emplace_back(name);
    return names;
}

std::string flagText(const FunctionFiles& files) {
    return files.functions.empty() ? "" : fmt::format(" --functions {}", files.functions);
}

void requireFormulas(const FunctionFiles& files, bool verify) {
    if (verify && !files.functions.empty())
        failInput("--functions {}: the reference has no formulas of it, so that --verify cannot compare",
                  files.functions);
}

} // namespace vkf::tools
