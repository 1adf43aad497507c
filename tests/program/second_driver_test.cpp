// SPDX-License-Identifier: MIT
//
// The program on SwiftShader, a driver without 16-bit storage. The other tests of the program name f16 tensors, paths
// and times of devices that have it.
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "support/program.hpp"
#include "support/program_checks.hpp"

using namespace vkf::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("verify is right on SwiftShader in fp32 and in 16-bit types", "[.][second_driver]") {
    needDevice();
    const Workplace place;
    for (const std::string flags : {"--type f32 --causal --lse", "--type f16", "--type bf16 --dim 40 --lse"}) {
        const ProgramResult result = place.run("verify --heads 2 --kv-heads 1 --rows 70 " + flags);
        INFO(flags << ": " << result.out << result.err);
        CHECK(result.status == 0);
        CHECK(result.err.empty());
        CHECK_THAT(result.out, ContainsSubstring("SwiftShader") && ContainsSubstring("right"));
    }
    const ProgramResult backward = place.run("verify --heads 2 --rows 40 --type f32 --backward");
    INFO(backward.out << backward.err);
    CHECK(backward.status == 0);
}

TEST_CASE("verify says what SwiftShader cannot do", "[.][second_driver]") {
    needDevice();
    const Workplace place;
    checkRefusals(place, {{"verify --rows 8 --dim 62", "rows of q whose size or stride is not a multiple of 8 bytes"
                                                       "|need storageBuffer16BitAccess (VKF_FEATURE_STORAGE_16BIT)"},
                          {"verify --rows 8 --kv-type q8_0", "block types need storageBuffer16BitAccess"},
                          {"verify --rows 8 --path decode", "path decode needs storageBuffer16BitAccess"},
                          {"verify --rows 8 --type f16 --backward", "need storageBuffer16BitAccess"}});
}

TEST_CASE("demo computes in fp32 on SwiftShader", "[.][second_driver]") {
    needDevice();
    const Workplace place;
    const ProgramResult result = place.run({"demo", "--samples", VKFLASH_SAMPLES_DIR});
    INFO(result.out << result.err);
    CHECK(result.status == 0);
    CHECK_THAT(result.out, ContainsSubstring("SwiftShader") && ContainsSubstring("so the demo computes in fp32"));
    CHECK_THAT(result.out, ContainsSubstring("Generated tensors") && ContainsSubstring(": right"));
}
