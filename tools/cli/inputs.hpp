// SPDX-License-Identifier: MIT
//
// Loads the tensors of one attention call from files and checks that they fit each other.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/options.hpp"
#include "tensors/tensor_file.hpp"
#include "vkflash/host.hpp"

namespace vkf::tools {

// Paths of the input files. Empty = not given.
struct InputFiles {
    std::string q;
    std::string k;
    std::string v;
    std::string tensors; // one .safetensors file with q, k and v
    std::string layout = "bhnd";
    std::string maskKeys = "all";                     // of which keys --mask has columns: all or last
    std::map<std::string_view, std::string> optional; // by flag (optional_inputs.hpp)

    // The file of an optional input.
    std::string of(std::string_view flag) const {
        const auto found = optional.find(flag);
        return found != optional.end() ? found->second : std::string();
    }
};

void addInputOptions(CLI::App& command, InputFiles& files);

// A flag and its file, as error messages name them.
struct FlagFile {
    const char* flag;
    std::string path;
};

// The files that the caller gave.
std::vector<FlagFile> filesGiven(const InputFiles& files);

// A tensor of a .npy file, and its name in messages.
struct NamedArray {
    std::string name;
    Tensor tensor;
};

struct OptionalInput; // optional_inputs.hpp

struct Inputs {
    Tensor q, k, v;
    std::vector<int32_t> lengths; // empty without a file
    // [batch, keys]; [keys] if sequences are packed.
    std::vector<int32_t> documents;
    std::vector<int32_t> cuSeqlensQ; // empty unless sequences are packed
    std::vector<int32_t> cuSeqlensK;
    std::vector<int32_t> probabilityRows;
    std::vector<int32_t> rowOffsets;
    struct Lists {
        Shape shape; // the last dimension is a list
        std::vector<int32_t> entries;
    };
    Lists chosenKeys; // no entries without a file
    // In files, the heads of q, k, v and o come after the rows. The shapes in this struct have heads first.
    bool rowsFirst = false;
    std::optional<NamedArray> blockMask;
    std::map<VkfArray, Tensor> headNumbers; // inputs of one number for each query head
    // The bytes of bias and mask are rounded up to a multiple of 4.
    std::optional<Tensor> bias;
    std::optional<Tensor> mask;
    bool maskOfLastKeys = false; // columns of the mask are the last keys of each sequence
    std::optional<Tensor> dropoutMask;
    std::vector<const OptionalInput*> given; // table rows of the given files
    std::string source;                      // for messages: "--q q.npy --k k.npy --v v.npy"

    // One number for each query head, or null without a file.
    const Tensor* numbersOf(VkfArray array) const {
        const auto found = headNumbers.find(array);
        return found != headNumbers.end() ? &found->second : nullptr;
    }
};

// Throws ProgramError with flag, file and limit.
Inputs loadInputs(const InputFiles& files);

// Checks q, k and v, of which only types and shapes count, and loads the optional inputs. `names` are those of q, k and
// v in messages. loadInputs has done it. Throws ProgramError.
void completeInputs(const InputFiles& files, const std::array<std::string, 3>& names, Inputs& inputs);

// Shape and input types of the call. o has the type of q.
VkfProblem problemOf(const Inputs& inputs);

// Shapes and optional inputs of the files, with the masks, score terms and dropout of the flags. Throws ProgramError if
// files and flags contradict each other. Does not call vkfCheckProblem.
VkfProblem fileProblem(const Inputs& inputs, const MathOptions& math, const DropoutOptions& dropout);

// Packs the block mask into words and sets the problem's strides. Empty without a block mask. The file is bool or
// uint8, and a value that is not 0 means an open block. Its shape is [rowBlocks, keyBlocks], optionally with heads in
// front, optionally with sequences in front of the heads. One head serves all heads; one sequence serves all sequences.
// Throws ProgramError with the name of the file.
std::vector<uint32_t> packBlockMask(const Inputs& inputs, VkfProblem& problem);

// Sets pointers to the given optional inputs, except the block mask, which must be packed first.
void handOptional(const Inputs& inputs, host::HostTensors& tensors);

VkfType vkfTypeOf(ElementType type);
ElementType elementTypeOf(VkfType type);

// From the order of the files to that of this struct, or back: swaps heads and rows if they differ.
Shape otherOrder(const Inputs& inputs, Shape shape);

// Shapes of o, lse and probabilities in files. o and probabilities have as many dimensions as q. lse lacks the last
// dimension, and its heads come first.
Shape outputShape(const Inputs& inputs);
Shape lseShape(const Inputs& inputs);
Shape probabilitiesShape(const Inputs& inputs);

} // namespace vkf::tools
