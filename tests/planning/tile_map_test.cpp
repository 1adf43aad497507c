// SPDX-License-Identifier: MIT
//
// Which calls have a map of tiles, and the phases that come with it. No device is needed.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <vkflash/functions.h>

#include "planning/backward/backward_plan.hpp"
#include "planning/plan.hpp"
#include "reference/backward_cases.hpp"
#include "support/call.hpp"
#include "support/described_device.hpp"
#include "support/masks.hpp"
#include "support/plans.hpp"

namespace {

using vkf::Kernel;
using vkf::test::broadcast;
using vkf::test::matrixCaps;
using vkf::test::planOf;
using vkf::test::problemOf;

VkfProblem biased(uint32_t rows, uint32_t keys, VkfType type = VKF_TYPE_F16, bool heads = false) {
    VkfProblem problem = problemOf({1, 16, 16, rows, keys, 128, 0, VKF_TYPE_F16});
    problem.path = VKF_PATH_COOPMAT;
    problem.bias = broadcast(problem, type, false, heads, true);
    vkf::enable(problem, VKF_USE_BIAS);
    return problem;
}

std::vector<Kernel> kernelsOf(const std::vector<vkf::Phase>& phases) {
    std::vector<Kernel> kernels;
    kernels.reserve(phases.size());
    for (const vkf::Phase& phase : phases) {
        kernels.push_back(phase.variant.kernel);
    }
    return kernels;
}

std::vector<Kernel> kernelsOf(const vkf::AttentionPlan& made) { return kernelsOf(made.phases); }

// Functions without kernels, which no plan without a device asks for.
struct Functions {
    VkfFunctions handle = nullptr;

    explicit Functions(VkfFunctionSet functions) {
        VkfFunctionsCreateInfo info{};
        info.structSize = sizeof info;
        info.functions = functions;
        info.key = functions;
        info.getKernel = [](void*, const char*, const uint32_t**, size_t*, VkfMessage*) {
            return VKF_ERROR_UNSUPPORTED;
        };
        REQUIRE(vkfCreateFunctions(&info, &handle, nullptr) == VKF_SUCCESS);
    }
    Functions(const Functions&) = delete;
    Functions(Functions&&) = delete;
    Functions& operator=(const Functions&) = delete;
    Functions& operator=(Functions&&) = delete;
    ~Functions() { vkfDestroyFunctions(handle); }
};

bool looksAtBias(const vkf::Caps& caps, const VkfProblem& problem) {
    for (const vkf::Phase& phase : planOf(caps, problem).phases) {
        if (phase.variant.kernel == Kernel::mapTiles) {
            return phase.variant.constants[VKF_ID_BIAS] != 0;
        }
    }
    return false;
}

// The plan of a backward pass with all gradients.
vkf::BackwardPlan backwardPlanOf(const VkfProblem& forward, const vkf::Caps& caps, uint64_t scratchBytes = 0) {
    VkfBackwardProblem problem = vkf::test::backwardOf(forward, vkf::test::allGradients(forward));
    problem.maxScratchBytes = scratchBytes;
    vkf::CheckedBackward checked{};
    vkf::BackwardPlan plan;
    REQUIRE(vkf::checkBackward(&problem, &checked, nullptr) == VKF_SUCCESS);
    REQUIRE(vkf::makeBackwardPlan({caps}, checked, &plan, nullptr) == VKF_SUCCESS);
    return plan;
}

} // namespace

