// SPDX-License-Identifier: MIT
//
// Dropout: the published generator, its statistics, and the keys that every kernel and every reference algorithm keeps.
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "support/call.hpp"
#include "support/everywhere.hpp"
#include "support/lacking.hpp"
#include "support/reference.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::checkEverywhere;
using vkf::test::checkOn;
using vkf::test::Data;
using vkf::test::Inputs;
using vkf::test::isUnmaskedTile;
using vkf::test::makeInputs;
using vkf::test::Outcome;
using vkf::test::problemOf;
using vkf::test::reference;
using vkf::test::Variation;
using vkf::test::variations;

// The header's formulas, written a second time.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, std::array<uint32_t, 2> k) {
    for (int round = 0; round < 10; round++) {
        const uint64_t a = uint64_t{0xd2511f53} * c[0];
        const uint64_t b = uint64_t{0xcd9e8d57} * c[2];
        c = {static_cast<uint32_t>(b >> 32U) ^ c[1] ^ k[0], static_cast<uint32_t>(b),
             static_cast<uint32_t>(a >> 32U) ^ c[3] ^ k[1], static_cast<uint32_t>(a)};
        k[0] += 0x9e3779b9;
        k[1] += 0xbb67ae85;
    }
    return c;
}

struct Generator {
    uint32_t a;
    uint32_t b;

    Generator(uint64_t seed, uint32_t batch, uint32_t head, uint32_t row) {
        const auto words =
            philox({row, head, batch, 0}, {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32U)});
        a = words[0];
        b = words[1];
    }

    uint32_t number(uint32_t key) const {
        uint32_t x = key * 0x9e3779b9U + a;
        x = (x ^ (x >> 16U)) * 0x21f0aaadU;
        x = (x ^ (x >> 15U) ^ b) * 0x735a2d97U;
        return x ^ (x >> 15U);
    }
};

// Tests whether draws are fair and independent. The keys of a block of rows and keys are +1 or -1 in units of their
// deviation, for some heads, sequences and seeds.
struct Draws {
    static constexpr uint32_t rows = 512;
    static constexpr uint32_t keys = 1024;
    std::vector<float> at;

    Draws(float probability, uint64_t seed, uint32_t batch, uint32_t head) {
        const double kept = 1.0 - static_cast<double>(probability);
        const double deviation = std::sqrt(kept * (1.0 - kept));
        const auto threshold = static_cast<uint32_t>(static_cast<double>(probability) * 0x1p32);
        for (uint32_t row = 0; row < rows; row++) {
            const Generator generator(seed, batch, head, row);
            for (uint32_t key = 0; key < keys; key++) {
                at.push_back(static_cast<float>(((generator.number(key) >= threshold ? 1.0 : 0.0) - kept) / deviation));
            }
        }
    }

    // Deviations from 0 of the sum of products of pairs: keys or rows at this distance, or the same place in another
    // block.
    double pairs(const Draws& other, uint32_t rowLag, uint32_t keyLag) const {
        double sum = 0.0;
        double count = 0.0;
        for (uint32_t row = rowLag; row < rows; row++) {
            for (uint32_t key = keyLag; key < keys; key++) {
                sum += static_cast<double>(at[row * keys + key]) *
                       static_cast<double>(other.at[(row - rowLag) * keys + key - keyLag]);
                count += 1.0;
            }
        }
        return sum / std::sqrt(count);
    }

    // Deviations of the squares of sums of rows or of keys: chi-square by its normal limit.
    double sums(bool ofRows) const {
        const uint32_t count = ofRows ? rows : keys;
        std::vector<double> sum(count, 0.0);
        for (size_t i = 0; i < at.size(); i++) {
            sum[ofRows ? i / keys : i % keys] += static_cast<double>(at[i]);
        }
        double chiSquare = 0.0;
        for (const double x : sum) {
            chiSquare += x * x / (ofRows ? keys : rows);
        }
        return (chiSquare - count) / std::sqrt(2.0 * count);
    }

    double whole() const {
        double sum = 0.0;
        for (const float x : at) {
            sum += static_cast<double>(x);
        }
        return sum / std::sqrt(static_cast<double>(at.size()));
    }
};

// v such that column j of o is the probability of key j.
void makeIdentity(const VkfProblem& problem, Inputs& inputs) {
    const VkfTensorLayout v = vkf::layoutOf(problem, VKF_TENSOR_V);
    for (uint64_t row = 0; row < uint64_t{v.batch} * v.heads * v.rows; row++) {
        for (uint64_t column = 0; column < v.dim; column++) {
            vkfStoreElement(v.type, inputs.v.data(), row * v.dim + column, row % v.rows == column ? 1.0 : 0.0);
        }
    }
}

