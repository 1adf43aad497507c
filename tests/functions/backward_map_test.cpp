// SPDX-License-Identifier: MIT
//
// The map of tiles of a backward pass with masks of the caller's own (shaders/backward/map_and_lists.glsl).
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "functions/compiled_example.hpp"
#include "kernels/backward/backward_runs.hpp"
#include "kernels/backward/listed_ways.hpp"
#include "support/device.hpp"
#include "support/lacking.hpp"
#include "support/masks.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::BackwardInputs;
using vkf::test::BackwardOutcome;
using vkf::test::CompiledExample;
using vkf::test::Data;
using vkf::test::Inputs;
using vkf::test::ListedWay;
using vkf::test::listedWays;
using vkf::test::problemOf;
using vkf::test::Variation;

// Calls judge(device, problem, inputs) with a call as it is on the way.
template <typename Judge>
void onWay(const ListedWay& way, const CompiledExample& compiled, VkfProblem forward, Data data, const Judge& judge) {
    const Variation& variation = way.of();
    compiled.use(forward, data);
    forward = vkf::test::fittedBackward(deviceOf(variation), forward);
    apply(variation, forward);
    const VkfBackwardProblem problem = vkf::test::backwardOf(forward, way);
    const Inputs inputs = vkf::test::makeInputs(forward, data);
    INFO(way.name << ": " << vkf::test::describe(forward));
    judge(deviceOf(variation), problem, inputs);
}

// ---- What the map says decides -----------------------------------------------------------------------------------
//
// A promise that keep is monotone makes the map look at the corners of tiles alone. These promises are wrong. So the
// gradients show whether kernels believe the map or look at each pair. The reference keeps all pairs.

void addBias(VkfProblem& problem) {
    problem.bias = vkf::test::broadcast(problem, VKF_TYPE_F32, true, true, true);
    vkf::enable(problem, VKF_USE_BIAS);
}

void addNothing(VkfProblem& /*problem*/) {}

void addCausal(VkfProblem& problem) { problem.use |= VKF_USE_CAUSAL; }

constexpr void (*changes[])(VkfProblem&) = {&addNothing, &addCausal, &addBias};

template <typename Judge> void checkPromise(const std::string& keep, const Judge& judge) {
    VkfReferenceFunctions formulas{};
    formulas.keep = [](const VkfPosition*, void*) -> int32_t { return 1; };
    const CompiledExample compiled("const bool keepIsMonotone = true;\n" + keep, formulas);
    size_t turn = 0;
    for (const ListedWay& way : listedWays) {
        if (way.isLeftOut()) {
            continue;
        }
        VkfProblem forward = problemOf({1, 4, 2, 256, 256, 16, 0, way.type()});
        changes[turn++ % std::size(changes)](forward);
        onWay(way, compiled, forward, {}, judge);
    }
}

bool isZero(const std::vector<std::byte>& bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{0}; });
}

} // namespace

TEST_CASE("the backward pass skips the empty tiles of its map", "[backward_map]") {
    checkPromise("bool keep(Position at) { return at.row % 8 != 0 && at.row % 8 != 7; }\n",
                 [](vkf::host::Device& device, const VkfBackwardProblem& problem, const Inputs& inputs) {
                     BackwardInputs more = vkf::test::makeBackwardInputs(problem);
                     vkf::test::computeForward(*problem.forward, inputs, VKF_TYPE_F32, &more);
                     const BackwardOutcome outcome = runBackwardUnjudged(device, problem, inputs, more);
                     CHECK(outcome.info.tileMapBytes != 0);
                     CHECK(isZero(outcome.outputs.dq));
                     CHECK(isZero(outcome.outputs.dk));
                     CHECK(isZero(outcome.outputs.dv));
                     CHECK(isZero(outcome.outputs.dbias));
                 });
}

TEST_CASE("the backward pass tests no mask in the full tiles of its map", "[backward_map]") {
    checkPromise("bool keep(Position at) { return at.row % 8 == 0 || at.row % 8 == 7; }\n",
                 [](vkf::host::Device& device, const VkfBackwardProblem& problem, const Inputs& inputs) {
                     // A tile at the diagonal of a causal mask is partial, and the kernels ask keep there.
                     if (!vkf::has(*problem.forward, VKF_USE_CAUSAL)) {
                         const BackwardOutcome outcome =
                             runBackward(device, problem, inputs, vkf::test::makeBackwardInputs(problem));
                         INFO(outcome.text());
                         CHECK(outcome.passed());
                     }
                 });
}

