// SPDX-License-Identifier: MIT
//
// vkfCmdMerge against the reference and against attention over all keys at once.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <vkflash/host.hpp>
#include <vkflash/reference.h>
#include <vkflash/vkflash.hpp>

#include "support/call.hpp"
#include "support/device.hpp"
#include "support/guarded.hpp"
#include "support/lacking.hpp"

namespace {

using vkf::test::Guarded;
using vkf::test::testDevice;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr VkfType storedTypes[] = {VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_BF16};

VkfMergeProblem mergeOf(uint32_t partials, uint32_t batch, uint32_t heads, uint32_t rows, uint32_t dim) {
    auto problem = vkf::make<VkfMergeProblem>();
    problem.partials = partials;
    problem.batch = batch;
    problem.heads = heads;
    problem.rows = rows;
    problem.dim = dim;
    vkf::enable(problem, VKF_USE_LSE);
    return problem;
}

struct Partials {
    std::vector<std::byte> o;
    std::vector<float> lse;
};

// Some partial results of some rows are empty: their lse is an infinity of either sign, and their o is NaN. Row 0 has
// only empty ones.
Partials randomPartials(const VkfMergeProblem& p, uint32_t seed, float spread) {
    const VkfMergeLayout layout = vkf::mergeLayoutOf(p);
    const VkfTensorLayout partial = vkf::layoutOf(p, VKF_MERGE_PARTIAL);
    Partials partials{std::vector<std::byte>(layout.partialElements * vkfTypeBytes(p.partial.type), std::byte{0xff}),
                      std::vector<float>(layout.lseElements, std::numeric_limits<float>::quiet_NaN())};
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal(0.0F, 1.0F);
    const uint64_t rows = uint64_t{p.batch} * p.heads * p.rows;
    for (uint32_t k = 0; k < p.partials; k++) {
        for (uint64_t row = 0; row < rows; row++) {
            const bool empty = row == 0 || random() % 4 == 0;
            partials.lse[k * layout.lsePartialStride + row] = !empty              ? spread * normal(random)
                                                              : random() % 2 == 0 ? infinity
                                                                                  : -infinity;
            const uint64_t head = row / p.rows;
            const uint64_t first = k * layout.partialStride + head / p.heads * partial.batchStride +
                                   head % p.heads * partial.headStride + row % p.rows * partial.rowStride;
            for (uint32_t d = 0; d < p.dim && !empty; d++) {
                vkfStoreElement(p.partial.type, partials.o.data(), first + d, static_cast<double>(normal(random)));
            }
        }
    }
    return partials;
}

struct Merged {
    std::vector<std::byte> o; // the tensor's span, gaps included
    std::vector<float> lse;
    bool guardsIntact = false;
};

Merged runMerge(const VkfMergeProblem& problem, const Partials& partials) {
    vkf::host::Device& device = testDevice();
    const uint64_t rows = uint64_t{problem.batch} * problem.heads * problem.rows;
    const Guarded partialBuffer(device, partials.o.size());
    const Guarded partialLse(device, partials.lse.size() * sizeof(float));
    const Guarded o(device, vkf::layoutOf(problem, VKF_MERGE_O).elements * vkfTypeBytes(problem.o.type));
    const Guarded lse(device, vkf::has(problem, VKF_USE_LSE) ? rows * sizeof(float) : 0);
    device.upload(partialBuffer.buffer, partials.o.data(), partialBuffer.bytes, partialBuffer.offset);
    device.upload(partialLse.buffer, partials.lse.data(), partialLse.bytes, partialLse.offset);

    vkf::Merge merge;
    VkfMessage message{};
    const VkfResult created = vkfCreateMerge(device.context(), &problem, merge.put(), &message);
    INFO(message.text);
    REQUIRE(created == VKF_SUCCESS);
    auto bindings = vkf::make<VkfMergeBindings>();
    bindings.partials = partialBuffer.binding();
    bindings.partialLse = partialLse.binding();
    bindings.o = o.binding();
    bindings.lse = lse.binding();
    device.submit([&](VkCommandBuffer commandBuffer) {
        CHECK(vkfCmdMerge(commandBuffer, merge.get(), &bindings, &message) == VKF_SUCCESS);
    });
    const std::vector<std::byte> oAll = o.download(device);
    const std::vector<std::byte> lseAll = lse.download(device);
    Merged merged;
    merged.o.assign(oAll.begin() + static_cast<std::ptrdiff_t>(o.offset),
                    oAll.begin() + static_cast<std::ptrdiff_t>(o.offset + o.bytes));
    merged.lse.resize(lse.bytes / sizeof(float));
    std::ranges::copy(std::span(lseAll).subspan(lse.offset, lse.bytes),
                      std::as_writable_bytes(std::span(merged.lse)).begin());
    merged.guardsIntact = o.intact(oAll) && lse.intact(lseAll);
    return merged;
}

// The kernel's arithmetic in its simplest order: fp32, then o rounded. It gives the size of an honest error.
double fp32Merge(const VkfMergeProblem& p, const VkfMergeLayout& layout, const Partials& partials, uint64_t row,
                 uint64_t firstElement, uint32_t column) {
    const auto lseOf = [&](uint32_t k) { return partials.lse[k * layout.lsePartialStride + row]; };
    float m = -infinity;
    for (uint32_t k = 0; k < p.partials; k++) {
        m = std::isinf(lseOf(k)) ? m : std::max(m, lseOf(k));
    }
    const float unit = vkf::has(p, VKF_USE_BASE_2_LSE) ? 1.0F : 1.44269504F;
    float l = 0.0F;
    float o = 0.0F;
    for (uint32_t k = 0; k < p.partials; k++) {
        if (!std::isinf(lseOf(k))) {
            const float weight = std::exp2((lseOf(k) - m) * unit);
            l += weight;
            o += weight * static_cast<float>(vkfLoadElement(p.partial.type, partials.o.data(),
                                                            k * layout.partialStride + firstElement + column));
        }
    }
    float stored{};
    vkfStoreElement(p.o.type, &stored, 0, l == 0.0F ? 0.0 : static_cast<double>(o / l));
    return vkfLoadElement(p.o.type, &stored, 0);
}

// Checks every element of o and lse, and that no other byte of o's span was written.
void checkMerged(const VkfMergeProblem& p, const Partials& partials, const Merged& merged) {
    const VkfMergeLayout layout = vkf::mergeLayoutOf(p);
    const VkfTensorLayout partial = vkf::layoutOf(p, VKF_MERGE_PARTIAL);
    const VkfTensorLayout oLayout = vkf::layoutOf(p, VKF_MERGE_O);
    const uint64_t rows = uint64_t{p.batch} * p.heads * p.rows;
    std::vector<double> o(rows * p.dim);
    std::vector<double> lse(rows);
    REQUIRE(vkfReferenceMerge(&p, partials.o.data(), partials.lse.data(), o.data(), lse.data(), nullptr) ==
            VKF_SUCCESS);

    double error = 0.0;
    double honestError = 0.0;
    double largest = 0.0;
    uint64_t wrongRows = 0;
    std::vector<bool> written(merged.o.size(), false);
    const uint64_t bytes = vkfTypeBytes(p.o.type);
    for (uint64_t row = 0; row < rows; row++) {
        const uint64_t head = row / p.rows;
        const uint64_t at = head / p.heads * oLayout.batchStride + head % p.heads * oLayout.headStride +
                            row % p.rows * oLayout.rowStride;
        const uint64_t from = head / p.heads * partial.batchStride + head % p.heads * partial.headStride +
                              row % p.rows * partial.rowStride;
        for (uint32_t d = 0; d < p.dim; d++) {
            const double exact = o[row * p.dim + d];
            const double value = vkfLoadElement(p.o.type, merged.o.data(), at + d);
            const bool isNumber = lse[row] == -static_cast<double>(infinity) ? value == 0.0 : std::isfinite(value);
            wrongRows += isNumber ? 0 : 1;
            error = std::max(error, std::abs(value - exact));
            honestError = std::max(honestError, std::abs(fp32Merge(p, layout, partials, row, from, d) - exact));
            largest = std::max(largest, std::abs(exact));
        }
        std::fill_n(written.begin() + static_cast<std::ptrdiff_t>(at * bytes), p.dim * bytes, true);
        if (vkf::has(p, VKF_USE_LSE)) {
            const double tolerance = 4.0 * 0x1p-23 * std::max(1.0, std::abs(lse[row]));
            const auto value = static_cast<double>(merged.lse[row]);
            wrongRows += value == lse[row] || std::abs(value - lse[row]) <= tolerance ? 0 : 1;
        }
    }
    CHECK(wrongRows == 0);
    const double step = p.o.type == VKF_TYPE_F32 ? 0x1p-23 : p.o.type == VKF_TYPE_F16 ? 0x1p-10 : 0x1p-7;
    CHECK(error <= 2.0 * honestError + 4.0 * (p.o.type == VKF_TYPE_F32 ? step : 0.25 * step) * largest);
    for (size_t i = 0; i < merged.o.size(); i++) {
        if (!written[i] && merged.o[i] != std::byte{0xff}) {
            FAIL("a gap of o was written");
        }
    }
    CHECK(merged.guardsIntact);
}

} // namespace