TEST_CASE("a long bias gets a map and classes of rows that run at the same time", "[planning]") {
    VkfProblem problem = biased(8192, 8192);
    const auto check = [&](Kernel attention, const std::vector<uint32_t>& classes) {
        const vkf::AttentionPlan made = planOf(matrixCaps(), problem);
        std::vector<Kernel> kernels = {Kernel::writeTable, Kernel::mapTiles, Kernel::orderTiles};
        kernels.resize(kernels.size() + classes.size(), attention);
        REQUIRE(kernelsOf(made) == kernels);
        CHECK(made.phases[1].variant.constants[VKF_ID_TILE_MAP] == VKF_MAP_SHARED);
        CHECK(made.phases[2].variant.constants[VKF_ID_ROW_CLASS] == *std::max_element(classes.begin(), classes.end()));
        for (size_t i = 0; i < classes.size(); i++) {
            const vkf::Phase& phase = made.phases[3 + i];
            CHECK(phase.variant.constants[VKF_ID_ROW_CLASS] == classes[i]);
            CHECK(phase.barrierBefore == (i == 0));
        }
    };
    problem.path = VKF_PATH_COOPMAT;
    check(Kernel::attentionCoopmat, {VKF_ROWS_BIAS_MASK, VKF_ROWS_BIASED, VKF_ROWS_DENSE});
    problem.path = VKF_PATH_SCALAR;
    check(Kernel::attentionScalar, {VKF_ROWS_BIAS_MASK, VKF_ROWS_BIASED});
    problem.path = VKF_PATH_COOPMAT;
    problem.mask = broadcast(problem, VKF_TYPE_BOOL8, false, false, true);
    vkf::enable(problem, VKF_USE_MASK);
    check(Kernel::attentionCoopmat, {VKF_ROWS_BIAS_MASK, VKF_ROWS_BIASED}); // a per-key mask needs the map
}

TEST_CASE("rows whose bias is a mask have tiles of their own if registers without a bias hold more rows",
          "[planning]") {
    const auto check = [](uint32_t dim, uint32_t rows, const std::array<std::array<uint32_t, 4>, 3>& expected) {
        VkfProblem problem = biased(rows, 8192);
        problem.headDim = dim;
        vkf::AttentionPlan made = planOf(matrixCaps(), problem);
        REQUIRE(made.phases.size() == 6);
        for (size_t i = 0; i < expected.size(); i++) {
            const vkf::Phase& phase = made.phases[3 + i];
            const vkf::Constants& constants = phase.variant.constants;
            CHECK(phase.items == 16 * expected[i][0]);
            CHECK(constants[VKF_ID_MAP_ROW_TILES] == expected[i][1]);
            CHECK(constants[VKF_ID_ROW_MATRICES] == expected[i][2]);
            CHECK(constants[VKF_ID_KEY_MATRICES] == expected[i][3]);
        }
        return made;
    };
    // For masked, biased and dense rows: tiles of rows of a head, of these in a tile of the map, and matrices of rows
    // and of keys of a subgroup.
    const vkf::AttentionPlan made = check(128, 8200, {{{33, 1, 2, 2}, {66, 2, 1, 2}, {66, 2, 1, 4}}});
    CHECK(made.phases[1].variant.constants[VKF_ID_MAP_TILE_ROWS] == 256);
    CHECK(made.phases[1].variant.constants[VKF_ID_MAP_TILE_KEYS] == 32);
    CHECK(made.phases[1].items == 33 * 8);
    check(64, 8200, {{{65, 1, 2, 4}, {65, 1, 2, 4}, {65, 1, 2, 4}}});
    check(256, 8200, {{{65, 1, 1, 2}, {65, 1, 1, 2}, {65, 1, 1, 2}}});
}

TEST_CASE("over a cache, rows whose bias is a mask have the tile and splits of a call without a bias", "[planning]") {
    VkfProblem problem = biased(512, 16384);
    problem.queryHeads = 32;
    problem.kvHeads = 8;
    VkfProblem plain = problem;
    plain.use ^= VKF_USE_BIAS;
    plain.bias = {};
    const vkf::AttentionPlan made = planOf(matrixCaps(), problem);
    const vkf::AttentionPlan unbiased = planOf(matrixCaps(), plain);
    CHECK(unbiased.splits == 4);
    CHECK(made.splits == 4);
    REQUIRE(made.biasMaskTile);
    CHECK(made.biasMaskTile->rows == unbiased.tile.rows);
    CHECK(made.biasMaskTile->keys == unbiased.tile.keys);
    CHECK(made.tile.rows == 128); // of rows to which the bias is added
    problem.kvSplits = 2;
    CHECK(planOf(matrixCaps(), problem).splits == 2);
    problem.kvSplits = 0;
    problem.keys = 1024; // no cache: a causal mask leaves some of these workgroups little to do
    problem.bias.rowStride = 1024;
    CHECK_FALSE(planOf(matrixCaps(), problem).biasMaskTile);
}

