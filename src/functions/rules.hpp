// SPDX-License-Identifier: MIT
//
// What a file of functions may contain and declare.
#pragma once

#include <string>
#include <vector>

#include <vkflash/functions.hpp>

#include "functions/declarations.hpp"
#include "functions/tokens.hpp"

namespace vkf::functions {

// Throws an error of the caller: "natten.glsl:7: <text>", without the line if it is 0.
[[noreturn]] void failAt(const std::string& file, int line, const std::string& text);

// Refuses directives and words that belong to the kernels. Each function throws Error.
void checkTokens(const std::string& file, const std::vector<Token>& tokens);

// Refuses names that the kernels need, a wrong signature of score, keep or scoreDerivative, and a function that is most
// likely one of these with its name misspelt.
void checkDeclarations(const std::string& file, const std::vector<Token>& tokens,
                       const std::vector<Declaration>& declarations);

// Refuses arrays with a wrong name or type, and arrays that are named like a declaration.
void checkArrays(const Source& source, const std::vector<Declaration>& declarations);

// Which of score, keep and scoreDerivative are declared with a body. Refuses a file without any, and scoreDerivative
// without score.
VkfFunctionSet functionsOf(const std::string& file, const std::vector<Declaration>& declarations);

// Whether the file declares the constant keepIsMonotone (functions.h). Refuses another declaration of that name.
bool hasMonotonePromise(const std::string& file, const std::vector<Declaration>& declarations);

// Whether the code may look at this member of a position, anywhere.
bool mentions(const std::vector<Token>& tokens, std::string_view member);

} // namespace vkf::functions
