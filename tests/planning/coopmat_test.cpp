// SPDX-License-Identifier: MIT
//
// Plans of path coopmat, with and without a known layout of matrices. No device is needed.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <string>
#include <vector>

#include "planning/plan.hpp"
#include "support/call.hpp"
#include "support/described_device.hpp"
#include "support/masks.hpp"
#include "support/plans.hpp"

namespace {

using Catch::Matchers::ContainsSubstring;
using vkf::test::capsOf;
using vkf::test::hopperCaps;
using vkf::test::matrixCaps;
using vkf::test::planOf;
using vkf::test::problemOf;
using vkf::test::refusal;

} // namespace

TEST_CASE("scores pass through shared memory where the layout is not known, or must not be", "[planning]") {
    vkf::Caps caps = capsOf(32, 49152, 1024);
    caps.features |= VKF_FEATURE_COOPERATIVE_MATRIX;
    const VkfProblem problem = problemOf({1, 16, 16, 4096, 4096, 64, 0, VKF_TYPE_F16});
    CHECK(planOf(caps, problem).path == VKF_PATH_SCALAR);

    caps.f16Matrix.viaShared = vkf::viaSharedMatrixLayout(32, 16, 8, 16);
    const vkf::AttentionPlan viaShared = planOf(caps, problem);
    CHECK(viaShared.path == VKF_PATH_COOPMAT);
    CHECK(viaShared.phases[0].variant.viaShared);
    CHECK(viaShared.phases[0].variant.constants[VKF_ID_MATRIX_COLUMNS] == 8);
    CHECK(viaShared.phases[0].variant.constants[VKF_ID_MATRIX_DEPTH] == 16);
    // Four subgroups. 64 keys of k and of v take rows of 9 words, and the scores of 16 rows take rows of 18 words. One
    // more word has flags.
    CHECK(viaShared.tile.rows == 128);
    CHECK(viaShared.tile.sharedBytes == 16 * (64 * (9 + 9) + 4 * 16 * 18 + 1));

    caps.f16Matrix.known = vkf::knownMatrixLayout(VK_DRIVER_ID_NVIDIA_PROPRIETARY, 32, 16, 16);
    const vkf::AttentionPlan known = planOf(caps, problem);
    CHECK_FALSE(known.phases[0].variant.viaShared);
    caps.quirks = VKF_QUIRK_UNKNOWN_MATRIX_LAYOUT;
    CHECK(planOf(caps, problem).phases[0].variant.viaShared);

    // If no tile fits, the other kernel runs, unless the caller asked for this one.
    VkfProblem large = problemOf({1, 16, 16, 4096, 4096, 256, 0, VKF_TYPE_F16});
    caps.maxSharedMemoryBytes = 16384;
    CHECK(planOf(caps, large).path == VKF_PATH_SCALAR);
    large.path = VKF_PATH_COOPMAT;
    VkfMessage message{};
    CHECK(refusal(caps, large, &message) == VKF_ERROR_UNSUPPORTED);
    CHECK_THAT(std::string(message.text), ContainsSubstring("16384 bytes of shared memory"));
}

TEST_CASE("a device without one of the needs of path coopmat is refused by its name, and by default gets other kernels",
          "[planning]") {
    const struct {
        const char* name;
        void (*takeAway)(vkf::Caps& caps);
    } needs[] = {
        {"the device or the context lacks cooperative matrices",
         [](vkf::Caps& caps) { caps.features &= ~VkfFeatures{VKF_FEATURE_COOPERATIVE_MATRIX}; }},
        {"full subgroups of a known size with shuffles", [](vkf::Caps& caps) { caps.subgroupShuffle = false; }},
        {"subgroup votes in compute shaders", [](vkf::Caps& caps) { caps.subgroupVote = false; }},
        {"no matrices of a shape", [](vkf::Caps& caps) { caps.f16Matrix = {}; }},
    };
    for (const auto& need : needs) {
        INFO(need.name);
        vkf::Caps caps = matrixCaps();
        need.takeAway(caps);
        VkfProblem problem = problemOf({1, 16, 16, 4096, 4096, 64, 0, VKF_TYPE_F16});
        CHECK(planOf(caps, problem).path == VKF_PATH_SCALAR);
        problem.path = VKF_PATH_COOPMAT;
        VkfMessage message{};
        CHECK(refusal(caps, problem, &message) == VKF_ERROR_UNSUPPORTED);
        CHECK_THAT(std::string(message.text), ContainsSubstring(need.name));
    }
}

