// SPDX-License-Identifier: MIT
#include "schedule.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "decode_tuning.hpp"
#include "matrix_tuning.hpp"
#include "message.hpp"
#include "product_tuning.hpp"
#include "tuning.hpp"

namespace vkf {
namespace {

constexpr uint64_t most32 = std::numeric_limits<uint32_t>::max();
constexpr uint32_t loadedWordBytes = 16; // that the cooperative-matrix and decode kernels load at once
constexpr double log2e = 1.4426950408889634;
constexpr std::array roleNames = {"q", "k", "v", "o"};

struct ByteStrides {
    uint64_t row;
    uint64_t head;
    uint64_t batch;
};

// Strides of dimensions with one entry are never multiplied by anything but 0.
ByteStrides byteStrides(const VkfTensorLayout& layout) {
    const uint64_t bytes = vkfTypeBytes(layout.type);
    return {layout.rows > 1 ? layout.rowStride * bytes : 0, layout.heads > 1 ? layout.headStride * bytes : 0,
            layout.batch > 1 ? layout.batchStride * bytes : 0};
}

// The smallest shift that brings every head and batch stride into 32 bits without losing a bit.
VkfResult chooseStrideShift(const std::array<ByteStrides, 4>& strides, uint32_t* shift, VkfMessage* message) {
    *shift = 0;
    for (const ByteStrides& s : strides) {
        while (std::max(s.head, s.batch) >> *shift > most32) {
            ++*shift;
        }
    }
    const uint64_t unit = uint64_t{1} << *shift;
    for (size_t i = 0; i < strides.size(); i++) {
        if (strides[i].row > most32) {
            return fail(message, VKF_ERROR_UNSUPPORTED, "the row stride of %s, %llu bytes, is over 4 GiB", roleNames[i],
                        static_cast<unsigned long long>(strides[i].row));
        }
        if ((strides[i].head | strides[i].batch) % unit != 0) {
            return fail(message, VKF_ERROR_UNSUPPORTED,
                        "beside strides over 4 GiB the head and batch strides of %s must be multiples of %llu bytes",
                        roleNames[i], static_cast<unsigned long long>(unit));
        }
    }
    return VKF_SUCCESS;
}

uint64_t roundUp(uint64_t x, uint32_t multiple) { return (x + multiple - 1) / multiple * multiple; }

// Dense fp32 [batch, queryHeads, queryRows, dim], rows and columns padded to such multiples; 4 columns are 16 bytes.
VkfTensorLayout scratchLayout(const VkfProblem& p, uint32_t batch, uint32_t dim, uint32_t rowMultiple = 1,
                              uint32_t columnMultiple = 4) {
    VkfTensorLayout layout{};
    layout.type = VKF_TYPE_F32;
    layout.batch = batch;
    layout.heads = p.queryHeads;
    layout.rows = static_cast<uint32_t>(roundUp(p.queryRows, rowMultiple));
    layout.dim = dim;
    layout.rowStride = roundUp(dim, columnMultiple);
    layout.headStride = layout.rowStride * layout.rows;
    layout.batchStride = layout.headStride * layout.heads;
    layout.elements = layout.batchStride * layout.batch;
    return layout;
}

// A side of the window, -1 = unlimited, as the shaders take it.
int32_t windowReach(int64_t keys, int32_t unlimited) {
    return keys < 0 ? unlimited : static_cast<int32_t>(std::min<int64_t>(keys, unlimited));
}

shared::AttentionParams baseParams(const CheckedProblem& problem, const std::array<ByteStrides, 4>& strides,
                                   uint32_t shift) {
    const VkfProblem& p = problem.given;
    shared::AttentionParams params{};
    for (size_t i = 0; i < strides.size(); i++) {
        params.row_stride[i] = static_cast<uint32_t>(strides[i].row);
        params.head_stride[i] = static_cast<uint32_t>(strides[i].head >> shift);
        params.batch_stride[i] = static_cast<uint32_t>(strides[i].batch >> shift);
    }
    params.query_rows = p.queryRows;
    params.keys = p.keys;
    const double scale = p.scale;
    const double softcap = p.softcap;
    params.score_scale = static_cast<float>(softcap > 0.0 ? scale / softcap : scale * log2e);
    params.softcap = static_cast<float>(softcap * log2e);
    params.window_left = windowReach(problem.windowLeft, VKF_UNLIMITED_LEFT);
    params.window_right = windowReach(problem.windowRight, VKF_UNLIMITED_RIGHT);
    params.heads = p.queryHeads | (p.queryHeads / p.kvHeads) << 16;
    return params;
}

// The constants of a tile; those of the problem are added to them.
Constants tileConstants(const Tile& tile) {
    Constants c{};
    c[VKF_ID_WORKGROUP_SIZE] = tile.workgroupSize;
    c[VKF_ID_LANES] = tile.lanes;
    c[VKF_ID_THREAD_ROWS] = tile.threadRows;
    c[VKF_ID_THREAD_KEYS] = tile.threadKeys;
    c[VKF_ID_THREAD_COLUMNS] = tile.threadColumns4;
    c[VKF_ID_CHUNK_DIM] = tile.chunkDim4;
    c[VKF_ID_CHUNK_KEYS] = tile.chunkKeys;
    return c;
}

Constants tileConstants(const DecodeTile& tile) {
    Constants c{};
    c[VKF_ID_WORKGROUP_SIZE] = tile.workgroupSize;
    c[VKF_ID_LANES] = tile.lanes;
    c[VKF_ID_THREAD_ROWS] = tile.threadRows;
    c[VKF_ID_THREAD_KEYS] = tile.threadKeys;
    return c;
}

// Places of up to four bits, a byte each.
template <size_t count>
uint32_t packPlaces(const std::array<MatrixLayout::Place, count>& places, size_t first, size_t end) {
    uint32_t packed = 0;
    for (size_t i = first; i < end; i++) {
        packed |= (places[i].row | places[i].column << 4) << 8 * (i - first);
    }
    return packed;
}

void setLayout(const MatrixLayout& layout, Constants& c) {
    c[VKF_ID_LANES] = layout.lanes;
    c[VKF_ID_MATRIX_ROWS] = layout.rows;
    c[VKF_ID_MATRIX_COLUMNS] = layout.columns;
    c[VKF_ID_MATRIX_DEPTH] = layout.depth;
    c[VKF_ID_SLOT_ELEMENTS] = layout.slotElements();
    c[VKF_ID_COLUMN_LANES] = layout.columnLanes();
    c[VKF_ID_ELEMENT_BASIS] = packPlaces(layout.elementBits, 0, 4);
    c[VKF_ID_LANE_BASIS] = packPlaces(layout.laneBits, 0, 4);
    c[VKF_ID_LANE_BASIS_HIGH] = packPlaces(layout.laneBits, 4, 6);
}

Constants tileConstants(const MatrixTile& tile) {
    Constants c{};
    c[VKF_ID_WORKGROUP_SIZE] = tile.workgroupSize();
    c[VKF_ID_ROW_TILES] = tile.rowTiles;
    c[VKF_ID_KEY_TILES] = tile.keyMatrices();
    setLayout(tile.layout, c);
    return c;
}

Constants tileConstants(const DecodeMatrixTile& tile) {
    Constants c{};
    c[VKF_ID_WORKGROUP_SIZE] = tile.workgroupSize();
    c[VKF_ID_ROW_SUBGROUPS] = tile.rowSubgroups;
    c[VKF_ID_THREAD_ROWS] = tile.stagedRows;
    setLayout(tile.layout, c);
    return c;
}

Constants tileConstants(const ProductTile& tile) {
    Constants c{};
    c[VKF_ID_WORKGROUP_SIZE] = tile.workgroupSize();
    c[VKF_ID_LANES] = tile.layout.lanes;
    c[VKF_ID_MATRIX_ROWS] = tile.layout.rows;
    c[VKF_ID_MATRIX_COLUMNS] = tile.layout.columns;
    c[VKF_ID_MATRIX_DEPTH] = tile.layout.depth;
    c[VKF_ID_ROW_TILES] = tile.rowTiles;
    c[VKF_ID_KEY_TILES] = tile.keyTiles;
    c[VKF_ID_SLOT_ELEMENTS] = tile.layout.slotElements();
    c[VKF_ID_CHUNK_DIM] = tile.step() / 4;
    c[VKF_ID_CHUNK_KEYS] = tile.step();
    return c;
}

Constants constantsOf(const CheckedProblem& problem, const Constants& ofTile, uint32_t shift) {
    const VkfProblem& p = problem.given;
    Constants c = ofTile;
    c[VKF_ID_HEAD_DIM] = p.headDim;
    c[VKF_ID_VALUE_DIM] = p.valueDim;
    c[VKF_ID_TYPE_Q] = static_cast<uint32_t>(p.q.type);
    c[VKF_ID_TYPE_K] = static_cast<uint32_t>(p.k.type);
    c[VKF_ID_TYPE_V] = static_cast<uint32_t>(p.v.type);
    c[VKF_ID_TYPE_O] = static_cast<uint32_t>(p.o.type);
    c[VKF_ID_WINDOW] = problem.windowed() ? 1 : 0;
    c[VKF_ID_TOP_LEFT] = p.alignment == VKF_ALIGNMENT_TOP_LEFT ? 1 : 0;
    c[VKF_ID_KEY_LENGTHS] = p.keyLengths;
    c[VKF_ID_SOFTCAP] = p.softcap > 0.0F ? 1 : 0;
    c[VKF_ID_LSE] = p.lse;
    c[VKF_ID_STRIDE_SHIFT] = shift;
    c[VKF_ID_SPLITS] = 1;
    if (p.maskBlock != 0) {
        c[VKF_ID_MASK_BLOCK] = p.maskBlock;
        c[VKF_ID_MASK_BATCH_STRIDE] = static_cast<uint32_t>(p.blockMaskBatchStride);
        c[VKF_ID_MASK_HEAD_STRIDE] = static_cast<uint32_t>(p.blockMaskHeadStride);
        c[VKF_ID_WINDOW_LEFT] = static_cast<uint32_t>(windowReach(problem.windowLeft, VKF_UNLIMITED_LEFT));
        c[VKF_ID_WINDOW_RIGHT] = static_cast<uint32_t>(windowReach(problem.windowRight, VKF_UNLIMITED_RIGHT));
    }
    return c;
}

// Most keys that one row of a tile may see.
double widestRow(const CheckedProblem& problem, const TileShape& tile) {
    const double keys = problem.given.keys;
    if (problem.windowLeft < 0 || problem.windowRight < 0) {
        return keys;
    }
    return std::min(keys, static_cast<double>(problem.windowLeft) + static_cast<double>(problem.windowRight) + 1.0 +
                              tile.rows);
}

bool isFusedCoopmat(Kernel kernel) {
    return kernel == Kernel::attentionCoopmat || kernel == Kernel::attentionCoopmatBf16;
}

bool isCoopmat(Kernel kernel) {
    constexpr std::array unfused = {Kernel::standardScoresCoopmat, Kernel::standardScoresCoopmatBf16,
                                    Kernel::standardOutputCoopmat, Kernel::standardOutputCoopmatBf16};
    return isFusedCoopmat(kernel) || std::find(unfused.begin(), unfused.end(), kernel) != unfused.end();
}

bool isDecode(Kernel kernel) {
    return kernel == Kernel::attentionDecode || kernel == Kernel::attentionDecodeMatrix ||
           kernel == Kernel::attentionDecodeMatrixBf16;
}

bool usesSubgroups(Kernel kernel) { return kernel == Kernel::attentionScalar || isDecode(kernel) || isCoopmat(kernel); }

// Kernels that come with loops left as they are, for drivers that compile for a CPU.
bool hasRolled(Kernel kernel) { return isDecode(kernel) || isCoopmat(kernel); }

// Builds the phases of one path from what they have in common.
class Builder {
public:
    Builder(const Caps& caps, const CheckedProblem& problem, Schedule* schedule)
        : caps_(caps), problem_(problem), schedule_(schedule) {}

