// SPDX-License-Identifier: MIT
//
// The verdict. It accepts the output of a kernel with the right roundings, and notices one wrong element.
#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "support/reference.hpp"

namespace {

using vkf::test::Inputs;
using vkf::test::Result;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr float nan32 = std::numeric_limits<float>::quiet_NaN();

// A call whose output comes from the fp32 algorithm, like that of a kernel.
struct Judged {
    VkfProblem problem;
    Inputs inputs;
    std::vector<std::byte> o;
    std::vector<float> lse;
    VkfReferenceOptions options = vkf::test::referenceOptions(VKF_REFERENCE_DIRECT);

    Judged(const VkfProblem& p, Inputs given, VkfType productType = VKF_TYPE_F32)
        : problem(p), inputs(std::move(given)) {
        options.productType = productType;
        const VkfTensorLayout layout = vkf::layoutOf(p, VKF_TENSOR_O);
        o.assign(layout.elements * vkfTypeBytes(layout.type), std::byte{0xff});
        VkfReferenceOptions asKernel = options;
        asKernel.algorithm = VKF_REFERENCE_TILED_FP32;
        const Result result = reference(p, inputs, asKernel);
        for (uint64_t i = 0; i < result.o.size(); i++) {
            set(i, result.o[i]);
        }
        for (const double x : result.lse) {
            lse.push_back(static_cast<float>(x));
        }
    }

    uint64_t place(uint64_t dense) const {
        const VkfTensorLayout layout = vkf::layoutOf(problem, VKF_TENSOR_O);
        const uint64_t row = dense / layout.dim;
        const uint64_t head = row / layout.rows;
        return head / layout.heads * layout.batchStride + head % layout.heads * layout.headStride +
               row % layout.rows * layout.rowStride + dense % layout.dim;
    }
    double get(uint64_t dense) const { return vkfLoadElement(problem.o.type, o.data(), place(dense)); }
    void set(uint64_t dense, double x) { vkfStoreElement(problem.o.type, o.data(), place(dense), x); }

    VkfVerdict verdict() const {
        const VkfReferenceInputs memory = inputs.reference();
        VkfVerdict v{};
        v.structSize = sizeof v;
        VkfMessage message{};
        const VkfResult result = vkfReferenceVerify(&problem, &memory, &options, o.data(), lse.data(), &v, &message);
        INFO(message.text);
        REQUIRE(result == VKF_SUCCESS);
        return v;
    }
};

Judged causalCall(VkfType type) {
    VkfProblem p = vkf::test::problemOf({2, 4, 2, 20, 13, 24, 0, type}); // rows 0 to 6 see nothing
    p.use |= VKF_USE_CAUSAL;
    p.o.headStride = 24; // [batch, rows, heads, dim] with a gap
    p.o.rowStride = 100;
    p.o.batchStride = 2000;
    return {p, vkf::test::makeInputs(p, {})};
}

constexpr uint64_t someElement = ((1 * 4 + 2) * 20 + 11) * 24 + 5; // of a row that sees keys
constexpr uint64_t someRow = someElement / 24;
constexpr uint64_t emptyRow = (1 * 4 + 2) * 20 + 3;

} // namespace

TEST_CASE("the verdict accepts the fp32 algorithm's own output", "[reference]") {
    for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_BF16}) {
        const VkfVerdict verdict = causalCall(type).verdict();
        INFO(vkfTypeName(type) << ": " << verdict.oError << " of " << verdict.oBound);
        CHECK(verdict.passed == 1);
        CHECK(verdict.oError > 0.0);
        CHECK(verdict.oError <= verdict.oBound / 2);
        CHECK(verdict.lseError <= verdict.lseBound / 2);
        CHECK(verdict.oBound < (type == VKF_TYPE_F32 ? 1e-5 : 0.5));
        CHECK(verdict.lseBound < 1e-5);
        CHECK((verdict.oRms > 0.1 && verdict.oRms < 1.0));
    }
}

