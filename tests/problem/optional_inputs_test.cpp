// SPDX-License-Identifier: MIT
//
// The table of optional inputs: the size of each input, and whether it uses the extra slot of the push constants.
#include <catch2/catch_test_macros.hpp>

#include <set>
#include <string>

#include "problem/optional_inputs.hpp"
#include "shared/constant_ids.h"
#include "support/call.hpp"

namespace {

using vkf::Input;
using vkf::PassedIn;

uint64_t bytesOf(Input input, const VkfProblem& problem) {
    return vkf::bytesOf(vkf::optionalInputs[static_cast<size_t>(input)], problem);
}

VkfProblem smallProblem() { return vkf::test::problemOf({2, 6, 3, 10, 33, 64}); }

} // namespace

TEST_CASE("a row of the table of inputs has a name and a place of its own", "[problem]") {
    std::set<std::string> names;
    for (const vkf::OptionalInput& row : vkf::optionalInputs) {
        INFO(row.name);
        CHECK(names.insert(row.name).second);
        const bool inTable = row.passedIn == PassedIn::extraSlot || row.passedIn == PassedIn::callTable;
        CHECK((row.field != nullptr) == inTable);
        CHECK((row.strides != nullptr) == (row.broadcast != nullptr));
    }
}

TEST_CASE("an input has the size that the problem asks for, and none without it", "[problem]") {
    VkfProblem problem = smallProblem();
    vkf::enable(problem, VKF_ARRAY_LSE, false);
    for (const vkf::OptionalInput& row : vkf::optionalInputs) {
        INFO(row.name);
        CHECK(vkf::bytesOf(row, problem) == 0);
    }
    problem.alibi = 1;
    vkf::enable(problem, VKF_ARRAY_LSE | VKF_ARRAY_PROBABILITIES | VKF_ARRAY_KEY_LENGTHS | VKF_ARRAY_SINKS |
                             VKF_ARRAY_ALIBI_SLOPES);
    vkf::enable(problem, VKF_ARRAY_DOCUMENT_IDS);
    problem.bias = {VKF_TYPE_F16, 0, 0, 400, 35};
    vkf::enable(problem, VKF_ARRAY_BIAS);
    problem.probabilityRowCount = 4;
    vkf::enable(problem, VKF_ARRAY_PROBABILITY_ROWS);
    problem.blockMask.blockSize = 16;
    vkf::enable(problem, VKF_ARRAY_BLOCK_MASK);
    problem.dropout = {0.5F, 0, 0};
    vkf::enable(problem, VKF_ARRAY_DROPOUT_SEED);
    CHECK(bytesOf(Input::lse, problem) == 2 * 6 * 10 * 4);
    CHECK(bytesOf(Input::probabilities, problem) == 2 * 6 * 4 * 33 * 4);
    CHECK(bytesOf(Input::probabilityRows, problem) == 16);
    CHECK(bytesOf(Input::keyLengths, problem) == 8);
    CHECK(bytesOf(Input::blockMask, problem) == 4);
    CHECK(bytesOf(Input::sinks, problem) == 24);
    CHECK(bytesOf(Input::alibiSlopes, problem) == 24);
    CHECK(bytesOf(Input::bias, problem) == (5 * 400 + 9 * 35 + 33 + 1) / 2 * 4);
    CHECK(bytesOf(Input::documentIds, problem) == 2 * 33 * 4);
    CHECK(bytesOf(Input::dropoutSeed, problem) == 8);
    vkf::enable(problem, VKF_ARRAY_CU_SEQLENS);
    CHECK(bytesOf(Input::cuSeqlensQ, problem) == 12);
    CHECK(bytesOf(Input::cuSeqlensK, problem) == 12);
    vkf::test::setPages(problem, 16, 0);
    CHECK(bytesOf(Input::cuSeqlensK, problem) == 0);
    CHECK(bytesOf(Input::blockTable, problem) == 2 * 4 * 4);
}

TEST_CASE("one small input takes the window's slot, several and those with strides a table", "[problem]") {
    VkfProblem problem = smallProblem();
    vkf::enable(problem, VKF_ARRAY_KEY_LENGTHS | VKF_ARRAY_PROBABILITIES); // in places of their own
    CHECK(vkf::extraSlot(problem) == VKF_EXTRA_SLOT_HAS_WINDOW);
    vkf::enable(problem, VKF_ARRAY_SINKS);
    CHECK(vkf::extraSlot(problem) == VKF_EXTRA_SLOT_HAS_ADDRESS);
    problem.blockMask.blockSize = 16;
    vkf::enable(problem, VKF_ARRAY_BLOCK_MASK);
    CHECK(vkf::extraSlot(problem) == VKF_EXTRA_SLOT_HAS_TABLE);
    problem = smallProblem();
    problem.dropout.probability = 0.5F; // its seed is in the table
    CHECK(vkf::extraSlot(problem) == VKF_EXTRA_SLOT_HAS_TABLE);
    problem = smallProblem();
    vkf::enable(problem, VKF_ARRAY_CU_SEQLENS);
    CHECK(vkf::extraSlot(problem) == VKF_EXTRA_SLOT_HAS_TABLE);
}
