// SPDX-License-Identifier: MIT
//
// The commands that a plan records. Recording functions replace the driver's. Software drivers run one
// dispatch after the other, so their results do not show a forgotten barrier. No device is needed.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <vkflash/vkflash.hpp>

#include "calls/append.hpp"
#include "calls/context.hpp"
#include "calls/fake_addresses.hpp"
#include "calls/merge.hpp"
#include "calls/plan.hpp"
#include "planning/call_table.hpp"
#include "planning/packed_sequences.hpp"
#include "shared/attention_params.h"
#include "support/call.hpp"
#include "support/described_device.hpp"

namespace {

// Dispatches of the phase that writes the call table, for calls without rare inputs.
constexpr uint32_t callTablePieces = 2;

using vkf::test::fakeAddress;
using vkf::test::problemOf;

constexpr VkDeviceAddress scratchAddress = fakeAddress(7) + 0x1000; // of fixtures

enum class Command : uint8_t { barrier, bind, dispatch };

struct Recorded {
    Command command;
    uint32_t firstItem = 0; // first item of a dispatch
    uint32_t items = 0;
    bool operator==(const Recorded&) const = default;
};

std::vector<Recorded> recorded;
vkf::shared::CallParams pushed; // a smaller struct fills only its first bytes
uint32_t pushedBytes;
std::array<uint32_t, 3> dispatchedGroups;
VkMemoryBarrier memoryBarrier;

VKAPI_ATTR void VKAPI_CALL bind(VkCommandBuffer, VkPipelineBindPoint, VkPipeline) {
    recorded.push_back({Command::bind});
}

VKAPI_ATTR void VKAPI_CALL push(VkCommandBuffer, VkPipelineLayout, VkShaderStageFlags, uint32_t, uint32_t size,
                                const void* values) {
    std::memcpy(&pushed, values, size);
    pushedBytes = size;
}

VKAPI_ATTR void VKAPI_CALL dispatch(VkCommandBuffer, uint32_t x, uint32_t y, uint32_t z) {
    dispatchedGroups = {x, y, z};
    uint32_t first = 0; // first_item; the last word of all structs that have it
    std::memcpy(&first, reinterpret_cast<const char*>(&pushed) + pushedBytes - sizeof first, sizeof first);
    recorded.push_back({Command::dispatch, first, x});
}

// NOLINTNEXTLINE(readability-function-size): the parameters are Vulkan's
VKAPI_ATTR void VKAPI_CALL barrier(VkCommandBuffer, VkPipelineStageFlags source, VkPipelineStageFlags destination,
                                   VkDependencyFlags, uint32_t count, const VkMemoryBarrier* barriers, uint32_t,
                                   const VkBufferMemoryBarrier*, uint32_t, const VkImageMemoryBarrier*) {
    CHECK(source == VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT);
    CHECK(destination == VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT);
    REQUIRE(count == 1);
    memoryBarrier = barriers[0];
    recorded.push_back({Command::barrier});
}

bool writesLse(const vkf::Variant& variant) {
    return variant.constants[variant.kernel == vkf::Kernel::mergeSplits ? VKF_MERGE_ID_LSE : VKF_ID_LSE] == 1;
}

vkf::DeviceFunctions writingDown() {
    vkf::DeviceFunctions functions;
    functions.vkCmdBindPipeline = bind;
    functions.vkCmdPushConstants = push;
    functions.vkCmdDispatch = dispatch;
    functions.vkCmdPipelineBarrier = barrier;
    return functions;
}

// The unfused path, three kernels, in steps of a few work items.
struct Fixture {
    VkfContext_T context{VkfContextCreateInfo{}, vkf::test::capsOf(32, 49152, 1024), {}, writingDown()};
    VkfPlan_T plan{{}, &context, {}, {}};
    VkfBindings bindings = vkf::make<VkfBindings>();
    VkfResult result = VKF_ERROR_VULKAN; // result of the last recording
    VkfMessage message{};