TEST_CASE("the verdict notices planted errors", "[reference]") {
    struct Planted {
        const char* name;
        std::function<void(Judged&, const VkfVerdict&)> plant;
        bool inO;
    };
    const Planted errors[] = {
        {"one element off by a little over the bound",
         [](Judged& j, const VkfVerdict& v) { j.set(someElement, j.get(someElement) + 2.5 * v.oBound); }, true},
        {"an unwritten NaN", [](Judged& j, const VkfVerdict&) { j.set(someElement, NAN); }, true},
        {"an infinity", [](Judged& j, const VkfVerdict&) { j.set(someElement, infinity); }, true},
        {"an empty row that is only nearly 0", [](Judged& j, const VkfVerdict&) { j.set(emptyRow * 24, 0x1p-24); },
         true},
        {"a shifted lse",
         [](Judged& j, const VkfVerdict& v) { j.lse[someRow] += static_cast<float>(2.5 * v.lseBound); }, false},
        {"a NaN in lse", [](Judged& j, const VkfVerdict&) { j.lse[someRow] = nan32; }, false},
        {"an empty row whose lse is finite", [](Judged& j, const VkfVerdict&) { j.lse[emptyRow] = -1e30F; }, false},
        {"an empty row whose lse is +infinity",
         [](Judged& j, const VkfVerdict&) { j.lse[emptyRow] = std::numeric_limits<float>::infinity(); }, false},
    };
    for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_BF16}) {
        for (const Planted& error : errors) {
            INFO(error.name << " " << vkfTypeName(type));
            Judged judged = causalCall(type);
            error.plant(judged, judged.verdict());
            const VkfVerdict verdict = judged.verdict();
            CHECK(verdict.passed == 0);
            CHECK((verdict.oError > verdict.oBound) == error.inO);
            CHECK((verdict.lseError > verdict.lseBound) == !error.inO);
        }
    }
}

TEST_CASE("probabilities rounded before the product with v are judged by runs that round them", "[reference]") {
    for (const VkfType type : {VKF_TYPE_F16, VKF_TYPE_BF16}) {
        INFO(vkfTypeName(type));
        VkfProblem p = vkf::test::problemOf({1, 2, 1, 40, 150, 24, 0, type});
        p.o.type = VKF_TYPE_F32; // so that only the rounding of the probabilities shows
        Judged judged(p, vkf::test::makeInputs(p, {}), type);
        const VkfVerdict rounded = judged.verdict();
        CHECK(rounded.passed == 1);
        CHECK(rounded.lseError <= rounded.lseBound / 2); // l sums unrounded probabilities

        judged.options.productType = VKF_TYPE_F32;
        const VkfVerdict unrounded = judged.verdict();
        CHECK(unrounded.passed == 0);
        CHECK(unrounded.oBound < rounded.oBound / 10);
        CHECK(rounded.lseBound < 2.0 * unrounded.lseBound); // l sums unrounded p

        judged.options.productType = type;
        constexpr uint64_t element = 40 * 24 + 7; // of the second head
        judged.set(element, judged.get(element) + 2.5 * rounded.oBound);
        CHECK(judged.verdict().passed == 0);
    }
}

TEST_CASE("the verdict names the worst element", "[reference]") {
    Judged judged = causalCall(VKF_TYPE_F32);
    const double right = judged.get(someElement);
    judged.set(someElement, 77.0);
    judged.set(someElement + 24, 50.0);
    const VkfVerdict verdict = judged.verdict();
    CHECK(verdict.worstElement == someElement);
    CHECK(verdict.worstValue == 77.0);
    CHECK(std::abs(verdict.worstReference - right) < 1e-5);
}

TEST_CASE("the verdict looks at the selected rows only", "[reference]") {
    Judged judged = causalCall(VKF_TYPE_F32);
    judged.set(someElement, 77.0); // row 11
    judged.options.rowBegin = 1;
    judged.options.rowStride = 3; // rows 1, 4, 7, 10, 13, ...
    CHECK(judged.verdict().passed == 1);
    judged.options.rowBegin = 2; // 2, 5, 8, 11, ...
    const VkfVerdict verdict = judged.verdict();
    CHECK(verdict.passed == 0);
    CHECK(verdict.worstElement == someElement);
}

TEST_CASE("a result beyond fp16 is judged by the largest fp16", "[reference]") {
    VkfProblem p = vkf::test::problemOf({1, 1, 1, 1, 1, 2, 0});
    p.o.type = VKF_TYPE_F16;
    Inputs inputs = vkf::test::makeInputs(p, {});
    vkfStoreElement(VKF_TYPE_F32, inputs.v.data(), 0, 1e6);
    vkfStoreElement(VKF_TYPE_F32, inputs.v.data(), 1, -1e6);
    Judged judged(p, inputs);
    CHECK(judged.get(0) == 65504.0);
    CHECK(judged.verdict().passed == 1);
    for (const double wrong : {infinity, 65000.0}) {
        judged.set(0, wrong);
        CHECK(judged.verdict().passed == 0);
    }
}

TEST_CASE("NaN belongs where the reference has it", "[reference]") {
    VkfProblem p = vkf::test::problemOf({1, 1, 1, 3, 3, 4, 0});
    p.use |= VKF_USE_CAUSAL;
    Inputs inputs = vkf::test::makeInputs(p, {});
    vkfStoreElement(VKF_TYPE_F32, inputs.v.data(), 2 * 4 + 1, NAN); // only row 2 sees it, in column 1
    Judged judged(p, inputs);
    CHECK(std::isnan(judged.get(2 * 4 + 1)));
    CHECK(judged.verdict().passed == 1);
    judged.set(2 * 4 + 1, 0.0);
    CHECK(judged.verdict().passed == 0);
}

