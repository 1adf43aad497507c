// SPDX-License-Identifier: MIT
//
// Writes o, lse and probabilities to files. Either all files are written or none.
#ifndef VKFLASH_TOOLS_OUTPUTS_HPP
#define VKFLASH_TOOLS_OUTPUTS_HPP

#include <string>
#include <vector>

#include "cli/inputs.hpp"
#include "tensors/tensor_file.hpp"

namespace vkf::tools {

struct OutputFiles {
    std::string o;
    // Empty = not wanted. May be the .safetensors file of o.
    std::string lse;
    std::string probabilities;
};

// The results. A tensor without a file is not used.
struct OutputTensors {
    const Tensor& o;
    const Tensor& lse;
    const Tensor& probabilities;
};

// Call it before the work. Checks format, type and folder, and that no output is an input or another output. Throws
// ProgramError with flag, file and reason.
void checkOutputs(const OutputFiles& files, ElementType outputType, const InputFiles& inputs);

void writeOutputs(const OutputFiles& files, const OutputTensors& tensors);

} // namespace vkf::tools

#endif
