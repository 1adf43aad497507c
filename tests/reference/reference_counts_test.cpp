// SPDX-License-Identifier: MIT
//
// Every number of a problem at 0, at 1 and at its limit, alone and in pairs, through the functions of reference.h. A
// call without an output needs no memory, however large its other numbers are.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include "calls/count_tables.hpp"
#include "reference/backward_cases.hpp"
#include "support/reference.hpp"

namespace {

using vkf::test::Backward;

bool isEmpty(const VkfProblem& p) { return p.queryHeads == 0 || p.queryRows == 0; }

// Whether a test has time and memory for the problem's tensors.
bool isSmall(const VkfProblem& p) {
    constexpr uint64_t most = 3000;
    uint64_t largest = std::max({p.batch, p.queryHeads, p.kvHeads, p.queryRows, p.keys});
    for (const VkfTensorRole role : {VKF_TENSOR_Q, VKF_TENSOR_K, VKF_TENSOR_V, VKF_TENSOR_O}) {
        largest = std::max(largest, vkf::layoutOf(p, role).elements);
    }
    for (const VkfArray array : {VKF_ARRAY_BIAS, VKF_ARRAY_MASK, VKF_ARRAY_DROPOUT_MASK}) {
        largest = std::max(largest, vkfGetArrayBytes(&p, array));
    }
    largest = std::max({largest, vkf::blockMaskLayoutOf(p).words, uint64_t{p.batch} * p.paging.maxPages,
                        uint64_t{p.paging.pages}, uint64_t{p.probabilityRowCount}});
    const uint64_t pages = p.paging.pageSize == 0 ? 0 : uint64_t{p.batch} * ((p.keys - 1) / p.paging.pageSize + 1);
    return largest <= most && uint64_t{p.queryRows} * p.keys <= most && pages <= p.paging.pages;
}

void checkResult(VkfResult result, const VkfMessage& message) {
    INFO(message.text);
    CHECK(result == VKF_SUCCESS);
}

// No input is there, and no output.
void checkEmpty(const VkfProblem& p) {
    VkfMessage message{};
    const auto nothing = vkf::make<VkfReferenceInputs>();
    for (const VkfReferenceAlgorithm algorithm : vkf::test::algorithms) {
        const VkfReferenceOptions options = vkf::test::referenceOptions(algorithm, UINT32_MAX, UINT32_MAX);
        checkResult(vkfReferenceAttention(&p, &nothing, &options, nullptr, nullptr, &message), message);
    }
    auto verdict = vkf::make<VkfVerdict>();
    checkResult(vkfReferenceVerify(&p, &nothing, nullptr, nullptr, nullptr, &verdict, &message), message);
    CHECK(verdict.passed == 1);
    if (vkf::has(p, VKF_USE_PROBABILITIES)) {
        auto judged = vkf::make<VkfProbabilitiesVerdict>();
        checkResult(vkfReferenceVerifyProbabilities(&p, &nothing, nullptr, nullptr, &judged, &message), message);
        CHECK(judged.passed == 1);
    }
}

// As above. No gradient is wanted in memory.
void checkEmpty(const VkfBackwardProblem& p) {
    VkfMessage message{};
    const auto nothing = vkf::make<VkfReferenceInputs>();
    const auto more = vkf::make<VkfReferenceBackwardInputs>();
    const auto gradients = vkf::make<VkfReferenceGradients>();
    checkResult(vkfReferenceBackward(&p, &nothing, &more, nullptr, &gradients, &message), message);
    const auto outputs = vkf::make<VkfBackwardOutputs>();
    auto verdict = vkf::make<VkfBackwardVerdict>();
    checkResult(vkfReferenceVerifyBackward(&p, &nothing, &more, nullptr, &outputs, &verdict, &message), message);
    CHECK(verdict.passed == 1);
}

// All algorithms give the same output, and the judge calls it right.
void checkSmall(const VkfProblem& p) {
    const vkf::test::Inputs inputs = vkf::test::makeInputs(p, {});
    const vkf::test::Result exact = reference(p, inputs, vkf::test::referenceOptions(VKF_REFERENCE_DIRECT));
    CHECK(std::find(exact.o.begin(), exact.o.end(), vkf::test::untouched) == exact.o.end());
    std::vector<std::byte> o(vkf::layoutOf(p, VKF_TENSOR_O).elements * vkfTypeBytes(p.o.type));
    const VkfTensorLayout layout = vkf::layoutOf(p, VKF_TENSOR_O);
    for (uint64_t i = 0; i < exact.o.size(); i++) {
        const uint64_t row = i / layout.dim;
        const uint64_t head = row / layout.rows;
        vkfStoreElement(p.o.type, o.data(),
                        head / layout.heads * layout.batchStride + head % layout.heads * layout.headStride +
                            row % layout.rows * layout.rowStride + i % layout.dim,
                        exact.o[i]);
    }
    const std::vector<float> lse(exact.lse.begin(), exact.lse.end());
    for (const uint32_t extreme : {1U, UINT32_MAX}) {
        auto options = vkf::test::referenceOptions(VKF_REFERENCE_DIRECT, extreme, extreme);
        options.threads = extreme;
        options.rowStride = extreme;
        VkfMessage message{};
        auto verdict = vkf::make<VkfVerdict>();
        const VkfReferenceInputs memory = inputs.reference();
        checkResult(vkfReferenceVerify(&p, &memory, &options, o.data(), lse.data(), &verdict, &message), message);
        CHECK(verdict.passed == 1);
    }
}

} // namespace

