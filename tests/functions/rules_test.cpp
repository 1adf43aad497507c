// SPDX-License-Identifier: MIT
//
// What files of functions may contain, and the messages that say so.
#include <catch2/catch_test_macros.hpp>

#include <string>
#include <vector>

#include <vkflash/functions.hpp>

namespace {

using vkf::functions::Error;
using vkf::functions::functionArray;

const std::string good = "float score(float s, Position at) { return s; }\n";

VkfFunctionSet functionsIn(const std::string& text) {
    return vkfGetFunctionSet(vkf::functions::compile({text, "natten.glsl", {}}).handle());
}

// The message of a source that must be refused.
std::string refusal(const std::string& text, const std::vector<VkfFunctionArray>& arrays = {}) {
    try {
        vkf::functions::compile({text, "natten.glsl", arrays});
    } catch (const Error& error) {
        CHECK(error.result() == VKF_ERROR_INVALID_ARGUMENT);
        return error.what();
    }
    return "accepted";
}

std::string refusalOfArray(const std::string& name) { return refusal(good, {functionArray(name, VKF_ELEMENT_F32)}); }

} // namespace

TEST_CASE("a file may have any of the three functions", "[functions]") {
    CHECK(functionsIn(good) == VKF_FUNCTION_SCORE);
    CHECK(functionsIn("bool keep(const Position at) { return at.row >= at.key; }") == VKF_FUNCTION_KEEP);
    CHECK(functionsIn(good + "float scoreDerivative(const in float s, Position here) { return 1.0; }") ==
          (VKF_FUNCTION_SCORE | VKF_FUNCTION_SCORE_DERIVATIVE));
    CHECK(functionsIn("// float score\n/* bool\nkeep */ #if 0\n#endif\n" + good) == VKF_FUNCTION_SCORE);
    CHECK(functionsIn("#define UNUSED \\\n{\n" + good) == VKF_FUNCTION_SCORE);
    CHECK(functionsIn("float score(float, Position);\n" + good) == VKF_FUNCTION_SCORE);
    CHECK(functionsIn("// The old line end of the Mac\rfloat score(float s, Position at) { return s; }\r") ==
          VKF_FUNCTION_SCORE);
    CHECK(functionsIn("#define TWO \\\r\n2.0\r\nfloat score(float s, Position at) { return TWO * s; }\r\n") ==
          VKF_FUNCTION_SCORE);
    CHECK(functionsIn("// a comment \\\nthat goes on\n" + good) == VKF_FUNCTION_SCORE);
    CHECK(functionsIn("float score(float s) { return s; }\n" + good) == VKF_FUNCTION_SCORE);
}

TEST_CASE("a mask that looks at heads is known", "[functions]") {
    constexpr VkfFunctionSet byHead = VKF_FUNCTION_KEEP | VKF_FUNCTION_KEEP_BY_HEAD;
    CHECK(functionsIn("bool keep(Position at) { return at.head == 0; }") == byHead);
    CHECK(functionsIn("#define H(a) a.kvHead\nbool keep(Position at) { return H(at) == 0; }") == byHead);
    CHECK(functionsIn("int h(Position p) { return p.head; }\nbool keep(Position at) { return h(at) == 0; }") == byHead);
    CHECK(functionsIn("// at.head\nbool keep(Position at) { int heads = 1; return heads == 1; }") == VKF_FUNCTION_KEEP);
    CHECK(functionsIn("float score(float s, Position at) { return s * float(at.head); }") == VKF_FUNCTION_SCORE);
}

TEST_CASE("a mask that looks at sequences is known", "[functions]") {
    constexpr VkfFunctionSet bySequence = VKF_FUNCTION_KEEP | VKF_FUNCTION_KEEP_BY_SEQUENCE;
    CHECK(functionsIn("bool keep(Position at) { return at.batch == 0; }") == bySequence);
    CHECK(functionsIn("bool keep(Position at) { return at.head == at.batch; }") ==
          (bySequence | VKF_FUNCTION_KEEP_BY_HEAD));
    CHECK(functionsIn("bool keep(Position at) { int batches = 1; return batches == 1; }") == VKF_FUNCTION_KEEP);
}

