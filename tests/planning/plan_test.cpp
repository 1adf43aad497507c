// SPDX-License-Identifier: MIT
//
// Which path and which kernel a problem goes to. No device is needed.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <string>
#include <utility>

#include "device/quirks.hpp"
#include "planning/plan.hpp"
#include "support/call.hpp"
#include "support/described_device.hpp"
#include "support/plans.hpp"

namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using vkf::test::capsOf;
using vkf::test::matrixCaps;
using vkf::test::planOf;
using vkf::test::problemOf;
using vkf::test::refusal;

} // namespace

TEST_CASE("few rows go to path decode, but many packed rows against many keys to the matrices", "[planning]") {
    const vkf::Caps caps = matrixCaps();
    const auto path = [&](uint32_t rows, uint32_t keys, uint32_t maskBlock = 0) {
        VkfProblem problem = problemOf({1, 32, 8, rows, keys, 128, 0, VKF_TYPE_F16});
        problem.blockMask.blockSize = maskBlock;
        vkf::enable(problem, VKF_USE_BLOCK_MASK, maskBlock != 0);
        return planOf(caps, problem).path;
    };
    CHECK(path(1, 65536) == VKF_PATH_DECODE);
    CHECK(path(8, 65536) == VKF_PATH_DECODE); // 32 packed rows
    CHECK(path(9, 65536) == VKF_PATH_COOPMAT);
    CHECK(path(16, 2048) == VKF_PATH_COOPMAT);
    CHECK(path(16, 2047) == VKF_PATH_DECODE);
    CHECK(path(17, 64) == VKF_PATH_COOPMAT);
    CHECK(path(1, 65536, 64) == VKF_PATH_COOPMAT);
    CHECK(planOf(capsOf(32, 49152, 1024), problemOf({1, 32, 8, 16, 65536, 128, 0, VKF_TYPE_F16})).path ==
          VKF_PATH_DECODE);
}

TEST_CASE("caches go to the kernels that take them", "[planning]") {
    const vkf::Caps caps = matrixCaps();
    const auto kernelOf = [&](VkfProblem problem, VkfType type, bool paged) {
        problem.k.type = problem.v.type = type;
        if (paged) {
            vkf::test::setPages(problem, 16, 0);
        }
        problem.maxScratchBytes = 1; // no phase before attention
        return planOf(caps, problem).phases[0].variant.kernel;
    };
    // Sixteen packed rows. Plain types use matrices for them.
    const VkfProblem decode = problemOf({1, 8, 2, 4, 4096, 128, 0, VKF_TYPE_F16});
    CHECK(kernelOf(decode, VKF_TYPE_F16, false) == vkf::Kernel::attentionDecodeMatrix);
    CHECK(kernelOf(decode, VKF_TYPE_F16, true) == vkf::Kernel::attentionDecodeMatrix);
    CHECK(kernelOf(decode, VKF_TYPE_F32, false) == vkf::Kernel::attentionDecode);
    const VkfProblem prefill = problemOf({1, 8, 2, 512, 4096, 128, 0, VKF_TYPE_F16});
    for (const VkfType type : {VKF_TYPE_Q8_0, VKF_TYPE_Q4_0, VKF_TYPE_Q5_1}) {
        CHECK(kernelOf(prefill, type, true) == vkf::Kernel::attentionCoopmat);
        VkfProblem problem = prefill;
        problem.k.type = type;
        CHECK(planOf(caps, problem).productType == VKF_TYPE_F16);
    }
    CHECK(kernelOf(prefill, VKF_TYPE_F32, true) == vkf::Kernel::attentionScalar);

    VkfProblem fp32 = problemOf({1, 1, 1, 64, 64, 64});
    fp32.k.type = VKF_TYPE_Q8_0; // and v is fp32
    fp32.path = VKF_PATH_COOPMAT;
    VkfMessage message{};
    CHECK(refusal(caps, fp32, &message) == VKF_ERROR_UNSUPPORTED);
    CHECK_THAT(std::string(message.text), ContainsSubstring("or they must be of block types"));
}

