// SPDX-License-Identifier: MIT
#include "planning/backward/backward_plan.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/message.hpp"
#include "planning/backward/backward_phases.hpp"
#include "planning/call_table.hpp"
#include "planning/counts.hpp"
#include "problem/masks/mask_layout.hpp"
#include "problem/strides.hpp"
#include "tiles/kernel_tile.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

constexpr uint32_t stateWorkgroupSize = 128; // Vulkan guarantees this many invocations
constexpr uint32_t maxStateLanes = 32;

// Number of sequences, heads or rows of dbias that differ.
uint32_t differing(uint64_t stride, uint32_t requested, uint32_t count) {
    return stride == 0 ? 1 : repeatedCount(requested, count);
}

shared::BackwardTensor stridesOf(const VkfTensorLayout& layout) {
    const ByteStrides strides = byteStrides(layout);
    return {0, strides.batch, strides.head, strides.row};
}

// Fills in the table of the call, all but addresses.
void fillTable(const CheckedBackward& backward, BackwardPlan* plan) {
    const VkfProblem& p = backward.forward.fields;
    shared::BackwardTable& table = plan->table;
    table.dq = stridesOf(backward.layout(VKF_BACKWARD_DQ));
    table.dk = stridesOf(backward.layout(VKF_BACKWARD_DK));
    table.dv = stridesOf(backward.layout(VKF_BACKWARD_DV));
    table.kv_heads = p.kvHeads;
    table.scale = p.scale;
    if (backward.biasElements != 0) {
        const uint64_t bytes = vkfTypeBytes(backward.fields.dbiasType);
        table.dbias = {0, p.bias.batchStride * bytes, p.bias.headStride * bytes, p.bias.rowStride * bytes};
        table.bias_sequences = differing(p.bias.batchStride, p.bias.sequences, p.batch);
        table.bias_heads = differing(p.bias.headStride, p.bias.heads, p.queryHeads);
        table.bias_rows = differing(p.bias.rowStride, 0, longestRowsOf(p));
    }
}

// Adds the phase that writes the state of all rows.
VkfResult buildState(const BackwardPhaseBuilder& builder, BackwardPlan* plan, BackwardPhases* phases,
                     VkfMessage* message) {
    const CheckedProblem& forward = builder.forward();
    const VkfProblem& p = forward.fields;
    if (const VkfResult result = checkRowCount(forward, 1, message); result != VKF_SUCCESS) {
        return result;
    }
    const uint64_t rows = builder.heads() * p.queryRows;
    plan->scratch.reserve(ScratchRange::rowState, rows * 2 * sizeof(float));
    if (rows == 0) {
        return VKF_SUCCESS;
    }
    const uint32_t lanes = std::min(std::bit_ceil((p.valueDim + 3) / 4), maxStateLanes);
    const uint32_t rowsOfWorkgroup = stateWorkgroupSize / lanes;
    Constants constants{};
    constants[VKF_ID_WORKGROUP_SIZE] = stateWorkgroupSize;
    constants[VKF_ID_STATE_LANES] = lanes;
    constants[VKF_ID_SEQUENCES] = tensorSequences(p);
    Phase& state = phases->rowState.emplace();
    const VkfResult result =
        builder.make(Kernel::backwardRows, constants,
                     {{{Operand::o, byteStrides(forward.layout(VKF_TENSOR_O)), "o"},
                       {Operand::dout, byteStrides(builder.backward().layout(VKF_BACKWARD_DOUT)), "dout"},
                       {Operand::dlse, {}, "dlse"},
                       {Operand::scratchState, {}, "scratch"}}},
                     tilesOf(rows, rowsOfWorkgroup), 2.0 * rowsOfWorkgroup * p.valueDim, &state, message);
    state.lse = Operand::lse;
    return result;
}

