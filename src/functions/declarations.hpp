// SPDX-License-Identifier: MIT
//
// The names that a GLSL file declares outside of functions.
#pragma once

#include <string_view>
#include <vector>

#include "functions/tokens.hpp"

namespace vkf::functions {

enum class DeclarationKind { function, variable, structure };

struct Declaration {
    DeclarationKind kind;
    std::string_view name;
    int line;                           // of the name
    bool isDefined = true;              // false for the prototype of a function
    std::string_view returned = {};     // the type of the result of a function
    std::vector<Token> parameters = {}; // between the parentheses of a function
    std::vector<Token> first = {};      // the words before the name: qualifiers and type
};

// Returns the declarations in their order, those of all branches of #if. Throws TokenError where brackets do not match.
std::vector<Declaration> declarationsOf(const std::vector<Token>& tokens);

} // namespace vkf::functions
