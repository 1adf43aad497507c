// SPDX-License-Identifier: MIT
//
// Appends of the tests: runs one on the device and on the CPU, and compares the bytes of all outputs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <vkflash/reference.h>
#include <vkflash/vkflash.hpp>

#include "support/device.hpp"
#include "support/guarded.hpp"

namespace vkf::test {

using Bytes = std::vector<std::byte>;

struct AppendInputs {
    Bytes newK, newV, q;
    std::vector<int32_t> lengths, blockTable, cuSeqlens, rotaryPositions;
    std::vector<float> cos, sin, kvScales{};
};

// The caches, and the other outputs of an append.
struct AppendResults {
    Bytes k, v, rotatedQ;
    std::vector<int32_t> newLengths, lengths;
    bool guardsIntact = true;
    bool operator==(const AppendResults&) const = default;
};

struct AppendShape {
    uint32_t batch = 1;
    uint32_t kvHeads = 1;
    uint32_t rows = 1;
    uint32_t keys = 1;
    uint32_t headDim = 1;
};

// One that writes newLengths too.
VkfAppendProblem appendOf(const AppendShape& shape);

// The append as the device can do it: a device without 16-bit storage gets fp32 tensors.
VkfAppendProblem fittedAppend(const VkfAppendProblem& problem);

struct AppendLayouts {
    VkfTensorLayout newK, newV, k, v, q, rotatedQ;
};
AppendLayouts layoutsOf(const VkfAppendProblem& problem);

// Bytes of a tensor's elements.
uint64_t bytesOf(const VkfTensorLayout& layout);

template <typename Value> Bytes bytesOf(const std::vector<Value>& values) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
}

// A guarded buffer that holds some bytes, or poison.
struct Filled {
    Guarded memory;

    explicit Filled(const Bytes& bytes) : memory(testDevice(), bytes.size()) {
        if (!bytes.empty()) {
            testDevice().upload(memory.buffer, bytes.data(), bytes.size(), memory.offset);
        }
    }
    explicit Filled(uint64_t bytes) : memory(testDevice(), bytes) {}

    VkfBinding binding() const { return memory.binding(); }
    template <typename Values> void read(Values& values, bool& guardsIntact) const {
        const Bytes all = memory.download(testDevice());
        guardsIntact = guardsIntact && memory.intact(all);
        std::ranges::copy(std::span(all).subspan(memory.offset, memory.bytes),
                          std::as_writable_bytes(std::span(values)).begin());
    }
};

inline constexpr VkfType storedTypes[] = {VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_BF16};

// A problem of any types, strides, pages and rotation. Successive seeds go through all pairs of types of k and v.
VkfAppendProblem randomAppend(uint32_t seed, std::mt19937_64& random);

// Elements of every kind, lengths in the cache and outside of it, and entries of the block table that are no pages.
AppendInputs randomInputs(const VkfAppendProblem& problem, std::mt19937_64& random);

std::string describe(const VkfAppendProblem& problem);

// Runs the reference in caches that were filled with one byte value.
AppendResults runReference(const VkfAppendProblem& problem, const AppendInputs& inputs, std::byte fill);

enum class QueryPlace { output, inPlace };

// Runs the device in caches that were filled with poison.
AppendResults runDevice(const VkfAppendProblem& problem, const AppendInputs& inputs,
                        QueryPlace place = QueryPlace::output);

// Checks the device's outputs. Every byte must equal the reference's, also the bytes that nobody may write.
// Elements of rotated tensors may differ by a tolerance. It holds for |x| of at most 8 after the rotation.
void check(const VkfAppendProblem& problem, const AppendInputs& inputs, const AppendResults& device);

} // namespace vkf::test
