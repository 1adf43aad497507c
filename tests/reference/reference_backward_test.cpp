// SPDX-License-Identifier: MIT
//
// The backward pass of the CPU reference: its algorithms against each other, against central differences of the forward
// pass, and cases by hand.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "reference/backward_cases.hpp"
#include "support/masks.hpp"
#include "support/reference.hpp"

namespace {

using vkf::test::BackwardCase;
using vkf::test::BackwardInputs;
using vkf::test::Data;
using vkf::test::Gradients;
using vkf::test::Inputs;

// A case with its inputs.
struct Backward {
    VkfProblem forward;
    VkfBackwardProblem problem;
    Inputs inputs;
    BackwardInputs more;

    Backward(const BackwardCase& c, VkfType type) {
        vkf::test::Shape shape = c.shape;
        shape.type = type;
        forward = vkf::test::problemOf(shape);
        Data data;
        c.change(forward, data);
        problem = vkf::test::backwardOf(forward, vkf::test::allGradients(forward));
        vkf::enable(problem, VKF_USE_DLSE, c.hasDlse);
        inputs = vkf::test::makeInputs(forward, data);
        more = vkf::test::makeBackwardInputs(problem);
    }
    Backward(const Backward&) = delete; // `problem` points at `forward`
    Backward& operator=(const Backward&) = delete;
    ~Backward() = default;

    Gradients run(VkfReferenceAlgorithm algorithm, uint32_t tileRows = 0, uint32_t tileKeys = 0) const {
        return referenceBackward(problem, inputs, more, vkf::test::referenceOptions(algorithm, tileRows, tileKeys));
    }
};

// NaN and infinity must be equal. Finite numbers may differ by a share of the largest number.
void checkNear(const char* name, const std::vector<double>& a, const std::vector<double>& b, double share) {
    double largest = 0.0;
    for (const double x : b) {
        largest = std::isfinite(x) ? std::max(largest, std::abs(x)) : largest;
    }
    REQUIRE(a.size() == b.size());
    for (size_t i = 0; i < a.size(); i++) {
        INFO(name << "[" << i << "] is " << a[i] << ", not " << b[i]);
        CHECK((a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) || std::abs(a[i] - b[i]) <= share * largest));
    }
}

void checkNear(const Gradients& a, const Gradients& b, double share) {
    checkNear("dq", a.dq, b.dq, share);
    checkNear("dk", a.dk, b.dk, share);
    checkNear("dv", a.dv, b.dv, share);
    checkNear("dbias", a.dbias, b.dbias, share);
    checkNear("dsinks", a.dsinks, b.dsinks, share);
}

// L = sum of dout o + dlse lse, of the outputs that are finite.
double objective(const Backward& b) {
    const vkf::test::Result result = reference(b.forward, b.inputs, vkf::test::referenceOptions(VKF_REFERENCE_DIRECT));
    const VkfTensorLayout dout = vkf::layoutOf(b.problem, VKF_BACKWARD_DOUT);
    double sum = 0.0;
    for (size_t row = 0; row < result.lse.size(); row++) {
        const uint64_t head = row / dout.rows;
        const uint64_t first = head / dout.heads * dout.batchStride + head % dout.heads * dout.headStride +
                               row % dout.rows * dout.rowStride;
        for (uint64_t d = 0; d < dout.dim; d++) {
            sum += result.o[row * dout.dim + d] * vkfLoadElement(dout.type, b.more.dout.data(), first + d);
        }
        if (!b.more.dlse.empty() && std::isfinite(result.lse[row])) {
            sum += result.lse[row] * static_cast<double>(b.more.dlse[row]);
        }
    }
    return sum;
}

constexpr double step = 0x1p-7;

// Rounds a number so that a few steps beside it are fp32 numbers too.
float onGrid(float x) { return std::isfinite(x) ? std::nearbyint(x * 0x1p10F) * 0x1p-10F : x; }

// dL/dx by five points, with an error of the order of step^4. 0 for a number that no result depends on.
double difference(const Backward& b, float* x) {
    const float at = *x;
    if (!std::isfinite(at)) {
        return 0.0;
    }
    const auto beside = [&](int steps) {
        *x = at + static_cast<float>(steps * step);
        const double value = objective(b);
        *x = at;
        return value;
    };
    return (8.0 * (beside(1) - beside(-1)) - (beside(2) - beside(-2))) / (12.0 * step);
}

