// SPDX-License-Identifier: MIT
//
// Writes results to files. Either all files are written or none.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/inputs.hpp"
#include "tensors/tensor_file.hpp"

namespace vkf::tools {

// One result of a command.
struct Output {
    const char* flag;
    const char* name; // in a .safetensors file
    std::string path; // empty = not wanted. Several results may have the same .safetensors file.
    Tensor tensor;    // only its type counts before allocate
};

// Call it before the work. Checks format, type and folder, and that no output is an input or another output. Throws
// ProgramError with flag, file and reason.
void checkOutputs(std::span<const Output> outputs, std::span<const FlagFile> inputs);

// Gives the result its shape and zeroed memory. Throws ProgramError if its size does not fit 64 bits.
void allocate(Output& output, Shape shape);

// Memory of a result; null if it is not wanted.
inline void* memoryOf(Output& output) { return output.path.empty() ? nullptr : output.tensor.bytes.data(); }

// Writes the wanted results. Throws ProgramError.
void writeOutputs(std::span<const Output> outputs);

// A line for each wanted result: "wrote   o.npy [2, 6, 17, 24] f32".
std::string writtenText(std::span<const Output> outputs);

} // namespace vkf::tools
