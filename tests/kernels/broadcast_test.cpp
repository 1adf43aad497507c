// SPDX-License-Identifier: MIT
//
// Additive bias and boolean masks: every kernel and every reference algorithm.
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "support/call.hpp"
#include "support/everywhere.hpp"
#include "support/masks.hpp"
#include "support/reference.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::algorithms;
using vkf::test::broadcast;
using vkf::test::checkEverywhere;
using vkf::test::checkOn;
using vkf::test::Data;
using vkf::test::Inputs;
using vkf::test::Outcome;
using vkf::test::problemOf;
using vkf::test::Variation;

constexpr double infinity = std::numeric_limits<double>::infinity();

} // namespace

TEST_CASE("a bias of any type is added, whatever dimensions it repeats", "[broadcast]") {
    uint32_t seed = 1;
    for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_BF16}) {
        VkfProblem problem = problemOf({2, 4, 2, type == VKF_TYPE_F32 ? 77U : 5U, 131, 40, 24, VKF_TYPE_F16});
        problem.bias = broadcast(problem, type, true, true, true, 3);
        vkf::enable(problem, VKF_USE_BIAS);
        Data data;
        data.seed = seed++;
        if (type == VKF_TYPE_F32 || vkf::test::wholeSweeps()) {
            checkEverywhere(problem, data);
        }
        problem.bias = broadcast(problem, type, type == VKF_TYPE_F16, type == VKF_TYPE_BF16, type == VKF_TYPE_F32);
        vkf::enable(problem, VKF_USE_BIAS);
        problem.use |= VKF_USE_CAUSAL;
        problem.softcap = 11;
        problem.use |= VKF_USE_ALIBI;
        vkf::enable(problem, VKF_USE_SINKS);
        checkEverywhere(problem, data);
    }
}

// Path decode takes such a bias without a table.
TEST_CASE("a bias alone, of rows as long as the keys, is the same for all heads and sequences", "[broadcast]") {
    uint32_t seed = 40;
    for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_BF16}) {
        for (const uint32_t rows : {1U, 5U}) {
            VkfProblem problem = problemOf({2, 4, 2, rows, 131, 40, 24, VKF_TYPE_F16});
            problem.bias = {type, 0, 0, 0, rows == 1 ? 7U : 131U};
            vkf::enable(problem, VKF_USE_BIAS);
            Data data;
            data.seed = seed++;
            if (type == VKF_TYPE_BF16) {
                vkf::enable(problem, VKF_USE_KEY_LENGTHS);
                data.keyLengths = {131, 57};
            }
            const Inputs inputs = vkf::test::makeInputs(problem, data);
            for (const uint32_t variation : vkf::test::inTurn({6U, 7U, 8U})) {
                checkOn(vkf::test::variations[variation], problem, inputs);
            }
        }
    }
}

TEST_CASE("heads and sequences of bias, mask and dropout mask repeat by modulo", "[broadcast]") {
    for (const uint32_t rows : {3U, 77U}) {
        VkfProblem problem = problemOf({3, 6, 2, rows, 131, 40, 24, VKF_TYPE_F16});
        problem.bias = broadcast(problem, VKF_TYPE_F16, true, true, true, 5);
        problem.bias.heads = 4; // no divisor of 6
        problem.bias.sequences = 2;
        vkf::enable(problem, VKF_USE_BIAS);
        VkfProblem masked = problem;
        masked.mask = broadcast(masked, VKF_TYPE_BOOL1, true, true, true, 3);
        masked.mask.heads = 2;
        masked.mask.sequences = 1;
        masked.dropoutMask = broadcast(masked, VKF_TYPE_BOOL8, true, true, true, 1);
        masked.dropoutMask.heads = 5;
        masked.dropout.probability = 0.25F;
        vkf::enable(masked, VKF_USE_MASK | VKF_USE_DROPOUT_MASK);
        Data data;
        data.biasSquare = rows == 77 ? 32 : 0;
        const Inputs inputs = vkf::test::makeInputs(problem, data);
        const Inputs maskedInputs = vkf::test::makeInputs(masked, data);
        for (const Variation* variation : vkf::test::variationsInTurn(problem)) {
            checkOn(*variation, problem, inputs);
            checkOn(*variation, masked, maskedInputs);
        }
    }
}