    // The tile of the phases to come.
    template <typename AnyTile> void setTile(const AnyTile& tile, uint32_t workgroupSize) {
        schedule_->tile = {tile.rows(), tile.keys(), workgroupSize, tile.sharedBytes()};
        tileConstants_ = tileConstants(tile);
    }
    void setTuning(std::string tileText, bool tuned) {
        schedule_->tileText = std::move(tileText);
        schedule_->tuned = tuned;
    }
    ConsideredTiles* considered() { return &schedule_->considered; }
    VkfPath path() const { return schedule_->path; }
    const TileShape& tile() const { return schedule_->tile; }

    // Adds a kernel over `items` work items of at most `operations` each.
    VkfResult add(Kernel kernel, const std::array<Operand, 4>& operands, uint64_t items, double operations,
                  VkfMessage* message) {
        if (items > most32) {
            return fail(message, VKF_ERROR_UNSUPPORTED, "%llu workgroups are over the limit of 4294967295",
                        static_cast<unsigned long long>(items));
        }
        std::array<ByteStrides, 4> strides{};
        for (size_t i = 0; i < operands.size(); i++) {
            strides[i] = operandStrides(operands[i]);
        }
        uint32_t shift = 0;
        if (const VkfResult result = chooseStrideShift(strides, &shift, message); result != VKF_SUCCESS) {
            return result;
        }
        Phase phase;
        phase.operands = operands;
        phase.params = baseParams(problem_, strides, shift);
        phase.variant.kernel = kernel;
        phase.variant.storage16 = std::any_of(operands.begin(), operands.end(), [this](Operand operand) {
            const VkfTensorLayout* layout = tensorOf(operand);
            return layout != nullptr && layout->type != VKF_TYPE_F32;
        });
        phase.variant.rolled = hasRolled(kernel) && (caps_.quirks & VKF_QUIRK_ROLLED_LOOPS) != 0;
        phase.variant.exchange = isFusedCoopmat(kernel) && schedule_->matrix.exchanged;
        phase.variant.subgroups = usesSubgroups(kernel) && caps_.subgroupReductions();
        phase.variant.subgroupSize = phase.variant.subgroups ? caps_.subgroupSize : 0;
        phase.variant.constants = constantsOf(problem_, tileConstants_, shift);
        phase.items = static_cast<uint32_t>(items);
        const double affordable = stepOperations(kernel) / std::max(operations, 1.0);
        phase.itemsPerStep =
            static_cast<uint32_t>(std::clamp(affordable, 1.0, static_cast<double>(caps_.maxGroupCount)));
        schedule_->phases.push_back(phase);
        return VKF_SUCCESS;
    }