    static VkfProblem problemOn(VkfPath path) {
        VkfProblem problem = problemOf({2, 3, 1, 150, 200, 64});
        problem.path = path;
        vkf::enable(problem, VKF_USE_KEY_LENGTHS);
        vkf::enable(problem, VKF_USE_PROBABILITIES, path == VKF_PATH_STANDARD);
        problem.maxStepOperations = 6000000;
        return problem;
    }
    explicit Fixture(VkfPath path = VKF_PATH_STANDARD) : Fixture(problemOn(path)) {}
    explicit Fixture(const VkfProblem& problem) {
        REQUIRE(vkf::checkProblem(&problem, &plan.problem, nullptr) == VKF_SUCCESS);
        REQUIRE(vkf::makePlan(context.tunedDevice(), plan.problem, &plan, nullptr) == VKF_SUCCESS);
        plan.executables.resize(plan.phases.size());
        uint64_t piece = 0;
        for (VkfBinding* binding : {&bindings.q, &bindings.k, &bindings.v, &bindings.o}) {
            binding->address = fakeAddress(piece++);
        }
        bindings.lse.address = vkf::has(problem, VKF_USE_LSE) ? fakeAddress(4) : 0;
        bindings.probabilities.address = vkf::has(problem, VKF_USE_PROBABILITIES) ? fakeAddress(5) : 0;
        bindings.keyLengths.address = vkf::has(problem, VKF_USE_KEY_LENGTHS) ? fakeAddress(6) : 0;
        bindings.scratch.address = scratchAddress;
        bindings.scratch.size = plan.scratch.bytes();
    }

    std::vector<Recorded> record(uint32_t firstStep, uint32_t count) {
        recorded.clear();
        const auto commandBuffer = reinterpret_cast<VkCommandBuffer>(this); // nothing reads behind the handle
        result = vkfCmdAttentionSteps(commandBuffer, &plan, &bindings, firstStep, count, &message);
        return recorded;
    }
};

} // namespace

TEST_CASE("phases wait for each other, steps of a phase do not, and every item is recorded once", "[record]") {
    Fixture fixture;
    std::vector<Recorded> expected;
    for (const vkf::Phase& phase : fixture.plan.phases) {
        if (!expected.empty()) {
            expected.push_back({Command::barrier});
        }
        expected.push_back({Command::bind});
        for (uint32_t first = 0; first < phase.items; first += phase.itemsPerStep) {
            expected.push_back({Command::dispatch, first, std::min(phase.itemsPerStep, phase.items - first)});
        }
    }
    const uint32_t steps = fixture.plan.steps();
    REQUIRE(fixture.plan.phases.size() == 3);
    REQUIRE(steps > 3); // else the test could not tell steps from phases
    CHECK(fixture.record(0, steps) == expected);
    CHECK(fixture.result == VKF_SUCCESS);
    CHECK(memoryBarrier.srcAccessMask == VK_ACCESS_SHADER_WRITE_BIT);
    CHECK(memoryBarrier.dstAccessMask == (VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT));
}

TEST_CASE("a phase without a barrier runs at the same time as the phase before it", "[record]") {
    VkfProblem problem = problemOf({1, 16, 16, 4096, 4096, 64});
    problem.path = VKF_PATH_SCALAR;
    problem.bias = {VKF_TYPE_F16, 0, 0, 0, 4096};
    vkf::enable(problem, VKF_USE_BIAS);
    vkf::enable(problem, VKF_USE_LSE, false);
    Fixture fixture(problem);
    fixture.bindings.bias.address = 0x1000;
    const std::vector<Recorded> all = fixture.record(0, fixture.plan.steps());
    CHECK(fixture.result == VKF_SUCCESS);
    REQUIRE(fixture.plan.phases.size() == 5); // table, map, order, two classes of rows
    const auto count = [&](Command command) {
        return std::count_if(all.begin(), all.end(), [&](const Recorded& r) { return r.command == command; });
    };
    CHECK(count(Command::bind) == 5);
    CHECK(count(Command::barrier) == 3);
}

