// SPDX-License-Identifier: MIT
//
// Kernels that are compiled at run time.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <cstring>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <vkflash/functions.hpp>

#include "functions/compiler.hpp"
#include "functions/kernel_sources.hpp"
#include "functions/kernels.hpp"
#include "functions/tokens.hpp"
#include "functions/user_file.hpp"
#include "pipelines/kernel.hpp"
#include "pipelines/module_calls.hpp"
#include "pipelines/shader_table.hpp"
#include "problem/functions.hpp"

namespace {

using namespace vkf::functions;
using Catch::Matchers::ContainsSubstring;

const Source plain = {"bool keep(Position at) { return at.key <= at.row; }", "causal.glsl", {}};

// Names that kernels have too: functions, structs, variables and macros.
const Source colliding = {R"(
struct Item { float mask; };
const float MINUS_INFINITY = 3.0, scale[2] = float[2](1.0, 2.0), LN2 = 1.0;
#define WORDS 2
float power(float a) { return a; }
float item(int i) { return bias(i) * power(MINUS_INFINITY); }
int mask(Position at) { return seen(at.key); }
struct { int x; } rows_of_tile;
float score(float s, Position at) { Item i = Item(item(at.key)); return s + i.mask + scale[1] * WORDS + LN2; }
bool keep(Position at) { return mask(at) != 0; }
)",
                          "colliding.glsl",
                          {functionArray("bias", VKF_ELEMENT_F16), functionArray("seen", VKF_ELEMENT_U8)}};

// A kernel that declares, behind the user's file, what the user's file declares too.
constexpr const char* standIn = R"(#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 1) in;
struct Position { int batch; int head; int kvHead; int row; int key; int rows; int keys; };
float functionF16(const uint array, const int i);
int functionU8(const uint array, const int i);
#include "functions/user.glsl"
#if defined(WORDS) || defined(bias) || defined(power) || defined(keep)
#error a macro of the user's file is left
#endif
const int WORDS = 7;
const float MINUS_INFINITY = -1.0 / 0.0;
const float LN2 = 0.7;
struct Item { uint head; };
float power(float x) { return exp2(x); }
float bias(float x) { return x; }
float functionF16(const uint array, const int i) { return power(float(i)); }
int functionU8(const uint array, const int i) { return i * WORDS; }
void main() {
    Item item = Item(gl_WorkGroupID.x);
    Position at = Position(0, 0, 0, 0, int(item.head), 1, 1);
    float scale = bias(LN2);
    int mask = 0, rows_of_tile = 1;
    if (user_keep(at)) {
        scale = user_score(scale, at) + MINUS_INFINITY + float(mask + rows_of_tile);
    }
}
)";

std::vector<uint32_t> compileStandIn(const Source& source, const std::string& text) {
    const UserFile file = readUserFile(source);
    Shader shader;
    shader.text = text;
    shader.findText = [&file](std::string_view name) {
        return name == includedName ? std::optional<std::string_view>(file.included) : std::nullopt;
    };
    return compileShader(shader);
}

std::vector<uint32_t> wordsOf(VkfFunctions functions, const char* kernel) {
    const uint32_t* words = nullptr;
    size_t count = 0;
    VkfMessage message{};
    if (functions->getKernel(functions->user, kernel, &words, &count, &message) != VKF_SUCCESS) {
        return {};
    }
    return {words, words + count};
}

} // namespace

TEST_CASE("a kernel without functions has the build's SPIR-V, bit for bit", "[functions]") {
    size_t compared = 0;
    for (const KernelVariant& variant : kernelVariants) {
        const vkf::ShaderBinary* const built =
            vkf::findShader({vkf::shaderBinaries, vkf::shaderBinariesCount}, variant.name);
        REQUIRE(built != nullptr);
        if (built->units != nullptr) {
            INFO(variant.name);
            CHECK(compilePlainKernel(variant.name) == built->words());
            ++compared;
        }
    }
    CHECK(compared > 0);
    CHECK(kernelVariants.size() == vkf::shaderBinariesCount);
}

TEST_CASE("a macro of a kernel may have a value", "[functions]") {
    Shader shader;
    shader.text = "#version 460\n#if !defined(A) || B != 3\n#error lost\n#endif\nvoid main() {}\n";
    shader.macros = {"A", "B=3"};
    CHECK_NOTHROW(compileShader(shader));
    shader.macros = {"A", "B=4"};
    CHECK_THROWS_AS(compileShader(shader), CompileError);
}

TEST_CASE("names of a file of functions do not collide with names of a kernel", "[functions]") {
    CHECK_NOTHROW(compile(colliding));
    CHECK(!compileStandIn(colliding, standIn).empty());
    Source continued = colliding;
    continued.text += "// no line follows \\";
    CHECK(!compileStandIn(continued, standIn).empty());
}

