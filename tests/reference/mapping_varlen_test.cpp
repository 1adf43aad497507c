// SPDX-License-Identifier: MIT
//
// The table of docs/mapping.md for flash_attn_varlen_func of FlashAttention 2.
#include <catch2/generators/catch_generators.hpp>

#include "reference/mapping_flash_attention.hpp"

namespace {

using namespace vkf::test::mapping;

// ---- The other side -----------------------------------------------------------------------------

struct Varlen {
    Terms terms;
    Heads n;
    Strided q, k, v; // (1, total, heads, headdim); with a block_table k and v are (pages, page size, heads, headdim)
    std::vector<int32_t> cuSeqlensQ, cuSeqlensK;
    std::vector<int32_t> blockTable; // (batch, maxPages)
    size_t maxPages = 0;
    size_t pageSize = 0;

    size_t batch() const { return cuSeqlensQ.size() - 1; }
    size_t rows(size_t b) const { return static_cast<size_t>(cuSeqlensQ[b + 1] - cuSeqlensQ[b]); }
    size_t keys(size_t b) const { return static_cast<size_t>(cuSeqlensK[b + 1] - cuSeqlensK[b]); }
    double element(const Strided& cache, size_t b, size_t j, size_t head, size_t d) const {
        if (blockTable.empty()) {
            return cache.at(0, static_cast<size_t>(cuSeqlensK[b]) + j, head, d);
        }
        const auto page = static_cast<size_t>(blockTable[b * maxPages + j / pageSize]);
        return cache.at(page, j % pageSize, head, d);
    }
};

// out and softmax_lse of flash_attn_varlen_func, out with the heads first.
Outputs flashAttnVarlenFunc(const Varlen& call) {
    const Heads& n = call.n;
    const auto total = static_cast<size_t>(call.cuSeqlensQ.back());
    Outputs outputs{std::vector<double>(n.heads * total * n.dim), std::vector<double>(n.heads * total)};
    for (size_t b = 0; b < call.batch(); b++) {
        for (size_t h = 0; h < n.heads; h++) {
            for (size_t i = 0; i < call.rows(b); i++) {
                const size_t kvHead = n.kvHead(h);
                const size_t row = static_cast<size_t>(call.cuSeqlensQ[b]) + i;
                const auto dot = [&](size_t j) {
                    double sum = 0;
                    for (size_t d = 0; d < n.dim; d++) {
                        sum += call.q.at(0, row, h, d) * call.element(call.k, b, j, kvHead, d);
                    }
                    return sum;
                };
                const auto value = [&](size_t j, size_t d) { return call.element(call.v, b, j, kvHead, d); };
                const Place place = {static_cast<int64_t>(i), static_cast<int64_t>(call.rows(b)),
                                     static_cast<int64_t>(call.keys(b)), 0};
                const Row result = flashRow(call.terms, n, h, place, dot, value);
                std::copy(result.o.begin(), result.o.end(), &outputs.o[(h * total + row) * n.dim]);
                outputs.lse[h * total + row] = result.lse;
            }
        }
    }
    return outputs;
}

// ---- Both sides ---------------------------------------------------------------------------------

std::vector<int32_t> randomStarts(Random& random, size_t batch, size_t most) {
    std::vector<int32_t> starts(1);
    for (size_t b = 0; b < batch; b++) {
        starts.push_back(starts.back() + static_cast<int32_t>(random.between(0, most)));
    }
    return starts;
}

Varlen randomVarlen(Random& random) {
    Varlen call;
    call.terms.softmaxScale = 0.37F;
    call.n = {6, 2, random.between(3, 9)};
    const size_t batch = random.between(3, 5);
    call.cuSeqlensQ = randomStarts(random, batch, 9);
    call.cuSeqlensK = randomStarts(random, batch, 13);
    call.cuSeqlensQ.push_back(call.cuSeqlensQ.back() + 5); // more rows than keys: empty rows with `causal`
    call.cuSeqlensK.push_back(call.cuSeqlensK.back() + 3);
    call.q = random.dense(1, static_cast<size_t>(call.cuSeqlensQ.back()), call.n.heads, call.n.dim);
    call.k = random.dense(1, static_cast<size_t>(call.cuSeqlensK.back()), call.n.kvHeads, call.n.dim);
    call.v = random.dense(1, static_cast<size_t>(call.cuSeqlensK.back()), call.n.kvHeads, call.n.dim);
    return call;
}

size_t longest(const std::vector<int32_t>& starts) {
    int32_t most = 0;
    for (size_t b = 0; b + 1 < starts.size(); b++) {
        most = std::max(most, starts[b + 1] - starts[b]);
    }
    return static_cast<size_t>(most);
}

Ours spelled(const Varlen& call) {
    Ours ours;
    VkfProblem& p = ours.problem;
    p.use = VKF_USE_CU_SEQLENS;
    p.batch = small(call.batch());
    p.queryHeads = small(call.n.heads);
    p.kvHeads = small(call.n.kvHeads);
    p.queryRows = small(static_cast<size_t>(call.cuSeqlensQ.back()));
    p.keys = small(static_cast<size_t>(call.cuSeqlensK.back()));
    p.headDim = small(call.n.dim);
    p.q = p.o = packedTensor(call.n.heads, call.n.dim);
    p.k = p.v = packedTensor(call.n.kvHeads, call.n.dim);
    p.scale = 0.37F;
    ours.inputs.q = call.q.values.data();
    ours.inputs.k = call.k.values.data();
    ours.inputs.v = call.v.values.data();
    ours.inputs.cuSeqlensQ = call.cuSeqlensQ.data();
    ours.inputs.cuSeqlensK = call.cuSeqlensK.data();
    return ours;
}

// Puts k and v of the model into pages, in random order.
void putIntoPages(Random& random, Varlen& call) {
    call.pageSize = 4;
    call.maxPages = (longest(call.cuSeqlensK) + call.pageSize - 1) / call.pageSize;
    const std::vector<int32_t> order = random.shuffled(call.batch() * call.maxPages + 2);
    std::array<Strided, 2> pages = {random.dense(order.size(), call.pageSize, call.n.kvHeads, call.n.dim),
                                    random.dense(order.size(), call.pageSize, call.n.kvHeads, call.n.dim)};
    for (size_t b = 0; b < call.batch(); b++) {
        for (size_t j = 0; j < call.keys(b); j++) {
            const auto page = static_cast<size_t>(order[b * call.maxPages + j / call.pageSize]);
            for (size_t h = 0; h < call.n.kvHeads; h++) {
                for (size_t d = 0; d < call.n.dim; d++) {
                    pages[0].at(page, j % call.pageSize, h, d) = static_cast<float>(call.element(call.k, b, j, h, d));
                    pages[1].at(page, j % call.pageSize, h, d) = static_cast<float>(call.element(call.v, b, j, h, d));
                }
            }
        }
    }
    call.k = pages[0];
    call.v = pages[1];
    call.blockTable.assign(order.begin(), order.end() - 2);
}

std::vector<int32_t> lengthsOf(const Varlen& call) {
    std::vector<int32_t> lengths(call.batch());
    for (size_t b = 0; b < lengths.size(); b++) {
        lengths[b] = static_cast<int32_t>(call.keys(b));
    }
    return lengths;
}

// "With ALiBi, causal and no left limit, the lse of FlashAttention 2 is larger by slope * (i + Nk - Nq)".
void subtractPosition(const Varlen& call, std::vector<double>& lse) {
    const auto total = static_cast<size_t>(call.cuSeqlensQ.back());
    for (size_t h = 0; h < call.n.heads; h++) {
        for (size_t b = 0; b < call.batch(); b++) {
            for (size_t i = 0; i < call.rows(b); i++) {
                const double position = static_cast<double>(i + call.keys(b)) - static_cast<double>(call.rows(b));
                lse[h * total + static_cast<size_t>(call.cuSeqlensQ[b]) + i] -= call.terms.alibiSlopes[h] * position;
            }
        }
    }
}

} // namespace

