// SPDX-License-Identifier: MIT
//
// Long sentences, and sentences that open with a word for something before, are hard to read for many. This test looks
// for them in the documents and in the public headers.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "tree/example_tree.hpp"
#include "tree/listed.hpp"
#include "tree/sentences.hpp"

namespace {

namespace fs = std::filesystem;
using vkf::test::Sentence;

constexpr size_t mostWords = 40;
constexpr std::array openings = {"Of", "Those", "The same", "Such", "So do", "So does"};

std::string textOf(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

// Operators are no words. Letters past ASCII are.
bool isWord(const std::string& text) {
    return std::any_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte > 0x7f || std::isalnum(byte) != 0;
    });
}

bool isAroundWord(char c) { return std::string_view("()[]\"'*.,:;").find(c) != std::string_view::npos; }

// Without the punctuation around it.
std::string bare(const std::string& word) {
    const auto first = std::find_if_not(word.begin(), word.end(), isAroundWord);
    const auto last = std::find_if_not(word.rbegin(), word.rend(), isAroundWord).base();
    return first < last ? std::string(first, last) : std::string();
}

std::string joined(const Sentence& sentence) {
    std::string text;
    for (const std::string& word : sentence.words) {
        text += (text.empty() ? "" : " ") + word;
    }
    return text;
}

// A phrase such as "What the device is, and why." is no sentence.
bool saysWhatIs(const Sentence& sentence) {
    const auto& words = sentence.words;
    return bare(words.front()) == "What" && !words.back().ends_with('?') &&
           std::any_of(words.begin(), words.end(), [](const auto& word) { return word == "is" || word == "are"; });
}

// Empty if the sentence is fine.
std::string faultOf(const Sentence& sentence) {
    const auto count = static_cast<size_t>(std::count_if(sentence.words.begin(), sentence.words.end(), isWord));
    if (count > mostWords) {
        return std::to_string(count) + " words";
    }
    const std::string first = bare(sentence.words.front());
    const std::string two = sentence.words.size() > 1 ? first + " " + bare(sentence.words[1]) : first;
    for (const std::string_view opening : openings) {
        if (first == opening || two == opening) {
            return "opens with " + std::string(opening);
        }
    }
    return saysWhatIs(sentence) ? "opens with What ... is" : "";
}

std::vector<Sentence> sentencesOf(const fs::path& file) {
    return file.extension() == ".md" ? vkf::test::sentencesOfDocument(textOf(file))
                                     : vkf::test::sentencesOfComments(textOf(file));
}

// One line for each fault.
std::vector<std::string> faultsOf(const fs::path& base, const std::vector<fs::path>& files) {
    std::vector<std::string> lines;
    for (const fs::path& file : files) {
        for (const Sentence& sentence : sentencesOf(file)) {
            const std::string fault = faultOf(sentence);
            if (!fault.empty()) {
                lines.push_back(fs::relative(file, base).generic_string() + ":" + std::to_string(sentence.line) + ": " +
                                fault + ": " + joined(sentence));
            }
        }
    }
    return lines;
}

