// SPDX-License-Identifier: MIT
//
// The ways on which a backward pass can visit tiles by lists (shaders/backward/tile_lists.glsl).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/backward/backward_runs.hpp"
#include "support/device.hpp"
#include "support/lacking.hpp"
#include "support/variations.hpp"

namespace vkf::test {

constexpr uint64_t plentyOfScratch = uint64_t{1} << 30;

// Kernels that find tiles by the map: path scalar, path coopmat, and path coopmat with ds in bands.
struct ListedWay {
    uint32_t variation;
    uint64_t scratchBytes;
    const char* name;

    bool stores() const { return scratchBytes == plentyOfScratch; }
    const Variation& of() const { return variations[variation]; }
    VkfType type() const { return of().path == VKF_PATH_COOPMAT ? VKF_TYPE_F16 : VKF_TYPE_F32; }
    bool isLeftOut() const { return leavesOut(deviceOf(of()), of().path); }
};
inline constexpr ListedWay listedWays[] = {
    {0, 1, "scalar"}, {4, 1, "coopmat"}, {4, plentyOfScratch, "bands"}, {5, 1, "via shared memory"}};

inline VkfBackwardProblem backwardOf(const VkfProblem& forward, const ListedWay& way) {
    VkfBackwardProblem problem = backwardOf(forward, allGradients(forward));
    problem.maxScratchBytes = way.scratchBytes;
    return problem;
}

// Whether no gradient depends on what was in scratch memory, where each tile of a band has its ds. NaN there would make
// kernels repeat the call, so the bytes are also small numbers.
inline bool ignoresScratch(host::Device& device, const VkfBackwardProblem& problem, const Inputs& inputs) {
    BackwardInputs more = makeBackwardInputs(problem);
    computeForward(*problem.forward, inputs, VKF_TYPE_F32, &more);
    const auto run = [&](std::byte byte) {
        return runBackwardUnjudged(device, problem, inputs, more, 0, byte).outputs;
    };
    return run(std::byte{0}) == run(std::byte{0x3c});
}

// ds of such problems has holes, which nothing fills. So they have no bands. Sums skip the hole of first keys by lists.
inline bool leavesHoles(const VkfProblem& p, bool lists) {
    return has(p, VKF_USE_CU_SEQLENS) || has(p, VKF_USE_BLOCK_MASK) || (p.window.firstKeys != 0 && !lists);
}

} // namespace vkf::test
