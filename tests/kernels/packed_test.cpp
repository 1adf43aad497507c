// SPDX-License-Identifier: MIT
//
// Packed sequences: every kernel that supports them, with every optional input.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "planning/plan.hpp"
#include "shared/call_table.h"
#include "support/call.hpp"
#include "support/described_device.hpp"
#include "support/everywhere.hpp"
#include "support/lacking.hpp"
#include "support/masks.hpp"
#include "support/plans.hpp"
#include "support/reference.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::algorithms;
using vkf::test::broadcast;
using vkf::test::checkEverywhere;
using vkf::test::checkOn;
using vkf::test::Data;
using vkf::test::Inputs;
using vkf::test::problemOf;
using vkf::test::setPacked;
using vkf::test::setWindow;

using Lengths = std::vector<int32_t>;

// Empty sequences at both ends and in between, single rows, and sizes around those of tiles.
const Lengths manyRows = {0, 65, 1, 0, 130, 16, 7, 0};
const Lengths manyKeys = {3, 90, 1, 12, 131, 0, 40, 5};
const Lengths fewRows = {1, 0, 3, 2, 1};
const Lengths fewKeys = {100, 7, 0, 333, 65};

// Rows and heads in any order and with gaps.
void scatter(VkfProblem& p) {
    p.q.headStride = p.headDim + 8;
    p.q.rowStride = p.q.headStride * p.queryHeads + 8;
    p.k.headStride = p.headDim;
    p.k.rowStride = p.k.headStride * p.kvHeads;
    p.v.rowStride = p.valueDim + 16;
    p.v.headStride = p.v.rowStride * p.keys;
    p.o.headStride = p.valueDim;
    p.o.rowStride = p.o.headStride * p.queryHeads + 3;
    p.q.batchStride = p.k.batchStride = p.o.batchStride = 12345; // not used for packed sequences
}

VkfProblem packedProblem(Data& data, bool few, VkfType type, uint32_t heads = 4, uint32_t kvHeads = 2) {
    VkfProblem problem = problemOf({1, heads, kvHeads, 1, 1, 64, 48, type});
    setPacked(problem, data, few ? fewRows : manyRows, few ? fewKeys : manyKeys);
    return problem;
}

// Outside of whole sweeps, many rows of one type and few rows of the other.
template <typename Visit> void forEachKind(VkfType typeOfMany, const Visit& visit) {
    uint32_t seed = 1;
    for (const bool few : {false, true}) {
        for (const VkfType type : {VKF_TYPE_F16, VKF_TYPE_F32}) {
            if (few == (type == typeOfMany) && !vkf::test::wholeSweeps()) {
                continue;
            }
            Data data;
            data.seed = seed++;
            VkfProblem problem = packedProblem(data, few, type);
            visit(problem, data, few);
        }
    }
}

} // namespace

TEST_CASE("packed sequences of any lengths agree with the reference", "[packed]") {
    forEachKind(VKF_TYPE_F16, [](VkfProblem& problem, Data& data, bool few) {
        checkEverywhere(problem, data);
        scatter(problem);
        problem.longestRows = problem.longestKeys = few ? 0 : problem.longestRows;
        problem.longestKeys = few ? 0 : 131;
        problem.use |= VKF_USE_CAUSAL;
        data.oOffset = 3;
        checkEverywhere(problem, data);
        problem.alignment = VKF_ALIGNMENT_TOP_LEFT;
        vkf::enable(problem, VKF_USE_LSE, false);
        checkEverywhere(problem, data);
    });
}

TEST_CASE("windows, ALiBi and sinks of packed sequences count from the start of each sequence", "[packed]") {
    forEachKind(VKF_TYPE_F32, [](VkfProblem& problem, Data& data, bool) {
        problem.use |= VKF_USE_ALIBI;
        vkf::enable(problem, VKF_USE_SINKS);
        problem.softcap = 8.0F;
        setWindow(problem, 30, 4, 0);
        checkEverywhere(problem, data);
        setWindow(problem, 20, 0, 5);
        problem.kvSplits = 3;
        checkEverywhere(problem, data);
    });
}

TEST_CASE("bias, masks and documents of packed sequences count from the start of each sequence", "[packed]") {
    forEachKind(VKF_TYPE_F16, [](VkfProblem& problem, Data& data, bool few) {
        problem.bias = broadcast(problem, few ? VKF_TYPE_F16 : VKF_TYPE_F32, true, true, true, 3);
        vkf::enable(problem, VKF_USE_BIAS);
        problem.mask = broadcast(problem, few ? VKF_TYPE_BOOL8 : VKF_TYPE_BOOL1, true, true, true, 3);
        vkf::enable(problem, VKF_USE_MASK);
        checkEverywhere(problem, data);
        vkf::enable(problem, VKF_USE_DOCUMENT_IDS);
        problem.use |= VKF_USE_CAUSAL;
        problem.kvSplits = 2;
        checkEverywhere(problem, data);
    });
}

