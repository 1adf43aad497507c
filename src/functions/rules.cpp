// SPDX-License-Identifier: MIT
#include "functions/rules.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>

#include "base/identifier.hpp"

namespace vkf::functions {
namespace {

using Names = std::span<const std::string_view>;

bool isIn(Names names, std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); }

constexpr std::string_view allowedDirectives[] = {"define", "undef", "if",    "ifdef", "ifndef",
                                                  "else",   "elif",  "endif", "error"};

// The kernels declare everything that a shader shares with the outside.
constexpr std::string_view foreignQualifiers[] = {"uniform", "buffer", "shared", "in", "out", "inout"};

// What the kernels give to the user's file. A macro replaces the user's names, so that none may be one of these.
constexpr std::string_view givenNames[] = {"Position",     "batch",       "head",       "kvHead",      "row",
                                           "key",          "rows",        "keys",       "functionF32", "functionF16",
                                           "functionBf16", "functionI32", "functionU8", "functionTanh"};

// Words of GLSL that a macro of an array's name would hide.
constexpr std::string_view glslWords[] = {"float", "int",      "uint",  "bool",   "vec2", "vec3",   "vec4",
                                          "if",    "for",      "while", "do",     "else", "return", "const",
                                          "break", "continue", "void",  "struct", "true", "false",  "switch"};

struct Entry {
    VkfFunctionBits bit;
    std::string_view name;
    std::string_view returned;
    bool hasScore; // its first parameter is a score
    const char* signature;
};

constexpr std::array entries = {
    Entry{VKF_FUNCTION_SCORE, "score", "float", true, "float score(float s, Position at)"},
    Entry{VKF_FUNCTION_KEEP, "keep", "bool", false, "bool keep(Position at)"},
    Entry{VKF_FUNCTION_SCORE_DERIVATIVE, "scoreDerivative", "float", true,
          "float scoreDerivative(float s, Position at)"},
};

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

bool isReserved(std::string_view name) {
    return name.starts_with("gl_") || name.starts_with("GL_") || name.starts_with("VKF_") ||
           name.starts_with("user_") || name.find("__") != std::string_view::npos;
}

void checkName(const std::string& file, std::string_view name, int line) {
    if (isReserved(name)) {
        failAt(file, line,
               quoted(name) + ": names with gl_, GL_, VKF_ or user_ at the beginning or with __ are reserved");
    }
    if (name == "main") {
        failAt(file, line, "main is the kernel's function; a file of functions has score, keep or scoreDerivative");
    }
    if (isIn(givenNames, name)) {
        failAt(file, line, quoted(name) + " cannot be declared, because it is a name of Position or of the arrays");
    }
}

// Counts how deep #if is, from one directive to the next.
void countConditions(const std::string& file, std::string_view directive, int line, std::vector<int>& open) {
    if (directive == "if" || directive == "ifdef" || directive == "ifndef") {
        open.push_back(line);
    } else if (directive == "endif" || directive == "else" || directive == "elif") {
        if (open.empty()) {
            failAt(file, line, "#" + std::string(directive) + " without #if");
        }
        if (directive == "endif") {
            open.pop_back();
        }
    }
}

// Whether the parameters are (float, Position) or (Position), with any names and qualifiers that change no value.
bool hasParameters(std::span<const Token> parameters, bool hasScore) {
    constexpr std::string_view harmless[] = {"const", "in", "highp", "mediump", "lowp"};
    std::vector<std::vector<std::string_view>> words(1);
    for (const Token& token : parameters) {
        if (token.is(",")) {
            words.emplace_back();
        } else if (!isIn(harmless, token.text)) {
            words.back().push_back(token.text);
        }
    }
    const auto isOf = [](const std::vector<std::string_view>& parameter, std::string_view type) {
        return !parameter.empty() && parameter.size() <= 2 && parameter[0] == type;
    };
    return hasScore ? words.size() == 2 && isOf(words[0], "float") && isOf(words[1], "Position")
                    : words.size() == 1 && isOf(words[0], "Position");
}

bool isEntry(const Declaration& declaration, const Entry& entry) {
    return declaration.kind == DeclarationKind::function && declaration.name == entry.name &&
           declaration.returned == entry.returned && hasParameters(declaration.parameters, entry.hasScore);
}

void checkEntry(const std::string& file, const std::vector<Declaration>& declarations, const Entry& entry) {
    const Declaration* wrong = nullptr;
    for (const Declaration& declaration : declarations) {
        if (isEntry(declaration, entry)) {
            return; // others of the name are overloads
        }
        if (declaration.name == entry.name && wrong == nullptr) {
            wrong = &declaration;
        }
    }
    if (wrong != nullptr) {
        failAt(file, wrong->line, std::string(entry.name) + " must be declared as: " + entry.signature);
    }
}

// How often the file has the name, besides its declarations. A directive that has it anywhere counts once.
size_t usesOf(std::string_view name, const std::vector<Token>& tokens, const std::vector<Declaration>& declarations) {
    const auto isUse = [name](const Token& token) {
        return token.kind == TokenKind::directive ? token.text.find(name) != std::string_view::npos : token.is(name);
    };
    const auto isOfName = [name](const Declaration& declaration) { return declaration.name == name; };
    return static_cast<size_t>(std::count_if(tokens.begin(), tokens.end(), isUse) -
                               std::count_if(declarations.begin(), declarations.end(), isOfName));
}

// A function of a pair that nobody calls is most likely one of the three whose name is misspelt.
void checkMisspelt(const std::string& file, const std::vector<Token>& tokens,
                   const std::vector<Declaration>& declarations, const Declaration& declaration) {
    const bool ofPair = declaration.kind == DeclarationKind::function &&
                        (hasParameters(declaration.parameters, true) || hasParameters(declaration.parameters, false));
    const bool isKnown =
        std::any_of(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.name == declaration.name; });
    if (ofPair && !isKnown && usesOf(declaration.name, tokens, declarations) == 0) {
        failAt(file, declaration.line,
               quoted(declaration.name) + " takes a Position, and nothing calls it; kernels call score, keep and "
                                          "scoreDerivative");
    }
}

} // namespace

