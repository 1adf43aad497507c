// SPDX-License-Identifier: MIT
#include "calls/count_tables.hpp"

#include "reference/backward_cases.hpp"
#include "shared/attention_params.h"
#include "support/call.hpp"
#include "support/masks.hpp"

namespace vkf::test {
namespace {

constexpr uint64_t maxRows = VKF_MAX_ROWS;

uint32_t narrow(uint64_t x) { return static_cast<uint32_t>(x); }

} // namespace

const std::vector<Count<VkfProblem>>& attentionCounts() {
    using P = VkfProblem;
    static const std::vector<Count<P>> counts = {
        {"batch", upTo(max32Bits), [](P& p, uint64_t x) { p.batch = narrow(x); }},
        {"queryHeads", upTo(VKF_MAX_HEADS), [](P& p, uint64_t x) { p.queryHeads = narrow(x); }},
        {"kvHeads", upTo(VKF_MAX_HEADS), [](P& p, uint64_t x) { p.kvHeads = narrow(x); }},
        {"queryRows", upTo(maxRows), [](P& p, uint64_t x) { p.queryRows = narrow(x); }},
        {"keys", upTo(maxRows), [](P& p, uint64_t x) { p.keys = narrow(x); }},
        {"headDim", {0, 1, 256, 576, UINT32_MAX}, [](P& p, uint64_t x) { p.headDim = narrow(x); }},
        {"valueDim", {0, 1, 256, 512, UINT32_MAX}, [](P& p, uint64_t x) { p.valueDim = narrow(x); }},
        {"kvSplits", upTo(VKF_MAX_SPLITS), [](P& p, uint64_t x) { p.kvSplits = narrow(x); }},
        {"maxStepOperations", {1, UINT64_MAX}, [](P& p, uint64_t x) { p.maxStepOperations = x; }},
        {"maxScratchBytes", {1, UINT64_MAX}, [](P& p, uint64_t x) { p.maxScratchBytes = x; }},
        {"probabilityRowCount", upTo(maxRows), [](P& p, uint64_t x) { p.probabilityRowCount = narrow(x); }},
        {"longestRows", upTo(max32Bits), [](P& p, uint64_t x) { p.longestRows = narrow(x); }},
        {"longestKeys", upTo(max32Bits), [](P& p, uint64_t x) { p.longestKeys = narrow(x); }},
        {"window.firstKeys", upTo(max32Bits), [](P& p, uint64_t x) { p.window.firstKeys = narrow(x); }},
        {"window.left",
         {0, 1, INT64_MAX, UINT64_MAX},
         [](P& p, uint64_t x) { p.window.left = static_cast<int64_t>(x); }},
        {"window.right",
         {0, 1, INT64_MAX, UINT64_MAX},
         [](P& p, uint64_t x) { p.window.right = static_cast<int64_t>(x); }},
        {"bias.heads", upTo(max32Bits), [](P& p, uint64_t x) { p.bias.heads = narrow(x); }},
        {"bias.sequences", upTo(max32Bits), [](P& p, uint64_t x) { p.bias.sequences = narrow(x); }},
        {"bias.rowStride", distances(), [](P& p, uint64_t x) { p.bias.rowStride = x; }},
        {"mask.heads", upTo(max32Bits), [](P& p, uint64_t x) { p.mask.heads = narrow(x); }},
        {"mask.batchStride", distances(), [](P& p, uint64_t x) { p.mask.batchStride = x; }},
        {"dropoutMask.sequences", upTo(max32Bits), [](P& p, uint64_t x) { p.dropoutMask.sequences = narrow(x); }},
        {"blockMask.blockSize",
         {0, 1, 16, 65536, UINT32_MAX},
         [](P& p, uint64_t x) { p.blockMask.blockSize = narrow(x); }},
        {"blockMask.headStride", distances(), [](P& p, uint64_t x) { p.blockMask.headStride = x; }},
        {"paging.pageSize",
         {0, 1, uint64_t{1} << 31, UINT32_MAX},
         [](P& p, uint64_t x) { p.paging.pageSize = narrow(x); }},
        {"paging.maxPages", upTo(maxRows), [](P& p, uint64_t x) { p.paging.maxPages = narrow(x); }},
        {"paging.pages", upTo(max32Bits), [](P& p, uint64_t x) { p.paging.pages = narrow(x); }},
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
        vkf::enable(bases.back(), VKF_USE_LSE);
        change(bases.back());
    };
    add(problemOf({2, 4, 2, 40, 70, 64}), [](VkfProblem&) {});
    add(problemOf({2, 4, 2, 300, 700, 64, 0, VKF_TYPE_F16}), [](VkfProblem& p) {
        p.use |= VKF_USE_CAUSAL;
        vkf::enable(p, VKF_USE_SINKS);
    });
    add(problemOf({3, 4, 2, 90, 100, 64, 0, VKF_TYPE_F16}), [](VkfProblem& p) { vkf::enable(p, VKF_USE_CU_SEQLENS); });
    add(problemOf({2, 4, 2, 1, 200, 64, 0, VKF_TYPE_F16}), [](VkfProblem& p) {
        p.k.type = p.v.type = VKF_TYPE_Q8_0;
        p.paging = {16, 13, 40};
        vkf::enable(p, VKF_USE_BLOCK_TABLE | VKF_USE_KEY_LENGTHS);
    });
    add(problemOf({2, 4, 2, 600, 200, 64, 0, VKF_TYPE_F16}),
        [](VkfProblem& p) { p.k.type = p.v.type = VKF_TYPE_Q4_0; });
    add(problemOf({2, 4, 2, 100, 200, 64}), [](VkfProblem& p) {
        p.blockMask.blockSize = 32;
        vkf::enable(p, VKF_USE_BLOCK_MASK);
    });
    add(problemOf({2, 4, 2, 100, 200, 64, 0, VKF_TYPE_F16}), [](VkfProblem& p) {
        vkf::enable(p, VKF_USE_BIAS | VKF_USE_MASK | VKF_USE_DROPOUT_MASK);
        p.dropout.probability = 0.5F;
        p.bias = broadcast(p, VKF_TYPE_F16, true, true, true);
        p.mask = broadcast(p, VKF_TYPE_BOOL1, true, true, true);
        p.dropoutMask = broadcast(p, VKF_TYPE_BOOL8, true, true, true);
    });
    add(problemOf({2, 4, 2, 100, 200, 64}), [](VkfProblem& p) {
        vkf::enable(p, VKF_USE_PROBABILITIES | VKF_USE_PROBABILITY_ROWS);
        p.probabilityRowCount = 7;
    });
    add(problemOf({2, 4, 2, 100, 200, 64}), [](VkfProblem& p) {
        p.use |= VKF_USE_ALIBI;
        vkf::enable(p, VKF_USE_PROBABILITIES);
        setWindow(p, 20, 10, 4);
    });
    // At the limits: other numbers reach theirs beside these.
    add(problemOf({1, 0, 0, 0, 0, 1}), [](VkfProblem&) {});
    add(problemOf({1, 1, 1, 1, 1, 1}), [](VkfProblem&) {});
    add(problemOf({1, 4, 1, VKF_MAX_ROWS, 1, 64, 0, VKF_TYPE_F16}), [](VkfProblem&) {});
    add(problemOf({1, 1, 1, 3, VKF_MAX_ROWS, 64, 0, VKF_TYPE_F16}), [](VkfProblem&) {});
    add(problemOf({1, 3, 1, VKF_MAX_ROWS, 4096, 64}), [](VkfProblem& p) { p.maxStepOperations = 1; });
    add(problemOf({1, VKF_MAX_HEADS, VKF_MAX_HEADS, 65537, 1, 16}), [](VkfProblem&) {});
    add(problemOf({65535, VKF_MAX_HEADS, 1, 1, 1, 16, 0, VKF_TYPE_F16}),
        [](VkfProblem& p) { p.k.batchStride = p.v.batchStride = uint64_t{1} << 32; });
    return bases;
}

const std::vector<Count<Backward>>& backwardCounts() {
    using B = Backward;
    static const std::vector<Count<B>> counts = {
        {"batch", upTo(max32Bits), [](B& b, uint64_t x) { b.forward.batch = narrow(x); }},
        {"queryHeads", upTo(VKF_MAX_HEADS), [](B& b, uint64_t x) { b.forward.queryHeads = narrow(x); }},
        {"kvHeads", upTo(VKF_MAX_HEADS), [](B& b, uint64_t x) { b.forward.kvHeads = narrow(x); }},
        {"queryRows", upTo(maxRows), [](B& b, uint64_t x) { b.forward.queryRows = narrow(x); }},
        {"keys", upTo(maxRows), [](B& b, uint64_t x) { b.forward.keys = narrow(x); }},
        {"headDim", {0, 1, 256, UINT32_MAX}, [](B& b, uint64_t x) { b.forward.headDim = narrow(x); }},
        {"valueDim", {0, 1, 256, UINT32_MAX}, [](B& b, uint64_t x) { b.forward.valueDim = narrow(x); }},
        {"maxStepOperations", {1, UINT64_MAX}, [](B& b, uint64_t x) { b.forward.maxStepOperations = x; }},
        {"longestRows", upTo(max32Bits), [](B& b, uint64_t x) { b.forward.longestRows = narrow(x); }},
        {"longestKeys", upTo(max32Bits), [](B& b, uint64_t x) { b.forward.longestKeys = narrow(x); }},
        {"window.firstKeys", upTo(max32Bits), [](B& b, uint64_t x) { b.forward.window.firstKeys = narrow(x); }},
        {"window.left",
         {0, 1, INT64_MAX, UINT64_MAX},
         [](B& b, uint64_t x) { b.forward.window.left = static_cast<int64_t>(x); }},
        {"bias.heads", upTo(max32Bits), [](B& b, uint64_t x) { b.forward.bias.heads = narrow(x); }},
        {"bias.sequences", upTo(max32Bits), [](B& b, uint64_t x) { b.forward.bias.sequences = narrow(x); }},
        {"bias.rowStride", distances(), [](B& b, uint64_t x) { b.forward.bias.rowStride = x; }},
        {"bias.headStride", distances(), [](B& b, uint64_t x) { b.forward.bias.headStride = x; }},
        {"gradients", {0, 1, 31, UINT32_MAX}, [](B& b, uint64_t x) { b.own.gradients = narrow(x); }},
        {"use", {0, VKF_USE_DLSE, UINT32_MAX}, [](B& b, uint64_t x) { b.own.use = narrow(x); }},
        {"maxScratchBytes", {0, 1, 100000, UINT64_MAX}, [](B& b, uint64_t x) { b.own.maxScratchBytes = x; }},
        {"dout.rowStride", distances(), [](B& b, uint64_t x) { b.own.dout.rowStride = x; }},
        {"dq.headStride", distances(), [](B& b, uint64_t x) { b.own.dq.headStride = x; }},
        {"dk.batchStride", distances(), [](B& b, uint64_t x) { b.own.dk.batchStride = x; }},
    };
    return counts;
}

std::vector<Backward> backwardBases() {
    std::vector<Backward> bases;
    const auto add = [&](const VkfProblem& p, const auto& change) {
        Backward b{p, {}};
        change(b.forward);
        b.own = backwardOf(b.forward, allGradients(b.forward));
        vkf::enable(b.forward, VKF_USE_LSE);
        bases.push_back(b);
    };
    add(problemOf({2, 4, 2, 300, 400, 64, 0, VKF_TYPE_F16}), [](VkfProblem&) {});
    add(problemOf({2, 0, 5, 300, 400, 64, 0, VKF_TYPE_F16}), [](VkfProblem&) {});
    add(problemOf({8, 16, 8, 3000, 4000, 128, 0, VKF_TYPE_F16}), [](VkfProblem& p) { p.use |= VKF_USE_CAUSAL; });
    add(problemOf({8, 16, 8, 3000, 4000, 256, 0, VKF_TYPE_F16}), [](VkfProblem&) {});
    add(problemOf({2, 4, 2, 30, 40, 64}), [](VkfProblem& p) {
        vkf::enable(p, VKF_USE_BIAS | VKF_USE_SINKS);
        p.bias = broadcast(p, VKF_TYPE_F32, true, true, true);
    });
    add(problemOf({3, 4, 2, 90, 100, 64, 0, VKF_TYPE_F16}), [](VkfProblem& p) { vkf::enable(p, VKF_USE_CU_SEQLENS); });
    add(problemOf({2, 4, 2, 100, 200, 32, 0, VKF_TYPE_F16}), [](VkfProblem& p) { setWindow(p, 20, 10, 4); });
    add(problemOf({1, 0, 0, 0, 0, 1}), [](VkfProblem&) {});
    add(problemOf({1, 1, 1, 1, 1, 1}), [](VkfProblem&) {});
    add(problemOf({1, 3, 1, VKF_MAX_ROWS, 4096, 64, 0, VKF_TYPE_F16}), [](VkfProblem&) {});
    add(problemOf({1, VKF_MAX_HEADS, VKF_MAX_HEADS, 1, 65537, 16}), [](VkfProblem&) {});
    return bases;
}

} // namespace vkf::test
