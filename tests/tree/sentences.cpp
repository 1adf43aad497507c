// SPDX-License-Identifier: MIT
#include "tree/sentences.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace vkf::test {
namespace {

constexpr std::array abbreviations = {"al.", "cf.", "e.g.", "etc.", "i.e.", "vs."};

struct Line {
    size_t number;
    std::string text;
};
// Lines that belong together: a paragraph, a list item or a table cell.
using Block = std::vector<Line>;

bool isDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool isSpace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::string trimmed(const std::string& text) {
    const auto first = std::find_if_not(text.begin(), text.end(), isSpace);
    const auto last = std::find_if_not(text.rbegin(), text.rend(), isSpace).base();
    return first < last ? std::string(first, last) : std::string();
}

std::vector<Line> linesOf(const std::string& text) {
    std::vector<Line> lines;
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find('\n', begin), text.size());
        lines.push_back({lines.size() + 1, text.substr(begin, end - begin)});
        begin = end + 1;
    }
    return lines;
}

// ---- Blocks ----

// Characters of the mark that begins a list item, with the spaces around it. 0 = the line begins no item.
size_t listMark(const std::string& line) {
    size_t end = line.find_first_not_of(' ');
    if (end == std::string::npos) {
        return 0;
    }
    if (isDigit(line[end])) {
        end = line.find_first_not_of("0123456789", end);
        if (end == std::string::npos || line[end] != '.') {
            return 0;
        }
    } else if (line[end] != '-' && line[end] != '*' && line[end] != '+') {
        return 0;
    }
    return line.compare(end + 1, 1, " ") == 0 ? end + 2 : 0;
}

// Whether the line is no text: an indented example, a license, or a rule with a title.
bool isNoText(const std::string& line) {
    return line.starts_with("    ") || line.starts_with("SPDX-") || line.starts_with("----");
}

// Paragraphs and list items.
class Blocks {
public:
    void add(const Line& line) {
        const size_t mark = listMark(line.text);
        if (isNoText(line.text) || trimmed(line.text).empty()) {
            end();
        } else if (mark != 0) {
            end();
            current_.push_back({line.number, line.text.substr(mark)});
        } else {
            current_.push_back(line);
        }
    }
    void end() {
        if (!current_.empty()) {
            blocks_.push_back(current_);
            current_.clear();
        }
    }
    std::vector<Block> take() {
        end();
        return blocks_;
    }

private:
    std::vector<Block> blocks_;
    Block current_;
};

// The cells of a table's row. A line between code marks or behind a backslash separates no cells.
std::vector<std::string> cellsOf(const std::string& row) {
    std::vector<std::string> cells;
    bool isCode = false;
    for (size_t at = 0; at < row.size(); at++) {
        isCode = isCode != (row[at] == '`');
        if (row[at] == '|' && !isCode && (at == 0 || row[at - 1] != '\\')) {
            cells.emplace_back();
        } else if (!cells.empty()) {
            cells.back() += row[at];
        }
    }
    return cells;
}

std::vector<Block> blocksOfDocument(const std::string& document) {
    Blocks blocks;
    bool isFenced = false;
    for (const Line& line : linesOf(document)) {
        if (trimmed(line.text).starts_with("```")) {
            isFenced = !isFenced;
            blocks.end();
        } else if (isFenced || line.text.starts_with('#')) {
            blocks.end();
        } else if (line.text.starts_with('|')) {
            for (const std::string& cell : cellsOf(line.text)) {
                blocks.end();
                blocks.add({line.number, trimmed(cell)});
            }
            blocks.end();
        } else {
            blocks.add(line);
        }
    }
    return blocks.take();
}

// ---- Comments ----

// Column of the first comment at or behind `from`, outside of strings. npos = there is none.
size_t commentColumn(const std::string& line, size_t from) {
    char quote = 0;
    for (size_t at = from; at + 1 < line.size(); at++) {
        if (quote != 0) {
            if (line[at] == '\\') {
                at++;
            } else if (line[at] == quote) {
                quote = 0;
            }
        } else if (line[at] == '"') {
            quote = line[at];
        } else if (line[at] == '/' && (line[at + 1] == '/' || line[at + 1] == '*')) {
            return at;
        }
    }
    return std::string::npos;
}

std::string withoutFirst(const std::string& text, std::string_view first) {
    return text.starts_with(first) ? text.substr(first.size()) : text;
}

