// SPDX-License-Identifier: MIT
//
// How often shader files ask the preprocessor which kernel they are in. Entry files choose instead, by their includes.
#include <catch2/catch_test_macros.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "tree/example_tree.hpp"

namespace {

namespace fs = std::filesystem;
using vkf::test::ExampleTree;

constexpr int maxConditions = 35;

// Whether a line is #if, #ifdef or #ifndef, and not the guard of an include.
bool isCondition(const std::string& line) {
    constexpr std::string_view guardEnd = "_GLSL";
    const bool guards =
        line.size() > guardEnd.size() && line.compare(line.size() - guardEnd.size(), guardEnd.size(), guardEnd) == 0;
    return line.starts_with("#if") && !guards;
}

int conditionsIn(const fs::path& folder) {
    int count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        const std::string ending = entry.path().extension().string();
        if (ending != ".glsl" && ending != ".comp") {
            continue;
        }
        std::ifstream stream(entry.path());
        for (std::string line; std::getline(stream, line);) {
            count += isCondition(line) ? 1 : 0;
        }
    }
    return count;
}

TEST_CASE("shader files seldom ask which kernel they are in", "[tree]") {
    const int count = conditionsIn(fs::path(VKFLASH_SOURCE_DIR) / "shaders");
    INFO(count << " lines with #if besides guards");
    CHECK(count > 0);
    CHECK(count <= maxConditions);
}

TEST_CASE("conditions are counted, guards are not", "[tree]") {
    ExampleTree example;
    example.write("shaders/cellar/wine.glsl", "#ifndef VKF_WINE_GLSL\n#define VKF_WINE_GLSL\n#ifdef VKF_RED\n#endif\n"
                                              "#if defined(VKF_WHITE)\n#endif\n#endif\n");
    example.write("shaders/cellar/cork.comp", "#ifndef VKF_CORK\n#endif\n");
    example.write("shaders/cellar/bottle.h", "#ifdef VKF_GREEN\n#endif\n");
    CHECK(conditionsIn(fs::path(example.base()) / "shaders") == 3);
}

} // namespace
