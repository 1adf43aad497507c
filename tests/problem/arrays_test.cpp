// SPDX-License-Identifier: MIT
//
// The table of optional inputs: the size of each input, and whether it uses the extra slot of the push constants.
#include <catch2/catch_test_macros.hpp>

#include <set>
#include <string>

#include "problem/arrays.hpp"
#include "shared/constant_ids.h"
#include "support/call.hpp"

namespace {

using vkf::PassedIn;

uint64_t bytesOf(VkfArray array, const VkfProblem& problem) { return vkfGetArrayBytes(&problem, array); }

VkfProblem smallProblem() { return vkf::test::problemOf({2, 6, 3, 10, 33, 64}); }

} // namespace

TEST_CASE("a row of the table of inputs has a name and a place of its own", "[problem]") {
    std::set<std::string> names;
    for (const vkf::ArrayRow& row : vkf::arrayTable) {
        INFO(row.name);
        CHECK(names.insert(row.name).second);
        const bool inTable = row.passedIn == PassedIn::extraSlot || row.passedIn == PassedIn::callTable;
        CHECK((row.field != nullptr) == inTable);
        CHECK((row.strides != nullptr) == (row.broadcast != nullptr));
    }
}

TEST_CASE("the lists of the public header have the rows of the table, with their names", "[problem]") {
    size_t listed = 0;
    const auto check = [&](VkfArray array, const char* member, bool output) {
        INFO(member);
        const auto row = static_cast<size_t>(array);
        REQUIRE(row < vkf::arrayCount);
        CHECK(std::string(vkf::arrayTable[row].name) == member);
        CHECK(vkf::arrayTable[row].output == output);
        listed++;
    };
#define VKF_CHECK_INPUT(NAME, member) check(VKF_ARRAY_##NAME, #member, false);
#define VKF_CHECK_OUTPUT(NAME, member) check(VKF_ARRAY_##NAME, #member, true);
    VKF_FOR_EACH_OPTIONAL_INPUT(VKF_CHECK_INPUT)
    VKF_FOR_EACH_OPTIONAL_OUTPUT(VKF_CHECK_OUTPUT)
#undef VKF_CHECK_INPUT
#undef VKF_CHECK_OUTPUT
    CHECK(listed == vkf::arrayTable.size());
}

TEST_CASE("an input has the size that the problem asks for, and none without it", "[problem]") {
    VkfProblem problem = smallProblem();
    vkf::enable(problem, VKF_USE_LSE, false);
    for (const vkf::ArrayRow& row : vkf::arrayTable) {
        INFO(row.name);
        CHECK(vkf::bytesOf(row, problem) == 0);
    }
    problem.use |= VKF_USE_ALIBI;
    vkf::enable(problem,
                VKF_USE_LSE | VKF_USE_PROBABILITIES | VKF_USE_KEY_LENGTHS | VKF_USE_SINKS | VKF_USE_ALIBI_SLOPES);
    vkf::enable(problem, VKF_USE_DOCUMENT_IDS);
    problem.bias = {VKF_TYPE_F16, 0, 0, 400, 35};
    vkf::enable(problem, VKF_USE_BIAS);
    problem.probabilityRowCount = 4;
    vkf::enable(problem, VKF_USE_PROBABILITY_ROWS);
    problem.blockMask.blockSize = 16;
    vkf::enable(problem, VKF_USE_BLOCK_MASK);
    problem.dropout = {0.5F, 0, 0};
    vkf::enable(problem, VKF_USE_DROPOUT_SEED);
    CHECK(bytesOf(VKF_ARRAY_LSE, problem) == 2 * 6 * 10 * 4);
    CHECK(bytesOf(VKF_ARRAY_PROBABILITIES, problem) == 2 * 6 * 4 * 33 * 4);
    CHECK(bytesOf(VKF_ARRAY_PROBABILITY_ROWS, problem) == 16);
    CHECK(bytesOf(VKF_ARRAY_KEY_LENGTHS, problem) == 8);
    CHECK(bytesOf(VKF_ARRAY_BLOCK_MASK, problem) == 4);
    CHECK(bytesOf(VKF_ARRAY_SINKS, problem) == 24);
    CHECK(bytesOf(VKF_ARRAY_ALIBI_SLOPES, problem) == 24);
    CHECK(bytesOf(VKF_ARRAY_BIAS, problem) == (5 * 400 + 9 * 35 + 33 + 1) / 2 * 4);
    CHECK(bytesOf(VKF_ARRAY_DOCUMENT_IDS, problem) == 2 * 33 * 4);
    CHECK(bytesOf(VKF_ARRAY_DROPOUT_SEED, problem) == 8);
}

TEST_CASE("packed sequences have starts of rows and of keys, or pages instead of the latter", "[problem]") {
    VkfProblem problem = smallProblem();
    vkf::enable(problem, VKF_USE_CU_SEQLENS);
    CHECK(bytesOf(VKF_ARRAY_CU_SEQLENS_Q, problem) == 12);
    CHECK(bytesOf(VKF_ARRAY_CU_SEQLENS_K, problem) == 12);
    vkf::test::setPages(problem, 16, 0);
    CHECK(bytesOf(VKF_ARRAY_CU_SEQLENS_K, problem) == 0);
    CHECK(bytesOf(VKF_ARRAY_BLOCK_TABLE, problem) == 2 * uint64_t{problem.paging.maxPages} * 4);
}