TEST_CASE("two partial results of a row merge as computed by hand, and empty ones and an infinite lse count nothing",
          "[merge][slice]") {
    // Probabilities 1 and 3 out of 4.
    const float lse[] = {0.0F, std::log(3.0F), -infinity, infinity};
    const float o[] = {4.0F, 8.0F, NAN, NAN};
    VkfMergeProblem problem = mergeOf(4, 1, 1, 1, 1);
    double merged = 0.0;
    double mergedLse = 0.0;
    REQUIRE(vkfReferenceMerge(&problem, o, lse, &merged, &mergedLse, nullptr) == VKF_SUCCESS);
    CHECK(merged == Catch::Approx(7.0).epsilon(1e-7));
    CHECK(mergedLse == Catch::Approx(std::log(4.0)).epsilon(1e-7));

    Partials partials{std::vector<std::byte>(sizeof o), std::vector<float>(std::begin(lse), std::end(lse))};
    std::memcpy(partials.o.data(), o, sizeof o);
    const Merged onDevice = runMerge(problem, partials);
    float value{};
    std::memcpy(&value, onDevice.o.data(), sizeof value);
    CHECK(value == Catch::Approx(7.0F).epsilon(1e-6));
    CHECK(onDevice.lse[0] == Catch::Approx(std::log(4.0F)).epsilon(1e-6));
}