// Documents and sources of a folder and of those under it.
std::vector<fs::path> textsUnder(const fs::path& folder) {
    constexpr std::array<std::string_view, 6> endings = {".md", ".h", ".hpp", ".cpp", ".glsl", ".comp"};
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        const std::string ending = entry.path().extension().string();
        if (entry.is_regular_file() && std::find(endings.begin(), endings.end(), ending) != endings.end()) {
            files.push_back(entry.path());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

// README.md, the documents and the public headers.
std::vector<fs::path> manualOf(const fs::path& base) {
    std::vector<fs::path> files = {base / "README.md"};
    for (const char* folder : {"docs", "include", "integrations"}) {
        const std::vector<fs::path> more = textsUnder(base / folder);
        files.insert(files.end(), more.begin(), more.end());
    }
    return files;
}

// The lines about a file with that name and text.
std::vector<std::string> faultsIn(const std::string& file, const std::string& text) {
    const vkf::test::ExampleTree example;
    example.write(file, text);
    return faultsOf(example.base(), {example.base() / file});
}

// "one one ... one." Its first word has a capital letter.
std::string words(size_t count) {
    std::string text = "One";
    for (size_t i = 1; i < count; i++) {
        text += " one";
    }
    return text + ".";
}

} // namespace

TEST_CASE("sentences of documents and public headers are short and open plainly", "[tree]") {
    const fs::path base = VKFLASH_SOURCE_DIR;
    REQUIRE(manualOf(base).size() > 15);
    const std::vector<std::string> faults = faultsOf(base, manualOf(base));
    INFO("sentences to change:" << vkf::test::listed(faults));
    CHECK(faults.empty());
}

TEST_CASE("sentences of the sources' comments are short and open plainly", "[tree]") {
    const fs::path base = VKFLASH_SOURCE_DIR;
    for (const char* folder : {"src", "shaders", "tools"}) {
        const std::vector<std::string> faults = faultsOf(base, textsUnder(base / folder));
        INFO("sentences to change in " << folder << ":" << vkf::test::listed(faults));
        CHECK(faults.empty());
    }
}

TEST_CASE("a long sentence is found with its file and line", "[tree]") {
    using Lines = std::vector<std::string>;
    CHECK(faultsIn("a.md", words(40)).empty());
    CHECK(faultsIn("a.md", "# Title\n\nFirst. " + words(41)) == Lines{"a.md:3: 41 words: " + words(41)});
    // A sentence goes on in the next line, behind numbers, abbreviations, dots in a row and code.
    for (const char* middle : {"0.5", "e.g.", "(i.e.", "et al.", "a, ...", "`b.`", "2.1,", "q . k", "`c. d. e`"}) {
        INFO(middle);
        CHECK(faultsIn("a.md", "Two " + std::string(middle) + "\n" + words(40)).size() == 1);
    }
    // A word and its link are words, the target is not.
    CHECK(faultsIn("a.md", "[Two\nlinks](https://a.b/c d) " + words(39)).size() == 1);
    CHECK(faultsIn("a.md", "[Link](a b c d e) and " + words(38)).empty());
    // Operators and code in one span.
    CHECK(faultsIn("a.md", "`a b c d` = + - " + words(39)).empty());
    CHECK(faultsIn("a.md", "- " + words(41)).size() == 1);
    CHECK(faultsIn("a.md", "| a | " + words(41) + " |").size() == 1);
}

TEST_CASE("list items, cells, headings and code end a sentence", "[tree]") {
    const std::string half = "one one one one one one one one one one one one one one one one one one one one one one";
    CHECK(faultsIn("a.md", half + " " + half).size() == 1);
    CHECK(faultsIn("a.md", half + "\n\n" + half).empty());
    CHECK(faultsIn("a.md", half + "\n- " + half + "\n  one\n- " + half + "\n1. " + half).empty());
    CHECK(faultsIn("a.md", "| " + half + " | " + half + " |\n| --- | --- |\n| " + half + " | `a|b` |").empty());
    CHECK(faultsIn("a.md", "# " + half + " " + half + "\n" + half).empty());
    CHECK(faultsIn("a.md", half + "\n```\n" + half + "\n```\n" + half).empty());
    CHECK(faultsIn("a.md", half + ":\n\n    " + half + " " + half + "\n\n" + half).empty());
}

TEST_CASE("an opening that refers to something before is found", "[tree]") {
    using Lines = std::vector<std::string>;
    CHECK(faultsIn("a.md", "One. Of two, one is new.") == Lines{"a.md:1: opens with Of: Of two, one is new."});
    for (const char* opening : {"Those are new.", "The same holds.", "Such keys are new.", "So do keys.",
                                "So does a key.", "What a key needs is new.", "(Those are new.)", "**Such** keys."}) {
        INFO(opening);
        CHECK(faultsIn("a.md", "- One.\n  " + std::string(opening)).size() == 1);
        CHECK(faultsIn("a.h", "int a; /* One.\n          " + std::string(opening) + " */").size() == 1);
    }
    for (const char* opening : {"of the elements", "Often.", "The samples differ.", "So far.", "What the device is.",
                                "What it is, and why.", "What is it?", "What a plan needs."}) {
        INFO(opening);
        CHECK(faultsIn("a.md", opening).empty());
    }
}

TEST_CASE("comments are text and code is not", "[tree]") {
    using Lines = std::vector<std::string>;
    const std::string call = "f(\"// Of\", Of, Those);";
    CHECK(faultsIn("a.h", call + "\n/* " + words(40) + " */\n" + call).empty());
    CHECK(faultsIn("a.h", "\n/* One.\n *\n * Of two. */") == Lines{"a.h:4: opens with Of: Of two."});
    CHECK(faultsIn("a.h", "// One\n// two. Of\n// three.") == Lines{"a.h:2: opens with Of: Of three."});
    CHECK(faultsIn("a.glsl", "int a; // Of one\n       // two.") == Lines{"a.glsl:1: opens with Of: Of one two."});
    CHECK(faultsIn("a.h", "int a; /* one */ /* Of two. */") == Lines{"a.h:1: opens with Of: Of two."});
    // Comments of two lines of code are two sentences, and an indented example is none.
    const std::string half = "one one one one one one one one one one one one one one one one one one one one one one";
    CHECK(faultsIn("a.h", "int a; // " + half + "\nint b; // " + half).empty());
    CHECK(faultsIn("a.h", "int a; /* " + half + " */\nint b; /* " + half + " */").empty());
    CHECK(faultsIn("a.h", "/* " + half + ":\n *\n *     Of " + half + "\n *\n * - " + half + "\n */").empty());
    CHECK(faultsIn("a.h", "/* SPDX-License-Identifier: MIT\n *\n * ---- Of ---- */").empty());
}
