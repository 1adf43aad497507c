// SPDX-License-Identifier: MIT
//
// The verdict on gradients. It accepts gradients with the right roundings, and notices one wrong element.
#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include "reference/backward_cases.hpp"
#include "support/reference.hpp"

namespace {

using vkf::test::BackwardCase;
using vkf::test::BackwardInputs;
using vkf::test::Gradients;
using vkf::test::Inputs;

constexpr double infinity = std::numeric_limits<double>::infinity();

// Gradients that come from an fp32 algorithm, like those of a kernel.
struct Judged {
    VkfProblem forward;
    VkfBackwardProblem problem{};
    Inputs inputs;
    BackwardInputs more;
    VkfReferenceOptions options = vkf::test::referenceOptions(VKF_REFERENCE_DIRECT);
    std::vector<std::byte> dq, dk, dv, dbias;
    std::vector<float> dsinks;

    // `spread` puts gaps between the rows of the gradients.
    Judged(const BackwardCase& c, VkfType type, VkfType productType = VKF_TYPE_F32, bool spread = false) {
        vkf::test::Shape shape = c.shape;
        shape.type = type;
        forward = vkf::test::problemOf(shape);
        vkf::test::Data data;
        c.change(forward, data);
        problem = vkf::test::backwardOf(forward, vkf::test::allGradients(forward));
        vkf::enable(problem, VKF_USE_DLSE, c.hasDlse);
        problem.dbiasType = (problem.gradients & VKF_GRADIENT_BIAS) != 0 ? type : VKF_TYPE_F32;
        if (spread) {
            for (VkfTensor* tensor : {&problem.dout, &problem.dq, &problem.dk, &problem.dv}) {
                tensor->headStride = 11; // [batch, rows, heads, dim]
                tensor->rowStride = 100;
                tensor->batchStride = 10000;
            }
        }
        inputs = vkf::test::makeInputs(forward, data);
        more = vkf::test::makeBackwardInputs(problem);
        options.productType = productType;
        vkf::test::computeForward(forward, inputs, productType, &more);
        store();
    }
    Judged(const Judged&) = delete; // `problem` points at `forward`
    Judged& operator=(const Judged&) = delete;
    ~Judged() = default;

    // Writes what the fp32 algorithm computes.
    void store() {
        VkfReferenceOptions asKernel = options;
        asKernel.algorithm = VKF_REFERENCE_TILED_FP32;
        asKernel.tileKeys = 4;
        const Gradients g = referenceBackward(problem, inputs, more, asKernel);
        storeTensor(VKF_BACKWARD_DQ, g.dq, &dq);
        storeTensor(VKF_BACKWARD_DK, g.dk, &dk);
        storeTensor(VKF_BACKWARD_DV, g.dv, &dv);
        dbias.assign(vkfGetBackwardArrayBytes(&problem, VKF_ARRAY_DBIAS), std::byte{0xff});
        for (size_t i = 0; i < g.dbias.size(); i++) {
            vkfStoreElement(problem.dbiasType, dbias.data(), i, g.dbias[i]);
        }
        dsinks.assign(g.dsinks.begin(), g.dsinks.end());
    }

    static uint64_t place(const VkfTensorLayout& layout, uint64_t dense) {
        const uint64_t row = dense / layout.dim;
        const uint64_t head = row / layout.rows;
        return head / layout.heads * layout.batchStride + head % layout.heads * layout.headStride +
               row % layout.rows * layout.rowStride + dense % layout.dim;
    }

    void storeTensor(VkfBackwardRole role, const std::vector<double>& from, std::vector<std::byte>* to) const {
        const VkfTensorLayout layout = vkf::layoutOf(problem, role);
        to->assign(vkfStoredBytes(layout.type, layout.elements), std::byte{0xff});
        for (size_t i = 0; i < from.size(); i++) {
            vkfStoreElement(layout.type, to->data(), place(layout, i), from[i]);
        }
    }

    // Adds to an element of dq, dk or dv.
    void add(VkfBackwardRole role, uint64_t dense, double x) {
        const VkfTensorLayout layout = vkf::layoutOf(problem, role);
        auto& bytes = role == VKF_BACKWARD_DQ ? dq : role == VKF_BACKWARD_DK ? dk : dv;
        const uint64_t at = place(layout, dense);
        vkfStoreElement(layout.type, bytes.data(), at, vkfLoadElement(layout.type, bytes.data(), at) + x);
    }

