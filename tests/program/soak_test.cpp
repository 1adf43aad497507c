// SPDX-License-Identifier: MIT
//
// `vkflash soak` from outside.
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "support/program.hpp"
#include "support/program_checks.hpp"

using namespace vkf::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("soak runs its three parts and gives one verdict", "[soak][gpu]") {
    needDevice();
    const Workplace place;
    const ProgramResult result = place.run("soak --minutes 60 --calls 48 --rows 1500 --cases 12 --seed 2");
    INFO(result.out << result.err);
    REQUIRE(result.status == 0);
    CHECK_THAT(result.out, ContainsSubstring("decode   48 recorded calls over 16 settings of lengths: the same bits"));
    CHECK_THAT(result.out, ContainsSubstring("long     1500 rows and keys, causal, D = 128"));
    CHECK_THAT(result.out, ContainsSubstring("cases    12 random calls, seeds 2 to 13: "));
    CHECK_THAT(result.out, ContainsSubstring(" 0 wrong"));
    CHECK_THAT(result.out, ContainsSubstring("soak: clean after"));
}

TEST_CASE("soak ends when its time has passed", "[soak][gpu]") {
    needDevice();
    const Workplace place;
    const ProgramResult result = place.run("soak --minutes 0.001");
    INFO(result.out << result.err);
    REQUIRE(result.status == 0);
    CHECK_THAT(result.out, ContainsSubstring("long     1024 rows and keys"));
    CHECK_THAT(result.out, ContainsSubstring("no time for more"));
    CHECK_THAT(result.out, ContainsSubstring("cases    1 random calls"));
}

TEST_CASE("soak refuses in words", "[soak]") {
    const Workplace place;
    checkRefusals(place, {{"soak --minutes 0", "--minutes 0: takes a number over 0"},
                          {"soak --minutes nan", "--minutes nan"},
                          {"soak --parts decode,all", "--parts all: takes decode, long and cases"},
                          {"soak --calls 0", "--calls 0"},
                          {"soak --rows 0", "--rows 0"}});
}
