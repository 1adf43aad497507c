// SPDX-License-Identifier: MIT
#include "problem/masks/chosen_keys.hpp"

#include <numeric>
#include <vector>

#include "base/boundary.hpp"
#include "base/message.hpp"
#include "problem/checks.hpp"

namespace vkf {

VkfResult checkChosenKeys(const VkfProblem& p, VkfMessage* message) {
    const VkfChosenKeys& lists = p.chosenKeys;
    if (lists.count > VKF_MAX_ROWS) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "chosenKeys.count %u is over the limit of %u", lists.count,
                    VKF_MAX_ROWS);
    }
    constexpr double maxEntries = 0x1p56;
    const struct {
        uint64_t stride;
        uint32_t count;
        const char* field;
    } strides[] = {{lists.batchStride, p.batch, "batchStride"},
                   {lists.headStride, p.kvHeads, "headStride"},
                   {lists.rowStride, p.queryRows, "rowStride"}};
    for (const auto& stride : strides) {
        if (static_cast<double>(stride.stride) * stride.count > maxEntries) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT,
                        "chosenKeys.%s is %llu; times %u it must be at most 2^56 entries", stride.field,
                        static_cast<unsigned long long>(stride.stride), stride.count);
        }
    }
    return VKF_SUCCESS;
}

namespace {

// Refuses a list in which a key stands twice. `order` is memory for the numbers of its entries.
VkfResult checkList(const VkfProblem& p, const int32_t* entries, uint64_t first, std::vector<uint32_t>& order,
                    VkfMessage* message) {
    const auto key = [&](uint32_t entry) { return entries[first + entry]; };
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return key(a) != key(b) ? key(a) < key(b) : a < b; });
    const auto twice = std::adjacent_find(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        return key(a) == key(b) && key(a) >= 0 && static_cast<uint32_t>(key(a)) < p.keys;
    });
    return twice == order.end()
               ? VKF_SUCCESS
               : fail(message, VKF_ERROR_INVALID_ARGUMENT,
                      "chosenKeys[%llu] and chosenKeys[%llu] of one list are both key %d; no key may stand twice",
                      static_cast<unsigned long long>(first + twice[0]),
                      static_cast<unsigned long long>(first + twice[1]), key(twice[0]));
}

} // namespace
} // namespace vkf

VkfResult vkfCheckChosenKeys(const VkfProblem* problem, const int32_t* chosenKeys, VkfMessage* message) {
    return vkf::guarded(message, [&]() -> VkfResult {
        vkf::CheckedProblem checked{};
        VkfResult result = vkf::checkProblem(problem, &checked, message);
        if (result != VKF_SUCCESS) {
            return result;
        }
        const VkfProblem& p = checked.fields;
        if (!vkf::has(p, VKF_USE_CHOSEN_KEYS) || vkf::listEntries(p) == 0) {
            return VKF_SUCCESS;
        }
        if (chosenKeys == nullptr) {
            return vkf::fail(message, VKF_ERROR_INVALID_ARGUMENT, "chosenKeys is null");
        }
        std::vector<uint32_t> order(p.chosenKeys.count);
        vkf::forEachList(p, [&](uint64_t, uint64_t first) {
            if (result == VKF_SUCCESS) {
                result = vkf::checkList(p, chosenKeys, first, order, message);
            }
        });
        return result;
    });
}
