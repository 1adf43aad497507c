// SPDX-License-Identifier: MIT
//
// Finite numbers at the ends of their types, where a change of units or a sum would overflow: biases, sinks, softcaps
// and slopes. Plain fp64 loops in this file say what is right, besides the verdict of the library's own reference.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "kernels/backward/backward_runs.hpp"
#include "support/call.hpp"
#include "support/lacking.hpp"
#include "support/masks.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::BackwardInputs;
using vkf::test::BackwardOutcome;
using vkf::test::Inputs;
using vkf::test::Outcome;
using vkf::test::problemOf;
using vkf::test::Variation;

constexpr double largest = std::numeric_limits<float>::max();
constexpr double infinity = std::numeric_limits<double>::infinity();

// The bias of every key in one row.
struct BiasRow {
    const char* name;
    std::function<double(uint64_t key)> bias;
};

const std::vector<BiasRow> biasRows = {
    {"0", [](uint64_t) { return 0.0; }},
    {"the smallest number", [](uint64_t) { return -largest; }},
    {"the largest number", [](uint64_t) { return largest; }},
    {"-2.37e38, whose product with log2(e) is infinite", [](uint64_t) { return -2.37e38; }},
    {"-2.35e38, whose product with log2(e) is finite", [](uint64_t) { return -2.35e38; }},
    {"-2.3e38", [](uint64_t) { return -2.3e38; }},
    {"-1e30", [](uint64_t) { return -1e30; }},
    {"the smallest number beside larger ones", [](uint64_t key) { return key % 3 == 0 ? -2.5e38 : -largest; }},
    {"the smallest number in front of usual ones", [](uint64_t key) { return key < 66 ? -largest : 0.5; }},
    {"one largest number", [](uint64_t key) { return key == 65 ? largest : -largest; }},
    {"no key but one, which has the smallest number", [](uint64_t key) { return key == 3 ? -largest : -infinity; }},
    {"no key", [](uint64_t) { return -infinity; }},
};

constexpr uint64_t headDim = 64;

double element(VkfType type, const std::vector<std::byte>& bytes, uint64_t index) {
    return vkfLoadElement(type, bytes.data(), index);
}

struct Row {
    std::vector<double> o;
    double lse;
};

// A row of head `head` in fp64. `added` is what comes to the score of a key after the softcap.
Row exactRow(const VkfProblem& p, const Inputs& inputs, uint64_t head, uint64_t row,
             const std::function<double(uint64_t)>& added) {
    std::vector<double> s(p.keys);
    double m = p.keys == 0 || inputs.sinks.empty() ? -infinity : static_cast<double>(inputs.sinks[head]);
    for (uint64_t key = 0; key < p.keys; key++) {
        double dot = 0.0;
        for (uint64_t d = 0; d < headDim; d++) {
            dot += element(p.q.type, inputs.q, (head * p.queryRows + row) * headDim + d) *
                   element(p.k.type, inputs.k, key * headDim + d);
        }
        const double scaled = (p.scale == 0.0F ? 0.125 : static_cast<double>(p.scale)) * dot;
        const auto cap = static_cast<double>(p.softcap);
        s[key] = (cap == 0.0 ? scaled : cap * std::tanh(scaled / cap)) + added(key);
        m = std::max(m, s[key]);
    }
    Row result{std::vector<double>(headDim), -infinity};
    if (m == -infinity) {
        return result;
    }
    double l = inputs.sinks.empty() ? 0.0 : std::exp(static_cast<double>(inputs.sinks[head]) - m);
    for (uint64_t key = 0; key < p.keys; key++) {
        l += std::exp(s[key] - m);
    }
    for (uint64_t key = 0; key < p.keys; key++) {
        for (uint64_t d = 0; d < headDim; d++) {
            result.o[d] += std::exp(s[key] - m) / l * element(p.v.type, inputs.v, key * headDim + d);
        }
    }
    result.lse = m + std::log(l);
    return result;
}

bool isNear(double value, double expected, double tolerance) {
    return std::isfinite(expected) ? std::abs(value - expected) <= tolerance : value == expected;
}

