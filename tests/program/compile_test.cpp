// SPDX-License-Identifier: MIT
//
// `vkflash compile` from outside.
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <vkflash/functions.h>

#include "support/program.hpp"
#include "support/program_checks.hpp"

using namespace vkf::test;

TEST_CASE("compile writes a file that loads", "[functions]") {
    const Workplace place;
    place.write("natten.glsl", "bool keep(Position at) { return seen(at.key) != 0 && abs(at.row - at.key) < 3; }\n");
    const ProgramResult result =
        place.run("compile natten.glsl -o natten.vkfn --array seen=u8,c=f32 --array bias=f16 --paths standard,decode");
    INFO(result.err);
    REQUIRE(result.status == 0);
    CHECK(result.out.find("wrote natten.vkfn: ") == 0);
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
                      {"compile good.glsl -o folder/a.vkfn", "-o folder/a.vkfn: |there is no folder"},
                      {"compile good.glsl -o a.vkfn --array bias", "--array bias: |NAME=TYPE"},
                      {"compile good.glsl -o a.vkfn --array bias=f64", "--array bias=f64: |bf16"},
                      {"compile good.glsl -o a.vkfn --array keep=f16", "good.glsl:1: 'keep' is the name of an array"},
                      {"compile good.glsl -o a.vkfn --paths wgmma", "--paths wgmma: |key_outer"},
                  });
}
