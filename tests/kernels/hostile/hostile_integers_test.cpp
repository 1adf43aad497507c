// SPDX-License-Identifier: MIT
//
// Integers that the device reads hold anything: key lengths, block tables, cumulative lengths, documents, rows of
// probabilities. Nothing outside of the tensors may be read or written. Each array lies between forbidden pages. The
// first calls of each plan have legal integers, because random ones seldom lead to the last row of a tensor.
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "kernels/append_runs.hpp"
#include "kernels/hostile/fenced.hpp"
#include "kernels/random_problems.hpp"
#include "reference/backward_cases.hpp"
#include "support/call.hpp"
#include "support/dice.hpp"
#include "support/lacking.hpp"
#include "support/variations.hpp"

namespace {

using vkf::test::Data;
using vkf::test::Dice;
using vkf::test::Fenced;
using vkf::test::Inputs;
using vkf::test::Variation;

constexpr uint64_t fencedBytes = 512 << 20;
constexpr uint32_t callsOfPlan = 10; // most of the time goes into compiling a plan
constexpr uint32_t legalCalls = 2;   // the first calls of a plan, whose integers are legal

// Numbers at the borders of all ranges, random ones, and small ones.
int32_t hostile(Dice& dice) {
    constexpr int32_t least = std::numeric_limits<int32_t>::min();
    constexpr int32_t most = std::numeric_limits<int32_t>::max();
    constexpr std::array<uint32_t, 9> borders = {
        static_cast<uint32_t>(least),    static_cast<uint32_t>(least) + 1, 0xffffffffU, 0xfffffffeU, 0, 1, 0x10000,
        static_cast<uint32_t>(most) - 1, static_cast<uint32_t>(most)};
    if (dice.oneIn(3)) {
        return static_cast<int32_t>(dice.of(borders));
    }
    return static_cast<int32_t>(dice.oneIn(3) ? dice.below(0xffffffffU) : dice.below(300));
}

void makeHostile(Dice& dice, std::vector<int32_t>& numbers) {
    for (int32_t& x : numbers) {
        x = hostile(dice);
    }
}

// Pages that the block table names by any number.
void makePaged(Dice& dice, VkfProblem& p, Data& data) {
    p.k = p.v = vkf::dense(p.k.type);
    vkf::test::setPages(p, 1 + dice.below(80), dice.below(3));
    vkf::enable(p, VKF_USE_KEY_LENGTHS);
    data.keyLengths.assign(p.batch, static_cast<int32_t>(p.keys));
}

// k and v of block types. Most calls may convert them in scratch memory.
void makeBlocks(Dice& dice, VkfProblem& p) {
    constexpr std::array<VkfType, 8> blockTypes = {VKF_TYPE_Q8_0, VKF_TYPE_Q4_0,   VKF_TYPE_Q4_1,    VKF_TYPE_Q5_0,
                                                   VKF_TYPE_Q5_1, VKF_TYPE_IQ4_NL, VKF_TYPE_F8_E4M3, VKF_TYPE_F8_E5M2};
    p.headDim = 32 * (1 + dice.below(8));
    p.valueDim = dice.oneIn(2) ? p.headDim : 32 * (1 + dice.below(8));
    p.q = vkf::dense(VKF_TYPE_F16);
    p.k = vkf::dense(blockTypes[dice.below(blockTypes.size())]);
    p.v = vkf::dense(blockTypes[dice.below(blockTypes.size())]);
    p.o = vkf::dense(p.o.type);
    p.maxScratchBytes = dice.oneIn(4) ? 1 : fencedBytes / 4;
}

VkfProblem hostileProblem(Dice& dice, Data& data, const Variation& variation, bool blocks) {
    const vkf::test::Shape shape = vkf::test::randomShape(dice);
    const bool packed = variation.path != VKF_PATH_STANDARD && variation.path != VKF_PATH_KEY_OUTER && dice.oneIn(2);
    const auto lengths = packed ? vkf::test::randomLengths(dice, shape) : vkf::test::Lengths{};
    VkfProblem p = vkf::test::randomProblem(dice, data, packed ? together(shape, lengths) : shape);
    if (blocks) {
        makeBlocks(dice, p);
    } else if ((variation.quirks & VKF_QUIRK_FP16X3) != 0) {
        p.q.type = p.k.type = p.v.type = VKF_TYPE_F32;
    } else if (dice.oneIn(2) || variation.path == VKF_PATH_COOPMAT) {
        p.q.type = p.k.type = p.v.type = VKF_TYPE_F16;
    }
    if (vkf::test::wantsFp32(deviceOf(variation), {p.q.type, p.k.type, p.v.type, p.o.type})) {
        p.q.type = p.k.type = p.v.type = p.o.type = VKF_TYPE_F32;
    }
    if (packed) {
        vkf::test::setPacked(p, data, lengths.rows, lengths.keys);
    } else if (dice.oneIn(2)) {
        makePaged(dice, p, data);
    }
    vkf::test::chooseTerms(dice, variation.path, p);
    vkf::enable(p, VKF_USE_PROBABILITIES, !packed && dice.oneIn(3));
    p.probabilityRowCount = vkf::has(p, VKF_USE_PROBABILITIES) ? dice.below(12) : 0;
    vkf::enable(p, VKF_USE_PROBABILITY_ROWS, p.probabilityRowCount != 0);
    vkf::test::choosePositions(p, data);
    vkf::test::chooseLists(variation, p, data);
    if (variation.path == VKF_PATH_WGMMA) {
        vkf::test::fitToWgmma(p);
    }
    vkf::test::setScales(p, p.kvHeads, 1);
    apply(variation, p);
    return p;
}

uint64_t wholeMultiple(uint64_t bytes, uint64_t of) { return (bytes + of - 1) / of * of; }

// Whether an array begins at a forbidden page, or ends at one. The arrays of the first call of a plan all end at one,
// those of the second call begin at one.
bool beginsAtFence(Dice& dice, uint32_t call) { return call < legalCalls ? call != 0 : dice.oneIn(2); }

// The bindings of a call whose arrays all lie in fenced memory. `alignment`: of q, k and v.
VkfBindings fencedBindings(Fenced& memory, Dice& dice, uint32_t call, const VkfProblem& p, const Inputs& inputs,
                           uint64_t alignment) {
    const auto in = [&](const auto& values) { return memory.place(values, beginsAtFence(dice, call)); };
    const auto inIf = [&](VkfUseBits array, const auto& values) {
        return vkf::has(p, array) ? in(values) : VkfBinding{};
    };
    // Some bytes may lie between such an array and the forbidden page behind it.
    const auto inWords = [&](std::vector<std::byte> values) {
        values.resize(wholeMultiple(values.size(), alignment));
        return in(values);
    };
    const VkfTensorLayout o = vkf::layoutOf(p, VKF_TENSOR_O);
    const uint64_t lse = uint64_t{o.batch} * o.heads * o.rows;
    const uint64_t rows = vkf::has(p, VKF_USE_PROBABILITY_ROWS) ? p.probabilityRowCount : p.queryRows;
    const uint64_t probabilities = uint64_t{p.batch} * p.queryHeads * rows * p.keys;
    auto bindings = vkf::make<VkfBindings>();
    bindings.q = inWords(inputs.q);
    bindings.k = inWords(inputs.k);
    bindings.v = inWords(inputs.v);
    bindings.keyLengths = inIf(VKF_USE_KEY_LENGTHS, inputs.keyLengths);
    bindings.blockTable = inIf(VKF_USE_BLOCK_TABLE, inputs.blockTable);
    bindings.sinks = inIf(VKF_USE_SINKS, inputs.sinks);
    bindings.alibiSlopes = inIf(VKF_USE_ALIBI_SLOPES, inputs.alibiSlopes);
    bindings.bias = inIf(VKF_USE_BIAS, inputs.bias);
    bindings.biasFactors = inIf(VKF_USE_BIAS_FACTORS, inputs.biasFactors);
    bindings.rowOffsets = inIf(VKF_USE_ROW_OFFSETS, inputs.rowOffsets);
    bindings.kvScales = inIf(VKF_USE_KV_SCALES, inputs.kvScales);
    bindings.chosenKeys = inIf(VKF_USE_CHOSEN_KEYS, inputs.chosenKeys);
    bindings.mask = inIf(VKF_USE_MASK, inputs.mask);
    bindings.documentIds = inIf(VKF_USE_DOCUMENT_IDS, inputs.documentIds);
    bindings.cuSeqlensQ = inIf(VKF_USE_CU_SEQLENS, inputs.cuSeqlensQ);
    bindings.cuSeqlensK = inIf(VKF_USE_CU_SEQLENS, inputs.cuSeqlensK);
    bindings.probabilityRows = inIf(VKF_USE_PROBABILITY_ROWS, inputs.probabilityRows);
    bindings.o = memory.place(o.elements * vkfTypeBytes(o.type), beginsAtFence(dice, call));
    bindings.lse = vkf::has(p, VKF_USE_LSE) ? memory.place(lse * 4, beginsAtFence(dice, call)) : VkfBinding{};
    bindings.probabilities =
        vkf::has(p, VKF_USE_PROBABILITIES) ? memory.place(probabilities * 4, beginsAtFence(dice, call)) : VkfBinding{};
    return bindings;
}

// Sets the integers that the device reads.
void makeHostile(Dice& dice, Inputs& inputs) {
    for (std::vector<int32_t>* numbers :
         {&inputs.keyLengths, &inputs.blockTable, &inputs.documentIds, &inputs.cuSeqlensQ, &inputs.cuSeqlensK,
          &inputs.probabilityRows, &inputs.rowOffsets, &inputs.chosenKeys}) {
        makeHostile(dice, *numbers);
    }
}

// Runs calls of one plan. The seed reproduces them. Returns false if the variation does not take the problem.
bool runHostile(Fenced& memory, const Variation& variation, uint32_t seed, bool blocks) {
    Dice dice(seed);
    Data data;
    data.seed = seed;
    const VkfProblem problem = hostileProblem(dice, data, variation, blocks);
    vkf::host::Device& device = deviceOf(variation);
    if (vkfCheckSupport(device.context(), &problem, nullptr) != VKF_SUCCESS) {
        return false;
    }
    INFO("seed " << seed << " on " << variation.name << ": " << vkf::test::describe(problem));
    Inputs inputs = vkf::test::makeInputs(problem, data);
    const vkf::host::Plan plan(device, problem);
    for (uint32_t call = 0; call < callsOfPlan; call++) {
        INFO("call " << call);
        if (call >= legalCalls) {
            makeHostile(dice, inputs);
        }
        memory.clear();
        VkfBindings bindings = fencedBindings(memory, dice, call, problem, inputs, plan.info().inputAlignment);
        bindings.scratch = memory.place(plan.info().scratchBytes, true);
        device.submit([&](VkCommandBuffer commands) {
            VkfMessage message{};
            const VkfResult result = vkfCmdAttention(commands, plan.handle(), &bindings, &message);
            INFO(message.text);
            CHECK(result == VKF_SUCCESS);
        });
    }
    return true;
}

// Runs `problems` problems on each variation that the device has. Path decode on matrices gets four times as many,
// because it has many ways to load k and v.
void runHostile(uint32_t problems, bool blocks) {
    for (const Variation& variation : vkf::test::offeredVariations()) {
        std::optional<Fenced> memory = Fenced::create(deviceOf(variation), fencedBytes);
        if (!memory) {
            SKIP("the device's addresses are not addresses of this process");
        }
        const bool takesBlocks = variation.path != VKF_PATH_STANDARD && variation.path != VKF_PATH_KEY_OUTER &&
                                 variation.path != VKF_PATH_WGMMA;
        if (vkf::test::leavesOut(deviceOf(variation), variation.path) || (blocks && !takesBlocks)) {
            continue;
        }
        const bool many =
            variation.path == VKF_PATH_DECODE && variation.quirks == 0 && variation.precision == VKF_PRECISION_DEFAULT;
        const uint32_t wanted = many ? 4 * problems : problems;
        uint32_t ran = 0;
        for (uint32_t seed = 1; ran < wanted; seed++) {
            INFO(variation.name << ": " << ran << " problems of the first " << seed);
            REQUIRE(seed <= 50 * wanted);
            ran += runHostile(*memory, variation, seed, blocks) ? 1 : 0;
        }
    }
}

// Runs calls of one backward pass. Its inputs o, lse and dout are NaN, because only addresses count here.
void runHostileBackward(Fenced& memory, const Variation& variation, uint32_t seed) {
    if (vkf::test::leavesOut(deviceOf(variation), variation.path)) {
        return;
    }
    Dice dice(seed);
    Data data;
    data.seed = seed;
    VkfProblem forward = hostileProblem(dice, data, variation, false);
    forward.use &= ~static_cast<VkfUse>(VKF_USE_PROBABILITIES | VKF_USE_PROBABILITY_ROWS);
    forward.probabilityRowCount = 0;
    vkf::enable(forward, VKF_USE_LSE);
    const VkfBackwardProblem problem = vkf::test::backwardOf(forward);
    vkf::host::Device& device = deviceOf(variation);
    vkf::Backward backward;
    VkfMessage message{};
    if (vkfCreateBackward(device.context(), &problem, backward.put(), &message) != VKF_SUCCESS) {
        return;
    }
    auto info = vkf::make<VkfBackwardInfo>();
    REQUIRE(vkfGetBackwardInfo(backward.get(), &info, &message) == VKF_SUCCESS);
    INFO("seed " << seed << ", backward, on " << variation.name << ": " << vkf::test::describe(forward));
    Inputs inputs = vkf::test::makeInputs(forward, data);
    for (uint32_t call = 0; call < callsOfPlan; call++) {
        INFO("call " << call);
        if (call >= legalCalls) {
            makeHostile(dice, inputs);
        }
        memory.clear();
        const VkfBindings of = fencedBindings(memory, dice, call, forward, inputs, info.inputAlignment);
        const auto room = [&](VkfBackwardRole role) {
            const VkfTensorLayout layout = vkf::layoutOf(problem, role);
            const uint64_t bytes = layout.elements * vkfTypeBytes(layout.type);
            return memory.place(wholeMultiple(bytes, info.inputAlignment), beginsAtFence(dice, call));
        };
        auto bindings = vkf::make<VkfBackwardBindings>();
        bindings.forward = &of;
        bindings.dout = room(VKF_BACKWARD_DOUT);
        bindings.dq = room(VKF_BACKWARD_DQ);
        bindings.dk = room(VKF_BACKWARD_DK);
        bindings.dv = room(VKF_BACKWARD_DV);
        bindings.scratch = memory.place(info.scratchBytes, true);
        device.submit([&](VkCommandBuffer commands) {
            const VkfResult result = vkfCmdBackward(commands, backward.get(), &bindings, &message);
            INFO(message.text);
            CHECK(result == VKF_SUCCESS);
        });
    }
}

// A cache with or without pages. Rows and queries turn.
VkfAppendProblem hostileAppend(Dice& dice) {
    VkfAppendProblem p = vkf::test::appendOf(
        {1 + dice.below(4), 1 + dice.below(3), 1 + dice.below(9), 1 + dice.below(90), 32 * (1 + dice.below(3))});
    constexpr std::array<VkfType, 4> types = {VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_Q8_0, VKF_TYPE_Q4_0};
    p.k.type = types[dice.below(4)];
    p.v.type = types[dice.below(4)];
    p.newK.type = p.newV.type = types[dice.below(2)];
    p.rotary.pairs = VKF_ROTARY_HALVES;
    if (dice.oneIn(2)) {
        vkf::enable(p, VKF_USE_BLOCK_TABLE);
        p.paging.pageSize = 1 + dice.below(40);
        p.paging.maxPages = (p.keys - 1) / p.paging.pageSize + 1;
        p.paging.pages = 1 + dice.below(p.batch * p.paging.maxPages);
    }
    return p;
}

void runHostileAppend(Fenced& memory, uint32_t seed) {
    Dice dice(seed);
    const VkfAppendProblem problem = vkf::test::fittedAppend(hostileAppend(dice));
    const vkf::test::AppendLayouts layout = vkf::test::layoutsOf(problem);
    const uint64_t pages = vkf::has(problem, VKF_USE_BLOCK_TABLE) ? problem.paging.maxPages : 0;
    vkf::Append append;
    VkfMessage message{};
    INFO("seed " << seed);
    REQUIRE(vkfCreateAppend(vkf::test::testDevice().context(), &problem, append.put(), &message) == VKF_SUCCESS);
    for (uint32_t call = 0; call < callsOfPlan; call++) {
        INFO("call " << call);
        std::vector<int32_t> lengths(problem.batch);
        std::vector<int32_t> table(problem.batch * pages);
        makeHostile(dice, lengths);
        makeHostile(dice, table);
        memory.clear();
        const auto room = [&](uint64_t bytes) { return memory.place(bytes, dice.oneIn(2)); };
        auto bindings = vkf::make<VkfAppendBindings>();
        bindings.newK = room(vkf::test::bytesOf(layout.newK));
        bindings.newV = room(vkf::test::bytesOf(layout.newV));
        bindings.k = room(vkf::test::bytesOf(layout.k));
        bindings.v = room(vkf::test::bytesOf(layout.v));
        bindings.lengths = memory.place(lengths, dice.oneIn(2));
        bindings.newLengths = room(lengths.size() * sizeof(int32_t));
        bindings.blockTable = memory.place(table, dice.oneIn(2));
        vkf::test::testDevice().submit([&](VkCommandBuffer commands) {
            INFO(message.text);
            CHECK(vkfCmdAppend(commands, append.get(), &bindings, &message) == VKF_SUCCESS);
        });
        vkf::test::testDevice().submit([&](VkCommandBuffer commands) {
            CHECK(vkfCmdAdvance(commands, append.get(), &bindings.lengths, &message) == VKF_SUCCESS);
        });
    }
}

} // namespace

