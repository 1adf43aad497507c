// SPDX-License-Identifier: MIT
//
// Mistakes of an application that would give wrong results or use freed memory: outputs that overlap other memory, a
// missing barrier, a context that goes before its objects. No device is needed.
#include <array>
#include <cstdio>
#include <string>

#ifndef _WIN32
#include <unistd.h>
#endif

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <vkflash/vkflash.hpp>

#include "calls/counts.hpp"
#include "calls/fake_addresses.hpp"
#include "kernels/append_runs.hpp"
#include "support/call.hpp"
#include "support/described_device.hpp"

namespace {

using Catch::Matchers::ContainsSubstring;
using vkf::test::capsOf;
using vkf::test::fakeAddress;
using vkf::test::FakeContext;
using vkf::test::FakeRecord;

constexpr uint32_t heads = 2, rows = 8, dim = 64;
constexpr uint64_t tensorBytes = uint64_t{heads} * rows * dim * sizeof(float);

void giveAddresses(std::initializer_list<VkfBinding*> bindings) {
    uint64_t piece = 0;
    for (VkfBinding* binding : bindings) {
        binding->address = fakeAddress(piece++);
    }
}

// One attention call of dense fp32 tensors, all of equal size.
struct AttentionCall {
    FakeContext context{capsOf(32, 49152, 1024)};
    VkfProblem problem = vkf::test::problemOf({1, heads, heads, rows, rows, dim});
    vkf::Plan plan;
    VkfBindings bindings = vkf::make<VkfBindings>();
    VkfMessage message{};

    explicit AttentionCall(uint32_t debug = 0) : context(capsOf(32, 49152, 1024), debug) {
        problem.path = VKF_PATH_SCALAR;
        vkf::enable(problem, VKF_USE_LSE, false);
        giveAddresses({&bindings.q, &bindings.k, &bindings.v, &bindings.o});
    }
    VkfResult record() {
        message = {};
        REQUIRE(vkfCreatePlan(context.get(), &problem, plan.put(), nullptr) == VKF_SUCCESS);
        FakeContext::takeRecord();
        return vkfCmdAttention(FakeContext::commandBuffer(), plan.get(), &bindings, &message);
    }
};

VkfAppendProblem appendProblem() {
    VkfAppendProblem problem =
        vkf::test::appendOf({.batch = 1, .kvHeads = heads, .rows = rows, .keys = rows, .headDim = dim});
    problem.queryHeads = heads;
    problem.rotary.pairs = VKF_ROTARY_HALVES;
    vkf::enable(problem, VKF_USE_QUERIES);
    return problem;
}

VkfAppendBindings appendBindings() {
    auto bindings = vkf::make<VkfAppendBindings>();
    giveAddresses({&bindings.newK, &bindings.newV, &bindings.k, &bindings.v, &bindings.lengths, &bindings.q,
                   &bindings.rotatedQ, &bindings.newLengths});
    return bindings;
}

} // namespace

