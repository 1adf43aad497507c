// SPDX-License-Identifier: MIT
#include "functions/tokens.hpp"

#include "base/identifier.hpp"

namespace vkf::functions {
namespace {

constexpr bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f'; }

// A backslash at the end of a line joins it to the next one.
enum class Joins { inDirectives, everywhere };

class Splitter {
public:
    Splitter(std::string_view text, Joins joins) : text_(text), joins_(joins) {}

    std::vector<Token> split() {
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '\n') {
                step();
                isLineStart_ = true;
            } else if (isBlank(c)) {
                ++at_;
            } else if (skipJoin()) {
                if (joins_ == Joins::inDirectives) { // it could be in the middle of a word
                    throw TokenError("a backslash ends the line, which only directives and comments may have",
                                     line_ - 1);
                }
            } else if (!skipComment()) {
                addToken(c);
                isLineStart_ = false;
            }
        }
        return std::move(tokens_);
    }

private:
    void step() {
        line_ += text_[at_] == '\n' ? 1 : 0;
        ++at_;
    }

    bool startsWith(std::string_view start) const { return text_.substr(at_).starts_with(start); }

    bool skipJoin() {
        const bool found = startsWith("\\\n");
        at_ += found ? 2 : 0;
        line_ += found ? 1 : 0;
        return found;
    }

    bool skipComment() {
        if (startsWith("//")) {
            while (at_ < text_.size() && text_[at_] != '\n') {
                if (!skipJoin()) {
                    ++at_;
                }
            }
            return true;
        }
        if (!startsWith("/*")) {
            return false;
        }
        const size_t end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) {
            throw TokenError("the comment has no end", line_);
        }
        while (at_ < end + 2) {
            step();
        }
        return true;
    }

    void addToken(char c) {
        const size_t begin = at_;
        const int line = line_;
        TokenKind kind = TokenKind::mark;
        if (c == '#' && isLineStart_) {
            kind = TokenKind::directive;
            skipDirective();
        } else if (isWordStart(c)) {
            kind = TokenKind::word;
            skipWhile(isWordPart);
        } else if (isDigit(c)) {
            kind = TokenKind::number;
            skipWhile([](char part) { return isWordPart(part) || part == '.'; });
        } else {
            ++at_;
        }
        tokens_.push_back({kind, text_.substr(begin, at_ - begin), line});
    }

    template <typename IsPart> void skipWhile(IsPart isPart) {
        while (at_ < text_.size() && isPart(text_[at_])) {
            ++at_;
        }
    }

    // To the end of the line. A comment that spans lines belongs to the directive.
    void skipDirective() {
        while (at_ < text_.size() && text_[at_] != '\n') {
            if (!skipJoin() && !skipComment()) {
                ++at_;
            }
        }
    }

    std::string_view text_;
    Joins joins_;
    std::vector<Token> tokens_;
    size_t at_ = 0;
    int line_ = 1;
    bool isLineStart_ = true; // only blanks and comments stand before, in this line
};

} // namespace

std::vector<Token> tokensOf(std::string_view text) { return Splitter(text, Joins::inDirectives).split(); }

std::vector<std::string_view> wordsOfDirective(std::string_view directive) {
    std::vector<std::string_view> words;
    for (const Token& token : Splitter(directive.substr(1), Joins::everywhere).split()) {
        if (token.kind != TokenKind::mark) {
            words.push_back(token.text);
        }
    }
    return words;
}

} // namespace vkf::functions
