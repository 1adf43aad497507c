// SPDX-License-Identifier: MIT
//
// Every number of a problem at 0, at 1, at its limit and past it, alone and in pairs, through the functions that take a
// problem. A call gives a result, an empty one, or a refusal in words. It never crashes, and a call that fails writes
// nothing. No device is needed.
#include <catch2/catch_test_macros.hpp>

#include <cstring>
#include <vector>

#include <vkflash/vkflash.hpp>

#include "calls/counts.hpp"
#include "calls/gradient.hpp"
#include "calls/plan.hpp"
#include "problem/optional_inputs.hpp"
#include "reference/gradient_cases.hpp"
#include "support/call.hpp"
#include "support/described_device.hpp"
#include "support/device.hpp"
#include "support/masks.hpp"

namespace {

using vkf::test::checkResult;
using vkf::test::Count;
using vkf::test::distances;
using vkf::test::FakeContext;
using vkf::test::FakeRecord;
using vkf::test::problemOf;
using vkf::test::upTo;

constexpr uint64_t mostRows = VKF_MAX_ROWS;

uint32_t narrow(uint64_t x) { return static_cast<uint32_t>(x); }

const std::vector<Count<VkfProblem>>& attentionCounts() {
    using P = VkfProblem;
    static const std::vector<Count<P>> counts = {
        {"batch", upTo(vkf::test::most32Bits), [](P& p, uint64_t x) { p.batch = narrow(x); }},
        {"queryHeads", upTo(VKF_MAX_HEADS), [](P& p, uint64_t x) { p.queryHeads = narrow(x); }},
        {"kvHeads", upTo(VKF_MAX_HEADS), [](P& p, uint64_t x) { p.kvHeads = narrow(x); }},
        {"queryRows", upTo(mostRows), [](P& p, uint64_t x) { p.queryRows = narrow(x); }},
        {"keys", upTo(mostRows), [](P& p, uint64_t x) { p.keys = narrow(x); }},
        {"headDim", {0, 1, 256, 576, UINT32_MAX}, [](P& p, uint64_t x) { p.headDim = narrow(x); }},
        {"valueDim", {0, 1, 256, 512, UINT32_MAX}, [](P& p, uint64_t x) { p.valueDim = narrow(x); }},
        {"kvSplits", upTo(VKF_MAX_SPLITS), [](P& p, uint64_t x) { p.kvSplits = narrow(x); }},
        {"maxStepOperations", {1, UINT64_MAX}, [](P& p, uint64_t x) { p.maxStepOperations = x; }},
        {"maxScratchBytes", {1, UINT64_MAX}, [](P& p, uint64_t x) { p.maxScratchBytes = x; }},
        {"probabilityRowCount", upTo(mostRows), [](P& p, uint64_t x) { p.probabilityRowCount = narrow(x); }},
        {"longestRows", upTo(vkf::test::most32Bits), [](P& p, uint64_t x) { p.longestRows = narrow(x); }},
        {"longestKeys", upTo(vkf::test::most32Bits), [](P& p, uint64_t x) { p.longestKeys = narrow(x); }},
        {"window.firstKeys", upTo(vkf::test::most32Bits), [](P& p, uint64_t x) { p.window.firstKeys = narrow(x); }},
        {"window.left", {0, 1, INT64_MAX, UINT64_MAX}, [](P& p, uint64_t x) { p.window.left = static_cast<int64_t>(x); }},
        {"window.right",
         {0, 1, INT64_MAX, UINT64_MAX},
         [](P& p, uint64_t x) { p.window.right = static_cast<int64_t>(x); }},
        {"bias.heads", upTo(vkf::test::most32Bits), [](P& p, uint64_t x) { p.bias.heads = narrow(x); }},
        {"bias.sequences", upTo(vkf::test::most32Bits), [](P& p, uint64_t x) { p.bias.sequences = narrow(x); }},
        {"bias.rowStride", distances(), [](P& p, uint64_t x) { p.bias.rowStride = x; }},
        {"mask.heads", upTo(vkf::test::most32Bits), [](P& p, uint64_t x) { p.mask.heads = narrow(x); }},
        {"mask.batchStride", distances(), [](P& p, uint64_t x) { p.mask.batchStride = x; }},
        {"dropoutMask.sequences", upTo(vkf::test::most32Bits),
         [](P& p, uint64_t x) { p.dropoutMask.sequences = narrow(x); }},
        {"blockMask.blockSize", {0, 1, 16, 65536, UINT32_MAX}, [](P& p, uint64_t x) { p.blockMask.blockSize = narrow(x); }},
        {"blockMask.headStride", distances(), [](P& p, uint64_t x) { p.blockMask.headStride = x; }},
        {"paging.pageSize", {0, 1, uint64_t{1} << 31, UINT32_MAX}, [](P& p, uint64_t x) { p.paging.pageSize = narrow(x); }},
        {"paging.maxPages", upTo(mostRows), [](P& p, uint64_t x) { p.paging.maxPages = narrow(x); }},
        {"paging.pages", upTo(vkf::test::most32Bits), [](P& p, uint64_t x) { p.paging.pages = narrow(x); }},
        {"q.rowStride", distances(), [](P& p, uint64_t x) { p.q.rowStride = x; }},
        {"k.headStride", distances(), [](P& p, uint64_t x) { p.k.headStride = x; }},
        {"v.batchStride", distances(), [](P& p, uint64_t x) { p.v.batchStride = x; }},
        {"o.batchStride", distances(), [](P& p, uint64_t x) { p.o.batchStride = x; }},
    };
    return counts;
}

// One problem for each group of fields.
std::vector<VkfProblem> attentionBases() {
    std::vector<VkfProblem> bases;
    const auto add = [&](const VkfProblem& p, const auto& change) {
        bases.push_back(p);
        vkf::enable(bases.back(), VKF_ARRAY_LSE);
        change(bases.back());
    };
    add(problemOf({2, 4, 2, 40, 70, 64}), [](VkfProblem&) {});
    add(problemOf({2, 4, 2, 300, 700, 64, 0, VKF_TYPE_F16}), [](VkfProblem& p) {
        p.causal = 1;
        vkf::enable(p, VKF_ARRAY_SINKS);
    });
    add(problemOf({3, 4, 2, 90, 100, 64, 0, VKF_TYPE_F16}), [](VkfProblem& p) { vkf::enable(p, VKF_ARRAY_CU_SEQLENS); });
    add(problemOf({2, 4, 2, 1, 200, 64, 0, VKF_TYPE_F16}), [](VkfProblem& p) {
        p.k.type = p.v.type = VKF_TYPE_Q8_0;
        p.paging = {16, 13, 40};
        vkf::enable(p, VKF_ARRAY_BLOCK_TABLE | VKF_ARRAY_KEY_LENGTHS);
    });
    add(problemOf({2, 4, 2, 600, 200, 64, 0, VKF_TYPE_F16}), [](VkfProblem& p) { p.k.type = p.v.type = VKF_TYPE_Q4_0; });
    add(problemOf({2, 4, 2, 100, 200, 64}), [](VkfProblem& p) {
        p.blockMask.blockSize = 32;
        vkf::enable(p, VKF_ARRAY_BLOCK_MASK);
    });
    add(problemOf({2, 4, 2, 100, 200, 64, 0, VKF_TYPE_F16}), [](VkfProblem& p) {
        vkf::enable(p, VKF_ARRAY_BIAS | VKF_ARRAY_MASK | VKF_ARRAY_DROPOUT_MASK);
        p.dropout.probability = 0.5F;
        p.bias = vkf::test::broadcast(p, VKF_TYPE_F16, true, true, true);
        p.mask = vkf::test::broadcast(p, VKF_TYPE_BOOL1, true, true, true);
        p.dropoutMask = vkf::test::broadcast(p, VKF_TYPE_BOOL8, true, true, true);
    });
    add(problemOf({2, 4, 2, 100, 200, 64}), [](VkfProblem& p) {
        vkf::enable(p, VKF_ARRAY_PROBABILITIES | VKF_ARRAY_PROBABILITY_ROWS);
        p.probabilityRowCount = 7;
    });
    add(problemOf({2, 4, 2, 100, 200, 64}), [](VkfProblem& p) {
        p.alibi = 1;
        vkf::enable(p, VKF_ARRAY_PROBABILITIES);
        vkf::test::setWindow(p, 20, 10, 4);
    });
    // At the limits: other numbers reach theirs beside these.
    add(problemOf({0, 0, 0, 0, 0, 1}), [](VkfProblem&) {});
    add(problemOf({1, 1, 1, 1, 1, 1}), [](VkfProblem&) {});
    add(problemOf({1, 4, 1, VKF_MAX_ROWS, 1, 64, 0, VKF_TYPE_F16}), [](VkfProblem&) {});
    add(problemOf({1, 1, 1, 3, VKF_MAX_ROWS, 64, 0, VKF_TYPE_F16}), [](VkfProblem&) {});
    add(problemOf({1, 3, 1, VKF_MAX_ROWS, 4096, 64}), [](VkfProblem& p) { p.maxStepOperations = 1; });
    add(problemOf({1, VKF_MAX_HEADS, VKF_MAX_HEADS, 65537, 1, 16}), [](VkfProblem&) {});
    add(problemOf({65535, VKF_MAX_HEADS, 1, 1, 1, 16, 0, VKF_TYPE_F16}),
        [](VkfProblem& p) { p.k.batchStride = p.v.batchStride = uint64_t{1} << 32; });
    return bases;
}

// Whether a struct of the C interface still holds what a test put into it.
template <typename Struct> class Untouched {
public:
    Untouched() { std::memset(&value_, 0x5a, sizeof value_); }
    Struct* get() {
        value_.structSize = sizeof value_;
        return &value_;
    }
    bool holds() {
        Untouched other;
        return std::memcmp(get(), other.get(), sizeof value_) == 0;
    }

private:
    Struct value_;
};

// Gives every binding that the problem has an address, and memory enough for scratch.
VkfBindings bindingsOf(const VkfProblem& p, uint64_t scratchBytes) {
    auto bindings = vkf::make<VkfBindings>();
    const std::pair<VkfArrays, VkfBinding VkfBindings::*> arrays[] = {
        {VKF_ARRAY_LSE, &VkfBindings::lse},
        {VKF_ARRAY_PROBABILITIES, &VkfBindings::probabilities},
        {VKF_ARRAY_PROBABILITY_ROWS, &VkfBindings::probabilityRows},
        {VKF_ARRAY_KEY_LENGTHS, &VkfBindings::keyLengths},
        {VKF_ARRAY_BLOCK_MASK, &VkfBindings::blockMask},
        {VKF_ARRAY_BLOCK_TABLE, &VkfBindings::blockTable},
        {VKF_ARRAY_SINKS, &VkfBindings::sinks},
        {VKF_ARRAY_BIAS, &VkfBindings::bias},
        {VKF_ARRAY_MASK, &VkfBindings::mask},
        {VKF_ARRAY_CU_SEQLENS, &VkfBindings::cuSeqlensQ},
        {VKF_ARRAY_CU_SEQLENS, &VkfBindings::cuSeqlensK},
        {VKF_ARRAY_DROPOUT_MASK, &VkfBindings::dropoutMask},
    };
    for (const auto& [bit, binding] : arrays) {
        (bindings.*binding).address = (p.arrays & bit) != 0 ? 0x1000 : 0;
    }
    for (VkfBinding* binding : {&bindings.q, &bindings.k, &bindings.v, &bindings.o, &bindings.scratch}) {
        binding->address = 0x1000;
    }
    bindings.scratch.size = scratchBytes;
    return bindings;
}

// What holds for the phases of a plan and of a gradient: every step has work, and their number is what it says.
bool arePhasesSound(const std::vector<vkf::Phase>& phases, uint32_t steps) {
    uint64_t sum = 0;
    for (const vkf::Phase& phase : phases) {
        if (phase.itemsPerStep == 0 || phase.passes == 0 || phase.items % phase.passes != 0) {
            return false;
        }
        sum += uint64_t{phase.passes} * phase.stepsPerPass();
    }
    return sum == steps;
}

// Records the first step and the last one. Each of them dispatches something.
template <typename Record> void checkRecording(uint32_t steps, const Record& record) {
    FakeContext::takeRecord();
    for (const uint32_t step : {0U, steps - 1}) {
        VkfMessage message{};
        const VkfResult result = record(step, &message);
        const FakeRecord recorded = FakeContext::takeRecord();
        if (result != VKF_SUCCESS || recorded.dispatches == 0 || recorded.emptyDispatch) {
            INFO("step " << step << " of " << steps << ": " << message.text);
            FAIL_CHECK("result " << result << ", " << recorded.dispatches << " dispatches");
        }
    }
    VkfMessage message{};
    if (record(steps, &message) != VKF_ERROR_INVALID_ARGUMENT) {
        FAIL_CHECK("a step past the last one was recorded");
    }
}

VkfResult checkDescriptions(const VkfProblem& p) {
    VkfMessage message{};
    const VkfResult result = vkfCheckProblem(&p, &message);
    checkResult(result, message);
    bool agree = true;
    for (const VkfTensorRole role : {VKF_TENSOR_Q, VKF_TENSOR_K, VKF_TENSOR_V, VKF_TENSOR_O}) {
        Untouched<VkfTensorLayout> layout;
        agree = agree && vkfGetTensorLayout(&p, role, layout.get(), nullptr) == result;
        agree = agree && layout.holds() == (result != VKF_SUCCESS);
    }
    Untouched<VkfBlockMaskLayout> blockMask;
    agree = agree && vkfGetBlockMaskLayout(&p, blockMask.get(), nullptr) == result;
    agree = agree && blockMask.holds() == (result != VKF_SUCCESS);
    for (const VkfArrayBits array : {VKF_ARRAY_BIAS, VKF_ARRAY_MASK, VKF_ARRAY_DROPOUT_MASK}) {
        const uint64_t bytes = vkfBroadcastBytes(&p, array);
        agree = agree && bytes % 4 == 0 && (bytes == 0 || result == VKF_SUCCESS);
    }
    if (!agree) {
        FAIL_CHECK("the functions of problem.h do not agree");
    }
    return result;
}

bool isEmpty(const VkfProblem& p) { return p.batch == 0 || p.queryHeads == 0 || p.queryRows == 0; }

// All that vkflash.h and inspect.h do with a plan, but for pipelines.
void checkPlan(FakeContext& context, const VkfProblem& p) {
    VkfMessage message{};
    VkfPlan_T plan{context.get(), {}, {}, {}};
    REQUIRE(vkf::checkProblem(&p, &plan.problem, &message) == VKF_SUCCESS);
    const VkfResult result = vkf::makeSchedule(context.get()->tunedDevice(), plan.problem, &plan.schedule, &message);
    checkResult(result, message);
    if (result != VKF_SUCCESS) {
        if (!plan.schedule.phases.empty() || plan.schedule.scratchBytes != 0) {
            FAIL_CHECK("a schedule was written in part");
        }
        return;
    }
    auto info = vkf::make<VkfPlanInfo>();
    REQUIRE(vkfGetPlanInfo(&plan, &info, &message) == VKF_SUCCESS);
    if (!arePhasesSound(plan.schedule.phases, info.stepCount) || (info.stepCount == 0) != isEmpty(p) ||
        !(info.operations >= 0.0) || !(info.minimumBytes >= 0.0)) {
        FAIL_CHECK(info.description);
    }
    for (uint32_t i = 0; i < vkfGetPlanTileCount(&plan); i++) {
        auto tile = vkf::make<VkfTileCandidate>();
        REQUIRE(vkfGetPlanTile(&plan, i, &tile, &message) == VKF_SUCCESS);
    }
    plan.pipelines.resize(plan.schedule.phases.size());
    const VkfBindings bindings = bindingsOf(p, info.scratchBytes);
    if (info.stepCount != 0) {
        checkRecording(info.stepCount, [&](uint32_t step, VkfMessage* failure) {
            return vkfCmdAttentionSteps(FakeContext::commandBuffer(), &plan, &bindings, step, 1, failure);
        });
    } else if (vkfCmdAttention(FakeContext::commandBuffer(), &plan, &bindings, &message) != VKF_SUCCESS) {
        FAIL_CHECK(message.text);
    }
}

} // namespace

TEST_CASE("any counts of a problem make a plan, an empty plan, or a refusal in words", "[counts]") {
    constexpr VkfPath paths[] = {VKF_PATH_AUTO,    VKF_PATH_SCALAR, VKF_PATH_STANDARD,
                                 VKF_PATH_COOPMAT, VKF_PATH_DECODE, VKF_PATH_KEY_OUTER};
    FakeContext contexts[] = {FakeContext(vkf::test::matrixCaps()), FakeContext(vkf::test::capsOf(32, 16384, 128))};
    for (const VkfProblem& base : attentionBases()) {
        INFO(vkf::test::describe(base));
        vkf::test::forEachCount<VkfProblem>(
            base, attentionCounts(), [&](const VkfProblem& given, const std::string& text, uint32_t turn) {
                INFO(text);
                for (const VkfPath path : paths) {
                    VkfProblem p = given;
                    p.path = path;
                    INFO(vkfPathName(path));
                    if (checkDescriptions(p) == VKF_SUCCESS) {
                        checkPlan(contexts[turn % 2], p);
                    }
                }
            });
    }
}
