// SPDX-License-Identifier: MIT
//
// Steps, and the strides and sizes that they carry. No device is needed.
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
using vkf::test::matrixCaps;
using vkf::test::planOf;
using vkf::test::problemOf;
using vkf::test::refusal;

} // namespace

TEST_CASE("a step keeps within its budget and the device's workgroup count", "[planning]") {
    VkfProblem problem = problemOf({2, 8, 8, 4096, 4096, 128});
    vkf::Caps caps = capsOf(32, 49152, 1024);
    CHECK(planOf(caps, problem).steps() == 1);

    caps.maxGroupCount = 100;
    const vkf::AttentionPlan narrow = planOf(caps, problem);
    CHECK(narrow.phases[0].itemsPerStep == 100);
    CHECK(narrow.steps() == (narrow.phases[0].items + 99) / 100);

    caps.maxGroupCount = 65535;
    const double rows = planOf(caps, problem).tile.rows;
    const double itemOperations = 2.0 * rows * 4096 * 256;
    problem.maxStepOperations = static_cast<uint64_t>(itemOperations * 3.5);
    CHECK(planOf(caps, problem).phases[0].itemsPerStep == 3);
    problem.maxStepOperations = static_cast<uint64_t>(itemOperations * 131.5);
    CHECK(planOf(caps, problem).phases[0].itemsPerStep == 131);
    problem.maxStepOperations = static_cast<uint64_t>(itemOperations * 263.5); // a wave has 132 items
    CHECK(planOf(caps, problem).phases[0].itemsPerStep == 132);
    problem.maxStepOperations = static_cast<uint64_t>(itemOperations * 264.5);
    CHECK(planOf(caps, problem).phases[0].itemsPerStep == 264);
    problem.maxStepOperations = 1;
    CHECK(planOf(caps, problem).phases[0].itemsPerStep == 1);
}

TEST_CASE("a million-token causal prefill is split into steps of the default budget", "[planning]") {
    VkfProblem problem = problemOf({1, 4, 4, 1U << 20, 1U << 20, 128, 0, VKF_TYPE_F16});
    problem.use |= VKF_USE_CAUSAL;
    const vkf::AttentionPlan made = planOf(capsOf(32, 49152, 1024), problem);
    CHECK(made.steps() > 1000);
    CHECK(made.scratch.bytes() == 0);
}

TEST_CASE("an empty output needs no step", "[planning]") {
    CHECK(planOf(capsOf(32, 49152, 1024), problemOf({1, 1, 1, 0, 8, 64})).steps() == 0);
    for (const VkfPath path : {VKF_PATH_AUTO, VKF_PATH_SCALAR, VKF_PATH_STANDARD, VKF_PATH_COOPMAT, VKF_PATH_DECODE,
                               VKF_PATH_KEY_OUTER, VKF_PATH_WGMMA}) {
        INFO("no heads, on path " << vkfPathName(path));
        VkfProblem problem = problemOf({1, 0, 0, 8, 8, 64, 0, VKF_TYPE_F16});
        problem.path = path;
        CHECK(planOf(vkf::test::hopperCaps(), problem).steps() == 0);
    }
}

