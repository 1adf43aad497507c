// SPDX-License-Identifier: MIT
//
// The library's own list of functions: the files of examples/functions, each with its formulas in fp64 and with random
// arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "vkflash/functions.hpp"
#include "vkflash/reference.h"

namespace vkf::tools {

// The arrays of the examples suffice for calls up to this size.
namespace gallery {
constexpr int batch = 3;
constexpr int heads = 4;
constexpr int rows = 150;
constexpr int keys = 131;
} // namespace gallery

// An array that functions read. The values are rounded to the type of the elements when an example is compiled.
struct ExampleArray {
    const char* name;
    VkfElement element;
    std::vector<double> values;
};

// Names and values of constants of a file.
using ExampleConstants = std::vector<std::pair<std::string, std::string>>;

using ExampleGenerator = std::mt19937_64;

// A file of functions.
struct Example {
    std::string file; // in examples/functions
    // New values of constants of the file, for small shapes.
    ExampleConstants constants{};
    // The arrays in the order in which `read` numbers them.
    std::vector<ExampleArray> (*arrays)(ExampleGenerator& random) = [](ExampleGenerator&) {
        return std::vector<ExampleArray>{};
    };
    // Absent functions are null. `user` is an ExampleContext.
    VkfReferenceFunctions formulas{};
    uint32_t rows = 70;
    uint32_t keys = gallery::keys;
};

// What formulas get as `user`.
struct ExampleContext {
    std::vector<std::vector<double>> arrays;
    std::vector<double> constants; // values of the constants that an example sets, in their order
};
std::vector<double> valuesOf(const ExampleConstants& constants);

// Element i of an array, for formulas. Throws std::out_of_range.
double read(void* user, size_t array, int64_t i);
int64_t readInt(void* user, size_t array, int64_t i);
// A constant of the example, for formulas. Throws std::out_of_range.
double constant(void* user, size_t i);
int number(void* user, size_t i);

// The masks and the scores of examples/functions.
std::vector<Example> exampleMasks();
std::vector<Example> exampleScores();
// Both.
std::vector<Example> examples();
// The example of a file. Throws std::runtime_error if there is none.
Example exampleOf(const std::string& file);

// `count` random numbers, for arrays.
std::vector<double> normalValues(ExampleGenerator& random, size_t count);
std::vector<double> wholeValues(ExampleGenerator& random, size_t count, int64_t first, int64_t last);

// The text of a file of examples/functions with new values of its constants. Throws std::runtime_error if there is no
// such file or constant.
std::string exampleText(const std::string& file, const ExampleConstants& constants);

// A compiled example with arrays on the host.
class CompiledExample {
public:
    explicit CompiledExample(const Example& example, uint32_t seed = 1);
    // From a text instead of a file. It has no arrays.
    CompiledExample(const std::string& text, const VkfReferenceFunctions& formulas);
    CompiledExample(const CompiledExample&) = delete;
    CompiledExample(CompiledExample&&) = delete;
    CompiledExample& operator=(const CompiledExample&) = delete;
    CompiledExample& operator=(CompiledExample&&) = delete;
    ~CompiledExample() = default;

    VkfFunctions handle() const { return functions_.handle(); }
    // The elements of each array, filled up to whole words.
    const std::vector<std::vector<std::byte>>& arrays() const { return arrays_; }
    // The context `user` points into this object.
    const VkfReferenceFunctions& formulas() const { return formulas_; }

private:
    ExampleContext context_;
    std::vector<std::vector<std::byte>> arrays_;
    VkfReferenceFunctions formulas_;
    functions::Functions functions_;
};

} // namespace vkf::tools