TEST_CASE("a file of functions may have the names of all macros of the kernels", "[functions]") {
    std::set<std::string> names;
    for (const SourceFile& source : sourceFiles) {
        for (const Token& token : tokensOf(source.text)) {
            const std::vector<std::string_view> words =
                token.kind == TokenKind::directive ? wordsOfDirective(token.text) : std::vector<std::string_view>();
            if (words.size() > 1 && words[0] == "define" && !words[1].starts_with("VKF_")) {
                names.emplace(words[1]);
            }
        }
    }
    CHECK(names.size() > 50);
    std::string text = plain.text + "\n";
    for (const std::string& name : names) {
        text += "const int " + name + " = 1;\n";
    }
    const UserFile file = readUserFile({text, "macros.glsl", {}});
    for (const char* kernel : {"attention_scalar_subgroups", "attention_coopmat_subgroups_storage16", "map_tiles",
                               "attention_decode_matrix_subgroups_storage16", "backward_scalar"}) {
        INFO(kernel);
        CHECK_NOTHROW(compileKernel(file, kernel));
    }
}

TEST_CASE("a file gets a fast tanh unless it declares one", "[functions]") {
    const auto included = [](const std::string& text) { return readUserFile({text, "tanh.glsl", {}}).included; };
    const std::string score = "float score(float s, Position at) { return tanh(s); }\n";
    const std::string function = "float tanh(float s) { return s; }\n" + score;
    const std::string macro = "#define tanh(x) (x)\n" + score;
    CHECK_THAT(included(score), ContainsSubstring("#define tanh functionTanh\n"));
    CHECK_THAT(included(function), ContainsSubstring("#define tanh user_tanh\n"));
    for (const std::string& own : {function, macro}) {
        CHECK_THAT(included(own), !ContainsSubstring("functionTanh"));
        vkf::functions::compile({own, "tanh.glsl", {}});
    }
}

TEST_CASE("keys of functions that may index arrays exist", "[functions]") {
    const auto indexes = [](const Source& source) {
        const bool yes = readUserFile(source).included.find("INDEXES_ARRAYS = true") != std::string::npos;
        const bool no = readUserFile(source).included.find("INDEXES_ARRAYS = false") != std::string::npos;
        CHECK(yes != no);
        return yes;
    };
    const std::string score = "float score(float s, Position at) { return s; } // [ is no index here\n";
    CHECK(!indexes({score, "plain.glsl", {}}));
    CHECK(indexes({score, "array.glsl", {functionArray("bias", VKF_ELEMENT_F16)}}));
    CHECK(indexes({"const int table[2] = int[2](0, 1);\n" + score, "own.glsl", {}}));
    CHECK(indexes({"#define AT(a, i) a[i]\n" + score, "macro.glsl", {}}));
}

TEST_CASE("lines behind a file of functions are not its own", "[functions]") {
    try {
        compileStandIn(plain, "#version 460\n#extension GL_GOOGLE_include_directive : require\n"
                              "struct Position { int key; int row; };\n#include \"functions/user.glsl\"\nwrong;\n");
        FAIL("the shader compiles");
    } catch (const CompileError& error) {
        INFO(error.what());
        CHECK(std::string(error.what()).find(lineName) == std::string::npos);
    }
}

TEST_CASE("kernels of all paths compile with functions", "[functions]") {
    const UserFile file = readUserFile(colliding);
    std::vector<std::string> kernels;
    for (const std::string& path : pathNames()) {
        const std::vector<std::string> some = kernelsOf(path);
        CHECK(!some.empty());
        kernels.insert(kernels.end(), some.begin(), some.end());
    }
    std::sort(kernels.begin(), kernels.end());
    kernels.erase(std::unique(kernels.begin(), kernels.end()), kernels.end());
    for (const std::string& kernel : kernels) {
        INFO(kernel);
        CHECK(compileKernel(file, kernel) != compilePlainKernel(kernel));
    }
    // Both tables of kernels that take functions agree.
    for (const vkf::KernelTraits& traits : vkf::kernelTable) {
        const bool isListed = std::any_of(kernels.begin(), kernels.end(), [&](const std::string& kernel) {
            const std::string ending = kernel.substr(std::min(kernel.size(), std::strlen(traits.name)));
            return kernel.starts_with(traits.name) &&
                   (ending.empty() || ending.starts_with("_subgroups") || ending.starts_with("_storage16") ||
                    ending.starts_with("_via_shared"));
        });
        INFO(traits.name);
        CHECK(isListed == traits.functions);
    }
    for (const char* without : {"attention_narrow_subgroups_storage16", "merge_partials", "write_table"}) {
        CHECK(std::find(kernels.begin(), kernels.end(), without) == kernels.end());
    }
    CHECK_THROWS_AS(kernelsOf("wgmma"), Error);
}