    // How Operand::scratch is laid out.
    void setScratch(const VkfTensorLayout& layout) {
        scratch_ = layout;
        schedule_->scratchBytes = layout.elements * sizeof(float);
    }
    // m and l of each row, `parts` times, behind the rest of the scratch.
    void addScratchState(uint32_t parts) {
        schedule_->scratchStateOffset = schedule_->scratchBytes;
        schedule_->scratchBytes += heads() * problem_.given.queryRows * parts * 2 * sizeof(float);
    }
    void setSplits(uint32_t splits) { schedule_->splits = splits; }
    // Products of 16-bit types: p is of their type too.
    void setMatrices(const MatrixLayout& layout) {
        schedule_->matrix = layout;
        schedule_->productType = problem_.given.v.type;
        tileConstants_[VKF_ID_LOCKSTEP] = (caps_.quirks & VKF_QUIRK_LOCKSTEP_SUBGROUPS) != 0 ? 1 : 0;
    }
    // Whether rows of q, k and v are loaded in whole words, or element by element.
    void setWholeWords(bool wholeWords) {
        schedule_->inputAlignment = wholeWords ? loadedWordBytes : 1;
        tileConstants_[VKF_ID_WHOLE_WORDS] = wholeWords ? 1 : 0;
    }
    // Whether rows of o leave in them.
    void setOutputWords(bool words) { tileConstants_[VKF_ID_OUTPUT_WORDS] = words ? 1 : 0; }
    // From here on a row tile is one of the packed rows of all query heads of a KV head.
    void packHeads() { packedHeads_ = true; }
    Phase& lastPhase() { return schedule_->phases.back(); }