float* floatsOf(std::vector<std::byte>& bytes) { return reinterpret_cast<float*>(bytes.data()); }

std::vector<double> differences(const Backward& b, const VkfTensorLayout& layout, std::vector<std::byte>& bytes) {
    std::vector<double> of;
    for (uint64_t row = 0; row < uint64_t{layout.batch} * layout.heads * layout.rows; row++) {
        const uint64_t head = row / layout.rows;
        const uint64_t first = head / layout.heads * layout.batchStride + head % layout.heads * layout.headStride +
                               row % layout.rows * layout.rowStride;
        for (uint64_t d = 0; d < layout.dim; d++) {
            of.push_back(difference(b, floatsOf(bytes) + first + d));
        }
    }
    return of;
}

void putOnGrid(std::vector<std::byte>& bytes) {
    float* x = floatsOf(bytes);
    std::transform(x, x + bytes.size() / sizeof(float), x, onGrid);
}

} // namespace

TEST_CASE("gradients are the central differences of the forward pass", "[reference_backward]") {
    for (const BackwardCase& c : vkf::test::backwardCases()) {
        INFO(c.name);
        Backward b(c, VKF_TYPE_F32);
        for (auto* bytes : {&b.inputs.q, &b.inputs.k, &b.inputs.v, &b.inputs.bias}) {
            putOnGrid(*bytes);
        }
        std::transform(b.inputs.sinks.begin(), b.inputs.sinks.end(), b.inputs.sinks.begin(), onGrid);
        const Gradients gradients = b.run(VKF_REFERENCE_DIRECT);
        Gradients expected;
        expected.dq = differences(b, vkf::layoutOf(b.forward, VKF_TENSOR_Q), b.inputs.q);
        expected.dk = differences(b, vkf::layoutOf(b.forward, VKF_TENSOR_K), b.inputs.k);
        expected.dv = differences(b, vkf::layoutOf(b.forward, VKF_TENSOR_V), b.inputs.v);
        for (size_t i = 0; i < gradients.dbias.size(); i++) {
            const bool gap = gradients.dbias[i] == vkf::test::untouched;
            expected.dbias.push_back(gap ? vkf::test::untouched : difference(b, floatsOf(b.inputs.bias) + i));
        }
        for (size_t i = 0; i < gradients.dsinks.size(); i++) {
            expected.dsinks.push_back(difference(b, &b.inputs.sinks[i]));
        }
        checkNear(gradients, expected, 1e-6);
    }
}

TEST_CASE("the tiled backward pass agrees with the direct one for every tile", "[reference_backward]") {
    constexpr uint32_t tiles[][2] = {{0, 0}, {1, 1}, {3, 7}, {2, 4}, {1000, 4096}, {4294967295U, 4294967295U}};
    for (const BackwardCase& c : vkf::test::backwardCases()) {
        for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_BF16}) {
            const Backward b(c, type);
            const Gradients direct = b.run(VKF_REFERENCE_DIRECT);
            for (const auto& [rows, keys] : tiles) {
                INFO(c.name << ", " << vkfTypeName(type) << ", tile " << rows << "x" << keys);
                checkNear(b.run(VKF_REFERENCE_TILED, rows, keys), direct, 1e-12);
            }
            INFO(c.name << ", fp32");
            const double share = type == VKF_TYPE_F32 ? 2e-5 : type == VKF_TYPE_F16 ? 4e-3 : 4e-2;
            checkNear(b.run(VKF_REFERENCE_TILED_FP32), direct, share);
            checkNear(b.run(VKF_REFERENCE_TILED_FP32_TWO_ROUNDINGS), direct, share);
        }
    }
}

