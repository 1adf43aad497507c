// SPDX-License-Identifier: MIT
//
// Plans of fp32 q, k and v on path coopmat, which multiplies parts of their numbers. No device is needed.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "planning/plan.hpp"
#include "shared/call_table.h"
#include "support/call.hpp"
#include "support/described_device.hpp"
#include "support/plans.hpp"

namespace {

using Catch::Matchers::ContainsSubstring;
using vkf::Kernel;
using vkf::test::matrixCaps;
using vkf::test::planOf;
using vkf::test::problemOf;
using vkf::test::refusal;

vkf::Caps bf16Caps() {
    vkf::Caps caps = matrixCaps();
    caps.features |= VKF_FEATURE_BFLOAT16_MATRIX;
    caps.bf16Matrix = caps.f16Matrix;
    return caps;
}

VkfProblem prefill(uint32_t dim = 128) { return problemOf({1, 16, 16, 4096, 4096, dim}); }

std::vector<Kernel> kernelsOf(const vkf::AttentionPlan& made) {
    std::vector<Kernel> kernels;
    std::transform(made.phases.begin(), made.phases.end(), std::back_inserter(kernels),
                   [](const vkf::Phase& phase) { return phase.variant.kernel; });
    return kernels;
}

} // namespace

TEST_CASE("fp32 q, k and v run on bf16 matrices as bf16x3, with any precision", "[planning]") {
    for (const VkfPrecision precision : {VKF_PRECISION_DEFAULT, VKF_PRECISION_FP32}) {
        VkfProblem problem = prefill();
        problem.precision = precision;
        const vkf::AttentionPlan made = planOf(bf16Caps(), problem);
        CHECK(made.path == VKF_PATH_COOPMAT);
        CHECK(made.productType == VKF_TYPE_F32);
        CHECK(kernelsOf(made) ==
              std::vector{Kernel::writeTable, Kernel::attentionBf16x3, Kernel::attentionScalarFallback});
        CHECK(made.scratch.bytes() == sizeof(vkf::shared::Bf16x3Table));
        CHECK(made.phases[1].variant.bf16);
        CHECK(made.phases[1].variant.constants[VKF_ID_PARTS_ARE_BF16] == 1);
        for (const size_t phase : {1U, 2U}) { // both find the table, though the problem has no optional input
            CHECK(made.phases[phase].variant.constants[VKF_ID_EXTRA_SLOT] == VKF_EXTRA_SLOT_HAS_TABLE);
        }
    }
    const vkf::AttentionPlan half = planOf(bf16Caps(), problemOf({1, 16, 16, 4096, 4096, 128, 0, VKF_TYPE_F16}));
    CHECK(kernelsOf(half) == std::vector{Kernel::attentionCoopmat});
}

TEST_CASE("tiles of parts fit the shared memory and the registers", "[planning]") {
    const vkf::AttentionPlan wide = planOf(bf16Caps(), prefill(128));
    CHECK(wide.tile.rows == 128);
    CHECK(wide.tile.keys == 16);
    CHECK(wide.tile.sharedBytes == 16 * (3 * 16 * (17 + 17) + 1)); // rows of 17 words; one word has flags
    CHECK(planOf(bf16Caps(), prefill(64)).tile.rows == 128);
    CHECK(planOf(bf16Caps(), problemOf({1, 16, 16, 512, 512, 128})).tile.rows == 64); // more workgroups
}

