// SPDX-License-Identifier: MIT
//
// `vkflash compile` from outside.
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <vkflash/functions.h>

#include "support/program.hpp"
#include "support/program_checks.hpp"
#include "support/program_files.hpp"
#include "tensors/tensor_file.hpp"

using namespace vkf::test;
using namespace vkf::tools;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("compile writes a file that loads", "[functions]") {
    const Workplace place;
    place.write("natten.glsl", "bool keep(Position at) { return seen(at.key) != 0 && abs(at.row - at.key) < 3; }\n");
    const ProgramResult result =
        place.run("compile natten.glsl -o natten.vkfn --array seen=u8,c=f32 --array bias=f16 --paths standard,decode");
    INFO(result.err);
    REQUIRE(result.status == 0);
    CHECK(result.out.find("wrote natten.vkfn: keep; arrays seen u8, c f32, bias f16; ") == 0);
    CHECK(place.files() == std::vector<std::string>{"natten.glsl", "natten.vkfn"});

    const std::string bytes = place.read("natten.vkfn");
    VkfFunctions functions = nullptr;
    VkfMessage message{};
    REQUIRE(vkfLoadFunctions(bytes.data(), bytes.size(), &functions, &message) == VKF_SUCCESS);
    CHECK(vkfGetFunctionSet(functions) == VKF_FUNCTION_KEEP);
    VkfFunctionArray arrays[3] = {};
    CHECK(vkfGetFunctionArrays(functions, arrays, 3) == 3);
    CHECK(std::string(arrays[0].name) == "seen");
    CHECK(std::string(arrays[1].name) == "c");
    CHECK(arrays[2].element == VKF_ELEMENT_F16);
    vkfDestroyFunctions(functions);
}

TEST_CASE("compile refuses wrong files and flags", "[functions]") {
    const Workplace place;
    place.write("good.glsl", "bool keep(Position at) { return true; }\n");
    place.write("wrong.glsl", "bool keep(Position at) {\n    return x;\n}\n");
    checkRefusals(place,
                  {
                      {"compile", "the file of functions is missing"},
                      {"compile good.glsl", "-o|is missing"},
                      {"compile none.glsl -o a.vkfn", "none.glsl: |no such file"},
                      {"compile wrong.glsl -o a.vkfn", "wrong.glsl:2: 'x' : undeclared identifier"},
                      {"compile good.glsl -o ./good.glsl", "-o ./good.glsl: is the file of functions"},
                      {"compile good.glsl -o folder/a.vkfn", "-o folder/a.vkfn: |there is no folder"},
                      {"compile good.glsl -o a.vkfn --array bias", "--array bias: |NAME=TYPE"},
                      {"compile good.glsl -o a.vkfn --array bias=f64", "--array bias=f64: |bf16"},
                      {"compile good.glsl -o a.vkfn --array keep=f16", "good.glsl:1: 'keep' is the name of an array"},
                      {"compile good.glsl -o a.vkfn --paths wgmma", "--paths wgmma: |key_outer"},
                  });
}

TEST_CASE("run takes functions from a file of GLSL and from a compiled one", "[functions]") {
    const Workplace place;
    place.write("causal.glsl", "bool keep(Position at) { return at.key <= at.row && seen(at.key) != 0; }\n");
    const auto npy = [](ElementType type, const Shape& shape, std::vector<std::byte> bytes) {
        return npyOf(Tensor{type, shape, std::move(bytes)});
    };
    std::vector<float> values(2 * 9 * 8);
    for (size_t i = 0; i < values.size(); i++)
        values[i] = static_cast<float>(i * 7 % 11) * 0.25F - 1.0F;
    std::vector<std::byte> bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    for (const char* name : {"q.npy", "k.npy", "v.npy"})
        place.write(name, npy(ElementType::f32, {1, 2, 9, 8}, bytes));
    place.write("seen.npy", npy(ElementType::u8, {9}, std::vector<std::byte>(9, std::byte{1})));
    const std::string inputs = "run --q q.npy --k k.npy --v v.npy --path scalar ";
    const std::string array = " --function-array seen=seen.npy";
    const auto output = [&](const std::string& file, const std::string& flags) {
        const ProgramResult result = place.run(inputs + "-o " + file + " " + flags);
        INFO(result.err);
        REQUIRE(result.status == 0);
        return place.read(file);
    };
    const std::string causal = output("causal.npy", "--causal");
    CHECK(output("text.npy", "--functions causal.glsl" + array) == causal);
    CHECK(output("all.npy", "") != causal);
    REQUIRE(place.run("compile causal.glsl -o causal.vkfn --array seen=u8 --paths scalar").status == 0);
    CHECK(output("compiled.npy", "--functions causal.vkfn" + array) == causal);

    const auto refusal = [&](const std::string& flags) { return place.run(inputs + "-o no.npy " + flags).err; };
    CHECK_THAT(refusal("--functions causal.vkfn"), ContainsSubstring("reads the array seen"));
    CHECK_THAT(refusal("--functions causal.glsl"), ContainsSubstring("causal.glsl:1: 'seen'"));
    CHECK_THAT(refusal("--functions causal.glsl --function-array seen=q.npy --verify"),
               ContainsSubstring("the reference has no formulas"));
    CHECK_THAT(refusal("--functions causal.vkfn --function-array seen=q.npy"), ContainsSubstring("another type"));
    CHECK_THAT(refusal("--function-array seen"), ContainsSubstring("must be NAME=FILE.npy"));
    CHECK_THAT(refusal(array), ContainsSubstring("needs --functions"));
    CHECK_THAT(place.run(inputs + "-o ./seen.npy --functions causal.vkfn" + array).err,
               ContainsSubstring("-o ./seen.npy: is the input file of --function-array"));
    CHECK(place.files().size() == 10);
}