TEST_CASE("steps recorded one by one are those of the whole, a phase's first with its barrier", "[record]") {
    Fixture fixture;
    const auto withoutBinds = [](std::vector<Recorded> list) {
        std::erase_if(list, [](const Recorded& r) { return r.command == Command::bind; });
        return list;
    };
    const uint32_t steps = fixture.plan.steps();
    std::vector<Recorded> pieces;
    for (uint32_t step = 0; step < steps; step++) {
        const std::vector<Recorded> piece = fixture.record(step, 1);
        CHECK(fixture.result == VKF_SUCCESS);
        pieces.insert(pieces.end(), piece.begin(), piece.end());
    }
    // Each piece binds its pipeline again.
    CHECK(withoutBinds(pieces) == withoutBinds(fixture.record(0, steps)));
}

TEST_CASE("passes wait for each other, and no step reaches over the end of one", "[record]") {
    Fixture fixture(VKF_PATH_KEY_OUTER);
    REQUIRE(fixture.plan.phases.size() == 2);
    const vkf::Phase& passes = fixture.plan.phases[0];
    const vkf::Phase& finish = fixture.plan.phases[1];
    const uint32_t rowTiles = (150 + fixture.plan.tile.rows - 1) / fixture.plan.tile.rows * 6;
    const uint32_t keyTiles = (200 + fixture.plan.tile.keys - 1) / fixture.plan.tile.keys;
    REQUIRE(keyTiles > 1);
    REQUIRE(passes.itemsPerStep < rowTiles); // else the test could not tell steps from passes
    REQUIRE(rowTiles % passes.itemsPerStep != 0);
    std::vector<Recorded> expected = {{Command::bind}};
    for (uint32_t pass = 0; pass < keyTiles; pass++) {
        if (pass > 0) {
            expected.push_back({Command::barrier});
        }
        for (uint32_t first = 0; first < rowTiles; first += passes.itemsPerStep) {
            expected.push_back(
                {Command::dispatch, pass * rowTiles + first, std::min(passes.itemsPerStep, rowTiles - first)});
        }
    }
    std::vector<Recorded> walk = expected;
    walk.push_back({Command::barrier});
    walk.push_back({Command::bind});
    walk.push_back({Command::dispatch, 0, finish.items});
    CHECK(fixture.record(0, fixture.plan.steps()) == walk);
    CHECK(fixture.record(0, passes.steps()) == expected);
    // Only the first step of the second pass.
    CHECK(
        fixture.record(passes.stepsPerRound(), 1) ==
        std::vector<Recorded>{{Command::bind}, {Command::barrier}, {Command::dispatch, rowTiles, passes.itemsPerStep}});
}

TEST_CASE("a binding of the bytes that a plan touches is enough, one byte less is refused by name", "[record]") {
    const struct {
        VkfBinding VkfBindings::*binding;
        const char* name;
        uint64_t bytes;
    } needs[] = {
        {&VkfBindings::q, "q", uint64_t{2} * 3 * 150 * 64 * 4},
        {&VkfBindings::k, "k", uint64_t{2} * 1 * 200 * 64 * 4},
        {&VkfBindings::v, "v", uint64_t{2} * 1 * 200 * 64 * 4},
        {&VkfBindings::o, "o", uint64_t{2} * 3 * 150 * 64 * 4},
        {&VkfBindings::lse, "lse", uint64_t{2} * 3 * 150 * 4},
        {&VkfBindings::keyLengths, "keyLengths", uint64_t{2} * 4},
        {&VkfBindings::probabilities, "probabilities", uint64_t{2} * 3 * 150 * 200 * 4},
        {&VkfBindings::scratch, "scratch", uint64_t{2} * 3 * 150 * (200 * 4 + 8)}, // a row of scores, m and l
    };
    for (const auto& need : needs) {
        Fixture fixture;
        INFO(need.name);
        (fixture.bindings.*need.binding).size = need.bytes;
        fixture.record(0, 1);
        CHECK(fixture.result == VKF_SUCCESS);
        (fixture.bindings.*need.binding).size = need.bytes - 1;
        CHECK(fixture.record(0, 1).empty());
        CHECK(fixture.result == VKF_ERROR_BINDING_TOO_SMALL);
        CHECK(std::string(fixture.message.text).starts_with(std::string(need.name) + " needs "));
    }
}