    VkfBackwardVerdict verdict() const {
        const VkfReferenceInputs memory = inputs.reference();
        const VkfReferenceBackwardInputs backwardMemory = more.reference();
        auto outputs = vkf::make<VkfBackwardOutputs>();
        outputs.dq = dq.data();
        outputs.dk = dk.data();
        outputs.dv = dv.data();
        outputs.dbias = dbias.empty() ? nullptr : dbias.data();
        outputs.dsinks = dsinks.empty() ? nullptr : dsinks.data();
        auto v = vkf::make<VkfBackwardVerdict>();
        VkfMessage message{};
        const VkfResult result =
            vkfReferenceVerifyBackward(&problem, &memory, &backwardMemory, &options, &outputs, &v, &message);
        INFO(message.text);
        REQUIRE(result == VKF_SUCCESS);
        return v;
    }
};

struct Part {
    const char* name;
    VkfGradientError VkfBackwardVerdict::*error;
};
constexpr Part parts[] = {{"dq", &VkfBackwardVerdict::dq},
                          {"dk", &VkfBackwardVerdict::dk},
                          {"dv", &VkfBackwardVerdict::dv},
                          {"dbias", &VkfBackwardVerdict::dbias},
                          {"dsinks", &VkfBackwardVerdict::dsinks}};

// Adds up in four interleaved sums, from the last term to the first.
template <typename Term> float sumInAnotherOrder(uint32_t count, const Term& term) {
    float sums[4] = {};
    for (uint32_t i = count; i-- > 0;) {
        sums[i % 4] += term(i);
    }
    return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

// Gradients of a dense causal problem with one head, as a kernel may compute them: every sum has another order than in
// the reference, the scale is multiplied in elsewhere, and every product is rounded.
struct OtherKernel {
    const Judged& j;
    uint32_t rows = j.forward.queryRows;
    uint32_t keys = j.forward.keys;
    uint32_t dim = j.forward.headDim;
    VkfType product = j.options.productType;
    std::vector<float> p = std::vector<float>(size_t{rows} * keys);
    std::vector<float> ds = p;

    float load(const std::vector<std::byte>& bytes, uint64_t row, uint32_t d) const {
        return static_cast<float>(vkfLoadElement(j.forward.q.type, bytes.data(), row * dim + d));
    }
    float inProduct(float x) const {
        float stored{};
        vkfStoreElement(product, &stored, 0, static_cast<double>(x));
        return static_cast<float>(vkfLoadElement(product, &stored, 0));
    }

    void computePairs() {
        const float factor = 1.0F / std::sqrt(static_cast<float>(dim)) * 1.44269504F;
        for (uint32_t i = 0; i < rows; i++) {
            const float delta =
                sumInAnotherOrder(dim, [&](uint32_t d) { return load(j.more.dout, i, d) * load(j.more.o, i, d); });
            for (uint32_t key = 0; key < keys && key <= i + keys - rows; key++) {
                const float s = sumInAnotherOrder(
                    dim, [&](uint32_t d) { return load(j.inputs.q, i, d) * factor * load(j.inputs.k, key, d); });
                const float dp = sumInAnotherOrder(
                    dim, [&](uint32_t d) { return load(j.more.dout, i, d) * load(j.inputs.v, key, d); });
                const float exact = std::exp2(s - j.more.lse[i] * 1.44269504F);
                p[size_t{i} * keys + key] = inProduct(exact);
                ds[size_t{i} * keys + key] = inProduct(exact * dp - exact * delta);
            }
        }
    }

    void store(Judged* to) {
        computePairs();
        const float scale = 1.0F / std::sqrt(static_cast<float>(dim));
        Gradients g;
        for (uint32_t i = 0; i < rows * dim; i++) {
            g.dq.push_back(static_cast<double>(scale * sumInAnotherOrder(keys, [&](uint32_t key) {
                                                   return ds[size_t{i / dim} * keys + key] *
                                                          load(j.inputs.k, key, i % dim);
                                               })));
        }
        for (uint32_t i = 0; i < keys * dim; i++) {
            g.dk.push_back(static_cast<double>(sumInAnotherOrder(rows, [&](uint32_t row) {
                return ds[size_t{row} * keys + i / dim] * (load(j.inputs.q, row, i % dim) * scale);
            })));
            g.dv.push_back(static_cast<double>(sumInAnotherOrder(rows, [&](uint32_t row) {
                return p[size_t{row} * keys + i / dim] * load(j.more.dout, row, i % dim);
            })));
        }
        to->storeTensor(VKF_BACKWARD_DQ, g.dq, &to->dq);
        to->storeTensor(VKF_BACKWARD_DK, g.dk, &to->dk);
        to->storeTensor(VKF_BACKWARD_DV, g.dv, &to->dv);
    }
};

const BackwardCase larger = {"larger", {2, 4, 2, 40, 60, 32}, [](VkfProblem& p, vkf::test::Data&) {
                                 p.use |= VKF_USE_CAUSAL;
                                 vkf::enable(p, VKF_USE_SINKS);
                             }};

} // namespace

TEST_CASE("the verdict accepts the gradients of the fp32 algorithm", "[reference_backward]") {
    for (const BackwardCase& c : vkf::test::backwardCases()) {
        for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_BF16}) {
            for (const VkfType productType : {VKF_TYPE_F32, type}) {
                INFO(c.name << ", " << vkfTypeName(type) << ", products " << vkfTypeName(productType));
                const VkfBackwardVerdict verdict = Judged(c, type, productType).verdict();
                CHECK(verdict.passed == 1);
                for (const Part& part : parts) {
                    const VkfGradientError& of = verdict.*part.error;
                    INFO(part.name << ": " << of.error << " of " << of.bound);
                    CHECK(of.error <= of.bound / 2);
                }
            }
        }
    }
}