TEST_CASE("the map looks at a bias where it can save more than it takes", "[planning]") {
    const vkf::Caps caps = matrixCaps();
    CHECK(looksAtBias(caps, biased(8192, 8192)));
    CHECK(looksAtBias(caps, biased(2048, 2048)));
    CHECK_FALSE(looksAtBias(caps, biased(1024, 1024)));
    CHECK(looksAtBias(caps, biased(8192, 8192, VKF_TYPE_F16, true)));
    CHECK(looksAtBias(caps, biased(8192, 8192, VKF_TYPE_F32, false)));
    CHECK_FALSE(looksAtBias(caps, biased(512, 512)));
    CHECK_FALSE(looksAtBias(caps, biased(20, 8192)));
    CHECK_FALSE(looksAtBias(caps, biased(8192, 20)));
    VkfProblem thin = biased(8192, 8192, VKF_TYPE_F32, true); // reading takes longer than attention
    thin.headDim = 16;
    CHECK_FALSE(looksAtBias(caps, thin));
    thin.bias.heads = 1;
    CHECK(looksAtBias(caps, thin));
    VkfProblem packed = biased(8192, 8192);
    vkf::enable(packed, VKF_USE_CU_SEQLENS);
    CHECK_FALSE(looksAtBias(caps, packed));
    VkfProblem none = biased(8192, 8192);
    none.bias = {};
    vkf::enable(none, VKF_USE_BIAS, false);
    CHECK(kernelsOf(planOf(caps, none)) == std::vector<Kernel>{Kernel::attentionCoopmat});
}

TEST_CASE("a map that serves a mask alone leaves one attention phase", "[planning]") {
    VkfProblem problem = biased(256, 256);
    problem.mask = broadcast(problem, VKF_TYPE_BOOL8, false, false, true);
    vkf::enable(problem, VKF_USE_MASK);
    const vkf::AttentionPlan made = planOf(matrixCaps(), problem);
    CHECK_FALSE(looksAtBias(matrixCaps(), problem));
    CHECK(kernelsOf(made) ==
          std::vector<Kernel>{Kernel::writeTable, Kernel::mapTiles, Kernel::orderTiles, Kernel::attentionCoopmat});
    CHECK(made.phases.back().variant.constants[VKF_ID_ROW_CLASS] == VKF_ROWS_ALL);
}

TEST_CASE("first keys beside a window have a map where it can save time, but not on path wgmma", "[planning]") {
    const auto hasMap = [](const vkf::Caps& caps, const VkfProblem& problem) {
        const std::vector<Kernel> kernels = kernelsOf(planOf(caps, problem));
        return std::find(kernels.begin(), kernels.end(), Kernel::mapTiles) != kernels.end();
    };
    VkfProblem problem = problemOf({1, 8, 8, 8192, 8192, 128, 0, VKF_TYPE_F16});
    vkf::test::setWindow(problem, 2048, 0, 64);
    for (const VkfPath path : {VKF_PATH_COOPMAT, VKF_PATH_SCALAR}) {
        problem.path = path;
        CHECK(hasMap(matrixCaps(), problem));
    }
    problem.path = VKF_PATH_WGMMA;
    CHECK_FALSE(hasMap(vkf::test::hopperCaps(), problem));
    problem.path = VKF_PATH_COOPMAT;
    CHECK(backwardPlanOf(problem, matrixCaps()).map);
    VkfProblem fixed = problem;
    fixed.splitKeys = 1024; // no choice may depend on the batch
    CHECK_FALSE(hasMap(matrixCaps(), fixed));
    VkfProblem narrow = problem;
    narrow.window.left = 128;
    CHECK_FALSE(hasMap(matrixCaps(), narrow));
    CHECK(std::string(backwardPlanOf(narrow, matrixCaps()).whyNoMap) == "it takes longer than it can save");
    VkfProblem without = problem;
    without.window.firstKeys = 0;
    CHECK_FALSE(hasMap(matrixCaps(), without));
    CHECK_FALSE(backwardPlanOf(without, matrixCaps()).map);
}

TEST_CASE("heads need maps of their own if their masks or biases differ", "[planning]") {
    const auto mapOf = [](const VkfProblem& problem) {
        return planOf(matrixCaps(), problem).phases.back().variant.constants[VKF_ID_TILE_MAP];
    };
    VkfProblem problem = biased(8192, 8192, VKF_TYPE_F16, true);
    CHECK(mapOf(problem) == VKF_MAP_BY_HEAD);
    problem.bias.heads = 4;
    CHECK(mapOf(problem) == VKF_MAP_BY_HEAD);
    problem.bias.heads = 1;
    CHECK(mapOf(problem) == VKF_MAP_SHARED);
}

