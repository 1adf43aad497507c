// SPDX-License-Identifier: MIT
//
// An id of a specialization constant has one meaning. The test compares the names that the shaders give each id.
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "shared/constant_ids.h"

namespace {

std::string textOf(const std::filesystem::path& file) {
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

std::vector<std::smatch> matchesOf(const std::string& text, const std::regex& pattern) {
    return {std::sregex_iterator(text.begin(), text.end(), pattern), std::sregex_iterator()};
}

// The names of each id in the text of shaders.
using Names = std::map<std::string, std::set<std::string>>;

void addNames(const std::string& text, Names* names) {
    static const std::regex declaration(R"(constant_id = ([A-Z0-9_]+)\) const \w+ (\w+) =)");
    for (const std::smatch& match : matchesOf(text, declaration)) {
        (*names)[match[1]].insert(match[2]);
    }
}

Names namesInShaders() {
    Names names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator("shaders")) {
        if (entry.path().extension() == ".glsl" || entry.path().extension() == ".comp") {
            addNames(textOf(entry.path()), &names);
        }
    }
    return names;
}

} // namespace

TEST_CASE("a specialization constant has the same name in all kernels", "[planning]") {
    const Names names = namesInShaders();
    REQUIRE(names.size() > 50);
    for (const auto& [id, ofId] : names) {
        CAPTURE(id, ofId);
        CHECK(ofId.size() == 1);
    }
}

TEST_CASE("ids of attention's specialization constants count from 0, and a kernel declares each", "[planning]") {
    Names names = namesInShaders();
    std::string shaders;
    for (const auto& entry : std::filesystem::recursive_directory_iterator("shaders")) {
        if (entry.path().extension() == ".comp") {
            shaders += textOf(entry.path());
        }
    }
    for (const std::smatch& match : matchesOf(shaders, std::regex(R"(define VKF_LANES_ID (\w+))"))) {
        names[match[1]].insert("LANES");
    }
    const std::string header = textOf("shaders/shared/constant_ids.h");
    // The ids stand by owner, so their numbers are in no order. Together they are 0 to VKF_ID_COUNT, each once.
    std::set<int> numbers;
    for (const std::smatch& match : matchesOf(header, std::regex(R"(#define (VKF_ID_\w+) (\d+))"))) {
        const std::string id = match[1];
        CAPTURE(id);
        CHECK(numbers.insert(std::stoi(match[2])).second);
        CHECK((id == "VKF_ID_COUNT" || names.contains(id)));
        CHECK((id != "VKF_ID_COUNT" || std::stoi(match[2]) == VKF_ID_COUNT));
    }
    CHECK(numbers.size() > 70);
    CHECK(numbers.size() == VKF_ID_COUNT + 1);
    CHECK(*numbers.rbegin() == VKF_ID_COUNT);
}

TEST_CASE("two names of one id are found", "[planning]") {
    Names names;
    addNames("layout(constant_id = VKF_ID_ROWS) const uint ROWS = 1;\n", &names);
    addNames("layout(constant_id = VKF_ID_ROWS) const uint STATES = 4;\n", &names);
    CHECK(names.at("VKF_ID_ROWS") == std::set<std::string>{"ROWS", "STATES"});
}