TEST_CASE("the type of matrices is q's, or that of k and v beside an fp32 q", "[planning]") {
    vkf::Caps caps = matrixCaps();
    caps.features |= VKF_FEATURE_BFLOAT16_MATRIX;
    caps.bf16Matrix = caps.f16Matrix;
    constexpr VkfType none = VKF_TYPE_F32; // no matrices
    const struct {
        VkfType q, k, v, matrices;
    } rows[] = {
        {VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_F16, VKF_TYPE_F16},
        {VKF_TYPE_F32, VKF_TYPE_BF16, VKF_TYPE_BF16, VKF_TYPE_BF16},
        {VKF_TYPE_F32, VKF_TYPE_Q8_0, VKF_TYPE_Q4_0, VKF_TYPE_F16},
        {VKF_TYPE_F32, VKF_TYPE_Q4_0, VKF_TYPE_F16, VKF_TYPE_F16},
        {VKF_TYPE_F32, VKF_TYPE_Q8_0, VKF_TYPE_BF16, VKF_TYPE_BF16},
        {VKF_TYPE_F32, VKF_TYPE_BF16, VKF_TYPE_Q5_1, VKF_TYPE_BF16},
        {VKF_TYPE_BF16, VKF_TYPE_BF16, VKF_TYPE_Q5_1, VKF_TYPE_BF16},
        {VKF_TYPE_BF16, VKF_TYPE_Q4_1, VKF_TYPE_Q5_1, VKF_TYPE_BF16},
        {VKF_TYPE_F16, VKF_TYPE_Q4_1, VKF_TYPE_F16, VKF_TYPE_F16},
        {VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_BF16, none},
        {VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_F32, none},
        {VKF_TYPE_F32, VKF_TYPE_F32, VKF_TYPE_Q8_0, none},
        {VKF_TYPE_F32, VKF_TYPE_F32, VKF_TYPE_F32, none},
        {VKF_TYPE_F16, VKF_TYPE_BF16, VKF_TYPE_BF16, none},
    };
    for (const auto& row : rows) {
        INFO(vkfTypeName(row.q) << ' ' << vkfTypeName(row.k) << ' ' << vkfTypeName(row.v));
        VkfProblem problem = problemOf({1, 8, 2, 512, 4096, 128, 0, row.q});
        problem.maxScratchBytes = 1; // no phase before attention
        problem.k.type = row.k;
        problem.v.type = row.v;
        const vkf::AttentionPlan prefill = planOf(caps, problem);
        const bool bf16x3 = row.q == none && row.k == none && row.v == none; // a test of its own has this
        CHECK(prefill.path == (row.matrices == none && !bf16x3 ? VKF_PATH_SCALAR : VKF_PATH_COOPMAT));
        CHECK(prefill.productType == row.matrices);
        CHECK((bf16x3 || prefill.phases[0].variant.bf16 == (row.matrices == VKF_TYPE_BF16)));
        problem.queryRows = 4;
        const vkf::AttentionPlan decode = planOf(caps, problem);
        const bool blocks = vkfBlockElements(row.k) != 1 || vkfBlockElements(row.v) != 1;
        const bool onMatrices = row.matrices == VKF_TYPE_F16 || (row.matrices == VKF_TYPE_BF16 && !blocks);
        CHECK(decode.path == VKF_PATH_DECODE);
        CHECK(decode.productType == (onMatrices ? row.matrices : none));
        problem.headDim = problem.valueDim = 512;
        CHECK(planOf(caps, problem).productType == row.matrices);
        problem.precision = VKF_PRECISION_FP32;
        CHECK(planOf(caps, problem).productType == none);
        problem.headDim = problem.valueDim = 128;
        CHECK(planOf(caps, problem).productType == none);
    }
}

