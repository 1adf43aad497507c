// SPDX-License-Identifier: MIT
//
// Lists of chosen keys: each row sees only the keys of its list. makeInputs makes NaN of all other keys.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "problem/masks/chosen_keys.hpp"
#include "support/call.hpp"
#include "support/everywhere.hpp"
#include "support/lists/chosen_keys.hpp"
#include "support/masks.hpp"
#include "support/reference.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::broadcast;
using vkf::test::checkEverywhere;
using vkf::test::Data;
using vkf::test::Inputs;
using vkf::test::ListShape;
using vkf::test::Outcome;
using vkf::test::problemOf;
using vkf::test::setChosenKeys;
using vkf::test::setPages;
using vkf::test::setWindow;

constexpr ListShape ofRows{true, false, true}; // [batch, rows, count], as models choose keys
constexpr ListShape ofHeadsAndRows{true, true, true};
constexpr ListShape ofSequences{true, false, false};
constexpr ListShape ofHeads{false, true, false};
constexpr ListShape forAll{false, false, false};
constexpr std::array shapes = {ofRows, ofHeadsAndRows, ofSequences, ofHeads, forAll};

void plain(VkfProblem& /*p*/) {}
void causal(VkfProblem& p) { p.use |= VKF_USE_CAUSAL; }
void windowAndFirstKeys(VkfProblem& p) { setWindow(p, 40, 9, 11); }
void alibi(VkfProblem& p) { p.use |= VKF_USE_ALIBI | VKF_USE_CAUSAL; }
void documentsAndSinks(VkfProblem& p) { p.use |= VKF_USE_DOCUMENT_IDS | VKF_USE_SINKS; }
void softcapAndMask(VkfProblem& p) {
    p.softcap = 3.0F;
    p.mask = broadcast(p, VKF_TYPE_BOOL8, true, true, true, 1);
    p.use |= VKF_USE_MASK;
}
void halfBias(VkfProblem& p) {
    p.bias = broadcast(p, VKF_TYPE_F16, true, true, true, 1);
    p.use |= VKF_USE_BIAS;
}
void biasAndFactors(VkfProblem& p) {
    p.bias = broadcast(p, VKF_TYPE_F32, false, true, true);
    p.use |= VKF_USE_BIAS | VKF_USE_BIAS_FACTORS;
}
void dropout(VkfProblem& p) {
    p.dropout.probability = 0.3F;
    p.dropout.seed = 5;
}
void dropoutMask(VkfProblem& p) {
    p.dropout.probability = 0.2F;
    p.dropoutMask = broadcast(p, VKF_TYPE_BOOL1, true, true, true, 3);
    p.use |= VKF_USE_DROPOUT_MASK;
}
void positions(VkfProblem& p) {
    p.use |= VKF_USE_POSITIONS | VKF_USE_CAUSAL;
    p.positions = {40, 2, 3, 1, {}};
}
void threeSplits(VkfProblem& p) { p.kvSplits = 3; }
void manySplits(VkfProblem& p) { p.kvSplits = 40; }

constexpr std::array terms = {plain,          causal,      windowAndFirstKeys, alibi,   documentsAndSinks,
                              softcapAndMask, halfBias,    biasAndFactors,     dropout, dropoutMask,
                              positions,      threeSplits, manySplits};

// Each path that takes lists, and both arithmetics of path decode.
void checkOnPaths(const VkfProblem& problem, const Data& data = {}) {
    constexpr std::array<const char*, 4> names = {"scalar", "coopmat", "decode", "decode in plain arithmetic"};
    const Inputs inputs = vkf::test::makeInputs(problem, data);
    for (const vkf::test::Variation& variation : vkf::test::variations) {
        if (std::find(names.begin(), names.end(), std::string(variation.name)) != names.end()) {
            vkf::test::checkOn(variation, problem, inputs);
        }
    }
}

// The boolean mask that has the keys of the lists.
std::vector<std::byte> maskOfLists(const VkfProblem& problem, const std::vector<int32_t>& lists) {
    std::vector<std::byte> mask;
    for (uint32_t b = 0; b < problem.batch; b++) {
        for (uint32_t h = 0; h < problem.queryHeads; h++) {
            for (uint32_t i = 0; i < problem.queryRows; i++) {
                for (uint32_t j = 0; j < problem.keys; j++) {
                    const uint32_t kvHead = h / (problem.queryHeads / problem.kvHeads);
                    mask.push_back(std::byte{vkf::test::isChosen(problem, lists, b, kvHead, i, j)});
                }
            }
        }
    }
    return mask;
}

} // namespace

