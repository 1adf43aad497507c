// SPDX-License-Identifier: MIT
//
// Finds the sentences of documents and of comments, with the lines where they begin.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace vkf::test {

struct Sentence {
    size_t line;
    // What stands between spaces. A `span of code` is one word, and a link is its text.
    std::vector<std::string> words;
};

// The sentences of a Markdown text. A list item and a table cell end a sentence. Headings, blocks of code and the
// targets of links are left out.
std::vector<Sentence> sentencesOfDocument(const std::string& document);

// The sentences in the comments of a C++ or GLSL text. Comments have paragraphs, lists and indented examples as in
// Markdown.
std::vector<Sentence> sentencesOfComments(const std::string& source);

} // namespace vkf::test
