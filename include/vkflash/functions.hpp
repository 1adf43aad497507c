// SPDX-License-Identifier: MIT
//
// vkflash/functions.hpp: compiles masks and scores of the caller's own, which functions.h describes, into the kernels.
// The library vkflash::functions has these functions; it contains a GLSL compiler. A program that only reads files of
// `vkflash compile` needs vkfLoadFunctions instead, and not this library.
//
//     vkf::functions::Source source{text, "natten.glsl", {}};
//     const vkf::functions::Functions functions = vkf::functions::compile(source);
//     problem.functions = functions.handle();
//
// - C++17. Functions may be called by any number of threads at the same time.
// - Errors are exceptions of type vkf::functions::Error, whose result() is a VkfResult. std::bad_alloc is thrown where
//   the C++ runtime has no host memory.
#ifndef VKFLASH_FUNCTIONS_HPP
#define VKFLASH_FUNCTIONS_HPP

#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "functions.h"

namespace vkf::functions {

// What this library throws. what() is one sentence, which begins with the file and the line if there is one:
// "natten.glsl:7: 'x' : undeclared identifier".
class Error : public std::runtime_error {
public:
    // An error with this result(), and with `text` as what().
    Error(VkfResult result, const std::string& text) : std::runtime_error(text), result_(result) {}
    // The code that the same failure has in the C interface; never VKF_SUCCESS.
    VkfResult result() const noexcept { return result_; }

private:
    VkfResult result_;
};

// A file of functions.
struct Source {
    // GLSL with any of score, keep and scoreDerivative, and with functions, structs and constants of its own. No names
    // of the file can collide with names of the kernels. Unless the file declares its own tanh, tanh is a fast one: its
    // absolute error is under 2^-21, and it is no constant expression. A file without arrays may see keys past the last
    // one; nobody uses their scores.
    //
    // Read arrays in keep and score themselves, or in functions that they call directly. NVIDIA's compiler does not
    // inline deeper calls, and a kernel on matrices then takes two to three times as long.
    std::string text;
    // Name of the file in messages.
    std::string name;
    // The arrays that the functions read, in the order of VkfBindings::functionArrays.
    std::vector<VkfFunctionArray> arrays;
};

// Returns an array of this name and type of elements.
//
// Throws Error: VKF_ERROR_INVALID_ARGUMENT (the name is longer than VKF_FUNCTION_NAME_CAPACITY - 1 bytes).
VkfFunctionArray functionArray(const std::string& name, VkfElement element);

// Owns compiled functions. Move-only. All plans and backward passes that use them must be destroyed first.
class Functions {
public:
    // Takes the functions of `other`, which then owns nothing.
    Functions(Functions&& other) noexcept;
    // Destroys the own functions and takes those of `other`, which then owns nothing.
    Functions& operator=(Functions&& other) noexcept;
    ~Functions();

    // The object for VkfProblem::functions; null after a move. Ownership does not change.
    VkfFunctions handle() const noexcept;

private:
    struct State;
    friend Functions compile(const Source& source);
    explicit Functions(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

// Checks that the functions compile, and returns an object that compiles each kernel when a plan first needs it. A
// kernel takes a fraction of a second. Copies the source.
//
// Throws Error: VKF_ERROR_INVALID_ARGUMENT (the source is wrong).
Functions compile(const Source& source);

// The names that kernelsOf takes: "scalar", "coopmat", "decode", "standard", "key_outer", "backward".
std::vector<std::string> pathNames();

// The kernels that plans of a path need, by the names of shaders/variants.json. "backward" means the backward pass on
// all its paths, without the forward pass.
//
// Throws Error: VKF_ERROR_INVALID_ARGUMENT (there is no such path).
std::vector<std::string> kernelsOf(const std::string& path);

// Compiles the kernels and returns the content of a file for vkfLoadFunctions. Takes a fraction of a second for each
// kernel. Calls afterKernel(number of compiled kernels) after each kernel; empty = calls nothing.
//
// Throws Error: VKF_ERROR_INVALID_ARGUMENT (the source is wrong, or there is no such kernel).
std::vector<std::byte> compileToFile(const Source& source, const std::vector<std::string>& kernels,
                                     const std::function<void(size_t)>& afterKernel = {});

} // namespace vkf::functions

#endif