TEST_CASE("merges of random partial results agree with the reference and repeat their bits", "[merge][slice]") {
    const uint32_t types = vkf::test::lacksStorage16(testDevice()) ? 1 : 3;
    std::mt19937 random(71);
    const auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
    for (uint32_t seed = 0; seed < 60; seed++) {
        VkfMergeProblem p = mergeOf(1 + below(seed % 5 == 0 ? 150 : 9), 1 + below(3), 1 + below(5), 1 + below(7),
                                    1 + below(seed % 7 == 0 ? 700 : 140));
        p.partial.type = storedTypes[below(3) % types];
        p.o.type = storedTypes[below(3) % types];
        vkf::enable(p, VKF_USE_LSE, below(4) != 0);
        vkf::enable(p, VKF_USE_BASE_2_LSE, seed % 4 >= 2);
        if (below(2) != 0) { // [batch, rows, heads, dim], rows a little apart
            p.partial = vkf::rowsFirst(p.partial.type, p.rows, p.heads, p.dim + below(4));
            p.partialStride = vkf::layoutOf(p, VKF_MERGE_PARTIAL).elements + below(5);
            p.lsePartialStride = uint64_t{p.batch} * p.heads * p.rows + below(3);
        }
        if (below(2) != 0) {
            p.o = vkf::rowsFirst(p.o.type, p.rows, p.heads, p.dim + below(4));
        }
        INFO("seed " << seed << ": " << p.partials << " partials of " << p.batch << "x" << p.heads << "x" << p.rows
                     << "x" << p.dim << ", " << vkfTypeName(p.partial.type) << " to " << vkfTypeName(p.o.type));
        const Partials partials = randomPartials(p, seed, seed % 3 == 0 ? 100.0F : 3.0F);
        const Merged merged = runMerge(p, partials);
        checkMerged(p, partials, merged);
        const Merged again = runMerge(p, partials);
        CHECK((again.o == merged.o));
        CHECK(std::ranges::equal(std::as_bytes(std::span(again.lse)), std::as_bytes(std::span(merged.lse))));
    }
}

TEST_CASE("a NaN in a partial result that counts reaches only its row", "[merge][slice]") {
    const VkfMergeProblem p = mergeOf(3, 1, 1, 2, 4);
    Partials partials{std::vector<std::byte>(sizeof(float) * 24), std::vector<float>(6, 0.0F)};
    partials.lse[2] = NAN; // partial result 1, row 0
    const Merged merged = runMerge(p, partials);
    if (!vkf::test::losesNan(testDevice())) {
        CHECK(std::isnan(merged.lse[0]));
        CHECK(std::isnan(vkfLoadElement(VKF_TYPE_F32, merged.o.data(), 0)));
    }
    CHECK(vkfLoadElement(VKF_TYPE_F32, merged.o.data(), 4) == 0.0);
    CHECK(merged.lse[1] == Catch::Approx(std::log(3.0F)).epsilon(1e-6));
}

