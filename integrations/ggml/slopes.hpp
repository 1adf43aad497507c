// SPDX-License-Identifier: MIT
//
// ggml's slopes, which the backend and the layer pass to vkflash as factors of the bias.
#pragma once

#include <cstdint>
#include <vector>

namespace vkf::ggml {

// The largest power of two that is at most n; n is at least 1.
uint32_t powerOfTwoUpTo(uint32_t n);

// The factors that ggml multiplies the mask of each head by, for max_bias over 0.
std::vector<float> slopes(float maxBias, uint32_t heads);

} // namespace vkf::ggml
