// SPDX-License-Identifier: MIT
//
// Plans of path wgmma on a described H100. No device is needed.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "device/chips.hpp"
#include "pipelines/launches.hpp"
#include "pipelines/wgmma_kernels.hpp"
#include "support/call.hpp"
#include "support/described_device.hpp"
#include "support/plans.hpp"
#include "tiles/tile_problem.hpp"

namespace {

using Catch::Matchers::ContainsSubstring;
using vkf::test::hopperCaps;
using vkf::test::planOf;
using vkf::test::problemOf;

// Long enough for AUTO to take path wgmma.
VkfProblem longProblem(VkfType type = VKF_TYPE_F16, uint32_t dim = 128) {
    return problemOf({1, 16, 4, 4096, 4096, dim, 0, type});
}

VkfProblem onPath(VkfProblem problem, VkfPath path) {
    problem.path = path;
    return problem;
}

// The reason why AUTO, or the plan, has not path wgmma.
vkf::PathDecision whyNotWgmma(const vkf::Caps& caps, const VkfProblem& problem, VkfPath taken) {
    const vkf::AttentionPlan plan = planOf(caps, problem);
    CHECK(plan.path == taken);
    const vkf::PathDecision* decision = vkf::decisionOn(plan.pathDecisions, VKF_PATH_WGMMA);
    REQUIRE(decision != nullptr);
    return *decision;
}

template <typename Params> auto wordsOf(const Params& params) {
    return std::bit_cast<std::array<uint32_t, sizeof params / sizeof(uint32_t)>>(params);
}

struct Change {
    const char* name;
    void (*change)(VkfProblem&);
};

// k and v of fp8 types, which a phase of their own converts.
void setFp8(VkfProblem& p) {
    p.k.type = VKF_TYPE_F8_E4M3;
    p.v.type = VKF_TYPE_F8_E5M2;
}

// 257 pages of v. With a stride of 2^27 elements the last one begins at 64 GiB.
void setFarPages(VkfProblem& p, uint64_t stride) {
    vkf::test::setPages(p, 16, 0);
    p.v.batchStride = stride;
    p.v.headStride = uint64_t{128} * 16;
    p.v.rowStride = 128;
}

// All that the path takes.
const Change taken[] = {
    {"nothing", [](VkfProblem&) {}},
    {"bf16", [](VkfProblem& p) { p.q.type = p.k.type = p.v.type = p.o.type = VKF_TYPE_BF16; }},
    {"o of fp32", [](VkfProblem& p) { p.o.type = VKF_TYPE_F32; }},
    {"o of bf16", [](VkfProblem& p) { p.o.type = VKF_TYPE_BF16; }},
    {"no packed rows", [](VkfProblem& p) { p.kvHeads = p.queryHeads; }},
    {"other columns of v", [](VkfProblem& p) { p.valueDim = 72; }},
    {"D = 8", [](VkfProblem& p) { p.headDim = p.valueDim = 8; }},
    {"D = 256", [](VkfProblem& p) { p.headDim = p.valueDim = 256; }},
    {"no lse", [](VkfProblem& p) { vkf::enable(p, VKF_USE_LSE, false); }},
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
    {"first keys",
     [](VkfProblem& p) {
         vkf::enable(p, VKF_USE_WINDOW);
         vkf::enable(p, VKF_USE_CAUSAL);
         p.window.left = 200; // so few keys that path coopmat has no map of tiles
         p.window.right = -1;
         p.window.firstKeys = 4;
     }},
    {"key lengths", [](VkfProblem& p) { vkf::enable(p, VKF_USE_KEY_LENGTHS); }},
    {"packed sequences", [](VkfProblem& p) { vkf::enable(p, VKF_USE_CU_SEQLENS); }},
    {"scale", [](VkfProblem& p) { p.scale = 0.25F; }},
    {"softcap", [](VkfProblem& p) { p.softcap = 30.0F; }},
    {"ALiBi", [](VkfProblem& p) { vkf::enable(p, VKF_USE_ALIBI); }},
    {"ALiBi with slopes", [](VkfProblem& p) { vkf::enable(p, VKF_USE_ALIBI | VKF_USE_ALIBI_SLOPES); }},
    {"sinks", [](VkfProblem& p) { vkf::enable(p, VKF_USE_SINKS); }},
    {"all of them at once",
     [](VkfProblem& p) {
         vkf::enable(p, VKF_USE_CAUSAL | VKF_USE_WINDOW | VKF_USE_KEY_LENGTHS | VKF_USE_ALIBI | VKF_USE_ALIBI_SLOPES |
                            VKF_USE_SINKS);
         p.softcap = 30.0F;
         p.window.left = 200;
         p.window.right = -1;
         p.window.firstKeys = 4;
     }},
    {"strides of words",
     [](VkfProblem& p) {
         p.k.rowStride = 136;
         p.k.headStride = uint64_t{136} * p.keys;
     }},
    {"key splits", [](VkfProblem& p) { p.kvSplits = 3; }},
    {"pages", [](VkfProblem& p) { vkf::test::setPages(p, 16, 0); }},
    {"pages of another layout",
     [](VkfProblem& p) {
         vkf::test::setPages(p, 20, 3);
         p.k.headStride = p.v.headStride = 128;
         p.k.rowStride = p.v.rowStride = uint64_t{128} * p.kvHeads;
         p.k.batchStride = p.v.batchStride = uint64_t{2} * p.k.rowStride * 20;
     }},
    {"pages that span nearly 64 GiB", [](VkfProblem& p) { setFarPages(p, (uint64_t{1} << 27) - 128); }},
    {"pages and all that goes with them",
     [](VkfProblem& p) {
         vkf::test::setPages(p, 100, 7);
         vkf::enable(p, VKF_USE_CU_SEQLENS | VKF_USE_KEY_LENGTHS | VKF_USE_CAUSAL | VKF_USE_SINKS);
     }},
    {"fp8 types", [](VkfProblem& p) { setFp8(p); }},
};

struct Refused {
    const char* reason;
    void (*change)(VkfProblem&);
};

// All that the path refuses.
const Refused refused[] = {
    {"precision fp32 excludes products of 16-bit types", [](VkfProblem& p) { p.precision = VKF_PRECISION_FP32; }},
    {"a bias is not in this version",
     [](VkfProblem& p) {
         vkf::enable(p, VKF_USE_BIAS);
         p.bias = {VKF_TYPE_F16, 0, 0, 0, 4096};
     }},
    {"a boolean mask is not in this version",
     [](VkfProblem& p) {
         vkf::enable(p, VKF_USE_MASK);
         p.mask.type = VKF_TYPE_BOOL8;
         p.mask.rowStride = 4096;
     }},
    {"documents are not in this version", [](VkfProblem& p) { vkf::enable(p, VKF_USE_DOCUMENT_IDS); }},
    {"a block mask is not in this version",
     [](VkfProblem& p) {
         vkf::enable(p, VKF_USE_BLOCK_MASK);
         p.blockMask.blockSize = 64;
     }},
    {"q, k and v must all be f16 or all be bf16",
     [](VkfProblem& p) { // although fp8 types are converted without pages
         setFp8(p);
         vkf::test::setPages(p, 20, 0);
     }},
    {"pages of k or v span over 64 GiB", [](VkfProblem& p) { setFarPages(p, uint64_t{1} << 27); }},
    {"probabilities as an output are not in this version",
     [](VkfProblem& p) { vkf::enable(p, VKF_USE_PROBABILITIES); }},
    {"dropout is not in this version", [](VkfProblem& p) { p.dropout.probability = 0.1F; }},
    {"q, k and v must all be f16 or all be bf16", [](VkfProblem& p) { p.q.type = VKF_TYPE_F32; }},
    {"q, k and v must all be f16 or all be bf16",
     [](VkfProblem& p) { p.q.type = p.k.type = p.v.type = p.o.type = VKF_TYPE_F32; }},
    {"q, k and v must all be f16 or all be bf16", [](VkfProblem& p) { p.k.type = p.v.type = VKF_TYPE_Q8_0; }},
    {"q, k and v must all be f16 or all be bf16",
     [](VkfProblem& p) { // nothing may be converted
         setFp8(p);
         p.maxScratchBytes = 1;
     }},
    {"scales of k and v are not in this version",
     [](VkfProblem& p) {
         setFp8(p);
         vkf::test::setScales(p, 1, 0);
     }},
    {"q, k and v must all be f16 or all be bf16", [](VkfProblem& p) { p.v.type = VKF_TYPE_BF16; }},
    {"headDim and valueDim must be multiples of 8", [](VkfProblem& p) { p.headDim = p.valueDim = 100; }},
    {"headDim and valueDim must be multiples of 8", [](VkfProblem& p) { p.valueDim = 12; }},
    {"strides of q, k and v must be multiples of 16 bytes", [](VkfProblem& p) { p.v.rowStride = 132; }},
    {"a row stride of q, k or v is too large", [](VkfProblem& p) { p.k.rowStride = 1U << 30; }},
};

} // namespace