TEST_CASE("a promise that keep is monotone must be a constant", "[functions]") {
    const std::string keep = "bool keep(Position at) { return at.key <= at.row; }";
    CHECK(functionsIn("const bool keepIsMonotone = true;\n" + keep) == VKF_FUNCTION_KEEP);
    const std::string text = "natten.glsl:1: keepIsMonotone must be declared as: const bool keepIsMonotone = true";
    CHECK(refusal("bool keepIsMonotone = true;\n" + keep) == text);
    CHECK(refusal("const int keepIsMonotone = 1;\n" + keep) == text);
    CHECK(refusal("bool keepIsMonotone() { return true; }\n" + keep) == text);
}

TEST_CASE("a file without a function is refused", "[functions]") {
    const std::string none = "natten.glsl: the file defines none of score, keep and scoreDerivative";
    CHECK(refusal("") == none);
    CHECK(refusal("float other(float s) { return s; }") == none);
    CHECK(refusal("float score(float s, Position at);") == none);
    CHECK(refusal("float scoreDerivative(float s, Position at) { return 1.0; }") ==
          "natten.glsl: scoreDerivative is defined, but not score");
}

TEST_CASE("a wrong signature is refused with the right one", "[functions]") {
    const std::string score = "natten.glsl:2: score must be declared as: float score(float s, Position at)";
    CHECK(refusal("\nfloat score(float s) { return s; }") == score);
    CHECK(refusal("\nfloat score(Position at, float s) { return s; }") == score);
    CHECK(refusal("\nfloat score(float s, inout Position at) { return s; }") == score);
    CHECK(refusal("\ndouble score(float s, Position at) { return s; }") == score);
    CHECK(refusal("\nconst float score = 1.0;") == score);
    CHECK(refusal("bool\nkeep(int row) { return true; }") ==
          "natten.glsl:2: keep must be declared as: bool keep(Position at)");
    CHECK(refusal(good + "\nvoid scoreDerivative() {}") ==
          "natten.glsl:3: scoreDerivative must be declared as: float scoreDerivative(float s, Position at)");
}

TEST_CASE("a function of a pair that nothing calls is refused as misspelt", "[functions]") {
    const std::string text = " takes a Position, and nothing calls it; kernels call score, keep and scoreDerivative";
    CHECK(refusal(good + "bool Keep(Position at) { return true; }") == "natten.glsl:2: 'Keep'" + text);
    CHECK(
        refusal(good + "float scores(const float s, Position p);\nfloat scores(float s, Position at) { return s; }") ==
        "natten.glsl:2: 'scores'" + text);
    CHECK(functionsIn("bool near(Position at);\nbool keep(Position at) { return near(at); }\n"
                      "bool near(Position at) { return at.key < 4; }") == VKF_FUNCTION_KEEP);
    CHECK(functionsIn("bool near(Position at) { return at.key < 4; }\n#define NEAR near(at)\n"
                      "bool keep(Position at) { return NEAR; }") == VKF_FUNCTION_KEEP);
}

TEST_CASE("what belongs to the kernels is refused by name", "[functions]") {
    CHECK(refusal(good + "#version 460\n") == "natten.glsl:2: #version is not allowed in a file of functions");
    CHECK(refusal("/* two\nlines */ # extension GL_EXT_debug_printf : enable\n" + good) ==
          "natten.glsl:2: #extension is not allowed in a file of functions");
    CHECK(refusal("#include \"x.glsl\"\n" + good) == "natten.glsl:1: #include is not allowed in a file of functions");
    CHECK(refusal("#line 7\n" + good) == "natten.glsl:1: #line is not allowed in a file of functions");
    CHECK(refusal(good + "layout(binding = 0) buffer A { int a; };") ==
          "natten.glsl:2: layout is not allowed in a file of functions");
    CHECK(refusal(good + "shared float a[2];") == "natten.glsl:2: shared is not allowed in a file of functions");
    CHECK(refusal(good + "uniform A { int a; } b;") == "natten.glsl:2: uniform is not allowed in a file of functions");
    CHECK(refusal(good + "\nvoid main() {}") ==
          "natten.glsl:3: main is the kernel's function; a file of functions has score, keep or scoreDerivative");
    const auto checkDeclared = [](const std::string& name) {
        CHECK(refusal(good + "const int " + name + " = 1;") ==
              "natten.glsl:2: '" + name + "' cannot be declared, because it is a name of Position or of the arrays");
    };
    const auto checkDefined = [](const std::string& name) {
        CHECK(refusal("#define " + name + " 1\n" + good) ==
              "natten.glsl:1: '" + name +
                  "': names with gl_, GL_, VKF_ or user_ at the beginning or with __ are reserved");
    };
    for (const char* name : {"Position", "key", "functionF16"}) {
        checkDeclared(name);
    }
    for (const char* name : {"VKF_FUNCTIONS", "gl_x", "user_score", "a__b"}) {
        checkDefined(name);
    }
}

