// SPDX-License-Identifier: MIT
//
// The optional inputs of a call as the program sees them: one row for each says its flag, how its file is read and
// checked, what it means for the problem, and where host attention and the CPU reference take it. The program knows the
// public headers alone, so this table stands beside the library's (src/problem/optional_inputs.hpp).
#ifndef VKFLASH_TOOLS_OPTIONAL_INPUTS_HPP
#define VKFLASH_TOOLS_OPTIONAL_INPUTS_HPP

#include <array>
#include <span>
#include <string>

#include "cli/inputs.hpp"
#include "vkflash/reference.h"

namespace vkf::tools {

// How messages call q, k and v.
using TensorNames = std::array<std::string, 3>;

struct OptionalInput {
    const char* flag; // null: the program makes the input itself
    std::string InputFiles::*path;
    const char* help;
    // Reads the file into the inputs, of which q, k and v are there.
    void (*load)(const FlagFile& file, const TensorNames& names, Inputs& inputs);
    void (*describe)(const Inputs& inputs, VkfProblem& problem);    // null: nothing to say
    void (*hand)(const Inputs& inputs, host::HostTensors& tensors); // null: the command does it
    void (*refer)(const host::HostTensors& tensors, VkfReferenceInputs& inputs);
    const char* alias = nullptr; // another name of the flag
};

std::span<const OptionalInput> optionalInputs();

// Gives the reference what host attention has.
void referOptional(const host::HostTensors& tensors, VkfReferenceInputs& inputs);

// Dimensions counted from the innermost, so that they are the same at every rank.
enum Axis : size_t { axisDim = 0, axisRow = 1, axisHead = 2, axisBatch = 3 };
uint32_t extent(const Tensor& tensor, Axis axis);

// A tensor from a .npy file.
Tensor loadArray(const FlagFile& file, const std::string& name);

// The longest of packed sequences.
uint32_t longest(const std::vector<int32_t>& starts);

} // namespace vkf::tools

#endif