TEST_CASE("a map of the caller's is made by phases that no call has", "[planning]") {
    VkfProblem problem = biased(8192, 8192);
    const vkf::AttentionPlan own = planOf(matrixCaps(), problem);
    CHECK(own.mapPhases.empty());
    vkf::enable(problem, VKF_USE_TILE_MAP);
    const vkf::AttentionPlan kept = planOf(matrixCaps(), problem);
    CHECK(kernelsOf(kept.mapPhases) == std::vector<Kernel>{Kernel::writeTable, Kernel::mapTiles, Kernel::orderTiles});
    CHECK(kernelsOf(kept) == std::vector<Kernel>{Kernel::writeTable, Kernel::attentionCoopmat, Kernel::attentionCoopmat,
                                                 Kernel::attentionCoopmat});
    CHECK(kept.phases.front().variant == own.phases.front().variant);
    for (size_t i = 1; i < kept.phases.size(); i++) {
        CHECK(kept.phases[i].variant == own.phases[i + 2].variant);
        CHECK(kept.phases[i].barrierBefore == own.phases[i + 2].barrierBefore);
    }
    CHECK(kept.mapPhases[1].barrierBefore);
    CHECK(kept.tileMap.bytes == own.tileMap.bytes);
    CHECK(kept.tileMap.orderOffset < kept.tileMap.bytes);
    CHECK(kept.scratch.bytes() + kept.tileMap.bytes <= own.scratch.bytes());

    VkfProblem none = biased(20, 20); // too few pairs for a map
    vkf::enable(none, VKF_USE_TILE_MAP);
    const vkf::AttentionPlan without = planOf(matrixCaps(), none);
    CHECK(without.mapPhases.empty());
    CHECK(without.tileMap.bytes == 0);
}

TEST_CASE("sequences share the map of a function that does not tell them apart", "[planning]") {
    VkfProblem problem = problemOf({4, 8, 8, 512, 512, 64, 0, VKF_TYPE_F16});
    problem.path = VKF_PATH_COOPMAT;
    vkf::enable(problem, VKF_USE_FUNCTIONS);
    const auto planWith = [&problem](VkfFunctionSet functions) {
        const Functions made(functions);
        problem.functions = made.handle;
        return planOf(matrixCaps(), problem);
    };
    const auto mapOf = [](const vkf::AttentionPlan& made) {
        return made.phases.back().variant.constants[VKF_ID_TILE_MAP];
    };
    const vkf::AttentionPlan ofAll = planWith(VKF_FUNCTION_KEEP);
    CHECK(mapOf(ofAll) == VKF_MAP_OF_ALL);
    const vkf::AttentionPlan ofEach = planWith(VKF_FUNCTION_KEEP | VKF_FUNCTION_KEEP_BY_SEQUENCE);
    CHECK(mapOf(ofEach) == VKF_MAP_SHARED);
    CHECK(ofEach.tileMap.bytes == 4 * ofAll.tileMap.bytes);
    CHECK(ofEach.phases[1].items == 4 * ofAll.phases[1].items);
    const vkf::AttentionPlan ofHeads = planWith(VKF_FUNCTION_KEEP | VKF_FUNCTION_KEEP_BY_HEAD);
    CHECK(mapOf(ofHeads) == VKF_MAP_BY_HEAD);
    CHECK(ofHeads.tileMap.bytes == 8 * ofEach.tileMap.bytes);

    vkf::enable(problem, VKF_USE_KEY_LENGTHS);
    CHECK(mapOf(planWith(VKF_FUNCTION_KEEP)) == VKF_MAP_SHARED);
    vkf::enable(problem, VKF_USE_KEY_LENGTHS, false);
    problem.mask = broadcast(problem, VKF_TYPE_BOOL8, true, false, true);
    vkf::enable(problem, VKF_USE_MASK);
    CHECK(mapOf(planWith(VKF_FUNCTION_KEEP)) == VKF_MAP_SHARED);
    problem.mask.batchStride = 0;
    CHECK(mapOf(planWith(VKF_FUNCTION_KEEP)) == VKF_MAP_OF_ALL);
    vkf::enable(problem, VKF_USE_FUNCTIONS, false); // the kernels of a mask alone have no such map
    problem.functions = nullptr;
    CHECK(mapOf(planOf(matrixCaps(), problem)) == VKF_MAP_SHARED);
}