TEST_CASE("an array that repeats needs only the bytes of its own heads and sequences", "[broadcast]") {
    VkfProblem problem = problemOf({3, 6, 2, 4, 10, 16, 0, VKF_TYPE_F16});
    problem.bias = broadcast(problem, VKF_TYPE_F16, true, true, true);
    vkf::enable(problem, VKF_USE_BIAS);
    CHECK(vkfGetArrayBytes(&problem, VKF_ARRAY_BIAS) == 3 * 6 * 40 * 2);
    problem.bias.heads = 4;
    CHECK(vkfGetArrayBytes(&problem, VKF_ARRAY_BIAS) == (2 * 6 + 4) * 40 * 2); // batchStride is still of 6 heads
    problem.bias.sequences = 1;
    CHECK(vkfGetArrayBytes(&problem, VKF_ARRAY_BIAS) == 4 * 40 * 2);
    problem.bias.heads = 1;
    CHECK(vkfGetArrayBytes(&problem, VKF_ARRAY_BIAS) == 40 * 2);
}

// A driver may load an address in code that a workgroup without keys skips.
TEST_CASE("key splits without keys read no bias, mask, document or page", "[broadcast]") {
    for (const bool paged : {false, true}) {
        VkfProblem problem = problemOf({2, 4, 2, 1, 130, 64, 0, VKF_TYPE_F16});
        problem.window = {40, 0, 0};
        problem.use |= VKF_USE_WINDOW;
        problem.kvSplits = 9;
        vkf::enable(problem, VKF_USE_SINKS);
        vkf::enable(problem, VKF_USE_DOCUMENT_IDS);
        problem.bias = broadcast(problem, VKF_TYPE_F16, true, true, true);
        vkf::enable(problem, VKF_USE_BIAS);
        problem.mask = broadcast(problem, VKF_TYPE_BOOL8, false, true, true);
        vkf::enable(problem, VKF_USE_MASK);
        if (paged) {
            vkf::test::setPages(problem, 16, 3);
        }
        const Inputs inputs = vkf::test::makeInputs(problem, {});
        for (const uint32_t variation : vkf::test::inTurn({6U, 7U, 8U})) {
            checkOn(vkf::test::variations[variation], problem, inputs);
        }
    }
}

TEST_CASE("a mask of bytes or bits keeps the right keys, whatever dimensions it repeats", "[broadcast]") {
    uint32_t seed = 1;
    for (const VkfType type : {VKF_TYPE_BOOL8, VKF_TYPE_BOOL1}) {
        for (const uint32_t rows : {3U, 77U}) {
            if (rows != (type == VKF_TYPE_BOOL8 ? 3U : 77U) && !vkf::test::wholeSweeps()) {
                continue;
            }
            VkfProblem problem = problemOf({2, 4, 2, rows, 131, 40, 24, rows == 3 ? VKF_TYPE_F32 : VKF_TYPE_F16});
            problem.mask = broadcast(problem, type, true, true, true, 3);
            vkf::enable(problem, VKF_USE_MASK);
            Data data;
            data.seed = seed++;
            data.maskDensity = 0.3;
            checkEverywhere(problem, data);
            problem.mask = broadcast(problem, type, rows == 3, type == VKF_TYPE_BOOL1, true);
            vkf::enable(problem, VKF_USE_MASK);
            problem.use |= VKF_USE_CAUSAL;
            vkf::enable(problem, VKF_USE_KEY_LENGTHS);
            problem.kvSplits = rows == 3 ? 3 : 0;
            data.keyLengths = {50, 131};
            const Inputs inputs = vkf::test::makeInputs(problem, data);
            for (const uint32_t variation : vkf::test::inTurn({0U, 1U, 4U, 5U, 6U, 8U}, problem)) {
                checkOn(vkf::test::variations[variation], problem, inputs);
            }
        }
    }
}