    bool needsStorage16() const {
        return std::any_of(problem_.layouts.begin(), problem_.layouts.end(),
                           [](const VkfTensorLayout& layout) { return layout.type != VKF_TYPE_F32; });
    }

    uint64_t rowTiles() const {
        const VkfProblem& p = problem_.given;
        const uint32_t rows = schedule_->tile.rows;
        const uint64_t packed = packedHeads_ ? p.queryHeads / p.kvHeads : 1;
        return (packed * p.queryRows + rows - 1) / rows * (heads() / packed);
    }
    uint64_t heads() const { return uint64_t{problem_.given.batch} * problem_.given.queryHeads; }

private:
    double stepOperations(Kernel kernel) const {
        const uint64_t given = problem_.given.maxStepOperations;
        const uint64_t standard = isCoopmat(kernel) ? VKF_DEFAULT_MATRIX_STEP_OPERATIONS : VKF_DEFAULT_STEP_OPERATIONS;
        return static_cast<double>(given != 0 ? given : standard);
    }

    // The problem's tensor behind an operand; null for none and scratch.
    const VkfTensorLayout* tensorOf(Operand operand) const {
        const auto index = static_cast<size_t>(operand) - static_cast<size_t>(Operand::q);
        return index < problem_.layouts.size() ? &problem_.layouts[index] : nullptr;
    }

    ByteStrides operandStrides(Operand operand) const {
        if (operand == Operand::scratch) {
            return byteStrides(scratch_);
        }
        if (operand == Operand::weights) {
            return byteStrides(scratchLayout(problem_.given, problem_.given.batch, problem_.given.keys, 1, 1));
        }
        const VkfTensorLayout* layout = tensorOf(operand);
        return layout != nullptr ? byteStrides(*layout) : ByteStrides{};
    }

    const Caps& caps_;
    const CheckedProblem& problem_;
    Schedule* schedule_;
    Constants tileConstants_{};
    VkfTensorLayout scratch_{};
    bool packedHeads_ = false;
};

TileProblem tileProblem(VkfPath path, const CheckedProblem& problem) {
    const VkfProblem& p = problem.given;
    const bool oneType = p.k.type == p.q.type && p.v.type == p.q.type && p.o.type == p.q.type;
    return {p.headDim,
            p.valueDim,
            p.queryRows,
            uint64_t{p.batch} * p.queryHeads,
            p.o.type == VKF_TYPE_F32,
            static_cast<uint32_t>(widestRow(problem, {})),
            problem.windowed(),
            path,
            oneType ? std::optional(p.q.type) : std::nullopt,
            p.maskBlock};
}

VkfResult setScalarTile(const Caps& caps, const CheckedProblem& problem, Builder& builder, VkfMessage* message) {
    const VkfProblem& p = problem.given;
    const Tile tile = chooseScalarTile(caps, tileProblem(builder.path(), problem), builder.considered());
    if (tile.workgroupSize == 0) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "headDim %u and valueDim %u need more than the %u bytes of shared memory there are", p.headDim,
                    p.valueDim, caps.maxSharedMemoryBytes);
    }
    builder.setTile(tile, tile.workgroupSize);
    if (builder.path() == VKF_PATH_SCALAR) {
        builder.setTuning(tileText(TunedScalarTile{tile.workgroupSize / tile.lanes, tile.lanes, tile.threadRows,
                                                   tile.threadKeys, tile.chunkDim4, tile.chunkKeys}),
                          tile.tuned);
    }
    return VKF_SUCCESS;
}

// Of one workgroup of a fused kernel, at most.
double tileOperations(const CheckedProblem& problem, const TileShape& tile) {
    const double columns = static_cast<double>(problem.given.headDim) + problem.given.valueDim;
    return 2.0 * tile.rows * widestRow(problem, tile) * columns;
}

// Adds the one phase of a fused path.
VkfResult scheduleFused(Kernel kernel, const CheckedProblem& problem, Builder& builder, VkfMessage* message) {
    if (problem.empty) {
        return VKF_SUCCESS;
    }
    const VkfProblem& p = problem.given;
    const VkfResult result = builder.add(kernel, {Operand::q, Operand::k, Operand::v, Operand::o}, builder.rowTiles(),
                                         tileOperations(problem, builder.tile()), message);
    if (result == VKF_SUCCESS) {
        builder.lastPhase().lse = p.lse != 0 ? Operand::lse : Operand::none;
    }
    return result;
}