TEST_CASE("AUTO takes path wgmma for long calls on a Hopper chip", "[planning]") {
    const vkf::AttentionPlan plan = planOf(hopperCaps(), longProblem());
    CHECK(plan.path == VKF_PATH_WGMMA);
    const vkf::PathDecision& wgmma = *vkf::decisionOn(plan.pathDecisions, VKF_PATH_WGMMA);
    CHECK(wgmma.rule == VKF_RULE_LONG_CALL);
    CHECK(wgmma.reason == "wgmma is faster than coopmat from 64 packed rows on (here 16384)");
    const vkf::PathDecision& coopmat = *vkf::decisionOn(plan.pathDecisions, VKF_PATH_COOPMAT);
    CHECK(coopmat.rule == VKF_RULE_LONG_CALL);
    CHECK(coopmat.reason == wgmma.reason);
    CHECK(vkf::decisionOn(plan.pathDecisions, VKF_PATH_SCALAR)->rule == VKF_RULE_MATRIX_UNITS);
    CHECK(vkf::decisionOn(plan.pathDecisions, VKF_PATH_DECODE)->rule == VKF_RULE_MANY_ROWS);
    CHECK(plan.inputAlignment == 16);
    CHECK(plan.productType == VKF_TYPE_F16);
    REQUIRE(plan.phases.size() == 1);
    CHECK(plan.phases[0].variant.kernel == vkf::Kernel::attentionWgmma);
}

