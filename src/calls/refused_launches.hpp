// SPDX-License-Identifier: MIT
//
// The driver can refuse a kernel of path wgmma while an object is made.
#pragma once

#include "base/message.hpp"
#include "calls/context.hpp"

namespace vkf {

// Calls make(message). If the driver refuses a kernel of path wgmma on the way, calls it once more: the context makes
// objects without this path from then on. The context may be null.
template <typename Make> VkfResult makeDespiteRefusal(VkfContext context, VkfMessage* message, const Make& make) {
    if (context == nullptr || context->pipelines.whyNoLaunches() != nullptr) {
        return make(message);
    }
    VkfMessage refusal{};
    const VkfResult result = make(&refusal);
    if (result == VKF_ERROR_UNSUPPORTED && context->pipelines.whyNoLaunches() != nullptr) {
        return make(message);
    }
    return result == VKF_SUCCESS ? result : fail(message, result, "%s", refusal.text);
}

} // namespace vkf