TEST_CASE("an fp32 q is loaded in words where its rows are words of fp32", "[planning]") {
    const vkf::Caps caps = matrixCaps();
    for (const uint32_t rows : {4U, 512U}) { // paths decode and coopmat
        VkfProblem problem = problemOf({1, 8, 2, rows, 4096, 128, 0, VKF_TYPE_F16});
        problem.q.type = VKF_TYPE_F32;
        const auto alignmentOf = [&](uint64_t gap) {
            problem.q.rowStride = 128 + gap;
            problem.q.headStride = problem.q.rowStride * rows;
            problem.q.batchStride = problem.q.headStride * 8;
            return planOf(caps, problem).inputAlignment;
        };
        CHECK(alignmentOf(0) == 16);
        CHECK(alignmentOf(4) == 16);
        CHECK(alignmentOf(2) == 1);
    }
}

TEST_CASE("without 16-bit storage, 16-bit rows are whole words of four elements", "[planning]") {
    vkf::Caps caps = capsOf(32, 49152, 1024);
    caps.features &= ~VkfFeatures{VKF_FEATURE_STORAGE_16BIT};
    const VkfProblem whole = problemOf({1, 2, 1, 80, 80, 64, 0, VKF_TYPE_BF16});
    for (const VkfPath path : {VKF_PATH_AUTO, VKF_PATH_SCALAR, VKF_PATH_KEY_OUTER}) {
        VkfProblem problem = whole;
        problem.path = path;
        const vkf::AttentionPlan made = planOf(caps, problem);
        CHECK(made.inputAlignment == 8);
        CHECK(made.outputAlignment == 8);
        for (const vkf::Phase& phase : made.phases) {
            CHECK_FALSE(phase.variant.storage16);
        }
        problem.q.type = problem.k.type = problem.v.type = VKF_TYPE_F32;
        CHECK(planOf(caps, problem).inputAlignment == 1);
        CHECK(planOf(caps, problem).outputAlignment == 8);
    }
    caps.features |= VKF_FEATURE_STORAGE_16BIT;
    CHECK(planOf(caps, whole).outputAlignment == 1);
}

TEST_CASE("what needs 16-bit storage is named", "[planning]") {
    vkf::Caps caps = capsOf(32, 49152, 1024);
    caps.features &= ~VkfFeatures{VKF_FEATURE_STORAGE_16BIT};
    const auto refuse = [&](auto change, const char* words) {
        VkfProblem problem = problemOf({1, 2, 1, 80, 80, 64, 0, VKF_TYPE_F16});
        change(problem);
        VkfMessage message{};
        CHECK(refusal(caps, problem, &message) == VKF_ERROR_UNSUPPORTED);
        CHECK_THAT(std::string(message.text), StartsWith(words) && ContainsSubstring("storageBuffer16BitAccess"));
    };
    refuse([](VkfProblem& p) { p.headDim = p.valueDim = 66; },
           "16-bit rows of q whose size or stride is not a multiple of 8 bytes");
    refuse([](VkfProblem& p) { p.valueDim = 62; }, "16-bit rows of v");
    refuse(
        [](VkfProblem& p) {
            p.k.rowStride = 66;
            p.k.headStride = p.k.batchStride = 66 * 80;
        },
        "16-bit rows of k");
    refuse(
        [](VkfProblem& p) {
            p.o.rowStride = 1 << 21;
            p.o.headStride = 64;
        },
        "16-bit rows of o");
    refuse([](VkfProblem& p) { p.k.type = VKF_TYPE_Q8_0; }, "block types need");
    refuse([](VkfProblem& p) { p.path = VKF_PATH_COOPMAT; }, "path coopmat needs");
    refuse([](VkfProblem& p) { p.kvSplits = 2; }, "kvSplits over 1 needs");
}

TEST_CASE("merges are not unrolled where a driver needs this", "[planning]") {
    vkf::Caps caps = capsOf(32, 49152, 1024);
    VkfProblem problem = problemOf({1, 1, 1, 1, 4096, 64});
    problem.path = VKF_PATH_SCALAR;
    problem.kvSplits = 4;
    const auto rolledMerge = [&] {
        const vkf::Variant merge = planOf(caps, problem).phases.back().variant;
        CHECK(merge.kernel == vkf::Kernel::mergeSplits);
        return merge.loops == vkf::Loops::rolled;
    };
    CHECK_FALSE(rolledMerge());
    caps.quirks = vkf::driverQuirks(VK_DRIVER_ID_GOOGLE_SWIFTSHADER);
    CHECK(rolledMerge());
}