TEST_CASE("calls of few packed rows stay on path coopmat", "[planning]") {
    VkfProblem few = problemOf({1, 16, 16, 63, 128, 128, 0, VKF_TYPE_F16});
    CHECK(whyNotWgmma(hopperCaps(), few, VKF_PATH_COOPMAT).rule == VKF_RULE_SHORT_CALL);
    few.queryRows = 64;
    CHECK(planOf(hopperCaps(), few).path == VKF_PATH_WGMMA);
    VkfProblem masked = problemOf({1, 16, 16, 31, 128, 128, 0, VKF_TYPE_F16});
    vkf::enable(masked, VKF_USE_CAUSAL);
    CHECK(whyNotWgmma(hopperCaps(), masked, VKF_PATH_COOPMAT).rule == VKF_RULE_SHORT_CALL);
    masked.queryRows = 32;
    CHECK(planOf(hopperCaps(), masked).path == VKF_PATH_WGMMA);
    VkfProblem wide = problemOf({1, 16, 16, 32, 128, 136, 0, VKF_TYPE_F16});
    CHECK(planOf(hopperCaps(), wide).path == VKF_PATH_WGMMA);
    wide.headDim = 128;
    CHECK(planOf(hopperCaps(), wide).path == VKF_PATH_COOPMAT);
    wide.valueDim = 136;
    CHECK(planOf(hopperCaps(), wide).path == VKF_PATH_WGMMA);
    // 16 rows of each of 4 heads, over a long cache.
    VkfProblem cache = problemOf({1, 32, 8, 16, 16384, 128, 0, VKF_TYPE_F16});
    CHECK_THAT(whyNotWgmma(hopperCaps(), cache, VKF_PATH_COOPMAT).reason,
               ContainsSubstring("up to 64 packed rows (here 64) that see at least 16384 keys (here 16384)"));
    cache.keys--;
    CHECK(planOf(hopperCaps(), cache).path == VKF_PATH_WGMMA);
    cache.keys++;
    cache.queryRows = 17;
    CHECK(planOf(hopperCaps(), cache).path == VKF_PATH_WGMMA);
    // Path decode comes first.
    const VkfProblem decode = problemOf({1, 8, 8, 1, 1U << 20, 128, 0, VKF_TYPE_F16});
    CHECK(whyNotWgmma(hopperCaps(), decode, VKF_PATH_DECODE).rule == VKF_RULE_FEW_ROWS);
}

