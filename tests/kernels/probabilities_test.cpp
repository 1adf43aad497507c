// SPDX-License-Identifier: MIT
//
// Probabilities of all rows and of chosen ones on every variation. The harness poisons them and checks every one.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "support/call.hpp"
#include "support/device.hpp"
#include "support/everywhere.hpp"
#include "support/lacking.hpp"
#include "support/masks.hpp"
#include "support/reference.hpp"
#include "support/variations.hpp"
#include "vkflash/vkflash.hpp"

namespace {

using vkf::test::broadcast;
using vkf::test::checkEverywhere;
using vkf::test::checkOn;
using vkf::test::Data;
using vkf::test::Inputs;
using vkf::test::Outcome;
using vkf::test::problemOf;
using vkf::test::setWindow;
using vkf::test::Variation;

VkfProblem withProbabilities(const vkf::test::Shape& shape, uint32_t rows = 0) {
    VkfProblem problem = problemOf(shape);
    vkf::enable(problem, VKF_USE_PROBABILITIES);
    problem.probabilityRowCount = rows;
    vkf::enable(problem, VKF_USE_PROBABILITY_ROWS, rows != 0);
    return problem;
}

// All rows, a few chosen rows, and more numbers than there are rows.
constexpr std::initializer_list<uint32_t> rowCounts = {0, 5, 211};

} // namespace

TEST_CASE("probabilities of all rows and of chosen ones", "[probabilities]") {
    uint32_t seed = 1;
    for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_BF16}) {
        for (const uint32_t rows : vkf::test::inTurn(rowCounts)) {
            checkEverywhere(withProbabilities({2, 4, 2, 37, 53, 40, 24, type}, rows),
                            {.seed = seed++}); // words of 4 bytes
        }
        for (const uint32_t rows : vkf::test::inTurn(rowCounts)) {
            checkEverywhere(withProbabilities({1, 6, 2, 101, 132, 64, 0, type}, rows), {.seed = seed++});
        }
    }
}

TEST_CASE("probabilities under causal masks, windows, first keys and lengths", "[probabilities]") {
    uint32_t seed = 20;
    for (const uint32_t rows : vkf::test::eachNth(std::vector(rowCounts), 2)) {
        Data data;
        data.seed = seed++;
        VkfProblem causal = withProbabilities({1, 2, 1, 90, 230, 64, 0, VKF_TYPE_F16}, rows);
        causal.use |= VKF_USE_CAUSAL;
        if (rows == 0 || vkf::test::wholeSweeps()) {
            checkEverywhere(causal, data);
        }
        VkfProblem window = withProbabilities({3, 2, 2, 150, 203, 32, 0, VKF_TYPE_F32}, rows);
        setWindow(window, 20, 3);
        window.alignment = VKF_ALIGNMENT_TOP_LEFT;
        window.softcap = 5.0F;
        vkf::enable(window, VKF_USE_KEY_LENGTHS);
        data.keyLengths = {203, 7, 0};
        checkEverywhere(window, data);
        setWindow(window, 20, -1, 13);
        window.use |= VKF_USE_CAUSAL;
        window.alignment = VKF_ALIGNMENT_BOTTOM_RIGHT;
        window.use |= VKF_USE_ALIBI;
        checkEverywhere(window, data);
    }
}

TEST_CASE("probabilities with every optional input", "[probabilities]") {
    uint32_t seed = 40;
    for (const uint32_t rows : vkf::test::eachNth(std::vector(rowCounts), 2)) {
        Data data;
        data.seed = seed++;
        VkfProblem biased = withProbabilities({2, 4, 2, 67, 131, 40, 24, VKF_TYPE_F16}, rows);
        biased.bias = broadcast(biased, VKF_TYPE_F16, false, true, true, 2);
        vkf::enable(biased, VKF_USE_BIAS);
        vkf::enable(biased, VKF_USE_SINKS);
        biased.use |= VKF_USE_ALIBI;
        vkf::enable(biased, VKF_USE_ALIBI_SLOPES);
        checkEverywhere(biased, data);
        VkfProblem masked = withProbabilities({2, 4, 2, 67, 131, 40, 24, VKF_TYPE_F32}, rows);
        masked.mask = broadcast(masked, VKF_TYPE_BOOL1, false, false, true);
        vkf::enable(masked, VKF_USE_MASK);
        vkf::enable(masked, VKF_USE_DOCUMENT_IDS);
        masked.use |= VKF_USE_CAUSAL;
        vkf::enable(masked, VKF_USE_KEY_LENGTHS);
        data.keyLengths = {131, 40};
        checkEverywhere(masked, data);
    }
}

