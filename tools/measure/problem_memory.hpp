// SPDX-License-Identifier: MIT
//
// The memory of problems that are measured one after the other.
// Element i of a tensor is the same number in every problem, so generated inputs also serve the next shape. Inputs
// repeat a block of elements, on the device too.
// The host has a whole input only if a caller asks for it, because caches may have gigabytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "vkflash/host.hpp"

namespace vkf::tools {

// Number of elements that generated inputs of this type repeat.
uint64_t repeatedOf(VkfType type);

// Fills a buffer on the device with repetitions of a block. Each copy doubles the filled part.
void repeat(host::Device& device, std::span<const std::byte> block, const host::Buffer& to, uint64_t bytes);

// A buffer on the device with these values.
template <typename Values> host::Buffer uploaded(host::Device& device, const Values& values) {
    const uint64_t bytes = values.size() * sizeof(values[0]);
    host::Buffer buffer = device.createBuffer(bytes);
    device.upload(buffer, values.data(), bytes);
    return buffer;
}

// Returns true if it created a new buffer. It frees the old one first, because both together may not fit.
bool ensureRoom(host::Device& device, host::Buffer& buffer, uint64_t bytes);

// NaN in every type. An element that a kernel does not write must not pass for the right value of an earlier run.
inline constexpr uint32_t notANumber = 0xffffffff;

class BenchMemory {
public:
    // valuesInKeys = true: v is a view of k at the same address.
    explicit BenchMemory(host::Device& device, bool valuesInKeys = false)
        : device_(device), valuesInKeys_(valuesInKeys) {}

    // Prepares inputs, outputs full of NaN, and scratch in `sets()` copies. Does not support problems with key lengths.
    // blockDensity is the share of open blocks, if the problem has a block mask.
    void prepare(const VkfProblem& problem, uint64_t scratchBytes, size_t maxSets, double blockDensity = 1);
    // Fills the outputs of a set with NaN again.
    void poison(size_t set);

    // A time that depends on what the last run left in a cache is useless. Therefore runs take turns over sets that
    // together are larger than the caches of today's devices.
    size_t sets() const noexcept { return count_; }
    VkfBindings bindings(size_t set) const;
    // The inputs on the host, with the outputs of one set.
    host::HostTensors download(size_t set);
    // The outputs of one set, without q, k and v.
    host::HostTensors downloadOutputs(size_t set);
    // A part of q, k or v. For a block type it consists of whole blocks.
    std::vector<std::byte> inputRange(VkfTensorRole role, uint64_t firstElement, uint64_t elements) const;

    const std::vector<uint32_t>& blockMask() const noexcept { return blockMask_; } // the same in all sets
    uint64_t tensorBytes() const noexcept { return tensorBytes_; }                 // bytes of one set without scratch

private:
    // One input tensor; it has the same content in every set. It only grows, unless its type changes.
    struct Input {
        VkfType type = VKF_TYPE_FORCE_INT32;
        std::vector<std::byte> block; // the block that repeats
        std::vector<std::byte> bytes; // the part of the tensor that a caller asked for
    };
    struct Set {
        std::array<host::Buffer, 3> inputs; // q, k, v
        host::Buffer o, lse, scratch;
    };

    void generate(size_t input, const VkfTensorLayout& layout);
    void fill(size_t set, uint64_t scratchBytes);
    // Index of a tensor in inputs_.
    size_t inputOf(size_t role) const { return valuesInKeys_ && role == VKF_TENSOR_V ? size_t{VKF_TENSOR_K} : role; }

    host::Device& device_;
    bool valuesInKeys_;
    VkfProblem problem_{};
    std::array<Input, 3> inputs_;
    std::vector<uint32_t> blockMask_;
    host::Buffer blockMaskBuffer_;
    std::vector<int32_t> blockTable_;
    host::Buffer blockTableBuffer_;
    std::vector<int32_t> chosenKeys_;
    host::Buffer chosenKeysBuffer_;
    // Sets past count_ are kept for smaller shapes.
    std::vector<Set> sets_;
    size_t count_ = 0;
    std::vector<std::byte> o_;
    std::vector<float> lse_;
    uint64_t tensorBytes_ = 0;
};

} // namespace vkf::tools