TEST_CASE("rows that a mask leaves no key are exactly zero, on heads of any width", "[broadcast]") {
    for (const uint32_t dim : {64U, 576U}) {
        VkfProblem problem = problemOf({1, 16, 1, 2, 200, dim, std::min(dim, 512U), VKF_TYPE_F16});
        problem.mask = broadcast(problem, VKF_TYPE_BOOL8, false, true, true);
        vkf::enable(problem, VKF_USE_MASK);
        Data data;
        data.maskDensity = 0.02; // keys that few rows see, or none
        Inputs inputs = vkf::test::makeInputs(problem, data);
        std::memset(inputs.mask.data(), 0, 3 * problem.keys); // rows 0 and 1 of head 0, row 0 of head 1
        const std::vector<const Variation*> chosen = dim > 256
                                                         ? std::vector<const Variation*>{&vkf::test::variations[6]}
                                                         : vkf::test::variationsInTurn(problem, 3);
        for (const Variation* variation : chosen) {
            if (!takes(*variation, problem)) {
                continue;
            }
            apply(*variation, problem);
            const Outcome outcome = vkf::test::runCall(vkf::test::deviceOf(*variation), problem, inputs);
            INFO(variation->name << ": " << outcome.text());
            CHECK(outcome.passed());
            for (size_t row = 0; row < 3; row++) {
                CHECK(static_cast<double>(outcome.lse[row]) == -infinity);
            }
        }
    }
}

TEST_CASE("rows see NaN and infinity only in keys that their mask keeps", "[broadcast]") {
    VkfProblem problem = problemOf({1, 4, 2, 70, 100, 40, 0, VKF_TYPE_F16});
    problem.mask = broadcast(problem, VKF_TYPE_BOOL1, false, true, true, 1);
    vkf::enable(problem, VKF_USE_MASK);
    for (const double value : {std::numeric_limits<double>::quiet_NaN(), infinity}) {
        Data data;
        data.edit = [&](std::vector<std::byte>&, std::vector<std::byte>&, std::vector<std::byte>& v) {
            for (const uint64_t key : {3ULL, 64ULL}) {
                vkfStoreElement(VKF_TYPE_F16, v.data(), key * 40 + key % 40, value);
            }
        };
        checkEverywhere(problem, data);
    }
}

TEST_CASE("a bias of minus infinity gives a probability of zero", "[broadcast]") {
    VkfProblem problem = problemOf({1, 2, 1, 6, 40, 16, 0, VKF_TYPE_F16});
    problem.bias = broadcast(problem, VKF_TYPE_F16, false, false, true);
    vkf::enable(problem, VKF_USE_BIAS);
    Inputs inputs = vkf::test::makeInputs(problem, {});
    for (uint64_t i = 0; i < 6; i++) {
        for (uint64_t j = 0; j < 40; j++) {
            if (i == 2 || (i + j) % 3 == 0) { // row 2 has none but these
                vkfStoreElement(VKF_TYPE_F16, inputs.bias.data(), i * 40 + j, -infinity);
            }
        }
    }
    for (const Variation* variation : vkf::test::variationsInTurn(problem, 3)) {
        checkOn(*variation, problem, inputs);
    }
}

// Matrix units that add products to a large number lose more bits of them than the bound of lse allows.
TEST_CASE("a bias far larger than the products costs them no accuracy", "[broadcast]") {
    for (const uint32_t dim : {128U, 256U}) {
        VkfProblem problem = problemOf({1, 2, 2, 65, 100, dim, 0, VKF_TYPE_F16});
        problem.bias = broadcast(problem, VKF_TYPE_F16, false, true, true);
        vkf::enable(problem, VKF_USE_BIAS);
        Inputs inputs = vkf::test::makeInputs(problem, {});
        for (uint64_t i = 0; i < inputs.bias.size() / 2; i++) {
            vkfStoreElement(VKF_TYPE_F16, inputs.bias.data(), i,
                            500 + vkfLoadElement(VKF_TYPE_F16, inputs.bias.data(), i));
        }
        checkOn(vkf::test::variations[4], problem, inputs);
        for (const Variation* variation : vkf::test::variationsInTurn(problem, dim == 128 ? 1 : 0)) {
            checkOn(*variation, problem, inputs);
        }
    }
}

