// SPDX-License-Identifier: MIT
//
// Every kernel against the fp64 reference over a table of named cases.
#include <catch2/catch_test_macros.hpp>

#include <iterator>
#include <string>
#include <vector>

#include "support/call.hpp"
#include "support/lacking.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::Data;
using vkf::test::eachNth;
using vkf::test::problemOf;

struct Case {
    const char* name;
    VkfProblem problem;
    Data data{};
};

VkfProblem with(VkfProblem problem, void (*change)(VkfProblem&)) {
    change(problem);
    return problem;
}

void causal(VkfProblem& p) { p.use |= VKF_USE_CAUSAL; }
void causalTopLeft(VkfProblem& p) {
    p.use |= VKF_USE_CAUSAL;
    p.alignment = VKF_ALIGNMENT_TOP_LEFT;
}
void window(VkfProblem& p, int64_t left, int64_t right) {
    p.use |= VKF_USE_WINDOW;
    p.window.left = left;
    p.window.right = right;
}
void lengths(VkfProblem& p) { vkf::enable(p, VKF_USE_KEY_LENGTHS); }

// [batch, rows, heads, dim] with a gap after each row of heads.
void rowsFirst(VkfTensor& tensor, uint64_t rows, uint64_t heads, uint64_t dim, uint64_t gap) {
    tensor.headStride = dim + gap;
    tensor.rowStride = heads * (dim + gap) + gap;
    tensor.batchStride = rows * tensor.rowStride + gap;
}

std::vector<Case> casesOf(VkfType type) {
    std::vector<Case> list;
    for (const uint32_t dim : {1U, 8U, 40U, 64U, 72U, 80U, 96U, 128U, 160U, 192U, 256U}) {
        list.push_back({"head dimensions", problemOf({1, 2, 1, 33, 70, dim, 0, type})});
    }
    list.push_back({"one query row", problemOf({2, 4, 2, 1, 97, 64, 0, type})});
    list.push_back({"one key", problemOf({1, 2, 2, 7, 1, 64, 0, type})});
    list.push_back({"one of everything", problemOf({1, 1, 1, 1, 1, 1, 0, type})});
    list.push_back({"D over Dv", problemOf({1, 2, 1, 40, 50, 96, 33, type})});
    list.push_back({"D under Dv", problemOf({1, 2, 1, 40, 50, 7, 130, type})});
    list.push_back({"GQA", problemOf({2, 6, 2, 20, 65, 32, 0, type})});
    list.push_back({"MQA", problemOf({2, 5, 1, 20, 65, 32, 0, type})});
    list.push_back({"113 x 203", problemOf({1, 2, 1, 113, 203, 64, 0, type})});
    list.push_back({"causal", with(problemOf({1, 2, 1, 130, 130, 64, 0, type}), causal)});
    list.push_back({"causal, more keys than rows", with(problemOf({1, 2, 1, 97, 203, 40, 0, type}), causal)});
    list.push_back({"causal, more rows than keys", with(problemOf({1, 2, 1, 203, 97, 40, 0, type}), causal)});
    list.push_back({"causal top-left", with(problemOf({1, 2, 1, 97, 203, 40, 0, type}), causalTopLeft)});
    list.push_back(
        {"causal top-left, more rows than keys", with(problemOf({1, 2, 1, 203, 97, 40, 0, type}), causalTopLeft)});
    list.push_back({"a window to the left",
                    with(problemOf({1, 2, 1, 150, 150, 40, 0, type}), [](VkfProblem& p) { window(p, 17, 0); })});
    list.push_back({"a window to both sides",
                    with(problemOf({1, 2, 1, 120, 150, 40, 0, type}), [](VkfProblem& p) { window(p, 5, 70); })});
    list.push_back({"a window without a left end",
                    with(problemOf({1, 2, 1, 120, 150, 40, 0, type}), [](VkfProblem& p) { window(p, -1, 3); })});
    list.push_back({"a window that only the diagonal passes",
                    with(problemOf({1, 1, 1, 70, 70, 40, 0, type}), [](VkfProblem& p) { window(p, 0, 0); })});
    list.push_back({"a window far wider than the keys", with(problemOf({1, 1, 1, 70, 70, 40, 0, type}),
                                                             [](VkfProblem& p) { window(p, INT64_MAX, INT64_MAX); })});
    list.push_back({"key lengths", with(problemOf({5, 2, 1, 33, 80, 40, 0, type}), lengths),
                    Data{.keyLengths = {80, 0, 1, -7, 1000}}});
    list.push_back({"key lengths and causal",
                    with(problemOf({5, 2, 1, 33, 80, 40, 0, type}),
                         [](VkfProblem& p) {
                             causal(p);
                             lengths(p);
                         }),
                    Data{.keyLengths = {80, 0, 33, 20, 64}}});
    list.push_back({"softcap", with(problemOf({1, 2, 1, 64, 90, 64, 0, type}), [](VkfProblem& p) { p.softcap = 5; }),
                    Data{.magnitude = 2.0}});
    list.push_back(
        {"a small softcap", with(problemOf({1, 2, 1, 64, 90, 64, 0, type}), [](VkfProblem& p) { p.softcap = 0.25F; })});
    list.push_back(
        {"a negative scale", with(problemOf({1, 2, 1, 64, 90, 64, 0, type}), [](VkfProblem& p) { p.scale = -0.3F; })});
    list.push_back({"no keys", problemOf({2, 2, 1, 9, 0, 16, 0, type})});
    list.push_back({"no lse", with(problemOf({1, 2, 1, 33, 70, 64, 0, type}),
                                   [](VkfProblem& p) { vkf::enable(p, VKF_USE_LSE, false); })});
    list.push_back({"rows first, with gaps", with(problemOf({2, 4, 2, 33, 45, 40, 24, type}), [](VkfProblem& p) {
                        rowsFirst(p.q, 33, 4, 40, 3);
                        rowsFirst(p.k, 45, 2, 40, 8);
                        rowsFirst(p.v, 45, 2, 24, 5);
                        rowsFirst(p.o, 33, 4, 24, 7);
                    })});
    list.push_back(
        {"an o that starts at an odd element", problemOf({1, 2, 1, 33, 45, 64, 0, type}), Data{.oOffset = 1}});
    list.push_back({"K and V shared by the batch", with(problemOf({3, 2, 2, 33, 45, 16, 0, type}), [](VkfProblem& p) {
                        p.k.headStride = p.v.headStride = 45 * 16;
                        p.k.rowStride = p.v.rowStride = 16;
                    })});
    return list;
}

