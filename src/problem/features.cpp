// SPDX-License-Identifier: MIT
#include "problem/checks.hpp"

#include "base/message.hpp"
#include "problem/problem.hpp"

namespace vkf {
namespace {

bool isStudyPath(VkfPath path) { return path == VKF_PATH_STANDARD || path == VKF_PATH_KEY_OUTER; }

} // namespace

VkfResult checkNotBuiltYet(const VkfProblem& p, VkfMessage* message) {
    const struct {
        bool asked;
        const char* name;
    } features[] = {
        {p.mask.enabled != 0 && p.path == VKF_PATH_STANDARD, "mask on path standard"},
        {p.packed != 0 && isStudyPath(p.path), "packed (variable-length) sequences on paths standard and key_outer"},
        {p.packed != 0 && p.maskBlock != 0, "packed (variable-length) sequences with a maskBlock"},
        {p.packed != 0 && p.weights != 0, "weights of packed (variable-length) sequences"},
        {p.documents != 0 && p.path == VKF_PATH_STANDARD, "documents on path standard"},
        {p.paging.enabled != 0 && isStudyPath(p.path), "paging on paths standard and key_outer"},
        {p.paging.enabled != 0 && p.maskBlock != 0, "paging with a maskBlock"},
        {(isBlockType(p.k.type) || isBlockType(p.v.type)) && isStudyPath(p.path),
         "k or v of a block type on paths standard and key_outer"},
        {p.maskBlock != 0 && p.path == VKF_PATH_STANDARD, "maskBlock on path standard"},
        {p.maskBlock != 0 && p.path == VKF_PATH_DECODE, "maskBlock on path decode"},
        {p.kvSplits > 1 && isStudyPath(p.path), "kvSplits over 1 on paths standard and key_outer"},
        {p.window.enabled != 0 && p.window.firstKeys != 0 && p.path == VKF_PATH_STANDARD,
         "window.firstKeys on path standard"},
    };
    for (const auto& feature : features) {
        if (feature.asked) {
            return fail(message, VKF_ERROR_UNSUPPORTED, "%s is not in this version", feature.name);
        }
    }
    return VKF_SUCCESS;
}

} // namespace vkf