TEST_CASE("a backward pass with a keep function makes a map of tiles that divide those of all kernels", "[planning]") {
    using vkf::Kernel;
    const Functions keep(VKF_FUNCTION_KEEP | VKF_FUNCTION_KEEP_BY_HEAD);
    const auto planOf = [&](VkfProblem forward, uint64_t scratchBytes, const vkf::Caps& caps) {
        vkf::enable(forward, VKF_USE_FUNCTIONS);
        forward.functions = keep.handle;
        return backwardPlanOf(forward, caps, scratchBytes);
    };
    VkfProblem forward = problemOf({2, 4, 2, 1000, 640, 128, 0, VKF_TYPE_F16});
    for (const uint64_t scratchBytes : {uint64_t{1}, uint64_t{1} << 32}) {
        const vkf::BackwardPlan mapped = planOf(forward, scratchBytes, vkf::test::matrixCaps());
        REQUIRE(mapped.map);
        CHECK((mapped.bandKeys() != 0) == (scratchBytes != 1));
        const vkf::Phase& map = mapped.phases[1];
        CHECK(map.variant.kernel == Kernel::mapTiles);
        CHECK(map.barrierBefore); // it reads the table
        CHECK_FALSE(mapped.phases[2].barrierBefore);
        for (size_t i = 0; i < mapped.lists.size(); i++) { // all at once, after the map
            CHECK(mapped.phases[3 + i].variant.kernel == Kernel::listTiles);
            CHECK(mapped.phases[3 + i].barrierBefore == (i == 0));
        }
        CHECK(mapped.phases[3 + mapped.lists.size()].barrierBefore);
        const uint32_t rowTiles = (1000 + mapped.map->rows - 1) / mapped.map->rows;
        const uint32_t words = (640 + 32 * mapped.map->keys - 1) / (32 * mapped.map->keys);
        CHECK(map.items == 2 * 4 * rowTiles * words);
        uint64_t bytes = map.items * 16;
        for (const vkf::TileLists& lists : mapped.lists) {
            CHECK(lists.begin == bytes); // they follow one another
            CHECK(lists.tiles.rows % mapped.map->rows == 0);
            CHECK(lists.tiles.keys % mapped.map->keys == 0);
            bytes += lists.bytes();
        }
        CHECK(mapped.tileMapBytes == bytes);
        CHECK(mapped.scratch.offset(vkf::ScratchRange::tileMap) + mapped.tileMapBytes <= mapped.scratch.bytes());
        for (const vkf::Phase& phase : mapped.phases) {
            CHECK((phase.variant.kernel == Kernel::writeTable ||
                   phase.variant.constants[VKF_ID_TILE_MAP] == VKF_MAP_BY_HEAD));
        }
        REQUIRE(mapped.coopmat.rows);
        CHECK(mapped.coopmat.rows->rows() % mapped.map->rows == 0);
        CHECK(mapped.coopmat.rows->keys() % mapped.map->keys == 0);
        for (const auto& tile : mapped.coopmat.keys) {
            CHECK(tile.rows() % mapped.map->rows == 0);
            CHECK(tile.keys() % mapped.map->keys == 0);
        }
    }
    vkf::enable(forward, VKF_USE_CU_SEQLENS);
    CHECK_FALSE(planOf(forward, 0, vkf::test::matrixCaps()).map);
    forward = problemOf({2, 4, 2, 0, 640, 128});
    CHECK_FALSE(planOf(forward, 0, vkf::test::capsOf(32, 49152, 1024)).map);
    forward = problemOf({1, 1, 1, 64, 2'000'000, 64, 0, VKF_TYPE_F16}); // lists would be too long
    CHECK_FALSE(planOf(forward, 0, vkf::test::matrixCaps()).map);
}