// Compares one row with the loop above, far more coarsely than the verdict does.
void checkRow(const VkfProblem& p, const Inputs& inputs, const Outcome& outcome, uint64_t head, uint64_t row,
              const std::function<double(uint64_t)>& added) {
    const Row exact = exactRow(p, inputs, head, row, added);
    const double tolerance = p.q.type == VKF_TYPE_F32 ? 1e-4 : 0.01;
    const auto lse = static_cast<double>(outcome.lse[head * p.queryRows + row]);
    INFO("head " << head << ", row " << row << ", lse " << lse << ", right " << exact.lse);
    CHECK(isNear(lse, exact.lse, tolerance * std::max(1.0, std::abs(exact.lse) * 1e-3)));
    for (uint64_t d = 0; d < headDim; d += 21) {
        const double o = element(p.o.type, outcome.o, (head * p.queryRows + row) * headDim + d);
        INFO("column " << d << ", o " << o << ", right " << exact.o[d]);
        CHECK(isNear(o, exact.o[d], tolerance));
    }
}

void setBias(VkfProblem& p) {
    p.bias = vkf::test::broadcast(p, VKF_TYPE_F32, false, false, true, 0);
    vkf::enable(p, VKF_USE_BIAS);
}

void fillBias(const VkfProblem& p, Inputs& inputs) {
    for (uint64_t row = 0; row < p.queryRows; row++) {
        for (uint64_t key = 0; key < p.keys; key++) {
            vkfStoreElement(VKF_TYPE_F32, inputs.bias.data(), row * p.bias.rowStride + key, biasRows[row].bias(key));
        }
    }
}

VkfProblem biasProblem(VkfType type) {
    VkfProblem p = problemOf({1, 2, 1, static_cast<uint32_t>(biasRows.size()), 70, headDim, 0, type});
    setBias(p);
    vkf::enable(p, VKF_USE_LSE);
    return p;
}

constexpr size_t everyVariation = std::size(vkf::test::variations);
// For cases that meet the same lines of a kernel as others. Whole sweeps run all.
constexpr size_t someVariations = 3;

// Calls visit(problem, outcome), after the verdict, for `most` of the variations that take the problem.
template <typename Visit>
void onVariations(size_t most, const VkfProblem& given, const Inputs& inputs, const Visit& visit) {
    for (const Variation* variation : vkf::test::variationsInTurn(given, most)) {
        const bool splits = variation->path != VKF_PATH_STANDARD && variation->path != VKF_PATH_KEY_OUTER;
        if (given.kvSplits > 1 && !splits) {
            continue;
        }
        VkfProblem p = given;
        apply(*variation, p);
        const Outcome outcome = vkf::test::runCall(vkf::test::deviceOf(*variation), p, inputs);
        INFO(variation->name << ": " << vkf::test::describe(p));
        INFO(outcome.text());
        CHECK(outcome.passed());
        visit(p, outcome);
    }
}

double factorOf(const Inputs& inputs, uint64_t head) {
    return inputs.biasFactors.empty() ? 1.0 : static_cast<double>(inputs.biasFactors[head]);
}

// A product with a bias factor is an fp32 number, infinite past the largest one.
double biasOf(const Inputs& inputs, uint64_t head, double bias) {
    return bias == -infinity ? bias : static_cast<double>(static_cast<float>(factorOf(inputs, head) * bias));
}

void checkBiasRows(size_t most, const VkfProblem& given, const Inputs& inputs) {
    onVariations(most, given, inputs, [&](const VkfProblem& p, const Outcome& outcome) {
        for (uint64_t head = 0; head < p.queryHeads; head++) {
            for (uint64_t row = 0; row < biasRows.size(); row++) {
                INFO("bias: " << biasRows[row].name);
                checkRow(p, inputs, outcome, head, row,
                         [&](uint64_t key) { return biasOf(inputs, head, biasRows[row].bias(key)); });
            }
        }
    });
}

// Scalar, with little shared memory; coopmat, both layouts.
constexpr std::initializer_list<uint32_t> backwardVariations = {0, 2, 4, 5};