TEST_CASE("calls of flash_attn_varlen_func give the same as what docs/mapping.md writes for them", "[mapping]") {
    Random random(GENERATE(1U, 2U, 3U));
    Varlen theirs = randomVarlen(random);
    std::vector<int32_t> lengths;
    Ours ours = spelled(theirs);
    double bound = fp64Bound;
    bool largerLse = false;
    const std::vector<float> slopes = random.numbers(theirs.n.heads);

    SECTION("q, k, v, number of heads, cu_seqlens_q, cu_seqlens_k, softmax_lse, out") {}
    SECTION("max_seqlen_q, max_seqlen_k") {
        ours.problem.longestRows = small(longest(theirs.cuSeqlensQ));
        ours.problem.longestKeys = small(longest(theirs.cuSeqlensK));
    }
    SECTION("softmax_scale") {
        theirs.terms.softmaxScale = -1.3F;
        ours.problem.scale = -1.3F;
    }
    SECTION("softmax_scale = None") {
        theirs.terms.softmaxScale.reset();
        ours.problem.scale = 0;
        bound = fp32Bound;
    }
    SECTION("causal") {
        theirs.terms.causal = true;
        ours.problem.use |= VKF_USE_CAUSAL;
        ours.problem.alignment = VKF_ALIGNMENT_BOTTOM_RIGHT;
    }
    SECTION("window_size") {
        theirs.terms.left = 3;
        theirs.terms.right = 1;
        ours.problem.use |= VKF_USE_WINDOW;
        ours.problem.window.left = 3;
        ours.problem.window.right = 1;
    }
    SECTION("window_size without a limit to the left") {
        theirs.terms.right = 2;
        ours.problem.use |= VKF_USE_WINDOW;
        ours.problem.window.left = -1;
        ours.problem.window.right = 2;
    }
    SECTION("window_size with causal, which replaces right by 0") {
        theirs.terms.causal = true;
        theirs.terms.left = 2;
        theirs.terms.right = 7;
        ours.problem.use |= VKF_USE_CAUSAL;
        ours.problem.use |= VKF_USE_WINDOW;
        ours.problem.window.left = 2;
        ours.problem.window.right = 0;
    }
    SECTION("softcap") {
        theirs.terms.softcap = 0.5F;
        ours.problem.softcap = 0.5F;
    }
    SECTION("alibi_slopes") {
        theirs.terms.alibiSlopes = slopes;
        ours.problem.use |= VKF_USE_ALIBI;
        ours.problem.use |= VKF_USE_ALIBI_SLOPES;
        ours.inputs.alibiSlopes = slopes.data();
    }
    SECTION("alibi_slopes with softcap, causal and a left limit") {
        theirs.terms.alibiSlopes = slopes;
        theirs.terms.softcap = 0.7F;
        theirs.terms.causal = true;
        theirs.terms.left = 4;
        ours.problem.use |= VKF_USE_ALIBI;
        ours.problem.use |= VKF_USE_ALIBI_SLOPES;
        ours.inputs.alibiSlopes = slopes.data();
        ours.problem.softcap = 0.7F;
        ours.problem.use |= VKF_USE_CAUSAL;
        ours.problem.use |= VKF_USE_WINDOW;
        ours.problem.window.left = 4;
        ours.problem.window.right = -1; // with `causal` as good as 0
    }
    SECTION("alibi_slopes with causal alone, softmax_lse") {
        theirs.terms.alibiSlopes = slopes;
        theirs.terms.causal = true;
        ours.problem.use |= VKF_USE_ALIBI;
        ours.problem.use |= VKF_USE_ALIBI_SLOPES;
        ours.inputs.alibiSlopes = slopes.data();
        ours.problem.use |= VKF_USE_CAUSAL;
        largerLse = true;
    }
    SECTION("block_table, with causal") {
        theirs.terms.causal = true;
        putIntoPages(random, theirs);
        lengths = lengthsOf(theirs);
        ours.problem.use |= VKF_USE_CAUSAL;
        ours.problem.use |= VKF_USE_BLOCK_TABLE | VKF_USE_KEY_LENGTHS;
        ours.problem.keys = small(longest(theirs.cuSeqlensK));
        ours.problem.paging.pageSize = small(theirs.pageSize);
        ours.problem.paging.maxPages = small(theirs.maxPages);
        ours.problem.paging.pages = small(theirs.k.values.size() / theirs.k.stride[0]);
        ours.problem.k = ours.problem.v = pagedTensor(theirs.pageSize, theirs.n.kvHeads, theirs.n.dim);
        ours.inputs.k = theirs.k.values.data();
        ours.inputs.v = theirs.v.values.data();
        ours.inputs.blockTable = theirs.blockTable.data();
        ours.inputs.keyLengths = lengths.data();
        ours.inputs.cuSeqlensK = nullptr;
    }

    Outputs expected = flashAttnVarlenFunc(theirs);
    if (largerLse) {
        subtractPosition(theirs, expected.lse);
    }
    const Outputs found = compute(ours);
    checkSame(found.o, expected.o, bound);
    checkSame(found.lse, lseHere(expected.lse), bound);
}
