// SPDX-License-Identifier: MIT
//
// The host layer's Plan, Attention and one-call attention() on cases small enough to compute by hand. Other tests check
// attention in general.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <vkflash/vkflash.hpp>

#include <cmath>
#include <vector>

#include "support/device.hpp"

using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using namespace vkf;

namespace {

// One head, D = 2. Row 0 is orthogonal to both keys' difference and averages v; row 1 prefers key 0 by
// ln 3, so that its probabilities are 3/4 and 1/4.
struct TinyCase {
    VkfProblem problem = make<VkfProblem>();
    std::vector<float> q = {0, 5, std::log(3.0F), 0};
    std::vector<float> k = {1, 0, 0, 0};
    std::vector<float> v = {4, 8, 0, 16};
    std::vector<float> o = {0, 0, 0, 0};
    std::vector<float> lse = {0, 0};

    TinyCase() {
        problem.batch = problem.queryHeads = problem.kvHeads = 1;
        problem.queryRows = problem.keys = problem.headDim = 2;
        problem.scale = 1;
        enable(problem, VKF_USE_LSE);
    }
    host::HostTensors tensors() { return {q.data(), k.data(), v.data(), nullptr, o.data(), lse.data()}; }
};

} // namespace

TEST_CASE("attention in one call gives what was computed by hand", "[host][attention][slice]") {
    TinyCase tiny;
    std::vector<double> shares;
    const host::AttentionReport report = host::attention(test::testDevice(), tiny.problem, tiny.tensors(),
                                                         [&](double share) { shares.push_back(share); });
    CHECK(tiny.o[0] == Approx(2));
    CHECK(tiny.o[1] == Approx(12));
    CHECK(tiny.o[2] == Approx(3));
    CHECK(tiny.o[3] == Approx(10));
    CHECK(tiny.lse[0] == Approx(std::log(2.0)));
    CHECK(tiny.lse[1] == Approx(std::log(4.0)));
    CHECK(report.plan.path != VKF_PATH_AUTO);
    CHECK(report.plan.stepCount == shares.size());
    CHECK(shares.back() == 1);
}

TEST_CASE("key lengths are uploaded with the tensors", "[host][attention][slice]") {
    TinyCase tiny;
    enable(tiny.problem, VKF_USE_KEY_LENGTHS);
    const int32_t length = 1;
    host::HostTensors tensors = tiny.tensors();
    tensors.keyLengths = &length;
    host::attention(test::testDevice(), tiny.problem, tensors);
    CHECK(tiny.o == std::vector<float>{4, 8, 4, 8});
}

TEST_CASE("downloading a strided o leaves the elements between its rows alone", "[host][attention]") {
    TinyCase tiny;
    tiny.problem.o.batchStride = 10;
    tiny.problem.o.headStride = 10;
    tiny.problem.o.rowStride = 5;
    tiny.o.assign(12, -1);
    host::attention(test::testDevice(), tiny.problem, tiny.tensors());
    CHECK(tiny.o[0] == Approx(2));
    CHECK(tiny.o[6] == Approx(10));
    for (const size_t gap : {2U, 3U, 4U, 7U, 8U, 9U, 10U, 11U}) {
        CHECK(tiny.o[gap] == -1);
    }
}

TEST_CASE("o with its rows before its heads has no gaps and comes back whole", "[host][attention]") {
    auto problem = make<VkfProblem>();
    problem.batch = problem.queryHeads = problem.kvHeads = 2;
    problem.queryRows = 3;
    problem.keys = 1;
    problem.headDim = 4;
    problem.o = rowsFirst(VKF_TYPE_F32, 3, 2, 4);
    const std::vector<float> q(48, 1);
    const std::vector<float> k(16, 1);
    std::vector<float> v(16);
    for (size_t i = 0; i < v.size(); ++i) {
        v[i] = static_cast<float>(i);
    }
    std::vector<float> o(48, -1);
    host::attention(test::testDevice(), problem, {q.data(), k.data(), v.data(), nullptr, o.data(), nullptr});
    // With one key, every row of o is v of its sequence and head.
    for (size_t i = 0; i < o.size(); ++i) {
        CHECK(o[i] == v[i / 24 * 8 + i % 8]);
    }
}

TEST_CASE("a plan runs any number of times and its steps add up", "[host][attention]") {
    TinyCase tiny;
    host::Attention attention(test::testDevice(), tiny.problem);
    attention.upload(tiny.tensors());
    for (int repeat = 0; repeat < 3; ++repeat) {
        tiny.o.assign(4, -1);
        CHECK(attention.run() >= 0);
        attention.download(tiny.tensors());
        CHECK(tiny.o[2] == Approx(3));
    }
}