// Runs the backward pass of all inputs on the given variations, in whole sweeps on every one. Calls
// visit(forward, more, outcome) after the verdict.
template <typename Visit>
void onBackwardVariations(std::initializer_list<uint32_t> some, const VkfProblem& given,
                          const std::function<void(const VkfProblem&, Inputs&)>& edit, const Visit& visit) {
    for (const uint32_t number : vkf::test::wholeSweeps() ? backwardVariations : some) {
        const Variation& variation = vkf::test::variations[number];
        if (vkf::test::leavesOut(deviceOf(variation), variation.path)) {
            continue;
        }
        VkfProblem forward = given;
        const VkfType type = variation.path == VKF_PATH_COOPMAT ? VKF_TYPE_F16 : VKF_TYPE_F32;
        forward.q = forward.k = forward.v = forward.o = vkf::dense(type);
        forward = vkf::test::fittedBackward(deviceOf(variation), forward);
        apply(variation, forward);
        const VkfBackwardProblem problem = vkf::test::backwardOf(forward, vkf::test::allGradients(forward));
        Inputs inputs = vkf::test::makeInputs(forward, {});
        edit(forward, inputs);
        BackwardInputs more = vkf::test::makeBackwardInputs(problem);
        vkf::test::computeForward(forward, inputs, VKF_TYPE_F32, &more);
        const BackwardOutcome outcome = vkf::test::runBackward(deviceOf(variation), problem, inputs, more);
        INFO(variation.name << ": " << outcome.text());
        CHECK(outcome.passed());
        visit(problem, inputs, more, outcome);
    }
}

// dv of each key in fp64, from the given lse.
void checkDv(const VkfBackwardProblem& problem, const Inputs& inputs, const BackwardInputs& more,
             const BackwardOutcome& outcome,
             const std::function<double(uint64_t head, uint64_t row, uint64_t key)>& added) {
    const VkfProblem& p = *problem.forward;
    const VkfTensorLayout dout = vkf::layoutOf(problem, VKF_BACKWARD_DOUT);
    const VkfTensorLayout dv = vkf::layoutOf(problem, VKF_BACKWARD_DV);
    const double tolerance = p.q.type == VKF_TYPE_F32 ? 1e-3 : 0.05;
    for (uint64_t key = 0; key < p.keys; key += 13) {
        double exact = 0.0; // of column 0
        for (uint64_t i = 0; i < uint64_t{p.queryHeads} * p.queryRows; i++) {
            double dot = 0.0;
            for (uint64_t d = 0; d < headDim; d++) {
                dot += element(p.q.type, inputs.q, i * headDim + d) * element(p.k.type, inputs.k, key * headDim + d);
            }
            const double s = 0.125 * dot + added(i / p.queryRows, i % p.queryRows, key);
            const auto lse = static_cast<double>(more.lse[i]);
            const uint64_t at = i / p.queryRows * dout.headStride + i % p.queryRows * dout.rowStride;
            exact += lse == -infinity ? 0.0 : std::exp(s - lse) * element(dout.type, more.dout, at);
        }
        const double value = element(dv.type, outcome.outputs.dv, key * dv.rowStride);
        INFO("key " << key << ", dv " << value << ", right " << exact);
        CHECK(isNear(value, exact, tolerance));
    }
}

} // namespace

TEST_CASE("a bias may be any finite fp32 number", "[extreme_numbers]") {
    for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_F16}) {
        const VkfProblem p = vkf::test::fitted(vkf::test::testDevice(), biasProblem(type));
        Inputs inputs = vkf::test::makeInputs(p, {});
        fillBias(p, inputs);
        checkBiasRows(type == VKF_TYPE_F16 ? everyVariation : someVariations, p, inputs);
    }
}

TEST_CASE("a bias with a factor, a softcap, and split keys may be any finite fp32 number", "[extreme_numbers]") {
    VkfProblem p = vkf::test::fitted(vkf::test::testDevice(), biasProblem(VKF_TYPE_F16));
    vkf::enable(p, VKF_USE_BIAS_FACTORS);
    p.softcap = 3.0F;
    p.kvSplits = 2;
    Inputs inputs = vkf::test::makeInputs(p, {});
    fillBias(p, inputs);
    inputs.biasFactors = {1.0F, 0.75F};
    checkBiasRows(someVariations, p, inputs);
}

