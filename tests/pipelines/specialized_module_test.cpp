// SPDX-License-Identifier: MIT
#include "pipelines/specialized_module.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "pipelines/constant_operations.hpp"
#include "pipelines/shader_table.hpp"
#include "pipelines/spirv_module.hpp"
#include "pipelines/variant.hpp"

namespace {

using vkf::Known;
using Words = std::vector<uint32_t>;

struct Line {
    uint32_t opcode;
    Words operands;
};

Words moduleOf(const std::vector<Line>& lines) {
    Words words = {0x07230203, 0x00010500, 0, 100, 0};
    for (const Line& line : lines) {
        words.push_back(vkf::headOf(line.opcode, static_cast<uint32_t>(line.operands.size()) + 1));
        words.insert(words.end(), line.operands.begin(), line.operands.end());
    }
    return words;
}

// Ids of the modules below.
enum Id : uint32_t {
    MAIN = 1,
    BOOL,
    UINT,
    VOID,
    SWITCH,
    COUNT,
    TWO,
    IS_MANY,
    HELPER,
    RESULT,
    JOINED,
    CALLED,
    FIRST_LABEL
};

// Before the functions stand the boolean constant 0, the integer constant 1, and whether the integer is above 2.
std::vector<Line> globals() {
    return {{vkf::opEntryPoint, {5, MAIN, 0}},
            {vkf::opName, {HELPER, 0}},
            {vkf::opName, {RESULT, 0}},
            {vkf::opDecorate, {SWITCH, vkf::specIdDecoration, 0}},
            {vkf::opDecorate, {COUNT, vkf::specIdDecoration, 1}},
            {vkf::opTypeBool, {BOOL}},
            {vkf::opTypeInt, {UINT, 32, 0}},
            {vkf::opSpecConstantTrue, {BOOL, SWITCH}},
            {vkf::opSpecConstant, {UINT, COUNT, 5}},
            {vkf::opConstant, {UINT, TWO, 2}},
            {vkf::opSpecConstantOp, {BOOL, IS_MANY, vkf::opUGreaterThan, COUNT, TWO}}};
}

// What specialization makes of them. Names go with what they belong to.
std::vector<Line> globals(bool switched, uint32_t count, bool hasHelper) {
    std::vector<Line> lines = {{vkf::opEntryPoint, {5, MAIN, 0}}};
    if (hasHelper) {
        lines.insert(lines.end(), {{vkf::opName, {HELPER, 0}}, {vkf::opName, {RESULT, 0}}});
    }
    lines.insert(lines.end(), {{vkf::opTypeBool, {BOOL}},
                               {vkf::opTypeInt, {UINT, 32, 0}},
                               {switched ? vkf::opConstantTrue : vkf::opConstantFalse, {BOOL, SWITCH}},
                               {vkf::opConstant, {UINT, COUNT, count}},
                               {vkf::opConstant, {UINT, TWO, 2}},
                               {count > 2 ? vkf::opConstantTrue : vkf::opConstantFalse, {BOOL, IS_MANY}}});
    return lines;
}

const std::vector<Line> helper = {{vkf::opFunction, {UINT, HELPER, 0, VOID}},
                                  {vkf::opLabel, {50}},
                                  {vkf::opLine, {BOOL, 900, 1}}, // a line of source, which is no id
                                  {vkf::opCopyObject, {UINT, RESULT, COUNT}},
                                  {vkf::opReturnValue, {TWO}},
                                  {vkf::opFunctionEnd, {}}};

constexpr uint32_t START = FIRST_LABEL;
constexpr uint32_t THEN = START + 1;
constexpr uint32_t END = START + 2;

// If SWITCH, calls HELPER; joins its result with COUNT.
std::vector<Line> callsHelper() {
    return {{vkf::opFunction, {VOID, MAIN, 0, VOID}},
            {vkf::opLabel, {START}},
            {vkf::opSelectionMerge, {END, 0}},
            {vkf::opBranchConditional, {SWITCH, THEN, END}},
            {vkf::opLabel, {THEN}},
            {vkf::opFunctionCall, {UINT, CALLED, HELPER}},
            {vkf::opBranch, {END}},
            {vkf::opLabel, {END}},
            {vkf::opPhi, {UINT, JOINED, COUNT, START, CALLED, THEN}},
            {vkf::opReturn, {}},
            {vkf::opFunctionEnd, {}}};
}

std::vector<Line> operator+(std::vector<Line> a, const std::vector<Line>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

// Labels that a function names but lacks, functions that the module calls but lacks, and constants that are made of
// specialization constants.
size_t countFaults(const Words& words) {
    const vkf::SpirvModule module{vkf::Instruction(words)};
    size_t faults = 0;
    std::set<uint32_t> open;
    for (const vkf::Instruction instruction : module.globals()) {
        const uint32_t opcode = vkf::opcodeOf(instruction);
        if (opcode >= vkf::opSpecConstantTrue && opcode <= vkf::opSpecConstantOp) {
            open.insert(instruction[2]);
        } else if (opcode == vkf::opConstantComposite) {
            faults += static_cast<size_t>(std::count_if(instruction.begin() + 3, instruction.end(),
                                                        [&](uint32_t id) { return open.contains(id); }));
        }
    }
    for (const vkf::Function& function : module.functions()) {
        std::set<uint32_t> labels;
        for (const vkf::Block& block : function.blocks) {
            labels.insert(block.label);
        }
        const auto need = [&](uint32_t label) { faults += labels.contains(label) ? 0 : 1; };
        for (const vkf::Block& block : function.blocks) {
            if (!block.merge.empty()) {
                need(block.merge[1]);
            }
            const uint32_t end = vkf::opcodeOf(block.end);
            if (end == vkf::opBranch || end == vkf::opBranchConditional) {
                need(block.end[end == vkf::opBranch ? 1 : 2]);
                need(block.end[end == vkf::opBranch ? 1 : 3]);
            }
            for (const vkf::Instruction instruction : block.body) {
                if (vkf::opcodeOf(instruction) == vkf::opFunctionCall) {
                    faults += std::any_of(module.functions().begin(), module.functions().end(),
                                          [&](const vkf::Function& one) { return one.id == instruction[3]; })
                                  ? 0
                                  : 1;
                } else if (vkf::opcodeOf(instruction) == vkf::opPhi) {
                    need(instruction[4]);
                }
            }
        }
    }
    return faults;
}

} // namespace

TEST_CASE("operations on constants give what the specification says, or nothing", "[planning]") {
    const auto result = [](uint32_t opcode, std::vector<Known> operands) { return vkf::resultOf(opcode, operands); };
    constexpr uint32_t minusOne = 0xffffffff;
    CHECK(result(vkf::opIAdd, {2, minusOne}) == 1U);
    CHECK(result(vkf::opUDiv, {minusOne, 2}) == 0x7fffffffU);
    CHECK(result(vkf::opSDiv, {minusOne - 6, 2}) == minusOne - 2U); // towards 0
    CHECK(result(vkf::opUMod, {7, 4}) == 3U);
    CHECK(result(vkf::opUGreaterThan, {minusOne, 1}) == 1U);
    CHECK(result(vkf::opSGreaterThan, {minusOne, 1}) == 0U);
    CHECK(result(vkf::opShiftRightLogical, {minusOne, 28}) == 15U);
    CHECK(result(vkf::opSelect, {0, {}, 9}) == 9U);
    for (const uint32_t divides : {vkf::opUDiv, vkf::opSDiv, vkf::opUMod}) {
        CHECK(result(divides, {1, 0}) == Known());
    }
    CHECK(result(vkf::opSDiv, {0x80000000U, minusOne}) == Known());
    CHECK(result(vkf::opShiftLeftLogical, {1, 32}) == Known()); // by all bits
    CHECK(result(vkf::opIAdd, {1, {}}) == Known());             // an operand is not known
    CHECK(result(9999, {1, 1}) == Known());                     // not an operation of the table
    CHECK(result(vkf::opLogicalAnd, {{}, 0}) == 0U);
    CHECK(result(vkf::opLogicalAnd, {{}, 1}) == Known());
    CHECK(result(vkf::opLogicalAnd, {1, 1}) == 1U);
    CHECK(result(vkf::opLogicalOr, {1, {}}) == 1U);
    CHECK(result(vkf::opLogicalOr, {0, {}}) == Known());
    CHECK(result(vkf::opLogicalOr, {0, 0}) == 0U);
}

TEST_CASE("a branch that a constant switches off goes, and the function that only it calls", "[planning]") {
    const Words module = moduleOf(globals() + callsHelper() + helper);
    constexpr std::array<uint32_t, 2> off = {0, 1};
    const std::vector<Line> main = {{vkf::opFunction, {VOID, MAIN, 0, VOID}},
                                    {vkf::opLabel, {START}},
                                    {vkf::opBranch, {END}},
                                    {vkf::opLabel, {END}},
                                    {vkf::opPhi, {UINT, JOINED, COUNT, START}},
                                    {vkf::opReturn, {}},
                                    {vkf::opFunctionEnd, {}}};
    CHECK(vkf::specialized(module, off) == moduleOf(globals(false, 1, false) + main));
}

TEST_CASE("a branch that a constant switches on stays, and constants have their default", "[planning]") {
    const Words module = moduleOf(globals() + callsHelper() + helper);
    const std::vector<Line> main = {{vkf::opFunction, {VOID, MAIN, 0, VOID}},
                                    {vkf::opLabel, {START}},
                                    {vkf::opBranch, {THEN}},
                                    {vkf::opLabel, {THEN}},
                                    {vkf::opFunctionCall, {UINT, CALLED, HELPER}},
                                    {vkf::opBranch, {END}},
                                    {vkf::opLabel, {END}},
                                    {vkf::opPhi, {UINT, JOINED, CALLED, THEN}},
                                    {vkf::opReturn, {}},
                                    {vkf::opFunctionEnd, {}}};
    CHECK(vkf::specialized(module, {}) == moduleOf(globals(true, 5, true) + main + helper));
}

TEST_CASE("conditions follow what a function returns and where paths join", "[planning]") {
    constexpr uint32_t LESS = 40;
    // JOINED is 2 on both paths if SWITCH is off, or if COUNT is 2.
    std::vector<Line> main = callsHelper();
    main.resize(main.size() - 2);
    main.insert(main.end(), {{vkf::opSLessThan, {BOOL, LESS, JOINED, COUNT}},
                             {vkf::opSelectionMerge, {42, 0}},
                             {vkf::opBranchConditional, {LESS, 41, 42}},
                             {vkf::opLabel, {41}},
                             {vkf::opBranch, {42}},
                             {vkf::opLabel, {42}},
                             {vkf::opReturn, {}},
                             {vkf::opFunctionEnd, {}}});
    const Words module = moduleOf(globals() + main + helper);
    const auto blocks = [&](uint32_t switched, uint32_t count) {
        const Words made = vkf::specialized(module, std::array{switched, count});
        return vkf::SpirvModule{vkf::Instruction(made)}.function(MAIN).blocks.size();
    };
    CHECK(blocks(0, 7) == 3); // 7 < 7
    CHECK(blocks(1, 7) == 5); // 2 < 7
    CHECK(blocks(1, 2) == 4); // 2 < 2
}

TEST_CASE("blocks that a loop needs stay, and values from outside the module decide nothing", "[planning]") {
    constexpr uint32_t HEAD = 30;
    constexpr uint32_t BODY = 31;
    constexpr uint32_t CONTINUE = 32;
    constexpr uint32_t AFTER = 33;
    constexpr uint32_t INDEX = 34;
    constexpr uint32_t NEXT = 35;
    const auto loop = [&](const std::vector<Line>& body, const Line& index) {
        return std::vector<Line>{{vkf::opFunction, {VOID, MAIN, 0, VOID}},
                                 {vkf::opLabel, {START}},
                                 {vkf::opBranch, {HEAD}},
                                 {vkf::opLabel, {HEAD}},
                                 index,
                                 {vkf::opLoopMerge, {AFTER, CONTINUE, 0}},
                                 {vkf::opBranch, {BODY}},
                                 {vkf::opLabel, {BODY}}} +
               body;
    };
    const std::vector<Line> end = {{vkf::opLabel, {AFTER}}, {vkf::opReturn, {}}, {vkf::opFunctionEnd, {}}};
    const Words module = moduleOf(globals() +
                                  loop({{vkf::opBranchConditional, {SWITCH, AFTER, CONTINUE}},
                                        {vkf::opLabel, {CONTINUE}},
                                        {vkf::opIAdd, {UINT, NEXT, INDEX, TWO}},
                                        {vkf::opBranch, {HEAD}}},
                                       {vkf::opPhi, {UINT, INDEX, COUNT, START, NEXT, CONTINUE}}) +
                                  end);
    // The loop ends in its first turn: its continuation has no code, and never runs.
    const std::vector<Line> once = loop({{vkf::opBranch, {AFTER}}, {vkf::opLabel, {CONTINUE}}, {vkf::opBranch, {HEAD}}},
                                        {vkf::opPhi, {UINT, INDEX, COUNT, START, INDEX, CONTINUE}}) +
                                   end;
    CHECK(vkf::specialized(module, std::array{1U, 1U}) == moduleOf(globals(true, 1, true) + once));
    // It never ends: what stands behind it is unreachable.
    const std::vector<Line> endless =
        loop({{vkf::opBranch, {CONTINUE}},
              {vkf::opLabel, {CONTINUE}},
              {vkf::opIAdd, {UINT, NEXT, INDEX, TWO}},
              {vkf::opBranch, {HEAD}}},
             {vkf::opPhi, {UINT, INDEX, COUNT, START, NEXT, CONTINUE}}) +
        std::vector<Line>{{vkf::opLabel, {AFTER}}, {vkf::opUnreachable, {}}, {vkf::opFunctionEnd, {}}};
    CHECK(vkf::specialized(module, std::array{0U, 1U}) == moduleOf(globals(false, 1, true) + endless));
}

TEST_CASE("a specialized shader is whole, and has nothing left to specialize", "[planning]") {
    constexpr vkf::Constants zeros{};
    vkf::Constants ones;
    ones.fill(1);
    for (const vkf::ShaderBinary& binary : std::span(vkf::shaderBinaries, vkf::shaderBinariesCount)) {
        if (binary.units == nullptr) {
            continue;
        }
        CAPTURE(binary.name);
        const Words words = binary.words();
        REQUIRE(countFaults(words) == 0);
        for (const std::span<const uint32_t> constants : {std::span<const uint32_t>(), {zeros}, {ones}}) {
            const Words made = vkf::specialized(words, constants);
            CHECK(made.size() <= words.size());
            CHECK(countFaults(made) == 0);
            CHECK(vkf::specialized(made, constants) == made);
        }
    }
}