TEST_CASE("attention survives being moved, and its device too", "[host][attention]") {
    TinyCase tiny;
    host::Device device = test::openTestDevice();
    host::Attention first(device, tiny.problem);
    const host::Device moved = std::move(device);
    host::Attention second = std::move(first);
    second.upload(tiny.tensors());
    second.run();
    second.download(tiny.tensors());
    CHECK(tiny.o[2] == Approx(3));
}

TEST_CASE("a null tensor is refused by name", "[host][attention]") {
    TinyCase tiny;
    host::HostTensors tensors = tiny.tensors();
    const char* name = nullptr;
    host::Device& device = test::testDevice();
    SECTION("q") { tensors.q = nullptr, name = "q is null"; }
    SECTION("k") { tensors.k = nullptr, name = "k is null"; }
    SECTION("v") { tensors.v = nullptr, name = "v is null"; }
    SECTION("o") { tensors.o = nullptr, name = "o is null"; }
    SECTION("lse") { tensors.lse = nullptr, name = "lse is null"; }
    CHECK_THROWS_WITH(host::attention(device, tiny.problem, tensors), ContainsSubstring(name));
}

TEST_CASE("an empty output needs no memory and runs no step", "[host][attention]") {
    TinyCase tiny;
    tiny.problem.queryRows = 0;
    const host::AttentionReport report = host::attention(
        test::testDevice(), tiny.problem, {nullptr, tiny.k.data(), tiny.v.data(), nullptr, nullptr, nullptr});
    CHECK(report.plan.stepCount == 0);
    CHECK(report.seconds == 0);
}

TEST_CASE("no keys at all give zeros and minus infinity", "[host][attention]") {
    TinyCase tiny;
    tiny.problem.keys = 0;
    tiny.o.assign(4, -1);
    host::attention(test::testDevice(), tiny.problem,
                    {tiny.q.data(), nullptr, nullptr, nullptr, tiny.o.data(), tiny.lse.data()});
    CHECK(tiny.o == std::vector<float>{0, 0, 0, 0});
    CHECK(tiny.lse[0] == -INFINITY);
}

TEST_CASE("packed sequences are uploaded with their lengths, which are checked", "[host][attention]") {
    test::skipWithoutDevice();
    TinyCase tiny;
    tiny.problem.batch = 2;
    enable(tiny.problem, VKF_USE_CU_SEQLENS);
    host::HostTensors tensors = tiny.tensors();
    const std::vector<int32_t> rows = {0, 1, 2};
    std::vector<int32_t> keys = {0, 0, 2};
    tensors.cuSeqlensQ = rows.data();
    CHECK_THROWS_WITH(host::attention(test::testDevice(), tiny.problem, tensors),
                      ContainsSubstring("cuSeqlensK is null"));
    tensors.cuSeqlensK = keys.data();
    host::attention(test::testDevice(), tiny.problem, tensors);
    CHECK(tiny.o[0] == 0);
    CHECK(tiny.o[1] == 0);
    CHECK(tiny.lse[0] == -INFINITY);
    CHECK(tiny.o[2] == Approx(3));
    CHECK(tiny.lse[1] == Approx(std::log(4.0)));
    keys[2] = 1;
    CHECK_THROWS_WITH(host::attention(test::testDevice(), tiny.problem, tensors),
                      ContainsSubstring("cuSeqlensK[2], the last, is 1; it must be 2"));
}

TEST_CASE("a problem that the library refuses is an error with its reason", "[host][attention]") {
    TinyCase tiny;
    tiny.problem.scale = NAN;
    host::Device& device = test::testDevice();
    CHECK_THROWS_WITH(host::Plan(device, tiny.problem), ContainsSubstring("scale"));
}