TEST_CASE("matrices of bf16 are those of fp16 made bf16, whichever way scores pass", "[planning]") {
    vkf::Caps caps = matrixCaps();
    caps.features |= VKF_FEATURE_BFLOAT16_MATRIX;
    caps.bf16Matrix = caps.f16Matrix;
    for (const VkfQuirks quirks : {0U, static_cast<uint32_t>(VKF_QUIRK_UNKNOWN_MATRIX_LAYOUT)}) {
        caps.quirks = quirks;
        caps.f16Matrix.viaShared = caps.bf16Matrix.viaShared = vkf::viaSharedMatrixLayout(32, 16, 16, 16);
        for (const VkfType type : {VKF_TYPE_F16, VKF_TYPE_BF16}) {
            const vkf::Variant variant =
                planOf(caps, problemOf({1, 16, 16, 4096, 4096, 128, 0, type})).phases[0].variant;
            CHECK(variant.kernel == vkf::Kernel::attentionCoopmat);
            CHECK(variant.viaShared == (quirks != 0));
            CHECK(variant.bf16 == (type == VKF_TYPE_BF16));
            CHECK(variant.constants[VKF_ID_TYPE_Q] == static_cast<uint32_t>(type));
        }
    }
}

TEST_CASE("o is written in words where its rows consist of words and the element layout is known", "[planning]") {
    vkf::Caps caps = matrixCaps();
    const auto leavesInWords = [&](const VkfProblem& problem) {
        const vkf::AttentionPlan made = planOf(caps, problem);
        REQUIRE(made.path == VKF_PATH_COOPMAT);
        const vkf::Variant& attention = made.phases.back().variant;
        REQUIRE(attention.kernel == vkf::Kernel::attentionCoopmat);
        return attention.constants[VKF_ID_OUTPUT_WORDS] != 0;
    };
    VkfProblem problem = problemOf({2, 16, 16, 8192, 8192, 128, 0, VKF_TYPE_F16});
    CHECK(leavesInWords(problem));
    problem.o.type = VKF_TYPE_F32;
    CHECK(leavesInWords(problem));
    problem.o.type = VKF_TYPE_BF16; // not the type of the matrices
    CHECK_FALSE(leavesInWords(problem));
    CHECK(leavesInWords(problemOf({2, 16, 16, 8192, 8192, 104, 0, VKF_TYPE_F16})));
    CHECK_FALSE(leavesInWords(problemOf({2, 16, 16, 8192, 8192, 100, 0, VKF_TYPE_F16}))); // 12.5 words
    caps.quirks = VKF_QUIRK_UNKNOWN_MATRIX_LAYOUT;
    caps.f16Matrix.viaShared = vkf::viaSharedMatrixLayout(32, 16, 16, 16);
    problem.o.type = VKF_TYPE_F16;
    CHECK_FALSE(leavesInWords(problem));
}

