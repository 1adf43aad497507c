// SPDX-License-Identifier: MIT
//
// The ways in which the library can be made to compute the same thing, each tested with the same cases.
#pragma once

#include <vkflash/host.hpp>

namespace vkf::test {

struct Variation {
    const char* name;
    VkfPath path;
    VkfQuirks quirks;
    uint32_t maxSharedMemoryBytes;
};

inline constexpr Variation variations[] = {
    {"scalar", VKF_PATH_SCALAR, 0, 0},
    {"scalar without shuffles", VKF_PATH_SCALAR, VKF_QUIRK_NO_SUBGROUP_SHUFFLE, 0},
    {"scalar in 16 KiB of shared memory", VKF_PATH_SCALAR, 0, 16384},
    {"standard", VKF_PATH_STANDARD, 0, 0},
    {"coopmat", VKF_PATH_COOPMAT, 0, 0},
    {"coopmat through shared memory", VKF_PATH_COOPMAT, VKF_QUIRK_UNKNOWN_MATRIX_LAYOUT, 0},
    {"key_outer", VKF_PATH_KEY_OUTER, 0, 0},
};

// The device of a variation, opened once.
host::Device& deviceOf(const Variation& variation);

// Whether a variation is meant for a problem: cooperative matrices multiply 16-bit types of one kind, bf16 not
// on every device.
bool takes(const Variation& variation, const VkfProblem& problem);

} // namespace vkf::test
