// SPDX-License-Identifier: MIT
//
// Whether path wgmma is expected to be faster than path coopmat, by the chip's measured numbers (device/chips.cpp).
#pragma once

#include <string>

#include "device/chips.hpp"
#include "planning/decide/decide_paths.hpp"

namespace vkf {

struct WgmmaGain {
    bool pays = false;
    std::string reason; // with the numbers that decide, whether it pays or not
};

// `choice` is a tile of path wgmma for the problem.
WgmmaGain gainOfWgmma(const Chip::Wgmma& chip, const CheckedProblem& problem, const WgmmaChoice& choice);

} // namespace vkf