TEST_CASE("lists give what a mask with the same keys gives", "[chosen_keys]") {
    for (const ListShape& shape : shapes) {
        VkfProblem problem = problemOf({2, 4, 2, 9, 70, 16});
        causal(problem);
        setChosenKeys(problem, 33, shape);
        const Inputs inputs = vkf::test::makeInputs(problem, {});
        VkfProblem masked = problem;
        masked.use = (masked.use & ~VkfUse{VKF_USE_CHOSEN_KEYS}) | VKF_USE_MASK;
        masked.chosenKeys = {};
        masked.mask = broadcast(masked, VKF_TYPE_BOOL8, true, true, true);
        Inputs ofMask = inputs;
        ofMask.mask = maskOfLists(problem, inputs.chosenKeys);
        const auto options = vkf::test::referenceOptions(VKF_REFERENCE_DIRECT);
        const vkf::test::Result lists = vkf::test::reference(problem, inputs, options);
        const vkf::test::Result mask = vkf::test::reference(masked, ofMask, options);
        INFO(vkf::test::describe(problem));
        CHECK(lists.o == mask.o);
        CHECK(lists.lse == mask.lse);
    }
}

TEST_CASE("every path takes lists of chosen keys", "[chosen_keys]") {
    for (const ListShape& shape : {ofRows, ofHeads}) {
        VkfProblem problem = problemOf({2, 6, 2, 5, 150, 40, 24, VKF_TYPE_F16});
        causal(problem);
        setChosenKeys(problem, 77, shape);
        checkOnPaths(problem);
    }
}

TEST_CASE("lists of chosen keys go with all other masks and terms at once", "[chosen_keys]") {
    VkfProblem problem = problemOf({3, 6, 2, 5, 150, 64, 0, VKF_TYPE_F16});
    Data data;
    vkf::enable(problem, VKF_USE_CAUSAL | VKF_USE_DOCUMENT_IDS | VKF_USE_SINKS | VKF_USE_KEY_LENGTHS);
    setWindow(problem, 60, 0, 11);
    data.keyLengths = {150, 0, 93};
    softcapAndMask(problem);
    biasAndFactors(problem);
    dropout(problem);
    threeSplits(problem);
    setPages(problem, 20, 3);
    setChosenKeys(problem, 110, ofHeadsAndRows);
    checkOnPaths(problem, data);

    alibi(problem); // not on path coopmat
    problem.path = VKF_PATH_DECODE;
    setChosenKeys(problem, 110, ofHeads);
    const Outcome outcome = vkf::test::runCall(vkf::test::testDevice(), problem, data);
    INFO(outcome.text());
    CHECK(outcome.passed());
}

TEST_CASE("lists of chosen keys have any of their dimensions", "[chosen_keys]") {
    constexpr std::array<VkfType, 3> types = {VKF_TYPE_F16, VKF_TYPE_F32, VKF_TYPE_BF16};
    for (const ListShape& shape : shapes) {
        for (const VkfType type : types) {
            VkfProblem problem = problemOf({2, 6, 2, 5, 150, 40, 24, type});
            causal(problem);
            setChosenKeys(problem, 77, shape);
            checkEverywhere(problem);
        }
    }
}

TEST_CASE("lists of chosen keys go with masks and terms of scores", "[chosen_keys]") {
    constexpr std::array<VkfType, 3> types = {VKF_TYPE_F16, VKF_TYPE_F32, VKF_TYPE_BF16};
    size_t number = 0;
    for (const auto& term : terms) {
        for (const ListShape& shape : {ofRows, ofHeads}) {
            number++;
            VkfProblem problem = problemOf({2, 6, 2, number % 3 == 0 ? 21U : 3U, 150, 64, 0, types[number % 2]});
            setChosenKeys(problem, number % 4 == 0 ? 190U : 77U, shape); // more entries than keys, or fewer
            term(problem);
            checkEverywhere(problem);
        }
    }
}

TEST_CASE("lists of chosen keys count the keys of pages and of packed sequences", "[chosen_keys]") {
    for (const bool paged : {false, true}) {
        for (const bool packed : {false, true}) {
            for (const ListShape& shape : {ofRows, ofHeadsAndRows, ofHeads}) {
                VkfProblem problem = problemOf({4, 6, 2, 7, 130, 64, 0, VKF_TYPE_F16});
                Data data;
                causal(problem);
                vkf::enable(problem, VKF_USE_KEY_LENGTHS);
                data.keyLengths = {130, 90, 0, 17};
                if (paged) {
                    setPages(problem, 20, 3);
                }
                if (packed) {
                    vkf::test::setPacked(problem, data, {7, 20, 0, 3}, {40, 100, 12, 130});
                }
                setChosenKeys(problem, 50, {shape.sequences && !packed, shape.heads, shape.rows});
                if (packed && !shape.rows) {
                    problem.chosenKeys.batchStride = 100; // lists of sequences, one for each head
                    problem.chosenKeys.headStride = 50;
                }
                checkEverywhere(problem, data);
            }
        }
    }
}

