// SPDX-License-Identifier: MIT
//
// Every number of a problem at 0, at 1, at its limit and past it, alone and in pairs, through the functions that take a
// problem. A call gives a result, an empty one, or a refusal in words. It never crashes, and a call that fails writes
// nothing. No device is needed.
#include <catch2/catch_test_macros.hpp>

#include <cstring>
#include <vector>

#include <vkflash/vkflash.hpp>

#include "calls/backward.hpp"
#include "calls/count_tables.hpp"
#include "calls/fake_addresses.hpp"
#include "calls/plan.hpp"
#include "support/call.hpp"
#include "support/described_device.hpp"

namespace {

using vkf::test::Backward;
using vkf::test::checkResult;
using vkf::test::fakeAddress;
using vkf::test::FakeContext;
using vkf::test::fakeInputs;
using vkf::test::FakeRecord;

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
    const std::pair<VkfUse, VkfBinding VkfBindings::*> arrays[] = {
        {VKF_USE_LSE, &VkfBindings::lse},
        {VKF_USE_PROBABILITIES, &VkfBindings::probabilities},
        {VKF_USE_PROBABILITY_ROWS, &VkfBindings::probabilityRows},
        {VKF_USE_KEY_LENGTHS, &VkfBindings::keyLengths},
        {VKF_USE_BLOCK_MASK, &VkfBindings::blockMask},
        {VKF_USE_BLOCK_TABLE, &VkfBindings::blockTable},
        {VKF_USE_SINKS, &VkfBindings::sinks},
        {VKF_USE_BIAS, &VkfBindings::bias},
        {VKF_USE_MASK, &VkfBindings::mask},
        {VKF_USE_CU_SEQLENS, &VkfBindings::cuSeqlensQ},
        {VKF_USE_CU_SEQLENS, &VkfBindings::cuSeqlensK},
        {VKF_USE_DROPOUT_MASK, &VkfBindings::dropoutMask},
    };
    for (const auto& [bit, binding] : arrays) {
        (bindings.*binding).address = (p.use & bit) != 0 ? fakeInputs : 0;
    }
    if (bindings.lse.address != 0) {
        bindings.lse.address = fakeAddress(0);
    }
    if (bindings.probabilities.address != 0) {
        bindings.probabilities.address = uint64_t{1} << 62; // up to 2^62 bytes long
    }
    for (VkfBinding* binding : {&bindings.q, &bindings.k, &bindings.v}) {
        binding->address = fakeInputs;
    }
    bindings.o.address = fakeAddress(1);
    bindings.scratch.address = fakeAddress(2);
    bindings.scratch.size = scratchBytes;
    return bindings;
}

