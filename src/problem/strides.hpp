// SPDX-License-Identifier: MIT
//
// Strides in bytes, and the words in which kernels load rows.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "base/message.hpp"
#include "problem/problem.hpp"

namespace vkf {

inline constexpr uint64_t max32 = std::numeric_limits<uint32_t>::max();
// Bytes that the kernels of paths coopmat, standard and decode load at once, if rows are whole words.
inline constexpr uint32_t loadedWordBytes = 16;
// Bytes of the words in which these kernels load block types.
inline constexpr uint32_t blockWordBytes = 4;

struct ByteStrides {
    uint64_t row;
    uint64_t head;
    uint64_t batch;
};

// Returns the strides of a tensor in bytes. The stride of a dimension with at most one entry is 0: kernels only
// multiply it by 0, so its value must not cause an error.
ByteStrides byteStrides(const VkfTensorLayout& layout);

// Finds the smallest shift to the right that brings every head and batch stride into 32 bits. Fails if the shift would
// lose a bit of a stride, or if a row stride does not fit 32 bits.
// `names` are those of the tensors in messages.
VkfResult chooseStrideShift(const std::array<ByteStrides, 4>& strides, uint32_t* shift, VkfMessage* message,
                            const std::array<const char*, 4>& names = {"q", "k", "v", "o"});

// Rounds up to a multiple of `multiple`.
uint64_t roundUp(uint64_t x, uint32_t multiple);

// Returns a dense fp32 layout [batch, queryHeads, queryRows, dim]. Rows and columns are padded to the given multiples;
// 4 columns are 16 bytes.
VkfTensorLayout scratchLayout(const VkfProblem& p, uint32_t batch, uint32_t dim, uint32_t rowMultiple = 1,
                              uint32_t columnMultiple = 4);

// Returns the dense layout of the output `probabilities`.
VkfTensorLayout probabilitiesLayout(const VkfProblem& p);

// Whether all rows of a tensor are whole words, if the tensor's address is a multiple of the word. A word has 16 bytes,
// or 4 bytes for block types. If this is true, a path asks for aligned addresses; else it loads element by element.
bool inWholeWords(const VkfTensorLayout& layout);
// As above, with words of `word` bytes.
bool inWholeWords(const VkfTensorLayout& layout, uint32_t word);

// Whether rows of q, k and v are whole words, and offsets within one tile fit 32 bits.
template <typename AnyTile> bool hasWholeWords(const CheckedProblem& problem, const AnyTile& tile) {
    const auto inWords = [&](VkfTensorRole role) {
        const VkfTensorLayout& layout = problem.layout(role);
        return inWholeWords(layout) &&
               byteStrides(layout).row <= max32 / std::max(tile.rows(), tile.keys()) - loadedWordBytes;
    };
    return inWords(VKF_TENSOR_Q) && inWords(VKF_TENSOR_K) && inWords(VKF_TENSOR_V);
}

} // namespace vkf