TEST_CASE("integers of any value make no kernel touch memory outside of the tensors", "[hostile]") {
    runHostile(vkf::test::wholeSweeps() ? 12 : 1, false);
}

TEST_CASE("integers of any value make no kernel touch memory outside of tensors of block types", "[hostile]") {
    runHostile(vkf::test::wholeSweeps() ? 12 : 1, true);
}

TEST_CASE("integers of any value make no backward pass touch memory outside of the tensors", "[hostile]") {
    for (const uint32_t number : {0U, 4U, 5U}) {
        const uint32_t seeds = vkf::test::wholeSweeps() ? 24 : number == 5 ? 1 : 2;
        const Variation& variation = vkf::test::variations[number];
        std::optional<Fenced> memory = Fenced::create(deviceOf(variation), fencedBytes);
        if (!memory) {
            SKIP("the device's addresses are not addresses of this process");
        }
        for (uint32_t seed = 1; seed <= seeds; seed++) {
            runHostileBackward(*memory, variation, seed);
        }
    }
}

TEST_CASE("lengths and pages of any value make no append touch memory outside of the tensors", "[hostile]") {
    std::optional<Fenced> memory = Fenced::create(vkf::test::testDevice(), fencedBytes);
    if (!memory) {
        SKIP("the device's addresses are not addresses of this process");
    }
    for (uint32_t seed = 1; seed <= (vkf::test::wholeSweeps() ? 50 : 6); seed++) {
        runHostileAppend(*memory, seed);
    }
}
