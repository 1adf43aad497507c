// SPDX-License-Identifier: MIT
//
// Plans of the backward pass on path wgmma on a described H100. No device is needed.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <string>
#include <vector>

#include "planning/backward/backward_plan.hpp"
#include "planning/explain_path.hpp"
#include "reference/backward_cases.hpp"
#include "support/described_device.hpp"

namespace {

using Catch::Matchers::ContainsSubstring;
using vkf::Kernel;
using vkf::test::hopperCaps;
using vkf::test::problemOf;

VkfProblem longProblem(VkfType type = VKF_TYPE_F16, uint32_t dim = 128) {
    VkfProblem problem = problemOf({1, 16, 4, 4096, 4096, dim, 0, type});
    problem.path = VKF_PATH_WGMMA;
    return problem;
}

// Makes the plan, or returns the message.
std::string make(const vkf::TunedDevice& device, const VkfBackwardProblem& problem, vkf::BackwardPlan* plan) {
    vkf::CheckedBackward checked{};
    VkfMessage message{};
    if (vkf::checkBackward(&problem, &checked, &message) != VKF_SUCCESS ||
        vkf::makeBackwardPlan(device, checked, plan, &message) != VKF_SUCCESS) {
        return message.text;
    }
    return "";
}

vkf::BackwardPlan made(const VkfBackwardProblem& problem) {
    vkf::BackwardPlan plan;
    const vkf::Caps caps = hopperCaps();
    const std::string why = make({caps}, problem, &plan);
    INFO(why);
    REQUIRE(why.empty());
    return plan;
}

std::string refusal(const vkf::TunedDevice& device, const VkfBackwardProblem& problem) {
    vkf::BackwardPlan plan;
    return make(device, problem, &plan);
}

std::vector<Kernel> kernelsOf(const vkf::BackwardPlan& plan) {
    std::vector<Kernel> kernels;
    for (const vkf::Phase& phase : plan.phases) {
        kernels.push_back(phase.variant.kernel);
    }
    return kernels;
}

struct Change {
    const char* name;
    void (*change)(VkfProblem&);
};

const Change taken[] = {
    {"nothing", [](VkfProblem&) {}},
    {"bf16", [](VkfProblem& p) { p.q.type = p.k.type = p.v.type = p.o.type = VKF_TYPE_BF16; }},
    {"D = 8", [](VkfProblem& p) { p.headDim = p.valueDim = 8; }},
    {"other columns of v", [](VkfProblem& p) { p.valueDim = 72; }},
    {"causal", [](VkfProblem& p) { vkf::enable(p, VKF_USE_CAUSAL); }},
    {"causal, top left",
     [](VkfProblem& p) {
         vkf::enable(p, VKF_USE_CAUSAL);
         p.alignment = VKF_ALIGNMENT_TOP_LEFT;
     }},
    {"window",
     [](VkfProblem& p) {
         vkf::enable(p, VKF_USE_WINDOW);
         p.window.left = 1000;
         p.window.right = 7;
     }},
    {"key lengths", [](VkfProblem& p) { vkf::enable(p, VKF_USE_KEY_LENGTHS); }},
    {"scale", [](VkfProblem& p) { p.scale = -0.25F; }},
    {"softcap", [](VkfProblem& p) { p.softcap = 30.0F; }},
    {"ALiBi", [](VkfProblem& p) { vkf::enable(p, VKF_USE_ALIBI); }},
    {"ALiBi with slopes", [](VkfProblem& p) { vkf::enable(p, VKF_USE_ALIBI | VKF_USE_ALIBI_SLOPES); }},
    {"sinks", [](VkfProblem& p) { vkf::enable(p, VKF_USE_SINKS); }},
    {"strides of words",
     [](VkfProblem& p) {
         p.k.rowStride = 136;
         p.k.headStride = uint64_t{136} * p.keys;
     }},
};

const Change refused[] = {
    {"q, k and v must all be f16 or all be bf16", [](VkfProblem& p) { p.q.type = VKF_TYPE_F32; }},
    {"headDim and valueDim must be multiples of 8", [](VkfProblem& p) { p.headDim = p.valueDim = 36; }},
    {"headDim and valueDim must be at most 128", [](VkfProblem& p) { p.headDim = 136; }},
    {"headDim and valueDim must be at most 128", [](VkfProblem& p) { p.valueDim = 256; }},
    {"softcap and ALiBi need a headDim or valueDim over 64 in this version",
     [](VkfProblem& p) {
         p.headDim = p.valueDim = 64;
         p.softcap = 30.0F;
     }},
    {"softcap and ALiBi need a headDim or valueDim over 64 in this version",
     [](VkfProblem& p) {
         p.headDim = p.valueDim = 40;
         vkf::enable(p, VKF_USE_ALIBI);
     }},
    {"first keys are not in this version",
     [](VkfProblem& p) {
         vkf::enable(p, VKF_USE_WINDOW);
         p.window.left = 100;
         p.window.right = 0;
         p.window.firstKeys = 4;
     }},
    {"a boolean mask is not in this version",
     [](VkfProblem& p) {
         vkf::enable(p, VKF_USE_MASK);
         p.mask.type = VKF_TYPE_BOOL8;
     }},
    {"dropout is not in this version", [](VkfProblem& p) { p.dropout.probability = 0.1F; }},
};

} // namespace