// Sinks of two heads at a time. Half of the rows see no key.
TEST_CASE("a sink may be any finite fp32 number", "[extreme_numbers]") {
    const std::vector<std::vector<float>> sinks = {
        {-3.4028235e38F, 3.4028235e38F}, {-2.4e38F, 2.4e38F}, {-3e38F, 40.0F}};
    for (const bool biased : {false, true}) {
        for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_F16}) {
            if (biased != (type == VKF_TYPE_F16) && !vkf::test::wholeSweeps()) {
                continue;
            }
            VkfProblem p = problemOf({1, 2, 1, static_cast<uint32_t>(biasRows.size()), 6, headDim, 0, type});
            p = vkf::test::fitted(vkf::test::testDevice(), p);
            p.use |= VKF_USE_CAUSAL; // of twelve rows, six see no key
            vkf::enable(p, VKF_USE_SINKS | VKF_USE_LSE);
            if (biased) {
                setBias(p);
            }
            Inputs inputs = vkf::test::makeInputs(p, {});
            if (biased) {
                fillBias(p, inputs);
            }
            for (const std::vector<float>& two : sinks) {
                inputs.sinks = two;
                onVariations(someVariations, p, inputs, [&](const VkfProblem& fitting, const Outcome& outcome) {
                    for (uint64_t head = 0; head < p.queryHeads; head++) {
                        for (uint64_t row = 0; row < p.queryRows; row++) {
                            checkRow(fitting, inputs, outcome, head, row, [&](uint64_t key) {
                                return key + 6 > row ? -infinity : biased ? biasRows[row].bias(key) : 0.0;
                            });
                        }
                    }
                });
            }
        }
    }
}

// Rows of zeros have scores of 0. The others have scores of about 8.
TEST_CASE("a softcap may be any number", "[extreme_numbers]") {
    for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_F16}) {
        VkfProblem p = problemOf({1, 1, 1, 20, 70, headDim, 0, type});
        p = vkf::test::fitted(vkf::test::testDevice(), p);
        p.scale = 1.0F;
        vkf::enable(p, VKF_USE_LSE);
        vkf::test::Data data;
        data.edit = [&](std::vector<std::byte>& q, std::vector<std::byte>&, std::vector<std::byte>&) {
            for (uint64_t i = 0; i < 5 * headDim; i++) {
                vkfStoreElement(type, q.data(), i, 0.0);
            }
        };
        const Inputs inputs = vkf::test::makeInputs(p, data);
        for (const float softcap : {1.4e-45F, 1e-42F, 1e-39F, 1e-35F, 1e-20F, 1e20F, 1e29F, 1e36F, 1e38F, 3e38F}) {
            p.softcap = softcap;
            onVariations(someVariations, p, inputs, [&](const VkfProblem& fitting, const Outcome& outcome) {
                for (uint64_t row = 0; row < p.queryRows; row += 3) {
                    checkRow(fitting, inputs, outcome, 0, row, [](uint64_t) { return 0.0; });
                }
            });
        }
    }
}

// Path coopmat promises less for lse under large slopes, and the same o.
TEST_CASE("a slope of ALiBi may be any finite fp32 number", "[extreme_numbers]") {
    VkfProblem given = problemOf({1, 2, 1, 5, 70, headDim, 0, VKF_TYPE_F16});
    given = vkf::test::fitted(vkf::test::testDevice(), given);
    given.use |= VKF_USE_ALIBI;
    given.use |= VKF_USE_CAUSAL;
    vkf::enable(given, VKF_USE_LSE | VKF_USE_ALIBI_SLOPES);
    Inputs inputs = vkf::test::makeInputs(given, {});
    inputs.alibiSlopes = {3.4028235e38F, 1e36F};
    for (const Variation* chosen : vkf::test::variationsInTurn(given, 5)) {
        const Variation& variation = *chosen;
        VkfProblem p = given;
        apply(variation, p);
        Outcome outcome = vkf::test::runCall(vkf::test::deviceOf(variation), p, inputs);
        INFO(variation.name << ": " << outcome.text());
        CHECK(outcome.verdict.oError <= outcome.verdict.oBound);
        CHECK((outcome.passed() || variation.path == VKF_PATH_COOPMAT));
        for (uint64_t i = 0; i < uint64_t{p.queryHeads} * p.queryRows; i++) {
            const uint64_t head = i / p.queryRows;
            const uint64_t row = i % p.queryRows;
            const auto added = [&](uint64_t key) {
                const double distance = static_cast<double>(row) + 65.0 - static_cast<double>(key);
                return distance < 0.0 ? -infinity : -static_cast<double>(inputs.alibiSlopes[head]) * distance;
            };
            CHECK(std::isfinite(outcome.lse[i]));
            if (variation.path == VKF_PATH_COOPMAT) {
                outcome.lse[i] = static_cast<float>(exactRow(p, inputs, head, row, added).lse);
            }
            checkRow(p, inputs, outcome, head, row, added);
        }
    }
}