TEST_CASE("caches of millions of keys keep every byte of their strides", "[planning]") {
    constexpr uint32_t keys = 1U << 22;
    for (const VkfType type : {VKF_TYPE_F16, VKF_TYPE_Q8_0}) {
        for (const VkfPath path : {VKF_PATH_DECODE, VKF_PATH_SCALAR}) {
            VkfProblem problem = problemOf({2, 32, 8, 1, keys, 128, 0, VKF_TYPE_F16});
            problem.k.type = problem.v.type = type;
            problem.path = path;
            const uint64_t rowBytes = vkfStoredBytes(type, 128);
            INFO(vkfTypeName(type) << " on " << vkfPathName(path));
            vkf::AttentionPlan made = planOf(capsOf(32, 49152, 1024), problem);
            const vkf::shared::CallParams& dense = made.phases[0].params;
            const uint32_t shift = made.phases[0].variant.constants[VKF_ID_STRIDE_SHIFT];
            for (const int tensor : {VKF_K, VKF_V}) {
                CHECK(dense.row_stride[tensor] == rowBytes);
                CHECK(uint64_t{dense.head_stride[tensor]} << shift == rowBytes * keys);
                CHECK(uint64_t{dense.batch_stride[tensor]} << shift == rowBytes * keys * 8);
            }
            CHECK(dense.keys == keys);
            // Pages of 16 keys, [pages, 16, heads, dim].
            problem.paging = {16, keys / 16, 2 * keys / 16};
            vkf::enable(problem, VKF_USE_BLOCK_TABLE);
            problem.k.rowStride = problem.v.rowStride = 8 * 128;
            problem.k.headStride = problem.v.headStride = 128;
            problem.k.batchStride = problem.v.batchStride = 16 * 8 * 128;
            made = planOf(capsOf(32, 49152, 1024), problem);
            CHECK(made.phases[0].params.batch_stride[VKF_K] == rowBytes * 16 * 8);
            CHECK(made.phases[0].variant.constants[VKF_ID_STRIDE_SHIFT] == 0);
            CHECK(made.phases[0].variant.constants[VKF_ID_MAX_PAGES] == keys / 16);
        }
    }
    // Rows with distances, as in [keys, heads, dim] for sequences that are 8 GiB apart.
    VkfProblem problem = problemOf({2, 32, 8, 1, keys, 128, 0, VKF_TYPE_F16});
    problem.k.rowStride = 8 * 128;
    problem.k.headStride = 128;
    problem.k.batchStride = uint64_t{keys} * 8 * 128;
    const vkf::AttentionPlan apart = planOf(capsOf(32, 49152, 1024), problem);
    const uint32_t shift = apart.phases[0].variant.constants[VKF_ID_STRIDE_SHIFT];
    CHECK(shift > 0);
    CHECK(uint64_t{apart.phases[0].params.batch_stride[VKF_K]} << shift == uint64_t{1} << 33);
    CHECK(uint64_t{apart.phases[0].params.head_stride[VKF_K]} << shift == 256);
}

TEST_CASE("strides over 4 GiB are carried exactly or refused", "[planning]") {
    const vkf::Caps caps = capsOf(32, 49152, 1024);
    VkfProblem problem = problemOf({2, 2, 2, 4, 4, 64, 0, VKF_TYPE_F16});
    problem.k.rowStride = 64;
    problem.k.headStride = uint64_t{3} << 30;  // 6 GiB
    problem.k.batchStride = uint64_t{3} << 32; // 24 GiB
    const vkf::AttentionPlan made = planOf(caps, problem);
    const uint32_t shift = made.phases[0].variant.constants[VKF_ID_STRIDE_SHIFT];
    CHECK(uint64_t{made.phases[0].params.batch_stride[VKF_K]} << shift == uint64_t{6} << 32);
    CHECK(uint64_t{made.phases[0].params.head_stride[VKF_K]} << shift == uint64_t{6} << 30);

    VkfMessage message{};
    problem.v.rowStride = 64;
    problem.v.headStride = 256;
    problem.v.batchStride = 1001;
    CHECK(refusal(caps, problem, &message) == VKF_ERROR_UNSUPPORTED);
    CHECK_THAT(std::string(message.text), ContainsSubstring("batch strides of v"));

    problem = problemOf({1, 1, 1, 4, 4, 64});
    problem.q.rowStride = uint64_t{1} << 31;
    CHECK(refusal(caps, problem, &message) == VKF_ERROR_UNSUPPORTED);
    CHECK_THAT(std::string(message.text), ContainsSubstring("row stride of q"));
}

TEST_CASE("strides of blocks and pages are those of their bytes", "[planning]") {
    VkfProblem problem = problemOf({2, 4, 2, 4, 100, 64});
    problem.k.type = VKF_TYPE_Q4_1;
    vkf::test::setPages(problem, 8, 0);
    const vkf::shared::CallParams params = planOf(matrixCaps(), problem).phases[0].params;
    CHECK(params.row_stride[VKF_K] == 2 * 20);
    CHECK(params.head_stride[VKF_K] == 8 * 2 * 20);
    CHECK(params.batch_stride[VKF_K] == 2 * 8 * 2 * 20);
    CHECK(params.batch_stride[VKF_V] == 2 * 8 * 64 * 4);
}