TEST_CASE("a problem has no arrays of other calls", "[problem]") {
    VkfProblem problem = smallProblem();
    vkf::enable(problem, VKF_USE_LSE);
    CHECK(vkfGetArrayBytes(&problem, VKF_ARRAY_LSE) == 2 * 6 * 10 * 4);
    for (const int array : {-1, int{VKF_ARRAY_LENGTHS}, int{VKF_ARRAY_DSINKS}, 1000}) {
        CHECK(vkfGetArrayBytes(&problem, static_cast<VkfArray>(array)) == 0);
    }
    CHECK(vkfGetArrayBytes(nullptr, VKF_ARRAY_LSE) == 0);
    problem.headDim = 0;
    CHECK(vkfGetArrayBytes(&problem, VKF_ARRAY_LSE) == 0);
}

TEST_CASE("merges and appends have the sizes of their arrays", "[problem]") {
    auto merge = vkf::make<VkfMergeProblem>();
    merge.partials = 3;
    merge.batch = merge.heads = 2;
    merge.rows = 5;
    merge.dim = 8;
    CHECK(vkfGetMergeArrayBytes(&merge, VKF_ARRAY_LSE) == 0);
    vkf::enable(merge, VKF_USE_LSE);
    CHECK(vkfGetMergeArrayBytes(&merge, VKF_ARRAY_LSE) == 2 * 2 * 5 * 4);
    merge.lsePartialStride = 100;
    CHECK(vkfGetMergeArrayBytes(&merge, VKF_ARRAY_PARTIAL_LSE) == (2 * 100 + 20) * 4);
    CHECK(vkfGetMergeArrayBytes(&merge, VKF_ARRAY_BIAS) == 0);

    auto append = vkf::make<VkfAppendProblem>();
    append.batch = 3;
    append.kvHeads = append.rows = 1;
    append.keys = 20;
    append.headDim = 64;
    CHECK(vkfGetAppendArrayBytes(&append, VKF_ARRAY_LENGTHS) == 12);
    CHECK(vkfGetAppendArrayBytes(&append, VKF_ARRAY_NEW_LENGTHS) == 0);
    CHECK(vkfGetAppendArrayBytes(&append, VKF_ARRAY_COS) == 0);
    append.rotary.pairs = VKF_ROTARY_HALVES;
    append.rotary.tableRows = 7;
    append.rotary.dim = 16;
    append.paging = {16, 2, 9};
    vkf::enable(append, VKF_USE_NEW_LENGTHS | VKF_USE_ROTARY_TABLES | VKF_USE_BLOCK_TABLE);
    CHECK(vkfGetAppendArrayBytes(&append, VKF_ARRAY_NEW_LENGTHS) == 12);
    CHECK(vkfGetAppendArrayBytes(&append, VKF_ARRAY_COS) == 7 * 8 * 4);
    CHECK(vkfGetAppendArrayBytes(&append, VKF_ARRAY_SIN) == 7 * 8 * 4);
    CHECK(vkfGetAppendArrayBytes(&append, VKF_ARRAY_BLOCK_TABLE) == 3 * 2 * 4);
    CHECK(vkfGetAppendArrayBytes(&append, VKF_ARRAY_LSE) == 0);
}

TEST_CASE("backward passes have the sizes of their arrays", "[problem]") {
    VkfProblem forward = smallProblem();
    vkf::enable(forward, VKF_USE_LSE | VKF_USE_SINKS | VKF_USE_BIAS);
    forward.bias = {VKF_TYPE_F16, 0, 0, 400, 35};
    auto backward = vkf::make<VkfBackwardProblem>();
    backward.forward = &forward;
    CHECK(vkfGetBackwardArrayBytes(&backward, VKF_ARRAY_DLSE) == 0);
    CHECK(vkfGetBackwardArrayBytes(&backward, VKF_ARRAY_DSINKS) == 0);
    vkf::enable(backward, VKF_USE_DLSE);
    backward.gradients = VKF_GRADIENT_BIAS | VKF_GRADIENT_SINKS;
    CHECK(vkfGetBackwardArrayBytes(&backward, VKF_ARRAY_DLSE) == 2 * 6 * 10 * 4);
    CHECK(vkfGetBackwardArrayBytes(&backward, VKF_ARRAY_DSINKS) == 6 * 4);
    CHECK(vkfGetBackwardArrayBytes(&backward, VKF_ARRAY_DBIAS) == (5 * 400 + 9 * 35 + 33) * 4);
    CHECK(vkfGetBackwardArrayBytes(&backward, VKF_ARRAY_SINKS) == 0);
}

TEST_CASE("one small input takes the window's slot, several and those with strides a table", "[problem]") {
    VkfProblem problem = smallProblem();
    vkf::enable(problem, VKF_USE_KEY_LENGTHS | VKF_USE_PROBABILITIES); // in places of their own
    CHECK(vkf::extraSlot(problem) == VKF_EXTRA_SLOT_HAS_WINDOW);
    vkf::enable(problem, VKF_USE_SINKS);
    CHECK(vkf::extraSlot(problem) == VKF_EXTRA_SLOT_HAS_ADDRESS);
    problem.blockMask.blockSize = 16;
    vkf::enable(problem, VKF_USE_BLOCK_MASK);
    CHECK(vkf::extraSlot(problem) == VKF_EXTRA_SLOT_HAS_TABLE);
    problem = smallProblem();
    problem.dropout.probability = 0.5F; // its seed is in the table
    CHECK(vkf::extraSlot(problem) == VKF_EXTRA_SLOT_HAS_TABLE);
    problem = smallProblem();
    vkf::enable(problem, VKF_USE_CU_SEQLENS);
    CHECK(vkf::extraSlot(problem) == VKF_EXTRA_SLOT_HAS_TABLE);
}