TEST_CASE("probabilities from lse are a phase of their own, behind a barrier", "[record]") {
    for (const VkfPath path : {VKF_PATH_SCALAR, VKF_PATH_KEY_OUTER, VKF_PATH_STANDARD}) {
        for (const uint32_t lse : {0U, 1U}) {
            VkfProblem problem = problemOf({2, 3, 1, 150, 200, 64});
            problem.path = path;
            vkf::enable(problem, VKF_USE_LSE, lse != 0);
            const uint64_t without = Fixture(problem).plan.scratch.bytes();
            vkf::enable(problem, VKF_USE_PROBABILITIES);
            problem.probabilityRowCount = 7;
            vkf::enable(problem, VKF_USE_PROBABILITY_ROWS);
            Fixture fixture(problem);
            const vkf::AttentionPlan& plan = fixture.plan;
            CHECK(plan.scratch.bytes() == without + (lse != 0 ? 0 : 2 * 3 * 150 * 4));
            fixture.bindings.lse.address = lse != 0 ? fakeAddress(8) : 0;
            fixture.bindings.probabilityRows.address = 0x30000;
            const vkf::Phase& last = plan.phases.back();
            REQUIRE(last.variant.kernel == vkf::Kernel::attentionProbabilities);
            const std::vector<Recorded> all = fixture.record(0, plan.steps());
            CHECK(fixture.result == VKF_SUCCESS);
            REQUIRE(all.size() > 3);
            CHECK(all[all.size() - 3].command == Command::barrier);
            CHECK(all.back() == Recorded{Command::dispatch, 0, last.items});
            vkf::shared::ProbabilitiesParams params{};
            REQUIRE(pushedBytes == sizeof params);
            std::memcpy(&params, &pushed, sizeof params);
            CHECK(params.chosen_rows == 0x30000);
            CHECK(params.probabilities == fakeAddress(5));
            CHECK(params.row_count == vkf::probabilityRows(problem));
            CHECK(params.row_stride[VKF_PROBABILITIES] == 200 * sizeof(float));
            CHECK(params.lse ==
                  (lse != 0 ? fakeAddress(8) : scratchAddress + plan.scratch.offset(vkf::ScratchRange::lse)));
            // The kernel that writes lse writes to the place where it is read.
            CHECK(std::any_of(plan.phases.begin(), plan.phases.end() - 1, [&](const vkf::Phase& phase) {
                return phase.lse == last.lse && writesLse(phase.variant);
            }));
        }
    }
}

TEST_CASE("the bindings of chosen probabilities are needed, in full", "[record]") {
    VkfProblem problem = problemOf({2, 3, 1, 150, 200, 64});
    problem.path = VKF_PATH_SCALAR;
    vkf::enable(problem, VKF_USE_PROBABILITIES);
    problem.probabilityRowCount = 7;
    vkf::enable(problem, VKF_USE_PROBABILITY_ROWS);
    const struct {
        VkfBinding VkfBindings::*binding;
        const char* name;
        uint64_t bytes;
    } needs[] = {
        {&VkfBindings::probabilities, "probabilities", uint64_t{2} * 3 * 7 * 200 * 4},
        {&VkfBindings::probabilityRows, "probabilityRows", uint64_t{7} * 4},
    };
    for (const auto& need : needs) {
        Fixture fixture(problem);
        fixture.bindings.probabilityRows.address = 0x1000;
        VkfBinding& binding = fixture.bindings.*need.binding;
        binding.size = need.bytes;
        fixture.record(0, 1);
        CHECK(fixture.result == VKF_SUCCESS);
        binding.size = need.bytes - 1;
        CHECK(fixture.record(0, 1).empty());
        CHECK(fixture.result == VKF_ERROR_BINDING_TOO_SMALL);
        CHECK(std::string(fixture.message.text).starts_with(std::string(need.name) + " needs "));
        binding = {};
        CHECK(fixture.record(0, 1).empty());
        CHECK(std::string(fixture.message.text) == std::string(need.name) +
                                                       " has neither address nor buffer; the call needs " +
                                                       std::to_string(need.bytes) + " bytes there");
    }
}