// ---- The map with everything else that decides about pairs --------------------------------------------------------

namespace {

// Squares of pairs, of each head of each sequence. They and the next ones are smaller and larger than tiles.
constexpr char squares[] = "bool keep(Position at) {\n"
                           "    int shift = at.head + 2 * at.batch;\n"
                           "    return (at.row + 4096) / 70 % 3 == (at.key / 50 + shift) % 3 || at.key % 97 == 5;\n"
                           "}\n";
// Where ds is stored, dq sums over some tiles of which a part is empty.
constexpr char sharedSquares[] = "bool keep(Position at) {\n"
                                 "    return (at.row + 4096) / 64 % 2 == at.key / 128 % 2;\n"
                                 "}\n";

int32_t keepsSquares(const VkfPosition* at, void*) {
    return (at->row + 4096) / 70 % 3 == (at->key / 50 + at->head + 2 * at->batch) % 3 || at->key % 97 == 5;
}

int32_t keepsSharedSquares(const VkfPosition* at, void*) { return (at->row + 4096) / 64 % 2 == at->key / 128 % 2; }

struct Situation {
    const char* name;
    void (*change)(VkfProblem& problem, Data& data);
    bool hasMap = true;
};

constexpr Situation situations[] = {
    {"key lengths and top-left causal",
     [](VkfProblem& p, Data& data) {
         vkf::enable(p, VKF_USE_KEY_LENGTHS | VKF_USE_CAUSAL);
         p.alignment = VKF_ALIGNMENT_TOP_LEFT;
         data.keyLengths = {150, 290};
     }},
    {"window and first keys",
     [](VkfProblem& p, Data&) {
         vkf::test::setWindow(p, 60, 50);
         p.window.firstKeys = 10;
     }},
    {"as it is", [](VkfProblem&, Data&) {}},
    {"blocks of keys",
     [](VkfProblem& p, Data&) {
         p.blockMask.blockSize = 48;
         vkf::enable(p, VKF_USE_BLOCK_MASK);
     }},
    {"mask, documents and dropout",
     [](VkfProblem& p, Data& data) {
         p.mask = vkf::test::broadcast(p, VKF_TYPE_BOOL8, true, false, true, 3);
         vkf::enable(p, VKF_USE_MASK | VKF_USE_DOCUMENT_IDS);
         p.dropout.probability = 0.3F;
         p.dropout.seed = 77;
         data.documentKeys = 90;
         data.maskDensity = 0.9;
     }},
    {"a shared bias, sinks and gaps between rows",
     [](VkfProblem& p, Data&) {
         p.bias = vkf::test::broadcast(p, VKF_TYPE_F16, false, true, true, 3);
         vkf::enable(p, VKF_USE_BIAS | VKF_USE_SINKS);
         p.q.rowStride = 24;
         p.k.rowStride = 40;
     }},
    {"more rows than keys, and a window",
     [](VkfProblem& p, Data&) {
         p.keys = 170;
         vkf::test::setWindow(p, 60, 20);
     }},
    {"steps of one work item", [](VkfProblem& p, Data&) { p.maxStepOperations = 1; }},
    {"packed sequences",
     [](VkfProblem& p, Data& data) {
         setPacked(p, data, {130, 70}, {130, 160});
     },
     false},
};

void check(const CompiledExample& compiled, const Situation& situation, const ListedWay& way) {
    if (way.isLeftOut()) {
        return;
    }
    INFO(situation.name);
    VkfProblem problem = problemOf({2, 4, 2, 200, 290, 16, 0, way.type()});
    Data data;
    situation.change(problem, data);
    const auto judge = [&](vkf::host::Device& device, const VkfBackwardProblem& backward, const Inputs& inputs) {
        const BackwardOutcome outcome =
            runBackward(device, backward, inputs, vkf::test::makeBackwardInputs(backward), 3);
        INFO(outcome.text());
        CHECK(outcome.passed());
        CHECK((outcome.info.tileMapBytes != 0) == situation.hasMap);
        CHECK((outcome.info.bandKeys == 0 || vkf::test::ignoresScratch(device, backward, inputs)));
        CHECK((outcome.info.bandKeys != 0) ==
              (way.stores() && !vkf::test::leavesHoles(*backward.forward, situation.hasMap)));
    };
    onWay(way, compiled, problem, data, judge);
}

} // namespace

