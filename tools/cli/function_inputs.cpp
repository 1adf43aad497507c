// SPDX-License-Identifier: MIT
#include "cli/function_inputs.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "cli/error.hpp"
#include "cli/program/help.hpp"
#include "tensors/tensor_file.hpp"
#include "vkflash/functions.h"
#include "vkflash/vkflash.hpp"
#if defined(VKFLASH_HAS_FUNCTIONS)
#include "vkflash/functions.hpp"
#endif

namespace vkf::tools {

// A file of --function-array.
struct FunctionArrayFile {
    VkfFunctionArray array{};
    std::string flag; // in messages
    Tensor tensor;
};

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

std::vector<std::byte> readBytes(const std::string& file) {
    try {
        return readFile(pathOf(file));
    } catch (const FormatError& error) {
        failInput("--functions {}: {}", file, error.what());
    }
}

bool isCompiled(const std::string& file) { return file.ends_with(".vkfn"); }

} // namespace

struct FunctionInputs::State {
    std::vector<FunctionArrayFile> arrays;
    VkfFunctions loaded = nullptr; // of a compiled file
#if defined(VKFLASH_HAS_FUNCTIONS)
    std::optional<functions::Functions> compiled;
    VkfFunctions handle() const { return compiled ? compiled->handle() : loaded; }
#else
    VkfFunctions handle() const { return loaded; }
#endif

    explicit State(const FunctionFiles& files) {
        std::transform(files.arrays.begin(), files.arrays.end(), std::back_inserter(arrays), loadNamed);
        if (files.functions.empty()) {
            if (!arrays.empty())
                failInput("{}: needs --functions", arrays.front().flag);
            return;
        }
        const std::vector<std::byte> bytes = readBytes(files.functions);
        if (isCompiled(files.functions))
            load(files.functions, bytes);
        else
            compile(files.functions, bytes);
    }

    // A compiled file says which arrays it reads.
    void load(const std::string& file, const std::vector<std::byte>& bytes) {
        VkfMessage message{};
        if (vkfLoadFunctions(bytes.data(), bytes.size(), &loaded, &message) != VKF_SUCCESS)
            failInput("--functions {}: {}", file, message.text);
        std::array<VkfFunctionArray, VKF_MAX_FUNCTION_ARRAYS> wanted{};
        const uint32_t count = vkfGetFunctionArrays(loaded, wanted.data(), VKF_MAX_FUNCTION_ARRAYS);
        std::vector<FunctionArrayFile> inOrder;
        for (uint32_t i = 0; i < count; i++) {
            const auto found = std::find_if(arrays.begin(), arrays.end(), [&](const FunctionArrayFile& given) {
                return std::string_view(given.array.name) == wanted[i].name;
            });
            if (found == arrays.end())
                failInput("--functions {}: reads the array {}; give it with --function-array {}=FILE.npy", file,
                          wanted[i].name, wanted[i].name);
            if (found->array.element != wanted[i].element)
                failInput("{}: has elements of another type than the array of --functions {}", found->flag, file);
            inOrder.push_back(*found);
        }
        if (inOrder.size() != arrays.size())
            failInput("--functions {}: reads {} arrays, but {} are given with --function-array", file, count,
                      arrays.size());
        arrays = std::move(inOrder);
    }

    void compile(const std::string& file, [[maybe_unused]] const std::vector<std::byte>& bytes) {
#if defined(VKFLASH_HAS_FUNCTIONS)
        functions::Source source{{reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file, {}};
        for (const FunctionArrayFile& array : arrays)
            source.arrays.push_back(array.array);
        try {
            compiled = functions::compile(source);
        } catch (const functions::Error& error) {
            failInput("{}", error.what());
        }
#else
        failInput("--functions {}: this program was built without a compiler of functions; it takes .vkfn files", file);
#endif
    }
};

FunctionInputs::FunctionInputs(const FunctionFiles& files) : state_(std::make_unique<State>(files)) {}

FunctionInputs::~FunctionInputs() { vkfDestroyFunctions(state_->loaded); }

void FunctionInputs::apply(VkfProblem& problem) const {
    problem.functions = state_->handle();
    enable(problem, VKF_USE_FUNCTIONS, problem.functions != nullptr);
}

void FunctionInputs::hand(host::HostTensors& tensors) const {
    for (size_t i = 0; i < std::min<size_t>(state_->arrays.size(), VKF_MAX_FUNCTION_ARRAYS); i++)
        tensors.functionArrays[i] = {state_->arrays[i].tensor.bytes.data(), state_->arrays[i].tensor.bytes.size()};
}

void addFunctionOptions(CLI::App& command, FunctionFiles& files) {
    const HelpGroup group(command, masksGroup);
    command
        .add_option(
            "--functions", files.functions,
            "masks and scores of your own: a .glsl file, or a .vkfn file of vkflash compile (docs/functions.md)")
        ->type_name("FILE");
    command
        .add_option("--function-array", files.arrays,
                    "array that the functions read as NAME(i): NAME=FILE.npy; once for each array")
        ->type_name("NAME=FILE")
        ->allow_extra_args(false);
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