// Adds a phase for each tile: dq, then dk and dv.
template <KernelTile Tile>
VkfResult buildPairs(const BackwardPhaseBuilder& builder, const Tile* rows, const std::vector<Tile>& keys,
                     BackwardPlan* plan, std::vector<Phase>* phases, VkfMessage* message) {
    if (rows != nullptr) {
        if (const VkfResult result = buildRows(builder, *rows, &plan->tileSequences, &phases->emplace_back(), message);
            result != VKF_SUCCESS) {
            return result;
        }
    }
    for (const Tile& tile : keys) {
        if (const VkfResult result =
                buildKeys(builder, tile, &plan->keyTileSequences, &phases->emplace_back(), message);
            result != VKF_SUCCESS) {
            return result;
        }
    }
    return VKF_SUCCESS;
}

// Adds the phases of path coopmat that keep pairs to themselves, for calls whose stored ones, or path wgmma, cannot
// give the sums (VKF_WANTS_FALLBACK). They do nothing unless the device asks for it.
VkfResult buildFallback(const BackwardPhaseBuilder& builder, BackwardPlan* plan, BackwardPhases* phases,
                        VkfMessage* message) {
    const PairTiles<BackwardMatrixTile>& tiles = builder.decision().coopmat;
    const std::vector<BackwardMatrixTile> keys =
        builder.decision().repeatsKeys() ? tiles.keys : std::vector<BackwardMatrixTile>{};
    const VkfResult result =
        buildPairs(builder, tiles.rows ? &*tiles.rows : nullptr, keys, plan, &phases->fallback, message);
    for (Phase& phase : phases->fallback) {
        phase.variant.constants[VKF_ID_FALLBACK] = 1;
    }
    return result;
}

VkfResult buildBandsAndFallback(const BackwardPhaseBuilder& builder, BackwardPlan* plan, BackwardPhases* phases,
                                VkfMessage* message) {
    VkfResult result = buildBands(builder, phases, &plan->scratch, message);
    if (result == VKF_SUCCESS && builder.decision().writesDvBesideBands()) {
        result = buildKeys(builder, builder.decision().coopmat.keys[1], &plan->keyTileSequences,
                           &phases->pairs.emplace_back(), message);
    }
    return result == VKF_SUCCESS ? buildFallback(builder, plan, phases, message) : result;
}

// Adds the phases that write dq, dk and dv.
VkfResult buildDqDkDv(const BackwardPhaseBuilder& builder, BackwardPlan* plan, BackwardPhases* phases,
                      VkfMessage* message) {
    const auto pointer = [](const auto& tile) { return tile ? &*tile : nullptr; };
    const BackwardDecision& decision = builder.decision();
    if (decision.bands) {
        return buildBandsAndFallback(builder, plan, phases, message);
    }
    if (decision.path == VKF_PATH_WGMMA) {
        const VkfResult result =
            buildPairs(builder, pointer(decision.wgmma.rows), decision.wgmma.keys, plan, &phases->pairs, message);
        return result == VKF_SUCCESS ? buildFallback(builder, plan, phases, message) : result;
    }
    if (decision.path == VKF_PATH_COOPMAT) {
        return buildPairs(builder, pointer(decision.coopmat.rows), decision.coopmat.keys, plan, &phases->pairs,
                          message);
    }
    return buildPairs(builder, pointer(decision.scalar.rows), decision.scalar.keys, plan, &phases->pairs, message);
}

