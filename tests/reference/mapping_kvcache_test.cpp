// SPDX-License-Identifier: MIT
//
// The table of docs/mapping.md for flash_attn_with_kvcache of FlashAttention 2.
#include <catch2/generators/catch_generators.hpp>

#include "reference/mapping_flash_attention.hpp"

namespace {

using namespace vkf::test::mapping;

// ---- The other side -----------------------------------------------------------------------------

struct Kvcache {
    Terms terms;
    Heads n;
    size_t rows = 0;
    size_t keys = 0;          // of the cache
    Strided q;                // (batch, rows, heads, headdim)
    Strided kCache, vCache;   // (batch, keys, kv heads, headdim), or pages
    std::optional<Strided> k; // new rows: (batch, rows, kv heads, headdim)
    std::optional<Strided> v;
    std::vector<float> rotaryCos, rotarySin; // (positions, rotaryDim / 2)
    size_t rotaryDim = 0;
    bool rotaryInterleaved = true;
    std::vector<int32_t> cacheSeqlens, cacheBatchIdx, cacheLeftpad, blockTable;
    size_t maxPages = 0;
    size_t pageSize = 0;

    // Where row j of sequence b lies.
    std::array<size_t, 2> placeOf(size_t b, size_t j) const {
        if (!blockTable.empty()) {
            return {static_cast<size_t>(blockTable[b * maxPages + j / pageSize]), j % pageSize};
        }
        return {cacheBatchIdx.empty() ? b : static_cast<size_t>(cacheBatchIdx[b]), j};
    }
};

// Turns a row of (a, b, c) in place by its position.
void rotate(const Kvcache& call, Strided& tensor, size_t a, size_t b, size_t c, size_t position) {
    for (size_t t = 0; t < call.rotaryDim / 2; t++) {
        const size_t first = call.rotaryInterleaved ? 2 * t : t;
        const size_t second = call.rotaryInterleaved ? 2 * t + 1 : t + call.rotaryDim / 2;
        const double cosine = call.rotaryCos[position * call.rotaryDim / 2 + t];
        const double sine = call.rotarySin[position * call.rotaryDim / 2 + t];
        const double x = tensor.at(a, b, c, first);
        const double y = tensor.at(a, b, c, second);
        tensor.at(a, b, c, first) = static_cast<float>(x * cosine - y * sine);
        tensor.at(a, b, c, second) = static_cast<float>(y * cosine + x * sine);
    }
}

// Writes the new rows into the cache, and rotates them and q.
void writeNewRows(Kvcache& call) {
    const bool each = call.terms.causal || call.terms.left >= 0 || call.terms.right >= 0;
    for (size_t b = 0; b < call.cacheSeqlens.size(); b++) {
        const auto length = static_cast<size_t>(call.cacheSeqlens[b]);
        for (size_t i = 0; i < call.rows; i++) {
            for (size_t h = 0; call.k && h < call.n.kvHeads; h++) {
                const auto [cache, row] = call.placeOf(b, length + i);
                for (size_t d = 0; d < call.n.dim; d++) {
                    call.kCache.at(cache, row, h, d) = call.k->at(b, i, h, d);
                    call.vCache.at(cache, row, h, d) = call.v->at(b, i, h, d);
                }
                rotate(call, call.kCache, cache, row, h, length + i);
            }
            for (size_t h = 0; h < call.n.heads; h++) {
                rotate(call, call.q, b, i, h, each ? length + i : length);
            }
        }
    }
}

// out and softmax_lse of flash_attn_with_kvcache, out with the heads before the rows. Changes the cache, and q.
Outputs flashAttnWithKvcache(Kvcache& call) {
    const Heads& n = call.n;
    const size_t batch = call.cacheSeqlens.size();
    writeNewRows(call);
    Outputs outputs{std::vector<double>(batch * n.heads * call.rows * n.dim),
                    std::vector<double>(batch * n.heads * call.rows)};
    for (size_t b = 0; b < batch; b++) {
        for (size_t h = 0; h < n.heads; h++) {
            for (size_t i = 0; i < call.rows; i++) {
                const auto element = [&](const Strided& cache, size_t j, size_t d) {
                    const auto [first, row] = call.placeOf(b, j);
                    return cache.at(first, row, n.kvHead(h), d);
                };
                const auto dot = [&](size_t j) {
                    double sum = 0;
                    for (size_t d = 0; d < n.dim; d++) {
                        sum += static_cast<double>(call.q.at(b, i, h, d)) * element(call.kCache, j, d);
                    }
                    return sum;
                };
                const auto value = [&](size_t j, size_t d) { return element(call.vCache, j, d); };
                const auto rows = static_cast<int64_t>(call.rows);
                const Place place = {static_cast<int64_t>(i), rows, call.cacheSeqlens[b] + (call.k ? rows : 0),
                                     call.cacheLeftpad.empty() ? 0 : call.cacheLeftpad[b]};
                const Row result = flashRow(call.terms, n, h, place, dot, value);
                const size_t to = (b * n.heads + h) * call.rows + i;
                std::copy(result.o.begin(), result.o.end(), &outputs.o[to * n.dim]);
                outputs.lse[to] = result.lse;
            }
        }
    }
    return outputs;
}

// ---- Both sides ---------------------------------------------------------------------------------

constexpr size_t rotaryBase = 10000;

Kvcache randomKvcache(Random& random) {
    Kvcache call;
    call.terms.softmaxScale = 0.37F;
    call.n = {6, 2, 2 * random.between(3, 5)};
    call.rows = random.between(2, 4);
    call.keys = 16;
    const size_t batch = random.between(2, 4);
    call.q = random.dense(batch, call.rows, call.n.heads, call.n.dim);
    call.kCache = random.dense(batch, call.keys, call.n.kvHeads, call.n.dim);
    call.vCache = random.dense(batch, call.keys, call.n.kvHeads, call.n.dim);
    call.cacheSeqlens = {0}; // empty rows, unless the call appends
    for (size_t b = 1; b < batch; b++) {
        call.cacheSeqlens.push_back(static_cast<int32_t>(random.between(1, call.keys - call.rows)));
    }
    return call;
}

void addNewRows(Random& random, Kvcache& call) {
    call.k = random.dense(call.cacheSeqlens.size(), call.rows, call.n.kvHeads, call.n.dim);
    call.v = random.dense(call.cacheSeqlens.size(), call.rows, call.n.kvHeads, call.n.dim);
}

// The tables of the usual base, for the first elements of each head.
void addRotation(Kvcache& call, size_t dim, bool interleaved) {
    call.rotaryDim = dim;
    call.rotaryInterleaved = interleaved;
    for (size_t p = 0; p < call.keys; p++) {
        for (size_t t = 0; t < dim / 2; t++) {
            const double angle =
                static_cast<double>(p) / std::pow(rotaryBase, 2.0 * static_cast<double>(t) / static_cast<double>(dim));
            call.rotaryCos.push_back(static_cast<float>(std::cos(angle)));
            call.rotarySin.push_back(static_cast<float>(std::sin(angle)));
        }
    }
}

// Cuts the cache of each sequence into pages, and moves the pages.
void putIntoPages(Random& random, Kvcache& call) {
    call.pageSize = 4;
    call.maxPages = call.keys / call.pageSize;
    call.blockTable = random.shuffled(call.cacheSeqlens.size() * call.maxPages);
    for (Strided* cache : {&call.kCache, &call.vCache}) {
        const size_t page = call.pageSize * call.n.kvHeads * call.n.dim;
        std::vector<float> moved(cache->values.size());
        for (size_t i = 0; i < call.blockTable.size(); i++) {
            std::copy_n(&cache->values[i * page], page, &moved[static_cast<size_t>(call.blockTable[i]) * page]);
        }
        cache->values = moved;
        cache->stride[0] = page;
    }
}

// The two calls of vkflash, with arrays of their own, because both sides change the cache and q.
struct OurKvcache {
    Ours attention;
    VkfAppendProblem append = vkf::make<VkfAppendProblem>();
    VkfAppendBuffers buffers = vkf::make<VkfAppendBuffers>();
    std::vector<float> kCache, vCache, rotatedQ;
    std::vector<int32_t> newLengths;

