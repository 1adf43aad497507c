// SPDX-License-Identifier: MIT
//
// Every number of a merge and of an append at 0, at 1, at its limit and past it, alone and in pairs. No device is
// needed.
#include <catch2/catch_test_macros.hpp>

#include <vector>

#include <vkflash/reference.h>
#include <vkflash/vkflash.hpp>

#include "calls/counts.hpp"
#include "calls/fake_addresses.hpp"
#include "kernels/append_runs.hpp"
#include "shared/attention_params.h"
#include "support/described_device.hpp"

namespace {

using vkf::test::checkResult;
using vkf::test::Count;
using vkf::test::distances;
using vkf::test::fakeAddress;
using vkf::test::FakeContext;
using vkf::test::fakeInputs;
using vkf::test::FakeRecord;
using vkf::test::upTo;

uint32_t narrow(uint64_t x) { return static_cast<uint32_t>(x); }

const std::vector<Count<VkfMergeProblem>>& mergeCounts() {
    using P = VkfMergeProblem;
    static const std::vector<Count<P>> counts = {
        {"partials", upTo(VKF_MAX_ROWS), [](P& p, uint64_t x) { p.partials = narrow(x); }},
        {"batch", upTo(VKF_MAX_ROWS), [](P& p, uint64_t x) { p.batch = narrow(x); }},
        {"heads", upTo(VKF_MAX_ROWS), [](P& p, uint64_t x) { p.heads = narrow(x); }},
        {"rows", upTo(VKF_MAX_ROWS), [](P& p, uint64_t x) { p.rows = narrow(x); }},
        {"dim", upTo(65536), [](P& p, uint64_t x) { p.dim = narrow(x); }},
        {"partialStride", distances(), [](P& p, uint64_t x) { p.partialStride = x; }},
        {"lsePartialStride", distances(), [](P& p, uint64_t x) { p.lsePartialStride = x; }},
        {"partial.batchStride", distances(), [](P& p, uint64_t x) { p.partial.batchStride = x; }},
        {"partial.rowStride", distances(), [](P& p, uint64_t x) { p.partial.rowStride = x; }},
        {"o.headStride", distances(), [](P& p, uint64_t x) { p.o.headStride = x; }},
    };
    return counts;
}

void checkDispatches(bool any) {
    const FakeRecord recorded = FakeContext::takeRecord();
    if ((recorded.dispatches != 0) != any || recorded.emptyDispatch) {
        FAIL_CHECK(recorded.dispatches << " dispatches");
    }
}

void checkMerge(FakeContext& context, const VkfMergeProblem& p) {
    VkfMessage message{};
    const VkfResult result = vkfCheckMerge(&p, &message);
    checkResult(result, message);
    auto layout = vkf::make<VkfTensorLayout>();
    auto all = vkf::make<VkfMergeLayout>();
    vkf::Merge merge;
    if (vkfGetMergeTensorLayout(&p, VKF_MERGE_PARTIAL, &layout, nullptr) != result ||
        vkfGetMergeTensorLayout(&p, VKF_MERGE_O, &layout, nullptr) != result ||
        vkfGetMergeLayout(&p, &all, nullptr) != result ||
        vkfCreateMerge(context.get(), &p, merge.put(), &message) != result) {
        FAIL_CHECK("the functions of merges do not agree: " << message.text);
    }
    if (result != VKF_SUCCESS) {
        if (merge.get() != nullptr || layout.dim != 0 || all.partialStride != 0) {
            FAIL_CHECK("a refused merge was written in part");
        }
        return;
    }
    auto bindings = vkf::make<VkfMergeBindings>();
    bindings.partials.address = uint64_t{1} << 62; // up to 2^62 bytes long, as partialLse
    bindings.partialLse.address = uint64_t{1} << 63;
    bindings.o.address = fakeAddress(0);
    bindings.lse.address = fakeAddress(1);
    FakeContext::takeRecord();
    if (vkfCmdMerge(FakeContext::commandBuffer(), merge.get(), &bindings, &message) != VKF_SUCCESS) {
        FAIL_CHECK(message.text);
    }
    const bool empty = p.heads == 0 || p.rows == 0;
    checkDispatches(!empty);
    if (empty) { // reads and writes nothing
        CHECK(vkfReferenceMerge(&p, nullptr, nullptr, nullptr, nullptr, &message) == VKF_SUCCESS);
    }
}

} // namespace