TEST_CASE("gradients with a map of tiles agree with the reference, whatever else decides about pairs",
          "[backward_map]") {
    VkfReferenceFunctions formulas{};
    formulas.keep = &keepsSquares;
    const CompiledExample ofHeads(squares, formulas);
    formulas.keep = &keepsSharedSquares;
    const CompiledExample ofAll(sharedSquares, formulas);
    for (size_t i = 0; i < std::size(situations); i++) {
        for (size_t way = 0; way < std::size(listedWays); way++) {
            if (vkf::test::wholeSweeps() || way == i % std::size(listedWays)) {
                check(i / 2 % 2 == 0 ? ofHeads : ofAll, situations[i], listedWays[way]);
            }
        }
    }
}

TEST_CASE("a score of the caller's own goes with the lists of documents", "[backward_map]") {
    VkfReferenceFunctions formulas{};
    formulas.score = [](double s, const VkfPosition*, void*) { return 0.5 * s; };
    formulas.scoreDerivative = [](double, const VkfPosition*, void*) { return 0.5; };
    const CompiledExample compiled("float score(float s, Position at) { return 0.5 * s; }\n"
                                   "float scoreDerivative(float s, Position at) { return 0.5; }\n",
                                   formulas);
    for (const ListedWay& way : listedWays) {
        if (way.isLeftOut() || !(way.stores() || vkf::test::wholeSweeps())) {
            continue;
        }
        VkfProblem forward = problemOf({2, 4, 2, 200, 290, 16, 0, way.type()});
        vkf::enable(forward, VKF_USE_DOCUMENT_IDS);
        Data data;
        data.documentKeys = 90;
        onWay(way, compiled, forward, data,
              [](vkf::host::Device& device, const VkfBackwardProblem& problem, const Inputs& inputs) {
                  const BackwardOutcome outcome =
                      runBackward(device, problem, inputs, vkf::test::makeBackwardInputs(problem));
                  INFO(outcome.text());
                  CHECK(outcome.passed());
              });
    }
}

// A row whose scores are all -infinity contributes nothing, and gets no gradient. The map does not know that. So a
// kernel that owns keys finds such rows in tiles that are full by the map, and leaves these tiles and all later ones to
// the walk over partial tiles.
TEST_CASE("rows without a finite score in full tiles of the map get no gradient", "[backward_map]") {
    constexpr char text[] =
        "bool keep(Position at) { return at.row / 64 != 3 || at.key < 128; }\n"
        "float score(float s, Position at) { return at.row % 96 == 70 ? uintBitsToFloat(0xff800000u) : s; }\n"
        "float scoreDerivative(float s, Position at) { return at.row % 96 == 70 ? 0.0 : 1.0; }\n";
    VkfReferenceFunctions formulas{};
    formulas.keep = [](const VkfPosition* at, void*) -> int32_t { return at->row / 64 != 3 || at->key < 128 ? 1 : 0; };
    formulas.score = [](double s, const VkfPosition* at, void*) {
        return at->row % 96 == 70 ? -std::numeric_limits<double>::infinity() : s;
    };
    formulas.scoreDerivative = [](double, const VkfPosition* at, void*) { return at->row % 96 == 70 ? 0.0 : 1.0; };
    const CompiledExample compiled(text, formulas);
    for (const ListedWay& way : listedWays) {
        if (way.isLeftOut() || !(way.stores() || vkf::test::wholeSweeps())) {
            continue;
        }
        const auto judge = [](vkf::host::Device& device, const VkfBackwardProblem& problem, const Inputs& inputs) {
            const BackwardOutcome outcome =
                runBackward(device, problem, inputs, vkf::test::makeBackwardInputs(problem));
            INFO(outcome.text());
            CHECK(outcome.info.tileMapBytes != 0);
            CHECK(outcome.passed());
        };
        onWay(way, compiled, problemOf({1, 4, 2, 256, 384, 16, 0, way.type()}), {}, judge);
    }
}
