// SPDX-License-Identifier: MIT
//
// Path coopmat that converts k and v of block types once, before attention (VkfProblem::maxScratchBytes). Each call
// runs with and without that, on the same inputs. Both agree with the reference, and with each other bit by bit.
// Scratch memory is poisoned before each call, and so are keys that no row sees.
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/call.hpp"
#include "support/variations.hpp"

namespace {

using vkf::enable;
using vkf::test::Data;
using vkf::test::Inputs;
using vkf::test::Outcome;
using vkf::test::Shape;
using vkf::test::Variation;

constexpr uint64_t none = 1;
constexpr uint64_t plenty = uint64_t{1} << 30;
constexpr std::array blockTypes = {VKF_TYPE_Q8_0, VKF_TYPE_Q4_0,   VKF_TYPE_Q4_1,    VKF_TYPE_Q5_0,
                                   VKF_TYPE_Q5_1, VKF_TYPE_IQ4_NL, VKF_TYPE_F8_E4M3, VKF_TYPE_F8_E5M2};
const Variation& inRegisters = vkf::test::variations[4];
const Variation& throughSharedMemory = vkf::test::variations[5];

VkfProblem problemOf(Shape shape, VkfType kType, VkfType vType) {
    shape.type = VKF_TYPE_F16;
    VkfProblem problem = vkf::test::problemOf(shape);
    problem.k.type = kType;
    problem.v.type = vType;
    problem.path = VKF_PATH_COOPMAT;
    enable(problem, VKF_USE_LSE);
    return problem;
}

void check(const Variation& variation, VkfProblem problem, const Inputs& inputs) {
    vkf::host::Device& device = vkf::test::deviceOf(variation);
    INFO(variation.name << ": " << vkf::test::describe(problem));
    problem.maxScratchBytes = none;
    const Outcome each = vkf::test::runCall(device, problem, inputs);
    problem.maxScratchBytes = plenty;
    const Outcome once = vkf::test::runCall(device, problem, inputs);
    INFO("for each tile of rows: " << each.text());
    INFO("once: " << once.text());
    CHECK(each.passed());
    CHECK(once.passed());
    const uint64_t rows = uint64_t{problem.batch} * problem.kvHeads * problem.keys;
    CHECK(once.plan.scratchBytes >= each.plan.scratchBytes + 2 * rows * (problem.headDim + problem.valueDim));
    CHECK(once.o == each.o);
    CHECK(once.lse == each.lse);
    CHECK(once.probabilities == each.probabilities);
}

void check(const Variation& variation, const VkfProblem& problem, const Data& data = {}) {
    check(variation, problem, vkf::test::makeInputs(problem, data));
}

// Rows with gaps of whole blocks. With `rowsOutside`, the heads of a row are neighbours.
void scatter(VkfTensor& tensor, uint64_t heads, uint64_t rows, uint64_t dim, bool rowsOutside) {
    const uint64_t step = dim + 32;
    tensor.rowStride = rowsOutside ? heads * step + 32 : step;
    tensor.headStride = rowsOutside ? step : rows * step + 32;
    tensor.batchStride = rowsOutside ? rows * tensor.rowStride + 64 : heads * tensor.headStride;
}

// One optional feature of a call.
struct Feature {
    const char* name;
    void (*add)(VkfProblem& problem, Data& data);
};

VkfBroadcastArray broadcastOf(const VkfProblem& p, VkfType type) {
    VkfBroadcastArray array{};
    array.type = type;
    array.rowStride = p.keys;
    array.headStride = array.rowStride * p.queryRows;
    array.batchStride = array.headStride * p.queryHeads;
    return array;
}

void addLengths(VkfProblem& p, Data& data) {
    enable(p, VKF_USE_KEY_LENGTHS);
    data.keyLengths = {static_cast<int32_t>(p.keys) - 70, -3, static_cast<int32_t>(p.keys) + 9};
    data.keyLengths.resize(p.batch);
}

void addMask(VkfProblem& p, Data& data) {
    p.mask = broadcastOf(p, VKF_TYPE_BOOL8);
    enable(p, VKF_USE_MASK);
    data.maskSquare = 64;
}

void addBias(VkfProblem& p, Data&) {
    p.bias = broadcastOf(p, VKF_TYPE_F16);
    enable(p, VKF_USE_BIAS);
}

const std::vector<Feature> features = {
    {"no feature", [](VkfProblem&, Data&) {}},
    {"causal", [](VkfProblem& p, Data&) { p.use |= VKF_USE_CAUSAL; }},
    {"key lengths", addLengths},
    {"causal, top left",
     [](VkfProblem& p, Data&) {
         p.use |= VKF_USE_CAUSAL;
         p.alignment = VKF_ALIGNMENT_TOP_LEFT;
     }},
    {"window",
     [](VkfProblem& p, Data&) {
         p.window = {9, 5, 0};
         p.use |= VKF_USE_WINDOW;
     }},
    {"window, top left",
     [](VkfProblem& p, Data&) {
         p.window = {40, 70, 0};
         p.use |= VKF_USE_WINDOW;
         p.alignment = VKF_ALIGNMENT_TOP_LEFT;
     }},
    {"window and first keys",
     [](VkfProblem& p, Data&) {
         p.window = {9, 0, 3};
         p.use |= VKF_USE_WINDOW;
     }},
    {"causal, window and first keys",
     [](VkfProblem& p, Data&) {
         p.use |= VKF_USE_CAUSAL;
         p.window = {2, 0, 70};
         p.use |= VKF_USE_WINDOW;
     }},
    {"key lengths, causal",
     [](VkfProblem& p, Data& data) {
         addLengths(p, data);
         p.use |= VKF_USE_CAUSAL;
     }},
    {"key lengths, window",
     [](VkfProblem& p, Data& data) {
         addLengths(p, data);
         p.window = {20, 0, 0};
         p.use |= VKF_USE_WINDOW;
     }},
    {"mask", addMask},
    {"bias", addBias},
    {"documents", [](VkfProblem& p, Data&) { enable(p, VKF_USE_DOCUMENT_IDS); }},
    {"sinks and slopes",
     [](VkfProblem& p, Data&) {
         p.use |= VKF_USE_ALIBI;
         enable(p, VKF_USE_SINKS);
         enable(p, VKF_USE_ALIBI_SLOPES);
     }},
    {"probabilities", [](VkfProblem& p, Data&) { enable(p, VKF_USE_PROBABILITIES); }},
    {"dropout, softcap",
     [](VkfProblem& p, Data&) {
         p.dropout.probability = 0.25F;
         p.softcap = 5.0F;
     }},
    {"key splits", [](VkfProblem& p, Data&) { p.kvSplits = 3; }},
    {"fp32 q and o",
     [](VkfProblem& p, Data&) {
         p.q.type = VKF_TYPE_F32;
         p.o.type = VKF_TYPE_F32;
     }},
    {"negative scale", [](VkfProblem& p, Data&) { p.scale = -0.1F; }},
};

// The features of one call. Whole sweeps take each alone. Other runs take each sixth together, which fit.
std::vector<std::vector<Feature>> featuresOfCalls() {
    std::vector<std::vector<Feature>> calls(vkf::test::wholeSweeps() ? features.size() : 6);
    for (size_t i = 0; i < features.size(); i++) {
        calls[i % calls.size()].push_back(features[i]);
    }
    return calls;
}

std::string addAll(const std::vector<Feature>& all, VkfProblem& problem, Data& data) {
    std::string names;
    for (const Feature& feature : all) {
        feature.add(problem, data);
        names.append(feature.name).append("; ");
    }
    return names;
}

} // namespace