bool keeps(const VkfProblem& problem, const Inputs& inputs, uint32_t batch, uint32_t head, uint32_t row, uint32_t key) {
    if (vkf::has(problem, VKF_USE_DROPOUT_MASK)) {
        return isUnmaskedTile(problem.dropoutMask, inputs.dropoutMask, batch, head, row, key);
    }
    VkfDropout dropout = problem.dropout;
    dropout.seed = vkf::has(problem, VKF_USE_DROPOUT_SEED) ? inputs.dropoutSeed[0] : dropout.seed;
    return vkfDropoutKeeps(&dropout, batch, head, row, key) != 0;
}

VkfProblem withoutDropout(VkfProblem problem) {
    problem.dropout = {};
    problem.dropoutMask = {};
    vkf::enable(problem, VKF_USE_DROPOUT_MASK | VKF_USE_DROPOUT_SEED, false);
    return problem;
}

// Dense o of fp32, in which no probability above 0 becomes 0.
std::vector<double> outputOf(const VkfProblem& problem, const Outcome& outcome) {
    std::vector<double> o(outcome.o.size() / sizeof(float));
    for (size_t i = 0; i < o.size(); i++) {
        o[i] = vkfLoadElement(problem.o.type, outcome.o.data(), i);
    }
    return o;
}

// Checks that o, whose columns are keys, has exactly the visible and kept keys.
size_t wrongKeys(const VkfProblem& problem, const Inputs& inputs, const std::vector<double>& o,
                 const std::vector<double>& visible) {
    size_t wrong = 0;
    size_t place = 0;
    for (uint32_t b = 0; b < problem.batch; b++) {
        for (uint32_t h = 0; h < problem.queryHeads; h++) {
            for (uint32_t i = 0; i < problem.queryRows; i++) {
                for (uint32_t j = 0; j < problem.valueDim; j++, place++) {
                    const bool expected = visible[place] != 0.0 && keeps(problem, inputs, b, h, i, j);
                    wrong += (o[place] != 0.0) != expected ? 1 : 0;
                }
            }
        }
    }
    return wrong;
}

// The next variation in turn must drop exactly the right keys, agree with the reference, and give the lse without
// dropout.
void checkKeys(VkfProblem problem, Data data) {
    problem.o.type = VKF_TYPE_F32;
    problem = vkf::test::fitted(vkf::test::testDevice(), problem);
    data.poisonInvisibleKeys = false;
    Inputs inputs = makeInputs(problem, data);
    makeIdentity(problem, inputs);
    const VkfProblem plain = withoutDropout(problem);
    const std::vector<double> visible = reference(plain, inputs, vkf::test::referenceOptions(VKF_REFERENCE_DIRECT)).o;
    for (const Variation* variation : vkf::test::variationsInTurn(problem)) {
        VkfProblem asked = problem;
        apply(*variation, asked);
        INFO(variation->name << ": " << vkf::test::describe(asked));
        vkf::host::Device& device = deviceOf(*variation);
        const Outcome outcome = vkf::test::runCall(device, asked, inputs);
        INFO(outcome.text());
        CHECK(outcome.passed());
        CHECK(wrongKeys(problem, inputs, outputOf(problem, outcome), visible) == 0);
        const Outcome undropped = vkf::test::runCall(device, withoutDropout(asked), inputs);
        for (size_t i = 0; i < outcome.lse.size(); i++) {
            const bool same = outcome.lse[i] == undropped.lse[i] ||
                              std::abs(outcome.lse[i] - undropped.lse[i]) <= 1e-6F * std::abs(undropped.lse[i]);
            CHECK(same);
        }
    }
}

VkfBroadcastArray maskOf(const VkfProblem& p, VkfType type, bool perBatch, bool perHead, bool perRow) {
    const uint64_t row = p.keys + 3;
    return {type, 0, perBatch ? row * p.queryRows * p.queryHeads + 5 : 0, perHead ? row * p.queryRows + 1 : 0,
            perRow ? row : 0};
}

} // namespace