TEST_CASE("probabilities under block masks", "[probabilities]") {
    constexpr std::array<uint32_t, 3> blocks = {48, 16, 64};
    for (uint32_t i = 0; i < blocks.size(); i++) {
        VkfProblem problem = withProbabilities({1, 2, 1, 150, 333, 32, 0, VKF_TYPE_F16}, rowCounts.begin()[i]);
        problem.blockMask.blockSize = blocks[i];
        vkf::enable(problem, VKF_USE_BLOCK_MASK, blocks[i] != 0);
        const VkfBlockMaskLayout layout = vkf::blockMaskLayoutOf(problem);
        problem.blockMask.headStride = uint64_t{layout.rowBlocks} * layout.rowWords;
        vkf::enable(problem, VKF_USE_CAUSAL, i == 0);
        Data data;
        data.seed = 60 + i;
        data.blockDensity = 0.3;
        checkEverywhere(problem, data);
    }
}

TEST_CASE("probabilities of caches: pages and block types, on few rows and many", "[probabilities]") {
    uint32_t seed = 80;
    for (const uint32_t chosen : {0U, 3U}) {
        for (const uint32_t rows : vkf::test::inTurn({2U, 33U})) {
            for (const VkfType type : {VKF_TYPE_F16, VKF_TYPE_Q8_0, VKF_TYPE_Q4_1}) {
                if ((chosen == 0) != (type == VKF_TYPE_Q8_0) && !vkf::test::wholeSweeps()) {
                    continue;
                }
                VkfProblem problem = withProbabilities({2, 8, 2, rows, 190, 64, 0, VKF_TYPE_F16}, chosen);
                problem.k.type = problem.v.type = type;
                vkf::test::setPages(problem, 16, 3);
                problem.use |= VKF_USE_CAUSAL;
                vkf::enable(problem, VKF_USE_KEY_LENGTHS);
                Data data;
                data.seed = seed++;
                data.keyLengths = {77, 190};
                const Inputs inputs = vkf::test::makeInputs(problem, data);
                for (const uint32_t variation : vkf::test::inTurn({0U, 2U, 4U, 6U, 7U, 8U}, problem)) {
                    checkOn(vkf::test::variations[variation], problem, inputs);
                }
            }
        }
    }
}

TEST_CASE("probabilities of split keys, without lse too", "[probabilities]") {
    for (const uint32_t lse : {0U, 1U}) {
        for (const uint32_t splits : {1U, 5U}) {
            for (const uint32_t rows : vkf::test::inTurn({1U, 40U})) {
                VkfProblem problem = withProbabilities({1, 4, 2, rows, 203, 64, 0, VKF_TYPE_F16}, rows == 40 ? 9 : 0);
                problem.kvSplits = splits;
                vkf::enable(problem, VKF_USE_LSE, lse != 0);
                vkf::enable(problem, VKF_USE_SINKS);
                const Inputs inputs = vkf::test::makeInputs(problem, {});
                for (const uint32_t variation : vkf::test::inTurn({0U, 4U, 5U, 6U, 7U}, problem)) {
                    checkOn(vkf::test::variations[variation], problem, inputs);
                }
            }
        }
    }
    VkfProblem problem = withProbabilities({2, 2, 1, 21, 60, 16, 0, VKF_TYPE_F32}, 4);
    vkf::enable(problem, VKF_USE_LSE, false);
    checkEverywhere(problem);
}

TEST_CASE("probabilities of wide heads", "[probabilities]") {
    for (const uint32_t rows : vkf::test::inTurn({0U, 7U})) {
        VkfProblem problem = withProbabilities({1, 16, 1, 2, 300, 576, 512, VKF_TYPE_F16}, rows);
        problem.scale = 0.03F;
        checkOn(vkf::test::variations[6], problem, vkf::test::makeInputs(problem, {}));
    }
}

TEST_CASE("probabilities in steps are those of one", "[probabilities]") {
    VkfProblem problem = withProbabilities({1, 2, 2, 150, 333, 40, 0, VKF_TYPE_F32});
    const Inputs inputs = vkf::test::makeInputs(problem, {});
    problem.path = VKF_PATH_SCALAR;
    const Outcome whole = vkf::test::runCall(vkf::test::testDevice(), problem, inputs);
    problem.maxStepOperations = 1000000;
    const Outcome steps = vkf::test::runCall(vkf::test::testDevice(), problem, inputs);
    CHECK(steps.plan.stepCount > whole.plan.stepCount + 2);
    CHECK(steps.passed());
    CHECK(steps.probabilities == whole.probabilities);
}