// L = o[0][0] of the tiny case: with p = (3/4, 1/4) of row 1 and (1/2, 1/2) of row 0, all gradients follow by hand.
TEST_CASE("the backward pass in one call gives what was computed by hand", "[host][backward][slice]") {
    TinyCase tiny;
    host::attention(test::testDevice(), tiny.problem, tiny.tensors());
    auto problem = make<VkfBackwardProblem>();
    problem.forward = &tiny.problem;
    const std::vector<float> dout = {1, 0, 0, 0};
    std::vector<float> dq(4, -1);
    std::vector<float> dk(4, -1);
    std::vector<float> dv(4, -1);
    host::HostGradients gradients;
    gradients.dout = dout.data();
    gradients.dq = dq.data();
    gradients.dk = dk.data();
    gradients.dv = dv.data();
    std::vector<double> shares;
    const host::BackwardReport report = host::backward(test::testDevice(), problem, tiny.tensors(), gradients,
                                                       [&](double share) { shares.push_back(share); });
    CHECK(report.info.stepCount == shares.size());
    // Row 0: p = 1/2 each, dp = (4, 0), delta = 2, ds = (1, -1).
    const std::vector<float> expectedQ = {1, 0, 0, 0};
    const std::vector<float> expectedK = {0, 5, 0, -5};
    const std::vector<float> expectedV = {0.5F, 0, 0.5F, 0};
    for (size_t i = 0; i < 4; i++) {
        CHECK(dq[i] == Approx(expectedQ[i]));
        CHECK(dk[i] == Approx(expectedK[i]));
        CHECK(dv[i] == Approx(expectedV[i]));
    }
    gradients.dv = nullptr;
    CHECK_THROWS_WITH(host::backward(test::testDevice(), problem, tiny.tensors(), gradients),
                      ContainsSubstring("dv is null"));
}

namespace {

// Attention and its backward pass on host arrays, forward and backward, or a refusal. All q and k are 0, so that every
// row of o is the mean of v, which is 3 everywhere.
void checkCounts(const VkfProblem& p) {
    const auto numbers = [&](VkfTensorRole role, float value) {
        return std::vector<float>(layoutOf(p, role).elements, value);
    };
    const std::vector<float> q = numbers(VKF_TENSOR_Q, 0.0F);
    const std::vector<float> k = numbers(VKF_TENSOR_K, 0.0F);
    const std::vector<float> v = numbers(VKF_TENSOR_V, 3.0F);
    std::vector<float> o = numbers(VKF_TENSOR_O, -1.0F);
    std::vector<float> lse(size_t{p.batch} * p.queryHeads * p.queryRows, -1.0F);
    const host::HostTensors tensors = {q.data(), k.data(), v.data(), nullptr, o.data(), lse.data()};
    if (p.queryHeads != 0 && p.kvHeads == 0) {
        CHECK_THROWS_WITH(host::attention(test::testDevice(), p, tensors), ContainsSubstring("kvHeads"));
        return;
    }
    host::attention(test::testDevice(), p, tensors);
    const float expected = p.keys == 0 ? 0.0F : 3.0F;
    CHECK(o == std::vector<float>(o.size(), expected));

    auto backward = make<VkfBackwardProblem>();
    backward.forward = &p;
    std::vector<float> dq(q.size(), -1.0F);
    std::vector<float> dk(k.size(), -1.0F);
    std::vector<float> dv(v.size(), -1.0F);
    const std::vector<float> dout(o.size(), 1.0F);
    host::backward(test::testDevice(), backward, tensors, {dout.data(), nullptr, dq.data(), dk.data(), dv.data()});
    CHECK(dq == std::vector<float>(dq.size(), 0.0F));
    CHECK(dk == std::vector<float>(dk.size(), 0.0F));
    double sum = 0.0; // each row gives its dout away
    for (const float x : dv) {
        sum += static_cast<double>(x);
    }
    CHECK(sum == Approx(p.keys == 0 ? 0.0 : static_cast<double>(dout.size())));
}

} // namespace

TEST_CASE("every count may be 0 or 1, alone and in pairs", "[host][attention]") {
    uint32_t VkfProblem::*const counts[] = {&VkfProblem::queryHeads, &VkfProblem::kvHeads, &VkfProblem::queryRows,
                                            &VkfProblem::keys};
    for (const auto first : counts) {
        for (const auto second : counts) {
            for (const uint32_t values : {0U, 1U, 2U, 3U}) {
                VkfProblem p = TinyCase().problem;
                p.path = VKF_PATH_SCALAR;
                p.batch = 2;
                p.queryHeads = 4;
                p.kvHeads = 2;
                p.queryRows = 3;
                p.keys = 5;
                p.*first = values & 1U;
                p.*second = values >> 1;
                if (p.queryHeads == 1 && p.kvHeads == 2) {
                    p.kvHeads = 1; // a divisor
                }
                INFO("B " << p.batch << ", H " << p.queryHeads << "/" << p.kvHeads << ", N " << p.queryRows << "x"
                          << p.keys);
                checkCounts(p);
            }
        }
    }
}
