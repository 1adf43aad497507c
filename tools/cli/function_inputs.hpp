// SPDX-License-Identifier: MIT
//
// The functions of a call, from a file of GLSL or a compiled one, and the arrays that they read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "vkflash/host.hpp"

namespace vkf::tools {

// Flags. Empty = not given.
struct FunctionFiles {
    std::string functions;
    std::vector<std::string> arrays; // "NAME=FILE.npy"
};

void addFunctionOptions(CLI::App& command, FunctionFiles& files);

// " --functions FILE", for messages. Empty if the flag is not given.
std::string flagText(const FunctionFiles& files);

// Throws ProgramError if --verify is to check functions of a file, which have no formulas for the reference.
void requireFormulas(const FunctionFiles& files, bool verify);

class FunctionInputs {
public:
    // Loads the arrays, and compiles or loads the functions.
    explicit FunctionInputs(const FunctionFiles& files);
    FunctionInputs(const FunctionInputs&) = delete;
    FunctionInputs& operator=(const FunctionInputs&) = delete;
    ~FunctionInputs();

    // Gives the functions to a problem, if there are some.
    void apply(VkfProblem& problem) const;
    void hand(host::HostTensors& tensors) const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace vkf::tools