TEST_CASE("AUTO leaves fp32 to plain arithmetic where parts have no matrices, or were not measured", "[planning]") {
    const struct {
        const char* name;
        std::function<void(vkf::Caps&, VkfProblem&)> change;
        const char* refused; // the message on path coopmat; null = it runs there
    } rows[] = {
        {"D over 128", [](vkf::Caps&, VkfProblem& p) { p.headDim = 129; }, "at most 128"},
        {"Dv over 128", [](vkf::Caps&, VkfProblem& p) { p.valueDim = 160; }, "at most 128"},
        {"packed sequences",
         [](vkf::Caps&, VkfProblem& p) {
             vkf::test::Data data;
             vkf::test::setPacked(p, data, {100, 200}, {100, 200});
         },
         "packed sequences"},
        {"no bf16 matrices",
         [](vkf::Caps& c, VkfProblem&) { c.features &= ~static_cast<uint32_t>(VKF_FEATURE_BFLOAT16_MATRIX); },
         "of bf16"},
        {"an unknown layout",
         [](vkf::Caps& c, VkfProblem&) {
             c.bf16Matrix.viaShared = vkf::viaSharedMatrixLayout(32, 16, 16, 16);
             c.quirks = VKF_QUIRK_UNKNOWN_MATRIX_LAYOUT;
         },
         "element layout"},
        {"an fp16 v", [](vkf::Caps&, VkfProblem& p) { p.v.type = VKF_TYPE_F16; }, "k and v must both be"},
        {"llvmpipe", [](vkf::Caps& c, VkfProblem&) { c.driver = VK_DRIVER_ID_MESA_LLVMPIPE; }, nullptr},
        {"AMD", [](vkf::Caps& c, VkfProblem&) { c.vendorId = 0x1002; }, nullptr},
    };
    for (const auto& row : rows) {
        INFO(row.name);
        vkf::Caps caps = bf16Caps();
        VkfProblem problem = prefill();
        row.change(caps, problem);
        CHECK(planOf(caps, problem).path == VKF_PATH_SCALAR);
        problem.path = VKF_PATH_COOPMAT;
        if (row.refused == nullptr) {
            CHECK(kernelsOf(planOf(caps, problem))[1] == Kernel::attentionBf16x3);
        } else {
            VkfMessage message{};
            CHECK(refusal(caps, problem, &message) == VKF_ERROR_UNSUPPORTED);
            CHECK_THAT(std::string(message.text), ContainsSubstring(row.refused));
        }
    }
}

TEST_CASE("path decode stays the default for few rows of fp32", "[planning]") {
    CHECK(planOf(bf16Caps(), problemOf({1, 32, 8, 16, 8192, 128})).path == VKF_PATH_DECODE);
    CHECK(planOf(bf16Caps(), problemOf({1, 32, 8, 17, 8192, 128})).path == VKF_PATH_COOPMAT);
}

TEST_CASE("fp16 parts are for tests, and need no bf16", "[planning]") {
    vkf::Caps caps = matrixCaps();
    CHECK(planOf(caps, prefill()).path == VKF_PATH_SCALAR);
    caps.quirks = VKF_QUIRK_FP16X3;
    const vkf::AttentionPlan made = planOf(caps, prefill());
    REQUIRE(made.path == VKF_PATH_COOPMAT);
    CHECK_FALSE(made.phases[1].variant.bf16);
    CHECK(made.phases[1].variant.constants[VKF_ID_PARTS_ARE_BF16] == 0);
    CHECK(made.productType == VKF_TYPE_F32);
}

TEST_CASE("the kernel that computes again is the last one that writes o and lse", "[planning]") {
    VkfProblem problem = prefill();
    problem.kvSplits = 3;
    vkf::enable(problem, VKF_USE_LSE, false);
    vkf::enable(problem, VKF_USE_PROBABILITIES);
    const vkf::AttentionPlan made = planOf(bf16Caps(), problem);
    CHECK(kernelsOf(made) == std::vector{Kernel::writeTable, Kernel::attentionBf16x3, Kernel::mergeSplits,
                                         Kernel::attentionScalarFallback, Kernel::attentionProbabilities});
    CHECK(made.phases[2].lse == vkf::Operand::scratchLse);
    CHECK(made.phases[3].lse == vkf::Operand::scratchLse);
    CHECK(made.phases[3].variant.constants[VKF_ID_LSE] == 1);
    CHECK(made.phases[3].variant.constants[VKF_ID_KEY_SPLITS] == 1);
    CHECK(made.phases[3].operands[3] == vkf::Operand::o);
}