TEST_CASE("gradients are made from the given o and lse", "[reference_backward]") {
    for (const BackwardCase& c : vkf::test::backwardCases()) {
        INFO(c.name);
        Backward b(c, VKF_TYPE_F16);
        const Gradients computed = b.run(VKF_REFERENCE_DIRECT);
        vkf::test::computeForward(b.forward, b.inputs, VKF_TYPE_F32, &b.more);
        const Gradients given = b.run(VKF_REFERENCE_DIRECT);
        checkNear(given, computed, 2e-2); // o is fp16
        checkNear(b.run(VKF_REFERENCE_TILED), given, 1e-12);
    }
    // With an o of 0, delta is 0, and ds = p dp.
    Backward b(vkf::test::backwardCases()[0], VKF_TYPE_F32);
    vkf::test::computeForward(b.forward, b.inputs, VKF_TYPE_F32, &b.more);
    const Gradients right = b.run(VKF_REFERENCE_DIRECT);
    std::fill(b.more.o.begin(), b.more.o.end(), std::byte{0});
    const Gradients without = b.run(VKF_REFERENCE_DIRECT);
    CHECK(without.dv == right.dv);
    CHECK(std::abs(without.dq[0] - right.dq[0]) > 1e-3);
}

TEST_CASE("one key, and two keys, give the gradients worked out by hand", "[reference_backward]") {
    VkfProblem p = vkf::test::problemOf({1, 1, 1, 1, 2, 1, 0});
    p.scale = 1.0F;
    const VkfBackwardProblem problem = vkf::test::backwardOf(p);
    Inputs inputs = vkf::test::makeInputs(p, {});
    BackwardInputs more = vkf::test::makeBackwardInputs(problem);
    // q = 2, k = (0, ln 3 / 2): probabilities 1/4 and 3/4. v = (8, -4), so o = -1. dout = 3.
    const double k1 = std::log(3.0) / 2.0;
    vkfStoreElement(VKF_TYPE_F32, inputs.q.data(), 0, 2.0);
    vkfStoreElement(VKF_TYPE_F32, inputs.k.data(), 0, 0.0);
    vkfStoreElement(VKF_TYPE_F32, inputs.k.data(), 1, k1);
    vkfStoreElement(VKF_TYPE_F32, inputs.v.data(), 0, 8.0);
    vkfStoreElement(VKF_TYPE_F32, inputs.v.data(), 1, -4.0);
    vkfStoreElement(VKF_TYPE_F32, more.dout.data(), 0, 3.0);
    for (const auto algorithm : {VKF_REFERENCE_DIRECT, VKF_REFERENCE_TILED, VKF_REFERENCE_TILED_FP32,
                                 VKF_REFERENCE_TILED_FP32_TWO_ROUNDINGS}) {
        const Gradients g = referenceBackward(problem, inputs, more, vkf::test::referenceOptions(algorithm));
        // dp = (24, -12), delta = -3, ds = (27/4, -27/4).
        checkNear("dv", g.dv, {0.75, 2.25}, 1e-5);
        checkNear("dk", g.dk, {13.5, -13.5}, 1e-5);
        checkNear("dq", g.dq, {-6.75 * k1}, 1e-5);
    }
}

TEST_CASE("dropped keys and empty rows reach no gradient, whatever they hold", "[reference_backward]") {
    // Rows 0 to 2 see nothing. Keys 3 and 4 have no row.
    VkfProblem p = vkf::test::problemOf({1, 2, 1, 6, 5, 4, 0});
    p.use |= VKF_USE_CAUSAL;
    vkf::enable(p, VKF_USE_KEY_LENGTHS);
    Data data;
    data.keyLengths = {3};
    const Inputs inputs = vkf::test::makeInputs(p, data); // keys that no row sees are NaN
    VkfBackwardProblem problem = vkf::test::backwardOf(p);
    problem.use |= VKF_USE_DLSE;
    BackwardInputs more = vkf::test::makeBackwardInputs(problem);
    vkf::test::computeForward(p, inputs, VKF_TYPE_F32, &more);
    constexpr size_t emptyRows = 3;
    for (size_t row = 0; row < 12; row++) {
        for (size_t d = 0; row % 6 < emptyRows && d < 4; d++) {
            vkfStoreElement(VKF_TYPE_F32, more.dout.data(), row * 4 + d, NAN);
            vkfStoreElement(VKF_TYPE_F32, more.o.data(), row * 4 + d, NAN);
        }
        if (row % 6 < emptyRows) {
            CHECK(more.lse[row] == -INFINITY);
            more.lse[row] = row % 2 == 0 ? INFINITY : -INFINITY; // some libraries write +infinity
            more.dlse[row] = NAN;
        }
    }
    // A row that sees keys is empty too if its lse says so.
    constexpr size_t closedRow = 11;
    more.lse[closedRow] = INFINITY;
    vkfStoreElement(VKF_TYPE_F32, more.dout.data(), closedRow * 4, NAN);
    for (const auto algorithm : {VKF_REFERENCE_DIRECT, VKF_REFERENCE_TILED, VKF_REFERENCE_TILED_FP32}) {
        const Gradients g = referenceBackward(problem, inputs, more, vkf::test::referenceOptions(algorithm));
        for (size_t i = 0; i < g.dq.size(); i++) {
            CHECK((g.dq[i] == 0.0) == (i / 4 % 6 < emptyRows || i / 4 == closedRow));
            CHECK(std::isfinite(g.dq[i]));
        }
        for (size_t i = 0; i < g.dk.size(); i++) {
            CHECK((g.dk[i] == 0.0 && g.dv[i] == 0.0) == (i / 4 >= 3));
            CHECK(std::isfinite(g.dk[i] + g.dv[i]));
        }
    }
}

