// SPDX-License-Identifier: MIT
//
// The traffic of plans on cases worked out by hand: 10 rows in tiles of 4, 7 keys in tiles of 3 or 4.
#include <catch2/catch_test_macros.hpp>

#include <cstdio>

#include <vkflash/vkflash.hpp>

#include "model/plan_traffic.hpp"
#include "support/call.hpp"
#include "tools/moved.hpp"

namespace {

using vkf::test::moved;
using vkf::test::Moved;
using vkf::test::problemOf;
using namespace vkf::tools;

VkfPlanInfo planOf(VkfPath path, uint32_t rows, uint32_t keys, const char* tile = "") {
    auto plan = vkf::make<VkfPlanInfo>();
    plan.path = path;
    plan.stepCount = 1;
    plan.tileRows = rows;
    plan.tileKeys = keys;
    plan.kvSplits = 1;
    std::snprintf(plan.tile, sizeof plan.tile, "%s", tile);
    return plan;
}

// From the top left, rows 0 to 3 see keys 0 to 3, rows 4 to 7 and 8 to 9 all 7.
VkfProblem causalOf(VkfProblem problem) {
    problem.use |= VKF_USE_CAUSAL;
    problem.alignment = VKF_ALIGNMENT_TOP_LEFT;
    return problem;
}

} // namespace

TEST_CASE("a plan's traffic follows its tiles, mask and splits", "[traffic]") {
    // 10 rows in tiles of 4, 7 keys in tiles of 3; q, k, v in fp16, two query heads on one KV head.
    VkfProblem problem = problemOf({1, 2, 1, 10, 7, 8, 16, VKF_TYPE_F16});
    vkf::enable(problem, VKF_USE_LSE);
    const VkfPlanInfo plan = planOf(VKF_PATH_SCALAR, 4, 3);
    const Traffic dense = planTraffic(problem, plan);
    CHECK(moved(dense, "q") == Moved{2.0 * 10 * 8 * 2, 0});
    CHECK(moved(dense, "k") == Moved{2.0 * 3 * 7 * 8 * 2, 0});
    CHECK(moved(dense, "v") == Moved{2.0 * 3 * 7 * 16 * 2, 0});
    CHECK(moved(dense, "o") == Moved{0, 2.0 * 10 * 16 * 2});
    CHECK(moved(dense, "lse") == Moved{0, 2.0 * 10 * 4});
    CHECK(moved(dense, "partial results") == Moved{-1, -1});

    // Causal from the top left: rows 0 to 3 see keys 0 to 3, which touch two tiles of 3; rows 4 to 7 and 8 to 9 see
    // all 7.
    VkfProblem causal = problem;
    causal.use |= VKF_USE_CAUSAL;
    causal.alignment = VKF_ALIGNMENT_TOP_LEFT;
    CHECK(moved(planTraffic(causal, plan), "k") == Moved{2.0 * (6 + 7 + 7) * 8 * 2, 0});
    // From the bottom right, offset -3: rows 0 to 3 see key 0, rows 4 to 7 keys 0 to 4.
    causal.alignment = VKF_ALIGNMENT_BOTTOM_RIGHT;
    CHECK(moved(planTraffic(causal, plan), "k") == Moved{2.0 * (3 + 6 + 7) * 8 * 2, 0});
    // A window of one key, the row's own position. Rows 0 to 3 are at keys -3 to 0, rows 4 to 7 at 1 to 4, the last at
    // 5 and 6.
    causal.window = {0, 0, 0};
    causal.use |= VKF_USE_WINDOW;
    CHECK(moved(planTraffic(causal, plan), "k") == Moved{2.0 * (3 + 6 + 4) * 8 * 2, 0});

    // Both heads in one tile: five tiles of two rows.
    const VkfPlanInfo packed = planOf(VKF_PATH_COOPMAT, 4, 3);
    CHECK(moved(planTraffic(problem, packed), "k") == Moved{5.0 * 7 * 8 * 2, 0});
    CHECK(moved(planTraffic(causalOf(problem), packed), "k") == Moved{(3.0 + 6 + 6 + 7 + 7) * 8 * 2, 0});
    problem.blockMask.blockSize = 16;
    vkf::enable(problem, VKF_USE_BLOCK_MASK); // may be another for each head
    CHECK(moved(planTraffic(problem, packed), "k") == Moved{2.0 * 3 * 7 * 8 * 2, 0});
    problem.blockMask.blockSize = 0;
    vkf::enable(problem, VKF_USE_BLOCK_MASK, false);

    VkfPlanInfo split = plan;
    split.kvSplits = 3;
    split.scratchBytes = 1000;
    const Traffic parts = planTraffic(problem, split);
    CHECK(moved(parts, "q") == Moved{3 * 2.0 * 10 * 8 * 2, 0});
    CHECK(moved(parts, "k") == moved(dense, "k"));
    CHECK(moved(parts, "partial results") == Moved{1000, 1000});
}

