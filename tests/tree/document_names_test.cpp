// SPDX-License-Identifier: MIT
//
// The documents of the tree name functions, types, files and program flags. A name that does not exist misleads the
// reader, so this test looks for each of them.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tree/example_tree.hpp"
#include "tree/listed.hpp"

namespace {

namespace fs = std::filesystem;

// This file's examples name what does not exist.
constexpr std::string_view ownName = "document_names_test.cpp";

// Folders whose sources define names.
constexpr std::array nameFolders = {"include", "src", "shaders", "tests", "tools"};
// Folders of the tree. Others, such as build folders, do not count.
constexpr std::array treeFolders = {"bench",        "cmake", "docs",    "examples", "fuzz",  "include",
                                    "integrations", "src",   "shaders", "tests",    "tools", "third_party"};
// Folders whose programs have flags.
constexpr std::array flagFolders = {"tools", "integrations"};
constexpr std::array sourceEndings = {".c", ".h", ".hpp", ".cpp", ".glsl", ".comp"};
constexpr std::array pathEndings = {".h", ".hpp", ".cpp", ".glsl", ".comp", ".cmake", ".md", ".py", ".sh"};
// Programs of others. Their flags are not those of vkflash.
constexpr std::array otherPrograms = {"cc", "cmake", "ctest", "git", "nvdisasm", "test-backend-ops", "vcpkg"};

struct Names {
    std::set<std::string> names; // vkf..., Vkf..., VKF_...
    std::set<std::string> files; // from the root of the tree, with slashes
    std::set<std::string> flags; // with their two dashes
};

template <typename Endings> bool endsWithOneOf(const std::string& text, const Endings& endings) {
    return std::any_of(endings.begin(), endings.end(),
                       [&](const std::string_view ending) { return text.ends_with(ending); });
}

std::string textOf(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

bool isLetterOrDigit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
bool isUpper(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }
bool isNameCharacter(char c) { return isLetterOrDigit(c) || c == '_'; }
bool isFlagCharacter(char c) { return std::islower(static_cast<unsigned char>(c)) != 0 || c == '-'; }

// vkf or Vkf before an upper-case letter, or VKF_ before anything.
bool isName(const std::string& word) {
    const bool mixed = (word.starts_with("vkf") || word.starts_with("Vkf")) && word.size() > 3 && isUpper(word[3]);
    return mixed || (word.starts_with("VKF_") && word.size() > 4);
}

// Calls visit(word, the text behind it) for each word of the project's kind.
template <typename Visit> void forEachName(const std::string& text, const Visit& visit) {
    for (size_t begin = 0; begin < text.size();) {
        if (!isNameCharacter(text[begin])) {
            begin++;
            continue;
        }
        size_t end = begin;
        while (end < text.size() && isNameCharacter(text[end])) {
            end++;
        }
        const std::string word = text.substr(begin, end - begin);
        if (isName(word)) {
            visit(word, text.substr(end, 3));
        }
        begin = end;
    }
}

// Calls visit(flag) for each flag of two dashes and lower-case letters. Dashes inside a word begin no flag.
template <typename Visit> void forEachFlag(const std::string& text, const Visit& visit) {
    for (size_t begin = text.find("--"); begin != std::string::npos; begin = text.find("--", begin)) {
        const bool starts = begin == 0 || (!isNameCharacter(text[begin - 1]) && text[begin - 1] != '-');
        size_t end = begin + 2;
        while (end < text.size() && isFlagCharacter(text[end])) {
            end++;
        }
        const bool isWord = end > begin + 2 && text[begin + 2] != '-' && (end == text.size() || !isUpper(text[end]));
        if (starts && isWord) {
            visit(text.substr(begin, end - begin));
        }
        begin = end;
    }
}

std::vector<fs::path> filesUnder(const fs::path& folder) {
    std::vector<fs::path> files;
    if (fs::is_directory(folder)) {
        for (const auto& entry : fs::recursive_directory_iterator(folder)) {
            if (entry.is_regular_file()) {
                files.push_back(entry.path());
            }
        }
    }
    return files;
}

void addFlags(const fs::path& file, Names* names) {
    forEachFlag(textOf(file), [&](const std::string& flag) { names->flags.insert(flag); });
}

Names namesOf(const fs::path& base) {
    Names names;
    for (const char* folder : nameFolders) {
        for (const fs::path& file : filesUnder(base / folder)) {
            if (endsWithOneOf(file.filename().string(), sourceEndings) && file.filename() != ownName) {
                forEachName(textOf(file),
                            [&](const std::string& name, const std::string&) { names.names.insert(name); });
            }
        }
    }
    for (const auto& entry : fs::directory_iterator(base)) {
        if (entry.is_regular_file()) {
            names.files.insert(entry.path().filename().string());
        }
    }
    for (const char* folder : treeFolders) {
        for (const fs::path& file : filesUnder(base / folder)) {
            names.files.insert(fs::relative(file, base).generic_string());
        }
    }
    for (const char* folder : flagFolders) {
        for (const fs::path& file : filesUnder(base / folder)) {
            if (file.extension() == ".cpp") {
                addFlags(file, &names);
            }
        }
    }
    addFlags(base / "dev", &names);
    addFlags(base / "bench" / "plot.py", &names);
    return names;
}

// A document may leave out leading folders: `problem/strides.hpp`.
bool hasFile(const Names& names, const std::string& path) {
    return names.files.count(path) != 0 || std::any_of(names.files.begin(), names.files.end(),
                                                       [&](const auto& file) { return file.ends_with("/" + path); });
}

// `VKF_REFERENCE_...` stands for all names that begin so.
bool hasName(const Names& names, const std::string& name, bool isBeginning) {
    if (!isBeginning) {
        return names.names.count(name) != 0;
    }
    const auto next = names.names.lower_bound(name);
    return next != names.names.end() && next->starts_with(name);
}

bool isPath(const std::string& word) {
    const auto isPathCharacter = [](char c) { return isNameCharacter(c) || c == '/' || c == '.' || c == '-'; };
    return word.find('/') != std::string::npos && !word.starts_with('/') && endsWithOneOf(word, pathEndings) &&
           std::all_of(word.begin(), word.end(), isPathCharacter);
}

// The words between backticks, without the punctuation around them.
std::vector<std::string> wordsOf(const std::string& span) {
    const auto isAround = [](char c) { return std::string_view("<>()[]{}\"',;:=").find(c) != std::string_view::npos; };
    std::vector<std::string> words(1);
    for (const char c : span) {
        if (std::isspace(static_cast<unsigned char>(c)) != 0 || isAround(c)) {
            words.emplace_back();
        } else {
            words.back() += c;
        }
    }
    words.erase(std::remove(words.begin(), words.end(), std::string()), words.end());
    return words;
}

struct Span {
    size_t line;
    std::string text;
};

// Code spans of a document. A span ends with its paragraph. Fenced blocks hold examples, outputs and figures; they are
// left out.
std::vector<Span> spansOf(const std::string& document) {
    std::vector<Span> spans;
    bool isFenced = false;
    bool isOpen = false;
    size_t number = 0;
    for (size_t begin = 0; begin < document.size();) {
        const size_t end = std::min(document.find('\n', begin), document.size());
        const std::string line = document.substr(begin, end - begin);
        begin = end + 1;
        number++;
        if (line.starts_with("```")) {
            isFenced = !isFenced;
            isOpen = false;
            continue;
        }
        if (isFenced || line.empty()) {
            isOpen = false;
            continue;
        }
        for (const char c : line) {
            if (c == '`') {
                isOpen = !isOpen;
                if (isOpen) {
                    spans.push_back({number, {}});
                }
            } else if (isOpen) {
                spans.back().text += c;
            }
        }
        if (isOpen) {
            spans.back().text += ' ';
        }
    }
    return spans;
}

// What a code span names in vain.
std::vector<std::string> missingIn(const std::string& span, const Names& names) {
    std::vector<std::string> missing;
    const std::vector<std::string> words = wordsOf(span);
    const bool isForeign =
        !words.empty() && std::find(otherPrograms.begin(), otherPrograms.end(), words.front()) != otherPrograms.end();
    for (const std::string& word : words) {
        if (isPath(word)) {
            if (!hasFile(names, word)) {
                missing.push_back(word);
            }
            continue;
        }
        forEachName(word, [&](const std::string& name, const std::string& behind) {
            if (!hasName(names, name, name.ends_with('_') || behind == "...")) {
                missing.push_back(name);
            }
        });
        if (!isForeign) {
            forEachFlag(word, [&](const std::string& flag) {
                if (names.flags.count(flag) == 0) {
                    missing.push_back(flag);
                }
            });
        }
    }
    return missing;
}

std::vector<fs::path> documentsOf(const fs::path& base) {
    std::vector<fs::path> documents;
    for (const char* folder : {"docs", "integrations"}) {
        for (const fs::path& file : filesUnder(base / folder)) {
            if (file.extension() == ".md") {
                documents.push_back(file);
            }
        }
    }
    std::sort(documents.begin(), documents.end());
    for (const char* name : {"README.md", "CONTRIBUTING.md"}) {
        if (fs::is_regular_file(base / name)) {
            documents.push_back(base / name);
        }
    }
    return documents;
}

// One line for each name of a document that is not in the tree.
std::vector<std::string> missingNames(const fs::path& base) {
    const Names names = namesOf(base);
    std::vector<std::string> lines;
    for (const fs::path& document : documentsOf(base)) {
        const std::string file = fs::relative(document, base).generic_string();
        for (const Span& span : spansOf(textOf(document))) {
            for (const std::string& name : missingIn(span.text, names)) {
                std::string line = file + ":" + std::to_string(span.line) + ": ";
                line += name;
                lines.push_back(line + " does not exist");
            }
        }
    }
    return lines;
}

// The lines about a document with that text.
std::vector<std::string> missingFrom(const std::string& text) {
    const vkf::test::ExampleTree example;
    example.write("include/vkflash/example.h", "VkfResult vkfCheckExample(const VkfExample* example);\n"
                                               "#define VKF_EXAMPLE_FIRST 1\n");
    example.write("tools/cli/example.cpp", "command.add_option(\"--first,--other-name\", value);\n");
    example.write("dev", "[--quick]\n");
    example.write("docs/example.md", text);
    return missingNames(example.base());
}

} // namespace

TEST_CASE("documents name functions, types, files and flags that exist", "[tree]") {
    REQUIRE(documentsOf(VKFLASH_SOURCE_DIR).size() > 5);
    const std::vector<std::string> missing = missingNames(VKFLASH_SOURCE_DIR);
    INFO("names in vain:" << vkf::test::listed(missing));
    CHECK(missing.empty());
}

TEST_CASE("a name of a document that does not exist is found with its file and line", "[tree]") {
    using Lines = std::vector<std::string>;
    CHECK(missingFrom("# Title\n\nCalls `vkfCheckNothing`.\n") ==
          Lines{"docs/example.md:3: vkfCheckNothing does not exist"});
    CHECK(missingFrom("`VkfNothing::field` and `VKF_NOTHING`") ==
          Lines{"docs/example.md:1: VkfNothing does not exist", "docs/example.md:1: VKF_NOTHING does not exist"});
    CHECK(missingFrom("`VKF_NOTHING_...`") == Lines{"docs/example.md:1: VKF_NOTHING_ does not exist"});
    CHECK(missingFrom("`src/cli/example.cpp`") == Lines{"docs/example.md:1: src/cli/example.cpp does not exist"});
    CHECK(missingFrom("`run --second N`") == Lines{"docs/example.md:1: --second does not exist"});
    // A span over two lines.
    CHECK(missingFrom("`run\n--second`") == Lines{"docs/example.md:1: --second does not exist"});
}

TEST_CASE("names of a document that exist are accepted", "[tree]") {
    CHECK(missingFrom("`vkfCheckExample`, `VkfExample::field`, `VKF_EXAMPLE_FIRST`, `VKF_EXAMPLE_...`, `vkfCheck...`, "
                      "`VKF_`, `vkflash::vkflash`\n")
              .empty());
    CHECK(missingFrom("`include/vkflash/example.h`, `<vkflash/example.h>`, `cli/example.cpp`, `tools/cli/*.hpp`\n")
              .empty());
    CHECK(missingFrom("`--first`, `run --other-name=3`, `./dev test --quick`, `a -- b`, `cmake --build x`\n").empty());
    // Words outside of backticks, and fenced blocks.
    CHECK(missingFrom("vkfCheckNothing --second\n\n```\nvkfCheckNothing --second\n```\n").empty());
}