void failAt(const std::string& file, int line, const std::string& text) {
    throw Error(VKF_ERROR_INVALID_ARGUMENT, file + (line != 0 ? ":" + std::to_string(line) : "") + ": " + text);
}

void checkTokens(const std::string& file, const std::vector<Token>& tokens) {
    std::vector<int> open; // lines of #if
    for (const Token& token : tokens) {
        if (token.kind == TokenKind::directive) {
            const std::vector<std::string_view> words = wordsOfDirective(token.text);
            if (words.empty()) {
                continue;
            }
            if (!isIn(allowedDirectives, words[0])) {
                failAt(file, token.line, "#" + std::string(words[0]) + " is not allowed in a file of functions");
            }
            if (words[0] == "define" && words.size() > 1) {
                checkName(file, words[1], token.line);
            }
            countConditions(file, words[0], token.line, open);
        } else if (token.is("layout")) {
            failAt(file, token.line, "layout is not allowed in a file of functions");
        }
    }
    if (!open.empty()) {
        failAt(file, open.back(), "#if without #endif");
    }
}

void checkDeclarations(const std::string& file, const std::vector<Token>& tokens,
                       const std::vector<Declaration>& declarations) {
    for (const Declaration& declaration : declarations) {
        for (const Token& word : declaration.first) {
            if (isIn(foreignQualifiers, word.text)) {
                failAt(file, word.line, std::string(word.text) + " is not allowed in a file of functions");
            }
        }
        checkName(file, declaration.name, declaration.line);
        checkMisspelt(file, tokens, declarations, declaration);
    }
    for (const Entry& entry : entries) {
        checkEntry(file, declarations, entry);
    }
}

void checkArrays(const Source& source, const std::vector<Declaration>& declarations) {
    if (source.arrays.size() > VKF_MAX_FUNCTION_ARRAYS) {
        failAt(source.name, 0,
               std::to_string(source.arrays.size()) + " arrays, over the limit of " +
                   std::to_string(VKF_MAX_FUNCTION_ARRAYS));
    }
    std::vector<std::string_view> names;
    for (const VkfFunctionArray& array : source.arrays) {
        const std::string name(array.name, std::find(std::begin(array.name), std::end(array.name), '\0'));
        if (name.size() >= VKF_FUNCTION_NAME_CAPACITY || !isIdentifier(name) || isIn(glslWords, name)) {
            failAt(source.name, 0, "the name " + quoted(name) + " of an array is no identifier of GLSL");
        }
        checkName(source.name, name, 0);
        if (isIn(names, name)) {
            failAt(source.name, 0, "the array " + quoted(name) + " is declared twice");
        }
        for (const Declaration& declaration : declarations) {
            if (declaration.name == name) {
                failAt(source.name, declaration.line, quoted(name) + " is the name of an array, too");
            }
        }
        names.emplace_back(array.name);
    }
}

bool hasMonotonePromise(const std::string& file, const std::vector<Declaration>& declarations) {
    constexpr std::string_view name = "keepIsMonotone";
    for (const Declaration& declaration : declarations) {
        if (declaration.name != name) {
            continue;
        }
        const std::vector<Token>& first = declaration.first;
        const bool isConstant = declaration.kind == DeclarationKind::variable && first.size() == 3 &&
                                first[0].is("const") && first[1].is("bool");
        if (!isConstant) {
            failAt(file, declaration.line, "keepIsMonotone must be declared as: const bool keepIsMonotone = true");
        }
        return true;
    }
    return false;
}

bool mentions(const std::vector<Token>& tokens, std::string_view member) {
    return std::any_of(tokens.begin(), tokens.end(), [member](const Token& token) {
        if (token.kind != TokenKind::directive) {
            return token.text == member;
        }
        const std::vector<std::string_view> words = wordsOfDirective(token.text);
        return std::find(words.begin(), words.end(), member) != words.end();
    });
}

VkfFunctionSet functionsOf(const std::string& file, const std::vector<Declaration>& declarations) {
    VkfFunctionSet functions = 0;
    for (const Entry& entry : entries) {
        for (const Declaration& declaration : declarations) {
            if (declaration.isDefined && isEntry(declaration, entry)) {
                functions |= static_cast<VkfFunctionSet>(entry.bit);
            }
        }
    }
    if (functions == 0) {
        failAt(file, 0, "the file defines none of score, keep and scoreDerivative");
    }
    if ((functions & VKF_FUNCTION_SCORE_DERIVATIVE) != 0 && (functions & VKF_FUNCTION_SCORE) == 0) {
        failAt(file, 0, "scoreDerivative is defined, but not score");
    }
    return functions;
}

} // namespace vkf::functions
