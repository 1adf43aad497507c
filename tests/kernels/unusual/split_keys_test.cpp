// SPDX-License-Identifier: MIT
//
// Key splits of a fixed length: a sequence alone has the bits that it has among others, on every path that splits keys.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "support/call.hpp"
#include "support/everywhere.hpp"
#include "support/masks.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::Data;
using vkf::test::Inputs;
using vkf::test::Outcome;
using vkf::test::problemOf;
using vkf::test::Shape;
using vkf::test::Variation;

// One sequence of a call, as a call of its own.
struct Alone {
    VkfProblem problem;
    Inputs inputs;
    uint64_t firstRow = 0; // of its rows in o and lse of the call
};

std::vector<std::byte> from(const std::vector<std::byte>& tensor, VkfType type, uint64_t element) {
    const auto first = tensor.begin() + static_cast<ptrdiff_t>(vkfStoredBytes(type, element));
    return {first, tensor.end()};
}

// q, k and v of one sequence begin at these elements. Their strides stay.
Alone cut(const VkfProblem& all, const Inputs& inputs, uint64_t q, uint64_t k, uint64_t v) {
    Alone alone{all, inputs};
    const auto keepStrides = [&all](VkfTensorRole role, VkfTensor& tensor) {
        const VkfTensorLayout layout = vkf::layoutOf(all, role);
        tensor.headStride = layout.headStride;
        tensor.rowStride = layout.rowStride;
        tensor.batchStride = layout.batchStride;
    };
    keepStrides(VKF_TENSOR_Q, alone.problem.q);
    keepStrides(VKF_TENSOR_K, alone.problem.k);
    keepStrides(VKF_TENSOR_V, alone.problem.v);
    alone.problem.batch = 1;
    alone.inputs.q = from(inputs.q, all.q.type, q);
    alone.inputs.k = from(inputs.k, all.k.type, k);
    alone.inputs.v = from(inputs.v, all.v.type, v);
    return alone;
}

// Sequence b of a batch with key lengths, with a capacity of its own length.
Alone ofBatch(const VkfProblem& all, const Inputs& inputs, uint32_t b) {
    const bool paged = vkf::has(all, VKF_USE_BLOCK_TABLE);
    const auto begin = [&](VkfTensorRole role) { return b * vkf::layoutOf(all, role).batchStride; };
    Alone alone =
        cut(all, inputs, begin(VKF_TENSOR_Q), paged ? 0 : begin(VKF_TENSOR_K), paged ? 0 : begin(VKF_TENSOR_V));
    alone.firstRow = uint64_t{b} * all.queryHeads * all.queryRows;
    alone.problem.keys = static_cast<uint32_t>(inputs.keyLengths[b]);
    alone.inputs.keyLengths = {inputs.keyLengths[b]};
    if (paged) {
        const auto entry = inputs.blockTable.begin() + static_cast<ptrdiff_t>(b * all.paging.maxPages);
        alone.inputs.blockTable.assign(entry, entry + all.paging.maxPages);
    }
    return alone;
}

// Sequence b of packed sequences.
Alone ofPacked(const VkfProblem& all, const Inputs& inputs, uint32_t b) {
    const auto row = static_cast<uint64_t>(inputs.cuSeqlensQ[b]);
    const auto key = static_cast<uint64_t>(inputs.cuSeqlensK[b]);
    const auto begin = [&](VkfTensorRole role, uint64_t n) { return n * vkf::layoutOf(all, role).rowStride; };
    Alone alone = cut(all, inputs, begin(VKF_TENSOR_Q, row), begin(VKF_TENSOR_K, key), begin(VKF_TENSOR_V, key));
    alone.firstRow = row;
    alone.problem.queryRows = static_cast<uint32_t>(inputs.cuSeqlensQ[b + 1] - inputs.cuSeqlensQ[b]);
    alone.problem.keys = static_cast<uint32_t>(inputs.cuSeqlensK[b + 1] - inputs.cuSeqlensK[b]);
    alone.problem.longestRows = alone.problem.longestKeys = 0;
    alone.inputs.cuSeqlensQ = {0, static_cast<int32_t>(alone.problem.queryRows)};
    alone.inputs.cuSeqlensK = {0, static_cast<int32_t>(alone.problem.keys)};
    return alone;
}

// Whether rows of o and lse of the call have the bits of the sequence alone. Heads of packed sequences are as far apart
// as the call has rows.
bool hasBitsOf(const Outcome& all, const VkfProblem& problem, const Outcome& own, const Alone& alone) {
    const uint64_t rows = alone.problem.queryRows;
    const size_t rowBytes = vkfStoredBytes(problem.o.type, problem.valueDim != 0 ? problem.valueDim : problem.headDim);
    for (uint64_t h = 0; h < problem.queryHeads; h++) {
        const uint64_t first = alone.firstRow + h * problem.queryRows;
        if (std::memcmp(all.o.data() + first * rowBytes, own.o.data() + h * rows * rowBytes, rows * rowBytes) != 0 ||
            std::memcmp(all.lse.data() + first, own.lse.data() + h * rows, rows * sizeof(float)) != 0) {
            return false;
        }
    }
    return true;
}

const std::vector<size_t> splittingVariations = {0, 1, 2, 4, 5, 6, 7, 8};