// A line of a /* */ comment behind its first one, without the star of the margin.
std::string withoutMargin(const std::string& line, bool isBehindCode) {
    std::string text = trimmed(line);
    if (!isBehindCode) {
        text = withoutFirst(withoutFirst(text, "*"), " ");
    }
    return text;
}

// Follows the lines of a source. Comments that are lines of their own in a row are one comment.
class Comments {
public:
    void add(const Line& line) {
        if (isOpen_) {
            const size_t close = line.text.find("*/");
            blocks_.add({line.number, withoutMargin(line.text.substr(0, close), isBehindCode_)});
            isOpen_ = close == std::string::npos;
            column_ = std::string::npos;
            if (!isOpen_) {
                find(line, close + 2);
            }
        } else {
            find(line, 0);
        }
    }
    std::vector<Block> take() { return blocks_.take(); }

private:
    void find(const Line& line, size_t from) {
        const size_t column = commentColumn(line.text, from);
        if (column == std::string::npos) {
            blocks_.end();
            column_ = column;
            return;
        }
        isBehindCode_ = line.text.find_first_not_of(' ') < column;
        const bool isLine = line.text[column + 1] == '/';
        if (isBehindCode_ || !isLine || column != column_) {
            blocks_.end();
        }
        const std::string text = line.text.substr(column + 2);
        const size_t close = isLine ? std::string::npos : text.find("*/");
        blocks_.add({line.number, withoutFirst(text.substr(0, close), " ")});
        isOpen_ = !isLine && close == std::string::npos;
        column_ = isLine ? column : std::string::npos;
        if (close != std::string::npos) {
            find(line, column + 2 + close + 2);
        }
    }

    Blocks blocks_;
    bool isOpen_ = false;       // in a /* */ comment
    bool isBehindCode_ = false; // the comment began behind code
    // Column of the // comment of the line before. The next line can go on with it.
    size_t column_ = std::string::npos;
};

// ---- Sentences ----

struct Word {
    size_t line;
    std::string text;
};

// Words of a block, without the targets of links.
std::vector<Word> wordsOf(const Block& block) {
    std::vector<Word> words;
    bool isCode = false;
    bool isTarget = false;
    bool isInside = false;
    for (const Line& line : block) {
        char before = ' ';
        for (const char c : line.text + " ") {
            if (isTarget) {
                isTarget = c != ')';
            } else if (isSpace(c) && !isCode) {
                isInside = false;
            } else if (c == '(' && before == ']' && !isCode) {
                isTarget = true;
            } else {
                if (!isInside) {
                    words.push_back({line.number, {}});
                    isInside = true;
                }
                isCode = isCode != (c == '`');
                words.back().text += c;
            }
            before = c;
        }
    }
    return words;
}

bool endsSentence(const std::string& word) {
    // A superscript number has bytes past ASCII.
    const auto isClosing = [](char c) {
        return static_cast<unsigned char>(c) > 0x7f || std::string_view(")]\"'*").find(c) != std::string_view::npos;
    };
    const auto last = std::find_if_not(word.rbegin(), word.rend(), isClosing).base();
    const std::string text = withoutFirst(std::string(word.begin(), last), "(");
    if (text.size() < 2 || text.ends_with("...")) {
        return false;
    }
    const bool isAbbreviation = std::find(abbreviations.begin(), abbreviations.end(), text) != abbreviations.end();
    return !isAbbreviation && std::string_view(".!?").find(text.back()) != std::string_view::npos;
}

std::vector<Sentence> sentencesOf(const std::vector<Block>& blocks) {
    std::vector<Sentence> sentences;
    for (const Block& block : blocks) {
        bool isNew = true;
        for (const Word& word : wordsOf(block)) {
            if (isNew) {
                sentences.push_back({word.line, {}});
            }
            sentences.back().words.push_back(word.text);
            isNew = endsSentence(word.text);
        }
    }
    return sentences;
}

} // namespace

std::vector<Sentence> sentencesOfDocument(const std::string& document) {
    return sentencesOf(blocksOfDocument(document));
}

std::vector<Sentence> sentencesOfComments(const std::string& source) {
    Comments comments;
    for (const Line& line : linesOf(source)) {
        comments.add(line);
    }
    return sentencesOf(comments.take());
}

} // namespace vkf::test
