// SPDX-License-Identifier: MIT
//
// K and V in pages and in block types on every path that supports them. Pages are shuffled. Unused pages, rows and
// entries of the block table are poisoned.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "support/call.hpp"
#include "support/dice.hpp"
#include "support/lists/block_tables.hpp"
#include "support/masks.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::Data;
using vkf::test::Dice;
using vkf::test::Variation;

constexpr std::array blockTypes = {VKF_TYPE_Q8_0, VKF_TYPE_Q4_0,   VKF_TYPE_Q4_1,    VKF_TYPE_Q5_0,
                                   VKF_TYPE_Q5_1, VKF_TYPE_IQ4_NL, VKF_TYPE_F8_E4M3, VKF_TYPE_F8_E5M2};
constexpr std::array<uint32_t, 4> pageSizes = {1, 6, 16, 176};
constexpr std::array<uint32_t, 3> splits = {0, 1, 3};
constexpr std::array<uint32_t, 6> headDims = {32, 64, 96, 128, 160, 256};
constexpr std::array<uint32_t, 6> sizes = {1, 7, 31, 64, 65, 113};
constexpr std::array<uint32_t, 4> groups = {1, 4, 5, 8};

VkfType storedType(Dice& dice) { return static_cast<VkfType>(dice.below(3)); }

VkfType cacheType(Dice& dice) { return dice.oneIn(4) ? storedType(dice) : blockTypes[dice.below(blockTypes.size())]; }

// Strides with gaps of whole blocks. Heads or rows are outermost.
void scatter(Dice& dice, VkfTensor& tensor, uint64_t heads, uint64_t rows, uint64_t dim) {
    if (dice.oneIn(2)) {
        return;
    }
    const uint64_t block = vkfBlockElements(tensor.type);
    const uint64_t step = dim + block * dice.below(3);
    if (dice.oneIn(2)) {
        tensor.rowStride = step;
        tensor.headStride = rows * step + block * dice.below(3);
        tensor.batchStride = heads * tensor.headStride + block * dice.below(3);
    } else {
        tensor.headStride = step;
        tensor.rowStride = heads * step + block * dice.below(3);
        tensor.batchStride = rows * tensor.rowStride + block * dice.below(3);
    }
}

void chooseMasks(Dice& dice, VkfProblem& p, Data& data) {
    vkf::enable(p, VKF_USE_CAUSAL, dice.oneIn(2));
    p.alignment = dice.oneIn(3) ? VKF_ALIGNMENT_TOP_LEFT : VKF_ALIGNMENT_BOTTOM_RIGHT;
    if (dice.oneIn(3)) {
        p.window = {static_cast<int64_t>(dice.below(120)) - 1, static_cast<int64_t>(dice.below(120)) - 1, 0};
        p.use |= VKF_USE_WINDOW;
        vkf::test::endAtDiagonal(p);
    }
    if (dice.oneIn(2)) {
        vkf::enable(p, VKF_USE_KEY_LENGTHS);
        for (uint32_t b = 0; b < p.batch; b++) {
            data.keyLengths.push_back(static_cast<int32_t>(dice.below(p.keys + 20)) - 5);
        }
    }
}

VkfProblem randomCache(Dice& dice, Data& data, bool fewRows) {
    vkf::test::Shape shape;
    shape.B = 1 + dice.below(3);
    shape.Hkv = 1 + dice.below(3);
    shape.H = shape.Hkv * dice.of(groups);
    shape.Nq = fewRows ? 1 + dice.below(4) : dice.of(sizes);
    shape.Nk = fewRows ? 1 + dice.below(500) : dice.of(sizes);
    shape.D = dice.of(headDims);
    shape.Dv = dice.oneIn(2) ? dice.of(headDims) : shape.D;
    VkfProblem p = vkf::test::problemOf(shape);
    p.q.type = storedType(dice);
    p.o.type = storedType(dice);
    p.k.type = cacheType(dice);
    p.v.type = cacheType(dice);
    uint64_t rows = shape.Nk;
    if (!dice.oneIn(3)) {
        rows = dice.of(pageSizes);
        vkf::test::setPages(p, static_cast<uint32_t>(rows), dice.below(4));
    }
    scatter(dice, p.k, shape.Hkv, rows, shape.D);
    scatter(dice, p.v, shape.Hkv, rows, shape.Dv);
    p.softcap = dice.oneIn(5) ? 10.0F : 0.0F;
    p.scale = dice.oneIn(5) ? -0.1F : 0.0F;
    chooseMasks(dice, p, data);
    p.maxScratchBytes = dice.oneIn(2) ? uint64_t{1} << 30 : 0; // path coopmat converts block types once, or not
    return p;
}