TEST_CASE("a backward pass with masks or documents has lists of tiles where they can save time", "[planning]") {
    const auto whyNot = [](const vkf::BackwardPlan& plan) {
        CHECK_FALSE((plan.map || plan.tileMapBytes != 0));
        return std::string(plan.whyNoMap != nullptr ? plan.whyNoMap : "");
    };
    const vkf::Caps caps = matrixCaps();
    const VkfProblem plain = problemOf({1, 8, 8, 8192, 8192, 128, 0, VKF_TYPE_F16});
    CHECK(whyNot(backwardPlanOf(plain, caps)).empty()); // no masks of single keys

    VkfProblem documents = plain;
    vkf::enable(documents, VKF_USE_DOCUMENT_IDS);
    VkfProblem masked = plain;
    masked.mask = broadcast(masked, VKF_TYPE_BOOL8, false, true, true);
    masked.bias = broadcast(masked, VKF_TYPE_F16, false, true, true);
    vkf::enable(masked, VKF_USE_MASK | VKF_USE_BIAS);
    for (const VkfProblem& forward : {documents, masked}) {
        const vkf::BackwardPlan plan = backwardPlanOf(forward, caps);
        CHECK((plan.map && plan.whyNoMap == nullptr));
        CHECK(plan.map->byHead == vkf::has(forward, VKF_USE_MASK));
        CHECK(plan.lists.size() >= 2);
        for (const vkf::Phase& phase : plan.phases) { // no kernel without lists, none of them asks for functions
            const Kernel kernel = phase.variant.kernel;
            CHECK((kernel != Kernel::backwardScalar && kernel != Kernel::backwardCoopmat &&
                   kernel != Kernel::backwardSums));
            CHECK(phase.variant.functions.functions == nullptr);
        }
        const std::vector<Kernel> kernels = kernelsOf(plan.phases);
        const auto has = [&](Kernel kernel) { return std::count(kernels.begin(), kernels.end(), kernel) != 0; };
        CHECK((has(Kernel::mapTiles) && has(Kernel::listTiles) && has(Kernel::backwardCoopmatListed)));
        CHECK(has(Kernel::backwardSumsListed) == (plan.bandKeys() != 0));
        CHECK(has(Kernel::backwardScalarListed) == vkf::has(forward, VKF_USE_BIAS)); // dbias
    }
    VkfProblem onScalar = documents;
    onScalar.path = VKF_PATH_SCALAR;
    CHECK(backwardPlanOf(onScalar, caps).map);

    VkfProblem few = documents;
    few.queryRows = few.keys = 512;
    CHECK(whyNot(backwardPlanOf(few, caps)) == "it takes longer than it can save");
    vkf::Caps slow = caps; // a few cores of a CPU
    slow.driver = VK_DRIVER_ID_MESA_LLVMPIPE;
    CHECK(backwardPlanOf(few, slow).map);

    VkfProblem packed = documents;
    vkf::enable(packed, VKF_USE_CU_SEQLENS);
    CHECK(whyNot(backwardPlanOf(packed, caps)) == "sequences are packed");
    vkf::Caps unknown = caps;
    unknown.f16Matrix = {{}, vkf::viaSharedMatrixLayout(32, 16, 16, 16)};
    CHECK(whyNot(backwardPlanOf(documents, unknown)) == "the element layout of the device's matrices is not known");
    vkf::Caps without = vkf::test::capsOf(32, 49152, 1024);
    without.features &= ~VkfFeatures{VKF_FEATURE_STORAGE_16BIT};
    VkfProblem single = documents;
    single.q.type = single.k.type = single.v.type = single.o.type = VKF_TYPE_F32;
    CHECK(whyNot(backwardPlanOf(single, without)) == "the device has no 16-bit storage");
    VkfProblem wide = problemOf({1, 1, 1, 64, 2'000'000, 64, 0, VKF_TYPE_F16});
    vkf::enable(wide, VKF_USE_DOCUMENT_IDS);
    CHECK(whyNot(backwardPlanOf(wide, caps)) == "a list has too many tiles");
    VkfProblem huge = problemOf({64, 64, 64, 65536, 65536, 64, 0, VKF_TYPE_F16});
    huge.mask = broadcast(huge, VKF_TYPE_BOOL1, true, true, true);
    vkf::enable(huge, VKF_USE_MASK);
    CHECK(whyNot(backwardPlanOf(huge, caps)) == "it takes too much scratch memory");
}
