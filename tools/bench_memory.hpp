// SPDX-License-Identifier: MIT
//
// The memory of problems that are measured one after the other. Inputs are generated once: element i of a
// tensor is the same number in every problem, so that what is there already serves the next shape.
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
    explicit BenchMemory(host::Device& device) : device_(device) {}

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

    const std::vector<uint32_t>& blockMask() const noexcept { return blockMask_; } // the same in all sets
    uint64_t tensorBytes() const noexcept { return tensorBytes_; }                 // of one set, scratch left out

private:
    // What the same tensor of every set holds. Only ever grows, unless its type changes.
    struct Input {
        VkfType type = VKF_TYPE_FORCE_INT32;
        std::vector<std::byte> bytes;
    };
    struct Set {
        std::array<host::Buffer, 3> inputs; // q, k, v
        host::Buffer o, lse, scratch;
    };

    void generate(size_t input, const VkfTensorLayout& layout);
    void fill(size_t set, uint64_t scratchBytes);

    host::Device& device_;
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