// Whatever the tile of a row and its position in the tile.
TEST_CASE("a chosen row has the bits that it has among all", "[probabilities]") {
    VkfProblem problem = withProbabilities({2, 4, 2, 37, 83, 40, 0, VKF_TYPE_F16});
    problem.use |= VKF_USE_CAUSAL;
    problem.use |= VKF_USE_ALIBI;
    problem.path = VKF_PATH_SCALAR;
    Inputs inputs = vkf::test::makeInputs(problem, {});
    const Outcome all = vkf::test::runCall(vkf::test::testDevice(), problem, inputs);
    CHECK(all.passed());
    for (const uint32_t repeats : {1U, 30U}) {
        inputs.probabilityRows.clear();
        for (uint32_t i = 0; i < repeats; i++) {
            inputs.probabilityRows.insert(inputs.probabilityRows.end(), {36, 0, -1, 17, 17, 37, 5});
        }
        problem.probabilityRowCount = static_cast<uint32_t>(inputs.probabilityRows.size());
        vkf::enable(problem, VKF_USE_PROBABILITY_ROWS, problem.probabilityRowCount != 0);
        const Outcome chosen = vkf::test::runCall(vkf::test::testDevice(), problem, inputs);
        CHECK(chosen.passed());
        REQUIRE(chosen.probabilities.size() == size_t{8} * problem.probabilityRowCount * 83);
        for (size_t row = 0; row < size_t{8} * problem.probabilityRowCount; row++) {
            const int32_t number = inputs.probabilityRows[row % problem.probabilityRowCount];
            for (size_t key = 0; key < 83; key++) {
                const size_t head = row / problem.probabilityRowCount;
                const bool exists = number >= 0 && number < 37;
                const float expected =
                    exists ? all.probabilities[(head * 37 + static_cast<size_t>(number)) * 83 + key] : 0.0F;
                REQUIRE(chosen.probabilities[row * 83 + key] == expected);
            }
        }
    }
}

TEST_CASE("probabilities of chosen rows follow the header", "[probabilities]") {
    VkfProblem problem = withProbabilities({1, 1, 1, 4, 4, 8, 0, VKF_TYPE_F16}, 4);
    problem.use |= VKF_USE_CAUSAL;
    Inputs inputs = vkf::test::makeInputs(problem, {});
    std::fill(inputs.k.begin(), inputs.k.end(), std::byte{0});
    inputs.probabilityRows = {3, 1, 1, 9};
    const std::vector<float> expected = {0.25F, 0.25F, 0.25F, 0.25F, 0.5F, 0.5F, 0, 0, 0.5F, 0.5F, 0, 0, 0, 0, 0, 0};
    for (const Variation* inTurn : vkf::test::variationsInTurn(problem, 2)) {
        const Variation& variation = *inTurn;
        vkf::test::apply(variation, problem);
        INFO(variation.name);
        const Outcome outcome = vkf::test::runCall(vkf::test::deviceOf(variation), problem, inputs);
        CHECK(outcome.passed());
        for (size_t i = 0; i < expected.size(); i++) {
            CHECK(std::abs(outcome.probabilities[i] - expected[i]) <= 1e-6F);
        }
    }
}

TEST_CASE("rows with only scores of -infinity, and rows that see only their sink, have probabilities of zero",
          "[probabilities]") {
    for (const uint32_t sinks : {0U, 1U}) {
        VkfProblem problem = withProbabilities({1, 2, 1, 5, 3, 8, 0, VKF_TYPE_F16}); // rows 0 and 1 see no key
        problem.use |= VKF_USE_CAUSAL;
        vkf::enable(problem, VKF_USE_SINKS, sinks != 0);
        problem.bias = broadcast(problem, VKF_TYPE_F32, false, false, true);
        vkf::enable(problem, VKF_USE_BIAS);
        Inputs inputs = vkf::test::makeInputs(problem, {});
        for (uint64_t key = 0; key < 3; key++) {
            vkfStoreElement(VKF_TYPE_F32, inputs.bias.data(), 4 * 3 + key, -std::numeric_limits<double>::infinity());
        }
        for (const Variation* inTurn : vkf::test::variationsInTurn(problem, 2)) {
            const Variation& variation = *inTurn;
            vkf::test::apply(variation, problem);
            INFO(variation.name);
            const Outcome outcome = vkf::test::runCall(vkf::test::deviceOf(variation), problem, inputs);
            INFO(outcome.text());
            CHECK(outcome.passed());
            for (const size_t row : {0U, 1U, 4U, 5U, 6U, 9U}) {
                for (size_t key = 0; key < 3; key++) {
                    CHECK(outcome.probabilities[row * 3 + key] == 0.0F);
                }
            }
        }
    }
}