TEST_CASE("any counts of a merge make a merge, an empty one, or a refusal in words", "[counts]") {
    FakeContext contexts[] = {FakeContext(vkf::test::capsOf(32, 49152, 1024)),
                              FakeContext(vkf::test::capsOf(32, 16384, 128))};
    std::vector<VkfMergeProblem> bases;
    const auto add = [&](uint32_t partials, uint32_t batch, uint32_t heads, uint32_t rows, uint32_t dim) {
        auto p = vkf::make<VkfMergeProblem>();
        p.partials = partials;
        p.batch = batch;
        p.heads = heads;
        p.rows = rows;
        p.dim = dim;
        p.partial.type = dim % 2 == 0 ? VKF_TYPE_F16 : VKF_TYPE_F32;
        vkf::enable(p, VKF_USE_LSE);
        bases.push_back(p);
    };
    add(3, 2, 4, 5, 64);
    add(1, 1, 1, 1, 1);
    add(1, 1, 0, 0, 1);
    add(2, 1, 3, VKF_MAX_ROWS / 3, 8);
    for (const VkfMergeProblem& base : bases) {
        vkf::test::forEachCount<VkfMergeProblem>(
            base, mergeCounts(), [&](const VkfMergeProblem& p, const std::string& text, uint32_t turn) {
                INFO("partials " << base.partials << ", rows " << base.rows << ": " << text);
                checkMerge(contexts[turn % 2], p);
            });
    }
}

