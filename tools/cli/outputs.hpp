// SPDX-License-Identifier: MIT
//
// o, lse and probabilities on their way to files: all of them or none.
#ifndef VKFLASH_TOOLS_OUTPUTS_HPP
#define VKFLASH_TOOLS_OUTPUTS_HPP

#include <string>
#include <vector>

#include "cli/inputs.hpp"
#include "tensors/tensor_file.hpp"

namespace vkf::tools {

struct OutputFiles {
    std::string o;
    // Empty = not asked for; the same .safetensors file as o is allowed.
    std::string lse;
    std::string probabilities;
};

// Those that the files do not ask for are not used.
struct OutputTensors {
    const Tensor& o;
    const Tensor& lse;
    const Tensor& probabilities;
};

// Before the work: format, type, folder, and that no output is an input or another output.
// ProgramError names flag, file and reason.
void checkOutputs(const OutputFiles& files, ElementType outputType, const InputFiles& inputs);

void writeOutputs(const OutputFiles& files, const OutputTensors& tensors);

} // namespace vkf::tools

#endif
