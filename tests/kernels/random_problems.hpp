// SPDX-License-Identifier: MIT
//
// Random problems over all features of attention.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "support/call.hpp"
#include "support/dice.hpp"
#include "support/variations.hpp"

namespace vkf::test {

// Numbers of rows and keys.
inline constexpr std::array<uint32_t, 9> randomSizes = {1, 2, 7, 31, 64, 65, 97, 113, 203};

// Heads, rows and keys. randomProblem adds the head dimensions.
Shape randomShape(Dice& dice);

// Packed sequences with random lengths around those of the shape.
struct Lengths {
    std::vector<int32_t> rows;
    std::vector<int32_t> keys;
};

Lengths randomLengths(Dice& dice, const Shape& shape);
// The shape of all sequences together.
Shape together(Shape shape, const Lengths& lengths);

// Types, strides, scale, softcap, masks without arrays, and key lengths.
VkfProblem randomProblem(Dice& dice, Data& data, Shape shape);

// Strides with gaps, or none. Heads or rows are outermost.
void scatter(Dice& dice, VkfTensor& tensor, uint64_t heads, uint64_t rows, uint64_t dim);

// Score terms, sinks and per-key masks. Half of the problems have none of them.
void chooseTerms(Dice& dice, VkfPath path, VkfProblem& p);

// The generator with its seed on the host or on the device, or a dropout mask.
void chooseDropout(Dice& dice, VkfProblem& p);

// Positions of the call's own, for a quarter of the problems that can have them, with offsets on the device or without.
// The last choice: it has dice of its own.
void choosePositions(VkfProblem& p, Data& data);

// Lists of chosen keys for an eighth of the problems that can have them. The last choice, too.
void chooseLists(const Variation& variation, VkfProblem& p, const Data& data);

} // namespace vkf::test