TEST_CASE("narrow heads take path wgmma with few workgroups, or with many keys and a full device", "[planning]") {
    // 22 heads of six tiles of rows are 132 workgroups.
    const VkfProblem full = problemOf({1, 22, 22, 1024, 1024, 64, 0, VKF_TYPE_F16});
    CHECK(planOf(hopperCaps(), full).path == VKF_PATH_WGMMA);
    VkfProblem fewKeys = full;
    fewKeys.keys = 511;
    const vkf::PathDecision decision = whyNotWgmma(hopperCaps(), fewKeys, VKF_PATH_COOPMAT);
    CHECK(decision.rule == VKF_RULE_SHORT_CALL);
    CHECK_THAT(decision.reason,
               ContainsSubstring("48 workgroups (here 132), or from 128 on with 512 visible keys (here 511)") &&
                   ContainsSubstring("77% of the multiprocessors (here 100%)"));
    fewKeys.keys++;
    CHECK(planOf(hopperCaps(), fewKeys).path == VKF_PATH_WGMMA);
    // Eight heads of six tiles are 48 workgroups, nine are 54.
    CHECK(planOf(hopperCaps(), problemOf({1, 8, 8, 1024, 200, 64, 0, VKF_TYPE_F16})).path == VKF_PATH_WGMMA);
    CHECK(planOf(hopperCaps(), problemOf({1, 9, 9, 1024, 200, 64, 0, VKF_TYPE_F16})).path == VKF_PATH_COOPMAT);
    CHECK(planOf(hopperCaps(), problemOf({1, 8, 8, 128, 128, 64, 0, VKF_TYPE_F16})).path == VKF_PATH_WGMMA);
    CHECK(planOf(hopperCaps(), problemOf({1, 8, 8, 127, 128, 64, 0, VKF_TYPE_F16})).path == VKF_PATH_COOPMAT);
    CHECK(planOf(hopperCaps(), problemOf({1, 8, 8, 64, 384, 64, 0, VKF_TYPE_F16})).path == VKF_PATH_WGMMA);
    CHECK(planOf(hopperCaps(), problemOf({1, 8, 8, 64, 383, 64, 0, VKF_TYPE_F16})).path == VKF_PATH_COOPMAT);
    VkfProblem causal = problemOf({1, 44, 44, 1024, 1024, 64, 0, VKF_TYPE_F16}); // 264 workgroups
    vkf::enable(causal, VKF_USE_CAUSAL);
    CHECK(planOf(hopperCaps(), causal).path == VKF_PATH_WGMMA);
    causal.queryHeads = causal.kvHeads = 45; // a row sees half of the keys
    CHECK_THAT(whyNotWgmma(hopperCaps(), causal, VKF_PATH_COOPMAT).reason,
               ContainsSubstring("768 visible keys (here 512)"));
    causal.queryRows = causal.keys = 2048;
    CHECK(planOf(hopperCaps(), causal).path == VKF_PATH_WGMMA);
    // 23 heads need a second wave of workgroups, which is nearly empty.
    const VkfProblem twoWaves = problemOf({1, 23, 23, 1024, 1024, 64, 0, VKF_TYPE_F16});
    CHECK(whyNotWgmma(hopperCaps(), twoWaves, VKF_PATH_COOPMAT).rule == VKF_RULE_SHORT_CALL);
    CHECK(planOf(hopperCaps(), problemOf({1, 23, 23, 1024, 1024, 72, 0, VKF_TYPE_F16})).path == VKF_PATH_WGMMA);
}