void addCasesOfTheirOwnType(std::vector<Case>& list) {
    list.push_back({"1025 rows", problemOf({1, 1, 1, 1025, 1025, 64, 0, VKF_TYPE_F16})});
    list.push_back({"types of their own", with(problemOf({1, 2, 1, 50, 60, 48}), [](VkfProblem& p) {
                        p.q.type = VKF_TYPE_F32;
                        p.k.type = VKF_TYPE_F16;
                        p.v.type = VKF_TYPE_BF16;
                        p.o.type = VKF_TYPE_F16;
                    })});
    // Enough workgroups for the tile with the most rows. Its last row tile is partial.
    list.push_back({"wide heads, many workgroups", problemOf({2, 64, 4, 100, 70, 40, 132})});
    list.push_back({"128 heads in 3 sequences", problemOf({3, 128, 4, 3, 17, 8})});
}

constexpr VkfType types[] = {VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_BF16};

std::vector<Case> casesOfEveryType() {
    std::vector<Case> list;
    for (const VkfType type : types) {
        const std::vector<Case> more = casesOf(type);
        list.insert(list.end(), more.begin(), more.end());
    }
    addCasesOfTheirOwnType(list);
    return list;
}

// Key splits. Some of them get no keys.
void addSplits(std::vector<Case>& list, VkfType type) {
    for (const uint32_t splits : {2U, 3U, 40U}) {
        list.push_back({"split keys",
                        with(problemOf({2, 4, 2, 70, 203, 72, 33, type}),
                             [](VkfProblem& p) {
                                 causal(p);
                                 lengths(p);
                             }),
                        Data{.keyLengths = {203, 60}}});
        list.back().problem.kvSplits = splits;
    }
}