TEST_CASE("an output at the address of an input is refused with both names", "[record]") {
    AttentionCall call;
    CHECK(call.record() == VKF_SUCCESS);
    call.bindings.o.address = call.bindings.q.address;
    CHECK(call.record() == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(FakeContext::takeRecord().dispatches == 0);
    CHECK_THAT(std::string(call.message.text), ContainsSubstring("4096 bytes of o at 0x1000000000000 overlap the 4096 "
                                                                 "bytes of q at 0x1000000000000"));
}

TEST_CASE("an output that overlaps an input is refused, one right beside it is taken", "[record]") {
    AttentionCall call;
    const VkDeviceAddress k = call.bindings.k.address;
    for (const VkDeviceAddress o : {k - tensorBytes + 4, k - 4, k + 4, k + tensorBytes - 4}) {
        call.bindings.o.address = o;
        CHECK(call.record() == VKF_ERROR_INVALID_ARGUMENT);
    }
    for (const VkDeviceAddress o : {k - tensorBytes, k + tensorBytes}) {
        call.bindings.o.address = o;
        CHECK(call.record() == VKF_SUCCESS);
    }
}

TEST_CASE("tensors may lie in each other's gaps", "[record]") {
    AttentionCall call; // rows of q and of o take turns
    call.problem.q.rowStride = call.problem.o.rowStride = 2 * dim;
    call.problem.q.headStride = call.problem.o.headStride = 2 * rows * dim;
    call.problem.q.batchStride = call.problem.o.batchStride = 2 * heads * rows * dim;
    call.bindings.o.address = call.bindings.q.address + dim * sizeof(float);
    CHECK(call.record() == VKF_SUCCESS);
    call.bindings.k.address = call.bindings.o.address + sizeof(float); // dense, so that it holds o's second row
    call.bindings.o.address = call.bindings.k.address + 8;
    CHECK(call.record() == VKF_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(std::string(call.message.text), ContainsSubstring("of o at"));
}

TEST_CASE("outputs and scratch must not overlap either", "[record]") {
    AttentionCall call;
    vkf::enable(call.problem, VKF_USE_LSE);
    call.bindings.lse.address = call.bindings.o.address + tensorBytes - 4;
    CHECK(call.record() == VKF_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(std::string(call.message.text), ContainsSubstring("of lse at"));
    call.bindings.lse.address += 4;
    CHECK(call.record() == VKF_SUCCESS);
    call.problem.kvSplits = 2; // needs scratch memory
    call.bindings.scratch.address = call.bindings.v.address;
    call.bindings.scratch.size = 1U << 20;
    CHECK(call.record() == VKF_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(std::string(call.message.text), ContainsSubstring("of scratch at"));
}

TEST_CASE("a map of tiles of the caller's needs its bit, its memory and a call that makes it", "[record]") {
    AttentionCall call;
    call.problem.mask = {VKF_TYPE_BOOL8, 0, 0, 0, rows};
    vkf::enable(call.problem, VKF_USE_MASK);
    call.bindings.mask.address = fakeAddress(9);
    call.bindings.scratch = {fakeAddress(10), VK_NULL_HANDLE, 0, 1U << 20};
    const auto makeMap = [&call] {
        call.message = {};
        return vkfCmdMapTiles(FakeContext::commandBuffer(), call.plan.get(), &call.bindings, &call.message);
    };
    CHECK(call.record() == VKF_SUCCESS);
    const uint64_t dispatches = FakeContext::takeRecord().dispatches;
    CHECK(makeMap() == VKF_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(std::string(call.message.text), ContainsSubstring("lacks VKF_USE_TILE_MAP"));
    call.bindings.tileMap.address = fakeAddress(11);
    CHECK(call.record() == VKF_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(std::string(call.message.text), ContainsSubstring("tileMap is bound, but the problem's use lacks"));

    vkf::enable(call.problem, VKF_USE_TILE_MAP);
    CHECK(call.record() == VKF_SUCCESS);
    CHECK(FakeContext::takeRecord().dispatches == dispatches - 2); // without the map and its order
    CHECK(makeMap() == VKF_SUCCESS);
    CHECK(FakeContext::takeRecord().dispatches > 2);
    call.bindings.tileMap.address = call.bindings.o.address;
    CHECK(makeMap() == VKF_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(std::string(call.message.text), ContainsSubstring("of tileMap at"));
    call.bindings.tileMap.address = fakeAddress(11) + 4;
    CHECK(makeMap() == VKF_ERROR_INVALID_ARGUMENT);
    call.bindings.tileMap.address = 0;
    CHECK(makeMap() == VKF_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(std::string(call.message.text), ContainsSubstring("tileMap has neither address nor buffer"));
    CHECK(call.record() == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(vkfCmdMapTiles(FakeContext::commandBuffer(), nullptr, &call.bindings, &call.message) ==
          VKF_ERROR_INVALID_ARGUMENT);
    CHECK(std::string(call.message.text) == "plan is null");
}

TEST_CASE("rotated queries may replace the queries, if both lie alike", "[record]") {
    FakeContext context(capsOf(32, 49152, 1024));
    VkfAppendProblem problem = appendProblem();
    VkfAppendBindings bindings = appendBindings();
    VkfMessage message{};
    const auto record = [&] {
        vkf::Append append;
        REQUIRE(vkfCreateAppend(context.get(), &problem, append.put(), nullptr) == VKF_SUCCESS);
        return vkfCmdAppend(FakeContext::commandBuffer(), append.get(), &bindings, &message);
    };
    CHECK(record() == VKF_SUCCESS);
    bindings.rotatedQ.address = bindings.q.address;
    CHECK(record() == VKF_SUCCESS);
    bindings.rotatedQ.address += 64;
    CHECK(record() == VKF_ERROR_INVALID_ARGUMENT);
    bindings.rotatedQ.address = bindings.q.address;
    problem.rotatedQ.type = VKF_TYPE_F16;
    CHECK(record() == VKF_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(std::string(message.text), ContainsSubstring("of rotatedQ at"));
    bindings = appendBindings();
    bindings.k.address = bindings.newK.address;
    CHECK(record() == VKF_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("merges and backward passes refuse outputs that overlap", "[record]") {
    FakeContext context(capsOf(32, 49152, 1024));
    auto problem = vkf::make<VkfMergeProblem>();
    problem.partials = problem.batch = problem.heads = problem.rows = 2;
    problem.dim = 8;
    vkf::Merge merge;
    REQUIRE(vkfCreateMerge(context.get(), &problem, merge.put(), nullptr) == VKF_SUCCESS);
    auto merged = vkf::make<VkfMergeBindings>();
    giveAddresses({&merged.partials, &merged.partialLse, &merged.o});
    VkfMessage message{};
    CHECK(vkfCmdMerge(FakeContext::commandBuffer(), merge.get(), &merged, &message) == VKF_SUCCESS);
    merged.o.address = merged.partials.address + uint64_t{2} * 2 * 2 * 8 * 4; // the second partial result
    CHECK(vkfCmdMerge(FakeContext::commandBuffer(), merge.get(), &merged, &message) == VKF_ERROR_INVALID_ARGUMENT);

    VkfProblem forward = vkf::test::problemOf({1, heads, heads, rows, rows, dim});
    vkf::enable(forward, VKF_USE_LSE);
    auto backwardProblem = vkf::make<VkfBackwardProblem>();
    backwardProblem.forward = &forward;
    vkf::Backward backward;
    REQUIRE(vkfCreateBackward(context.get(), &backwardProblem, backward.put(), nullptr) == VKF_SUCCESS);
    auto call = vkf::make<VkfBindings>();
    auto bindings = vkf::make<VkfBackwardBindings>();
    bindings.forward = &call;
    bindings.scratch.size = 1U << 24;
    giveAddresses({&call.q, &call.k, &call.v, &call.o, &call.lse, &bindings.dout, &bindings.dq, &bindings.dk,
                   &bindings.dv, &bindings.scratch});
    const auto record = [&] {
        return vkfCmdBackward(FakeContext::commandBuffer(), backward.get(), &bindings, &message);
    };
    CHECK(record() == VKF_SUCCESS);
    bindings.dv.address = call.lse.address;
    CHECK(record() == VKF_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(std::string(message.text), ContainsSubstring("of dv at"));
}

TEST_CASE("a context that looks for missing barriers puts full ones around each call", "[record]") {
    for (const bool debugs : {false, true}) {
        AttentionCall call(debugs ? VkfDebug{VKF_DEBUG_FULL_BARRIERS} : 0);
        REQUIRE(call.record() == VKF_SUCCESS);
        const FakeRecord attention = FakeContext::takeRecord();
        CHECK(attention.fullBarriers == (debugs ? 2 : 0));
        CHECK(attention.beginsWithFullBarrier == debugs);
        CHECK(attention.endsWithFullBarrier == debugs);
        CHECK(vkfCmdAttentionSteps(FakeContext::commandBuffer(), call.plan.get(), &call.bindings, 0, 0, nullptr) ==
              VKF_SUCCESS);
        CHECK(FakeContext::takeRecord().fullBarriers == 0);

        const VkfAppendProblem problem = appendProblem();
        const VkfAppendBindings bindings = appendBindings();
        vkf::Append append;
        REQUIRE(vkfCreateAppend(call.context.get(), &problem, append.put(), nullptr) == VKF_SUCCESS);
        REQUIRE(vkfCmdAppend(FakeContext::commandBuffer(), append.get(), &bindings, nullptr) == VKF_SUCCESS);
        CHECK(FakeContext::takeRecord().fullBarriers == (debugs ? 2 : 0));
        REQUIRE(vkfCmdAdvance(FakeContext::commandBuffer(), append.get(), &bindings.lengths, nullptr) == VKF_SUCCESS);
        CHECK(FakeContext::takeRecord().fullBarriers == (debugs ? 2 : 0));
    }
}

#ifndef _WIN32
namespace {

// Returns what action() writes to stderr.
template <typename Action> std::string stderrOf(const Action& action) {
    std::FILE* const file = std::tmpfile();
    REQUIRE(file != nullptr);
    std::fflush(stderr);
    const int kept = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    action();
    std::fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    std::rewind(file);
    std::array<char, 1000> text{};
    const size_t length = std::fread(text.data(), 1, text.size(), file);
    std::fclose(file);
    return {text.data(), length};
}

} // namespace

TEST_CASE("a context that counts its objects stays as long as one of them does, and says so", "[record]") {
    AttentionCall call(VKF_DEBUG_LIFETIMES);
    REQUIRE(call.record() == VKF_SUCCESS);
    const std::string text = stderrOf([&] { vkfDestroyContext(call.context.get()); });
    CHECK_THAT(text, ContainsSubstring("1 plans, merges, appends or backward passes of this context still exist"));
    CHECK(call.record() == VKF_SUCCESS); // no freed memory is used
    CHECK((*call.context).objects.count() == 1);
    call.plan.put();
    CHECK((*call.context).objects.count() == 0);
}
#endif
