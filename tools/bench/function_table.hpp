// SPDX-License-Identifier: MIT
//
// The rows of `vkflash bench functions`: files of examples/functions, with the built-in feature that computes the same,
// if there is one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gallery/gallery.hpp"
#include "measure/call_runs.hpp"
#include "vkflash/host.hpp"

namespace vkf::tools {

// The numbers that the functions have for one shape. Formulas get them as `user`.
struct FunctionNumbers {
    int32_t heads = 1;
    int32_t window = 1023; // keys before a row
    int32_t prefix = 0;
    int32_t dilation = 4;
    int32_t width = 1; // of an image whose pixels are the keys
    int32_t height = 1;
    int32_t kernel = 1;             // side of the window in the image
    std::vector<int32_t> documents; // of each key
};
FunctionNumbers numbersOf(const VkfProblem& problem);

struct BenchFunction {
    const char* name;
    const char* file; // in examples/functions
    // New values of constants of the file.
    ExampleConstants (*constants)(const FunctionNumbers& numbers);
    // With FunctionNumbers as `user`.
    VkfReferenceFunctions formulas;
    // Makes a plain call compute the same by a feature of the library. Null = there is none.
    void (*useBuiltIn)(const FunctionNumbers& numbers, ExtraCall& call);
    bool isCausal = false;       // the call has a causal mask, too
    bool readsDocuments = false; // the file reads the array `document`
    bool comparesToMask = false; // also measured as a dense boolean mask
};

// The rows with these names, in the order of the table. An empty list means all rows. Throws ProgramError about --only
// for an unknown name.
std::vector<BenchFunction> selectFunctions(const std::vector<std::string>& names);

// The text of the file with the numbers in it, and its array.
functions::Source sourceOf(const BenchFunction& function, const FunctionNumbers& numbers);

// The calls of a row for a plain problem: with functions, with the built-in feature, and with a dense mask. `handle` is
// the compiled source.
ExtraCall functionCall(const BenchFunction& function, const FunctionNumbers& numbers, const VkfProblem& plain,
                       VkfFunctions handle);
ExtraCall builtInCall(const BenchFunction& function, const FunctionNumbers& numbers, const VkfProblem& plain);
ExtraCall maskCall(const BenchFunction& function, FunctionNumbers& numbers, const VkfProblem& plain);

// (query row, key) pairs that the function keeps, in one head. 0 = the function is no mask.
double keptPairs(const BenchFunction& function, FunctionNumbers& numbers, const VkfProblem& plain);

} // namespace vkf::tools
