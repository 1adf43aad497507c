// SPDX-License-Identifier: MIT
#include "planning/backward/backward_wgmma.hpp"

#include <algorithm>
#include <array>

#include "base/refusal.hpp"
#include "planning/decide/decide_paths.hpp"
#include "problem/strides.hpp"
#include "tiles/backward/backward_wgmma_tile.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

constexpr uint32_t maxDim = 128;
static_assert(maxDim == maxWgmmaDim(Kernel::backwardWgmmaRows), "the message names the limit");
// The kernels of 64 columns have no terms: lab/log-0.4.md, "The backward pass on path wgmma".
constexpr uint32_t maxDimWithoutTerms = 64;

// What only the forward pass has on path wgmma.
const char* whyNotHere(const CheckedBackward& backward) {
    const CheckedProblem& forward = backward.forward;
    const VkfProblem& p = forward.fields;
    const VkfTensorLayout& dout = backward.layout(VKF_BACKWARD_DOUT);
    const uint32_t dim = std::max(p.headDim, p.valueDim);
    const bool terms = p.softcap > 0.0F || has(p, VKF_USE_ALIBI);
    return firstOf(std::array{
        Refusal{dim > maxDim, "headDim and valueDim must be at most 128"},
        Refusal{terms && dim <= maxDimWithoutTerms,
                "softcap and ALiBi need a headDim or valueDim over 64 in this version"},
        Refusal{forward.firstKeys() != 0, "first keys are not in this version"},
        Refusal{dout.type != p.q.type, "dout must have the type of q"},
        Refusal{!inWholeWords(dout), "strides of dout must be multiples of 16 bytes"},
    });
}

} // namespace

const char* whyNotWgmma(const TunedDevice& device, const CheckedBackward& backward) {
    const char* whyNot = whyNotWgmma(device, backward.forward);
    return whyNot != nullptr ? whyNot : whyNotHere(backward);
}

} // namespace vkf