// Whether every step of the phases has work, and their number is what the plan or backward pass says.
bool arePhasesSound(const std::vector<vkf::Phase>& phases, uint32_t steps) {
    uint64_t sum = 0;
    for (const vkf::Phase& phase : phases) {
        if (phase.itemsPerStep == 0 || phase.rounds == 0 || phase.items % phase.rounds != 0) {
            return false;
        }
        sum += uint64_t{phase.rounds} * phase.stepsPerRound();
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

VkfResult checkParameterFields(const VkfProblem& p) {
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
    for (const VkfArray array : {VKF_ARRAY_BIAS, VKF_ARRAY_MASK, VKF_ARRAY_DROPOUT_MASK}) {
        const uint64_t bytes = vkfGetArrayBytes(&p, array);
        agree = agree && bytes % 4 == 0 && (bytes == 0 || result == VKF_SUCCESS);
    }
    if (!agree) {
        FAIL_CHECK("the functions of problem.h do not agree");
    }
    return result;
}

bool isEmpty(const VkfProblem& p) { return p.queryHeads == 0 || p.queryRows == 0; }

// All that vkflash.h and inspect.h do with a plan, but for pipelines.
void checkPlan(FakeContext& context, const VkfProblem& p) {
    VkfMessage message{};
    VkfPlan_T plan{{}, context.get(), {}, {}};
    REQUIRE(vkf::checkProblem(&p, &plan.problem, &message) == VKF_SUCCESS);
    const VkfResult result = vkf::makePlan(context.get()->tunedDevice(), plan.problem, &plan, &message);
    checkResult(result, message);
    if (result != VKF_SUCCESS) {
        if (!plan.phases.empty() || plan.scratch.bytes() != 0) {
            FAIL_CHECK("a plan was written in part");
        }
        return;
    }
    auto info = vkf::make<VkfPlanInfo>();
    REQUIRE(vkfGetPlanInfo(&plan, &info, &message) == VKF_SUCCESS);
    if (!arePhasesSound(plan.phases, info.stepCount) || (info.stepCount == 0) != isEmpty(p) ||
        !(info.operations >= 0.0) || !(info.minimumBytes >= 0.0)) {
        FAIL_CHECK(info.description);
    }
    for (uint32_t i = 0; i < vkfGetPlanTileCount(&plan); i++) {
        auto tile = vkf::make<VkfTileCandidate>();
        REQUIRE(vkfGetPlanTile(&plan, i, &tile, &message) == VKF_SUCCESS);
    }
    plan.executables.resize(plan.phases.size());
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
    constexpr VkfPath paths[] = {VKF_PATH_AUTO,   VKF_PATH_SCALAR,    VKF_PATH_STANDARD, VKF_PATH_COOPMAT,
                                 VKF_PATH_DECODE, VKF_PATH_KEY_OUTER, VKF_PATH_WGMMA};
    FakeContext contexts[] = {FakeContext(vkf::test::hopperCaps()), FakeContext(vkf::test::capsOf(32, 16384, 128))};
    for (const VkfProblem& base : vkf::test::attentionBases()) {
        INFO(vkf::test::describe(base));
        vkf::test::forEachCount<VkfProblem>(base, vkf::test::attentionCounts(),
                                            [&](const VkfProblem& given, const std::string& text, uint32_t turn) {
                                                INFO(text);
                                                for (const VkfPath path : paths) {
                                                    VkfProblem p = given;
                                                    p.path = path;
                                                    INFO(vkfPathName(path));
                                                    if (checkParameterFields(p) == VKF_SUCCESS) {
                                                        checkPlan(contexts[turn % 2], p);
                                                    }
                                                }
                                            });
    }
}

namespace {

VkfResult checkBackwardParameterFields(const VkfBackwardProblem& p) {
    VkfMessage message{};
    const VkfResult result = vkfCheckBackward(&p, &message);
    checkResult(result, message);
    bool agree = result == VKF_SUCCESS || vkfGetBackwardArrayBytes(&p, VKF_ARRAY_DBIAS) == 0;
    for (const VkfBackwardRole role : {VKF_BACKWARD_DOUT, VKF_BACKWARD_DQ, VKF_BACKWARD_DK, VKF_BACKWARD_DV}) {
        Untouched<VkfTensorLayout> layout;
        agree = agree && vkfGetBackwardTensorLayout(&p, role, layout.get(), nullptr) == result;
        agree = agree && layout.holds() == (result != VKF_SUCCESS);
    }
    if (!agree) {
        FAIL_CHECK("the functions of backward_problem.h do not agree");
    }
    return result;
}

bool hasGradient(const VkfBackwardProblem& p, VkfGradientBits bit) {
    const VkfGradients wanted = p.gradients != 0 ? p.gradients : VKF_GRADIENT_Q | VKF_GRADIENT_K | VKF_GRADIENT_V;
    const auto elements = [&](VkfBackwardRole role) { return vkf::layoutOf(p, role).elements; };
    const uint64_t count = bit == VKF_GRADIENT_Q      ? elements(VKF_BACKWARD_DQ)
                           : bit == VKF_GRADIENT_K    ? elements(VKF_BACKWARD_DK)
                           : bit == VKF_GRADIENT_V    ? elements(VKF_BACKWARD_DV)
                           : bit == VKF_GRADIENT_BIAS ? vkfGetBackwardArrayBytes(&p, VKF_ARRAY_DBIAS)
                                                      : p.forward->queryHeads;
    return (wanted & static_cast<VkfGradients>(bit)) != 0 && count != 0;
}

void checkBackwardPlan(FakeContext& context, const VkfBackwardProblem& p) {
    VkfMessage message{};
    VkfBackward_T backward{{}, context.get(), {}, {}};
    REQUIRE(vkf::checkBackward(&p, &backward.problem, &message) == VKF_SUCCESS);
    const VkfResult result = vkf::makeBackwardPlan(context.get()->tunedDevice(), backward.problem, &backward, &message);
    checkResult(result, message);
    if (result != VKF_SUCCESS) {
        if (!backward.phases.empty() || backward.scratch.bytes() != 0) {
            FAIL_CHECK("a plan was written in part");
        }
        return;
    }
    auto info = vkf::make<VkfBackwardInfo>();
    REQUIRE(vkfGetBackwardInfo(&backward, &info, &message) == VKF_SUCCESS);
    bool writes = false;
    auto bindings = vkf::make<VkfBackwardBindings>();
    const std::pair<VkfGradientBits, VkfBinding VkfBackwardBindings::*> outputs[] = {
        {VKF_GRADIENT_Q, &VkfBackwardBindings::dq},
        {VKF_GRADIENT_K, &VkfBackwardBindings::dk},
        {VKF_GRADIENT_V, &VkfBackwardBindings::dv},
        {VKF_GRADIENT_BIAS, &VkfBackwardBindings::dbias},
        {VKF_GRADIENT_SINKS, &VkfBackwardBindings::dsinks}};
    uint64_t piece = 0;
    for (const auto& [bit, output] : outputs) {
        writes = writes || hasGradient(p, bit);
        (bindings.*output).address = hasGradient(p, bit) ? fakeAddress(piece++) : 0;
    }
    if (!arePhasesSound(backward.phases, info.stepCount) || (info.stepCount != 0) != writes ||
        !(info.operations >= 0.0) || !(info.minimumBytes >= 0.0)) {
        FAIL_CHECK(info.description);
    }
    backward.executables.resize(backward.phases.size());
    bindings.dout.address = fakeInputs;
    bindings.scratch.address = fakeAddress(piece++);
    bindings.dlse.address = vkf::has(p, VKF_USE_DLSE) ? fakeInputs : 0;
    VkfBindings call = bindingsOf(*p.forward, 0);
    call.o.address = call.lse.address = fakeInputs;
    bindings.forward = &call;
    bindings.scratch.size = info.scratchBytes;
    if (info.stepCount != 0) {
        checkRecording(info.stepCount, [&](uint32_t step, VkfMessage* failure) {
            return vkfCmdBackwardSteps(FakeContext::commandBuffer(), &backward, &bindings, step, 1, failure);
        });
    } else if (vkfCmdBackward(FakeContext::commandBuffer(), &backward, &bindings, &message) != VKF_SUCCESS) {
        FAIL_CHECK(message.text);
    }
}

} // namespace

TEST_CASE("any counts of a backward pass make a plan, an empty one, or a refusal in words", "[counts]") {
    FakeContext contexts[] = {FakeContext(vkf::test::matrixCaps()), FakeContext(vkf::test::capsOf(32, 16384, 128))};
    for (const Backward& base : vkf::test::backwardBases()) {
        INFO(vkf::test::describe(base.forward));
        vkf::test::forEachCount<Backward>(
            base, vkf::test::backwardCounts(), [&](const Backward& given, const std::string& text, uint32_t turn) {
                INFO(text);
                for (const VkfPath path : {VKF_PATH_AUTO, VKF_PATH_SCALAR, VKF_PATH_COOPMAT}) {
                    Backward b = given;
                    b.forward.path = path;
                    INFO(vkfPathName(path));
                    if (checkBackwardParameterFields(b.problem()) == VKF_SUCCESS) {
                        checkBackwardPlan(contexts[turn % 2], b.problem());
                    }
                }
            });
    }
}
