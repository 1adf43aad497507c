// SPDX-License-Identifier: MIT
//
// Tensors of whole calls, which every rank of the tests makes, and the parts of them that a rank holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <mpi.h>

#include <vkflash/mpi.hpp>
#include <vkflash/reference.h>

namespace vkf::test {

using Bytes = std::vector<std::byte>;

// One call over ranks, with its lengths.
struct Case {
    std::string name;
    VkfProblem problem = make<VkfProblem>();
    mpi::Split split;
    bool backward = false; // whether gradients are tested too
    std::vector<int32_t> keyLengths;
    std::vector<int32_t> cuSeqlensQ;
    std::vector<int32_t> cuSeqlensK;

    mpi::Lengths lengths() const { return {keyLengths.data(), cuSeqlensQ.data(), cuSeqlensK.data()}; }
};

// A dense tensor [batch, heads, rows, dim] of the whole call.
struct Whole {
    VkfType type = VKF_TYPE_F32;
    uint64_t batch = 1;
    uint64_t heads = 1;
    uint64_t rows = 0;
    uint64_t dim = 1;
    Bytes bytes{};

    uint64_t rowBytes() const { return dim * vkfTypeBytes(type); }
    const float* numbers() const { return reinterpret_cast<const float*>(bytes.data()); }
    uint64_t size() const { return batch * heads * rows * rowBytes(); }
};

Whole shapedLike(const VkfProblem& problem, VkfType type, uint32_t heads, uint32_t rows, uint32_t dim);
// Fills the tensor with numbers of [-1, 1), the same on every rank.
void fillRandom(Whole& tensor, uint32_t seed);
// The rows of the chunks, as the library takes them.
Bytes partOf(const Whole& whole, const std::vector<mpi::Chunk>& chunks);
// Collects the parts of all ranks into the whole tensor, on every rank.
void collect(Whole& whole, const Bytes& part, const std::vector<mpi::Chunk>& chunks);

} // namespace vkf::test