TEST_CASE("the verdict accepts fp32 gradients that are added up in another order", "[reference_backward]") {
    const vkf::test::Shape shapes[] = {{1, 1, 1, 1, 1, 1},    {1, 1, 1, 1, 1, 64},     {1, 1, 1, 1, 2, 4},
                                       {1, 1, 1, 2, 2, 8},    {1, 1, 1, 1, 70, 16},    {1, 1, 1, 5, 9, 40},
                                       {1, 1, 1, 40, 90, 64}, {1, 1, 1, 100, 100, 128}};
    for (const vkf::test::Shape& shape : shapes) {
        for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_BF16}) {
            const BackwardCase c = {"causal", shape, [](VkfProblem& p, vkf::test::Data&) { p.use |= VKF_USE_CAUSAL; }};
            Judged judged(c, type, type);
            OtherKernel{judged}.store(&judged);
            const VkfBackwardVerdict verdict = judged.verdict();
            INFO(vkfTypeName(type) << ", " << shape.Nq << " rows, " << shape.Nk << " keys, D " << shape.D);
            for (const Part& part : {parts[0], parts[1], parts[2]}) {
                const VkfGradientError& of = verdict.*part.error;
                INFO(part.name << ": " << of.error << " of " << of.bound);
                CHECK(of.error <= of.bound);
            }
        }
    }
}

TEST_CASE("bounds of gradients are small beside the gradients", "[reference_backward]") {
    const struct {
        VkfType type;
        VkfType productType;
        double share; // of the root mean square
    } sides[] = {
        {VKF_TYPE_F32, VKF_TYPE_F32, 2e-4}, {VKF_TYPE_F16, VKF_TYPE_F16, 0.1}, {VKF_TYPE_BF16, VKF_TYPE_BF16, 0.8}};
    for (const auto& side : sides) {
        const VkfBackwardVerdict verdict = Judged(larger, side.type, side.productType).verdict();
        for (const Part& part : parts) {
            const VkfGradientError& of = verdict.*part.error;
            INFO(vkfTypeName(side.type) << " " << part.name << ": bound " << of.bound << ", rms " << of.rms);
            CHECK(of.bound <= side.share * of.rms);
        }
    }
}

TEST_CASE("a bound without the kernel's own o and lse allows for their roundings", "[reference_backward]") {
    for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_BF16}) {
        INFO(vkfTypeName(type));
        Judged judged(larger, type, type);
        const VkfBackwardVerdict given = judged.verdict();
        judged.more.o.clear();
        judged.more.lse.clear();
        const VkfBackwardVerdict computed = judged.verdict();
        CHECK(computed.passed == 1);
        CHECK(computed.dq.bound >= given.dq.bound);
    }
}