TEST_CASE("each block type is converted once, aligned to words or not", "[dequantized_keys]") {
    constexpr std::array<std::array<uint32_t, 2>, 5> dims = {{{64, 64}, {96, 96}, {128, 64}, {32, 256}, {256, 160}}};
    for (size_t i = 0; i < blockTypes.size(); i++) {
        for (size_t d = 0; d < dims.size(); d++) {
            if (d != i % dims.size() && !vkf::test::wholeSweeps()) {
                continue;
            }
            const VkfType other = blockTypes[(i + d) % blockTypes.size()];
            check(d == 1 ? throughSharedMemory : inRegisters,
                  problemOf({1, 2, 1, 9, 77, dims[d][0], dims[d][1]}, blockTypes[i], other));
        }
    }
}

TEST_CASE("k and v with gaps are converted once", "[dequantized_keys]") {
    for (const bool rowsOutside : {false, true}) {
        for (const uint32_t dim : vkf::test::eachNth(std::vector{64U, 96U}, 2)) {
            VkfProblem problem = problemOf({2, 6, 3, 11, 131, dim, 64}, VKF_TYPE_Q8_0, VKF_TYPE_Q5_1);
            scatter(problem.k, 3, 131, dim, rowsOutside);
            scatter(problem.v, 3, 131, 64, !rowsOutside);
            check(inRegisters, problem);
        }
    }
}

