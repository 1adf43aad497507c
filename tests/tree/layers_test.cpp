// SPDX-License-Identifier: MIT
//
// The tree's rules: which folder includes which, where sources lie, how many and how long they are.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tree/example_tree.hpp"
#include "tree/layers.hpp"
#include "tree/listed.hpp"

namespace {

namespace fs = std::filesystem;
using vkf::test::ExampleTree;
using vkf::test::LayerRule;
using vkf::test::listed;

constexpr size_t maxSourcesOfAFolder = 30;
constexpr size_t maxLines = 600;

struct Tree {
    std::string root;
    std::span<const LayerRule> rules;
};

std::vector<Tree> trees() {
    return {{"src", vkf::test::sourceRules},
            {"shaders", vkf::test::shaderRules},
            {"tools", vkf::test::toolRules},
            {"lab", vkf::test::labRules}};
}

bool isSource(const fs::path& file) {
    constexpr std::array endings = {".c", ".h", ".cpp", ".hpp", ".comp", ".glsl"};
    return std::find(endings.begin(), endings.end(), file.extension().string()) != endings.end();
}

std::vector<fs::path> sourcesUnder(const fs::path& folder) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.is_regular_file() && isSource(entry.path())) {
            files.push_back(entry.path());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

std::vector<std::string> linesOf(const fs::path& file) {
    std::ifstream stream(file);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

// What an #include line names, with its quotes or angle brackets; empty for any other line.
std::string includedBy(const std::string& line) {
    const size_t hash = line.find_first_not_of(" \t");
    if (hash == std::string::npos || line[hash] != '#') {
        return {};
    }
    const size_t word = line.find_first_not_of(" \t", hash + 1);
    if (word == std::string::npos || line.compare(word, 7, "include") != 0) {
        return {};
    }
    const size_t begin = line.find_first_of("\"<", word);
    const size_t end = begin == std::string::npos ? begin : line.find_first_of("\">", begin + 1);
    return end == std::string::npos ? std::string() : line.substr(begin, end + 1 - begin);
}

std::vector<std::string> wordsOf(const char* text) {
    std::istringstream stream(text);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) {
        words.push_back(word);
    }
    return words;
}

bool startsWith(const std::string& text, const std::string& start) { return text.compare(0, start.size(), start) == 0; }

// Rules are about headers of this project and of Vulkan. Other libraries need no rules: a target that does not
// link a library does not find its headers.
bool mayInclude(const LayerRule& rule, const std::string& included) {
    const std::string inner = included.substr(1, included.size() - 2);
    const std::string folder = inner.substr(0, inner.find('/'));
    const bool isPublic = folder == "vkflash" || folder == "vulkan";
    if (included[0] == '<' && !isPublic) {
        return true;
    }
    if (folder == inner) {
        return false; // not written from the layer's root
    }
    if (folder == rule.folder) {
        return true;
    }
    for (const std::string& allowed : wordsOf(rule.mayInclude)) {
        if (isPublic ? allowed == "<" + inner + ">" || allowed == "<" + folder + "/*>"
                     : allowed == inner || allowed == folder) {
            return true;
        }
    }
    return false;
}

std::string joined(std::initializer_list<std::string_view> pieces) {
    std::string text;
    for (const std::string_view piece : pieces) {
        text += piece;
    }
    return text;
}

// One line for each include that breaks a rule, in the tree base / tree.root.
std::vector<std::string> brokenRules(const fs::path& base, const Tree& tree) {
    std::vector<std::string> broken;
    for (const fs::path& file : sourcesUnder(base / tree.root)) {
        const fs::path inTree = fs::relative(file, base / tree.root);
        const std::string name = (tree.root / inTree).generic_string();
        if (!inTree.has_parent_path()) {
            broken.push_back(
                joined({name, ": lies flat in ", tree.root, "/; it belongs in a folder of tests/tree/layers.hpp"}));
            continue;
        }
        const std::string folder = inTree.begin()->string();
        const auto rule = std::find_if(tree.rules.begin(), tree.rules.end(),
                                       [&](const LayerRule& candidate) { return candidate.folder == folder; });
        if (rule == tree.rules.end()) {
            broken.push_back(joined({name, ": the folder ", folder, " has no row in tests/tree/layers.hpp"}));
            continue;
        }
        const std::vector<std::string> lines = linesOf(file);
        for (size_t i = 0; i < lines.size(); i++) {
            const std::string included = includedBy(lines[i]);
            if (!included.empty() && !mayInclude(*rule, included)) {
                broken.push_back(joined({name, ":", std::to_string(i + 1), ": ", tree.root, "/", folder,
                                         " may not include ", included, ", only: ", rule->mayInclude}));
            }
        }
    }
    return broken;
}

// One line for each folder with too many sources and each file with too many lines.
std::vector<std::string> overfull(const fs::path& base, const std::string& root) {
    std::vector<std::string> found;
    std::map<std::string, size_t> sources;
    for (const fs::path& file : sourcesUnder(base / root)) {
        const std::string name = fs::relative(file, base).generic_string();
        sources[fs::path(name).parent_path().generic_string()]++;
        const size_t lines = linesOf(file).size();
        if (lines > maxLines) {
            found.push_back(name + ": " + std::to_string(lines) + " lines, at most " + std::to_string(maxLines));
        }
    }
    for (const auto& [folder, count] : sources) {
        if (count > maxSourcesOfAFolder) {
            found.push_back(folder + "/: " + std::to_string(count) + " sources, at most " +
                            std::to_string(maxSourcesOfAFolder));
        }
    }
    return found;
}

constexpr std::array exampleRules = {
    LayerRule{"upper", "lower other/one.hpp <vkflash/types.h> <vulkan/*>"},
    LayerRule{"lower", ""},
};

// The errors for a file src/FILE with this text.
std::string brokenBy(const std::string& file, const std::string& text) {
    const ExampleTree example;
    example.write("src/" + file, text);
    const std::vector<std::string> broken = brokenRules(example.base(), {"src", exampleRules});
    CHECK(broken.size() <= 1);
    return broken.empty() ? std::string() : broken.front();
}

} // namespace