TEST_CASE("lists of chosen keys read caches of block types", "[chosen_keys]") {
    for (const ListShape& shape : {ofRows, forAll}) {
        VkfProblem problem = problemOf({2, 8, 2, 3, 200, 64, 0, VKF_TYPE_F16});
        problem.k.type = VKF_TYPE_Q8_0;
        problem.v.type = VKF_TYPE_Q4_0;
        setPages(problem, 16, 2);
        setChosenKeys(problem, 90, shape);
        checkEverywhere(problem);
    }
}

TEST_CASE("latent attention takes lists of chosen keys", "[chosen_keys]") {
    for (const uint32_t rows : {1U, 5U}) {
        for (const bool view : {false, true}) {
            VkfProblem problem = problemOf({2, 20, 1, rows, 300, 576, 512, VKF_TYPE_F16});
            problem.path = VKF_PATH_DECODE;
            causal(problem);
            problem.kvSplits = rows;
            if (rows != 1) {
                setPages(problem, 33, 2);
            }
            problem.v.rowStride = problem.k.rowStride = 576;
            problem.v.headStride = problem.k.headStride = uint64_t{rows != 1 ? 33U : 300U} * 576;
            problem.v.batchStride = problem.k.batchStride = problem.k.headStride;
            setChosenKeys(problem, 150, ofRows);
            Inputs inputs = vkf::test::makeInputs(problem, {});
            if (view) {
                inputs.viewV();
            }
            INFO(vkf::test::describe(problem));
            const Outcome outcome = vkf::test::runCall(vkf::test::testDevice(), problem, inputs);
            INFO(outcome.text());
            CHECK(outcome.passed());
        }
    }
}

TEST_CASE("rows with empty lists are exactly 0", "[chosen_keys]") {
    VkfProblem problem = problemOf({1, 4, 2, 3, 90, 64, 0, VKF_TYPE_F16});
    setChosenKeys(problem, 70, ofRows);
    Inputs inputs = vkf::test::makeInputs(problem, {});
    std::fill(inputs.chosenKeys.begin(), inputs.chosenKeys.end(), -1);
    const Outcome outcome = vkf::test::runCall(vkf::test::testDevice(), problem, inputs);
    CHECK(std::all_of(outcome.o.begin(), outcome.o.end(), [](std::byte b) { return b == std::byte{0}; }));
    CHECK(std::all_of(outcome.lse.begin(), outcome.lse.end(), [](float x) { return x == -INFINITY; }));
}

TEST_CASE("infinite values of chosen keys reach o", "[chosen_keys]") {
    VkfProblem problem = problemOf({1, 4, 2, 3, 90, 64, 0, VKF_TYPE_F16});
    setChosenKeys(problem, 70, ofRows);
    Data data;
    data.edit = [&](std::vector<std::byte>&, std::vector<std::byte>&, std::vector<std::byte>& v) {
        for (const uint64_t key : {3U, 40U, 77U}) {
            vkfStoreElement(VKF_TYPE_F16, v.data(), key * 64 + 5, INFINITY);
        }
    };
    checkEverywhere(problem, data);
}