TEST_CASE("calls with each feature convert k and v once", "[dequantized_keys]") {
    for (const std::vector<Feature>& together : vkf::test::eachNth(featuresOfCalls(), 2)) {
        Data data;
        VkfProblem problem = problemOf({3, 4, 2, 21, 150, 64, 96}, VKF_TYPE_Q4_0, VKF_TYPE_Q8_0);
        INFO(addAll(together, problem, data));
        check(inRegisters, problem, data);
    }
}

TEST_CASE("calls with each feature convert pages once", "[dequantized_keys]") {
    constexpr std::array<uint32_t, 4> pageSizes = {16, 1, 176, 3};
    size_t turn = 0;
    for (const std::vector<Feature>& together : vkf::test::eachNth(featuresOfCalls(), 2, 1)) {
        Data data;
        VkfProblem problem = problemOf({3, 4, 2, 21, 150, 96, 64}, VKF_TYPE_Q8_0, VKF_TYPE_Q4_1);
        vkf::test::setPages(problem, pageSizes[turn % pageSizes.size()], 3);
        INFO(addAll(together, problem, data));
        check(turn % 4 != 3 ? inRegisters : throughSharedMemory, problem, data);
        turn++;
    }
}

TEST_CASE("k and v are converted once under a block mask, for all heads", "[dequantized_keys]") {
    VkfProblem problem = problemOf({2, 4, 2, 100, 150, 64}, VKF_TYPE_Q8_0, VKF_TYPE_Q8_0);
    enable(problem, VKF_USE_BLOCK_MASK);
    problem.blockMask.blockSize = 32;
    check(inRegisters, problem);
}

TEST_CASE("a converted scale that is not finite reaches the rows that see its block, and no others",
          "[dequantized_keys]") {
    for (const double scale : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                               20000.0 /* elements past the largest fp16 */}) {
        VkfProblem problem = problemOf({1, 1, 1, 12, 40, 64}, VKF_TYPE_Q8_0, VKF_TYPE_Q8_0);
        problem.use |= VKF_USE_CAUSAL;
        problem.o.type = VKF_TYPE_F32;
        Data data;
        data.edit = [&](auto&, auto&, std::vector<std::byte>& v) {
            const uint64_t ofKey = vkfStoredBytes(VKF_TYPE_Q8_0, 33 * 64); // rows from 5 on see it
            vkfStoreElement(VKF_TYPE_F16, &v[ofKey], 0, scale);
        };
        check(inRegisters, problem, data);
    }
}

TEST_CASE("steps of any size convert k and v to the same bits", "[dequantized_keys]") {
    VkfProblem problem = problemOf({2, 4, 2, 40, 300, 64}, VKF_TYPE_Q8_0, VKF_TYPE_Q8_0);
    problem.maxScratchBytes = plenty;
    problem.use |= VKF_USE_CAUSAL;
    const Inputs inputs = vkf::test::makeInputs(problem, {});
    vkf::host::Device& device = vkf::test::deviceOf(inRegisters);
    const Outcome few = vkf::test::runCall(device, problem, inputs);
    problem.maxStepOperations = 1;
    const Outcome many = vkf::test::runCall(device, problem, inputs);
    CHECK(few.passed());
    CHECK(many.passed());
    CHECK(many.plan.stepCount >= few.plan.stepCount + 2 * 2 * 300 / 64); // one step for each workgroup
    CHECK(many.o == few.o);
    CHECK(many.lse == few.lse);
}

TEST_CASE("many packed rows convert k and v once without a limit of the caller", "[dequantized_keys]") {
    VkfProblem problem = problemOf({1, 8, 1, 128, 130, 64}, VKF_TYPE_Q8_0, VKF_TYPE_Q8_0);
    const Outcome once = vkf::test::runCall(vkf::test::deviceOf(inRegisters), problem, Data{});
    INFO(once.text());
    CHECK(once.passed());
    CHECK(once.plan.scratchBytes >= uint64_t{130} * 2 * 64 * 2);
    check(inRegisters, problem);
}