TEST_CASE("a plan's traffic follows its path", "[traffic]") {
    const VkfProblem problem = problemOf({1, 2, 1, 10, 7, 40, 0});
    // 40 columns are 10 words of four: with 8 on chip, q is read again for each of three tiles of keys.
    const Moved once = {2.0 * 10 * 40 * 4, 0};
    CHECK(moved(planTraffic(problem, planOf(VKF_PATH_SCALAR, 4, 3, "chunkDim4=10 chunkKeys=8")), "q") == once);
    CHECK(moved(planTraffic(problem, planOf(VKF_PATH_SCALAR, 4, 3, "chunkDim4=8 chunkKeys=8")), "q") ==
          Moved{3 * once.read, 0});

    // Each of two key splits reads q, unless q is read for each tile anyway.
    VkfPlanInfo split = planOf(VKF_PATH_SCALAR, 4, 3, "chunkDim4=10 chunkKeys=8 splits=2");
    split.kvSplits = 2;
    split.scratchBytes = 1000;
    CHECK(moved(planTraffic(problem, split), "q") == Moved{2 * once.read, 0});
    CHECK(moved(planTraffic(problem, split), "partial results") == Moved{1000, 1000});
    std::snprintf(split.tile, sizeof split.tile, "chunkDim4=8 chunkKeys=8 splits=2");
    CHECK(moved(planTraffic(problem, split), "q") == Moved{3 * once.read, 0});

    // Packed: one tile with all 20 rows of the KV head.
    const Traffic decode = planTraffic(problem, planOf(VKF_PATH_DECODE, 32, 3));
    CHECK(moved(decode, "q") == once);
    CHECK(moved(decode, "k") == Moved{7.0 * 40 * 4, 0});

    VkfPlanInfo nothing = planOf(VKF_PATH_SCALAR, 4, 3);
    nothing.stepCount = 0;
    CHECK(planTraffic(problem, nothing).total() == 0);
}

TEST_CASE("a plan of path standard moves S in fp32 and P in chunks of keys", "[traffic]") {
    // Two heads. Rows of S and P end on a word of four.
    const VkfProblem problem = problemOf({1, 2, 1, 10, 7, 40, 6});
    const VkfPlanInfo plan = planOf(VKF_PATH_STANDARD, 4, 3, "groups=4 lanes=4 chunkDim4=8 chunkKeys=2 softmaxKeys=8");
    const Traffic dense = planTraffic(problem, plan);
    CHECK(moved(dense, "q") == Moved{2.0 * 3 * 10 * 40 * 4, 0});
    CHECK(moved(dense, "k") == Moved{2.0 * 3 * 7 * 40 * 4, 0});
    CHECK(moved(dense, "v") == Moved{2.0 * 3 * 7 * 6 * 4, 0});
    CHECK(moved(dense, "S") == Moved{2.0 * 10 * 8 * 4, 2.0 * 10 * 7 * 4});
    CHECK(moved(dense, "P") == Moved{2.0 * 10 * 8 * 4, 2.0 * 10 * 8 * 4});
    CHECK(moved(dense, "m, l") == Moved{2.0 * 10 * 8, 2.0 * 10 * 8});
    CHECK(moved(dense, "o") == Moved{0, 2.0 * 10 * 6 * 4});
    CHECK(moved(dense, "lse") == Moved{0, 2.0 * 10 * 4});
    CHECK(dense.entries.size() == 8);

    // S is computed for 6, 7 and 7 keys of the row tiles. It is read as far as each row sees, in words of four.
    const Traffic causal = planTraffic(causalOf(problem), plan);
    CHECK(moved(causal, "S") == Moved{2.0 * (4 * 4 + 6 * 8) * 4, 2.0 * (4 * 6 + 4 * 7 + 2 * 7) * 4});
    CHECK(moved(causal, "P") == Moved{2.0 * (4 * 4 + 6 * 8) * 4, 2.0 * (4 * 4 + 6 * 8) * 4});
    CHECK(moved(causal, "v") == Moved{2.0 * (4 + 7 + 7) * 6 * 4, 0});
    // Only rows 8 and 9 see a key each. The others have no P, but they have m and l.
    VkfProblem away = problem;
    away.window = {0, 0, 0};
    away.use |= VKF_USE_WINDOW;
    away.keys = 2;
    CHECK(moved(planTraffic(away, plan), "P") == Moved{2.0 * 2 * 2 * 4, 2.0 * 2 * 2 * 4});
    CHECK(moved(planTraffic(away, plan), "m, l") == Moved{2.0 * 10 * 8, 2.0 * 10 * 8});

    // A row of 8 scores does not fit the 7 scores that stay in registers.
    const VkfPlanInfo small = planOf(VKF_PATH_STANDARD, 4, 3, "chunkKeys=2 softmaxKeys=7");
    CHECK(moved(planTraffic(problem, small), "S").read == 2 * moved(dense, "S").read);
    CHECK(moved(planTraffic(causalOf(problem), small), "S").read == 2.0 * (4 * 4 + 2 * 6 * 8) * 4);

    // The caller wants the probabilities of every key, so P has every key too.
    VkfProblem probabilities = causalOf(problem);
    vkf::enable(probabilities, VKF_USE_PROBABILITIES);
    const Traffic shown = planTraffic(probabilities, plan);
    CHECK(moved(shown, "probabilities") == Moved{0, 2.0 * 10 * 7 * 4});
    CHECK(moved(shown, "P") == Moved{2.0 * (4 * 4 + 6 * 8) * 4, 2.0 * 10 * 8 * 4});

    // Probabilities of chosen rows come from lse, and q and k are read once more. On other paths this holds for all
    // rows.
    probabilities.probabilityRowCount = 3;
    vkf::enable(probabilities, VKF_USE_PROBABILITY_ROWS);
    const Traffic chosen = planTraffic(probabilities, plan);
    CHECK(moved(chosen, "probabilities") == Moved{2.0 * 3 * (40 * 4 + 4) + 7 * 40 * 4, 2.0 * 3 * 7 * 4});
    CHECK(moved(chosen, "P").written == moved(causal, "P").written);
    probabilities.probabilityRowCount = 0;
    vkf::enable(probabilities, VKF_USE_PROBABILITY_ROWS, false);
    CHECK(moved(planTraffic(probabilities, planOf(VKF_PATH_SCALAR, 4, 3)), "probabilities") ==
          Moved{2.0 * 10 * (40 * 4 + 4) + 7 * 40 * 4, 2.0 * 10 * 7 * 4});
}

