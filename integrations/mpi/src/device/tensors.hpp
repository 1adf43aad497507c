// SPDX-License-Identifier: MIT
//
// Where the chunks of tensors lie in device memory, and copies between them and host memory.
#pragma once

#include <cstdint>
#include <vector>

#include <vkflash/mpi.hpp>

#include "device/gpu.hpp"

namespace vkf::mpi {

// A range of bytes in a buffer.
struct Range {
    uint64_t at = 0;
    uint64_t bytes = 0;

    VkfBinding of(const Memory& memory) const { return memory.binding(at, bytes); }
};

// Ranges one after the other, each at a multiple of 256 bytes.
class Layout {
public:
    Range add(uint64_t bytes);
    uint64_t bytes() const { return end_; }

private:
    uint64_t end_ = 0;
};

// Sequences of dense tensors: 1 with packed sequences.
uint64_t tensorBatch(const VkfProblem& problem);
// Elements of a chunk of q (heads = queryHeads, dim = headDim) and so on.
uint64_t chunkElements(const VkfProblem& problem, const Chunk& chunk, uint32_t heads, uint32_t dim);
uint32_t valueDimOf(const VkfProblem& problem);

// k and v of a chunk of keys, or their gradients.
struct KeyRanges {
    Range k;
    Range v;
};

// The chunks of a block of k and v, one after the other, as they travel.
struct BlockLayout {
    // With the types of the problem.
    BlockLayout(const VkfProblem& whole, const Part& part);
    // With elements of these types: gradients travel in fp32.
    BlockLayout(const VkfProblem& whole, const Part& part, VkfType kType, VkfType vType);

    std::vector<KeyRanges> chunks;
    uint64_t bytes = 0;
};

// Copies between host memory of the caller and the device, through mapped memory.
class Staging {
public:
    explicit Staging(Gpu& gpu) : gpu_(gpu) {}
    void upload(const Memory& to, const Range& range, const void* from);
    void download(void* to, const Memory& from, const Range& range);

private:
    Gpu& gpu_;
    Memory memory_;
};

// Scratch memory and plans for pairs of one call. Plans of equal pairs are made once.
class Calls {
public:
    explicit Calls(Gpu& gpu) : gpu_(gpu) {}

    // Numbers of plans, for `plan`.
    size_t addPlan(const VkfProblem& problem);
    VkfPlan plan(size_t number) const { return plans_[number].plan.get(); }
    const VkfPlanInfo& info(size_t number) const { return plans_[number].info; }
    // Numbers of backward passes. The problem has the gradients that are wanted.
    size_t addBackward(const VkfBackwardProblem& problem);
    VkfBackward backward(size_t number) const { return backwards_[number].pass.get(); }
    const VkfBackwardInfo& backwardInfo(size_t number) const { return backwards_[number].info; }
    Merge makeMerge(const VkfMergeProblem& problem) const;
    void needScratch(uint64_t bytes) { scratchBytes_ = bytes > scratchBytes_ ? bytes : scratchBytes_; }
    // After the last plan.
    void allocateScratch();
    // Whether kernels may run at the same time: no plan has scratch memory, which all plans share, or several steps.
    bool runBesideEachOther() const;
    VkfBinding scratch() const { return scratch_.binding(0, scratch_.bytes()); }

private:
    struct Made {
        VkfProblem problem{};
        Plan plan;
        VkfPlanInfo info{};
    };

    struct MadeBackward {
        VkfProblem problem{}; // of the forward call
        vkf::Backward pass;
        VkfBackwardInfo info{};
    };

    Gpu& gpu_;
    std::vector<Made> plans_;
    std::vector<MadeBackward> backwards_;
    uint64_t scratchBytes_ = 0;
    Memory scratch_;
};

} // namespace vkf::mpi