// A 16-bit type that the device multiplies. q of this type or of fp32, k and v of this type or of block types.
void makeTypesFitMatrices(const Variation& variation, VkfProblem& p) {
    const auto fit = [&p](VkfType type) {
        p.k.type = vkfBlockElements(p.k.type) == 1 ? type : p.k.type;
        p.v.type = vkfBlockElements(p.v.type) == 1 ? type : p.v.type;
        p.q.type = p.q.type == VKF_TYPE_F32 ? VKF_TYPE_F32 : type;
    };
    fit(p.q.type != VKF_TYPE_F32 ? p.q.type : p.o.type == VKF_TYPE_BF16 ? VKF_TYPE_BF16 : VKF_TYPE_F16);
    p.path = VKF_PATH_COOPMAT;
    if (vkfCheckSupport(vkf::test::deviceOf(variation).context(), &p, nullptr) != VKF_SUCCESS) {
        fit(VKF_TYPE_F16);
    }
}

// fp16 or an fp32 q, blocks, and pages whose rows fill the matrices of path decode on most devices.
void makeRowsFillMatrices(Dice& dice, VkfProblem& p) {
    constexpr std::array<uint32_t, 4> dims = {64, 128, 192, 256};
    p.q.type = p.q.type == VKF_TYPE_F32 ? VKF_TYPE_F32 : VKF_TYPE_F16;
    p.headDim = dice.of(dims);
    p.valueDim = dice.oneIn(3) ? dice.of(dims) : p.headDim;
    const auto fit = [&](VkfTensor& tensor) {
        const VkfType type = vkfBlockElements(tensor.type) == 1 ? VKF_TYPE_F16 : tensor.type;
        tensor = {};
        tensor.type = type;
    };
    fit(p.k);
    fit(p.v);
    const uint64_t rows = vkf::has(p, VKF_USE_BLOCK_TABLE) ? p.paging.pageSize : p.keys;
    scatter(dice, p.k, p.kvHeads, rows, p.headDim);
    scatter(dice, p.v, p.kvHeads, rows, p.valueDim);
}

void runSeeds(const Variation& variation, uint32_t firstSeed, uint32_t count, bool fillMatrices = false) {
    const bool decode = variation.path == VKF_PATH_DECODE;
    const bool coopmat = variation.path == VKF_PATH_COOPMAT;
    const uint32_t step = vkf::test::wholeSweeps() ? 1 : 8;
    for (uint32_t seed = firstSeed; seed < firstSeed + count; seed += step) {
        Dice dice(seed);
        Data data;
        data.seed = seed;
        VkfProblem problem = randomCache(dice, data, decode);
        if (coopmat) {
            makeTypesFitMatrices(variation, problem);
        }
        if (fillMatrices) {
            makeRowsFillMatrices(dice, problem);
        }
        const auto scales = [&] { return dice.oneIn(3) ? 0 : dice.oneIn(2) ? 1 : problem.kvHeads; };
        const uint32_t ofK = scales();
        vkf::test::setScales(problem, ofK, scales());
        if (!coopmat) {
            problem.kvSplits = dice.of(splits);
        }
        apply(variation, problem);
        INFO("seed " << seed << " on " << variation.name << ": " << vkf::test::describe(problem));
        const vkf::test::Outcome outcome = vkf::test::runCall(vkf::test::deviceOf(variation), problem, data);
        INFO(outcome.text());
        CHECK(outcome.passed());
    }
}

// The paths that support caches, one for each kind of kernel.
constexpr std::initializer_list<uint32_t> cacheVariations = {0, 4, 6, 8};

VkfProblem cacheOf(const vkf::test::Shape& shape, VkfType kType, VkfType vType, uint32_t pageSize) {
    VkfProblem problem = vkf::test::problemOf(shape);
    problem.k.type = kType;
    problem.v.type = vType;
    if (pageSize != 0) {
        vkf::test::setPages(problem, pageSize, 3);
    }
    return problem;
}

void checkOn(const Variation& variation, VkfProblem problem, const vkf::test::Inputs& inputs) {
    apply(variation, problem);
    INFO(variation.name << ": " << vkf::test::describe(problem));
    const vkf::test::Outcome outcome = vkf::test::runCall(vkf::test::deviceOf(variation), problem, inputs);
    INFO(outcome.text());
    CHECK(outcome.passed());
}