TEST_CASE("a plan of path standard on matrices stores whole ones of S, and P in 16 bits", "[traffic]") {
    const VkfProblem problem = problemOf({1, 2, 1, 10, 7, 40, 6, VKF_TYPE_F16});
    VkfPlanInfo plan = planOf(VKF_PATH_STANDARD, 8, 4, "subgroups=2 rowTiles=1 keyTiles=1 chunkKeys=16 softmaxKeys=16");
    plan.productType = VKF_TYPE_F16;
    const Traffic traffic = planTraffic(problem, plan);
    CHECK(moved(traffic, "S") == Moved{2.0 * 10 * 8 * 4, 2.0 * (8 + 4) * 8 * 4}); // the last two rows are four
    CHECK(moved(traffic, "P") == Moved{2.0 * 10 * 16 * 2, 2.0 * 10 * 16 * 2});
    CHECK(moved(traffic, "v") == Moved{2.0 * 2 * 7 * 6 * 2, 0});
}

TEST_CASE("a plan of path key_outer moves o, m and l of the rows that meet a tile of keys", "[traffic]") {
    const VkfProblem problem = problemOf({1, 2, 1, 10, 7, 40, 6});
    const VkfPlanInfo plan = planOf(VKF_PATH_KEY_OUTER, 4, 3, "chunkDim4=8");
    const Traffic dense = planTraffic(problem, plan);
    CHECK(moved(dense, "q") == Moved{2.0 * 3 * 10 * 40 * 4, 0});
    CHECK(moved(dense, "k") == Moved{2.0 * 3 * 7 * 40 * 4, 0});
    // Six columns are stored as eight. They are written three times, read twice, and read once more at the end.
    CHECK(moved(dense, "o before the division") == Moved{2.0 * 3 * 10 * 8 * 4, 2.0 * 3 * 10 * 8 * 4});
    CHECK(moved(dense, "m, l") == Moved{2.0 * 3 * 10 * 8, 2.0 * 3 * 10 * 8});
    CHECK(moved(dense, "o") == Moved{0, 2.0 * 10 * 6 * 4});
    const Traffic causal = planTraffic(causalOf(problem), plan);
    CHECK(moved(causal, "m, l") == Moved{2.0 * (2 * 4 + 3 * 6) * 8, 2.0 * (2 * 4 + 3 * 6) * 8});
    CHECK(moved(causal, "v") == Moved{2.0 * (6 + 7 + 7) * 6 * 4, 0});
}