namespace {

const std::vector<Count<VkfAppendProblem>>& appendCounts() {
    using P = VkfAppendProblem;
    static const std::vector<Count<P>> counts = {
        {"batch", upTo(65535), [](P& p, uint64_t x) { p.batch = narrow(x); }},
        {"kvHeads", upTo(VKF_MAX_HEADS), [](P& p, uint64_t x) { p.kvHeads = narrow(x); }},
        {"rows", upTo(VKF_MAX_ROWS), [](P& p, uint64_t x) { p.rows = narrow(x); }},
        {"keys", upTo(VKF_MAX_ROWS), [](P& p, uint64_t x) { p.keys = narrow(x); }},
        {"headDim", upTo(1024), [](P& p, uint64_t x) { p.headDim = narrow(x); }},
        {"valueDim", upTo(1024), [](P& p, uint64_t x) { p.valueDim = narrow(x); }},
        {"queryHeads", upTo(VKF_MAX_HEADS), [](P& p, uint64_t x) { p.queryHeads = narrow(x); }},
        {"paging.pageSize",
         {0, 1, uint64_t{1} << 31, UINT32_MAX},
         [](P& p, uint64_t x) { p.paging.pageSize = narrow(x); }},
        {"paging.maxPages", upTo(VKF_MAX_ROWS), [](P& p, uint64_t x) { p.paging.maxPages = narrow(x); }},
        {"paging.pages", upTo(vkf::test::max32Bits), [](P& p, uint64_t x) { p.paging.pages = narrow(x); }},
        {"rotary.dim", {0, 1, 2, 1024, UINT32_MAX}, [](P& p, uint64_t x) { p.rotary.dim = narrow(x); }},
        {"rotary.tableRows", upTo(vkf::test::max32Bits), [](P& p, uint64_t x) { p.rotary.tableRows = narrow(x); }},
        {"newK.batchStride", distances(), [](P& p, uint64_t x) { p.newK.batchStride = x; }},
        {"k.rowStride", distances(), [](P& p, uint64_t x) { p.k.rowStride = x; }},
        {"rotatedQ.headStride", distances(), [](P& p, uint64_t x) { p.rotatedQ.headStride = x; }},
    };
    return counts;
}

VkfAppendBindings bindingsOf(const VkfAppendProblem& p) {
    auto bindings = vkf::make<VkfAppendBindings>();
    for (VkfBinding* binding : {&bindings.newK, &bindings.newV, &bindings.lengths}) {
        binding->address = fakeInputs;
    }
    bindings.k.address = uint64_t{1} << 61; // a long output, as v
    bindings.v.address = uint64_t{1} << 62;
    uint64_t piece = 0;
    const std::pair<VkfUse, VkfBinding*> arrays[] = {
        {VKF_USE_NEW_LENGTHS, &bindings.newLengths},
        {VKF_USE_BLOCK_TABLE, &bindings.blockTable},
        {VKF_USE_QUERIES, &bindings.q},
        {VKF_USE_QUERIES, &bindings.rotatedQ},
        {VKF_USE_ROTARY_TABLES, &bindings.cos},
        {VKF_USE_ROTARY_TABLES, &bindings.sin},
    };
    for (const auto& [bit, binding] : arrays) {
        binding->address = (p.use & bit) != 0 ? fakeAddress(piece++) : 0;
    }
    return bindings;
}

void checkAppend(FakeContext& context, const VkfAppendProblem& p) {
    VkfMessage message{};
    const VkfResult result = vkfCheckAppend(&p, &message);
    checkResult(result, message);
    bool agree = true;
    auto layout = vkf::make<VkfTensorLayout>();
    for (const VkfAppendRole role :
         {VKF_APPEND_NEW_K, VKF_APPEND_NEW_V, VKF_APPEND_K, VKF_APPEND_V, VKF_APPEND_Q, VKF_APPEND_ROTATED_Q}) {
        agree = agree && vkfGetAppendTensorLayout(&p, role, &layout, nullptr) == result;
    }
    vkf::Append append;
    agree = agree && vkfCreateAppend(context.get(), &p, append.put(), &message) == result;
    if (!agree) {
        FAIL_CHECK("the functions of appends do not agree: " << message.text);
    }
    if (result != VKF_SUCCESS) {
        if (append.get() != nullptr || layout.dim != 0) {
            FAIL_CHECK("a refused append was written in part");
        }
        return;
    }
    const VkfAppendBindings bindings = bindingsOf(p);
    FakeContext::takeRecord();
    if (vkfCmdAppend(FakeContext::commandBuffer(), append.get(), &bindings, &message) != VKF_SUCCESS) {
        FAIL_CHECK(message.text);
    }
    checkDispatches(true);
    if (vkfCmdAdvance(FakeContext::commandBuffer(), append.get(), &bindings.lengths, &message) != VKF_SUCCESS) {
        FAIL_CHECK(message.text);
    }
    checkDispatches(true);
}

} // namespace

TEST_CASE("any counts of an append make an append or a refusal in words", "[counts]") {
    FakeContext context(vkf::test::capsOf(32, 49152, 1024));
    std::vector<VkfAppendProblem> bases;
    bases.push_back(vkf::test::appendOf({.batch = 2, .kvHeads = 3, .rows = 4, .keys = 50, .headDim = 64}));
    bases.push_back(vkf::test::appendOf({.batch = 1, .kvHeads = 1, .rows = 1, .keys = 1, .headDim = 32}));
    bases.push_back(vkf::test::appendOf({.batch = 1, .kvHeads = 1, .rows = 1, .keys = 0, .headDim = 1}));
    VkfAppendProblem paged = bases[0];
    paged.k.type = paged.v.type = VKF_TYPE_Q5_1;
    paged.paging = {16, 4, 9};
    vkf::enable(paged, VKF_USE_BLOCK_TABLE);
    bases.push_back(paged);
    VkfAppendProblem rotated = bases[0];
    rotated.rotary.pairs = VKF_ROTARY_HALVES;
    rotated.rotary.tableRows = 60;
    rotated.queryHeads = 6;
    vkf::enable(rotated, VKF_USE_QUERIES | VKF_USE_ROTARY_TABLES);
    bases.push_back(rotated);
    for (const VkfAppendProblem& base : bases) {
        vkf::test::forEachCount<VkfAppendProblem>(
            base, appendCounts(), [&](const VkfAppendProblem& p, const std::string& text, uint32_t) {
                INFO("keys " << base.keys << ", arrays " << base.use << ": " << text);
                checkAppend(context, p);
            });
    }
}