VkfResult scheduleScalar(const Caps& caps, const CheckedProblem& problem, Builder& builder, VkfMessage* message) {
    const VkfResult result = setScalarTile(caps, problem, builder, message);
    return result == VKF_SUCCESS ? scheduleFused(Kernel::attentionScalar, problem, builder, message) : result;
}

// Adds the phase that joins the parts in scratch.
VkfResult scheduleMerge(const Caps& caps, uint32_t splits, const CheckedProblem& problem, Builder& builder,
                        VkfMessage* message) {
    const VkfProblem& p = problem.given;
    const uint32_t lanes = std::bit_ceil((p.valueDim + 3) / 4);
    const uint32_t workgroupSize = std::min(mergeWorkgroupSize, caps.maxInvocations);
    const uint32_t groups =
        std::min(std::bit_ceil((splits + VKF_MERGED_AT_ONCE - 1) / VKF_MERGED_AT_ONCE), workgroupSize / lanes);
    const uint32_t rows = workgroupSize / lanes / groups;
    const VkfResult result =
        builder.add(Kernel::mergeSplits, {Operand::scratch, Operand::scratchState, Operand::none, Operand::o},
                    (builder.heads() * p.queryRows + rows - 1) / rows, 4.0 * rows * splits * p.valueDim, message);
    if (result == VKF_SUCCESS) {
        Phase& merge = builder.lastPhase();
        merge.lse = p.lse != 0 ? Operand::lse : Operand::none;
        merge.params.keys = p.batch;
        merge.variant.constants[VKF_ID_WORKGROUP_SIZE] = workgroupSize;
        merge.variant.constants[VKF_ID_LANES] = lanes;
        merge.variant.constants[VKF_ID_SPLITS] = splits;
        merge.variant.constants[VKF_ID_MERGE_GROUPS] = groups;
    }
    return result;
}

// Adds the two phases of the loop order of FlashAttention's first version: a pass for each tile of keys, then the
// division by l.
VkfResult scheduleKeyOuter(const Caps& caps, const CheckedProblem& problem, Builder& builder, VkfMessage* message) {
    VkfResult result = setScalarTile(caps, problem, builder, message);
    if (result != VKF_SUCCESS || problem.empty) {
        return result;
    }
    const VkfProblem& p = problem.given;
    builder.setScratch(scratchLayout(p, p.batch, p.valueDim)); // o
    builder.addScratchState(1);
    const uint32_t keyTiles = (p.keys + builder.tile().keys - 1) / builder.tile().keys;
    if (keyTiles > 0) {
        const double columns = static_cast<double>(p.headDim) + p.valueDim;
        result = builder.add(Kernel::attentionScalar, {Operand::q, Operand::k, Operand::v, Operand::scratch},
                             builder.rowTiles() * keyTiles, 2.0 * builder.tile().rows * builder.tile().keys * columns,
                             message);
        if (result != VKF_SUCCESS) {
            return result;
        }
        Phase& passes = builder.lastPhase();
        passes.passes = keyTiles;
        passes.lse = Operand::scratchState;
        passes.variant.constants[VKF_ID_KEY_OUTER] = 1;
        passes.variant.constants[VKF_ID_SEQUENCES] = p.batch;
        passes.variant.constants[VKF_ID_TYPE_O] = VKF_STORED_F32;
    }
    const uint32_t lanes = std::bit_ceil((p.valueDim + 3) / 4);
    const uint32_t rows = finishWorkgroupSize / lanes;
    result = builder.add(Kernel::finishRows, {Operand::scratch, Operand::scratchState, Operand::none, Operand::o},
                         (builder.heads() * p.queryRows + rows - 1) / rows, 1.0 * rows * p.valueDim, message);
    if (result == VKF_SUCCESS) {
        Phase& finish = builder.lastPhase();
        finish.lse = p.lse != 0 ? Operand::lse : Operand::none;
        finish.variant.constants[VKF_ID_WORKGROUP_SIZE] = finishWorkgroupSize;
        finish.variant.constants[VKF_ID_LANES] = lanes;
        finish.variant.constants[VKF_ID_SEQUENCES] = p.batch;
    }
    return result;
}

// Adds the two phases of a fused path that splits the keys: parts of o and lse, and their merge.
VkfResult scheduleSplits(const Caps& caps, Kernel kernel, uint32_t splits, const CheckedProblem& problem,
                         Builder& builder, VkfMessage* message) {
    const VkfProblem& p = problem.given;
    if (builder.heads() * p.queryRows > most32 / splits) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "batch * queryHeads * queryRows * kvSplits is over the limit of 4294967295");
    }
    builder.setScratch(scratchLayout(p, p.batch * splits, p.valueDim)); // parts of o
    builder.addScratchState(splits);
    builder.setSplits(splits);
    const VkfResult result =
        builder.add(kernel, {Operand::q, Operand::k, Operand::v, Operand::scratch}, builder.rowTiles() * splits,
                    tileOperations(problem, builder.tile()) / splits, message);
    if (result != VKF_SUCCESS) {
        return result;
    }
    Phase& parts = builder.lastPhase();
    parts.lse = Operand::scratchState;
    parts.variant.constants[VKF_ID_SPLITS] = splits;
    parts.variant.constants[VKF_ID_TYPE_O] = VKF_STORED_F32;
    parts.variant.constants[VKF_ID_LSE] = 1;

    return scheduleMerge(caps, splits, problem, builder, message);
}

