// SPDX-License-Identifier: MIT
//
// The ways in which the library can compute one problem. All are tested with the same cases.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include <vkflash/host.hpp>

#include "support/device.hpp"

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
    {"coopmat with fp32 as bf16x3", VKF_PATH_COOPMAT, VKF_QUIRK_FP16X3, 0}, // bf16 where the device has it
    {"wgmma", VKF_PATH_WGMMA, 0, 0},                                        // the last: few devices have it
};

// Number of the variation for fp32 as bf16x3. All its tensors but o are fp32.
inline constexpr size_t bf16x3Variation = 10;

inline constexpr size_t wgmmaVariation = 11;

// True if the test device has path wgmma.
bool hasWgmma();

// Skips the test case, loudly, if the test device has no path wgmma.
void needWgmma();

// All variations, without wgmma if the device has no such path.
std::span<const Variation> offeredVariations();

// Rounds head dimensions and strides of q, k and v up to whole words, as path wgmma needs them.
void makeWholeWords(VkfProblem& problem);

// Makes the problem one that path wgmma takes: types, whole words, and none of the inputs that the path lacks.
void fitToWgmma(VkfProblem& problem);

// True if the device multiplies fp32 numbers in bf16 parts, without VKF_QUIRK_FP16X3.
bool hasBf16x3();

// The device of a variation. It is opened once. fp32 numbers are divided into bf16 parts, as applications get them,
// where the device can.
host::Device& deviceOf(const Variation& variation);

// Adapts the problem to the variation.
void apply(const Variation& variation, VkfProblem& problem);

// True if a variation fits a problem. Cooperative matrices multiply 16-bit types of one kind, and not every device
// multiplies bf16 or has 16-bit storage.
bool takes(const Variation& variation, const VkfProblem& problem);

// The variations for a case of a sweep. Whole sweeps use all that support the problem. Other runs use `most` of them.
// Features, types and head dimensions decide which: problems whose kernels are equal run on the same variations,
// because compiling a kernel takes nearly all the time of a case. Each pair of features also has a test on every path
// (kernels/pairs_test.cpp).
std::vector<const Variation*> variationsInTurn(const VkfProblem& problem, size_t most = 1);

// Chooses one of some variations in the same way. Whole sweeps get all given numbers.
std::vector<uint32_t> inTurn(std::initializer_list<uint32_t> numbers, const VkfProblem& problem);

// The usual one of two numbers of variations, and each sixth time the other one, whose kernels take far longer to
// compile. Whole sweeps get both.
std::vector<uint32_t> usually(uint32_t usual, uint32_t other);

// Takes numbers in turn. Whole sweeps get all given numbers, other runs the next one.
std::vector<uint32_t> inTurn(std::initializer_list<uint32_t> numbers);

// The cases of a list that run: all in a whole sweep, otherwise each nth from number `first` on.
template <typename T> std::vector<T> eachNth(const std::vector<T>& list, size_t n, size_t first = 0) {
    if (wholeSweeps()) {
        return list;
    }
    std::vector<T> some;
    for (size_t i = first; i < list.size(); i += n) {
        some.push_back(list[i]);
    }
    return some;
}

} // namespace vkf::test
