// SPDX-License-Identifier: MIT
//
// Splits GLSL into tokens, as far as its declarations need it.
#pragma once

#include <stdexcept>
#include <string_view>
#include <vector>

namespace vkf::functions {

enum class TokenKind {
    word,
    number,
    mark,     // one character of any other kind
    directive // a whole line of the preprocessor, with the lines that continue it
};

struct Token {
    TokenKind kind;
    std::string_view text; // lies in the text that was split
    int line;              // of its first character; the first line is 1

    bool is(std::string_view other) const { return text == other; }
};

// What a text cannot be split into tokens for.
struct TokenError : std::runtime_error {
    TokenError(const char* text, int at) : std::runtime_error(text), line(at) {}
    int line;
};

// Returns all tokens of a text whose lines end with \n. Comments and blanks are none. Throws TokenError.
std::vector<Token> tokensOf(std::string_view text);

// The words of a directive after its "#": "define", "N", "8" of "# define N 8".
std::vector<std::string_view> wordsOfDirective(std::string_view directive);

} // namespace vkf::functions