struct Obstacle {
    bool applies;
    const char* reason;
};

template <size_t count> const char* firstOf(const std::array<Obstacle, count>& obstacles) {
    const auto found = std::find_if(obstacles.begin(), obstacles.end(), [](const Obstacle& o) { return o.applies; });
    return found == obstacles.end() ? nullptr : found->reason;
}

// Why the cooperative-matrix path cannot do the problem on the device, or null.
const char* coopmatObstacle(const Caps& caps, const CheckedProblem& problem) {
    const VkfProblem& p = problem.given;
    const char* const ofProblem = firstOf(std::array{
        Obstacle{p.precision == VKF_PRECISION_FP32, "precision fp32 excludes products of 16-bit types"},
        Obstacle{p.q.type == VKF_TYPE_F32 || p.k.type != p.q.type || p.v.type != p.q.type,
                 "q, k and v must all be f16 or all be bf16"},
    });
    return ofProblem != nullptr ? ofProblem : matrixObstacle(caps, p.q.type);
}

// Whether all rows of a tensor are whole words of 16 bytes if its first element starts on one. Then a path asks
// for aligned addresses; else it loads element by element.
bool inWholeWords(const VkfTensorLayout& layout) {
    const ByteStrides strides = byteStrides(layout);
    return layout.dim * vkfTypeBytes(layout.type) % loadedWordBytes == 0 &&
           (strides.row | strides.head | strides.batch) % loadedWordBytes == 0;
}

// The same of q, k and v, whose offsets inside a tile must fit 32 bits besides.
template <typename AnyTile> bool hasWholeWords(const CheckedProblem& problem, const AnyTile& tile) {
    const auto inWords = [&](VkfTensorRole role) {
        const VkfTensorLayout& layout = problem.layout(role);
        return inWholeWords(layout) &&
               byteStrides(layout).row <= most32 / std::max(tile.rows(), tile.keys()) - loadedWordBytes;
    };
    return inWords(VKF_TENSOR_Q) && inWords(VKF_TENSOR_K) && inWords(VKF_TENSOR_V);
}

// Whether the kernel can store rows of o as whole words of 16 bytes: it knows fp32 and the type of its matrices.
bool hasWordOutput(const VkfProblem& p, VkfType stored) {
    return (stored == VKF_TYPE_F32 || stored == p.v.type) && p.valueDim * vkfTypeBytes(stored) % loadedWordBytes == 0;
}

VkfResult scheduleCoopmat(const Caps& caps, const CheckedProblem& problem, Builder& builder, VkfMessage* message) {
    if (const char* obstacle = coopmatObstacle(caps, problem); obstacle != nullptr) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "path coopmat: %s", obstacle);
    }
    const VkfProblem& p = problem.given;
    const bool bf16 = p.q.type == VKF_TYPE_BF16;
    const MatrixPlan chosen =
        chooseMatrixTile(caps, caps.matrixOf(p.q.type), tileProblem(builder.path(), problem), builder.considered());
    const MatrixTile& tile = chosen.tile;
    if (tile.subgroups == 0) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "path coopmat: headDim %u and valueDim %u need more than the %u bytes of shared memory there are",
                    p.headDim, p.valueDim, caps.maxSharedMemoryBytes);
    }
    builder.setTile(tile, tile.workgroupSize());
    const Kernel kernel = bf16 ? Kernel::attentionCoopmatBf16 : Kernel::attentionCoopmat;
    const uint32_t splits = p.kvSplits != 0 ? p.kvSplits : chosen.splits;
    const bool split = splits > 1 && !problem.empty;
    const bool outputWords = outputInWords(tile, p.keys / splits) && hasWordOutput(p, split ? VKF_TYPE_F32 : p.o.type);
    builder.setMatrices(tile.layout);
    builder.setWholeWords(hasWholeWords(problem, tile));
    builder.setOutputWords(outputWords);
    builder.setTuning(tileText(TunedMatrixTile{tile.subgroups, tile.rowTiles, tile.keyTiles, splits}), chosen.tuned);
    return split ? scheduleSplits(caps, kernel, splits, problem, builder, message)
                 : scheduleFused(kernel, problem, builder, message);
}

DecodeProblem decodeProblem(const CheckedProblem& problem) {
    const VkfProblem& p = problem.given;
    return {p.headDim,
            p.valueDim,
            p.k.type,
            p.v.type,
            uint64_t{p.queryHeads / std::max(p.kvHeads, 1U)} * p.queryRows,
            uint64_t{p.batch} * p.kvHeads,
            static_cast<uint32_t>(widestRow(problem, {}))};
}