TEST_CASE("a launch of path wgmma gets the numbers that path coopmat has as push and specialization constants",
          "[planning]") {
    for (const Change& one : taken) {
        INFO(one.name);
        VkfProblem problem = longProblem();
        vkf::enable(problem, VKF_USE_LSE);
        problem.kvSplits = 1; // the paths choose different ones
        one.change(problem);
        CHECK(planOf(hopperCaps(), problem).path == VKF_PATH_WGMMA);
        const vkf::AttentionPlan wgmma = planOf(hopperCaps(), onPath(problem, VKF_PATH_WGMMA));
        vkf::Caps withoutLaunches = hopperCaps();
        withoutLaunches.features &= ~VkfFeatures{VKF_FEATURE_BINARY_IMPORT};
        const vkf::AttentionPlan coopmat = planOf(withoutLaunches, problem);
        CHECK(coopmat.path == VKF_PATH_COOPMAT);
        REQUIRE(wgmma.phases.size() == coopmat.phases.size());
        for (size_t i = 0; i < wgmma.phases.size(); i++) {
            const vkf::Phase& launched = wgmma.phases[i];
            const vkf::Phase& dispatched = coopmat.phases[i];
            CHECK(wordsOf(launched.params) == wordsOf(dispatched.params));
            CHECK(launched.operands == dispatched.operands);
            CHECK(launched.lse == dispatched.lse);
            CHECK(launched.barrierBefore == dispatched.barrierBefore);
            if (launched.variant.kernel != vkf::Kernel::attentionWgmma) {
                CHECK(launched.variant == dispatched.variant);
                continue;
            }
            CHECK(launched.variant.bf16 == dispatched.variant.bf16);
            CHECK(wordsOf(vkf::wgmmaConstants(launched.variant.constants)) ==
                  wordsOf(vkf::wgmmaConstants(dispatched.variant.constants)));
        }
    }
}

TEST_CASE("each member of WgmmaConstants has the specialization constant that the header names", "[planning]") {
    vkf::Constants constants{};
    for (uint32_t id = 0; id < constants.size(); id++) {
        constants[id] = 1000 + id;
    }
    const vkf::shared::WgmmaConstants c = vkf::wgmmaConstants(constants);
    CHECK(c.head_dim == 1000 + VKF_ID_HEAD_DIM);
    CHECK(c.value_dim == 1000 + VKF_ID_VALUE_DIM);
    CHECK(c.type_o == 1000 + VKF_ID_TYPE_O);
    CHECK(c.stride_shift == 1000 + VKF_ID_STRIDE_SHIFT);
    CHECK(c.sinks == 1000 + VKF_ID_SINKS);
    CHECK(c.softcap == 1000 + VKF_ID_SOFTCAP);
    CHECK(c.alibi == 1000 + VKF_ID_ALIBI);
    CHECK(c.lse == 1000 + VKF_ID_LSE);
    CHECK(c.window == 1000 + VKF_ID_WINDOW);
    CHECK(c.top_left == 1000 + VKF_ID_TOP_LEFT);
    CHECK(c.first_keys == 1000 + VKF_ID_FIRST_KEYS);
    CHECK(c.first_keys_causal == 1000 + VKF_ID_FIRST_KEYS_CAUSAL);
    CHECK(c.key_lengths == 1000 + VKF_ID_KEY_LENGTHS);
    CHECK(c.packed_sequences == 1000 + VKF_ID_PACKED_SEQUENCES);
    CHECK(c.extra_slot == 1000 + VKF_ID_EXTRA_SLOT);
    CHECK(c.window_left == 1000 + VKF_ID_WINDOW_LEFT);
    CHECK(c.window_right == 1000 + VKF_ID_WINDOW_RIGHT);
    CHECK(c.packed_heads == 1000 + VKF_ID_PACKED_HEADS);
    CHECK(c.interleaved_heads == 1000 + VKF_ID_INTERLEAVED_HEADS);
    CHECK(c.key_splits == 1000 + VKF_ID_KEY_SPLITS);
    CHECK(c.page_rows == 1000 + VKF_ID_PAGE_ROWS);
    CHECK(c.max_pages == 1000 + VKF_ID_MAX_PAGES);
    CHECK(c.pages == 1000 + VKF_ID_PAGES);
}

TEST_CASE("path wgmma refuses with a reason what it does not compute, and AUTO takes another path", "[planning]") {
    for (const Refused& one : refused) {
        VkfProblem problem = longProblem();
        one.change(problem);
        INFO(one.reason << ": " << vkf::test::describe(problem));
        VkfMessage message{};
        CHECK(vkf::test::refusal(hopperCaps(), onPath(problem, VKF_PATH_WGMMA), &message) == VKF_ERROR_UNSUPPORTED);
        CHECK_THAT(std::string(message.text), ContainsSubstring(std::string("path wgmma: ") + one.reason));
        const vkf::AttentionPlan plan = planOf(hopperCaps(), problem);
        CHECK((plan.path == VKF_PATH_COOPMAT || plan.path == VKF_PATH_SCALAR));
        const vkf::PathDecision* decision = vkf::decisionOn(plan.pathDecisions, VKF_PATH_WGMMA);
        REQUIRE(decision != nullptr);
        CHECK(decision->rule == VKF_RULE_UNSUPPORTED);
        CHECK(decision->reason == message.text);
    }
}

