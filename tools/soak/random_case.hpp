// SPDX-License-Identifier: MIT
//
// Random calls over all features of attention. A seed gives the same call on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensors/random_tensors.hpp"
#include "vkflash/host.hpp"

namespace vkf::tools {

// A small problem on any path: heads, types, strides, masks, caches and score terms. Some combinations are ones that no
// path, or no path of a device, takes. vkfCheckSupport says so.
struct RandomCase {
    VkfProblem problem{};
    bool backward = false;                // its backward pass is wanted too
    VkfPath backwardPath = VKF_PATH_AUTO; // of the backward pass; this path may not take the problem
    std::vector<int32_t> starts;          // of packed sequences: rows and keys have the same starts
    bool extreme = false;                 // its numbers are at the ends of what they may be

    // Numbers of the tensors are multiplied by 2 to the power of these, here and there. All are 0 unless `extreme`.
    struct Growth {
        int q = 0, k = 0, v = 0, dout = 0, dlse = 0;
    };
    Growth growth{};

    explicit RandomCase(uint64_t seed);

    // Puts the problem on path wgmma, without what this path lacks.
    void takeWgmma();
};

// Multiplies runs of elements by 2^log2 and leaves others as they are. Block types are left as they are.
void grow(VkfType type, std::vector<std::byte>& elements, int log2, uint64_t seed);

// The host memory of a random call: the tensors and every optional input.
class CaseInputs {
public:
    CaseInputs(const RandomCase& random, uint64_t seed);

    // Pointers into this object. o, lse and probabilities hold NaN until a call writes them.
    host::HostTensors pointers();

private:
    VkfProblem problem_;
    std::vector<int32_t> starts_;
    RandomTensors tensors_;
    std::vector<float> probabilities_, sinks_, slopes_, factors_;
    std::vector<std::byte> bias_, mask_, dropoutMask_;
    std::vector<int32_t> documents_;
    uint64_t dropoutSeed_;
};

} // namespace vkf::tools
