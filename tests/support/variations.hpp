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
    VkfPrecision precision = VKF_PRECISION_DEFAULT;
};

inline constexpr Variation variations[] = {
    {"scalar", VKF_PATH_SCALAR, 0, 0},
    {"scalar without shuffles", VKF_PATH_SCALAR, VKF_QUIRK_NO_SUBGROUP_SHUFFLE, 0},
    {"scalar in 16 KiB of shared memory", VKF_PATH_SCALAR, 0, 16384},
    {"standard", VKF_PATH_STANDARD, 0, 0},
    {"coopmat", VKF_PATH_COOPMAT, 0, 0},
    {"coopmat through shared memory", VKF_PATH_COOPMAT, VKF_QUIRK_UNKNOWN_MATRIX_LAYOUT, 0},
    {"decode", VKF_PATH_DECODE, 0, 0}, // 16-bit types on matrices
    {"decode in plain arithmetic", VKF_PATH_DECODE, 0, 0, VKF_PRECISION_FP32},
    {"decode without shuffles in 16 KiB of shared memory", VKF_PATH_DECODE, VKF_QUIRK_NO_SUBGROUP_SHUFFLE, 16384},
    {"key_outer", VKF_PATH_KEY_OUTER, 0, 0},
};

// The device of a variation, opened once.
host::Device& deviceOf(const Variation& variation);

// Makes the problem one for the variation.
void apply(const Variation& variation, VkfProblem& problem);

// Whether a variation is meant for a problem: cooperative matrices multiply 16-bit types of one kind, bf16 not
// on every device.
bool takes(const Variation& variation, const VkfProblem& problem);

} // namespace vkf::test
