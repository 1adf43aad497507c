// SPDX-License-Identifier: MIT
//
// The functions of a call, from a file of GLSL or a compiled one, and the arrays that they read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/inputs.hpp"
#include "tensors/tensor_file.hpp"
#include "vkflash/functions.h"
#include "vkflash/host.hpp"
#include "vkflash/vkflash.hpp"
#if defined(VKFLASH_HAS_FUNCTIONS)
#include "vkflash/functions.hpp"
#endif

namespace vkf::tools {

// Flags. Empty = not given.
struct FunctionFiles {
    std::string functions;
    std::vector<std::string> arrays; // "NAME=FILE.npy"
};

void addFunctionOptions(CLI::App& command, FunctionFiles& files);

// The files that are given, for checkOutputs.
std::vector<FlagFile> filesGiven(const FunctionFiles& files);

// " --functions FILE", for messages. Empty if the flag is not given.
std::string flagText(const FunctionFiles& files);

// Throws ProgramError if --verify is to check functions of a file, which have no formulas for the reference.
void requireFormulas(const FunctionFiles& files, bool verify);

// The names of the functions that a file has: keep, score, scoreDerivative.
std::vector<std::string> functionNames(VkfFunctions functions);

// A file of --function-array.
struct FunctionArrayFile {
    VkfFunctionArray array{};
    std::string flag; // in messages
    Tensor tensor;
};

class FunctionInputs {
public:
    // Loads the arrays, and compiles or loads the functions.
    explicit FunctionInputs(const FunctionFiles& files);

    // Gives the functions to a problem, if there are some.
    void apply(VkfProblem& problem) const;
    void hand(host::HostTensors& tensors) const;

private:
    void load(const std::string& file, const std::string& content);
    void compile(const std::string& file, const std::string& content);
    VkfFunctions handle() const;

    std::vector<FunctionArrayFile> arrays_;
    Unique<VkfFunctions, vkfDestroyFunctions> loaded_; // of a compiled file
#if defined(VKFLASH_HAS_FUNCTIONS)
    std::optional<functions::Functions> compiled_;
#endif
};

} // namespace vkf::tools
