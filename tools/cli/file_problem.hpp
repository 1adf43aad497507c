// SPDX-License-Identifier: MIT
//
// The problem of a call on tensors from files.
#ifndef VKFLASH_TOOLS_FILE_PROBLEM_HPP
#define VKFLASH_TOOLS_FILE_PROBLEM_HPP

#include "cli/inputs.hpp"
#include "cli/options.hpp"

namespace vkf::tools {

// Shapes and optional inputs of the files, with the masks, score terms and dropout of the flags. Throws ProgramError if
// files and flags contradict each other. Does not call vkfCheckProblem.
VkfProblem fileProblem(const Inputs& inputs, const MathOptions& math, const DropoutOptions& dropout);

} // namespace vkf::tools

#endif