// Tiles of more than one subgroup need many heads. The last tiles of rows, keys and columns are not full.
void addLargeTiles(std::vector<Case>& list, VkfType type) {
    for (const uint32_t dim : {40U, 64U, 96U, 128U, 160U, 256U}) {
        list.push_back({"large tiles", problemOf({2, 64, 4, 70, 100, dim, 0, type})});
        list.push_back({"large tiles, causal", with(problemOf({2, 64, 4, 70, 100, dim, 0, type}), causal)});
    }
    addSplits(list, type);
    list.push_back({"large tiles, o in fp32", with(problemOf({1, 130, 1, 140, 90, 72, 0, type}), [](VkfProblem& p) {
                        p.o.type = VKF_TYPE_F32;
                        window(p, 20, 30);
                    })});
}

std::vector<Case> casesOfMatrices(const vkf::test::Variation& variation) {
    std::vector<Case> list;
    for (const VkfType type : {VKF_TYPE_F16, VKF_TYPE_BF16}) {
        if (vkf::test::takes(variation, problemOf({1, 1, 1, 1, 1, 1, 0, type}))) {
            const std::vector<Case> more = casesOf(type);
            list.insert(list.end(), more.begin(), more.end());
            addLargeTiles(list, type);
        }
    }
    return list;
}

// All numbers of packed heads, masks between few rows, short sequences with long ones, and splits without keys.
std::vector<Case> casesOfDecode(VkfType type) {
    std::vector<Case> list;
    for (const uint32_t group : {1U, 4U, 5U, 7U, 8U, 16U, 40U}) {
        list.push_back({"packed heads", problemOf({2, 2 * group, 2, 1, 130, 64, 0, type})});
        list.push_back({"packed heads, causal", with(problemOf({1, group, 1, 3, 70, 40, 0, type}), causal)});
    }
    for (const uint32_t rows : {1U, 2U, 4U, 16U}) {
        list.push_back({"few rows, causal", with(problemOf({1, 8, 2, rows, 333, 128, 0, type}), causal)});
        list.push_back({"few rows, causal top-left", with(problemOf({1, 8, 2, rows, 20, 72, 0, type}), causalTopLeft)});
        list.push_back({"few rows, a window",
                        with(problemOf({1, 8, 2, rows, 333, 64, 0, type}), [](VkfProblem& p) { window(p, 40, 2); })});
    }
    for (const uint32_t splits : {1U, 2U, 7U, 300U}) {
        list.push_back({"lengths and splits",
                        with(problemOf({6, 4, 1, 2, 600, 64, 48, type}),
                             [](VkfProblem& p) {
                                 causal(p);
                                 lengths(p);
                             }),
                        Data{.keyLengths = {600, 0, 1, 2, 65, 300}}});
        list.back().problem.kvSplits = splits;
    }
    list.push_back({"rows of no whole words", problemOf({1, 4, 2, 2, 97, 33, 7, type})});
    list.push_back({"one key in many splits", problemOf({1, 4, 2, 2, 1, 64, 0, type})});
    list.back().problem.kvSplits = 5;
    return list;
}

// Every case with one of the types, in turn. For variations that do not depend on types. A driver that compiles for a
// CPU takes most of a second for each kernel.
std::vector<Case> casesOfOneType() {
    const std::vector<Case> ofEach[] = {casesOf(types[0]), casesOf(types[1]), casesOf(types[2])};
    std::vector<Case> list;
    for (size_t i = 0; i < ofEach[0].size(); i++) {
        list.push_back(ofEach[i % std::size(ofEach)][i]);
    }
    addCasesOfTheirOwnType(list);
    return list;
}