TEST_CASE("a single optional input uses the extra slot of the push constants", "[record]") {
    VkfProblem problem = problemOf({2, 3, 1, 20, 200, 64});
    problem.path = VKF_PATH_SCALAR;
    problem.use |= VKF_USE_CAUSAL;
    vkf::enable(problem, VKF_USE_SINKS);
    Fixture fixture(problem);
    fixture.bindings.sinks.address = 0x123456789abcdef0;
    fixture.record(0, 1);
    CHECK(fixture.result == VKF_SUCCESS);
    CHECK(fixture.plan.phases.front().variant.kernel != vkf::Kernel::writeTable);
    CHECK(static_cast<uint32_t>(pushed.extra_slot_low) == 0x9abcdef0);
    CHECK(static_cast<uint32_t>(pushed.extra_slot_high) == 0x12345678);
}

TEST_CASE("the merge of key splits gets push constants of its own", "[record]") {
    VkfProblem problem = problemOf({2, 6, 3, 5, 200, 64, 30});
    problem.path = VKF_PATH_DECODE;
    problem.kvSplits = 4;
    vkf::enable(problem, VKF_USE_LSE | VKF_USE_SINKS);
    Fixture fixture(problem);
    fixture.bindings.o.address = 0x200000;
    fixture.bindings.lse.address = 0x30000;
    fixture.bindings.sinks.address = 0x40000;
    const vkf::AttentionPlan& plan = fixture.plan;
    REQUIRE(plan.phases.back().variant.kernel == vkf::Kernel::mergeSplits);
    fixture.record(0, plan.steps());
    REQUIRE(fixture.result == VKF_SUCCESS);
    vkf::shared::SplitMergeParams merge{};
    REQUIRE(pushedBytes == sizeof merge);
    std::memcpy(&merge, &pushed, sizeof merge);
    CHECK(merge.partial_o == scratchAddress);
    CHECK(merge.partial_state == scratchAddress + plan.scratch.offset(vkf::ScratchRange::rowState));
    CHECK(merge.o == 0x200000);
    CHECK(merge.lse == 0x30000);
    CHECK(merge.sinks == 0x40000);
    CHECK(merge.o_row_stride == 30 * 4);
    CHECK(merge.o_head_stride == 5 * 30 * 4);
    CHECK(merge.o_batch_stride == 6 * 5 * 30 * 4);
    CHECK(merge.heads == 6);
    CHECK(merge.rows == 5);
    CHECK(merge.row_count == 2 * 6 * 5);
}

TEST_CASE("merges of plans that differ in what no merge reads share a pipeline", "[record]") {
    const auto merge = [](uint32_t keys, VkfType type, uint32_t batch) {
        VkfProblem problem = problemOf({batch, 6, 3, 5, keys, 64, 32, type});
        problem.path = VKF_PATH_DECODE;
        problem.kvSplits = 4;
        vkf::enable(problem, VKF_USE_CAUSAL, batch > 1);
        problem.o.type = VKF_TYPE_F16;
        return Fixture(problem).plan.phases.back().variant;
    };
    CHECK(merge(200, VKF_TYPE_F32, 1) == merge(3000, VKF_TYPE_F16, 2));
}