TEST_CASE("every include points down, and every source lies in a folder of the table", "[tree]") {
    for (const Tree& tree : trees()) {
        const std::vector<std::string> broken = brokenRules(VKFLASH_SOURCE_DIR, tree);
        INFO("rules broken:" << listed(broken));
        CHECK(broken.empty());
    }
}

TEST_CASE("every folder of the table has sources", "[tree]") {
    for (const Tree& tree : trees()) {
        for (const LayerRule& rule : tree.rules) {
            INFO(tree.root << "/" << rule.folder);
            CHECK(fs::is_directory(fs::path(VKFLASH_SOURCE_DIR) / tree.root / rule.folder));
        }
    }
}

TEST_CASE("no folder holds too many sources, and no source too many lines", "[tree]") {
    for (const char* root : {"src", "shaders", "tools", "lab", "tests", "include", "examples", "fuzz"}) {
        const std::vector<std::string> found = overfull(VKFLASH_SOURCE_DIR, root);
        INFO("too large:" << listed(found));
        CHECK(found.empty());
    }
}

TEST_CASE("a forbidden include is found with its file, line and rule", "[tree]") {
    CHECK(brokenBy("lower/mask.hpp", "#pragma once\n\n#include \"upper/tile.hpp\"\n") ==
          "src/lower/mask.hpp:3: src/lower may not include \"upper/tile.hpp\", only: ");
    CHECK(startsWith(brokenBy("lower/mask.glsl", " #  include \"upper/tile.glsl\" // why"),
                     "src/lower/mask.glsl:1: src/lower may not include \"upper/tile.glsl\""));
    CHECK(startsWith(brokenBy("lower/deep/mask.cpp", "#include <vulkan/vulkan_core.h>"),
                     "src/lower/deep/mask.cpp:1: src/lower may not include <vulkan/vulkan_core.h>"));
    CHECK(startsWith(brokenBy("upper/tile.cpp", "#include <vkflash/host.hpp>"),
                     "src/upper/tile.cpp:1: src/upper may not include <vkflash/host.hpp>"));
    CHECK(startsWith(brokenBy("upper/tile.cpp", "#include \"other/two.hpp\""),
                     "src/upper/tile.cpp:1: src/upper may not include \"other/two.hpp\""));
    // Not from the layer's root.
    CHECK(startsWith(brokenBy("upper/tile.cpp", "#include \"tile.hpp\""),
                     "src/upper/tile.cpp:1: src/upper may not include \"tile.hpp\""));
    CHECK(brokenBy("tile.cpp", "") ==
          "src/tile.cpp: lies flat in src/; it belongs in a folder of tests/tree/layers.hpp");
    CHECK(brokenBy("attic/box.cpp", "") == "src/attic/box.cpp: the folder attic has no row in tests/tree/layers.hpp");
}

TEST_CASE("allowed includes are accepted", "[tree]") {
    CHECK(brokenBy("upper/tile.cpp", "#include \"upper/tile.hpp\"\n#include \"lower/mask.hpp\"\n"
                                     "#include \"other/one.hpp\"\n#include <vkflash/types.h>\n"
                                     "#include <vulkan/vulkan.h>\n#include <vector>\n#include <fmt/format.h>\n"
                                     "// #include \"other/two.hpp\"\n#included\n#define include\n")
              .empty());
}

TEST_CASE("a folder or a file that is too large is found", "[tree]") {
    const ExampleTree example;
    std::string text;
    for (size_t line = 0; line < maxLines; line++) {
        text += "\n";
    }
    example.write("src/lower/long.cpp", text);
    for (size_t i = 1; i < maxSourcesOfAFolder; i++) {
        example.write("src/lower/" + std::to_string(i) + ".hpp", "");
    }
    CHECK(overfull(example.base(), "src").empty());
    example.write("src/lower/long.cpp", text + "\n");
    example.write("src/lower/one_more.hpp", "");
    CHECK(overfull(example.base(), "src") ==
          std::vector<std::string>{"src/lower/long.cpp: 601 lines, at most 600", "src/lower/: 31 sources, at most 30"});
}