TEST_CASE("the verdict notices planted errors in gradients", "[reference_backward]") {
    for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_BF16}) {
        for (const BackwardCase& c : vkf::test::backwardCases()) {
            INFO(c.name << ", " << vkfTypeName(type));
            if (c.shape.B == 0 || c.shape.H == 0 || c.shape.Nq == 0 || c.shape.Nk == 0) {
                continue;
            }
            const VkfBackwardVerdict right = Judged(c, type).verdict();
            const struct {
                VkfBackwardRole role;
                const VkfGradientError& error;
            } tensors[] = {{VKF_BACKWARD_DQ, right.dq}, {VKF_BACKWARD_DK, right.dk}, {VKF_BACKWARD_DV, right.dv}};
            for (const auto& tensor : tensors) {
                for (const double wrong : {2.5 * tensor.error.bound, -2.5 * tensor.error.bound, infinity,
                                           std::numeric_limits<double>::quiet_NaN()}) {
                    INFO(tensor.role << " off by " << wrong);
                    Judged judged(c, type);
                    judged.add(tensor.role, tensor.error.worstElement, wrong);
                    const VkfBackwardVerdict verdict = judged.verdict();
                    CHECK(verdict.passed == 0);
                    CHECK((verdict.dq.error > verdict.dq.bound) == (tensor.role == VKF_BACKWARD_DQ));
                    CHECK((verdict.dk.error > verdict.dk.bound) == (tensor.role == VKF_BACKWARD_DK));
                    CHECK((verdict.dv.error > verdict.dv.bound) == (tensor.role == VKF_BACKWARD_DV));
                }
            }
            Judged judged(c, type);
            if (!judged.dbias.empty()) {
                const uint64_t element = right.dbias.worstElement;
                vkfStoreElement(type, judged.dbias.data(), element,
                                vkfLoadElement(type, judged.dbias.data(), element) + 2.5 * right.dbias.bound);
                CHECK(judged.verdict().passed == 0);
                judged.store();
            }
            if (!judged.dsinks.empty()) {
                judged.dsinks[right.dsinks.worstElement] += static_cast<float>(2.5 * right.dsinks.bound);
                CHECK(judged.verdict().passed == 0);
            }
        }
    }
}

TEST_CASE("the verdict notices a wrong formula", "[reference_backward]") {
    const struct {
        const char* name;
        void (*change)(Judged&);
    } errors[] = {
        {"a delta without dlse", [](Judged& j) { std::fill(j.more.dlse.begin(), j.more.dlse.end(), 0.0F); }},
        {"another scale", [](Judged& j) { j.forward.scale = 0.18F; }},
        {"no softcap", [](Judged& j) { j.forward.softcap = 0.0F; }},
        {"another dropout", [](Judged& j) { j.forward.dropout.seed++; }},
        {"another sink", [](Judged& j) { j.inputs.sinks[0] += 0.1F; }},
        {"products in bf16", [](Judged& j) { j.options.productType = VKF_TYPE_BF16; }},
    };
    const BackwardCase all = {"all",
                              {1, 2, 1, 20, 30, 16},
                              [](VkfProblem& p, vkf::test::Data&) {
                                  p.scale = 0.2F;
                                  p.softcap = 4.0F;
                                  p.dropout = {0.3F, 0, 5, {}};
                                  vkf::enable(p, VKF_USE_SINKS);
                              },
                              true};
    for (const auto& error : errors) {
        INFO(error.name);
        Judged judged(all, VKF_TYPE_F16, VKF_TYPE_F16);
        CHECK(judged.verdict().passed == 1);
        const VkfProblem forward = judged.forward;
        const Inputs inputs = judged.inputs;
        const BackwardInputs more = judged.more;
        error.change(judged);
        judged.store();
        judged.forward = forward;
        judged.inputs = inputs;
        judged.more = more;
        judged.options.productType = VKF_TYPE_F16;
        CHECK(judged.verdict().passed == 0);
    }
}

TEST_CASE("the verdict notices gradients with narrower products", "[reference_backward]") {
    for (const VkfType narrow : {VKF_TYPE_F16, VKF_TYPE_BF16}) {
        Judged judged(larger, VKF_TYPE_F32);
        judged.options.productType = narrow;
        judged.store();
        judged.options.productType = VKF_TYPE_F32;
        const VkfBackwardVerdict verdict = judged.verdict();
        INFO(vkfTypeName(narrow));
        CHECK(verdict.dq.error > verdict.dq.bound);
        CHECK(verdict.dk.error > verdict.dk.bound);
        CHECK(verdict.dv.error > verdict.dv.bound);
    }
}