    explicit OurKvcache(const Kvcache& call)
        : kCache(call.kCache.values), vCache(call.vCache.values), rotatedQ(call.q.values.size()),
          newLengths(call.cacheSeqlens.size()) {
        VkfProblem& p = attention.problem;
        p.use = VKF_USE_KEY_LENGTHS;
        p.batch = small(call.cacheSeqlens.size());
        p.queryHeads = small(call.n.heads);
        p.kvHeads = small(call.n.kvHeads);
        p.queryRows = small(call.rows);
        p.keys = small(call.keys);
        p.headDim = small(call.n.dim);
        p.q = p.o = vkf::rowsFirst(VKF_TYPE_F32, call.rows, call.n.heads, call.n.dim);
        p.k = p.v = vkf::rowsFirst(VKF_TYPE_F32, call.keys, call.n.kvHeads, call.n.dim);
        p.scale = 0.37F;
        attention.inputs.q = call.q.values.data();
        attention.inputs.k = kCache.data();
        attention.inputs.v = vCache.data();
        attention.inputs.keyLengths = call.cacheSeqlens.data();
    }

    // Arguments k and v.
    void appendRows(const Kvcache& call) {
        append.batch = small(call.cacheSeqlens.size());
        append.kvHeads = small(call.n.kvHeads);
        append.rows = small(call.rows);
        append.keys = small(call.keys);
        append.headDim = small(call.n.dim);
        append.newK = append.newV = vkf::rowsFirst(VKF_TYPE_F32, call.rows, call.n.kvHeads, call.n.dim);
        append.k = append.v = attention.problem.k;
        append.use = VKF_USE_NEW_LENGTHS;
        buffers.newK = call.k->values.data();
        buffers.newV = call.v->values.data();
        buffers.k = kCache.data();
        buffers.v = vCache.data();
        buffers.lengths = call.cacheSeqlens.data();
        buffers.newLengths = newLengths.data();
        attention.inputs.keyLengths = newLengths.data();
    }
    // Arguments rotary_cos and rotary_sin.
    void rotateRows(const Kvcache& call, VkfRotaryPairs pairs) {
        append.use |= VKF_USE_QUERIES | VKF_USE_ROTARY_TABLES;
        append.queryHeads = small(call.n.heads);
        append.q = append.rotatedQ = attention.problem.q;
        append.rotary.pairs = pairs;
        append.rotary.dim = small(call.rotaryDim);
        append.rotary.tableRows = small(call.keys);
        buffers.q = call.q.values.data();
        buffers.rotatedQ = rotatedQ.data();
        buffers.cos = call.rotaryCos.data();
        buffers.sin = call.rotarySin.data();
        attention.inputs.q = rotatedQ.data();
    }
    // Argument block_table.
    void takePages(const Kvcache& call) {
        VkfProblem& p = attention.problem;
        p.use |= VKF_USE_BLOCK_TABLE;
        p.paging.pageSize = small(call.pageSize);
        p.paging.maxPages = small(call.maxPages);
        p.paging.pages = small(kCache.size() / (call.pageSize * call.n.kvHeads * call.n.dim));
        p.k = p.v = pagedTensor(call.pageSize, call.n.kvHeads, call.n.dim);
        attention.inputs.blockTable = call.blockTable.data();
        if (append.batch != 0) {
            append.use |= VKF_USE_BLOCK_TABLE;
            append.paging = p.paging;
            append.k = append.v = p.k;
            buffers.blockTable = call.blockTable.data();
        }
    }