TEST_CASE("an unknown kernel is refused", "[functions]") {
    const Functions functions = compile(plain);
    const VkfFunctions handle = functions.handle();
    const uint32_t* words = nullptr;
    size_t count = 0;
    VkfMessage message{};
    CHECK(handle->getKernel(handle->user, "no_kernel", &words, &count, &message) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(std::string(message.text) == "there is no kernel no_kernel");
    CHECK_THROWS_AS(compileToFile(plain, {"no_kernel"}), Error);
}

TEST_CASE("threads may compile at the same time", "[functions]") {
    const char* const kernels[] = {"map_tiles", "backward_rows", "standard_softmax", "map_tiles"};
    const Functions functions = compile(plain);
    std::vector<std::vector<uint32_t>> results(8);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < results.size(); i++) {
        threads.emplace_back([&, i] { results[i] = wordsOf(functions.handle(), kernels[i % std::size(kernels)]); });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    const UserFile file = readUserFile(plain);
    for (size_t i = 0; i < results.size(); i++) {
        CHECK(results[i] == compileKernel(file, kernels[i % std::size(kernels)]));
    }
}

TEST_CASE("a kernel is compiled once and stays where it is", "[functions]") {
    const Functions functions = compile(plain);
    const VkfFunctions handle = functions.handle();
    const uint32_t* first = nullptr;
    const uint32_t* second = nullptr;
    size_t count = 0;
    REQUIRE(handle->getKernel(handle->user, "map_tiles", &first, &count, nullptr) == VKF_SUCCESS);
    CHECK(!wordsOf(handle, "backward_rows").empty());
    REQUIRE(handle->getKernel(handle->user, "map_tiles", &second, &count, nullptr) == VKF_SUCCESS);
    CHECK(first == second);
}

TEST_CASE("functions that differ have different keys", "[functions]") {
    const auto keyOf = [](const Source& source) { return compile(source).handle()->key; };
    Source other = colliding;
    CHECK(keyOf(other) == keyOf(colliding));
    other.name = "renamed.glsl";
    CHECK(keyOf(other) == keyOf(colliding));
    other.text += "\n";
    CHECK(keyOf(other) != keyOf(colliding));
    other = colliding;
    other.arrays[0].element = VKF_ELEMENT_F32;
    CHECK(keyOf(other) != keyOf(colliding));
}

TEST_CASE("functions have one owner", "[functions]") {
    Functions functions = compile(plain);
    const VkfFunctions handle = functions.handle();
    Functions moved = std::move(functions);
    CHECK(moved.handle() == handle);
    // The interface promises this of an object whose functions were moved.
    CHECK(functions.handle() == nullptr); // NOLINT(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
    moved = compile(colliding);
    CHECK(vkfGetFunctionSet(moved.handle()) == (VKF_FUNCTION_SCORE | VKF_FUNCTION_KEEP));
    CHECK(vkfGetFunctionArrays(moved.handle(), nullptr, 0) == 2);
}

TEST_CASE("a long message fits", "[functions]") {
    VkfFunctionArray array = functionArray("a", VKF_ELEMENT_F32);
    const Functions functions = compile({plain.text, std::string(1000, 'x'), {array}});
    VkfMessage message{};
    const uint32_t* words = nullptr;
    size_t count = 0;
    const VkfFunctions handle = functions.handle();
    const std::string name(1000, 'k');
    CHECK(handle->getKernel(handle->user, name.c_str(), &words, &count, &message) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(std::string(message.text).size() == VKF_MESSAGE_CAPACITY - 1);
}

TEST_CASE("functions that read arrays leave a kernel as flat as NVIDIA's compiler inlines", "[functions]") {
    const Source source = {R"(
float score(float s, Position at) { return s + bias(at.key); }
float scoreDerivative(float s, Position at) { return bias(at.key); }
int documentOf(int position) { return document(position); }
bool keep(Position at) { return documentOf(at.row) == documentOf(at.key); }
)",
                           "deep.glsl",
                           {functionArray("bias", VKF_ELEMENT_F16), functionArray("document", VKF_ELEMENT_I32)}};
    const UserFile file = readUserFile(source);
    for (const KernelVariant& variant : kernelVariants) {
        CAPTURE(variant.name);
        const vkf::test::Calls calls(compileKernel(file, variant.name));
        CHECK(calls.depth(calls.entry) <= vkf::test::deepestInlined);
    }
}