// Adds the phase that writes dbias.
VkfResult buildBias(const BackwardPhaseBuilder& builder, BackwardPlan* plan, BackwardPhases* phases,
                    VkfMessage* message) {
    if (!builder.decision().bias) {
        return VKF_SUCCESS;
    }
    const VkfProblem& p = builder.forward().fields;
    const BackwardTile& tile = *builder.decision().bias;
    if (const VkfResult result = builder.requireTile(tile.workgroupSize(), message); result != VKF_SUCCESS) {
        return result;
    }
    const shared::BackwardTable& table = plan->table;
    const uint64_t shared = uint64_t{p.batch} * p.queryHeads / table.bias_sequences / table.bias_heads + 1;
    const uint64_t rows = table.bias_rows == 1 ? longestRowsOf(p) : std::min(tile.rows(), longestRowsOf(p));
    const double operations = 2.0 * static_cast<double>(shared) * static_cast<double>(rows) * tile.keys() *
                              (static_cast<double>(p.headDim) + p.valueDim);
    const uint64_t items = uint64_t{table.bias_sequences} * table.bias_heads * tilesOf(table.bias_rows, tile.rows());
    const uint64_t keyTiles = tilesOf(longestKeysOf(p), tile.keys());
    if (items > maxCount / keyTiles) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "dbias has over %llu tiles of %u rows and %u keys",
                    static_cast<unsigned long long>(maxCount), tile.rows(), tile.keys());
    }
    return builder.makePairs(tile, items * keyTiles, operations, &phases->others.emplace_back(), message);
}

// Adds the phase that writes dsinks.
VkfResult buildSinks(const BackwardPhaseBuilder& builder, BackwardPlan* /*plan*/, BackwardPhases* phases,
                     VkfMessage* message) {
    if (!builder.decision().sinks) {
        return VKF_SUCCESS;
    }
    const VkfProblem& p = builder.forward().fields;
    Constants constants{};
    constants[VKF_ID_WORKGROUP_SIZE] = stateWorkgroupSize;
    return builder.make(Kernel::backwardSinks, constants, {{{}, {}, {}, {Operand::scratchState, {}, "scratch"}}},
                        p.queryHeads, 4.0 * tensorSequences(p) * p.queryRows, &phases->others.emplace_back(), message);
}

// Makes the phase that lists the sequence of each tile, if there are tileSequences.
std::optional<Phase> makeSequenceList(const VkfProblem& p, const TileSequences& tileSequences, Operand starts,
                                      ScratchRange range, Scratch* scratch) {
    if (tileSequences.count == 0) {
        return {};
    }
    scratch->reserve(range, uint64_t{tileSequences.count} * sizeof(uint32_t));
    Phase list = sequenceListPhase(p);
    list.operands[0] = starts;
    return list;
}

// Adds the phases that run before all others.
void buildPreparation(const VkfProblem& p, BackwardPlan* plan, BackwardPhases* phases) {
    phases->rowSequences =
        makeSequenceList(p, plan->tileSequences, Operand::rowStarts, ScratchRange::rowSequences, &plan->scratch);
    phases->keySequences =
        makeSequenceList(p, plan->keyTileSequences, Operand::keyStarts, ScratchRange::keyTileSequences, &plan->scratch);
    plan->scratch.reserve(ScratchRange::table, bytesBeforeTable(p) + sizeof(shared::BackwardTable), scratchAlignment,
                          bytesBeforeTable(p));
    phases->table = tablePhase();
}

VkfResult build(const Caps& caps, const CheckedBackward& backward, BackwardPlan* plan, VkfMessage* message) {
    const BackwardPhaseBuilder builder(caps, backward, *plan);
    BackwardPhases phases;
    fillTable(backward, plan);
    for (const auto step : {buildState, buildDqDkDv, buildBias, buildSinks, buildMap}) {
        if (const VkfResult result = step(builder, plan, &phases, message); result != VKF_SUCCESS) {
            return result;
        }
    }
    if (!phases.writeGradients()) {
        plan->scratch = {};
        return VKF_SUCCESS;
    }
    buildPreparation(backward.forward.fields, plan, &phases);
    plan->phases = inOrder(std::move(phases));
    return checkStepCount(plan->phases, message);
}

} // namespace

VkfResult makeBackwardPlan(const TunedDevice& device, const CheckedBackward& backward, BackwardPlan* plan,
                           VkfMessage* message) {
    BackwardPlan made;
    VkfResult result = decideBackward(device, backward, &made, message);
    if (result == VKF_SUCCESS) {
        result = build(device.caps, backward, &made, message);
    }
    if (result == VKF_SUCCESS) {
        *plan = std::move(made);
    }
    return result;
}

} // namespace vkf