// Sets the scale of a block of a row of v, in the first KV head.
void setScale(const VkfProblem& problem, vkf::test::Inputs& inputs, uint64_t batch, uint64_t key, double scale) {
    const VkfTensorLayout v = vkf::layoutOf(problem, VKF_TENSOR_V);
    const auto [page, row] = inputs.placeOf(problem, batch, key);
    const uint64_t element = page * v.batchStride + row * v.rowStride;
    vkfStoreElement(VKF_TYPE_F16, &inputs.v[vkfStoredBytes(v.type, element)], 0, scale);
}

} // namespace

TEST_CASE("random caches agree with the reference on the scalar path", "[cache]") {
    runSeeds(vkf::test::variations[0], 1, 12);
    runSeeds(vkf::test::variations[2], 100, 4);
}

TEST_CASE("random caches agree with the reference on the decode path", "[cache]") {
    runSeeds(vkf::test::variations[6], 1000, 16);
    runSeeds(vkf::test::variations[8], 1100, 6);
}

TEST_CASE("random caches agree with the reference on the matrices of the decode path", "[cache_decode]") {
    runSeeds(vkf::test::variations[6], 3000, 20, true);
}

TEST_CASE("random caches agree with the reference on cooperative matrices", "[cache_coopmat]") {
    runSeeds(vkf::test::variations[4], 2000, 12);
    runSeeds(vkf::test::variations[5], 2100, 4);
}

TEST_CASE("every block type is read as k and as v, aligned to words or not", "[cache]") {
    for (size_t i = 0; i < blockTypes.size(); i++) {
        const VkfType other = blockTypes[(i + 1) % blockTypes.size()];
        for (const uint32_t dim : {32U, 64U}) { // rows of one block start between words
            if ((dim == 32) != (i % 2 == 0) && !vkf::test::wholeSweeps()) {
                continue;
            }
            const VkfProblem problem = cacheOf({1, 2, 1, 3, 70, dim}, blockTypes[i], other, 0);
            checkOn(vkf::test::variations[6], problem, vkf::test::makeInputs(problem, {}));
        }
    }
}

TEST_CASE("every block type is read as k and as v on cooperative matrices", "[cache_coopmat]") {
    for (size_t i = 0; i < blockTypes.size(); i++) {
        const VkfType other = blockTypes[(i + 1) % blockTypes.size()];
        for (const uint32_t dim : {32U, 64U}) {
            if ((dim == 32) != (i % 2 != 0) && !vkf::test::wholeSweeps()) {
                continue;
            }
            const VkfProblem problem =
                cacheOf({1, 1, 1, 9, 30, dim, 0, VKF_TYPE_F16}, blockTypes[i], other, dim == 32 ? 0 : 16);
            checkOn(vkf::test::variations[4], problem, vkf::test::makeInputs(problem, {}));
        }
    }
}

// With one key, o is v. Query row e has a 1 in column e alone, so that its lse is element e of k.
TEST_CASE("each code of iq4_nl is its number, in either half of a byte", "[cache_coopmat]") {
    constexpr std::array numbers = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
    constexpr uint32_t dim = 64;
    VkfProblem problem = cacheOf({1, 4, 1, 16, 1, dim, 0, VKF_TYPE_F16}, VKF_TYPE_IQ4_NL, VKF_TYPE_IQ4_NL, 0);
    problem.o.type = VKF_TYPE_F32;
    problem.scale = 1.0F;
    vkf::enable(problem, VKF_USE_LSE);
    const auto codeOf = [](size_t e) { return (7 * e + 3) % 16 ^ e / 16 % 2; };
    Data data;
    data.edit = [&](std::vector<std::byte>& q, std::vector<std::byte>& k, std::vector<std::byte>& v) {
        for (size_t e = 0; e < dim; e++) {
            std::byte& code = k[e / 32 * 18 + 2 + e % 16];
            code = e % 32 < 16 ? std::byte(codeOf(e)) : code | std::byte(codeOf(e) << 4);
            for (size_t row = 0; row < dim; row++) {
                vkfStoreElement(VKF_TYPE_F16, q.data(), row * dim + e, row == e ? 1.0 : 0.0);
            }
        }
        for (size_t block = 0; block < 2; block++) {
            vkfStoreElement(VKF_TYPE_F16, &k[block * 18], 0, 0.5);
        }
        v = k;
    };
    const vkf::test::Inputs inputs = vkf::test::makeInputs(problem, data);
    for (const uint32_t variation : {0U, 4U, 5U, 6U, 7U}) {
        apply(vkf::test::variations[variation], problem);
        INFO(vkf::test::variations[variation].name);
        const vkf::test::Outcome outcome =
            vkf::test::runCall(vkf::test::deviceOf(vkf::test::variations[variation]), problem, inputs);
        CHECK(outcome.passed());
        for (size_t e = 0; e < dim; e++) {
            const double expected = 0.5 * numbers[codeOf(e)];
            CAPTURE(e);
            const double o = vkfLoadElement(VKF_TYPE_F32, outcome.o.data(), 63 * dim + e);
            CHECK(std::abs(o - expected) < 0.1); // p may be rounded to fp16; the next number is 0.5 away
            CHECK(std::abs(static_cast<double>(outcome.lse[e]) - expected) < 1e-4);
        }
    }
}