TEST_CASE("gradients of rows and keys without partner must be exactly 0", "[reference_backward]") {
    // Rows 0 to 4 of 9 see nothing of 4 keys; dv of a key past a length of 2 has no row.
    const BackwardCase c = {"empty rows", {1, 1, 1, 9, 4, 4}, [](VkfProblem& p, vkf::test::Data& data) {
                                p.use |= VKF_USE_CAUSAL;
                                vkf::enable(p, VKF_USE_KEY_LENGTHS);
                                data.keyLengths = {2};
                            }};
    for (const VkfBackwardRole role : {VKF_BACKWARD_DQ, VKF_BACKWARD_DK, VKF_BACKWARD_DV}) {
        Judged judged(c, VKF_TYPE_F32);
        CHECK(judged.verdict().passed == 1);
        judged.add(role, role == VKF_BACKWARD_DQ ? 4 : 3 * 4 + 1, 0x1p-60);
        const VkfBackwardVerdict verdict = judged.verdict();
        CHECK(verdict.passed == 0);
        CHECK((role == VKF_BACKWARD_DQ   ? verdict.dq
               : role == VKF_BACKWARD_DK ? verdict.dk
                                         : verdict.dv)
                  .error == infinity);
    }
}

TEST_CASE("the verdict on gradients follows strides and names the worst element", "[reference_backward]") {
    Judged judged(vkf::test::backwardCases()[0], VKF_TYPE_F32, VKF_TYPE_F32, true);
    CHECK(judged.verdict().passed == 1);
    constexpr uint64_t element = ((1 * 2 + 1) * 9 + 4) * 5 + 2; // of dk
    judged.add(VKF_BACKWARD_DK, element, 77.0);
    judged.add(VKF_BACKWARD_DK, element + 5, 50.0);
    const VkfBackwardVerdict verdict = judged.verdict();
    CHECK(verdict.passed == 0);
    CHECK(verdict.dk.worstElement == element);
    CHECK(std::abs(verdict.dk.worstValue - verdict.dk.worstReference - 77.0) < 1e-4);
}

TEST_CASE("the verdict looks at the selected rows and keys only", "[reference_backward]") {
    Judged judged(vkf::test::backwardCases()[0], VKF_TYPE_F32);
    judged.add(VKF_BACKWARD_DQ, 4 * 5, 77.0); // row 4
    judged.add(VKF_BACKWARD_DV, 5 * 5, 77.0); // key 5
    judged.options.rowStride = 3;             // 0, 3, 6
    CHECK(judged.verdict().passed == 1);
    judged.options.rowBegin = 1; // 1, 4, 7
    CHECK(judged.verdict().dq.error > 70.0);
    CHECK(judged.verdict().dv.error < 1.0);
    judged.options.rowBegin = 2;
    CHECK(judged.verdict().dv.error > 70.0);
}

TEST_CASE("a gradient beyond fp16 is judged by the largest fp16", "[reference_backward]") {
    const BackwardCase c = {"one pair", {1, 1, 1, 1, 1, 1}, [](VkfProblem&, vkf::test::Data&) {}};
    Judged judged(c, VKF_TYPE_F32);
    judged.problem.dv.type = VKF_TYPE_F16;
    vkfStoreElement(VKF_TYPE_F32, judged.more.dout.data(), 0, 1e6); // dv is dout
    judged.store();
    CHECK(vkfLoadElement(VKF_TYPE_F16, judged.dv.data(), 0) == 65504.0);
    CHECK(judged.verdict().passed == 1);
    vkfStoreElement(VKF_TYPE_F16, judged.dv.data(), 0, infinity);
    CHECK(judged.verdict().passed == 0);
}

TEST_CASE("the verdict on gradients refuses bad calls", "[reference_backward]") {
    const Judged judged(vkf::test::backwardCases()[0], VKF_TYPE_F32);
    const VkfReferenceInputs inputs = judged.inputs.reference();
    const VkfReferenceBackwardInputs more = judged.more.reference();
    auto outputs = vkf::make<VkfBackwardOutputs>();
    VkfBackwardVerdict v{};
    const auto verify = [&](const VkfBackwardOutputs* of, VkfBackwardVerdict* verdict) {
        return vkfReferenceVerifyBackward(&judged.problem, &inputs, &more, nullptr, of, verdict, nullptr);
    };
    CHECK(verify(&outputs, &v) == VKF_ERROR_STRUCT_SIZE);
    CHECK(verify(&outputs, nullptr) == VKF_ERROR_INVALID_ARGUMENT);
    v.structSize = sizeof v;
    CHECK(verify(nullptr, &v) == VKF_ERROR_INVALID_ARGUMENT);
    outputs.dsinks = judged.more.lse.data();
    CHECK(verify(&outputs, &v) == VKF_ERROR_INVALID_ARGUMENT);
    outputs.dsinks = nullptr;
    CHECK(verify(&outputs, &v) == VKF_SUCCESS);
    CHECK(v.passed == 1);
    CHECK(v.dq.bound == 0.0);
}
