// SPDX-License-Identifier: MIT
#include <vkflash/functions.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/boundary.hpp"
#include "base/hash.hpp"
#include "functions/file_writer.hpp"
#include "functions/kernel_cache.hpp"
#include "functions/kernels.hpp"
#include "functions/user_file.hpp"

namespace vkf::functions {
namespace {

// The functions, arrays and library that the compiled kernels depend on.
uint64_t keyOf(const Source& source) {
    const uint32_t version = vkfVersion();
    uint64_t key = hashOf(std::as_bytes(std::span(&version, 1)));
    for (const VkfFunctionArray& array : source.arrays) {
        key = hashOf(std::as_bytes(std::span(array.name)), key);
        key = hashOf(std::as_bytes(std::span(&array.element, 1)), key);
    }
    return hashOf(std::as_bytes(std::span(source.text)), key);
}

// Reads the file and compiles it once, so that every error of the user is found.
UserFile checkedFile(const Source& source) {
    UserFile file = readUserFile(source);
    checkCompiles(file);
    return file;
}

} // namespace

// The address of a state never changes, because the library passes it to getKernel.
struct Functions::State {
    explicit State(const Source& source) : kernels(checkedFile(source)) {
        VkfFunctionsCreateInfo info{};
        info.structSize = sizeof info;
        info.functions = kernels.file().functions;
        info.arrayCount = static_cast<uint32_t>(source.arrays.size());
        info.arrays = source.arrays.data();
        info.key = keyOf(source);
        info.getKernel = getKernel;
        info.user = this;
        VkfMessage message{};
        const VkfResult result = vkfCreateFunctions(&info, &handle, &message);
        if (result != VKF_SUCCESS) {
            throw Error(result, source.name + ": " + message.text);
        }
    }
    State(const State&) = delete;
    State(State&&) = delete;
    State& operator=(const State&) = delete;
    State& operator=(State&&) = delete;
    ~State() { vkfDestroyFunctions(handle); }

    static VkfResult getKernel(void* user, const char* name, const uint32_t** words, size_t* wordCount,
                               VkfMessage* message) {
        auto* state = static_cast<State*>(user);
        return guarded(message, [&] {
            try {
                const std::vector<uint32_t>& compiled = state->kernels.words(name);
                *words = compiled.data();
                *wordCount = compiled.size();
                return VKF_SUCCESS;
            } catch (const Error& error) {
                return fail(message, error.result(), "%s", error.what());
            }
        });
    }

    KernelCache kernels;
    VkfFunctions handle = nullptr;
};

Functions::Functions(std::unique_ptr<State> state) : state_(std::move(state)) {}
Functions::Functions(Functions&& other) noexcept = default;
Functions& Functions::operator=(Functions&& other) noexcept = default;
Functions::~Functions() = default;

VkfFunctions Functions::handle() const noexcept { return state_ == nullptr ? nullptr : state_->handle; }

VkfFunctionArray functionArray(const std::string& name, VkfElement element) {
    VkfFunctionArray array{};
    if (name.size() >= sizeof array.name) {
        throw Error(VKF_ERROR_INVALID_ARGUMENT,
                    "the name of array \"" + name + "\" has over " + std::to_string(sizeof array.name - 1) + " bytes");
    }
    std::copy(name.begin(), name.end(), array.name);
    array.element = element;
    return array;
}

Functions compile(const Source& source) { return Functions(std::make_unique<Functions::State>(source)); }

std::vector<std::byte> compileToFile(const Source& source, const std::vector<std::string>& kernels,
                                     const std::function<void(size_t)>& afterKernel) {
    const UserFile file = checkedFile(source);
    std::vector<CompiledKernel> compiled;
    for (const std::string& name : kernels) {
        compiled.push_back({name, compileKernel(file, name)});
        if (afterKernel) {
            afterKernel(compiled.size());
        }
    }
    return fileOf(file.functions, source.arrays, keyOf(source), compiled);
}

} // namespace vkf::functions