TEST_CASE("the generator's rounds follow its paper", "[reference]") {
    // Known results of the authors' library, Random123.
    CHECK(philox({0, 0, 0, 0}, {0, 0}) == std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    CHECK(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
          std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
          std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("the reference draws as the header describes", "[reference]") {
    std::mt19937_64 random(7);
    size_t wrong = 0;
    for (int i = 0; i < 20000; i++) {
        const auto at = [&random] { return static_cast<uint32_t>(random() >> random() % 64); };
        const uint64_t seed = random() >> random() % 64;
        const uint32_t batch = at();
        const uint32_t head = at();
        const uint32_t row = at();
        const uint32_t key = at();
        const VkfDropout dropout = {static_cast<float>(random() % 4096) / 4096.0F, 0, seed};
        const auto threshold = static_cast<uint32_t>(static_cast<double>(dropout.probability) * 0x1p32);
        const bool kept = Generator(seed, batch, head, row).number(key) >= threshold;
        wrong += (vkfDropoutKeeps(&dropout, batch, head, row, key) != 0) != kept ? 1 : 0;
    }
    CHECK(wrong == 0);
    const char* const matrix[] = {"1011", "0101", "1001", "1010"}; // the header's
    const VkfDropout half = {0.5F, 0, 1};
    for (uint32_t row = 0; row < 4; row++) {
        for (uint32_t key = 0; key < 4; key++) {
            CHECK((vkfDropoutKeeps(&half, 0, 0, row, key) != 0) == (matrix[row][key] == '1'));
        }
    }
}

TEST_CASE("the dropped keys look random", "[reference]") {
    constexpr double most = 5.0; // deviations; exceeded once in two million times
    for (const float probability : {0.1F, 0.5F}) {
        for (const uint64_t seed : {uint64_t{0}, uint64_t{0xfedcba9876543210}}) {
            const Draws draws(probability, seed, 1, 6);
            INFO("probability " << probability << ", seed " << seed);
            CHECK(std::abs(draws.whole()) < most);
            CHECK(std::abs(draws.sums(true)) < most);
            CHECK(std::abs(draws.sums(false)) < most);
            for (const uint32_t lag : {1U, 2U, 3U, 4U, 8U, 16U, 128U}) {
                CHECK(std::abs(draws.pairs(draws, 0, lag)) < most);
                CHECK(std::abs(draws.pairs(draws, lag, 0)) < most);
                CHECK(std::abs(draws.pairs(draws, lag, lag)) < most);
            }
            for (const Draws& other :
                 {Draws(probability, seed, 1, 7), Draws(probability, seed, 2, 6), Draws(probability, seed + 1, 1, 6),
                  Draws(probability, ~seed, 1, 6), Draws(probability, seed ^ uint64_t{1} << 32U, 1, 6)}) {
                CHECK(std::abs(draws.pairs(other, 0, 0)) < most);
            }
        }
    }
}

TEST_CASE("every path drops the keys of the generator", "[dropout]") {
    VkfProblem problem = problemOf({2, 4, 2, 3, 120, 40, 120, VKF_TYPE_F16});
    problem.dropout = {0.3F, 0, 1};
    checkKeys(problem, {});
    problem = problemOf({1, 3, 3, 77, 97, 24, 97, VKF_TYPE_F32});
    problem.dropout = {0.75F, 0, 0xfedcba9876543210};
    checkKeys(problem, {});
}

TEST_CASE("the seed may be on the device, with every other optional input", "[dropout]") {
    for (const uint32_t rows : {4U, 130U}) {
        VkfProblem problem = problemOf({2, 2, 1, rows, 136, 64, 136, VKF_TYPE_F16});
        problem.dropout = {0.05F, 0, 0};
        vkf::enable(problem, VKF_USE_DROPOUT_SEED);
        problem.use |= VKF_USE_CAUSAL;
        vkf::enable(problem, VKF_USE_SINKS);
        problem.softcap = 3.0F;
        vkf::enable(problem, VKF_USE_KEY_LENGTHS);
        Data data;
        data.seed = rows;
        data.keyLengths = {127, 136};
        checkKeys(problem, data);
    }
}

TEST_CASE("every path drops the keys of a dropout mask", "[dropout]") {
    uint32_t seed = 40;
    for (const VkfType type : {VKF_TYPE_BOOL8, VKF_TYPE_BOOL1}) {
        VkfProblem problem = problemOf({2, 4, 2, 5, 99, 40, 99, VKF_TYPE_F16});
        problem.dropoutMask = maskOf(problem, type, true, true, true);
        vkf::enable(problem, VKF_USE_DROPOUT_MASK);
        problem.dropout.probability = type == VKF_TYPE_BOOL8 ? 0.0F : 0.5F;
        Data data;
        data.seed = seed++;
        checkKeys(problem, data);
        problem = problemOf({1, 2, 2, 70, 120, 24, 120, type == VKF_TYPE_BOOL8 ? VKF_TYPE_F32 : VKF_TYPE_F16});
        problem.dropoutMask = maskOf(problem, type, false, false, type == VKF_TYPE_BOOL1);
        vkf::enable(problem, VKF_USE_DROPOUT_MASK);
        problem.dropout.probability = 0.2F;
        problem.bias = maskOf(problem, VKF_TYPE_F16, false, true, true);
        vkf::enable(problem, VKF_USE_BIAS);
        problem.window = {50, 10, 0};
        problem.use |= VKF_USE_WINDOW;
        checkKeys(problem, data);
    }
}

TEST_CASE("dropout works with splits, pages, block masks, wide heads and all other features", "[dropout]") {
    Data data;
    data.seed = 61;
    for (const uint32_t rows : vkf::test::eachNth(std::vector{4U, 1U, 90U}, 2)) {
        VkfProblem problem = problemOf({2, 10, 2, rows, 333, 72, 0, rows == 4 ? VKF_TYPE_BF16 : VKF_TYPE_F16});
        problem.dropout = {0.4F, 0, 1234567};
        problem.kvSplits = 5;
        problem.use |= VKF_USE_ALIBI;
        vkf::enable(problem, VKF_USE_SINKS);
        for (const Variation* variation : vkf::test::variationsInTurn(problem)) {
            VkfProblem asked = problem;
            asked.kvSplits = variation->path == VKF_PATH_STANDARD || variation->path == VKF_PATH_KEY_OUTER ? 0 : 5;
            checkOn(*variation, asked, makeInputs(asked, data));
        }
        problem.kvSplits = 0;
        problem.window = {40, 20, 3};
        problem.use |= VKF_USE_WINDOW;
        vkf::enable(problem, VKF_USE_DOCUMENT_IDS);
        problem.mask = maskOf(problem, VKF_TYPE_BOOL1, true, false, true);
        vkf::enable(problem, VKF_USE_MASK);
        checkEverywhere(problem, data);
    }
    VkfProblem paged = problemOf({2, 4, 2, 3, 190, 64, 0, VKF_TYPE_F16});
    vkf::test::setPages(paged, 16, 3);
    paged.dropout = {0.4F, 0, 5};
    for (const uint32_t variation : vkf::test::inTurn({0U, 4U, 6U, 8U})) {
        checkOn(variations[variation], paged, makeInputs(paged, data));
    }
    VkfProblem wide = problemOf({1, 16, 1, 2, 300, 576, 512, VKF_TYPE_F16});
    wide.dropout = {0.4F, 0, 5};
    checkOn(variations[6], wide, makeInputs(wide, data));
    wide.window = {60, 0, 33};
    wide.use |= VKF_USE_WINDOW;
    wide.dropoutMask = maskOf(wide, VKF_TYPE_BOOL8, false, true, true);
    vkf::enable(wide, VKF_USE_DROPOUT_MASK);
    checkOn(variations[6], wide, makeInputs(wide, data));
    VkfProblem blocked = problemOf({1, 2, 2, 150, 333, 64, 0, VKF_TYPE_F16});
    blocked.blockMask.blockSize = 32;
    vkf::enable(blocked, VKF_USE_BLOCK_MASK);
    blocked.dropout = {0.4F, 0, 5};
    checkEverywhere(blocked, data);
}

TEST_CASE("a probability of 0 changes no bit, the smallest ones no key", "[dropout]") {
    VkfProblem problem = problemOf({1, 2, 1, 40, 90, 64, 0, VKF_TYPE_F16});
    const Inputs inputs = makeInputs(problem, {});
    for (const Variation* variation : vkf::test::variationsInTurn(problem, 2)) {
        VkfProblem asked = problem;
        apply(*variation, asked);
        INFO(variation->name);
        vkf::host::Device& device = deviceOf(*variation);
        const Outcome plain = vkf::test::runCall(device, asked, inputs);
        asked.dropout = {0.0F, 0, 17};
        CHECK(vkf::test::runCall(device, asked, inputs).o == plain.o);
        asked.dropout.probability = 1e-12F;
        CHECK(vkf::test::runCall(device, asked, inputs).passed());
    }
}

TEST_CASE("NaN and infinity in a dropped key make NaN", "[dropout]") {
    for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_F16}) {
        for (const bool causal : {false, true}) {
            if (causal != (type == VKF_TYPE_F16) && !vkf::test::wholeSweeps()) {
                continue;
            }
            VkfProblem problem = problemOf({1, 2, 1, 40, 90, 64, 0, type});
            vkf::enable(problem, VKF_USE_CAUSAL, causal);
            problem.dropout = {0.5F, 0, 3};
            Data data;
            data.edit = [&](auto&, auto&, auto& v) {
                vkfStoreElement(type, v.data(), 70 * 64 + 1, std::numeric_limits<double>::infinity());
                vkfStoreElement(type, v.data(), 71 * 64 + 2, std::numeric_limits<double>::quiet_NaN());
            };
            checkEverywhere(problem, data);
        }
    }
}

TEST_CASE("probabilities are those before dropout", "[dropout]") {
    VkfProblem problem = problemOf({1, 2, 1, 20, 50, 24});
    const Variation& variation = variations[vkf::test::leavesOut(vkf::test::testDevice(), VKF_PATH_STANDARD) ? 0 : 3];
    apply(variation, problem);
    vkf::enable(problem, VKF_USE_PROBABILITIES);
    const Inputs inputs = makeInputs(problem, {});
    const Outcome plain = vkf::test::runCall(deviceOf(variation), problem, inputs);
    problem.dropout = {0.5F, 0, 3};
    const Outcome dropped = vkf::test::runCall(deviceOf(variation), problem, inputs);
    CHECK(dropped.passed());
    CHECK(dropped.probabilities == plain.probabilities);
    CHECK(dropped.o != plain.o);
}

TEST_CASE("all reference algorithms agree on dropout", "[reference]") {
    VkfProblem problem = problemOf({2, 6, 2, 31, 53, 20, 53, VKF_TYPE_F32});
    for (const bool masked : {false, true}) {
        problem.dropout = {0.3F, 0, 9};
        vkf::enable(problem, VKF_USE_DROPOUT_SEED, !masked);
        problem.dropoutMask = masked ? maskOf(problem, VKF_TYPE_BOOL1, true, true, true) : VkfBroadcastArray{};
        vkf::enable(problem, VKF_USE_DROPOUT_MASK, masked);
        problem.use |= VKF_USE_CAUSAL;
        Inputs inputs = makeInputs(problem, {});
        makeIdentity(problem, inputs);
        const auto plain =
            reference(withoutDropout(problem), inputs, vkf::test::referenceOptions(VKF_REFERENCE_DIRECT));
        for (const VkfReferenceAlgorithm algorithm : vkf::test::algorithms) {
            INFO(vkf::test::describe(problem) << ", algorithm " << static_cast<int>(algorithm));
            const double bound = algorithm == VKF_REFERENCE_TILED_FP32 ? 1e-5 : 1e-14;
            const auto result = reference(problem, inputs, vkf::test::referenceOptions(algorithm, 24, 16));
            CHECK(wrongKeys(problem, inputs, result.o, plain.o) == 0);
            size_t off = 0;
            for (size_t i = 0; i < result.o.size(); i++) {
                const double expected = result.o[i] == 0.0 ? 0.0 : plain.o[i] / (1.0 - static_cast<double>(0.3F));
                off += std::abs(result.o[i] - expected) <= bound ? 0 : 1;
            }
            CHECK(off == 0);
            for (size_t i = 0; i < result.lse.size(); i++) {
                CHECK(std::abs(result.lse[i] - plain.lse[i]) <= bound * 100);
            }
        }
        VkfReferenceOptions recompute = vkf::test::referenceOptions(VKF_REFERENCE_RECOMPUTE);
        recompute.savedLse = plain.lse.data();
        CHECK(wrongKeys(problem, inputs, reference(problem, inputs, recompute).o, plain.o) == 0);
    }
}

TEST_CASE("the reference requires the dropout mask and the seed", "[reference]") {
    VkfProblem problem = problemOf({1, 1, 1, 4, 9, 8});
    std::vector<double> o(4 * 8);
    const auto messageOf = [&] {
        VkfMessage message{};
        const Inputs inputs = makeInputs(withoutDropout(problem), {});
        const VkfReferenceInputs memory = inputs.reference();
        vkfReferenceAttention(&problem, &memory, nullptr, o.data(), nullptr, &message);
        return std::string(message.text);
    };
    problem.dropout = {0.5F, 0, 0};
    vkf::enable(problem, VKF_USE_DROPOUT_SEED);
    CHECK(messageOf() == "inputs.dropoutSeed is null");
    problem.dropoutMask = {VKF_TYPE_BOOL8, 0, 0, 0, 9};
    vkf::enable(problem, VKF_USE_DROPOUT_MASK);
    CHECK(messageOf() == "inputs.dropoutMask is null");
}
