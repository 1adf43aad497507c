// SPDX-License-Identifier: MIT
//
// Objects of compiled functions. The compiler itself is another library, so that this one has none.
#include <vkflash/functions.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "base/boundary.hpp"
#include "calls/first_sizes.hpp"
#include "problem/functions.hpp"
#include "problem/functions/check.hpp"
#include "problem/functions/functions_file.hpp"

namespace vkf {
namespace {

VkfResult create(const VkfFunctionsCreateInfo* given, VkfFunctions* functions, VkfMessage* message) {
    if (functions == nullptr) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "functions is null");
    }
    VkfFunctionsCreateInfo info{};
    if (const VkfResult result = readVersioned(given, &info, "info", message); result != VKF_SUCCESS) {
        return result;
    }
    if (info.getKernel == nullptr || (info.arrays == nullptr && info.arrayCount != 0)) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "info.%s is null",
                    info.getKernel == nullptr ? "getKernel" : "arrays");
    }
    const std::span<const VkfFunctionArray> arrays(info.arrays, info.arrayCount);
    if (const VkfResult result = checkFunctions(info.functions, arrays, message); result != VKF_SUCCESS) {
        return result;
    }
    auto made = std::make_unique<VkfFunctions_T>();
    made->functions = info.functions;
    made->arrays.assign(arrays.begin(), arrays.end());
    made->key = info.key;
    made->getKernel = info.getKernel;
    made->user = info.user;
    *functions = made.release();
    return VKF_SUCCESS;
}

// VkfGetKernel of a loaded file. `user` is a FunctionsFile.
VkfResult kernelOfFile(void* user, const char* kernel, const uint32_t** words, size_t* wordCount, VkfMessage* message) {
    const auto* file = static_cast<const FunctionsFile*>(user);
    const auto found = file->kernels.find(kernel);
    if (found == file->kernels.end()) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "the file of functions has no kernel %s; compile it with more --paths, or choose another path",
                    kernel);
    }
    *words = found->second.data();
    *wordCount = found->second.size();
    return VKF_SUCCESS;
}

VkfResult load(const void* data, size_t bytes, VkfFunctions* functions, VkfMessage* message) {
    if (data == nullptr || functions == nullptr) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is null", data == nullptr ? "data" : "functions");
    }
    auto file = std::make_unique<FunctionsFile>();
    VkfResult result = readFunctionsFile({static_cast<const std::byte*>(data), bytes}, file.get(), message);
    if (result == VKF_SUCCESS) {
        result = checkFunctions(file->functions, file->arrays, message);
    }
    if (result != VKF_SUCCESS) {
        return result;
    }
    auto made = std::make_unique<VkfFunctions_T>();
    made->functions = file->functions;
    made->arrays = std::move(file->arrays);
    made->key = file->key;
    made->getKernel = kernelOfFile;
    made->user = file.get();
    made->file = std::move(file);
    *functions = made.release();
    return VKF_SUCCESS;
}

} // namespace
} // namespace vkf

VkfResult vkfCreateFunctions(const VkfFunctionsCreateInfo* info, VkfFunctions* functions, VkfMessage* message) {
    return vkf::guarded(message, [&] { return vkf::create(info, functions, message); });
}

VkfResult vkfLoadFunctions(const void* data, size_t bytes, VkfFunctions* functions, VkfMessage* message) {
    return vkf::guarded(message, [&] { return vkf::load(data, bytes, functions, message); });
}

void vkfDestroyFunctions(VkfFunctions functions) { delete functions; }

VkfFunctionSet vkfGetFunctionSet(VkfFunctions functions) { return functions == nullptr ? 0 : functions->functions; }

uint32_t vkfGetFunctionArrays(VkfFunctions functions, VkfFunctionArray* arrays, uint32_t capacity) {
    if (functions == nullptr) {
        return 0;
    }
    const auto count = static_cast<uint32_t>(functions->arrays.size());
    if (arrays != nullptr) {
        std::copy_n(functions->arrays.begin(), std::min(count, capacity), arrays);
    }
    return count;
}