TEST_CASE("numbers that are not finite reach the gradients that depend on them", "[reference_backward]") {
    VkfProblem p = vkf::test::problemOf({1, 1, 1, 3, 3, 2, 0});
    p.use |= VKF_USE_CAUSAL;
    const VkfBackwardProblem problem = vkf::test::backwardOf(p);
    Inputs inputs = vkf::test::makeInputs(p, {});
    const BackwardInputs more = vkf::test::makeBackwardInputs(problem);
    vkfStoreElement(VKF_TYPE_F32, inputs.v.data(), 2 * 2 + 1, NAN); // only row 2 sees the key
    for (const auto algorithm : {VKF_REFERENCE_DIRECT, VKF_REFERENCE_TILED, VKF_REFERENCE_TILED_FP32}) {
        const Gradients g = referenceBackward(problem, inputs, more, vkf::test::referenceOptions(algorithm));
        for (size_t i = 0; i < g.dq.size(); i++) {
            CHECK(std::isnan(g.dq[i]) == (i / 2 == 2));
            CHECK(std::isnan(g.dk[i])); // row 2 sees all keys
            CHECK(std::isfinite(g.dv[i]));
        }
    }
}

TEST_CASE("the backward pass computes the selected rows and keys and no others", "[reference_backward]") {
    for (const char* name : {"grouped heads, value dim of its own", "causal", "packed", "mask of bytes"}) {
        const auto& cases = vkf::test::backwardCases();
        const auto c = std::find_if(cases.begin(), cases.end(),
                                    [&](const BackwardCase& x) { return std::string(x.name) == name; });
        const Backward b(*c, VKF_TYPE_F32);
        const VkfTensorLayout q = vkf::layoutOf(b.forward, VKF_TENSOR_Q);
        const VkfTensorLayout k = vkf::layoutOf(b.forward, VKF_TENSOR_K);
        const VkfTensorLayout v = vkf::layoutOf(b.forward, VKF_TENSOR_V);
        for (const auto algorithm : {VKF_REFERENCE_DIRECT, VKF_REFERENCE_TILED, VKF_REFERENCE_TILED_FP32}) {
            INFO(name << ", algorithm " << algorithm);
            VkfReferenceOptions options = vkf::test::referenceOptions(algorithm, 2, 3);
            const Gradients all = referenceBackward(b.problem, b.inputs, b.more, options);
            options.rowBegin = 1;
            options.rowStride = 3;
            const Gradients some = referenceBackward(b.problem, b.inputs, b.more, options);
            const auto check = [](const std::vector<double>& x, const std::vector<double>& y,
                                  const VkfTensorLayout& layout) {
                for (size_t i = 0; i < x.size(); i++) {
                    const bool selected = i / layout.dim % layout.rows % 3 == 1;
                    CHECK(y[i] == (selected ? x[i] : vkf::test::untouched));
                }
            };
            check(all.dq, some.dq, q);
            check(all.dk, some.dk, k);
            check(all.dv, some.dv, v);
        }
    }
}