TEST_CASE("pages give the bits of the same keys without pages", "[cache]") {
    for (const size_t variation : vkf::test::inTurn(cacheVariations)) {
        for (const uint32_t pageSize : {1U, 16U}) {
            VkfProblem problem =
                cacheOf({2, 2, 2, 5, 100, 64, 0, VKF_TYPE_F16}, VKF_TYPE_Q8_0, VKF_TYPE_Q8_0, pageSize);
            apply(vkf::test::variations[variation], problem);
            problem.use |= VKF_USE_CAUSAL;
            const vkf::test::Inputs inputs = vkf::test::makeInputs(problem, {.absentPages = false});
            VkfProblem plain{};
            const vkf::test::Inputs plainInputs = vkf::test::withoutPages(problem, inputs, &plain);
            vkf::host::Device& device = vkf::test::deviceOf(vkf::test::variations[variation]);
            INFO(vkf::test::variations[variation].name);
            const vkf::test::Outcome paged = vkf::test::runCall(device, problem, inputs);
            const vkf::test::Outcome contiguous = vkf::test::runCall(device, plain, plainInputs);
            CHECK(paged.passed());
            CHECK(paged.o == contiguous.o);
            CHECK(paged.lse == contiguous.lse);
        }
    }
}

TEST_CASE("sequences may share pages", "[cache]") {
    for (const size_t variation : vkf::test::inTurn(cacheVariations)) {
        VkfProblem problem = cacheOf({2, 2, 1, 2, 60, 64, 0, VKF_TYPE_F16}, VKF_TYPE_F16, VKF_TYPE_F16, 16);
        problem.paging.pages = 5; // for eight pages of keys
        vkf::enable(problem, VKF_USE_KEY_LENGTHS);
        vkf::test::Inputs inputs =
            vkf::test::makeInputs(problem, {.keyLengths = {60, 0}, .poisonInvisibleKeys = false, .absentPages = false});
        inputs.keyLengths[1] = 40;
        std::copy_n(inputs.blockTable.begin(), 3, inputs.blockTable.begin() + problem.paging.maxPages);
        checkOn(vkf::test::variations[variation], problem, inputs);
    }
}

TEST_CASE("a scale that is not finite reaches the rows that see its block, and no others", "[cache]") {
    for (const size_t variation : vkf::test::inTurn(cacheVariations)) {
        for (const double scale : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
            VkfProblem problem = cacheOf({1, 1, 1, 12, 40, 64, 0, VKF_TYPE_F16}, VKF_TYPE_Q8_0, VKF_TYPE_Q4_0, 4);
            problem.use |= VKF_USE_CAUSAL;
            problem.o.type = VKF_TYPE_F32;
            vkf::test::Inputs inputs = vkf::test::makeInputs(problem, {.absentPages = false});
            setScale(problem, inputs, 0, 33, scale); // rows from 5 on see it
            checkOn(vkf::test::variations[variation], problem, inputs);
        }
    }
}

TEST_CASE("elements past the largest fp16 are right in fp32, and infinite in products of fp16", "[cache]") {
    VkfProblem problem = cacheOf({1, 1, 1, 9, 40, 64, 0, VKF_TYPE_F16}, VKF_TYPE_F16, VKF_TYPE_Q8_0, 0);
    problem.use |= VKF_USE_CAUSAL;
    problem.o.type = VKF_TYPE_F32;
    vkf::test::Inputs inputs = vkf::test::makeInputs(problem, {});
    for (const uint64_t key : {0U, 35U}) { // seen by all rows, and by some
        setScale(problem, inputs, 0, key, 20000.0);
    }
    for (const size_t variation : vkf::test::inTurn(cacheVariations)) {
        checkOn(vkf::test::variations[variation], problem, inputs);
    }
}