// Runs a call and each of its sequences alone, with these splitKeys if there are any.
template <typename Cut>
void checkAlone(VkfProblem problem, const Data& data, const Cut& cutSequence,
                const std::vector<size_t>& numbers = splittingVariations,
                const std::vector<uint32_t>& splitKeysAlone = {}) {
    const Inputs inputs = vkf::test::makeInputs(problem, data);
    for (const size_t number : numbers) {
        const Variation& variation = vkf::test::variations[number];
        if (!vkf::test::takes(variation, problem)) {
            continue;
        }
        vkf::test::apply(variation, problem);
        INFO(variation.name << ": " << vkf::test::describe(problem));
        vkf::host::Device& device = vkf::test::deviceOf(variation);
        const Outcome all = vkf::test::runCall(device, problem, inputs);
        CHECK(all.passed());
        for (uint32_t b = 0; b < problem.batch; b++) {
            Alone alone = cutSequence(problem, inputs, b);
            alone.problem.splitKeys = splitKeysAlone.empty() ? problem.splitKeys : splitKeysAlone[b];
            const Outcome own = vkf::test::runCall(device, alone.problem, alone.inputs);
            INFO("sequence " << b);
            CHECK(own.passed());
            CHECK(hasBitsOf(all, problem, own, alone));
        }
    }
}

VkfProblem callOf(const Shape& shape, uint32_t splitKeys) {
    VkfProblem problem = problemOf(shape);
    problem.splitKeys = splitKeys;
    problem.use |= VKF_USE_CAUSAL | VKF_USE_ALIBI | VKF_USE_SINKS;
    return problem;
}

} // namespace

TEST_CASE("a sequence has the same bits alone and in a batch", "[split_keys]") {
    for (const VkfType type : {VKF_TYPE_F16, VKF_TYPE_F32}) {
        for (const uint32_t rows : {1U, 33U}) {
            VkfProblem problem = callOf({3, 8, 2, rows, 700, 64, 0, type}, rows == 1 ? 128 : 200);
            vkf::enable(problem, VKF_USE_KEY_LENGTHS);
            Data data;
            data.keyLengths = {333, 700, 41};
            if (rows == 1) {
                vkf::test::setPages(problem, 16, 3);
            } else {
                vkf::test::setWindow(problem, 150, 0);
            }
            checkAlone(problem, data, ofBatch);
        }
    }
}

TEST_CASE("a packed sequence has the same bits alone and among others", "[split_keys]") {
    for (const uint32_t splitKeys : {100U, UINT32_MAX}) {
        VkfProblem problem = callOf({3, 4, 2, 40, 600, 40, 64, VKF_TYPE_F16}, splitKeys);
        Data data;
        vkf::test::setPacked(problem, data, {37, 1, 5}, {90, 600, 333});
        checkAlone(problem, data, ofPacked);
    }
}

// One sequence has few splits of 64 keys. Two have over 64, so their splits have 128 and 256 keys: they have the bits
// of calls alone of these lengths, and of 64.
TEST_CASE("the splits of a long sequence double by its own keys", "[split_keys]") {
    Data data;
    data.keyLengths = {4500, 700, 8300};
    const std::vector<uint32_t> doubled = {128, 64, 256};
    VkfProblem batch = callOf({3, 4, 2, 1, 8300, 64, 0, VKF_TYPE_F16}, 64);
    vkf::enable(batch, VKF_USE_KEY_LENGTHS);
    checkAlone(batch, data, ofBatch, {0, 4, 6, 7}, doubled);
    VkfProblem latent = problemOf({3, 4, 1, 2, 8300, 320, 288, VKF_TYPE_F16});
    latent.splitKeys = 64;
    vkf::enable(latent, VKF_USE_KEY_LENGTHS);
    checkAlone(latent, data, ofBatch, {6}, doubled);
    VkfProblem packed = callOf({3, 4, 2, 20, 8300, 64, 0, VKF_TYPE_F16}, 64);
    Data ofSequences;
    vkf::test::setPacked(packed, ofSequences, {3, 1, 20}, {4500, 700, 8300});
    checkAlone(packed, ofSequences, ofPacked, {0, 4, 6});
}

TEST_CASE("splits of fixed lengths are right with masks, first keys and latent heads", "[split_keys]") {
    for (const uint32_t splitKeys : {1U, 90U, UINT32_MAX}) {
        VkfProblem problem = problemOf({2, 4, 2, 50, 300, 64, 0, VKF_TYPE_F16});
        problem.splitKeys = splitKeys;
        problem.mask = vkf::test::broadcast(problem, VKF_TYPE_BOOL1, true, false, true, 3);
        vkf::enable(problem, VKF_USE_MASK);
        vkf::test::checkEverywhere(problem);
        VkfProblem first = problemOf({2, 4, 2, 50, 300, 64, 0, VKF_TYPE_F16});
        first.splitKeys = splitKeys;
        vkf::test::setWindow(first, 70, 0, 33);
        vkf::test::checkEverywhere(first);
        VkfProblem latent = problemOf({2, 4, 1, 2, 300, 320, 288, VKF_TYPE_F16});
        latent.splitKeys = splitKeys;
        vkf::test::checkOn(vkf::test::variations[6], latent, vkf::test::makeInputs(latent, {}));
    }
}