TEST_CASE("a device that cannot launch has no path wgmma, and says why", "[planning]") {
    const VkfProblem problem = longProblem();
    vkf::Caps other = hopperCaps();
    other.features &= ~VkfFeatures{VKF_FEATURE_BINARY_IMPORT};
    const char* lacks = "path wgmma: the device or the context lacks VK_NVX_binary_import on a chip of compute "
                        "capability 9.0 (VKF_FEATURE_BINARY_IMPORT)";
    CHECK(whyNotWgmma(other, problem, VKF_PATH_COOPMAT).reason == lacks);
    VkfMessage message{};
    CHECK(vkf::test::refusal(other, onPath(problem, VKF_PATH_WGMMA), &message) == VKF_ERROR_UNSUPPORTED);
    CHECK(std::string(message.text) == lacks);

    const vkf::Caps caps = hopperCaps();
    vkf::CheckedProblem checked{};
    REQUIRE(vkf::checkProblem(&problem, &checked, nullptr) == VKF_SUCCESS);
    vkf::AttentionPlan plan;
    REQUIRE(vkf::makePlan({caps, {}, "the driver refused it"}, checked, &plan, &message) == VKF_SUCCESS);
    CHECK(plan.path == VKF_PATH_COOPMAT);
    CHECK(vkf::decisionOn(plan.pathDecisions, VKF_PATH_WGMMA)->reason == "path wgmma: the driver refused it");

    vkf::Caps small = hopperCaps();
    small.maxSharedMemoryBytes = 16384;
    CHECK_THAT(whyNotWgmma(small, problem, VKF_PATH_COOPMAT).reason, ContainsSubstring("shared memory"));
    small = hopperCaps();
    small.maxInvocations = 256;
    CHECK_THAT(whyNotWgmma(small, problem, VKF_PATH_COOPMAT).reason, ContainsSubstring("invocations"));
}

TEST_CASE("products of GH100 have path wgmma, by their PCI ids", "[planning]") {
    for (const uint32_t id : {0x2321U, 0x2330U, 0x2331U, 0x2335U, 0x233bU, 0x2342U}) {
        CHECK(vkf::hasWgmma({0x10de, id, VK_DRIVER_ID_NVIDIA_PROPRIETARY}));
        CHECK(!vkf::hasWgmma({0x1002, id, VK_DRIVER_ID_MESA_RADV}));
    }
    for (const uint32_t id : {0x20b2U, 0x2204U, 0x22ffU, 0x2400U, 0x2684U, 0x2901U, 0x2b85U, 0x12335U}) {
        CHECK(!vkf::hasWgmma({0x10de, id, VK_DRIVER_ID_NVIDIA_PROPRIETARY}));
    }
}

TEST_CASE("the tile of path wgmma follows from the larger head dimension", "[planning]") {
    for (const auto& [dim, valueDim, padded] :
         {std::array{8U, 8U, 64U}, std::array{64U, 64U, 64U}, std::array{72U, 72U, 128U}, std::array{64U, 128U, 128U},
          std::array{136U, 8U, 256U}, std::array{256U, 256U, 256U}}) {
        INFO(dim << " and " << valueDim << " columns");
        VkfProblem problem = onPath(longProblem(VKF_TYPE_F16, dim), VKF_PATH_WGMMA);
        problem.valueDim = valueDim;
        const vkf::AttentionPlan plan = planOf(hopperCaps(), problem);
        const vkf::shared::WgmmaTile& tile = vkf::wgmmaTileFor(vkf::Kernel::attentionWgmma, dim, valueDim);
        CHECK(tile.dim == padded);
        CHECK(plan.tile.rows == tile.rows);
        CHECK(plan.tile.keys == tile.keys);
        CHECK(plan.tile.workgroupSize == tile.threads);
        CHECK(plan.tile.sharedBytes == tile.shared_bytes);
        CHECK(std::count_if(plan.considered.begin(), plan.considered.end(),
                            [](const vkf::ConsideredTile& one) { return one.taken; }) == 1);
    }
}