TEST_CASE("keys of entries that are not pages are absent, whatever the last page holds", "[cache]") {
    for (const size_t variation : vkf::test::inTurn(cacheVariations)) {
        for (const uint32_t pageSize : {3U, 16U, 256U}) {
            VkfProblem problem = cacheOf({2, 4, 2, 3, 300, 64, 0, VKF_TYPE_F16}, VKF_TYPE_F16, VKF_TYPE_F16, pageSize);
            vkf::test::Inputs inputs = vkf::test::makeInputs(problem, {.absentPages = false});
            const auto last = static_cast<int32_t>(problem.paging.pages - 1);
            std::replace(inputs.blockTable.begin(), inputs.blockTable.end(), last, last + 1);
            inputs.blockTable[0] = -1;
            for (const VkfTensorRole role : {VKF_TENSOR_K, VKF_TENSOR_V}) {
                const VkfTensorLayout layout = vkf::layoutOf(problem, role);
                std::vector<std::byte>& bytes = role == VKF_TENSOR_K ? inputs.k : inputs.v;
                const uint64_t element = (problem.paging.pages - 1) * layout.batchStride;
                const auto first = static_cast<std::ptrdiff_t>(vkfStoredBytes(layout.type, element));
                std::fill(bytes.begin() + first, bytes.end(), std::byte{0xff}); // NaN
            }
            checkOn(vkf::test::variations[variation], problem, inputs);
        }
    }
}

TEST_CASE("a page may have millions of keys", "[cache]") {
    for (const size_t variation : {size_t{0}, size_t{4}}) { // the kernels that look at entries before they walk
        VkfProblem problem = cacheOf({1, 1, 1, 3, 40, 8, 0, VKF_TYPE_F16}, VKF_TYPE_F16, VKF_TYPE_F16, 0);
        problem.paging = {64, 1, 1};
        problem.use |= VKF_USE_BLOCK_TABLE;
        for (VkfTensor* tensor : {&problem.k, &problem.v}) { // all rows are one, so that a page may have any number
            tensor->headStride = tensor->batchStride = 8;
        }
        const vkf::test::Inputs inputs = vkf::test::makeInputs(problem, {.absentPages = false});
        problem.paging.pageSize = 1U << 22; // times the entries that a workgroup loads at once, a multiple of 2^32
        checkOn(vkf::test::variations[variation], problem, inputs);
    }
}

TEST_CASE("rows without any page have o = 0 and lse = -infinity", "[cache]") {
    for (const size_t variation : vkf::test::inTurn(cacheVariations)) {
        VkfProblem problem = cacheOf({2, 2, 1, 3, 200, 64, 0, VKF_TYPE_F16}, VKF_TYPE_Q8_0, VKF_TYPE_F16, 16);
        apply(vkf::test::variations[variation], problem);
        vkf::test::Inputs inputs = vkf::test::makeInputs(problem, {});
        std::fill(inputs.blockTable.begin(), inputs.blockTable.end(), std::numeric_limits<int32_t>::min());
        const vkf::test::Outcome outcome =
            vkf::test::runCall(vkf::test::deviceOf(vkf::test::variations[variation]), problem, inputs);
        INFO(vkf::test::variations[variation].name << outcome.text());
        CHECK(outcome.passed());
        CHECK(std::all_of(outcome.o.begin(), outcome.o.end(), [](std::byte x) { return x == std::byte{0}; }));
        CHECK(std::all_of(outcome.lse.begin(), outcome.lse.end(), [](float x) { return std::isinf(x) && x < 0.0F; }));
    }
}

TEST_CASE("a cache may have no keys at all", "[cache]") {
    for (const size_t variation : vkf::test::inTurn(cacheVariations)) {
        VkfProblem problem = cacheOf({2, 1, 1, 3, 0, 32, 0, VKF_TYPE_F16}, VKF_TYPE_Q8_0, VKF_TYPE_Q8_0, 16);
        checkOn(vkf::test::variations[variation], problem, vkf::test::makeInputs(problem, {}));
        problem = cacheOf({2, 1, 1, 3, 20, 32, 0, VKF_TYPE_F16}, VKF_TYPE_Q8_0, VKF_TYPE_Q8_0, 16);
        vkf::enable(problem, VKF_USE_KEY_LENGTHS);
        checkOn(vkf::test::variations[variation], problem, vkf::test::makeInputs(problem, {.keyLengths = {0, -3}}));
    }
}

TEST_CASE("a long walk over small pages finds each of them", "[cache]") {
    for (const size_t variation : vkf::test::inTurn(cacheVariations)) {
        VkfProblem problem = cacheOf({2, 2, 1, 2, 500, 64, 0, VKF_TYPE_F16}, VKF_TYPE_F16, VKF_TYPE_Q8_0, 2);
        problem.kvSplits = 1; // one workgroup for all keys
        checkOn(vkf::test::variations[variation], problem, vkf::test::makeInputs(problem, {}));
    }
}