// The phases of path decode, once the tile is set.
VkfResult addDecode(const Caps& caps, Kernel kernel, uint32_t chosenSplits, const CheckedProblem& problem,
                    Builder& builder, VkfMessage* message) {
    builder.packHeads();
    const uint32_t splits = problem.given.kvSplits != 0 ? problem.given.kvSplits : chosenSplits;
    return splits > 1 && !problem.empty ? scheduleSplits(caps, kernel, splits, problem, builder, message)
                                        : scheduleFused(kernel, problem, builder, message);
}

VkfResult scheduleDecode(const Caps& caps, const CheckedProblem& problem, Builder& builder, VkfMessage* message) {
    const VkfProblem& p = problem.given;
    const bool wholeKeys = inWholeWords(problem.layout(VKF_TENSOR_K)) && inWholeWords(problem.layout(VKF_TENSOR_V));
    if (coopmatObstacle(caps, problem) == nullptr) {
        const DecodeMatrixPlan chosen = chooseDecodeMatrixTile(caps, caps.matrixOf(p.q.type), decodeProblem(problem));
        if (chosen.tile.rowSubgroups != 0) {
            builder.setTile(chosen.tile, chosen.tile.workgroupSize());
            builder.setMatrices(chosen.tile.layout);
            builder.setWholeWords(wholeKeys && inWholeWords(problem.layout(VKF_TENSOR_Q)));
            const bool bf16 = p.q.type == VKF_TYPE_BF16;
            return addDecode(caps, bf16 ? Kernel::attentionDecodeMatrixBf16 : Kernel::attentionDecodeMatrix,
                             chosen.splits, problem, builder, message);
        }
    }
    const DecodePlan chosen = chooseDecodeTile(caps, decodeProblem(problem));
    const DecodeTile& tile = chosen.tile;
    if (tile.workgroupSize == 0) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "path decode: headDim %u and valueDim %u need more than the %u bytes of shared memory there are",
                    p.headDim, p.valueDim, caps.maxSharedMemoryBytes);
    }
    builder.setTile(tile, tile.workgroupSize);
    builder.setWholeWords(wholeKeys);
    return addDecode(caps, Kernel::attentionDecode, chosen.splits, problem, builder, message);
}

// The kernels of the unfused path, and what they have in common.
struct StandardKernels {
    Kernel scores;
    Kernel output;
    uint32_t typeOfP;        // VKF_STORED_*
    uint32_t rowMultiple;    // to which S is padded
    uint32_t columnMultiple; // the same of its columns
};

// More bytes of scores than this are no memory size, and their offsets would not fit 64 bits.
constexpr double mostScoreBytes = 0x1p62;

VkfResult standardOnMatrices(const Caps& caps, const CheckedProblem& problem, Builder& builder,
                             StandardKernels* kernels, VkfMessage* message) {
    const VkfProblem& p = problem.given;
    const ProductTile tile = chooseProductTile(caps, caps.matrixOf(p.q.type), tileProblem(builder.path(), problem));
    if (tile.subgroups == 0) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "path standard: valueDim %u needs more than the %u bytes of shared memory there are", p.valueDim,
                    caps.maxSharedMemoryBytes);
    }
    builder.setTile(tile, tile.workgroupSize());
    builder.setMatrices(tile.layout);
    builder.setWholeWords(hasWholeWords(problem, tile));
    const bool bf16 = p.q.type == VKF_TYPE_BF16;
    *kernels = {bf16 ? Kernel::standardScoresCoopmatBf16 : Kernel::standardScoresCoopmat,
                bf16 ? Kernel::standardOutputCoopmatBf16 : Kernel::standardOutputCoopmat,
                static_cast<uint32_t>(p.v.type), tile.layout.rows, std::max(tile.step(), tile.layout.columns)};
    return VKF_SUCCESS;
}

VkfResult standardInFp32(const Caps& caps, const CheckedProblem& problem, Builder& builder, StandardKernels* kernels,
                         VkfMessage* message) {
    const VkfResult result = setScalarTile(caps, problem, builder, message);
    *kernels = {Kernel::standardScores, Kernel::standardOutput, VKF_STORED_F32, 1, 4};
    return result;
}

// Adds the softmax: one workgroup a row.
VkfResult addSoftmax(const Caps& caps, const CheckedProblem& problem, const StandardKernels& kernels, Builder& builder,
                     VkfMessage* message) {
    const VkfProblem& p = problem.given;
    const VkfResult result = builder.add(
        Kernel::standardSoftmax,
        {p.weights != 0 ? Operand::weights : Operand::none, Operand::scratchState, Operand::none, Operand::scratch},
        builder.heads() * p.queryRows, 8.0 * p.keys, message);
    if (result == VKF_SUCCESS) {
        const SoftmaxTile tile = chooseSoftmaxTile(caps, static_cast<uint32_t>(widestRow(problem, builder.tile())));
        Phase& softmax = builder.lastPhase();
        softmax.lse = p.lse != 0 ? Operand::lse : Operand::none;
        softmax.variant.constants[VKF_ID_WORKGROUP_SIZE] = tile.workgroupSize;
        softmax.variant.constants[VKF_ID_ROW_WORDS] = tile.rowWords;
        softmax.variant.constants[VKF_ID_READER_ROWS] = builder.tile().rows;
        softmax.variant.constants[VKF_ID_WEIGHTS] = p.weights;
        softmax.variant.constants[VKF_ID_TYPE_O] = kernels.typeOfP;
    }
    return result;
}