TEST_CASE("work items of path wgmma are tiles of packed rows, times key splits, in steps under the budget",
          "[planning]") {
    VkfProblem problem = onPath(problemOf({3, 12, 4, 1000, 9000, 128, 0, VKF_TYPE_F16}), VKF_PATH_WGMMA);
    problem.kvSplits = 1;
    const vkf::AttentionPlan whole = planOf(hopperCaps(), problem);
    const uint32_t tiles = (3 * 1000 + whole.tile.rows - 1) / whole.tile.rows;
    CHECK(whole.phases.at(0).items == tiles * 4 * 3);
    CHECK(whole.steps() == 1);
    problem.kvSplits = 5;
    const vkf::AttentionPlan split = planOf(hopperCaps(), problem);
    REQUIRE(split.phases.size() == 2);
    CHECK(split.phases[0].items == tiles * 4 * 3 * 5);
    CHECK(split.phases[1].variant.kernel == vkf::Kernel::mergeSplits);
    CHECK(vkf::wgmmaConstants(split.phases[0].variant.constants).type_o == VKF_STORED_F32);
    problem.kvSplits = 1;
    problem.maxStepOperations = 10000000000;
    const vkf::AttentionPlan stepped = planOf(hopperCaps(), problem);
    CHECK(stepped.steps() > 1);
    CHECK(stepped.phases[0].itemsPerStep * 4.0 * whole.tile.rows * 9000 * 128 <= 1e10);
}

TEST_CASE("path wgmma splits keys where workgroups are few, but not under a causal mask", "[planning]") {
    const auto splits = [](const vkf::test::Shape& shape, bool causal) {
        VkfProblem problem = onPath(problemOf(shape), VKF_PATH_WGMMA);
        vkf::enable(problem, VKF_USE_CAUSAL, causal);
        return planOf(hopperCaps(), problem).splits;
    };
    CHECK(splits({1, 16, 16, 8192, 8192, 128, 0, VKF_TYPE_F16}, false) == 1);
    CHECK(splits({1, 8, 8, 128, 65536, 128, 0, VKF_TYPE_F16}, false) == 16);
    // Twice 80 workgroups do not run at the same time.
    CHECK(splits({1, 80, 80, 128, 65536, 128, 0, VKF_TYPE_F16}, false) == 1);
    CHECK(splits({1, 8, 8, 128, 1023, 128, 0, VKF_TYPE_F16}, false) == 1);
    CHECK(splits({1, 1, 1, 1024, 1024, 128, 0, VKF_TYPE_F16}, true) == 1);
    CHECK(splits({1, 1, 1, 1024, 1024, 128, 0, VKF_TYPE_F16}, false) == 2);
}

TEST_CASE("path wgmma reads what a phase before it makes of fp8 types", "[planning]") {
    VkfProblem problem = problemOf({1, 32, 8, 512, 16384, 128, 0, VKF_TYPE_BF16});
    setFp8(problem);
    const vkf::AttentionPlan plan = planOf(hopperCaps(), problem);
    CHECK(plan.path == VKF_PATH_WGMMA);
    REQUIRE(plan.phases.size() >= 2);
    const vkf::Phase& convert = plan.phases[0];
    const vkf::Phase& attention = plan.phases[1];
    CHECK(convert.variant.kernel == vkf::Kernel::dequantizeKeys);
    CHECK(convert.variant.constants[VKF_ID_TYPE_K] == VKF_STORED_F8_E4M3);
    CHECK(convert.variant.constants[VKF_ID_TYPE_V] == VKF_STORED_F8_E5M2);
    CHECK(convert.variant.constants[VKF_ID_DEQUANTIZED_KEYS] % plan.tile.keys == 0);
    CHECK(attention.variant.kernel == vkf::Kernel::attentionWgmma);
    CHECK(attention.barrierBefore);
    CHECK(attention.operands[VKF_K] == vkf::Operand::dequantizedK);
    CHECK(attention.operands[VKF_V] == vkf::Operand::dequantizedV);
    CHECK(attention.params.row_stride[VKF_K] == 128 * 2);
    VkfProblem scaled = problem;
    vkf::test::setScales(scaled, 8, 8);
    const vkf::AttentionPlan onCoopmat = planOf(hopperCaps(), scaled);
    CHECK(onCoopmat.path == VKF_PATH_COOPMAT);
    CHECK(onCoopmat.phases[0].variant.kernel == vkf::Kernel::dequantizeKeys);
}