TEST_CASE("the keys of packed sequences are split and shortened", "[packed]") {
    forEachKind(VKF_TYPE_F32, [](VkfProblem& problem, Data& data, bool few) {
        vkf::enable(problem, VKF_USE_CAUSAL, !few);
        vkf::enable(problem, VKF_USE_KEY_LENGTHS);
        data.keyLengths = few ? Lengths{33, 7, 4, -1, 1000} : Lengths{3, 70, 0, 12, 9999, -5, 40, 1};
        for (const uint32_t splits : vkf::test::eachNth(std::vector{1U, 2U, 7U}, 2)) {
            problem.kvSplits = splits;
            checkEverywhere(problem, data);
        }
    });
}

TEST_CASE("packed queries read pages and blocks", "[packed]") {
    uint32_t seed = 30;
    for (const bool few : {false, true}) {
        for (const VkfType type : {VKF_TYPE_F16, VKF_TYPE_Q8_0, VKF_TYPE_Q4_1}) {
            if (few == (type == VKF_TYPE_Q4_1) && !vkf::test::wholeSweeps()) {
                continue;
            }
            Data data;
            data.seed = seed++;
            VkfProblem problem = problemOf({1, 4, 2, 1, 150, 64, 0, VKF_TYPE_F16});
            problem.k.type = problem.v.type = type;
            const Lengths& rows = few ? fewRows : manyRows;
            problem.batch = static_cast<uint32_t>(rows.size());
            vkf::test::setPages(problem, 16, 3);
            setPacked(problem, data, rows, {});
            vkf::enable(problem, VKF_USE_KEY_LENGTHS);
            vkf::enable(problem, VKF_USE_DOCUMENT_IDS, few);
            problem.use |= VKF_USE_CAUSAL;
            data.keyLengths = few ? Lengths{150, 3, 77, 0, 16} : Lengths{150, 3, 77, 0, 130, 16, 9, 20};
            const Inputs inputs = vkf::test::makeInputs(problem, data);
            for (const uint32_t variation : vkf::test::inTurn({0U, 2U, 4U, 5U, 6U, 7U, 8U}, problem)) {
                if (type == VKF_TYPE_F16 || (variation != 4 && variation != 5)) {
                    checkOn(vkf::test::variations[variation], problem, inputs);
                }
            }
        }
    }
    for (const VkfType type : {VKF_TYPE_Q8_0, VKF_TYPE_Q5_0}) {
        Data data;
        VkfProblem problem = problemOf({1, 4, 2, 1, 1, 64, 0, VKF_TYPE_F16});
        problem.k.type = problem.v.type = type;
        setPacked(problem, data, fewRows, fewKeys);
        checkEverywhere(problem, data);
    }
}

TEST_CASE("heads too wide for other kernels take packed sequences too", "[packed]") {
    Data data;
    VkfProblem problem = problemOf({1, 16, 1, 1, 1, 576, 512, VKF_TYPE_F16});
    setPacked(problem, data, {2, 0, 1, 1}, {70, 5, 0, 133});
    Inputs inputs = vkf::test::makeInputs(problem, data);
    checkOn(vkf::test::variations[6], problem, inputs);
    problem.use |= VKF_USE_CAUSAL;
    problem.kvSplits = 2;
    vkf::enable(problem, VKF_USE_SINKS);
    problem.v.headStride = problem.k.headStride = uint64_t{problem.keys} * 576;
    problem.v.rowStride = problem.k.rowStride = 576;
    inputs = vkf::test::makeInputs(problem, data);
    inputs.viewV();
    checkOn(vkf::test::variations[6], problem, inputs);
}