TEST_CASE("where fp32 itself overflows, the kernel may too", "[reference]") {
    VkfProblem p = vkf::test::problemOf({1, 1, 1, 1, 2, 1, 0});
    Inputs inputs = vkf::test::makeInputs(p, {});
    vkfStoreElement(VKF_TYPE_F32, inputs.q.data(), 0, 1e30);
    vkfStoreElement(VKF_TYPE_F32, inputs.k.data(), 0, 1e30); // a score of 1e60
    Judged judged(p, inputs);
    CHECK(std::isnan(judged.get(0)));
    CHECK(judged.verdict().passed == 1);
}

TEST_CASE("the verdict refuses bad calls", "[reference]") {
    Judged judged = causalCall(VKF_TYPE_F32);
    const VkfReferenceInputs memory = judged.inputs.reference();
    VkfVerdict v{};
    const auto verify = [&](const void* o, VkfVerdict* verdict) {
        return vkfReferenceVerify(&judged.problem, &memory, nullptr, o, nullptr, verdict, nullptr);
    };
    CHECK(verify(judged.o.data(), &v) == VKF_ERROR_STRUCT_SIZE);
    CHECK(verify(judged.o.data(), nullptr) == VKF_ERROR_INVALID_ARGUMENT);
    v.structSize = sizeof v;
    CHECK(verify(nullptr, &v) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(verify(judged.o.data(), &v) == VKF_SUCCESS);
    CHECK(v.lseError == 0.0);
    CHECK(v.structSize == sizeof v);
}

namespace {

// Rows of random scores. The bias of row 0 is the smallest fp32 number, as of a row that a model masks altogether.
Judged withMaskedRow() {
    VkfProblem problem = vkf::test::problemOf({1, 2, 1, 8, 16, 64});
    problem.bias.type = VKF_TYPE_F32;
    problem.bias.rowStride = problem.keys;
    vkf::enable(problem, VKF_USE_BIAS);
    Inputs inputs = vkf::test::makeInputs(problem, {});
    for (uint64_t key = 0; key < problem.keys; key++) {
        vkfStoreElement(VKF_TYPE_F32, inputs.bias.data(), key, -3.4028235e38);
    }
    return {problem, inputs};
}

} // namespace

TEST_CASE("a row of huge scores does not loosen the bounds of others", "[reference]") {
    const Judged judged = withMaskedRow();
    const VkfVerdict right = judged.verdict();
    CHECK(right.passed == 1);
    CHECK(right.oBound < 1e-4);
    for (const uint64_t row : {0U, 3U}) {
        INFO("row " << row);
        Judged wrong = judged;
        wrong.set(row * 64 + 5, wrong.get(row * 64 + 5) + 1e-3);
        CHECK(wrong.verdict().passed == 0);
        wrong = judged;
        wrong.lse[row] += row == 0 ? 1e33F : 1e-3F;
        CHECK(wrong.verdict().passed == 0);
    }
    // What a kernel stores whose scores overflow.
    Judged overflown = judged;
    for (uint64_t d = 0; d < 64; d++) {
        overflown.set(d, 0.0);
    }
    overflown.lse[0] = -std::numeric_limits<float>::infinity();
    const VkfVerdict verdict = overflown.verdict();
    CHECK(verdict.oError > verdict.oBound);
    CHECK(verdict.lseError > verdict.lseBound);
}

TEST_CASE("NaN and infinity are wrong where the formula has a number", "[reference]") {
    VkfProblem problem = vkf::test::problemOf({1, 1, 1, 8, 16, 64});
    problem.softcap = 3e38F; // in units of log2 it is infinite
    Judged judged(problem, vkf::test::makeInputs(problem, {}));
    CHECK(judged.verdict().passed == 1);
    for (uint64_t i = 0; i < 8 * 64; i++) {
        judged.set(i, NAN);
    }
    CHECK(judged.verdict().oError == infinity);
}

TEST_CASE("NaN may stand where a sum of products leaves fp32", "[reference]") {
    VkfProblem problem = vkf::test::problemOf({1, 1, 1, 8, 16, 64});
    Inputs inputs = vkf::test::makeInputs(problem, {});
    for (uint64_t d = 0; d < 64; d++) { // only row 2 is out of what the contract promises
        vkfStoreElement(VKF_TYPE_F32, inputs.q.data(), 2 * 64 + d, 3e38);
    }
    Judged judged(problem, inputs);
    CHECK(judged.verdict().passed == 1);
    judged.set(3 * 64, NAN);
    CHECK(judged.verdict().passed == 0);
}
