// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <memory>

#include "base/boundary.hpp"
#include "base/message.hpp"
#include "base/versioned.hpp"
#include "calls/first_sizes.hpp"
#include "problem/functions.hpp"

namespace vkf {
namespace {

VkfResult createFunctions(const VkfFunctionsCreateInfo* given, VkfFunctions* functions, VkfMessage* message) {
    VkfFunctionsCreateInfo info{};
    if (const VkfResult result = readVersioned(given, &info, "info", message); result != VKF_SUCCESS) {
        return result;
    }
    auto made = std::make_unique<VkfFunctions_T>();
    made->functions = info.functions;
    made->arrays.assign(info.arrays, info.arrays + info.arrayCount);
    made->key = info.key;
    made->getKernel = info.getKernel;
    made->user = info.user;
    *functions = made.release();
    return VKF_SUCCESS;
}

} // namespace
} // namespace vkf

VkfResult vkfCreateFunctions(const VkfFunctionsCreateInfo* info, VkfFunctions* functions, VkfMessage* message) {
    return vkf::guarded(message, [&] { return vkf::createFunctions(info, functions, message); });
}

void vkfDestroyFunctions(VkfFunctions functions) { delete functions; }

VkfFunctionSet vkfGetFunctionSet(VkfFunctions functions) { return functions == nullptr ? 0 : functions->functions; }

uint32_t vkfGetFunctionArrays(VkfFunctions functions, VkfFunctionArray* arrays, uint32_t capacity) {
    if (functions == nullptr) {
        return 0;
    }
    const size_t count = std::min<size_t>(capacity, functions->arrays.size());
    std::copy_n(functions->arrays.begin(), count, arrays);
    return static_cast<uint32_t>(functions->arrays.size());
}
