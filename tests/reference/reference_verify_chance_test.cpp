// SPDX-License-Identifier: MIT
//
// Rows in which the fp32 runs of the verdict agree with the exact run by chance, or where devices may take small
// numbers for 0. The verdict accepts what roundings do to them, and notices more.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/backward_cases.hpp"
#include "support/reference.hpp"
#include "vkflash/vkflash.hpp"

namespace {

using vkf::test::Inputs;

constexpr uint32_t dim = 64;
constexpr double product = 1024.0;                   // of q and k at each column, with alternating signs
constexpr double unit = 0x1p-24 * product * dim / 8; // scoreError of such a row; the scale is 1/8

// One row and one key. The products of q and k are whole numbers and cancel: both fp32 runs compute the score exactly.
struct Cancelling {
    VkfProblem problem = vkf::test::problemOf({1, 1, 1, 1, 1, dim});
    Inputs inputs = vkf::test::makeInputs(problem, {});
    VkfReferenceOptions options = vkf::test::referenceOptions(VKF_REFERENCE_DIRECT);

    Cancelling() {
        for (uint32_t d = 0; d < dim; d++) {
            vkfStoreElement(VKF_TYPE_F32, inputs.q.data(), d, 32.0);
            vkfStoreElement(VKF_TYPE_F32, inputs.k.data(), d, d % 2 == 0 ? product / 32 : -product / 32);
        }
    }

    bool accepts(float lse) const {
        const VkfReferenceInputs memory = inputs.reference();
        auto verdict = vkf::make<VkfVerdict>();
        REQUIRE(vkfReferenceVerify(&problem, &memory, &options, inputs.v.data(), &lse, &verdict, nullptr) ==
                VKF_SUCCESS);
        return verdict.passed != 0;
    }

    bool acceptsProbability(float p, VkfPath path) const {
        VkfProblem ofPath = problem;
        ofPath.path = path;
        const VkfReferenceInputs memory = inputs.reference();
        auto verdict = vkf::make<VkfProbabilitiesVerdict>();
        REQUIRE(vkfReferenceVerifyProbabilities(&ofPath, &memory, &options, &p, &verdict, nullptr) == VKF_SUCCESS);
        return verdict.passed != 0;
    }
};

} // namespace

TEST_CASE("lse of a score whose products cancel may be off by their roundings", "[reference]") {
    const Cancelling call;
    CHECK(call.accepts(0.0F));
    for (const double sign : {-1.0, 1.0}) {
        CHECK(call.accepts(static_cast<float>(sign * 1.5 * unit)));
        CHECK_FALSE(call.accepts(static_cast<float>(sign * 3.0 * unit)));
    }
}

TEST_CASE("a probability of a score whose products cancel may be off by their roundings", "[reference]") {
    const Cancelling call;
    for (const VkfPath path : {VKF_PATH_SCALAR, VKF_PATH_STANDARD}) { // from lse, and in the softmax
        CHECK(call.acceptsProbability(1.0F, path));
        CHECK(call.acceptsProbability(static_cast<float>(1.0 - 1.5 * unit), path));
        CHECK_FALSE(call.acceptsProbability(static_cast<float>(1.0 - 3.0 * unit), path));
    }
}

TEST_CASE("o may be off by the rounding of a probability that the fp32 runs hold exactly", "[reference]") {
    VkfProblem problem = vkf::test::problemOf({1, 1, 1, 1, 2, dim}); // p is 1 and 3/4, which fp16 holds
    Inputs inputs = vkf::test::makeInputs(problem, {});
    for (uint32_t d = 0; d < dim; d++) {
        vkfStoreElement(VKF_TYPE_F32, inputs.q.data(), d, 1.0);
        vkfStoreElement(VKF_TYPE_F32, inputs.k.data(), d, 0.0);
        vkfStoreElement(VKF_TYPE_F32, inputs.k.data(), dim + d, std::log(0.75) * 8 / dim); // the scale is 1/8
        vkfStoreElement(VKF_TYPE_F32, inputs.v.data(), d, 0.0);
        vkfStoreElement(VKF_TYPE_F32, inputs.v.data(), dim + d, 3.0);
    }
    VkfReferenceOptions options = vkf::test::referenceOptions(VKF_REFERENCE_DIRECT);
    options.productType = VKF_TYPE_F16;
    const VkfReferenceInputs memory = inputs.reference();
    const auto accepts = [&](double error) {
        const std::vector<float> o(dim, static_cast<float>(0.75 / 1.75 * 3.0 + error));
        auto verdict = vkf::make<VkfVerdict>();
        REQUIRE(vkfReferenceVerify(&problem, &memory, &options, o.data(), nullptr, &verdict, nullptr) == VKF_SUCCESS);
        return verdict.passed != 0;
    };
    const double halfUnit = 0x1p-12 / 1.75 * 3.0; // of fp16 at 3/4, divided by l and times v
    CHECK(accepts(0.0));
    CHECK(accepts(halfUnit));
    CHECK_FALSE(accepts(1.5 * halfUnit));
    options.productType = VKF_TYPE_F32;
    CHECK_FALSE(accepts(halfUnit));
}