TEST_CASE("the backward pass on path wgmma has two kernels, and those of path coopmat as a fallback", "[planning]") {
    for (const Change& one : taken) {
        INFO(one.name);
        VkfProblem forward = longProblem();
        one.change(forward);
        const vkf::BackwardPlan plan = made(vkf::test::backwardOf(forward));
        CHECK(plan.path == VKF_PATH_WGMMA);
        CHECK(plan.inputAlignment == 16);
        REQUIRE(kernelsOf(plan) == std::vector{Kernel::writeTable, Kernel::backwardRows, Kernel::backwardWgmmaRows,
                                               Kernel::backwardWgmmaKeys, Kernel::backwardCoopmat,
                                               Kernel::backwardCoopmat});
        const std::vector<bool> barriers = {true, false, true, false, true, false};
        for (size_t i = 0; i < barriers.size(); i++) {
            CHECK(plan.phases[i].barrierBefore == barriers[i]);
            CHECK(plan.phases[i].variant.constants[VKF_ID_FALLBACK] == (i >= 4 ? 1 : 0));
        }
    }
}

TEST_CASE("kernels of the backward pass on path wgmma own whole tiles", "[planning]") {
    const vkf::BackwardPlan plan = made(vkf::test::backwardOf(longProblem()));
    CHECK(plan.phases[2].items == 4096 / plan.wgmma.rows->rows() * 16);
    CHECK(plan.phases[3].items == 4096 / plan.wgmma.keys[0].keys() * 4);
    CHECK(plan.rowTileText == "rows=128 keys=64 splits=1");
    CHECK(plan.keyTileText == "rows=32 keys=128 splits=1");
    for (const size_t i : {2U, 3U}) {
        const vkf::Constants& c = plan.phases[i].variant.constants;
        CHECK(c[VKF_ID_EXTRA_SLOT] == VKF_EXTRA_SLOT_HAS_TABLE);
        CHECK(c[VKF_ID_WINDOW_LEFT] == VKF_UNLIMITED_LEFT);
        CHECK(c[VKF_ID_PACKED_HEADS] == 1);
        CHECK(c[VKF_ID_KEY_SPLITS] == 1);
    }
    CHECK(made(vkf::test::backwardOf(longProblem(VKF_TYPE_BF16))).phases[2].variant.bf16);
}

TEST_CASE("packed sequences on path wgmma list the tiles of path coopmat", "[planning]") {
    VkfProblem forward = longProblem();
    forward.batch = 5;
    vkf::enable(forward, VKF_USE_CU_SEQLENS);
    const vkf::BackwardPlan plan = made(vkf::test::backwardOf(forward));
    REQUIRE(kernelsOf(plan) == std::vector{Kernel::writeTable, Kernel::listSequences, Kernel::listSequences,
                                           Kernel::backwardRows, Kernel::backwardWgmmaRows, Kernel::backwardWgmmaKeys,
                                           Kernel::backwardCoopmat, Kernel::backwardCoopmat});
    CHECK(plan.tileSequences.tileRows == plan.coopmat.rows->rows());
    CHECK(plan.keyTileSequences.tileRows == plan.coopmat.keys[0].keys());
    CHECK(plan.phases[4].items == (4096 / plan.wgmma.rows->rows() + 5) * 16);
    CHECK(plan.phases[5].items == (4096 / plan.wgmma.keys[0].keys() + 5) * 4);
}

