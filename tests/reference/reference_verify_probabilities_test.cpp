// SPDX-License-Identifier: MIT
//
// The verdict on probabilities. It accepts exact ones rounded to fp32, and notices a wrong one.
#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <vector>

#include "support/reference.hpp"
#include "vkflash/vkflash.hpp"

namespace {

using vkf::test::Inputs;
using vkf::test::problemOf;

// A call with the probabilities of standard attention, in fp32.
struct Judged {
    VkfProblem problem;
    Inputs inputs;
    std::vector<float> probabilities;
    VkfReferenceOptions options = vkf::test::referenceOptions(VKF_REFERENCE_DIRECT);

    Judged(const VkfProblem& p, const vkf::test::Data& data) : problem(p), inputs(vkf::test::makeInputs(p, data)) {
        std::vector<double> exact(size_t{p.batch} * p.queryHeads * p.queryRows * p.keys);
        VkfReferenceOptions standard = vkf::test::referenceOptions(VKF_REFERENCE_STANDARD);
        standard.probabilities = exact.data();
        vkf::test::reference(p, inputs, standard);
        probabilities.assign(exact.begin(), exact.end());
    }

    VkfProbabilitiesVerdict verdict() const {
        const VkfReferenceInputs memory = inputs.reference();
        auto v = vkf::make<VkfProbabilitiesVerdict>();
        VkfMessage message{};
        const VkfResult result =
            vkfReferenceVerifyProbabilities(&problem, &memory, &options, probabilities.data(), &v, &message);
        INFO(message.text);
        REQUIRE(result == VKF_SUCCESS);
        CHECK(v.passed == (v.error <= v.bound ? 1U : 0U));
        return v;
    }
};

// Two sequences with two heads, 13 rows and 40 keys. The second sequence has 20 keys.
Judged causalCall(VkfType type, VkfType productType = VKF_TYPE_F32) {
    VkfProblem p = problemOf({2, 2, 1, 13, 40, 16, 0, type});
    p.use |= VKF_USE_CAUSAL;
    p.softcap = 3.0F;
    vkf::enable(p, VKF_USE_KEY_LENGTHS);
    Judged judged(p, {.keyLengths = {40, 20}});
    judged.options.productType = productType;
    return judged;
}

size_t indexOf(const Judged& judged, size_t head, size_t row, size_t key) {
    return (head * judged.problem.queryRows + row) * judged.problem.keys + key;
}

} // namespace

TEST_CASE("probabilities that are right pass, with a bound of the size of fp32's errors", "[reference]") {
    for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_BF16}) {
        for (const VkfType productType : {VKF_TYPE_F32, VKF_TYPE_F16}) {
            for (const VkfPath path : {VKF_PATH_STANDARD, VKF_PATH_SCALAR}) { // from l, or from an inexact lse
                Judged call = causalCall(type, productType);
                call.problem.path = path;
                const VkfProbabilitiesVerdict verdict = call.verdict();
                INFO(vkfTypeName(type) << ' ' << vkfPathName(path));
                CHECK(verdict.passed != 0);
                CHECK(verdict.error > 0.0);
                CHECK(verdict.bound > verdict.error);
                const bool roundsQ = type == VKF_TYPE_F32 && productType != VKF_TYPE_F32;
                CHECK(verdict.bound < (roundsQ ? 1e-3 : path == VKF_PATH_STANDARD ? 6e-7 : 3e-6));
            }
        }
    }
    VkfProblem blocks = problemOf({1, 2, 1, 70, 90, 8, 0});
    blocks.blockMask.blockSize = 32;
    vkf::enable(blocks, VKF_USE_BLOCK_MASK);
    blocks.blockMask.headStride = uint64_t{3} * vkf::blockMaskLayoutOf(blocks).rowWords;
    blocks.blockMask.batchStride = 2 * blocks.blockMask.headStride;
    CHECK(Judged(blocks, {}).verdict().passed != 0);
    CHECK(Judged(problemOf({1, 2, 1, 3, 0, 8, 0}), {}).verdict().passed != 0);
}