TEST_CASE("attention over two halves of the keys, merged, is attention over all of them", "[merge][slice]") {
    vkf::host::Device& device = testDevice();
    const VkfProblem whole = vkf::test::problemOf({.B = 2, .H = 4, .Hkv = 2, .Nq = 3, .Nk = 100, .D = 40});
    vkf::test::Data data;
    data.poisonInvisibleKeys = false;
    const vkf::test::Inputs inputs = vkf::test::makeInputs(whole, data);
    const uint64_t rows = uint64_t{whole.batch} * whole.queryHeads * whole.queryRows;
    const VkfMergeProblem p = mergeOf(2, whole.batch, whole.queryHeads, whole.queryRows, whole.headDim);

    const Guarded q(device, inputs.q.size());
    const Guarded k(device, inputs.k.size());
    const Guarded v(device, inputs.v.size());
    const Guarded partialO(device, 2 * rows * whole.headDim * sizeof(float));
    const Guarded partialLse(device, 2 * rows * sizeof(float));
    device.upload(q.buffer, inputs.q.data(), q.bytes, q.offset);
    device.upload(k.buffer, inputs.k.data(), k.bytes, k.offset);
    device.upload(v.buffer, inputs.v.data(), v.bytes, v.offset);
    const uint32_t begins[] = {0, 37, whole.keys};
    for (uint32_t partial = 0; partial < 2; partial++) {
        VkfProblem half = whole;
        half.keys = begins[partial + 1] - begins[partial];
        half.k = half.v = vkf::dense(VKF_TYPE_F32);
        half.k.rowStride = half.v.rowStride = whole.headDim;
        half.k.headStride = half.v.headStride = uint64_t{whole.keys} * whole.headDim;
        half.k.batchStride = half.v.batchStride = half.k.headStride * whole.kvHeads;
        const vkf::host::Plan plan(device, half);
        const uint64_t keyBytes = uint64_t{begins[partial]} * whole.headDim * sizeof(float);
        auto bindings = vkf::make<VkfBindings>();
        bindings.q = q.binding();
        bindings.k = k.buffer.binding(k.offset + keyBytes);
        bindings.v = v.buffer.binding(v.offset + keyBytes);
        bindings.o = partialO.buffer.binding(partialO.offset + partial * rows * whole.headDim * sizeof(float));
        bindings.lse = partialLse.buffer.binding(partialLse.offset + partial * rows * sizeof(float));
        const vkf::host::Buffer scratch = device.createBuffer(plan.info().scratchBytes);
        bindings.scratch = scratch.binding();
        device.submit([&](VkCommandBuffer commandBuffer) {
            CHECK(vkfCmdAttention(commandBuffer, plan.handle(), &bindings, nullptr) == VKF_SUCCESS);
        });
    }
    Partials partials{std::vector<std::byte>(partialO.bytes), std::vector<float>(2 * rows)};
    device.download(partials.o.data(), partialO.buffer, partialO.bytes, partialO.offset);
    device.download(partials.lse.data(), partialLse.buffer, partialLse.bytes, partialLse.offset);
    const Merged merged = runMerge(p, partials);

    const VkfReferenceInputs reference = inputs.reference();
    auto verdict = vkf::make<VkfVerdict>();
    REQUIRE(vkfReferenceVerify(&whole, &reference, nullptr, merged.o.data(), merged.lse.data(), &verdict, nullptr) ==
            VKF_SUCCESS);
    INFO("o error " << verdict.oError << " (bound " << verdict.oBound << "), lse error " << verdict.lseError);
    CHECK(verdict.passed != 0);
}

namespace {

// Packed sequences over one pool of pages. Their first keys lie in the same pages.
struct SharedPrefix {
    static constexpr uint32_t page = 16;
    static constexpr uint32_t prefixPages = 5;
    static constexpr uint32_t prefixKeys = page * prefixPages;

    VkfProblem whole;
    vkf::test::Inputs inputs;
    std::vector<int32_t> ownLengths;

