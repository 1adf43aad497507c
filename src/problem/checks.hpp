// SPDX-License-Identifier: MIT
//
// The parts of checkProblem. Each part checks one kind of field and names the field that it refuses.
#pragma once

#include <algorithm>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "base/message.hpp"
#include "problem/problem.hpp"

namespace vkf {

// Whether all bytes of a struct without padding are 0.
template <typename Struct> bool isZero(const Struct& value) {
    static_assert(std::has_unique_object_representations_v<Struct>);
    const Struct zero{};
    return std::memcmp(&value, &zero, sizeof value) == 0;
}
template <size_t count> bool isZero(const uint64_t (&values)[count]) {
    return std::all_of(std::begin(values), std::end(values), [](uint64_t value) { return value == 0; });
}

// Refuses bits other than `allowed`. `problem` is "attention", "an append" or "a merge".
VkfResult checkUseBits(VkfUse use, VkfUse allowed, const char* problem, VkfMessage* message);
// Refuses a tensor whose reserved fields are not 0.
VkfResult checkReserved(const VkfTensor& tensor, const char* name, VkfMessage* message);
// Checks how many scales a tensor has. `kvHeads`: 0 for a tensor that can have none.
VkfResult checkScales(const VkfTensor& tensor, const char* name, uint32_t kvHeads, VkfMessage* message);
// Checks that bit VKF_USE_KV_SCALES goes with the scales of k and v. For problems of attention and appends.
template <typename Problem> VkfResult checkScalesBit(const Problem& p, VkfMessage* message) {
    const bool any = (p.k.scales | p.v.scales) != 0;
    if (any == has(p, VKF_USE_KV_SCALES)) {
        return VKF_SUCCESS;
    }
    return any ? fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s.scales is not zero, but use lacks VKF_USE_KV_SCALES",
                      p.k.scales != 0 ? "k" : "v")
               : fail(message, VKF_ERROR_INVALID_ARGUMENT,
                      "use has VKF_USE_KV_SCALES, but k.scales and v.scales are 0");
}

// Checks the bits of p.use, and that parameter fields go with them.
VkfResult checkUse(const VkfProblem& p, VkfMessage* message);
// Refuses reserved fields that are not 0, in all structs of the problem but the tensors.
VkfResult checkReservedFields(const VkfProblem& p, VkfMessage* message);

// Checks path, alignment and precision.
VkfResult checkEnumerations(const VkfProblem& p, VkfMessage* message);
// Checks scale, softcap, dropout.probability, and the bounds of the window.
VkfResult checkNumbers(const VkfProblem& p, VkfMessage* message);

// Checks headDim and valueDim.
VkfResult checkDims(const VkfProblem& p, VkfMessage* message);
// Checks the numbers of heads, rows, keys, key splits and chosen rows.
VkfResult checkShape(const VkfProblem& p, VkfMessage* message);

// Checks longestRows and longestKeys.
VkfResult checkSequences(const VkfProblem& p, VkfMessage* message);

// Refuses combinations of fields that this version cannot compute.
VkfResult checkNotBuiltYet(const VkfProblem& p, VkfMessage* message);

// Checks types and strides of bias, mask and dropoutMask.
VkfResult checkBroadcast(const VkfProblem& p, VkfMessage* message);

// Checks where rows and keys stand.
VkfResult checkPositions(const VkfProblem& p, VkfMessage* message);

// Checks the number and the strides of lists of chosen keys.
VkfResult checkChosenKeys(const VkfProblem& p, VkfMessage* message);

// Checks the block size and the strides of a block mask. A zeroed VkfBlockMask passes.
VkfResult checkBlockMask(const VkfProblem& p, VkfMessage* message);

// Fills in windowLeft and windowRight of *checked. A causal mask counts as a window with right = 0.
void foldWindow(CheckedProblem* checked);

// Fills in the layouts of q, k, v and o. Checks strides and the reach of each tensor.
VkfResult layOutTensors(const VkfProblem& p, Layouts* layouts, VkfMessage* message);

} // namespace vkf
