// SPDX-License-Identifier: MIT
#include "planning/kernel_parameters.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

#include "problem/arrays.hpp"
#include "problem/dropout.hpp"
#include "problem/masks/chosen_keys.hpp"
#include "problem/masks/mask_layout.hpp"
#include "problem/masks/positions.hpp"
#include "problem/score_limits.hpp"
#include "shared/attention_params.h"

namespace vkf {

static_assert(VKF_LARGEST_SLOPE == largestSlope && VKF_LARGEST_WHOLE_MAXIMUM == largestWholeMaximum);

namespace {

constexpr double log2e = 1.4426950408889634;

// Packs what up to four bits of an element or lane number add to row and column, one byte for each bit.
template <size_t count>
uint32_t packPositions(const std::array<MatrixLayout::Position, count>& positions, size_t first, size_t end) {
    uint32_t packed = 0;
    for (size_t i = first; i < end; i++) {
        packed |= (positions[i].row | positions[i].column << 4) << 8 * (i - first);
    }
    return packed;
}

void setLayout(const MatrixLayout& layout, Constants& c) {
    c[VKF_ID_SUBGROUP_LANES] = layout.lanes;
    c[VKF_ID_MATRIX_ROWS] = layout.rows;
    c[VKF_ID_MATRIX_COLUMNS] = layout.columns;
    c[VKF_ID_MATRIX_DEPTH] = layout.depth;
    c[VKF_ID_FRAGMENT_ROW_ELEMENTS] = layout.fragmentRowElements();
    c[VKF_ID_COLUMN_LANES] = layout.columnLanes();
    c[VKF_ID_ELEMENT_BASIS] = packPositions(layout.elementBits, 0, 4);
    c[VKF_ID_LANE_BASIS] = packPositions(layout.laneBits, 0, 4);
    c[VKF_ID_LANE_BASIS_HIGH] = packPositions(layout.laneBits, 4, 6);
}

// Where the kernels read which probabilities dropout leaves out of o: VKF_DROPOUT_*.
uint32_t dropoutOf(const VkfProblem& p) {
    if (has(p, VKF_USE_DROPOUT_MASK)) {
        return p.dropoutMask.type == VKF_TYPE_BOOL8 ? VKF_DROPOUT_BYTES : VKF_DROPOUT_BITS;
    }
    return hasBoundSeed(p) ? VKF_DROPOUT_DEVICE_SEED : VKF_DROPOUT_SEED;
}

void setDropout(const VkfProblem& p, Constants& c) {
    if (hasDropout(p)) {
        c[VKF_ID_DROPOUT] = dropoutOf(p);
        c[VKF_ID_DROPOUT_THRESHOLD] = dropoutThreshold(p.dropout);
        c[VKF_ID_DROPOUT_SCALE] = std::bit_cast<uint32_t>(static_cast<float>(dropoutScale(p.dropout)));
    }
}

// The window's bounds, if the extra slot has an address.
void setReach(const CheckedProblem& problem, Constants& c) {
    c[VKF_ID_WINDOW_LEFT] = static_cast<uint32_t>(windowReach(problem.windowLeft, VKF_UNLIMITED_LEFT));
    c[VKF_ID_WINDOW_RIGHT] = static_cast<uint32_t>(windowReach(problem.windowRight, VKF_UNLIMITED_RIGHT));
}

// Whether heads or sequences of a bias, mask or dropout mask repeat by modulo.
bool hasRepeats(const VkfProblem& p) {
    return std::any_of(arrayTable.begin(), arrayTable.end(), [&](const ArrayRow& row) {
        return row.broadcast != nullptr && row.has(p) && repeatsByModulo(p, p.*row.broadcast);
    });
}

} // namespace

int32_t windowReach(int64_t keys, int32_t unlimited) {
    return keys < 0 ? unlimited : static_cast<int32_t>(std::min<int64_t>(keys, unlimited));
}

shared::CallParams baseParams(const CheckedProblem& problem, const std::array<ByteStrides, 4>& strides,
                              uint32_t shift) {
    const VkfProblem& p = problem.fields;
    shared::CallParams params{};
    for (size_t i = 0; i < strides.size(); i++) {
        params.row_stride[i] = static_cast<uint32_t>(strides[i].row);
        params.head_stride[i] = static_cast<uint32_t>(strides[i].head >> shift);
        params.batch_stride[i] = static_cast<uint32_t>(strides[i].batch >> shift);
    }
    // Without query heads no row exists. A backward pass then still writes zeros to dk and dv, and its kernels read no
    // row of a head that is not there.
    params.query_rows = p.queryHeads != 0 ? p.queryRows : 0;
    params.keys = p.keys;
    const double unit = hasNaturalScores(p) ? 1.0 : log2e; // of scores (shaders/scores/units.glsl)
    const double scale = p.scale;
    const double softcap = p.softcap;
    params.score_scale = static_cast<float>(softcap > 0.0 ? cappingFactor(p.softcap, p.scale) : scale * unit);
    params.softcap = static_cast<float>(softcap * unit);
    params.extra_slot_low = windowReach(problem.windowLeft, VKF_UNLIMITED_LEFT);
    params.extra_slot_high = windowReach(problem.windowRight, VKF_UNLIMITED_RIGHT);
    params.heads = p.queryHeads | (p.queryHeads / std::max(p.kvHeads, 1U)) << 16;
    return params;
}

shared::ProbabilitiesParams probabilitiesParams(const VkfProblem& p, const shared::CallParams& call) {
    shared::ProbabilitiesParams params{};
    params.q = call.tensor[VKF_Q];
    params.k = call.tensor[VKF_K];
    params.probabilities = call.tensor[VKF_PROBABILITIES];
    params.chosen_rows = call.tensor[3];
    params.lse = call.lse;
    params.key_lengths = call.key_lengths;
    for (size_t i = 0; i < std::size(params.row_stride); i++) { // q, k, probabilities
        params.row_stride[i] = call.row_stride[i];
        params.head_stride[i] = call.head_stride[i];
        params.batch_stride[i] = call.batch_stride[i];
    }
    params.query_rows = call.query_rows;
    params.keys = call.keys;
    params.score_scale = call.score_scale;
    params.softcap = call.softcap;
    params.extra_slot_low = call.extra_slot_low;
    params.extra_slot_high = call.extra_slot_high;
    params.heads = call.heads;
    params.row_count = probabilityRows(p);
    return params;
}

void setOptionalInputs(uint64_t address, shared::CallParams* params) {
    params->extra_slot_low = static_cast<int32_t>(address & 0xffffffffU);
    params->extra_slot_high = static_cast<int32_t>(address >> 32);
}

shared::SplitMergeParams splitMergeParams(const CheckedProblem& problem) {
    const VkfProblem& p = problem.fields;
    const ByteStrides o = byteStrides(problem.layout(VKF_TENSOR_O));
    shared::SplitMergeParams params{};
    params.o_batch_stride = o.batch;
    params.o_head_stride = o.head;
    params.o_row_stride = o.row;
    params.heads = p.queryHeads;
    params.rows = p.queryRows;
    params.row_count = tensorSequences(p) * p.queryHeads * p.queryRows;
    return params;
}

Constants tileConstants(const ScalarTile& tile) {
    Constants c{};
    c[VKF_ID_WORKGROUP_SIZE] = tile.workgroupSize();
    c[VKF_ID_ROW_LANES] = tile.lanes;
    c[VKF_ID_THREAD_ROWS] = tile.threadRows;
    c[VKF_ID_THREAD_KEYS] = tile.threadKeys;
    c[VKF_ID_THREAD_COLUMNS] = tile.threadColumns4;
    c[VKF_ID_CHUNK_DIM] = tile.chunkDim4;
    c[VKF_ID_CHUNK_KEYS] = tile.chunkKeys;
    return c;
}

Constants tileConstants(const DecodeTile& tile) {
    Constants c{};
    c[VKF_ID_WORKGROUP_SIZE] = tile.workgroupSize();
    c[VKF_ID_KEY_LANES] = tile.lanes;
    c[VKF_ID_LANE_GROUP_ROWS] = tile.threadRows;
    c[VKF_ID_LANE_GROUP_KEYS] = tile.threadKeys;
    return c;
}

Constants tileConstants(const CoopmatTile& tile) {
    Constants c{};
    c[VKF_ID_WORKGROUP_SIZE] = tile.workgroupSize();
    c[VKF_ID_ROW_MATRICES] = tile.rowMatrices;
    c[VKF_ID_KEY_MATRICES] = tile.keyMatrices();
    c[VKF_ID_SHARED_Q_SLICES] = tile.sharedQSlices;
    setLayout(tile.layout, c);
    return c;
}

Constants tileConstants(const DecodeMatrixTile& tile) {
    Constants c{};
    c[VKF_ID_WORKGROUP_SIZE] = tile.workgroupSize();
    c[VKF_ID_ROW_SUBGROUPS] = tile.rowSubgroups;
    c[VKF_ID_LANE_ROWS] = tile.laneRows;
    c[VKF_ID_ROW_MATRICES] = tile.rowMatrices;
    c[VKF_ID_BLOCK_LOAD_WORDS] = tile.blockUnit;
    c[VKF_ID_KEY_OFFSETS_32] = tile.keyOffsets32;
    c[VKF_ID_KEY_COLUMNS] = tile.keyColumns;
    setLayout(tile.layout, c);
    c[VKF_ID_MATRIX_COLUMNS] = tile.columns;
    return c;
}

Constants tileConstants(const LatentTile& tile) {
    Constants c{};
    c[VKF_ID_WORKGROUP_SIZE] = tile.workgroupSize();
    c[VKF_ID_ROW_MATRICES] = tile.rowMatrices;
    c[VKF_ID_LATENT_KEY_MATRICES] = tile.keyMatrices;
    setLayout(tile.layout, c);
    return c;
}

Constants tileConstants(const ProductTile& tile) {
    Constants c{};
    c[VKF_ID_WORKGROUP_SIZE] = tile.workgroupSize();
    c[VKF_ID_SUBGROUP_LANES] = tile.layout.lanes;
    c[VKF_ID_MATRIX_ROWS] = tile.layout.rows;
    c[VKF_ID_MATRIX_COLUMNS] = tile.layout.columns;
    c[VKF_ID_MATRIX_DEPTH] = tile.layout.depth;
    c[VKF_ID_ROW_MATRICES] = tile.rowMatrices;
    c[VKF_ID_KEY_MATRICES] = tile.keyMatrices;
    c[VKF_ID_FRAGMENT_ROW_ELEMENTS] = tile.layout.fragmentRowElements();
    c[VKF_ID_STEP_DIM] = tile.step() / 4;
    c[VKF_ID_STEP_KEYS] = tile.step();
    return c;
}

Constants tileConstants(const ProbabilitiesTile& tile) {
    Constants c{};
    c[VKF_ID_WORKGROUP_SIZE] = tile.workgroupSize();
    c[VKF_ID_ROW_LANES] = tile.lanes;
    c[VKF_ID_THREAD_ROWS] = tile.threadRows;
    c[VKF_ID_THREAD_KEYS] = tile.threadKeys;
    c[VKF_ID_CHUNK_DIM] = tile.chunkDim4;
    return c;
}

Constants tileConstants(const BackwardTile& tile) {
    Constants c{};
    c[VKF_ID_WORKGROUP_SIZE] = tile.workgroupSize();
    c[VKF_ID_OWNER] = static_cast<uint32_t>(tile.owner);
    c[VKF_ID_OWNED_LANES] = tile.lanes;
    c[VKF_ID_THREAD_OWNED] = tile.threadOwned;
    c[VKF_ID_THREAD_VISITED] = tile.threadVisited;
    c[VKF_ID_CHUNK_DIM] = tile.chunkDim4;
    c[VKF_ID_CHUNK_VISITED] = tile.chunkVisited;
    return c;
}

Constants tileConstants(const BackwardMatrixTile& tile) {
    Constants c{};
    c[VKF_ID_WORKGROUP_SIZE] = tile.workgroupSize();
    c[VKF_ID_OWNER] = static_cast<uint32_t>(tile.owner);
    c[VKF_ID_OWNED_MATRICES] = tile.ownedMatrices;
    c[VKF_ID_VISITED_STEPS] = tile.steps;
    c[VKF_ID_TWO_STAGES] = tile.twoStages ? 1 : 0;
    c[VKF_ID_DEPTH_SUBGROUPS] = tile.depthSubgroups;
    setLayout(tile.layout, c);
    return c;
}

Constants tileConstants(const BackwardWgmmaTile& tile) {
    Constants c{};
    c[VKF_ID_WORKGROUP_SIZE] = tile.workgroupSize();
    return c;
}

Constants tileConstants(const BackwardSumTile& tile) {
    Constants c{};
    c[VKF_ID_WORKGROUP_SIZE] = tile.workgroupSize();
    c[VKF_ID_OWNER] = static_cast<uint32_t>(tile.owner);
    c[VKF_ID_OWNED_MATRICES] = tile.ownedMatrices;
    c[VKF_ID_VISITED_STEPS] = tile.steps;
    c[VKF_ID_DEPTH_SUBGROUPS] = tile.depthSubgroups;
    setLayout(tile.layout, c);
    return c;
}

uint32_t scalesOf(const VkfTensor& tensor) {
    return tensor.scales == 0 ? VKF_SCALES_NONE : tensor.scales == 1 ? VKF_SCALES_ONE : VKF_SCALES_BY_HEAD;
}

namespace {

// A table has the strides of lists. Without one the kernel makes them of the dimensions.
uint32_t listDimensionsIn(uint32_t extraSlot, const VkfProblem& p) {
    const uint32_t dimensions = listDimensions(p);
    return extraSlot == VKF_EXTRA_SLOT_HAS_CHOSEN_KEYS ? dimensions : dimensions & VKF_LISTS_BY_ROW;
}

} // namespace

Constants constantsOf(const CheckedProblem& problem, const Constants& ofTile, uint32_t shift, uint32_t extraSlot) {
    const VkfProblem& p = problem.fields;
    Constants c = ofTile;
    c[VKF_ID_HEAD_DIM] = p.headDim;
    c[VKF_ID_VALUE_DIM] = p.valueDim;
    c[VKF_ID_TYPE_Q] = static_cast<uint32_t>(p.q.type);
    c[VKF_ID_TYPE_K] = static_cast<uint32_t>(p.k.type);
    c[VKF_ID_TYPE_V] = static_cast<uint32_t>(p.v.type);
    c[VKF_ID_TYPE_O] = static_cast<uint32_t>(p.o.type);
    c[VKF_ID_WINDOW] = problem.windowed() ? 1 : 0;
    c[VKF_ID_TOP_LEFT] = p.alignment == VKF_ALIGNMENT_TOP_LEFT ? 1 : 0;
    c[VKF_ID_POSITIONS] = !has(p, VKF_USE_POSITIONS) ? VKF_POSITIONS_NONE
                          : hasOffsetOnDevice(p)     ? VKF_POSITIONS_BY_SEQUENCE
                                                     : VKF_POSITIONS_FIXED;
    c[VKF_ID_ROW_STRIDE] = static_cast<uint32_t>(rowStrideOf(p));
    c[VKF_ID_KEY_STRIDE] = static_cast<uint32_t>(keyStrideOf(p));
    c[VKF_ID_CHOSEN_KEYS] = p.chosenKeys.count;
    c[VKF_ID_LIST_DIMENSIONS] = has(p, VKF_USE_CHOSEN_KEYS) ? listDimensionsIn(extraSlot, p) : 0;
    c[VKF_ID_SOFTCAP] = p.softcap > 0.0F ? 1 : 0;
    c[VKF_ID_KV_SCALES] = scalesOf(p.k) + 4 * scalesOf(p.v);
    for (const ArrayRow& row : arrayTable) {
        if (row.constant != noConstant) {
            c[row.constant] = has(p, row.bit) ? 1 : 0;
        }
    }
    c[VKF_ID_STRIDE_SHIFT] = shift;
    c[VKF_ID_KEY_SPLITS] = 1;
    c[VKF_ID_PACKED_HEADS] = std::max(ofTile[VKF_ID_PACKED_HEADS], 1U);
    c[VKF_ID_INTERLEAVED_HEADS] = 1;
    c[VKF_ID_MAP_ROW_TILES] = 1;
    if (has(p, VKF_USE_BLOCK_MASK)) {
        c[VKF_ID_MASK_BLOCK] = p.blockMask.blockSize;
        c[VKF_ID_MASK_BATCH_STRIDE] = static_cast<uint32_t>(p.blockMask.batchStride);
        c[VKF_ID_MASK_HEAD_STRIDE] = static_cast<uint32_t>(p.blockMask.headStride);
    }
    if (has(p, VKF_USE_BLOCK_TABLE)) {
        c[VKF_ID_PAGE_ROWS] = p.paging.pageSize;
        c[VKF_ID_MAX_PAGES] = p.paging.maxPages;
        c[VKF_ID_PAGES] = std::max(p.paging.pages, 1U);
    }
    c[VKF_ID_ALIBI] = !has(p, VKF_USE_ALIBI)         ? VKF_ALIBI_NONE
                      : has(p, VKF_USE_ALIBI_SLOPES) ? VKF_ALIBI_CUSTOM
                                                     : VKF_ALIBI_STANDARD;
    c[VKF_ID_BIAS] = has(p, VKF_USE_BIAS) ? static_cast<uint32_t>(p.bias.type) + 1 : 0;
    c[VKF_ID_MASK] = has(p, VKF_USE_MASK) ? broadcastBits(p.mask.type) : 0;
    c[VKF_ID_MASK_OF_LAST_KEYS] = p.mask.lastKeys != 0 ? 1 : 0;
    c[VKF_ID_FIRST_KEYS] = problem.firstKeys();
    c[VKF_ID_FIRST_KEYS_CAUSAL] = has(p, VKF_USE_CAUSAL) ? 1 : 0;
    c[VKF_ID_BROADCAST_REPEATS] = hasRepeats(p) ? 1 : 0;
    setDropout(p, c);
    c[VKF_ID_EXTRA_SLOT] = extraSlot;
    if (extraSlot != VKF_EXTRA_SLOT_HAS_WINDOW) {
        setReach(problem, c);
    }
    return c;
}

Constants backwardConstants(const CheckedBackward& backward, const Constants& ofTile, uint32_t shift) {
    const VkfBackwardProblem& g = backward.fields;
    Constants c = constantsOf(backward.forward, ofTile, shift, VKF_EXTRA_SLOT_HAS_TABLE);
    c[VKF_ID_LSE] = 0;
    c[VKF_ID_SINKS] = 0;
    c[VKF_ID_DLSE] = has(g, VKF_USE_DLSE) ? 1 : 0;
    c[VKF_ID_TYPE_DOUT] = static_cast<uint32_t>(g.dout.type);
    c[VKF_ID_TYPE_DQ] = static_cast<uint32_t>(g.dq.type);
    c[VKF_ID_TYPE_DK] = static_cast<uint32_t>(g.dk.type);
    c[VKF_ID_TYPE_DV] = static_cast<uint32_t>(g.dv.type);
    c[VKF_ID_TYPE_DBIAS] = static_cast<uint32_t>(g.dbiasType);
    return c;
}

} // namespace vkf