    explicit SharedPrefix(const std::vector<int32_t>& rows, const std::vector<int32_t>& own) : ownLengths(own) {
        whole = vkf::test::problemOf({static_cast<uint32_t>(rows.size()), 6, 2, 8, prefixKeys + 64, 64});
        vkf::enable(whole, VKF_USE_CAUSAL);
        vkf::enable(whole, VKF_USE_LSE);
        vkf::enable(whole, VKF_USE_KEY_LENGTHS);
        vkf::test::setPages(whole, page, 0);
        vkf::test::Data data{.poisonInvisibleKeys = false, .absentPages = false};
        for (const int32_t keys : own) {
            data.keyLengths.push_back(static_cast<int32_t>(prefixKeys) + keys);
        }
        setPacked(whole, data, rows, {});
        inputs = vkf::test::makeInputs(whole, data);
        for (size_t b = 1; b < rows.size(); b++) {
            std::copy_n(inputs.blockTable.begin(), prefixPages, inputs.blockTable.begin() + entryOf(b));
        }
    }

    std::ptrdiff_t entryOf(size_t sequence) const {
        return static_cast<std::ptrdiff_t>(sequence * whole.paging.maxPages);
    }
    // All rows, over the keys of the first pages. Every row sees all of them.
    VkfProblem prefix() const {
        VkfProblem problem = whole;
        problem.batch = 1;
        problem.keys = prefixKeys;
        problem.longestRows = 0;
        vkf::enable(problem, VKF_USE_CU_SEQLENS, false);
        vkf::enable(problem, VKF_USE_KEY_LENGTHS, false);
        vkf::enable(problem, VKF_USE_CAUSAL, false);
        return problem;
    }
    // The rows of each sequence, over its other keys.
    VkfProblem own() const {
        VkfProblem problem = whole;
        problem.keys -= prefixKeys;
        return problem;
    }
    // The inputs of that call. Its table begins behind the first pages of the first sequence, and keeps the distance
    // from sequence to sequence.
    vkf::test::Inputs ownInputs() const {
        vkf::test::Inputs own = inputs;
        own.blockTable.erase(own.blockTable.begin(), own.blockTable.begin() + prefixPages);
        own.blockTable.resize(inputs.blockTable.size(), -1);
        own.keyLengths = ownLengths;
        return own;
    }
};

} // namespace

TEST_CASE("sequences that share their first pages attend to them in one call, and merge it with their own keys",
          "[merge]") {
    const std::vector<std::vector<int32_t>> rows = {{1, 1, 1, 1, 1}, {3, 0, 1, 4, 2}};
    for (const std::vector<int32_t>& ofSequences : rows) {
        const SharedPrefix shared(ofSequences, {9, 30, 64, 4, 17});
        const vkf::test::Outcome prefix = vkf::test::runUnjudged(testDevice(), shared.prefix(), shared.inputs);
        const vkf::test::Outcome own = vkf::test::runUnjudged(testDevice(), shared.own(), shared.ownInputs());
        // Both have the layout of the whole call, so one binding serves as the array of a merge.
        const VkfProblem& whole = shared.whole;
        REQUIRE(prefix.o.size() == own.o.size());
        REQUIRE(prefix.lse.size() == own.lse.size());
        Partials partials{prefix.o, prefix.lse};
        partials.o.insert(partials.o.end(), own.o.begin(), own.o.end());
        partials.lse.insert(partials.lse.end(), own.lse.begin(), own.lse.end());
        VkfMergeProblem merge = mergeOf(2, 1, whole.queryHeads, whole.queryRows, whole.headDim);
        merge.partial = merge.o = whole.o;
        const Merged merged = runMerge(merge, partials);
        const VkfReferenceInputs reference = shared.inputs.reference();
        auto verdict = vkf::make<VkfVerdict>();
        REQUIRE(vkfReferenceVerify(&whole, &reference, nullptr, merged.o.data(), merged.lse.data(), &verdict,
                                   nullptr) == VKF_SUCCESS);
        INFO("o error " << verdict.oError << " (bound " << verdict.oBound << "), lse error " << verdict.lseError);
        CHECK(verdict.passed != 0);
    }
}