    Outputs run() {
        if (append.batch != 0) {
            VkfMessage message{};
            const VkfResult result = vkfReferenceAppend(&append, &buffers, &message);
            INFO(message.text);
            REQUIRE(result == VKF_SUCCESS);
        }
        return compute(attention);
    }
};

std::vector<double> widened(const std::vector<float>& values) { return {values.begin(), values.end()}; }

} // namespace

TEST_CASE("calls of flash_attn_with_kvcache give the same as what docs/mapping.md writes for them", "[mapping]") {
    Random random(GENERATE(1U, 2U, 3U));
    Kvcache theirs = randomKvcache(random);
    const std::vector<float> slopes = random.numbers(theirs.n.heads);
    OurKvcache ours(theirs);
    std::vector<unsigned char> mask;
    std::vector<int32_t> pagesOfSequences;
    double bound = fp64Bound;

    SECTION("q, k_cache, v_cache, cache_seqlens, softmax_lse, out") {}
    SECTION("k, v") {
        addNewRows(random, theirs);
        ours.appendRows(theirs);
    }
    SECTION("k, v and causal") {
        theirs.terms.causal = true;
        addNewRows(random, theirs);
        ours.appendRows(theirs);
        ours.attention.problem.use |= VKF_USE_CAUSAL;
    }
    SECTION("rotary_cos, rotary_sin, rotary_interleaved = True, rotation of q") {
        theirs.terms.causal = true;
        addNewRows(random, theirs);
        addRotation(theirs, 4, true);
        ours.appendRows(theirs);
        ours.rotateRows(theirs, VKF_ROTARY_INTERLEAVED);
        ours.attention.problem.use |= VKF_USE_CAUSAL;
    }
    SECTION("rotary_cos, rotary_sin, rotary_interleaved = False, with a window") {
        theirs.terms.left = 5;
        theirs.terms.right = 1;
        addNewRows(random, theirs);
        addRotation(theirs, theirs.n.dim, false);
        ours.appendRows(theirs);
        ours.rotateRows(theirs, VKF_ROTARY_HALVES);
        ours.attention.problem.use |= VKF_USE_WINDOW;
        ours.attention.problem.window.left = 5;
        ours.attention.problem.window.right = 1;
    }
    SECTION("rotary_cos, rotary_sin with tableRows = 0") {
        theirs.terms.causal = true;
        addNewRows(random, theirs);
        addRotation(theirs, 4, false);
        ours.appendRows(theirs);
        ours.rotateRows(theirs, VKF_ROTARY_HALVES);
        ours.append.use &= ~VkfUse{VKF_USE_ROTARY_TABLES};
        ours.append.rotary.tableRows = 0;
        ours.attention.problem.use |= VKF_USE_CAUSAL;
        bound = fp32Bound;
    }
    SECTION("block_table") {
        addNewRows(random, theirs);
        putIntoPages(random, theirs);
        ours.kCache = theirs.kCache.values;
        ours.vCache = theirs.vCache.values;
        ours.appendRows(theirs);
        ours.takePages(theirs);
    }
    SECTION("cache_batch_idx, by pages") {
        theirs.cacheBatchIdx = random.shuffled(theirs.cacheSeqlens.size());
        // The block table takes the place of cache_batch_idx: the pages of cache c are its rows in order.
        Kvcache pages = theirs;
        pages.pageSize = 8;
        pages.maxPages = pages.keys / pages.pageSize;
        for (const int32_t cache : theirs.cacheBatchIdx) {
            for (size_t page = 0; page < pages.maxPages; page++) {
                pagesOfSequences.push_back(cache * static_cast<int32_t>(pages.maxPages) + static_cast<int32_t>(page));
            }
        }
        ours.takePages(pages);
        ours.attention.inputs.blockTable = pagesOfSequences.data();
    }
    SECTION("cache_leftpad, by a boolean mask") {
        for (const int32_t length : theirs.cacheSeqlens) {
            theirs.cacheLeftpad.push_back(static_cast<int32_t>(random.between(0, static_cast<size_t>(length))));
            for (size_t j = 0; j < theirs.keys; j++) {
                mask.push_back(static_cast<int64_t>(j) >= theirs.cacheLeftpad.back() ? 1 : 0);
            }
        }
        theirs.terms.causal = true;
        ours.attention.problem.use |= VKF_USE_MASK;
        ours.attention.problem.mask.type = VKF_TYPE_BOOL8;
        ours.attention.problem.mask.batchStride = theirs.keys;
        ours.attention.inputs.mask = mask.data();
        ours.attention.problem.use |= VKF_USE_CAUSAL;
    }
    SECTION("softmax_scale") {
        theirs.terms.softmaxScale = 0.21F;
        ours.attention.problem.scale = 0.21F;
    }
    SECTION("causal") {
        theirs.terms.causal = true;
        ours.attention.problem.use |= VKF_USE_CAUSAL;
    }
    SECTION("window_size") {
        theirs.terms.left = 2;
        theirs.terms.right = 0;
        ours.attention.problem.use |= VKF_USE_WINDOW;
        ours.attention.problem.window.left = 2;
    }
    SECTION("softcap and alibi_slopes") {
        theirs.terms.softcap = 0.4F;
        theirs.terms.alibiSlopes = slopes;
        ours.attention.problem.softcap = 0.4F;
        ours.attention.problem.use |= VKF_USE_ALIBI;
        ours.attention.problem.use |= VKF_USE_ALIBI_SLOPES;
        ours.attention.inputs.alibiSlopes = slopes.data();
    }
    SECTION("num_splits") { ours.attention.problem.kvSplits = 3; }

    const Outputs found = ours.run();
    const Outputs expected = flashAttnWithKvcache(theirs); // changes what `ours` reads, too
    checkSame(found.o, expected.o, bound);
    checkSame(found.lse, lseHere(expected.lse), bound);
    checkSame(widened(ours.kCache), widened(theirs.kCache.values), bound);
    checkSame(widened(ours.vCache), widened(theirs.vCache.values), bound);
}

