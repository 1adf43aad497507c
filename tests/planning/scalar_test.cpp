// SPDX-License-Identifier: MIT
//
// Plans of path scalar. No device is needed.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <string>

#include "planning/plan.hpp"
#include "support/call.hpp"
#include "support/described_device.hpp"
#include "support/plans.hpp"

namespace {

using Catch::Matchers::ContainsSubstring;
using vkf::test::capsOf;
using vkf::test::planOf;
using vkf::test::problemOf;
using vkf::test::refusal;

} // namespace

TEST_CASE("path scalar splits as asked, but not without a merge and not on the paths that share its tile",
          "[planning]") {
    vkf::Caps caps = capsOf(32, 49152, 1024);
    VkfProblem problem = problemOf({1, 2, 2, 2048, 2048, 128});
    problem.path = VKF_PATH_SCALAR;
    const vkf::AttentionPlan own = planOf(caps, problem);
    CHECK(own.splits == 4);
    CHECK_THAT(own.tileText, ContainsSubstring(" splits=4"));
    REQUIRE(own.phases.size() == 2);
    CHECK(own.phases[0].items == 4 * 2 * 2048 / 64);
    CHECK_FALSE(own.phases[0].variant.storage16);
    CHECK(own.phases[1].variant.kernel == vkf::Kernel::mergeSplits);
    CHECK(own.scratch.bytes() == uint64_t{4} * 2 * 2048 * (128 + 2) * sizeof(float));
    problem.kvSplits = 7;
    CHECK(planOf(caps, problem).splits == 7);
    CHECK_THAT(planOf(caps, problem).tileText, ContainsSubstring(" splits=7"));
    problem.kvSplits = 1;
    CHECK(planOf(caps, problem).phases.size() == 1);
    CHECK_THAT(planOf(caps, problem).tileText, !ContainsSubstring("splits"));

    problem.kvSplits = 0;
    for (const VkfPath path : {VKF_PATH_STANDARD, VKF_PATH_KEY_OUTER}) {
        problem.path = path;
        CHECK(planOf(caps, problem).splits == 1);
        CHECK(planOf(caps, problem).tile.rows == 64);
        CHECK_THAT(planOf(caps, problem).tileText, !ContainsSubstring("splits"));
    }

    caps.features &= ~VkfFeatures{VKF_FEATURE_STORAGE_16BIT};
    problem.path = VKF_PATH_SCALAR;
    CHECK(planOf(caps, problem).scratch.bytes() == 0);
    problem.kvSplits = 2;
    VkfMessage message{};
    CHECK(refusal(caps, problem, &message) == VKF_ERROR_UNSUPPORTED);
    CHECK_THAT(std::string(message.text), ContainsSubstring("kvSplits over 1 needs storageBuffer16BitAccess"));
}

TEST_CASE("lanes use no subgroups where these are not reliable", "[planning]") {
    vkf::Caps caps = capsOf(32, 49152, 1024);
    CHECK(caps.subgroupReductions());
    for (const auto spoil :
         {+[](vkf::Caps& c) { c.quirks = VKF_QUIRK_NO_SUBGROUP_SHUFFLE; },
          +[](vkf::Caps& c) { c.features &= ~VkfFeatures{VKF_FEATURE_FULL_SUBGROUPS}; },
          +[](vkf::Caps& c) { c.subgroupShuffle = false; }, +[](vkf::Caps& c) { c.subgroupSizeRequired = false; }}) {
        vkf::Caps spoiled = caps;
        spoil(spoiled);
        CHECK_FALSE(spoiled.subgroupReductions());
        CHECK_FALSE(planOf(spoiled, problemOf({1, 1, 1, 64, 64, 64})).phases[0].variant.subgroups);
    }
}

TEST_CASE("too little shared memory is refused with the limit", "[planning]") {
    VkfMessage message{};
    CHECK(refusal(capsOf(32, 1024, 1024), problemOf({1, 1, 1, 64, 64, 256}), &message) == VKF_ERROR_UNSUPPORTED);
    CHECK_THAT(std::string(message.text), ContainsSubstring("1024 bytes of shared memory"));
}