TEST_CASE("several optional inputs go into a table, which is written before the kernels run", "[record]") {
    VkfProblem problem = problemOf({2, 3, 1, 20, 201, 64});
    problem.path = VKF_PATH_SCALAR;
    problem.use |= VKF_USE_ALIBI;
    vkf::enable(problem, VKF_USE_SINKS | VKF_USE_ALIBI_SLOPES | VKF_USE_DOCUMENT_IDS);
    problem.bias = {VKF_TYPE_F16, 0, 0, 0, 203};
    vkf::enable(problem, VKF_USE_BIAS);
    vkf::enable(problem, VKF_USE_BIAS_FACTORS);
    problem.mask = {VKF_TYPE_BOOL1, 0, 20000, 5000, 210};
    vkf::enable(problem, VKF_USE_MASK);
    problem.dropout = {0.5F, 0, 0};
    vkf::enable(problem, VKF_USE_DROPOUT_SEED);
    Fixture fixture(problem);
    const struct {
        VkfBinding VkfBindings::*binding;
        const char* name;
        uint64_t bytes;
    } needs[] = {
        {&VkfBindings::sinks, "sinks", 12},
        {&VkfBindings::alibiSlopes, "alibiSlopes", 12},
        {&VkfBindings::bias, "bias", (uint64_t{19} * 203 + 201 + 1) / 2 * 4},
        {&VkfBindings::mask, "mask", (uint64_t{20000} + 2 * 5000 + 19 * 210 + 201 + 31) / 32 * 4},
        {&VkfBindings::documentIds, "documentIds", uint64_t{2} * 201 * 4},
        {&VkfBindings::dropoutSeed, "dropoutSeed", 8},
        {&VkfBindings::biasFactors, "biasFactors", 12},
    };
    for (const auto& need : needs) {
        VkfBinding& binding = fixture.bindings.*need.binding;
        fixture.record(0, 1);
        CHECK(std::string(fixture.message.text) == std::string(need.name) +
                                                       " has neither address nor buffer; the call needs " +
                                                       std::to_string(need.bytes) + " bytes there");
        binding.address = 0x4000;
        binding.size = need.bytes - 1;
        fixture.record(0, 1);
        CHECK(fixture.result == VKF_ERROR_BINDING_TOO_SMALL);
        binding.size = need.bytes;
    }
    fixture.bindings.mask.address = 0x4002;
    fixture.record(0, 1);
    CHECK(std::string(fixture.message.text) == "the address of mask, 0x4002, is not aligned to 4 bytes");
    fixture.bindings.mask.address = 0x5000;
    const std::vector<Recorded> all = fixture.record(0, fixture.plan.steps());
    CHECK(fixture.result == VKF_SUCCESS);
    REQUIRE(all.size() > 4);
    CHECK(all[0].command == Command::bind);
    size_t place = 1;
    for (uint32_t piece = 0; piece < callTablePieces; piece++, place++) {
        CHECK(all[place].command == Command::dispatch);
    }
    CHECK(all[place].command == Command::barrier);
    const auto table =
        static_cast<uint32_t>(scratchAddress + fixture.plan.scratch.offset(vkf::ScratchRange::table)); // low half
    CHECK(static_cast<uint32_t>(pushed.extra_slot_low) == table);
    CHECK(fixture.plan.scratch.bytes() >=
          fixture.plan.scratch.offset(vkf::ScratchRange::table) + sizeof(vkf::shared::CallTable));

    // Together the pieces are the whole table.
    vkf::shared::CallTable from{};
    from.block_mask = 1;
    from.mask_stride[2] = 2;
    from.documents = 3;
    vkf::shared::CallTable to{};
    CHECK(vkf::tableBatches(vkf::wordsOf(from).subspan(vkf::firstUsedWord(from))) == callTablePieces);
    from.chosen_keys = 4;
    CHECK(vkf::firstUsedWord(from) == 0);
    const std::span<const uint32_t> words = vkf::wordsOf(from);
    for (uint32_t i = 0; i < vkf::tableBatches(words); i++) {
        const vkf::shared::TableBatch piece = vkf::tableBatch(words, 0x1000, i);
        std::memcpy(reinterpret_cast<char*>(&to) + (piece.to - 0x1000), piece.word, sizeof piece.word);
    }
    CHECK(std::memcmp(&from, &to, sizeof from) == 0);
}