TEST_CASE("all reference algorithms agree under a mask and a bias", "[reference]") {
    for (const VkfType type : {VKF_TYPE_BOOL8, VKF_TYPE_BOOL1}) {
        VkfProblem problem = problemOf({2, 6, 2, 31, 53, 20, 0, VKF_TYPE_F32});
        problem.mask = broadcast(problem, type, true, false, true, 2);
        vkf::enable(problem, VKF_USE_MASK);
        problem.bias = broadcast(problem, VKF_TYPE_BF16, false, true, true, 2);
        vkf::enable(problem, VKF_USE_BIAS);
        problem.blockMask.blockSize = type == VKF_TYPE_BOOL8 ? 16 : 0;
        vkf::enable(problem, VKF_USE_BLOCK_MASK, type == VKF_TYPE_BOOL8);
        problem.use |= VKF_USE_CAUSAL;
        const Inputs inputs = vkf::test::makeInputs(problem, {});
        const auto direct = vkf::test::reference(problem, inputs, vkf::test::referenceOptions(VKF_REFERENCE_DIRECT));
        for (const VkfReferenceAlgorithm algorithm : algorithms) {
            INFO(vkf::test::describe(problem) << ", algorithm " << static_cast<int>(algorithm));
            const double bound = algorithm == VKF_REFERENCE_TILED_FP32 ? 1e-4 : 1e-12;
            const auto result = vkf::test::reference(problem, inputs, vkf::test::referenceOptions(algorithm, 24, 16));
            for (size_t i = 0; i < direct.o.size(); i++) {
                CHECK(std::abs(direct.o[i] - result.o[i]) <= bound);
            }
            for (size_t i = 0; i < direct.lse.size(); i++) {
                const bool same = direct.lse[i] == result.lse[i]; // both -infinity
                CHECK((same || std::abs(direct.lse[i] - result.lse[i]) <= bound));
            }
        }
    }
}

// The header's example: scores are 0, v is 1, 2, 3, 4.
TEST_CASE("the reference reads masks and biases as the header shows", "[reference]") {
    VkfProblem problem = problemOf({1, 1, 1, 2, 4, 1, 0, VKF_TYPE_F32});
    for (const VkfType type : {VKF_TYPE_BOOL8, VKF_TYPE_BOOL1}) {
        problem.mask = broadcast(problem, type, false, false, true);
        vkf::enable(problem, VKF_USE_MASK);
        problem.bias = broadcast(problem, VKF_TYPE_F32, false, false, false);
        vkf::enable(problem, VKF_USE_BIAS);
        Inputs inputs = vkf::test::makeInputs(problem, {});
        std::memset(inputs.k.data(), 0, inputs.k.size());
        for (uint64_t key = 0; key < 4; key++) {
            vkfStoreElement(VKF_TYPE_F32, inputs.v.data(), key, static_cast<double>(key + 1));
            vkfStoreElement(VKF_TYPE_F32, inputs.bias.data(), key, key == 3 ? std::log(2.0) : 0.0);
        }
        constexpr std::array<unsigned char, 8> bytes = {1, 1, 0, 1, 0, 1, 1, 1};
        if (type == VKF_TYPE_BOOL8) {
            std::memcpy(inputs.mask.data(), bytes.data(), bytes.size());
        } else {
            inputs.mask[0] = std::byte{0xeb};
        }
        for (const VkfReferenceAlgorithm algorithm : algorithms) {
            const auto result = vkf::test::reference(problem, inputs, vkf::test::referenceOptions(algorithm));
            CHECK(std::abs(result.o[0] - (1 + 2 + 2 * 4) / 4.0) < 1e-6);
            CHECK(std::abs(result.o[1] - (2 + 3 + 2 * 4) / 4.0) < 1e-6);
            CHECK(std::abs(result.lse[0] - std::log(4.0)) < 1e-6);
        }
    }
}