TEST_CASE("a merge may have more workgroups than one dispatch takes", "[merge]") {
    // 16 groups of one lane share 57 partial results, so 8 rows fill a workgroup. The partial results overlap in
    // memory: partial result k is number k for every row. It counts in row i if k + i is a multiple of 57.
    constexpr uint32_t partials = 57;
    VkfMergeProblem p = mergeOf(partials, 1, 1, 65535 * 8 + 100, 1);
    p.partial.headStride = 1; // and none from row to row
    p.partialStride = 1;
    p.lsePartialStride = 1;
    std::vector<float> numbers(partials);
    std::iota(numbers.begin(), numbers.end(), 0.0F);
    Partials given{std::vector<std::byte>(sizeof(float) * partials),
                   std::vector<float>(p.rows + partials - 1, -infinity)};
    std::memcpy(given.o.data(), numbers.data(), given.o.size());
    for (size_t i = 0; i < given.lse.size(); i += partials) {
        given.lse[i] = 2.0F;
    }
    const Merged merged = runMerge(p, given);
    std::vector<float> o(p.rows);
    std::memcpy(o.data(), merged.o.data(), merged.o.size());
    uint64_t wrong = 0;
    for (uint32_t i = 0; i < p.rows; i++) {
        wrong += o[i] == static_cast<float>((partials - i % partials) % partials) && merged.lse[i] == 2.0F ? 0 : 1;
    }
    CHECK(wrong == 0);
    CHECK(merged.guardsIntact);
}

TEST_CASE("errors of a merge are named", "[merge]") {
    vkf::test::skipWithoutDevice();
    VkfMessage message{};
    const auto refusal = [&](auto change) {
        VkfMergeProblem problem = mergeOf(2, 1, 2, 3, 8);
        change(problem);
        CHECK(vkfCheckMerge(&problem, &message) != VKF_SUCCESS);
        return std::string(message.text);
    };
    CHECK(refusal([](VkfMergeProblem& p) { p.partials = 0; }) == "partials is 0; it must be at least 1");
    CHECK(refusal([](VkfMergeProblem& p) { p.dim = 0; }) == "dim is 0; it must be at least 1");
    CHECK(refusal([](VkfMergeProblem& p) { p.dim = 65537; }) == "dim is 65537, over the limit of 65536");
    CHECK(refusal([](VkfMergeProblem& p) { p.rows = 0x40000000; }) ==
          "batch * heads * rows is 2147483648, over the limit of 1073676288");
    CHECK(refusal([](VkfMergeProblem& p) { vkf::enable(p, VKF_USE_SINKS); }) ==
          "use has VKF_USE_SINKS, which a merge does not have");
    CHECK(refusal([](VkfMergeProblem& p) { p.partial.type = VKF_TYPE_Q8_0; }) ==
          "type of partial is 4 (q8_0); this version takes f32, f16, bf16");
    CHECK(refusal([](VkfMergeProblem& p) { p.o.rowStride = 4; }) == "the strides of o make elements overlap");
    CHECK(refusal([](VkfMergeProblem& p) { p.partialStride = uint64_t{1} << 62; }) ==
          "partialStride reaches past 2^62 - 1 elements");
    CHECK(refusal([](VkfMergeProblem& p) { p.structSize = 7; }).starts_with("structSize of problem is 7"));

    const VkfMergeProblem problem = mergeOf(2, 1, 2, 3, 8);
    vkf::Merge merge;
    REQUIRE(vkfCreateMerge(testDevice().context(), &problem, merge.put(), nullptr) == VKF_SUCCESS);
    auto bindings = vkf::make<VkfMergeBindings>();
    bindings.partials.address = bindings.partialLse.address = bindings.o.address = 4096;
    testDevice().submit([&](VkCommandBuffer commandBuffer) {
        CHECK(vkfCmdMerge(commandBuffer, merge.get(), &bindings, &message) == VKF_ERROR_INVALID_ARGUMENT);
        CHECK(std::string(message.text) == "lse has neither address nor buffer; the call needs 24 bytes there");
        bindings.lse.address = 4096;
        bindings.partials.size = 2 * 2 * 3 * 8 * sizeof(float) - 1;
        CHECK(vkfCmdMerge(commandBuffer, merge.get(), &bindings, &message) == VKF_ERROR_BINDING_TOO_SMALL);
    });
}

TEST_CASE("a merge without rows records nothing", "[merge]") {
    vkf::test::skipWithoutDevice();
    const VkfMergeProblem problem = mergeOf(2, 1, 0, 3, 8);
    vkf::Merge merge;
    REQUIRE(vkfCreateMerge(testDevice().context(), &problem, merge.put(), nullptr) == VKF_SUCCESS);
    const auto bindings = vkf::make<VkfMergeBindings>();
    testDevice().submit([&](VkCommandBuffer commandBuffer) {
        CHECK(vkfCmdMerge(commandBuffer, merge.get(), &bindings, nullptr) == VKF_SUCCESS);
    });
}
