// SPDX-License-Identifier: MIT
#include "functions/declarations.hpp"

#include <cstddef>
#include <optional>
#include <span>

namespace vkf::functions {
namespace {

using Tokens = std::span<const Token>;

bool isOpening(const Token& token) { return token.is("(") || token.is("[") || token.is("{"); }
bool isClosing(const Token& token) { return token.is(")") || token.is("]") || token.is("}"); }

std::string_view closingOf(const Token& opening) { return opening.is("(") ? ")" : opening.is("[") ? "]" : "}"; }

// The index behind the bracket that closes the one at `begin`.
size_t skipBrackets(Tokens tokens, size_t begin) {
    std::vector<const Token*> open;
    for (size_t i = begin; i < tokens.size(); i++) {
        const Token& token = tokens[i];
        if (isOpening(token)) {
            open.push_back(&token);
        } else if (isClosing(token)) {
            if (!token.is(closingOf(*open.back()))) {
                throw TokenError("a bracket is closed by one of another kind", token.line);
            }
            open.pop_back();
            if (open.empty()) {
                return i + 1;
            }
        }
    }
    throw TokenError("a bracket is never closed", tokens[begin].line);
}

// A declaration, without what stands in its brackets.
struct Statement {
    Tokens tokens;                  // without the semicolon at the end
    std::vector<size_t> outer = {}; // indices of the tokens outside of brackets, and of opening brackets
    size_t end = 0;                 // index behind it, with the semicolon

    const Token& at(size_t i) const { return tokens[outer[i]]; }
    size_t size() const { return outer.size(); }
};

bool isFunctionHead(const Statement& statement) {
    bool hasParentheses = false;
    for (size_t i = 0; i < statement.size(); i++) {
        if (statement.at(i).is("=") || statement.at(i).is("struct")) {
            return false;
        }
        hasParentheses = hasParentheses || (statement.at(i).is("(") && i > 0);
    }
    return hasParentheses;
}

// The statement that begins at an index: up to a semicolon, or to the end of a function's body.
Statement statementAt(Tokens tokens, size_t begin) {
    Statement statement{tokens.subspan(begin)};
    size_t i = begin;
    while (i < tokens.size() && !tokens[i].is(";")) {
        if (isClosing(tokens[i])) {
            throw TokenError("a bracket is closed that was not opened", tokens[i].line);
        }
        const bool isBody = tokens[i].is("{") && isFunctionHead(statement);
        statement.outer.push_back(i - begin);
        i = isOpening(tokens[i]) ? skipBrackets(tokens, i) : i + 1;
        if (isBody) {
            statement.tokens = tokens.subspan(begin, i - begin);
            statement.end = i;
            return statement;
        }
    }
    // What ends with a parenthesis may be a macro that has the semicolon.
    if (i == tokens.size() && !tokens.back().is(")")) {
        throw TokenError("no semicolon follows", tokens.back().line);
    }
    statement.tokens = tokens.subspan(begin, i - begin);
    statement.end = i + (i < tokens.size() ? 1 : 0);
    return statement;
}

std::optional<Declaration> functionOf(const Statement& statement) {
    size_t open = 1;
    while (!statement.at(open).is("(")) {
        ++open;
    }
    const Token& name = statement.at(open - 1);
    if (name.kind != TokenKind::word || open < 2) {
        return {};
    }
    Declaration function{DeclarationKind::function, name.text, name.line};
    const size_t begin = statement.outer[open] + 1;
    const size_t end = skipBrackets(statement.tokens, statement.outer[open]) - 1;
    const Tokens parameters = statement.tokens.subspan(begin, end - begin);
    function.parameters.assign(parameters.begin(), parameters.end());
    function.isDefined = statement.at(statement.size() - 1).is("{");
    function.returned = statement.at(open - 2).text;
    return function;
}

// Adds the variables "a, b[2] = ..., c" that begin at a token outside of brackets.
void addVariables(const Statement& statement, size_t begin, std::vector<Declaration>& declarations) {
    const Token* name = nullptr;
    bool isInitializer = false;
    for (size_t i = begin; i <= statement.size(); i++) {
        if (i == statement.size() || statement.at(i).is(",")) {
            if (name != nullptr) {
                declarations.push_back({DeclarationKind::variable, name->text, name->line});
            }
            name = nullptr;
            isInitializer = false;
        } else if (statement.at(i).is("=")) {
            isInitializer = true;
        } else if (!isInitializer && statement.at(i).kind == TokenKind::word) {
            name = &statement.at(i);
        }
    }
}

void addStructure(const Statement& statement, size_t word, std::vector<Declaration>& declarations) {
    size_t next = word + 1;
    if (next < statement.size() && statement.at(next).kind == TokenKind::word) {
        declarations.push_back({DeclarationKind::structure, statement.at(next).text, statement.at(next).line});
        ++next;
    }
    addVariables(statement, next + 1, declarations); // behind the members
}

void addDeclarations(const Statement& statement, std::vector<Declaration>& declarations) {
    if (statement.size() == 0 || statement.at(0).is("precision")) {
        return;
    }
    const size_t before = declarations.size();
    size_t word = 0;
    while (word < statement.size() && !statement.at(word).is("struct")) {
        ++word;
    }
    if (word < statement.size()) {
        addStructure(statement, word, declarations);
    } else if (isFunctionHead(statement)) {
        if (const std::optional<Declaration> function = functionOf(statement)) {
            declarations.push_back(*function);
        }
    } else {
        addVariables(statement, 0, declarations);
    }
    for (size_t i = before; i < declarations.size(); i++) {
        for (size_t j = 0; j < statement.size() && statement.at(j).kind == TokenKind::word; j++) {
            declarations[i].first.push_back(statement.at(j));
        }
    }
}

} // namespace

std::vector<Declaration> declarationsOf(const std::vector<Token>& tokens) {
    std::vector<Token> code;
    for (const Token& token : tokens) {
        if (token.kind != TokenKind::directive) {
            code.push_back(token);
        }
    }
    std::vector<Declaration> declarations;
    for (size_t i = 0; i < code.size();) {
        const Statement statement = statementAt(code, i);
        addDeclarations(statement, declarations);
        i = statement.end;
    }
    return declarations;
}

} // namespace vkf::functions