TEST_CASE("wrong lengths of packed sequences access nothing outside of the tensors", "[packed]") {
    constexpr int32_t least = std::numeric_limits<int32_t>::min();
    constexpr int32_t most = std::numeric_limits<int32_t>::max();
    const std::array<Lengths, 4> nonsense = {Lengths{-7, most, 5, least, 90, 80},
                                             Lengths{most, most, most, most, most, most},
                                             Lengths{least, -1, -1, most, 3, 1000}, Lengths{50, 40, 30, 20, 10, 5}};
    for (const VkfType type : {VKF_TYPE_F16, VKF_TYPE_F32}) {
        Data data;
        VkfProblem problem = problemOf({1, 4, 2, 1, 1, 64, 48, type});
        setPacked(problem, data, {30, 20, 0, 40, 3}, {50, 0, 60, 9, 70});
        scatter(problem);
        problem.use |= VKF_USE_CAUSAL;
        vkf::enable(problem, VKF_USE_DOCUMENT_IDS);
        problem.bias = broadcast(problem, VKF_TYPE_F32, true, true, true, 3);
        vkf::enable(problem, VKF_USE_BIAS);
        problem = vkf::test::fitted(vkf::test::testDevice(), problem);
        Inputs inputs = vkf::test::makeInputs(problem, data);
        for (const Lengths& q : nonsense) {
            for (const Lengths& k : nonsense) {
                inputs.cuSeqlensQ = q;
                inputs.cuSeqlensK = k;
                for (const uint32_t variation : vkf::test::inTurn({0U, 4U, 6U, 8U}, problem)) {
                    VkfProblem one = problem;
                    if (!takes(vkf::test::variations[variation], one)) {
                        continue;
                    }
                    apply(vkf::test::variations[variation], one);
                    one.kvSplits = k == nonsense[0] ? 3 : 1;
                    vkf::host::Device& device = deviceOf(vkf::test::variations[variation]);
                    const auto possible = vkf::test::fittedToInputs(device, one);
                    REQUIRE(possible.has_value());
                    const auto outcome = vkf::test::runUnjudged(device, *possible, inputs, 0);
                    INFO(vkf::test::variations[variation].name << ": " << outcome.text());
                    CHECK(outcome.guardsIntact);
                    CHECK(outcome.gapsIntact);
                }
            }
        }
    }
}

TEST_CASE("rows that belong to no packed sequence change nothing for the others", "[packed]") {
    Data data;
    VkfProblem problem = problemOf({1, 2, 1, 1, 1, 32, 0, VKF_TYPE_F16});
    setPacked(problem, data, {20, 30, 25}, {20, 30, 25});
    data.poisonInvisibleKeys = false;
    Inputs inputs = vkf::test::makeInputs(problem, data);
    for (const uint32_t variation : vkf::test::inTurn({0U, 4U, 6U, 7U})) {
        VkfProblem one = problem;
        apply(vkf::test::variations[variation], one);
        auto& device = deviceOf(vkf::test::variations[variation]);
        one.longestRows = one.longestKeys = 30;
        inputs.cuSeqlensQ = inputs.cuSeqlensK = {0, 20, 50, 75};
        const auto all = vkf::test::runUnjudged(device, one, inputs, 0);
        one.batch = 1;
        inputs.cuSeqlensQ = inputs.cuSeqlensK = {20, 50};
        const auto middle = vkf::test::runUnjudged(device, one, inputs, 0);
        for (size_t head = 0; head < 2; head++) {
            for (size_t row = 20; row < 50; row++) {
                CHECK(all.lse[head * 75 + row] == middle.lse[head * 75 + row]);
                const size_t first = (head * 75 + row) * 32 * 2;
                CHECK(std::memcmp(&all.o[first], &middle.o[first], size_t{32} * 2) == 0);
            }
        }
    }
}