TEST_CASE("gradients do not depend on the number of threads", "[reference_backward]") {
    VkfProblem p = vkf::test::problemOf({3, 4, 2, 20, 33, 8, 0});
    p.use |= VKF_USE_CAUSAL;
    vkf::enable(p, VKF_USE_SINKS | VKF_USE_BIAS);
    p.bias = vkf::test::broadcast(p, VKF_TYPE_F32, false, false, false); // shared by all rows, heads and sequences
    const VkfBackwardProblem problem = vkf::test::backwardOf(p, vkf::test::allGradients(p));
    const Inputs inputs = vkf::test::makeInputs(p, {});
    const BackwardInputs more = vkf::test::makeBackwardInputs(problem);
    for (const auto algorithm : {VKF_REFERENCE_DIRECT, VKF_REFERENCE_TILED, VKF_REFERENCE_TILED_FP32}) {
        VkfReferenceOptions options = vkf::test::referenceOptions(algorithm);
        options.threads = 1;
        const Gradients one = referenceBackward(problem, inputs, more, options);
        options.threads = 5;
        const Gradients five = referenceBackward(problem, inputs, more, options);
        CHECK(one.dq == five.dq);
        CHECK(one.dk == five.dk);
        CHECK(one.dv == five.dv);
        CHECK(one.dsinks == five.dsinks);
        CHECK(one.dbias == five.dbias);
    }
}

TEST_CASE("the fp32 algorithm stores gradients in their types", "[reference_backward]") {
    VkfProblem p = vkf::test::problemOf({3, 2, 1, 9, 12, 8, 0});
    vkf::enable(p, VKF_USE_SINKS | VKF_USE_BIAS);
    p.bias = vkf::test::broadcast(p, VKF_TYPE_F32, true, true, true);
    VkfBackwardProblem problem = vkf::test::backwardOf(p, vkf::test::allGradients(p));
    problem.dq.type = VKF_TYPE_F16;
    problem.dk.type = VKF_TYPE_BF16;
    problem.dbiasType = VKF_TYPE_F16;
    const Gradients g = referenceBackward(problem, vkf::test::makeInputs(p, {}), vkf::test::makeBackwardInputs(problem),
                                          vkf::test::referenceOptions(VKF_REFERENCE_TILED_FP32));
    const auto check = [](VkfType type, const std::vector<double>& values) {
        for (const double x : values) {
            float stored{};
            vkfStoreElement(type, &stored, 0, x);
            CHECK(vkfLoadElement(type, &stored, 0) == x);
        }
    };
    check(VKF_TYPE_F16, g.dq);
    check(VKF_TYPE_BF16, g.dk);
    check(VKF_TYPE_F32, g.dv);
    check(VKF_TYPE_F16, g.dbias);
    check(VKF_TYPE_F32, g.dsinks);
}

TEST_CASE("a wanted gradient may be left out, and the others do not change", "[reference_backward]") {
    const Backward b(vkf::test::backwardCases()[1], VKF_TYPE_F32);
    const Gradients all = b.run(VKF_REFERENCE_TILED);
    const VkfBackwardProblem onlyK = vkf::test::backwardOf(b.forward, VKF_GRADIENT_K);
    VkfBackwardProblem k = onlyK;
    k.dq = k.dv = VkfTensor{};
    const Gradients some = referenceBackward(k, b.inputs, b.more, vkf::test::referenceOptions(VKF_REFERENCE_TILED));
    CHECK(some.dk == all.dk);
    CHECK(some.dq.empty());
}