TEST_CASE("packed sequences need their lengths, and list their tiles before they are read", "[record]") {
    VkfProblem problem = problemOf({3, 3, 1, 100, 201, 64});
    problem.path = VKF_PATH_SCALAR;
    vkf::enable(problem, VKF_USE_CU_SEQLENS);
    Fixture fixture(problem);
    for (const auto& [binding, name] :
         {std::pair{&VkfBindings::cuSeqlensQ, "cuSeqlensQ"}, std::pair{&VkfBindings::cuSeqlensK, "cuSeqlensK"}}) {
        fixture.record(0, 1);
        CHECK(std::string(fixture.message.text) ==
              std::string(name) + " has neither address nor buffer; the call needs 16 bytes there");
        (fixture.bindings.*binding).address = 0x4000;
        (fixture.bindings.*binding).size = 15;
        fixture.record(0, 1);
        CHECK(fixture.result == VKF_ERROR_BINDING_TOO_SMALL);
        (fixture.bindings.*binding).size = 16;
    }
    const vkf::AttentionPlan& plan = fixture.plan;
    const std::vector<Recorded> all = fixture.record(0, plan.steps());
    CHECK(fixture.result == VKF_SUCCESS);
    REQUIRE(all.size() > callTablePieces + 4);
    const size_t list = callTablePieces + 1; // behind the table
    CHECK(all[list].command == Command::bind);
    CHECK(all[list + 1].command == Command::dispatch);
    CHECK(all[list + 2].command == Command::barrier);
    CHECK(plan.tileSequences.count == 100 / plan.tile.rows + 3);
    CHECK(plan.scratch.bytes() >=
          plan.scratch.offset(vkf::ScratchRange::rowSequences) + uint64_t{4} * plan.tileSequences.count);
    const vkf::shared::SequenceList params = vkf::sequenceList(problem, plan.tileSequences, 0x4000, 100, 0x5000);
    CHECK(params.starts == 0x4000);
    CHECK(params.tile_sequences == 0x5000);
    CHECK(params.sequences == 3);
    CHECK(params.count == 100);
    CHECK(params.tile_rows == plan.tile.rows);
}

TEST_CASE("memory for an array that the problem does not have is refused", "[record]") {
    const std::pair<VkfBinding VkfBindings::*, const char*> strays[] = {
        {&VkfBindings::probabilityRows, "probabilityRows is bound, but the problem's use lacks "
                                        "VKF_USE_PROBABILITY_ROWS"},
        {&VkfBindings::sinks, "sinks is bound, but the problem's use lacks VKF_USE_SINKS"},
        {&VkfBindings::mask, "mask is bound, but the problem's use lacks VKF_USE_MASK"},
        {&VkfBindings::cuSeqlensK, "cuSeqlensK is bound, but the problem's use lacks VKF_USE_CU_SEQLENS"},
        {&VkfBindings::dropoutSeed, "dropoutSeed is bound, but the problem's use lacks VKF_USE_DROPOUT_SEED"},
    };
    for (const auto& [binding, text] : strays) {
        Fixture fixture;
        (fixture.bindings.*binding).address = 0x1000;
        CHECK(fixture.record(0, 1).empty());
        CHECK(fixture.result == VKF_ERROR_INVALID_ARGUMENT);
        CHECK(std::string(fixture.message.text) == text);
        fixture.bindings.*binding = {};
        fixture.record(0, 1);
        CHECK(fixture.result == VKF_SUCCESS);
    }
}