TEST_CASE("a kernel of their own takes narrow heads without terms, per-key masks, block types and pages",
          "[planning]") {
    const vkf::Caps caps = matrixCaps();
    const auto kernelOf = [&caps](const VkfProblem& problem) {
        const vkf::AttentionPlan made = planOf(caps, problem);
        REQUIRE(made.path == VKF_PATH_COOPMAT);
        return made.phases.back().variant.kernel;
    };
    VkfProblem narrow = problemOf({2, 16, 16, 4096, 4096, 64, 0, VKF_TYPE_F16});
    CHECK(kernelOf(narrow) == vkf::Kernel::attentionNarrow);
    narrow.use |= VKF_USE_CAUSAL;
    vkf::enable(narrow, VKF_USE_KEY_LENGTHS);
    CHECK(kernelOf(narrow) == vkf::Kernel::attentionNarrow);

    std::vector<VkfProblem> others(8, narrow);
    others[0].headDim = 72;
    others[1].valueDim = 72;
    others[2].softcap = 30.0F;
    others[3].use |= VKF_USE_ALIBI;
    vkf::enable(others[4], VKF_USE_DOCUMENT_IDS);
    others[5].blockMask.blockSize = 128;
    vkf::enable(others[5], VKF_USE_BLOCK_MASK);
    others[6].k.type = others[6].v.type = VKF_TYPE_Q8_0;
    CHECK(kernelOf(others[6]) == vkf::Kernel::attentionNarrow); // reads k and v that were converted before
    others[6].maxScratchBytes = 1;
    vkf::test::setPages(others[7], 16, 0);
    for (size_t i = 0; i < others.size(); i++) {
        INFO("problem " << i);
        CHECK(kernelOf(others[i]) == vkf::Kernel::attentionCoopmat);
    }
    vkf::Caps unknown = caps;
    unknown.quirks = VKF_QUIRK_UNKNOWN_MATRIX_LAYOUT;
    unknown.f16Matrix.viaShared = vkf::viaSharedMatrixLayout(32, 16, 16, 16);
    CHECK(planOf(unknown, narrow).phases.back().variant.kernel == vkf::Kernel::attentionCoopmat);
}

TEST_CASE("path coopmat packs the query heads of a KV head, but not under block masks", "[planning]") {
    const vkf::Caps caps = matrixCaps();
    VkfProblem problem = problemOf({2, 8, 2, 100, 4096, 128, 0, VKF_TYPE_F16});
    problem.path = VKF_PATH_COOPMAT;
    problem.kvSplits = 1;
    const vkf::AttentionPlan packed = planOf(caps, problem);
    CHECK(packed.tile.rows == 256);
    CHECK(packed.phases[0].variant.constants[VKF_ID_PACKED_HEADS] == 4);
    CHECK(packed.phases[0].items == 2 * 2 * 2); // 400 rows in two tiles
    problem.blockMask.blockSize = 64;
    vkf::enable(problem, VKF_USE_BLOCK_MASK);
    const vkf::AttentionPlan masked = planOf(caps, problem);
    CHECK(masked.phases[0].variant.constants[VKF_ID_PACKED_HEADS] == 1);
    CHECK(masked.phases[0].items == 2 * 8 * ((100 + masked.tile.rows - 1) / masked.tile.rows));
}

TEST_CASE("a draft tree has the tiles, splits and phases of causal rows", "[planning]") {
    for (const uint32_t keys : {1024U, 65536U}) {
        VkfProblem drafts = problemOf({1, 32, 8, 64, keys, 128, 0, VKF_TYPE_F16});
        drafts.path = VKF_PATH_COOPMAT;
        VkfProblem tree = drafts;
        drafts.use |= VKF_USE_CAUSAL;
        tree.mask = vkf::test::lastKeysMask(tree, VKF_TYPE_BOOL1, 64, false, false, true);
        tree.use |= VKF_USE_MASK;
        const vkf::AttentionPlan causal = planOf(hopperCaps(), drafts);
        const vkf::AttentionPlan masked = planOf(hopperCaps(), tree);
        INFO(keys << " keys");
        CHECK(masked.tile.rows == causal.tile.rows);
        CHECK(masked.tile.keys == causal.tile.keys);
        CHECK(masked.splits == causal.splits);
        REQUIRE(masked.phases.size() == causal.phases.size());
        for (size_t i = 0; i < masked.phases.size(); i++) {
            CHECK(masked.phases[i].variant.kernel == causal.phases[i].variant.kernel);
        }
        tree.mask.rowStride++; // with gaps, the strides are in a table
        CHECK(planOf(hopperCaps(), tree).phases.size() == masked.phases.size() + 1);
        CHECK(masked.phases[0].variant.constants[VKF_ID_SHARED_Q_SLICES] ==
              causal.phases[0].variant.constants[VKF_ID_SHARED_Q_SLICES]);
    }
}