// Problems that path scalar splits, with rows that see no key and windows that begin and end within tiles.
std::vector<Case> casesOfSplits(VkfType type) {
    std::vector<Case> list;
    addSplits(list, type);
    list.push_back({"split keys, no mask", problemOf({1, 2, 1, 33, 203, 256, 0, type})});
    list.back().problem.kvSplits = 3;
    list.push_back({"split keys, no lse", with(problemOf({1, 2, 1, 33, 300, 64, 0, type}), [](VkfProblem& p) {
                        vkf::enable(p, VKF_USE_LSE, false);
                        window(p, 100, 20);
                    })});
    list.back().problem.kvSplits = 5;
    list.push_back({"split keys of rows that see none", with(problemOf({1, 2, 1, 203, 97, 40, 0, type}), causal)});
    list.back().problem.kvSplits = 4;
    list.push_back({"one key in many splits", problemOf({1, 2, 1, 7, 1, 64, 0, type})});
    list.back().problem.kvSplits = 5;
    list.push_back({"splits that the library chooses", problemOf({1, 1, 1, 70, 600, 128, 0, type})});
    return list;
}

void runAll(const vkf::test::Variation& variation, const std::vector<Case>& list) {
    vkf::host::Device& device = vkf::test::deviceOf(variation);
    for (Case c : list) {
        if (vkf::test::leavesOut(device, variation.path)) {
            continue;
        }
        apply(variation, c.problem);
        // If several sections had one name, only the first would run.
        DYNAMIC_SECTION(variation.name << ", " << c.name << ": " << vkf::test::describe(c.problem)) {
            const vkf::test::Outcome outcome = vkf::test::runCall(device, c.problem, c.data);
            INFO(outcome.text());
            CHECK(outcome.passed());
        }
    }
}

} // namespace

TEST_CASE("the scalar path agrees with the reference", "[attention]") {
    runAll(vkf::test::variations[0], vkf::test::wholeSweeps() ? casesOfEveryType() : eachNth(casesOfOneType(), 4, 0));
}

TEST_CASE("the scalar path agrees with the reference without subgroup shuffles", "[attention]") {
    runAll(vkf::test::variations[1], eachNth(casesOfOneType(), 8, 1));
}

TEST_CASE("the scalar path agrees with the reference in 16 KiB of shared memory", "[attention]") {
    runAll(vkf::test::variations[2], eachNth(casesOfOneType(), 8, 2));
}

TEST_CASE("the scalar path agrees with the reference where keys are split", "[attention]") {
    for (const size_t variation : {0U, 1U, 2U}) {
        runAll(vkf::test::variations[variation], eachNth(casesOfSplits(types[variation]), 4, variation));
    }
}

TEST_CASE("the unfused baseline agrees with the reference", "[attention]") {
    runAll(vkf::test::variations[3], eachNth(casesOfOneType(), 6, 3));
}

TEST_CASE("the loop order of the first version agrees with the reference", "[attention]") {
    runAll(vkf::test::variations[9], eachNth(casesOfOneType(), 6, 5));
}

TEST_CASE("the cooperative-matrix path agrees with the reference", "[attention_coopmat]") {
    const vkf::test::Variation& coopmat = vkf::test::variations[4];
    runAll(coopmat, eachNth(casesOfMatrices(coopmat), 7, 0));
}

TEST_CASE("the cooperative-matrix path agrees with the reference through shared memory", "[attention_via_shared]") {
    const vkf::test::Variation& exchange = vkf::test::variations[5];
    runAll(exchange, eachNth(casesOfMatrices(exchange), 23, 1));
}

TEST_CASE("the decode path agrees with the reference", "[attention_decode]") {
    const vkf::test::Variation& decode = vkf::test::variations[6];
    runAll(decode, vkf::test::wholeSweeps() ? casesOfEveryType() : eachNth(casesOfOneType(), 5, 4));
    for (size_t i = 0; i < std::size(types); i++) {
        runAll(decode, eachNth(casesOfDecode(types[i]), 8, i));
    }
}

TEST_CASE("the decode path agrees with the reference in plain arithmetic", "[attention_decode_plain]") {
    for (const size_t variation : {7U, 8U}) {
        runAll(vkf::test::variations[variation], eachNth(casesOfOneType(), 8, variation - 3));
        runAll(vkf::test::variations[variation], eachNth(casesOfDecode(types[variation - 6]), 7, variation - 6));
    }
}