TEST_CASE("brackets, comments and conditions must end", "[functions]") {
    CHECK(refusal(good + "\nfloat a() { return (1.0; }") ==
          "natten.glsl:3: a bracket is closed by one of another kind");
    CHECK(refusal(good + "float a() { return 1.0;\n") == "natten.glsl:2: a bracket is never closed");
    CHECK(refusal(good + "}") == "natten.glsl:2: a bracket is closed that was not opened");
    CHECK(refusal(good + "/* no end") == "natten.glsl:2: the comment has no end");
    CHECK(refusal(good + "const int a = 1\n\n") == "natten.glsl:2: no semicolon follows");
    CHECK(refusal("#if 1\n" + good) == "natten.glsl:1: #if without #endif");
    CHECK(refusal(good + "#endif\n") == "natten.glsl:2: #endif without #if");
    CHECK(refusal(good + "#else\n") == "natten.glsl:2: #else without #if");
    CHECK(refusal("// a comment\rfloat sco\\\nre(float s, Position at) { return s; }") ==
          "natten.glsl:2: a backslash ends the line, which only directives and comments may have");
    CHECK(refusal("// a comment\r#extension GL_EXT_debug_printf : enable\r" + good) ==
          "natten.glsl:2: #extension is not allowed in a file of functions");
    CHECK(refusal(good + std::string(1, '\0')) == "natten.glsl: the file is no text");
}

TEST_CASE("arrays with wrong names are refused", "[functions]") {
    CHECK(refusalOfArray("bias") == "accepted");
    for (const std::string name : {"", "2d", "a b", "float", "a-b", "\xc3\xa4"}) {
        CHECK(refusalOfArray(name) == "natten.glsl: the name '" + name + "' of an array is no identifier of GLSL");
    }
    CHECK(refusalOfArray("score") == "natten.glsl:1: 'score' is the name of an array, too");
    CHECK(refusalOfArray("head") ==
          "natten.glsl: 'head' cannot be declared, because it is a name of Position or of the arrays");
    const VkfFunctionArray bias = functionArray("bias", VKF_ELEMENT_F32);
    CHECK(refusal(good, {bias, bias}) == "natten.glsl: the array 'bias' is declared twice");
    CHECK(refusal(good, std::vector<VkfFunctionArray>(9, bias)) == "natten.glsl: 9 arrays, over the limit of 8");
    CHECK_THROWS_AS(functionArray(std::string(32, 'a'), VKF_ELEMENT_F32), Error);
    CHECK(refusal(good, {functionArray("a", static_cast<VkfElement>(7))}) == "an array has an unknown VkfElement");
}

TEST_CASE("errors of GLSL have the user's file and line", "[functions]") {
    CHECK(refusal("float score(float s, Position at) {\n\n    return x;\n}") ==
          "natten.glsl:3: 'x' : undeclared identifier");
    // Macros and comments of several lines do not move the lines.
    CHECK(
        refusal("#define TWICE(a) \\\n    (2 * (a))\n/*\n*/ float score(float s, Position at) { return TWICE(x); }") ==
        "natten.glsl:4: 'x' : undeclared identifier");
    // The user's own names stand as the user wrote them.
    CHECK(refusal("float power(float a) { return a; }\n"
                  "float score(float s, Position at) { return power(vec2(s)); }") ==
          "natten.glsl:2: 'power' : no matching overloaded function found");
    CHECK(refusal("#define a 1\n#define a 2\n" + good).starts_with("natten.glsl:2: "));
    CHECK(refusal("#error my own words\n" + good) == "natten.glsl:1: '#error' : my own words");
    // No part of the user's file is compiled, so that no line of it is wrong.
    CHECK(refusal("#if 0\n" + good + "#endif\n").starts_with("natten.glsl: does not compile in a file of functions: "));
    // A function that calls itself is only found when everything is known.
    CHECK(refusal("float score(float s, Position at) { return score(s, at); }").find("natten.glsl") == 0);
}