TEST_CASE("a packed sequence is computed as a call of its own by every reference algorithm", "[reference]") {
    Data data;
    VkfProblem problem = problemOf({1, 4, 2, 1, 1, 16, 24, VKF_TYPE_F32});
    setPacked(problem, data, {5, 0, 12, 1}, {9, 4, 7, 0});
    problem.use |= VKF_USE_CAUSAL;
    problem.use |= VKF_USE_ALIBI;
    vkf::enable(problem, VKF_USE_SINKS);
    vkf::enable(problem, VKF_USE_DOCUMENT_IDS);
    problem.bias = broadcast(problem, VKF_TYPE_F32, true, true, true, 3);
    vkf::enable(problem, VKF_USE_BIAS);
    const Inputs inputs = vkf::test::makeInputs(problem, data);
    const auto tail = [](const std::vector<std::byte>& all, size_t bytes) {
        return std::vector<std::byte>(all.begin() + static_cast<std::ptrdiff_t>(bytes), all.end());
    };
    for (const VkfReferenceAlgorithm algorithm : algorithms) {
        const auto options = vkf::test::referenceOptions(algorithm, 8, 8);
        const auto together = vkf::test::reference(problem, inputs, options);
        for (size_t b = 0; b < problem.batch; b++) {
            const auto firstRow = static_cast<size_t>(inputs.cuSeqlensQ[b]);
            const auto firstKey = static_cast<size_t>(inputs.cuSeqlensK[b]);
            VkfProblem own = problem;
            vkf::enable(own, VKF_USE_CU_SEQLENS, false);
            own.longestRows = own.longestKeys = 0;
            own.batch = 1;
            own.queryRows = static_cast<uint32_t>(inputs.cuSeqlensQ[b + 1] - inputs.cuSeqlensQ[b]);
            own.keys = static_cast<uint32_t>(inputs.cuSeqlensK[b + 1] - inputs.cuSeqlensK[b]);
            own.q = {VKF_TYPE_F32, 0, 0, uint64_t{problem.queryRows} * 16, 16};
            own.k = {VKF_TYPE_F32, 0, 0, uint64_t{problem.keys} * 16, 16};
            own.v = {VKF_TYPE_F32, 0, 0, uint64_t{problem.keys} * 24, 24};
            Inputs ofOwn = inputs;
            ofOwn.q = tail(inputs.q, firstRow * 16 * sizeof(float));
            ofOwn.k = tail(inputs.k, firstKey * 16 * sizeof(float));
            ofOwn.v = tail(inputs.v, firstKey * 24 * sizeof(float));
            ofOwn.bias = tail(inputs.bias, b * problem.bias.batchStride * sizeof(float));
            ofOwn.documentIds.erase(ofOwn.documentIds.begin(),
                                    ofOwn.documentIds.begin() + static_cast<std::ptrdiff_t>(firstKey));
            const auto alone = vkf::test::reference(own, ofOwn, options);
            for (size_t head = 0; head < problem.queryHeads; head++) {
                for (size_t row = 0; row < own.queryRows; row++) {
                    const size_t here = head * problem.queryRows + firstRow + row;
                    const size_t there = head * own.queryRows + row;
                    CHECK(together.lse[here] == alone.lse[there]);
                    for (size_t column = 0; column < 24; column++) {
                        CHECK(together.o[here * 24 + column] == alone.o[there * 24 + column]);
                    }
                }
            }
        }
    }
}

TEST_CASE("packed sequences follow the matrix in the header", "[reference]") {
    Data data;
    VkfProblem problem = problemOf({1, 1, 1, 1, 1, 1, 0, VKF_TYPE_F32});
    setPacked(problem, data, {2, 0, 3}, {3, 2, 4});
    problem.use |= VKF_USE_CAUSAL;
    Inputs inputs = vkf::test::makeInputs(problem, data);
    std::memset(inputs.k.data(), 0, inputs.k.size()); // scores are 0 and v is 2^key
    for (uint64_t key = 0; key < problem.keys; key++) {
        vkfStoreElement(VKF_TYPE_F32, inputs.v.data(), key, std::exp2(static_cast<double>(key)));
    }
    const std::array<std::string, 5> seen = {"110......", "111......", ".....1100", ".....1110", ".....1111"};
    for (const VkfReferenceAlgorithm algorithm : algorithms) {
        const auto result = vkf::test::reference(problem, inputs, vkf::test::referenceOptions(algorithm));
        for (size_t row = 0; row < seen.size(); row++) {
            const auto bits = static_cast<uint64_t>(std::llround(result.o[row] * std::exp(result.lse[row])));
            uint64_t expected = 0;
            for (size_t key = 0; key < seen[row].size(); key++) {
                expected |= seen[row][key] == '1' ? uint64_t{1} << key : 0;
            }
            CHECK(bits == expected);
        }
    }
}

TEST_CASE("a sample of the rows of packed sequences gets the verdict of all rows", "[reference]") {
    Data data;
    VkfProblem problem = problemOf({1, 2, 1, 1, 1, 16, 0, VKF_TYPE_F32});
    setPacked(problem, data, {5, 0, 12, 1, 9}, {9, 4, 7, 0, 30});
    const Inputs inputs = vkf::test::makeInputs(problem, data);
    auto options = vkf::test::referenceOptions(VKF_REFERENCE_DIRECT);
    const auto all = vkf::test::reference(problem, inputs, options);
    options.rowBegin = 3;
    options.rowStride = 4;
    const auto some = vkf::test::reference(problem, inputs, options);
    for (size_t head = 0; head < 2; head++) {
        for (size_t row = 3; row < 27; row += 4) {
            CHECK(some.lse[head * 27 + row] == all.lse[head * 27 + row]);
            CHECK(some.o[(head * 27 + row) * 16] == all.o[(head * 27 + row) * 16]);
        }
    }
}