TEST_CASE("a key that stands twice in a list is refused", "[chosen_keys]") {
    VkfProblem problem = problemOf({2, 2, 1, 3, 90, 16});
    setChosenKeys(problem, 8, ofRows);
    Inputs inputs = vkf::test::makeInputs(problem, {});
    VkfMessage message{};
    CHECK(vkfCheckChosenKeys(&problem, inputs.chosenKeys.data(), &message) == VKF_SUCCESS);
    inputs.chosenKeys[9] = 41;
    inputs.chosenKeys[11] = -1;
    inputs.chosenKeys[12] = -1; // none may stand twice
    inputs.chosenKeys[13] = 90;
    inputs.chosenKeys[15] = 90; // no key of the sequence either
    inputs.chosenKeys[14] = 41;
    CHECK(vkfCheckChosenKeys(&problem, inputs.chosenKeys.data(), &message) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(std::string(message.text) ==
          "chosenKeys[9] and chosenKeys[14] of one list are both key 41; no key may stand twice");
    CHECK(vkfCheckChosenKeys(&problem, nullptr, &message) == VKF_ERROR_INVALID_ARGUMENT);

    const VkfReferenceInputs reference = inputs.reference();
    std::vector<double> o(2 * 2 * 3 * 16);
    CHECK(vkfReferenceAttention(&problem, &reference, nullptr, o.data(), nullptr, &message) ==
          VKF_ERROR_INVALID_ARGUMENT);
    inputs.chosenKeys[14] = 42;
    CHECK(vkfCheckChosenKeys(&problem, inputs.chosenKeys.data(), &message) == VKF_SUCCESS);
    VkfProblem without = problemOf({2, 2, 1, 3, 90, 16});
    CHECK(vkfCheckChosenKeys(&without, nullptr, &message) == VKF_SUCCESS);
}

TEST_CASE("wrong lists of chosen keys are refused in words", "[chosen_keys]") {
    const auto refusal = [](void (*change)(VkfProblem&)) {
        VkfProblem problem = problemOf({2, 2, 1, 3, 90, 16});
        setChosenKeys(problem, 8, ofRows);
        change(problem);
        VkfMessage message{};
        CHECK(vkfCheckProblem(&problem, &message) != VKF_SUCCESS);
        return std::string(message.text);
    };
    CHECK(refusal([](VkfProblem& p) { p.chosenKeys.count = 0; }) ==
          "chosenKeys.count is 0; with VKF_USE_CHOSEN_KEYS it must be at least 1");
    CHECK(refusal([](VkfProblem& p) { p.chosenKeys.count = 1U << 30; }) ==
          "chosenKeys.count 1073741824 is over the limit of 1073676288");
    CHECK(refusal([](VkfProblem& p) { p.use &= ~VkfUse{VKF_USE_CHOSEN_KEYS}; }) ==
          "chosenKeys is not zero, but use lacks VKF_USE_CHOSEN_KEYS");
    CHECK(refusal([](VkfProblem& p) { p.chosenKeys.rowStride = uint64_t{1} << 56; }) ==
          "chosenKeys.rowStride is 72057594037927936; times 3 it must be at most 2^56 entries");
    CHECK(refusal([](VkfProblem& p) { p.chosenKeys.reserved = 1; }) == "a reserved field of chosenKeys is not zero");
    CHECK(refusal([](VkfProblem& p) { p.chosenKeys.reserved2[1] = 1; }) ==
          "a reserved field of chosenKeys is not zero");
    CHECK(refusal([](VkfProblem& p) { p.path = VKF_PATH_WGMMA; }) ==
          "chosenKeys on paths standard, key_outer and wgmma is not in this version");
    CHECK(refusal([](VkfProblem& p) { p.use |= VKF_USE_PROBABILITIES; }) ==
          "probabilities of chosenKeys is not in this version");
}

TEST_CASE("lists of chosen keys need no table where they are dense and alone", "[chosen_keys]") {
    VkfProblem problem = problemOf({2, 4, 2, 3, 90, 16});
    for (const ListShape& shape : shapes) {
        setChosenKeys(problem, 8, shape);
        CHECK(vkf::hasDenseLists(problem));
    }
    setChosenKeys(problem, 8, ofHeadsAndRows);
    CHECK(vkfGetArrayBytes(&problem, VKF_ARRAY_CHOSEN_KEYS) == 2U * 2 * 3 * 8 * sizeof(int32_t));
    problem.chosenKeys.rowStride = 9; // a gap between lists
    CHECK_FALSE(vkf::hasDenseLists(problem));
    problem.queryRows = 1; // of which no second one has a list
    problem.chosenKeys = {8, 0, 16, 8, 9, {}};
    CHECK(vkfGetArrayBytes(&problem, VKF_ARRAY_CHOSEN_KEYS) == 2U * 2 * 8 * sizeof(int32_t));
    CHECK(vkf::hasDenseLists(problem));
}

TEST_CASE("lists of chosen keys may have gaps between them", "[chosen_keys]") {
    VkfProblem problem = problemOf({2, 4, 2, 3, 90, 64, 0, VKF_TYPE_F16});
    setChosenKeys(problem, 40, ofHeadsAndRows);
    problem.chosenKeys.rowStride = 90; // heads inside rows, with gaps
    problem.chosenKeys.headStride = 43;
    problem.chosenKeys.batchStride = 300;
    checkEverywhere(problem);
}
