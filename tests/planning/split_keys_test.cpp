// SPDX-License-Identifier: MIT
//
// Key splits of a fixed length: what a plan depends on, and what it does not. No device is needed.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "planning/plan.hpp"
#include "shared/constant_ids.h"
#include "shared/merge_params.h"
#include "shared/work_items.h"
#include "support/call.hpp"
#include "support/described_device.hpp"
#include "support/masks.hpp"
#include "support/plans.hpp"

namespace {

using vkf::AttentionPlan;
using vkf::test::capsOf;
using vkf::test::hopperCaps;
using vkf::test::matrixCaps;
using vkf::test::planOf;
using vkf::test::problemOf;

// The attention phase, and the merge if there is one.
const vkf::Phase& attentionOf(const AttentionPlan& plan) {
    const auto merges = [](const vkf::Phase& phase) { return phase.variant.kernel == vkf::Kernel::mergeSplits; };
    const auto merge = std::ranges::find_if(plan.phases, merges);
    return merge == plan.phases.end() ? plan.phases.back() : *(merge - 1);
}

// Everything that decides the bits of o: the kernel and its constants but for the number of splits, and the order in
// which partial results are added.
std::vector<uint32_t> whatDecidesBits(const AttentionPlan& plan) {
    const vkf::Phase& attention = attentionOf(plan);
    std::vector<uint32_t> numbers = {static_cast<uint32_t>(plan.path), static_cast<uint32_t>(attention.variant.kernel)};
    for (uint32_t id = 0; id < VKF_ID_COUNT; id++) {
        if (id != VKF_ID_KEY_SPLITS && id != VKF_ID_INTERLEAVED_HEADS) {
            numbers.push_back(attention.variant.constants[id]);
        }
    }
    const vkf::Phase& last = plan.phases.back();
    if (last.variant.kernel == vkf::Kernel::mergeSplits) {
        numbers.push_back(last.variant.constants[VKF_MERGE_ID_GROUPS]);
        numbers.push_back(last.variant.constants[VKF_MERGE_ID_AT_ONCE]);
    }
    return numbers;
}

struct Size {
    uint32_t batch, keys;
};
constexpr std::array sizes = {Size{1, 40}, Size{1, 5000}, Size{7, 300}, Size{300, 70000}, Size{2, 65536}};

} // namespace

TEST_CASE("plans with splitKeys do not depend on the batch", "[planning]") {
    size_t differing = 0;
    for (const vkf::Caps& caps : {matrixCaps(), hopperCaps(), capsOf(32, 49152, 1024), capsOf(64, 32768, 256)}) {
        for (const uint32_t rows : {1U, 16U, 512U}) {
            for (const VkfType type : {VKF_TYPE_F16, VKF_TYPE_F32, VKF_TYPE_Q8_0}) {
                for (const bool packed : {false, true}) {
                    std::vector<uint32_t> first, firstOfFree;
                    for (const auto& [batch, keys] : sizes) {
                        VkfProblem problem = problemOf({batch, 32, 8, rows, keys, 128, 0, VKF_TYPE_F16});
                        problem.k.type = problem.v.type = type;
                        problem.q.type = type == VKF_TYPE_F32 ? type : VKF_TYPE_F16;
                        problem.use |= VKF_USE_CAUSAL;
                        vkf::enable(problem, VKF_USE_CU_SEQLENS, packed);
                        const std::vector<uint32_t> free = whatDecidesBits(planOf(caps, problem));
                        firstOfFree = firstOfFree.empty() ? free : firstOfFree;
                        differing += free != firstOfFree ? 1 : 0;
                        problem.splitKeys = 256;
                        const AttentionPlan plan = planOf(caps, problem);
                        INFO(vkf::test::describe(problem));
                        first = first.empty() ? whatDecidesBits(plan) : first;
                        CHECK(whatDecidesBits(plan) == first);
                        CHECK(plan.splits == std::clamp((keys + 255) / 256, 2U, uint32_t{VKF_MOST_FIXED_SPLITS}));
                        CHECK(plan.path != VKF_PATH_WGMMA);
                    }
                }
            }
        }
    }
    CHECK(differing > 50); // without splitKeys they do
}

TEST_CASE("splits have splitKeys keys, in whole tiles", "[planning]") {
    VkfProblem problem = problemOf({1, 8, 8, 512, 4000, 64, 0, VKF_TYPE_F16});
    problem.path = VKF_PATH_SCALAR;
    problem.splitKeys = 65;
    const AttentionPlan plan = planOf(matrixCaps(), problem);
    const uint32_t tiles = (65 + plan.tile.keys - 1) / plan.tile.keys;
    CHECK(attentionOf(plan).variant.constants[VKF_ID_SPLIT_TILES] == tiles);
    CHECK(plan.splits == (4000 + tiles * plan.tile.keys - 1) / (tiles * plan.tile.keys));
    problem.keys = 1000000;
    CHECK(planOf(matrixCaps(), problem).splits == VKF_MOST_FIXED_SPLITS);
    problem.keys = 4000;
    vkf::test::setWindow(problem, 100, 0);
    CHECK(planOf(matrixCaps(), problem).splits < plan.splits);
    problem.splitKeys = UINT32_MAX;
    const AttentionPlan whole = planOf(matrixCaps(), problem);
    CHECK(whole.splits == 1);
    CHECK(whole.phases.back().variant.kernel == vkf::Kernel::attentionScalar);
    problem.splitKeys = 64;
    problem.q.type = problem.k.type = problem.v.type = VKF_TYPE_F32;
    problem.path = VKF_PATH_COOPMAT;
    VkfMessage message{};
    CHECK(vkf::test::refusal(hopperCaps(), problem, &message) == VKF_ERROR_UNSUPPORTED);
    CHECK(std::string(message.text).find("splitKeys is not supported if q, k and v are f32") != std::string::npos);
}