TEST_CASE("the backward pass takes any finite bias", "[extreme_numbers]") {
    onBackwardVariations(
        {0, 4}, biasProblem(VKF_TYPE_F32), [](const VkfProblem& p, Inputs& inputs) { fillBias(p, inputs); },
        [](const VkfBackwardProblem& p, const Inputs& inputs, const BackwardInputs& more,
           const BackwardOutcome& outcome) {
            checkDv(p, inputs, more, outcome, [](uint64_t, uint64_t row, uint64_t key) {
                return static_cast<double>(static_cast<float>(biasRows[row].bias(key))); // as stored
            });
        });
}

TEST_CASE("the backward pass takes any finite sink", "[extreme_numbers]") {
    VkfProblem given = problemOf({1, 2, 1, 12, 6, headDim});
    given.use |= VKF_USE_CAUSAL; // of twelve rows, six see no key
    vkf::enable(given, VKF_USE_SINKS | VKF_USE_LSE);
    for (const std::vector<float>& two : {std::vector<float>{-3.4028235e38F, 3.4028235e38F}, {-2.4e38F, 2.4e38F}}) {
        onBackwardVariations(
            {2, 4}, given, [&](const VkfProblem&, Inputs& inputs) { inputs.sinks = two; },
            [](const VkfBackwardProblem& p, const Inputs& inputs, const BackwardInputs& more,
               const BackwardOutcome& outcome) {
                checkDv(p, inputs, more, outcome,
                        [](uint64_t, uint64_t row, uint64_t key) { return key + 6 > row ? -infinity : 0.0; });
            });
    }
}

TEST_CASE("the backward pass takes any softcap", "[extreme_numbers]") {
    for (const float softcap : {1.4e-45F, 1e-39F, 1e-20F, 3e38F}) {
        VkfProblem given = problemOf({1, 1, 1, 20, 70, headDim});
        vkf::enable(given, VKF_USE_LSE);
        given.softcap = softcap;
        onBackwardVariations(
            {0, 5}, given,
            [](const VkfProblem& p, Inputs& inputs) {
                for (uint64_t i = 0; i < 5 * headDim; i++) { // rows with scores of 0
                    vkfStoreElement(p.q.type, inputs.q.data(), i, 0.0);
                }
            },
            [](const VkfBackwardProblem&, const Inputs&, const BackwardInputs&, const BackwardOutcome&) {});
    }
}

// Key 5 is far below the others in all rows, or the sink is far above all keys: the probability is too small for fp32.
TEST_CASE("a NaN in the value of a visible key reaches o however small its probability is", "[extreme_numbers]") {
    vkf::test::needNan(vkf::test::testDevice());
    for (const bool hasSink : {false, true}) {
        for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_F16}) {
            if (hasSink != (type == VKF_TYPE_F16) && !vkf::test::wholeSweeps()) {
                continue;
            }
            VkfProblem p = problemOf({1, 1, 1, 7, 70, headDim, 0, type});
            p = vkf::test::fitted(vkf::test::testDevice(), p);
            p.scale = 1.0F;
            vkf::enable(p, VKF_USE_LSE | (hasSink ? VKF_USE_SINKS : 0));
            vkf::test::Data data;
            data.edit = [&](std::vector<std::byte>& q, std::vector<std::byte>& k, std::vector<std::byte>& v) {
                for (uint64_t row = 0; row < p.queryRows; row++) {
                    vkfStoreElement(type, q.data(), row * headDim, 1.0);
                }
                vkfStoreElement(type, k.data(), 5 * headDim, hasSink ? 0.0 : -400.0);
                vkfStoreElement(type, v.data(), 5 * headDim + 21, std::numeric_limits<double>::quiet_NaN());
            };
            Inputs inputs = vkf::test::makeInputs(p, data);
            inputs.sinks.assign(inputs.sinks.size(), 300.0F);
            onVariations(someVariations, p, inputs, [&](const VkfProblem& fitting, const Outcome& outcome) {
                for (uint64_t i = 0; i < p.queryRows * headDim; i++) {
                    CHECK(std::isnan(element(fitting.o.type, outcome.o, i)) == (i % headDim == 21));
                }
            });
        }
    }
}