TEST_CASE("a wrong probability is noticed, wherever it is", "[reference]") {
    const Judged right = causalCall(VKF_TYPE_F32);
    const double bound = right.verdict().bound;
    const size_t visible = indexOf(right, 1, 5, 30); // row 5 of 13 sees keys up to 32
    const size_t dropped = indexOf(right, 1, 5, 33);
    const size_t beyond = indexOf(right, 2, 12, 20); // past the second sequence's keys
    const auto with = [&](size_t index, float value) {
        Judged judged = right;
        judged.probabilities[index] = value;
        const VkfProbabilitiesVerdict verdict = judged.verdict();
        CHECK((verdict.passed != 0 || verdict.worstElement == index));
        return verdict;
    };
    const float weight = right.probabilities[visible];
    REQUIRE(weight > 0.0F);
    const VkfProbabilitiesVerdict off = with(visible, weight + static_cast<float>(1.5 * bound));
    CHECK(off.passed == 0);
    CHECK(off.worstValue == weight + static_cast<float>(1.5 * bound));
    CHECK(std::abs(off.worstReference - weight) < 1e-7);
    CHECK(with(visible, weight + static_cast<float>(0.3 * bound)).passed != 0);
    CHECK(with(visible, std::nanf("")).passed == 0);
    for (const size_t nothing : {dropped, beyond}) {
        REQUIRE(right.probabilities[nothing] == 0.0F);
        CHECK(std::isinf(with(nothing, 1e-30F).error));
    }

    // Rows that are not selected may hold anything.
    Judged judged = right;
    judged.probabilities[visible] = 77.0F;
    judged.options.rowStride = 3;
    judged.options.rowBegin = 1; // rows 1, 4, 7, 10
    CHECK(judged.verdict().passed != 0);
    judged.options.rowBegin = 2; // rows 2, 5, 8, 11
    CHECK(judged.verdict().worstElement == visible);
}

TEST_CASE("a verdict on probabilities in several pieces checks all of them", "[reference]") {
    Judged judged(problemOf({1, 2, 1, 1200, 2000, 4, 0}), {});
    CHECK(judged.verdict().passed != 0);
    for (const size_t row : {0U, 1U, 1199U}) {
        const size_t index = indexOf(judged, 1, row, 1999);
        const float right = judged.probabilities[index];
        judged.probabilities[index] = 0.5F;
        CHECK(judged.verdict().worstElement == index);
        judged.probabilities[index] = right;
    }
}

TEST_CASE("a NaN in a key makes NaN of the probabilities of the rows that see it", "[reference]") {
    VkfProblem p = problemOf({1, 1, 1, 2, 3, 4, 0});
    p.use |= VKF_USE_CAUSAL;
    Judged judged(p, {.edit = [](auto&, auto& k, auto&) {
                      for (uint64_t d = 0; d < 4; d++) {
                          vkfStoreElement(VKF_TYPE_F32, k.data(), 8 + d, NAN); // the last key, which only row 1 sees
                      }
                  }});
    CHECK(std::isnan(judged.probabilities[3]));
    CHECK(judged.verdict().passed != 0);
    judged.probabilities[3] = 0.5F;
    CHECK(judged.verdict().passed == 0);
}

TEST_CASE("the verdict on probabilities refuses bad calls", "[reference]") {
    const Judged judged = causalCall(VKF_TYPE_F32);
    const VkfReferenceInputs memory = judged.inputs.reference();
    VkfProbabilitiesVerdict v{};
    const auto verify = [&](const float* probabilities, VkfProbabilitiesVerdict* verdict) {
        return vkfReferenceVerifyProbabilities(&judged.problem, &memory, nullptr, probabilities, verdict, nullptr);
    };
    CHECK(verify(judged.probabilities.data(), &v) == VKF_ERROR_STRUCT_SIZE);
    CHECK(verify(judged.probabilities.data(), nullptr) == VKF_ERROR_INVALID_ARGUMENT);
    v.structSize = sizeof v;
    CHECK(verify(nullptr, &v) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(verify(judged.probabilities.data(), &v) == VKF_SUCCESS);
    CHECK(v.structSize == sizeof v);
}