TEST_CASE("the reference refuses bad backward calls", "[reference_backward]") {
    const Backward b(vkf::test::backwardCases()[0], VKF_TYPE_F32);
    const VkfReferenceInputs inputs = b.inputs.reference();
    std::vector<double> memory(10000);
    const auto outputs = [&] {
        auto of = vkf::make<VkfReferenceGradients>();
        of.dq = memory.data();
        return of;
    };
    struct Call {
        VkfBackwardProblem problem;
        VkfReferenceBackwardInputs more;
        VkfReferenceOptions options;
        VkfReferenceGradients outputs;
    };
    const struct {
        const char* words;
        void (*spoil)(Call&, double*);
        VkfResult result;
    } refusals[] = {
        {"backwardInputs.dout is null", [](Call& c, double*) { c.more.dout = nullptr; }, VKF_ERROR_INVALID_ARGUMENT},
        {"backwardInputs.dlse is null", [](Call& c, double*) { c.problem.use |= VKF_USE_DLSE; },
         VKF_ERROR_INVALID_ARGUMENT},
        {"options.algorithm is 4; the backward pass has 0 to 3",
         [](Call& c, double*) { c.options.algorithm = VKF_REFERENCE_BLOCK_SPARSE; }, VKF_ERROR_INVALID_ARGUMENT},
        {"dbias is not null, but gradients of the problem lacks its bit",
         [](Call& c, double* x) { c.outputs.dbias = x; }, VKF_ERROR_INVALID_ARGUMENT},
        {"dsinks is not null", [](Call& c, double* x) { c.outputs.dsinks = x; }, VKF_ERROR_INVALID_ARGUMENT},
        {"structSize of backwardInputs", [](Call& c, double*) { c.more.structSize = 0; }, VKF_ERROR_STRUCT_SIZE},
        {"structSize of gradients", [](Call& c, double*) { c.outputs.structSize = 1; }, VKF_ERROR_STRUCT_SIZE},
        {"forward is null", [](Call& c, double*) { c.problem.forward = nullptr; }, VKF_ERROR_INVALID_ARGUMENT},
    };
    for (const auto& refusal : refusals) {
        Call call{b.problem, b.more.reference(), vkf::make<VkfReferenceOptions>(), outputs()};
        refusal.spoil(call, memory.data());
        VkfMessage message{};
        const VkfResult result =
            vkfReferenceBackward(&call.problem, &inputs, &call.more, &call.options, &call.outputs, &message);
        INFO(message.text);
        CHECK(result == refusal.result);
        CHECK(std::string(message.text).find(refusal.words) != std::string::npos);
    }
    const auto more = b.more.reference();
    CHECK(vkfReferenceBackward(&b.problem, &inputs, nullptr, nullptr, nullptr, nullptr) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(vkfReferenceBackward(&b.problem, &inputs, &more, nullptr, nullptr, nullptr) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(std::all_of(memory.begin(), memory.end(), [](double x) { return x == 0.0; }));
    const VkfReferenceGradients wanted = outputs();
    CHECK(vkfReferenceBackward(&b.problem, &inputs, &more, nullptr, &wanted, nullptr) == VKF_SUCCESS);
    CHECK(memory[0] != 0.0);

    const auto& cases = vkf::test::backwardCases();
    const auto biased = std::find_if(cases.begin(), cases.end(),
                                     [](const BackwardCase& c) { return std::string(c.name) == "bias with gaps"; });
    const Backward withBias(*biased, VKF_TYPE_F32);
    auto some = vkf::make<VkfReferenceOptions>();
    some.rowStride = 2;
    VkfReferenceGradients bias = outputs();
    bias.dbias = memory.data();
    const VkfReferenceInputs biasInputs = withBias.inputs.reference();
    const VkfReferenceBackwardInputs biasMore = withBias.more.reference();
    CHECK(vkfReferenceBackward(&withBias.problem, &biasInputs, &biasMore, &some, &bias, nullptr) ==
          VKF_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("a ds past the largest fp16 keeps its exponent in the fp32 algorithm", "[reference_backward]") {
    Backward b(vkf::test::backwardCases()[0], VKF_TYPE_F32);
    std::transform(floatsOf(b.inputs.v), floatsOf(b.inputs.v) + b.inputs.v.size() / sizeof(float), floatsOf(b.inputs.v),
                   [](float x) { return x * 0x1p10F; });
    VkfReferenceOptions options = vkf::test::referenceOptions(VKF_REFERENCE_TILED_FP32);
    options.productType = VKF_TYPE_F16;
    const auto run = [&](double magnitude) {
        return referenceBackward(b.problem, b.inputs, vkf::test::makeBackwardInputs(b.problem, 1, magnitude), options);
    };
    Gradients small = run(1.0);
    for (double& x : small.dq) {
        x *= 0x1p10;
    }
    checkNear("dq", run(0x1p10).dq, small.dq, 1e-3);
    CHECK(*std::max_element(small.dq.begin(), small.dq.end()) > 65504.0);
}
