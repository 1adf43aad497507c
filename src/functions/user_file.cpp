// SPDX-License-Identifier: MIT
#include "functions/user_file.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "functions/declarations.hpp"
#include "functions/rules.hpp"
#include "functions/tokens.hpp"

namespace vkf::functions {
namespace {

// The function of a kernel that reads an element.
const char* readerOf(VkfElement element) {
    switch (element) {
    case VKF_ELEMENT_F32:
        return "functionF32";
    case VKF_ELEMENT_F16:
        return "functionF16";
    case VKF_ELEMENT_BF16:
        return "functionBf16";
    case VKF_ELEMENT_I32:
        return "functionI32";
    case VKF_ELEMENT_U8:
        return "functionU8";
    default:
        throw Error(VKF_ERROR_INVALID_ARGUMENT, "an array has an unknown VkfElement");
    }
}

void add(std::vector<std::string>& names, std::string_view name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
        names.emplace_back(name);
    }
}

std::vector<std::string> macrosOf(const std::vector<Token>& tokens) {
    std::vector<std::string> names;
    for (const Token& token : tokens) {
        if (token.kind != TokenKind::directive) {
            continue;
        }
        const std::vector<std::string_view> words = wordsOfDirective(token.text);
        if (words.size() > 1 && words[0] == "define") {
            add(names, words[1]);
        }
    }
    return names;
}

// Whatever the file defines holds to its end only. Behind the text, the compiler itself goes back to the lines of the
// file that includes it.
std::string includedText(const Source& source, const std::vector<std::string>& names, std::vector<std::string> macros) {
    std::string text;
    for (size_t i = 0; i < source.arrays.size(); i++) {
        const VkfFunctionArray& array = source.arrays[i];
        text += "#define " + std::string(array.name) + "(i) " + readerOf(array.element) + "(" + std::to_string(i) +
                "u, i)\n";
        add(macros, array.name);
    }
    for (const std::string& name : names) {
        text.append("#define ").append(name).append(" ").append(namePrefix).append(name).append("\n");
        add(macros, name);
    }
    if (std::find(macros.begin(), macros.end(), "tanh") == macros.end()) {
        text += "#define tanh functionTanh\n"; // of shaders/functions/position.glsl
        add(macros, "tanh");
    }
    text += "#line 1 \"" + std::string(lineName) + "\"\n" + source.text;
    text += "\n\n"; // a backslash at the end of the file continues into the first of these
    for (const std::string& macro : macros) {
        text += "#undef " + macro + "\n";
    }
    return text;
}

// Whether the file may index arrays, those of the caller or its own.
bool indexesArrays(const Source& source, const std::vector<Token>& tokens) {
    return !source.arrays.empty() || std::any_of(tokens.begin(), tokens.end(), [](const Token& token) {
        return token.text.find('[') != std::string_view::npos;
    });
}

std::string boolConstant(const char* name, const std::string& value) {
    return "const bool " + std::string(name) + " = " + value + ";\n";
}

// Which functions and promises the file has, and functions that change nothing in place of those that it lacks.
std::string completion(VkfFunctionSet functions, bool isMonotone, bool indexes) {
    struct Function {
        VkfFunctionBits bit;
        const char* constant; // of shaders/functions/hooks.glsl, or null
        const char* identity;
    };
    constexpr Function all[] = {
        {VKF_FUNCTION_SCORE, "HAS_SCORE", "float user_score(const float s, const Position at) { return s; }\n"},
        {VKF_FUNCTION_KEEP, "HAS_KEEP", "bool user_keep(const Position at) { return true; }\n"},
        {VKF_FUNCTION_SCORE_DERIVATIVE, nullptr,
         "float user_scoreDerivative(const float s, const Position at) { return 1.0; }\n"},
    };
    std::string text;
    for (const auto& [bit, constant, identity] : all) {
        const bool has = (functions & static_cast<VkfFunctionSet>(bit)) != 0;
        if (constant != nullptr) {
            text += boolConstant(constant, has ? "true" : "false");
        }
        text += has ? "" : identity;
    }
    const std::string promise = isMonotone ? std::string(namePrefix) + "keepIsMonotone" : "false";
    return text + boolConstant("KEEP_IS_MONOTONE", promise) +
           boolConstant("INDEXES_ARRAYS", indexes ? "true" : "false");
}

// GLSL's lines end with \n, \r or both.
std::string withPlainLineEnds(const std::string& text) {
    std::string plain;
    for (size_t i = 0; i < text.size(); i++) {
        if (text[i] != '\r') {
            plain += text[i];
        } else if (text.substr(i + 1, 1) != "\n") {
            plain += '\n';
        }
    }
    return plain;
}

} // namespace

UserFile readUserFile(const Source& given) {
    if (given.text.find('\0') != std::string::npos) {
        failAt(given.name, 0, "the file is no text");
    }
    Source source = given;
    source.text = withPlainLineEnds(given.text);
    try {
        const std::vector<Token> tokens = tokensOf(source.text);
        checkTokens(source.name, tokens);
        const std::vector<Declaration> declarations = declarationsOf(tokens);
        checkDeclarations(source.name, tokens, declarations);
        checkArrays(source, declarations);

        UserFile file;
        file.name = source.name;
        file.functions = functionsOf(source.name, declarations);
        if ((file.functions & VKF_FUNCTION_KEEP) != 0) {
            const bool byHead = mentions(tokens, "head") || mentions(tokens, "kvHead");
            file.functions |= byHead ? VKF_FUNCTION_KEEP_BY_HEAD : 0;
            file.functions |= mentions(tokens, "batch") ? VKF_FUNCTION_KEEP_BY_SEQUENCE : 0;
        }
        for (const Declaration& declaration : declarations) {
            add(file.names, declaration.name);
        }
        file.included =
            includedText(source, file.names, macrosOf(tokens)) +
            completion(file.functions, hasMonotonePromise(source.name, declarations), indexesArrays(source, tokens));
        return file;
    } catch (const TokenError& error) {
        failAt(source.name, error.line, error.what());
    }
}

} // namespace vkf::functions