VkfResult scheduleStandard(const Caps& caps, const CheckedProblem& problem, Builder& builder, VkfMessage* message) {
    const auto choose = coopmatObstacle(caps, problem) == nullptr ? standardOnMatrices : standardInFp32;
    StandardKernels kernels{};
    VkfResult result = choose(caps, problem, builder, &kernels, message);
    if (result != VKF_SUCCESS || problem.empty) {
        return result;
    }
    const VkfProblem& p = problem.given;
    if (static_cast<double>(roundUp(p.queryRows, kernels.rowMultiple)) * static_cast<double>(builder.heads()) *
            static_cast<double>(roundUp(p.keys, kernels.columnMultiple)) * sizeof(float) >
        mostScoreBytes) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "path standard: the scores of all heads are over 2^62 bytes");
    }
    builder.setScratch(scratchLayout(p, p.batch, p.keys, kernels.rowMultiple, kernels.columnMultiple)); // S, then P
    builder.addScratchState(1);
    const TileShape& tile = builder.tile();
    const uint64_t keyTiles = (uint64_t{p.keys} + tile.keys - 1) / tile.keys;
    const double rows = tile.rows;
    result = builder.add(kernels.scores, {Operand::q, Operand::k, Operand::none, Operand::scratch},
                         builder.rowTiles() * keyTiles, 2.0 * rows * tile.keys * p.headDim, message);
    if (result == VKF_SUCCESS) {
        result = addSoftmax(caps, problem, kernels, builder, message);
    }
    if (result == VKF_SUCCESS) {
        result = builder.add(kernels.output, {Operand::scratch, Operand::scratchState, Operand::v, Operand::o},
                             builder.rowTiles(), 2.0 * rows * widestRow(problem, tile) * p.valueDim, message);
    }
    if (result == VKF_SUCCESS) {
        builder.lastPhase().variant.constants[VKF_ID_TYPE_Q] = kernels.typeOfP;
    }
    return result;
}

// A software driver has no matrix units: there the portable kernel is faster.
bool prefersMatrices(const Caps& caps, const CheckedProblem& problem) {
    return caps.driver != VK_DRIVER_ID_MESA_LLVMPIPE && coopmatObstacle(caps, problem) == nullptr &&
           chooseMatrixTile(caps, caps.matrixOf(problem.given.q.type), tileProblem(VKF_PATH_COOPMAT, problem))
                   .tile.subgroups != 0;
}

// Most query rows that path decode takes on its own accord.
constexpr uint32_t mostDecodeRows = 16;

VkfPath chosenPath(const Caps& caps, const CheckedProblem& problem) {
    if (problem.given.path != VKF_PATH_AUTO) {
        return problem.given.path;
    }
    if (problem.given.queryRows <= mostDecodeRows && problem.given.maskBlock == 0) {
        return VKF_PATH_DECODE;
    }
    return prefersMatrices(caps, problem) ? VKF_PATH_COOPMAT : VKF_PATH_SCALAR;
}

} // namespace

uint32_t Schedule::steps() const {
    uint32_t total = 0;
    for (const Phase& phase : phases) {
        total += phase.steps();
    }
    return total;
}

const char* matrixObstacle(const Caps& caps, VkfType type) {
    return firstOf(std::array{
        Obstacle{(caps.features & VKF_FEATURE_COOPERATIVE_MATRIX) == 0,
                 "cooperative matrices are not enabled on this device"},
        Obstacle{type == VKF_TYPE_BF16 && (caps.features & VKF_FEATURE_BFLOAT16_MATRIX) == 0,
                 "cooperative matrices of bf16 are not enabled on this device"},
        Obstacle{!caps.subgroupReductions(), "full subgroups of a known size with shuffles are needed"},
        Obstacle{caps.matrixOf(type).rows == 0, "the device multiplies no matrices of a shape that the kernel can use"},
    });
}

VkfResult makeSchedule(const Caps& caps, const CheckedProblem& problem, Schedule* schedule, VkfMessage* message) {
    const VkfProblem& p = problem.given;
    Schedule made;
    made.path = chosenPath(caps, problem);
    Builder builder(caps, problem, &made);
    if (builder.needsStorage16() && (caps.features & VKF_FEATURE_STORAGE_16BIT) == 0) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "f16 and bf16 tensors need storageBuffer16BitAccess, which is not enabled on this device");
    }
    if (builder.heads() * p.queryRows > most32) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "batch * queryHeads * queryRows is over the limit of 4294967295");
    }
    const auto schedulePath = made.path == VKF_PATH_STANDARD    ? scheduleStandard
                              : made.path == VKF_PATH_COOPMAT   ? scheduleCoopmat
                              : made.path == VKF_PATH_DECODE    ? scheduleDecode
                              : made.path == VKF_PATH_KEY_OUTER ? scheduleKeyOuter
                                                                : scheduleScalar;
    if (const VkfResult result = schedulePath(caps, problem, builder, message); result != VKF_SUCCESS) {
        return result;
    }
    *schedule = std::move(made);
    return VKF_SUCCESS;
}

} // namespace vkf
