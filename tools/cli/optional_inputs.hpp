// SPDX-License-Identifier: MIT
//
// The optional inputs of a call as the program sees them. Each input has one table row. It has the flag, the reader of
// the file, the fields of the problem, and the member of host attention.
// The program knows only the public headers. Therefore this table is separate from the library's table
// (src/problem/arrays.hpp).
#pragma once

#include <array>
#include <span>
#include <string>

#include "cli/inputs.hpp"
#include "vkflash/reference.h"

namespace vkf::tools {

// The names of q, k and v in messages.
using TensorNames = std::array<std::string, 3>;

struct OptionalInput {
    const char* flag;
    const char* help;
    // Reads the file into `inputs`, which already has q, k and v.
    void (*load)(const FlagFile& file, const TensorNames& names, Inputs& inputs);
    void (*describe)(const Inputs& inputs, VkfProblem& problem);    // null: nothing to say
    void (*hand)(const Inputs& inputs, host::HostTensors& tensors); // null = the command does it
    const char* alias = nullptr;                                    // another name of the flag
};

std::span<const OptionalInput> optionalInputs();

// Dimensions counted from the innermost one, so that the numbers do not depend on the rank.
enum Axis : size_t { axisDim = 0, axisRow = 1, axisHead = 2, axisBatch = 3 };
uint32_t extent(const Tensor& tensor, Axis axis);

// Loads a tensor from a .npy file.
Tensor loadArray(const FlagFile& file, const std::string& name);

// Length of the longest packed sequence.
uint32_t longest(const std::vector<int32_t>& starts);

} // namespace vkf::tools