TEST_CASE("gradients that are not wanted have no kernel on path wgmma", "[planning]") {
    const VkfProblem forward = longProblem();
    CHECK(kernelsOf(made(vkf::test::backwardOf(forward, VKF_GRADIENT_Q))) ==
          std::vector{Kernel::writeTable, Kernel::backwardRows, Kernel::backwardWgmmaRows, Kernel::backwardCoopmat});
    CHECK(kernelsOf(made(vkf::test::backwardOf(forward, VKF_GRADIENT_V))) ==
          std::vector{Kernel::writeTable, Kernel::backwardRows, Kernel::backwardWgmmaKeys, Kernel::backwardCoopmat});
}

TEST_CASE("path wgmma refuses backward passes by name", "[planning]") {
    const vkf::Caps caps = hopperCaps();
    for (const Change& one : refused) {
        VkfProblem forward = longProblem();
        one.change(forward);
        CHECK_THAT(refusal({caps}, vkf::test::backwardOf(forward)), ContainsSubstring(one.name));
    }
    const VkfProblem forward = longProblem();
    VkfBackwardProblem problem = vkf::test::backwardOf(forward);
    problem.dout.type = VKF_TYPE_F32;
    CHECK(refusal({caps}, problem) == "the backward pass on path wgmma: dout must have the type of q");
    problem = vkf::test::backwardOf(forward);
    problem.dout.rowStride = 132;
    problem.dout.headStride = uint64_t{132} * 4096;
    problem.dout.batchStride = uint64_t{132} * 4096 * 16;
    CHECK(refusal({caps}, problem) == "the backward pass on path wgmma: strides of dout must be multiples of 16 bytes");
}

TEST_CASE("AUTO takes path wgmma for each backward pass that it can do, and coopmat for others", "[planning]") {
    const auto pathOf = [](const Change& one) {
        VkfProblem forward = longProblem();
        forward.path = VKF_PATH_AUTO;
        one.change(forward);
        INFO(one.name);
        return made(vkf::test::backwardOf(forward)).path;
    };
    for (const Change& one : taken) {
        CHECK(pathOf(one) == (std::string(one.name) == "D = 8" ? VKF_PATH_COOPMAT : VKF_PATH_WGMMA));
    }
    CHECK(pathOf({"D = 32", [](VkfProblem& p) { p.headDim = p.valueDim = 32; }}) == VKF_PATH_COOPMAT);
    CHECK(pathOf({"D = 40", [](VkfProblem& p) { p.headDim = p.valueDim = 40; }}) == VKF_PATH_WGMMA);
    for (const Change& one : refused) {
        CHECK(pathOf(one) != VKF_PATH_WGMMA);
    }
    VkfProblem forward = longProblem();
    forward.path = VKF_PATH_AUTO;
    const VkfBackwardProblem problem = vkf::test::backwardOf(forward);
    const vkf::BackwardPlan plan = made(problem);
    REQUIRE(plan.pathDecisions.size() == 3);
    CHECK(plan.pathDecisions[0].rule == VKF_RULE_LONG_CALL);
    CHECK(plan.pathDecisions[1].path == VKF_PATH_COOPMAT);
    CHECK(plan.pathDecisions[1].rule == VKF_RULE_LONG_CALL);
    vkf::Caps caps = hopperCaps();
    caps.maxSharedMemoryBytes = 32768;
    vkf::BackwardPlan small;
    REQUIRE(make({caps}, problem, &small).empty());
    CHECK(small.path != VKF_PATH_WGMMA);
}

TEST_CASE("path wgmma of the backward pass needs its extension, its tile and path coopmat", "[planning]") {
    const VkfProblem forward = longProblem();
    const VkfBackwardProblem problem = vkf::test::backwardOf(forward);
    CHECK_THAT(refusal({vkf::test::matrixCaps()}, problem), ContainsSubstring("VK_NVX_binary_import"));
    const vkf::Caps hopper = hopperCaps();
    CHECK_THAT(refusal({hopper, {}, "the driver said no"}, problem), ContainsSubstring("the driver said no"));
    vkf::Caps caps = hopper;
    caps.features &= ~static_cast<VkfFeatures>(VKF_FEATURE_COOPERATIVE_MATRIX);
    CHECK_THAT(refusal({caps}, problem), ContainsSubstring("on path coopmat, which path wgmma falls back to: "));
    caps = hopper;
    caps.maxSharedMemoryBytes = 32768;
    CHECK_THAT(refusal({caps}, problem), ContainsSubstring("its tile needs more shared memory"));
}
