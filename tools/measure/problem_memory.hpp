// SPDX-License-Identifier: MIT
//
// The memory of problems that are measured one after the other. Inputs are generated once: element i of a
// tensor is the same number in every problem, so that what is there already serves the next shape. They repeat a block
// of elements, on the device too, and are in the host's memory as a whole only if somebody asks for that: caches may
// have gigabytes.
#ifndef VKFLASH_TOOLS_BENCH_MEMORY_HPP
#define VKFLASH_TOOLS_BENCH_MEMORY_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "vkflash/host.hpp"

namespace vkf::tools {

class BenchMemory {
public:
    // valuesInKeys: v is a view of k, at its address.
    explicit BenchMemory(host::Device& device, bool valuesInKeys = false)
        : device_(device), valuesInKeys_(valuesInKeys) {}

    // Inputs, outputs full of NaN, and scratch, in `sets()` copies. Problems with key lengths
    // are not for this class. blockDensity is the share of open blocks, if there is a block mask.
    void prepare(const VkfProblem& problem, uint64_t scratchBytes, size_t mostSets, double blockDensity = 1);
    // Fills the outputs of a set with NaN again.
    void poison(size_t set);

    // A time that lives off what the last run left in the cache is nobody's: runs take turns over sets
    // that together are larger than the caches of today's devices.
    size_t sets() const noexcept { return count_; }
    VkfBindings bindings(size_t set) const;
    // The inputs on the host, with the outputs of one set.
    host::HostTensors download(size_t set);
    // The same without q, k and v.
    host::HostTensors downloadOutputs(size_t set);
    // Part of q, k or v; of block types whole blocks.
    std::vector<std::byte> inputRange(VkfTensorRole role, uint64_t firstElement, uint64_t elements) const;

    const std::vector<uint32_t>& blockMask() const noexcept { return blockMask_; } // the same in all sets
    uint64_t tensorBytes() const noexcept { return tensorBytes_; }                 // of one set, scratch left out

private:
    // What the same tensor of every set holds. Only ever grows, unless its type changes.
    struct Input {
        VkfType type = VKF_TYPE_FORCE_INT32;
        std::vector<std::byte> block; // repeated
        std::vector<std::byte> bytes; // as much of it as was asked for
    };
    struct Set {
        std::array<host::Buffer, 3> inputs; // q, k, v
        host::Buffer o, lse, scratch;
    };

    void generate(size_t input, const VkfTensorLayout& layout);
    void fill(size_t set, uint64_t scratchBytes);
    // Which of inputs_ a tensor is.
    size_t inputOf(size_t role) const { return valuesInKeys_ && role == VKF_TENSOR_V ? size_t{VKF_TENSOR_K} : role; }

    host::Device& device_;
    bool valuesInKeys_;
    VkfProblem problem_{};
    std::array<Input, 3> inputs_;
    std::vector<uint32_t> blockMask_;
    host::Buffer blockMaskBuffer_;
    std::vector<int32_t> blockTable_;
    host::Buffer blockTableBuffer_;
    std::vector<Set> sets_; // those past count_ wait for smaller shapes
    size_t count_ = 0;
    std::vector<std::byte> o_;
    std::vector<float> lse_;
    uint64_t tensorBytes_ = 0;
};

} // namespace vkf::tools

#endif
