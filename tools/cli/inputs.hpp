// SPDX-License-Identifier: MIT
//
// The tensors of one attention call from files, checked against each other.
#ifndef VKFLASH_TOOLS_INPUTS_HPP
#define VKFLASH_TOOLS_INPUTS_HPP

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "tensors/tensor_file.hpp"
#include "vkflash/host.hpp"

namespace vkf::tools {

// Empty = not given.
struct InputFiles {
    std::string q;
    std::string k;
    std::string v;
    std::string tensors; // one .safetensors with q, k and v
    std::string lengths;
    std::string blockMask;
    std::string sinks;
    std::string alibiSlopes;
    std::string bias;
    std::string biasFactors;
    std::string mask;
    std::string documents;
    std::string cuSeqlensQ;
    std::string cuSeqlensK;
    std::string dropoutMask;
    std::string probabilityRows;
};

void addInputOptions(CLI::App& command, InputFiles& files);

// A flag and its path, as error messages name them.
struct FlagFile {
    const char* flag;
    std::string path;
};

// Those that were given.
std::vector<FlagFile> filesGiven(const InputFiles& files);

struct OptionalInput; // optional_inputs.hpp

struct Inputs {
    Tensor q, k, v;
    std::vector<int32_t> lengths;    // empty if there is no file
    std::vector<int32_t> documents;  // [batch, keys], of packed keys [keys], alike
    std::vector<int32_t> cuSeqlensQ; // empty unless sequences are packed
    std::vector<int32_t> cuSeqlensK;
    std::vector<int32_t> probabilityRows;
    bool rowsFirst = false; // q, k and v, and so o, are [rows, heads, D] in files; shapes here have heads first
    std::optional<Tensor> blockMask;
    std::optional<Tensor> sinks;
    std::optional<Tensor> alibiSlopes;
    std::optional<Tensor> bias; // in whole words of 4 bytes, as of the mask
    std::optional<Tensor> biasFactors;
    std::optional<Tensor> mask;
    std::optional<Tensor> dropoutMask;
    std::vector<const OptionalInput*> given; // rows of the table whose files were given
    std::string source;                      // for messages: "--q q.npy --k k.npy --v v.npy"
};

// ProgramError names flag, file and limit.
Inputs loadInputs(const InputFiles& files);

// Shape and input types of the call; o has the type of q.
VkfProblem problemOf(const Inputs& inputs);

// Pointers to the optional inputs that were given, but for the block mask, which is packed first.
void handOptional(const Inputs& inputs, host::HostTensors& tensors);

VkfType vkfTypeOf(ElementType type);
ElementType elementTypeOf(VkfType type);

// Shape of o, lse or probabilities in files, with as many dimensions as q has; heads come first in lse.
Shape outputShape(const Inputs& inputs);
Shape lseShape(const Inputs& inputs);
Shape probabilitiesShape(const Inputs& inputs);

} // namespace vkf::tools

#endif