TEST_CASE("products that cancel in one row do not loosen the bounds of others", "[reference]") {
    VkfProblem problem = vkf::test::problemOf({1, 1, 1, 40, 40, dim});
    problem.use |= VKF_USE_CAUSAL; // row 0 sees key 0 alone
    Inputs inputs = vkf::test::makeInputs(problem, {});
    for (uint32_t d = 0; d < dim; d++) {
        const double k = vkfLoadElement(VKF_TYPE_F32, inputs.k.data(), d ^ 1U);
        vkfStoreElement(VKF_TYPE_F32, inputs.q.data(), d, d % 2 == 0 ? 1e5 * k : -1e5 * k); // q k[0] = 0
    }
    VkfReferenceOptions options = vkf::test::referenceOptions(VKF_REFERENCE_TILED_FP32);
    const vkf::test::Result run = vkf::test::reference(problem, inputs, options);
    std::vector<float> lse(run.lse.begin(), run.lse.end());
    const std::vector<float> o(run.o.begin(), run.o.end());
    const VkfReferenceInputs memory = inputs.reference();
    auto verdict = vkf::make<VkfVerdict>();
    REQUIRE(vkfReferenceVerify(&problem, &memory, &options, o.data(), lse.data(), &verdict, nullptr) == VKF_SUCCESS);
    CHECK(verdict.passed == 1);
    lse[7] += 2e-5F;
    REQUIRE(vkfReferenceVerify(&problem, &memory, &options, o.data(), lse.data(), &verdict, nullptr) == VKF_SUCCESS);
    CHECK(verdict.passed == 0);
}

namespace {

// A row that sees two keys, of scores 0 and `low`. dlse is huge, so that dk of the second key is a usual number
// although its probability is below the normal fp32 numbers.
struct TinyProbability {
    VkfProblem forward = vkf::test::problemOf({1, 1, 1, 1, 2, dim});
    VkfBackwardProblem problem{};
    Inputs inputs = vkf::test::makeInputs(forward, {});
    vkf::test::BackwardInputs more;
    vkf::test::Gradients exact;
    VkfReferenceOptions options = vkf::test::referenceOptions(VKF_REFERENCE_DIRECT);

    explicit TinyProbability(double low) {
        problem = vkf::test::backwardOf(forward);
        vkf::enable(problem, VKF_USE_DLSE);
        for (uint32_t d = 0; d < dim; d++) {
            vkfStoreElement(VKF_TYPE_F32, inputs.q.data(), d, 1.0);
            vkfStoreElement(VKF_TYPE_F32, inputs.k.data(), d, 0.0);
            vkfStoreElement(VKF_TYPE_F32, inputs.k.data(), dim + d, low * 8 / dim); // the scale is 1/8
        }
        more = vkf::test::makeBackwardInputs(problem);
        more.dlse.assign(1, 1e36F);
        vkf::test::computeForward(forward, inputs, VKF_TYPE_F32, &more);
        exact = vkf::test::referenceBackward(problem, inputs, more, options);
    }
    TinyProbability(const TinyProbability&) = delete; // `problem` points at `forward`
    TinyProbability& operator=(const TinyProbability&) = delete;
    ~TinyProbability() = default;

    // Whether dk is right with the row of the second key times `factor`.
    bool accepts(double factor) const {
        std::vector<float> dk(exact.dk.begin(), exact.dk.end());
        std::transform(dk.begin() + dim, dk.end(), dk.begin() + dim,
                       [&](float x) { return static_cast<float>(factor) * x; });
        const VkfReferenceInputs memory = inputs.reference();
        const VkfReferenceBackwardInputs backwardMemory = more.reference();
        auto outputs = vkf::make<VkfBackwardOutputs>();
        outputs.dk = dk.data();
        auto verdict = vkf::make<VkfBackwardVerdict>();
        REQUIRE(vkfReferenceVerifyBackward(&problem, &memory, &backwardMemory, &options, &outputs, &verdict, nullptr) ==
                VKF_SUCCESS);
        return verdict.passed != 0;
    }
};

} // namespace

TEST_CASE("a probability below the normal numbers may be 0 in gradients", "[reference_backward]") {
    const TinyProbability below(-88.0); // 6e-39
    CHECK(std::abs(below.exact.dk[dim]) > 1e-4);
    CHECK(below.accepts(1.0));
    CHECK(below.accepts(0.0));
    CHECK_FALSE(below.accepts(100.0));
    const TinyProbability above(-86.0);
    CHECK(above.accepts(1.0));
    CHECK_FALSE(above.accepts(0.0));
}