TEST_CASE("the reference takes any counts of a problem", "[counts]") {
    std::vector<VkfProblem> bases = vkf::test::attentionBases();
    bases.push_back(vkf::test::problemOf({2, 2, 1, 3, 5, 8}));
    bases.push_back(vkf::test::problemOf({2, 2, 1, 3, 5, 32}));
    bases.back().k.type = bases.back().v.type = VKF_TYPE_Q5_0;
    vkf::test::setPages(bases.back(), 2, 1);
    int turn = 0;
    for (const VkfProblem& base : bases) {
        INFO(vkf::test::describe(base));
        vkf::test::forEachCount<VkfProblem>(base, vkf::test::attentionCounts(),
                                            [&](const VkfProblem& p, const std::string& text, uint32_t) {
                                                INFO(text);
                                                if (vkfCheckProblem(&p, nullptr) != VKF_SUCCESS) {
                                                    return;
                                                }
                                                if (isEmpty(p)) {
                                                    checkEmpty(p);
                                                } else if (isSmall(p) && !vkf::has(p, VKF_USE_CU_SEQLENS) &&
                                                           !vkf::has(p, VKF_USE_KEY_LENGTHS) && turn++ % 13 == 0) {
                                                    checkSmall(p);
                                                }
                                            });
    }
}

TEST_CASE("the reference's backward pass takes any counts of a problem", "[counts]") {
    std::vector<Backward> bases = vkf::test::backwardBases();
    Backward small{vkf::test::problemOf({2, 2, 1, 3, 5, 8}), {}};
    vkf::enable(small.forward, VKF_USE_LSE);
    small.own = vkf::test::backwardOf(small.forward);
    bases.push_back(small);
    int turn = 0;
    for (const Backward& base : bases) {
        INFO(vkf::test::describe(base.forward));
        vkf::test::forEachCount<Backward>(
            base, vkf::test::backwardCounts(), [&](const Backward& b, const std::string& text, uint32_t) {
                INFO(text);
                const VkfBackwardProblem p = b.problem();
                const auto elements = [&](VkfBackwardRole role) { return vkf::layoutOf(p, role).elements; };
                const VkfResult result = vkfCheckBackward(&p, nullptr);
                if (result == VKF_SUCCESS && isEmpty(b.forward)) {
                    checkEmpty(p);
                }
                if (result != VKF_SUCCESS || !isSmall(b.forward) || vkf::has(b.forward, VKF_USE_CU_SEQLENS) ||
                    elements(VKF_BACKWARD_DOUT) > 3000 || elements(VKF_BACKWARD_DQ) > 3000 ||
                    elements(VKF_BACKWARD_DK) > 3000 || turn++ % 13 != 0) {
                    return;
                }
                const vkf::test::Inputs inputs = vkf::test::makeInputs(b.forward, {});
                const vkf::test::BackwardInputs more = vkf::test::makeBackwardInputs(p);
                const vkf::test::Gradients g =
                    vkf::test::referenceBackward(p, inputs, more, vkf::test::referenceOptions(VKF_REFERENCE_TILED));
                for (const std::vector<double>* of : {&g.dq, &g.dk, &g.dv}) {
                    CHECK(std::all_of(of->begin(), of->end(), [&](double x) {
                        return isEmpty(b.forward) ? x == 0.0 : std::isfinite(x) && x != vkf::test::untouched;
                    }));
                }
            });
    }
}