TEST_CASE("a plan with pages needs its block table, all of it", "[record]") {
    VkfProblem problem = problemOf({2, 3, 1, 20, 200, 64});
    problem.path = VKF_PATH_SCALAR;
    problem.use |= VKF_USE_CAUSAL;
    problem.paging = {16, 13, 40};
    vkf::enable(problem, VKF_USE_BLOCK_TABLE);
    Fixture fixture(problem);
    VkfBinding& table = fixture.bindings.blockTable;
    fixture.record(0, 1);
    CHECK(fixture.result == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(std::string(fixture.message.text) ==
          "blockTable has neither address nor buffer; the call needs 104 bytes there");
    table.address = 0x123456789abcdef0;
    table.size = sizeof(int32_t) * 2 * 13 - 1;
    fixture.record(0, 1);
    CHECK(fixture.result == VKF_ERROR_BINDING_TOO_SMALL);
    CHECK(std::string(fixture.message.text) == "blockTable needs 104 bytes; its binding has 103");
    table.size++;
    fixture.record(0, 1);
    CHECK(fixture.result == VKF_SUCCESS);
    CHECK(pushed.extra_slot_low == static_cast<int32_t>(0x9abcdef0U)); // where the shaders look for it
    CHECK(pushed.extra_slot_high == 0x12345678);
    CHECK(fixture.plan.phases[0].variant.constants[VKF_ID_WINDOW_RIGHT] == 0);
    table.address += 2;
    fixture.record(0, 1);
    CHECK(fixture.result == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(std::string(fixture.message.text).find("is not aligned to 4 bytes") != std::string::npos);
}

TEST_CASE("bindings of block types are as long as their blocks", "[record]") {
    VkfProblem problem = problemOf({1, 1, 1, 20, 200, 64});
    problem.path = VKF_PATH_SCALAR;
    problem.k.type = VKF_TYPE_Q5_0;
    Fixture fixture(problem);
    fixture.bindings.k.address = 0x1002; // blocks may begin at any even address
    fixture.bindings.k.size = 200 * 2 * 22;
    fixture.record(0, 1);
    CHECK(fixture.result == VKF_SUCCESS);
    fixture.bindings.k.size--;
    fixture.record(0, 1);
    CHECK(fixture.result == VKF_ERROR_BINDING_TOO_SMALL);
    fixture.bindings.k = {};
    fixture.bindings.k.address = 0x1001;
    fixture.record(0, 1);
    CHECK(fixture.result == VKF_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("a merge of more workgroups than a dispatch takes goes on in the next one", "[record]") {
    VkfContext_T context{VkfContextCreateInfo{}, vkf::test::capsOf(32, 49152, 1024), {}, writingDown()};
    VkfMerge_T merge{&context};
    merge.params.row_count = 1 + 8 * 2 * context.caps.maxGroupCount;
    merge.params.dim = 33;
    merge.rowsOfWorkgroup = 8;
    merge.columnsOfWorkgroup = 32;
    const auto bindings = vkf::make<VkfMergeBindings>();
    const auto commandBuffer = reinterpret_cast<VkCommandBuffer>(&merge); // nothing reads behind the handle
    recorded.clear();
    REQUIRE(vkfCmdMerge(commandBuffer, &merge, &bindings, nullptr) == VKF_SUCCESS);
    const uint32_t most = context.caps.maxGroupCount;
    const auto items = [](const Recorded& r) { return r.items; };
    REQUIRE(recorded.size() == 4);
    CHECK(items(recorded[1]) == most);
    CHECK(items(recorded[2]) == most);
    CHECK(items(recorded[3]) == 1);
    CHECK(dispatchedGroups == std::array<uint32_t, 3>{1, 2, 1});
    vkf::shared::MergeParams last{};
    REQUIRE(pushedBytes == sizeof last);
    std::memcpy(&last, &pushed, sizeof last);
    CHECK(last.first_item == 2 * most);
}
