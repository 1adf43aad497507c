// SPDX-License-Identifier: MIT
//
// How far apart the rows, heads and batches of a tensor lie in bytes, and what kernels ask of that.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "base/message.hpp"
#include "problem/problem.hpp"

namespace vkf {

inline constexpr uint64_t most32 = std::numeric_limits<uint32_t>::max();
inline constexpr uint32_t loadedWordBytes = 16; // that the cooperative-matrix and decode kernels load at once
inline constexpr uint32_t blockWordBytes = 4;   // the same of block types

struct ByteStrides {
    uint64_t row;
    uint64_t head;
    uint64_t batch;
};

// Strides of dimensions with one entry are never multiplied by anything but 0.
ByteStrides byteStrides(const VkfTensorLayout& layout);

// The smallest shift that brings every head and batch stride into 32 bits without losing a bit.
VkfResult chooseStrideShift(const std::array<ByteStrides, 4>& strides, uint32_t* shift, VkfMessage* message);

uint64_t roundUp(uint64_t x, uint32_t multiple);

// Dense fp32 [batch, queryHeads, queryRows, dim], rows and columns padded to such multiples; 4 columns are 16 bytes.
VkfTensorLayout scratchLayout(const VkfProblem& p, uint32_t batch, uint32_t dim, uint32_t rowMultiple = 1,
                              uint32_t columnMultiple = 4);

// The dense layout of the probabilities.
VkfTensorLayout probabilitiesLayout(const VkfProblem& p);

// Whether all rows of a tensor are whole words of 16 bytes, or of 4 bytes of block types, if its first element starts
// on one. Then a path asks for aligned addresses; else it loads element by element.
bool inWholeWords(const VkfTensorLayout& layout);
// The same of words of so many bytes.
bool inWholeWords(const VkfTensorLayout& layout, uint32_t word);

// The same of q, k and v, whose offsets inside a tile must fit 32 bits besides.
template <typename AnyTile> bool hasWholeWords(const CheckedProblem& problem, const AnyTile& tile) {
    const auto inWords = [&](VkfTensorRole role) {
        const VkfTensorLayout& layout = problem.layout(role);
        return inWholeWords(layout) &&
               byteStrides(layout).row <= most32 / std::max(tile.rows(), tile.keys()) - loadedWordBytes;
    };
    return inWords(VKF_TENSOR_Q) && inWords(VKF_TENSOR_K) && inWords(VKF_TENSOR_V);
}

} // namespace vkf
