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

struct BenchFunction {
    const char* name;
    const char* file; // in examples/functions
    // New values of constants of the file for a shape.
    ExampleConstants (*constants)(const VkfProblem& plain);
    // Makes a plain call compute the same by a feature of the library. Null = there is none.
    void (*useBuiltIn)(ExtraCall& call);
    bool isCausal = false;       // the call has a causal mask, too
    bool readsDocuments = false; // the file reads the array `document`
    bool comparesToMask = false; // also measured as a dense boolean mask
};

// The rows with these names, in the order of the table. An empty list means all rows. Throws ProgramError about --only
// for an unknown name.
std::vector<BenchFunction> selectFunctions(const std::vector<std::string>& names);

// What the formulas of the file get as `user` for a plain problem.
ExampleContext contextOf(const BenchFunction& function, const VkfProblem& plain);

// The text of the file with its constants, and its array.
functions::Source sourceOf(const BenchFunction& function, const VkfProblem& plain);

// The calls of a row for a plain problem: with functions, with the built-in feature, and with a dense mask. `handle` is
// the compiled source.
ExtraCall functionCall(const BenchFunction& function, const VkfProblem& plain, VkfFunctions handle);
ExtraCall builtInCall(const BenchFunction& function, const VkfProblem& plain);
ExtraCall maskCall(const VkfReferenceFunctions& formulas, const VkfProblem& plain);

// (query row, key) pairs that the function keeps, in one head. 0 = the function is no mask.
double keptPairs(const VkfReferenceFunctions& formulas, const VkfProblem& plain);

} // namespace vkf::tools