TEST_CASE("a NaN in a key makes the probabilities of the rows that see it NaN, and no others", "[probabilities]") {
    for (const uint32_t rows : {0U, 40U}) {
        VkfProblem problem = withProbabilities({1, 1, 1, 100, 100, 64, 0, VKF_TYPE_F16}, rows);
        problem.use |= VKF_USE_CAUSAL;
        Data data;
        if (!vkf::test::losesNan(vkf::test::testDevice())) {
            data.edit = [](auto&, auto& k, auto&) {
                vkfStoreElement(VKF_TYPE_F16, k.data(), 70 * 64 + 40, std::numeric_limits<double>::quiet_NaN());
            };
        }
        checkEverywhere(problem, data);
    }
}

// lse is then tens of thousands. p has as few bits as the scores have.
TEST_CASE("errors of probabilities of large scores follow the errors of scores and lse", "[probabilities]") {
    for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_F16}) {
        VkfProblem problem = withProbabilities({1, 1, 1, 65, 130, 64, 0, type});
        problem.scale = 1.0F;
        Data data;
        data.magnitude = 35.0;
        checkEverywhere(problem, data);
    }
}

TEST_CASE("the reference has the probabilities of chosen rows", "[reference]") {
    VkfProblem problem = withProbabilities({2, 4, 2, 9, 13, 16, 0, VKF_TYPE_F32}, 6);
    problem.use |= VKF_USE_CAUSAL;
    Inputs inputs = vkf::test::makeInputs(problem, {});
    inputs.probabilityRows = {8, 2, 2, -1, 9, 0};
    VkfReferenceOptions options = vkf::test::referenceOptions(VKF_REFERENCE_STANDARD);
    std::vector<double> chosen(size_t{8} * 6 * 13, vkf::test::untouched);
    options.probabilities = chosen.data();
    const auto withChosen = vkf::test::reference(problem, inputs, options);
    problem.probabilityRowCount = 0;
    vkf::enable(problem, VKF_USE_PROBABILITY_ROWS, false);
    std::vector<double> all(size_t{8} * 9 * 13);
    options.probabilities = all.data();
    const auto withAll = vkf::test::reference(problem, inputs, options);
    CHECK(withChosen.o == withAll.o);
    CHECK(withChosen.lse == withAll.lse);
    for (size_t i = 0; i < chosen.size(); i++) {
        const int32_t row = inputs.probabilityRows[i / 13 % 6];
        const size_t element = (i / 13 / 6 * 9 + static_cast<size_t>(std::max(row, 0))) * 13 + i % 13;
        REQUIRE(chosen[i] == (row >= 0 && row < 9 ? all[element] : 0.0));
    }
}

TEST_CASE("the verdict on probabilities checks chosen rows, and zeros for numbers outside of the rows", "[reference]") {
    VkfProblem problem = withProbabilities({1, 2, 1, 9, 13, 16, 0, VKF_TYPE_F32}, 4);
    Inputs inputs = vkf::test::makeInputs(problem, {});
    inputs.probabilityRows = {8, -1, 2, 8};
    problem.path = VKF_PATH_SCALAR;
    const Outcome outcome = vkf::test::runCall(vkf::test::testDevice(), problem, inputs);
    CHECK(outcome.passed());
    const VkfReferenceInputs memory = inputs.reference();
    const auto verdictOf = [&](const std::vector<float>& probabilities, uint32_t rowStride) {
        auto verdict = vkf::make<VkfProbabilitiesVerdict>();
        VkfReferenceOptions options = vkf::test::referenceOptions(VKF_REFERENCE_DIRECT);
        options.rowStride = rowStride;
        REQUIRE(vkfReferenceVerifyProbabilities(&problem, &memory, &options, probabilities.data(), &verdict, nullptr) ==
                VKF_SUCCESS);
        return verdict;
    };
    for (size_t row = 0; row < 8; row++) {
        std::vector<float> wrong = outcome.probabilities;
        wrong[row * 13 + 7] += 1e-4F;
        CHECK(verdictOf(wrong, 0).passed == 0);
        CHECK(verdictOf(wrong, 0).worstElement == row * 13 + 7);
        CHECK((verdictOf(wrong, 2).passed == 0) == (row % 2 == 0)); // every other row of the list
    }
}