TEST_CASE("lengths of packed sequences on the host are checked", "[problem]") {
    Data data;
    VkfProblem problem = problemOf({1, 2, 1, 1, 1, 16, 0, VKF_TYPE_F32});
    setPacked(problem, data, {5, 0, 7}, {9, 4, 7});
    const auto messageOf = [&](const Lengths& q, const Lengths& k) {
        VkfMessage message{};
        const VkfResult result =
            vkfCheckSequences(&problem, q.empty() ? nullptr : q.data(), k.empty() ? nullptr : k.data(), &message);
        return result == VKF_SUCCESS ? std::string() : std::string(message.text);
    };
    const Lengths q = {0, 5, 5, 12};
    const Lengths k = {0, 9, 13, 20};
    CHECK(messageOf(q, k).empty());
    CHECK(messageOf({}, k) == "cuSeqlensQ is null");
    CHECK(messageOf(q, {}) == "cuSeqlensK is null");
    CHECK(messageOf({1, 5, 5, 12}, k) == "cuSeqlensQ[0] is 1; it must be 0");
    CHECK(messageOf({0, 5, 4, 12}, k) == "cuSeqlensQ[2] is 4; it must be 0 to 7 more than the entry before it, 5");
    CHECK(messageOf(q, {0, 10, 13, 20}) == "cuSeqlensK[1] is 10; it must be 0 to 9 more than the entry before it, 0");
    CHECK(messageOf(q, {0, 9, 13, 19}) == "cuSeqlensK[3], the last, is 19; it must be 20");
    vkf::enable(problem, VKF_USE_CU_SEQLENS, false);
    problem.longestRows = problem.longestKeys = 0;
    CHECK(messageOf({}, {}).empty());
}

TEST_CASE("tile numbers are enough for packed sequences, and at most one of each is idle", "[planning]") {
    std::mt19937 random(5);
    for (const uint32_t packedHeads : {1U, 4U, 7U}) {
        for (const uint32_t tileRows : {8U, 16U, 128U}) {
            uint32_t row = 0;
            for (uint32_t b = 0; b < 500; b++) {
                const auto rows = static_cast<uint32_t>(random() % 3 == 0 ? 0 : random() % 300);
                const uint32_t slots = VKF_FIRST_SEQUENCE_TILE(row + rows, packedHeads, tileRows, b + 1) -
                                       VKF_FIRST_SEQUENCE_TILE(row, packedHeads, tileRows, b);
                const uint32_t tiles = (rows * packedHeads + tileRows - 1) / tileRows;
                CHECK(slots >= tiles);
                CHECK(slots <= tiles + 1);
                row += rows;
            }
        }
    }
}

TEST_CASE("tiles and splits of packed sequences are those of the longest, or of the mean", "[planning]") {
    const vkf::Caps caps = vkf::test::matrixCaps();
    VkfProblem problem = problemOf({64, 8, 2, 64 * 2048, 64 * 2048, 128, 0, VKF_TYPE_F16});
    vkf::enable(problem, VKF_USE_CU_SEQLENS);
    const vkf::AttentionPlan mean = vkf::test::planOf(caps, problem);
    VkfProblem equal = problemOf({64, 8, 2, 2048, 2048, 128, 0, VKF_TYPE_F16});
    const vkf::AttentionPlan unpacked = vkf::test::planOf(caps, equal);
    CHECK(mean.path == VKF_PATH_COOPMAT);
    CHECK(mean.tileText == unpacked.tileText);
    REQUIRE(mean.phases.size() == unpacked.phases.size() + 2);
    CHECK(mean.phases[0].variant.kernel == vkf::Kernel::writeTable);
    CHECK(mean.phases[1].variant.kernel == vkf::Kernel::listSequences);
    CHECK(mean.phases[1].steps() == 1);
    const uint32_t packedHeads = unpacked.phases[0].variant.constants[VKF_ID_PACKED_HEADS];
    CHECK(mean.tileSequences.count == 64 * 2048 * packedHeads / mean.tile.rows + 64);
    CHECK(mean.phases[2].items == mean.tileSequences.count * (8 / packedHeads));

    // One row for each sequence: decoding.
    problem.queryRows = 64;
    problem.longestRows = 1;
    CHECK(vkf::test::planOf(caps, problem).path == VKF_PATH_DECODE);
    // One long sequence among short ones keeps its splits.
    problem = problemOf({8, 2, 1, 16 + 7, 65536 + 70, 128, 0, VKF_TYPE_F16});
    vkf::enable(problem, VKF_USE_CU_SEQLENS);
    problem.longestRows = 16;
    problem.longestKeys = 65536;
    CHECK(vkf::test::planOf(caps, problem).splits > 1);
}
