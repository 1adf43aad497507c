// SPDX-License-Identifier: MIT
//
// o and lse on their way to files: all of them or none.
#ifndef VKFLASH_TOOLS_OUTPUTS_HPP
#define VKFLASH_TOOLS_OUTPUTS_HPP

#include <string>
#include <vector>

#include "inputs.hpp"
#include "tensor_file.hpp"

namespace vkf::tools {

struct OutputFiles {
    std::string o;
    std::string lse; // empty = not asked for; the same .safetensors file as o is allowed
};

// Before the work: format, type, folder, and that no output is an input or another output.
// ProgramError names flag, file and reason.
void checkOutputs(const OutputFiles& files, ElementType outputType, const InputFiles& inputs);

// lse is used if files ask for it.
void writeOutputs(const OutputFiles& files, const Tensor& o, const Tensor& lse);

} // namespace vkf::tools

#endif