TEST_CASE("kernels of plain arithmetic stay rolled only where quirks of their own ask for it", "[planning]") {
    vkf::Caps caps = capsOf(32, 49152, 1024);
    VkfProblem problem = problemOf({1, 1, 1, 1, 4096, 64});
    problem.path = VKF_PATH_SCALAR;
    problem.kvSplits = 4;
    using enum vkf::Loops;
    const auto loops = [&](VkfQuirks quirks) { // the attention, the merge
        caps.quirks = quirks;
        const vkf::AttentionPlan plan = planOf(caps, problem);
        CHECK(plan.phases.front().variant.kernel == vkf::Kernel::attentionScalar);
        return std::pair(plan.phases.front().variant.loops, plan.phases.back().variant.loops);
    };
    CHECK(loops(0) == std::pair(asWritten, asWritten));
    CHECK(loops(VKF_QUIRK_ROLLED_LOOPS) == std::pair(asWritten, rolled));
    CHECK(loops(VKF_QUIRK_ROLLED_SCALAR_LOOPS) == std::pair(rolled, asWritten));
    CHECK(loops(VKF_QUIRK_ROLLED_LOOPS | VKF_QUIRK_ROLLED_SCALAR_LOOPS) == std::pair(rolled, rolled));
    CHECK(loops(VKF_QUIRK_LOADS_PAST_LOOPS) == std::pair(asWritten, asWritten));
    CHECK(loops(VKF_QUIRK_ROLLED_LOOPS | VKF_QUIRK_ROLLED_SCALAR_LOOPS | VKF_QUIRK_LOADS_PAST_LOOPS) ==
          std::pair(rolledArithmetic, rolled));
}

TEST_CASE("a kernel has 16-bit storage where one of its own tensors is stored in 16 bits", "[planning]") {
    const vkf::Caps caps = capsOf(32, 49152, 1024);
    for (const auto tensor : {&VkfProblem::q, &VkfProblem::k, &VkfProblem::v, &VkfProblem::o}) {
        VkfProblem problem = problemOf({1, 1, 1, 64, 64, 64});
        CHECK_FALSE(planOf(caps, problem).phases[0].variant.storage16);
        (problem.*tensor).type = VKF_TYPE_BF16;
        CHECK(planOf(caps, problem).phases[0].variant.storage16);
    }
}

TEST_CASE("paths decode and standard need 16-bit storage whatever the types", "[planning]") {
    vkf::Caps caps = capsOf(32, 49152, 1024);
    VkfProblem problem = problemOf({1, 1, 1, 4, 64, 64});
    CHECK(planOf(caps, problem).path == VKF_PATH_DECODE);
    problem.path = VKF_PATH_STANDARD;
    const vkf::AttentionPlan standard = planOf(caps, problem);
    CHECK(standard.phases[0].variant.storage16);
    CHECK_FALSE(standard.phases[1].variant.storage16); // no tensor of the softmax has the caller's types
    CHECK(standard.phases[2].variant.storage16);

    caps.features &= ~VkfFeatures{VKF_FEATURE_STORAGE_16BIT};
    VkfMessage message{};
    CHECK(refusal(caps, problem, &message) == VKF_ERROR_UNSUPPORTED);
    CHECK_THAT(std::string(message.text), ContainsSubstring("path standard needs storageBuffer16BitAccess"));
    problem.path = VKF_PATH_DECODE;
    CHECK(refusal(caps, problem, &message) == VKF_ERROR_UNSUPPORTED);
    CHECK_THAT(std::string(message.text), ContainsSubstring("path decode needs storageBuffer16BitAccess"));
    problem.path = VKF_PATH_AUTO;
    CHECK(planOf(caps, problem).path == VKF_PATH_SCALAR);
}
