// SPDX-License-Identifier: MIT
//
// Loads what a backward pass takes besides the inputs of its forward call: the gradient of o, and where they are given
// o, lse and the gradient of lse.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/inputs.hpp"
#include "tensors/tensor_file.hpp"

namespace vkf::tools {

// Paths of the files. Empty = not given.
struct BackwardInputFiles {
    std::string dout; // not given = tensor `do` of --tensors
    std::string o;    // o and lse: both or none
    std::string lse;
    std::string dlse;
};

void addBackwardInputOptions(CLI::App& command, BackwardInputFiles& files);

// The files that the caller gave.
std::vector<FlagFile> filesGiven(const BackwardInputFiles& files);

struct BackwardInputs {
    Tensor dout;
    std::optional<Tensor> o;
    std::optional<Tensor> lse;
    std::optional<Tensor> dlse;
};

// Throws ProgramError with flag, file and limit.
BackwardInputs loadBackwardInputs(const BackwardInputFiles& files, const InputFiles& inputFiles, const Inputs& inputs);

} // namespace vkf::tools
