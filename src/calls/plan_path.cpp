// SPDX-License-Identifier: MIT
//
// vkfGetPlanPath and vkfGetBackwardPath: why a plan or a backward pass has its path.
#include <cstdio>

#include <vkflash/inspect.h>

#include "base/boundary.hpp"
#include "calls/backward.hpp"
#include "calls/context.hpp"
#include "calls/first_sizes.hpp"
#include "calls/plan.hpp"
#include "planning/explain_path.hpp"

namespace vkf {
namespace {

VkfPathDecision publicDecision(const PathDecision& decision, bool taken) {
    VkfPathDecision to{};
    to.structSize = sizeof to;
    to.rule = decision.rule;
    to.taken = taken ? 1 : 0;
    std::snprintf(to.reason, sizeof to.reason, "%s", decision.reason.c_str());
    return to;
}

// `object` is a plan or a backward pass.
template <typename Object>
VkfResult getPath(const Object* object, const char* name, VkfPath path, VkfPathDecision* decision,
                  VkfMessage* message) {
    return guarded(message, [&] {
        if (object == nullptr) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is null", name);
        }
        if (path <= VKF_PATH_AUTO || path > VKF_PATH_WGMMA) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT, "path is %d; it must be %d to %d", static_cast<int>(path),
                        static_cast<int>(VKF_PATH_SCALAR), static_cast<int>(VKF_PATH_WGMMA));
        }
        const PathDecision found = explainPath(object->context->tunedDevice(), object->problem, *object, path);
        return writeVersioned(publicDecision(found, path == object->path), decision, "decision", message);
    });
}

} // namespace
} // namespace vkf

VkfResult vkfGetPlanPath(VkfPlan plan, VkfPath path, VkfPathDecision* decision, VkfMessage* message) {
    return vkf::getPath(plan, "plan", path, decision, message);
}

VkfResult vkfGetBackwardPath(VkfBackward backward, VkfPath path, VkfPathDecision* decision, VkfMessage* message) {
    return vkf::getPath(backward, "backward", path, decision, message);
}