TEST_CASE("appends of docs/mapping.md differ from flash_attn_with_kvcache where its table says so", "[mapping]") {
    Random random(7);
    Kvcache theirs = randomKvcache(random);
    addNewRows(random, theirs);
    addRotation(theirs, 4, true);

    SECTION("without causal and window FlashAttention turns all rows of q by the length") {
        OurKvcache ours(theirs);
        ours.appendRows(theirs);
        ours.rotateRows(theirs, VKF_ROTARY_INTERLEAVED);
        ours.run();
        writeNewRows(theirs);
        const size_t width = theirs.n.heads * theirs.n.dim;
        const auto row = [&](const std::vector<float>& q, size_t i) {
            return std::vector<double>(q.data() + i * width, q.data() + (i + 1) * width);
        };
        checkSame(row(ours.rotatedQ, 0), row(theirs.q.values, 0), fp64Bound);
        CHECK_FALSE(difference(row(ours.rotatedQ, 1), row(theirs.q.values, 1), 0.01).empty());
    }
    SECTION("rows past the end of the cache are dropped") {
        theirs.cacheSeqlens.back() = static_cast<int32_t>(theirs.keys) - 1;
        OurKvcache ours(theirs);
        ours.appendRows(theirs);
        ours.run();
        CHECK(ours.newLengths.back() == static_cast<int32_t>(theirs.keys));
        CHECK(ours.newLengths.front() == static_cast<int32_t>(theirs.rows));
    }
}
