// SPDX-License-Identifier: MIT
#include "schedule.hpp"

#include <algorithm>
#include <limits>

#include "message.hpp"

namespace vkf {
namespace {

constexpr uint64_t most32 = std::numeric_limits<uint32_t>::max();
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

// Dense fp32 [batch, heads, queryRows, keys], rows padded to 16 bytes: S, then P.
VkfTensorLayout scoreLayout(const VkfProblem& p) {
    VkfTensorLayout layout{};
    layout.type = VKF_TYPE_F32;
    layout.batch = p.batch;
    layout.heads = p.queryHeads;
    layout.rows = p.queryRows;
    layout.dim = p.keys;
    layout.rowStride = (uint64_t{p.keys} + 3) / 4 * 4;
    layout.headStride = layout.rowStride * layout.rows;
    layout.batchStride = layout.headStride * layout.heads;
    layout.elements = layout.batchStride * layout.batch;
    return layout;
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
    params.window_left = problem.windowLeft < 0
                             ? VKF_UNLIMITED_LEFT
                             : static_cast<int32_t>(std::min<int64_t>(problem.windowLeft, VKF_UNLIMITED_LEFT));
    params.window_right = problem.windowRight < 0
                              ? VKF_UNLIMITED_RIGHT
                              : static_cast<int32_t>(std::min<int64_t>(problem.windowRight, VKF_UNLIMITED_RIGHT));
    params.heads = p.queryHeads | (p.queryHeads / p.kvHeads) << 16;
    return params;
}

Constants constantsOf(const CheckedProblem& problem, const Tile& tile, uint32_t shift) {
    const VkfProblem& p = problem.given;
    Constants c{};
    c[VKF_ID_WORKGROUP_SIZE] = tile.workgroupSize;
    c[VKF_ID_LANES] = tile.lanes;
    c[VKF_ID_THREAD_ROWS] = tile.threadRows;
    c[VKF_ID_THREAD_KEYS] = tile.threadKeys;
    c[VKF_ID_THREAD_COLUMNS] = tile.threadColumns4;
    c[VKF_ID_CHUNK_DIM] = tile.chunkDim4;
    c[VKF_ID_CHUNK_KEYS] = tile.chunkKeys;
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
    return c;
}

// Most keys that one row of a tile may see.
double widestRow(const CheckedProblem& problem, const Tile& tile) {
    const double keys = problem.given.keys;
    if (problem.windowLeft < 0 || problem.windowRight < 0) {
        return keys;
    }
    return std::min(keys, static_cast<double>(problem.windowLeft) + static_cast<double>(problem.windowRight) + 1.0 +
                              tile.rows());
}

// Builds the phases of one path from what they have in common.
class Builder {
public:
    Builder(const Caps& caps, const CheckedProblem& problem, Schedule* schedule)
        : caps_(caps), problem_(problem), schedule_(schedule) {}

    // Adds a kernel over `items` work items of at most `operations` each.
    VkfResult add(Kernel kernel, const std::array<Operand, 4>& operands, uint64_t items, double operations,
                  VkfMessage* message) {
        if (items == 0) {
            return VKF_SUCCESS;
        }
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
        phase.variant.subgroups = kernel == Kernel::attentionScalar && caps_.subgroupReductions();
        phase.variant.subgroupSize = phase.variant.subgroups ? caps_.subgroupSize : 0;
        phase.variant.constants = constantsOf(problem_, schedule_->tile, shift);
        phase.items = static_cast<uint32_t>(items);
        const double affordable = static_cast<double>(problem_.given.maxStepOperations) / std::max(operations, 1.0);
        phase.itemsPerStep =
            static_cast<uint32_t>(std::clamp(affordable, 1.0, static_cast<double>(caps_.maxGroupCount)));
        schedule_->phases.push_back(phase);
        return VKF_SUCCESS;
    }

    Phase& lastPhase() { return schedule_->phases.back(); }

    bool needsStorage16() const {
        return std::any_of(problem_.layouts.begin(), problem_.layouts.end(),
                           [](const VkfTensorLayout& layout) { return layout.type != VKF_TYPE_F32; });
    }

    uint64_t rowTiles() const {
        const uint32_t rows = schedule_->tile.rows();
        return (uint64_t{problem_.given.queryRows} + rows - 1) / rows * heads();
    }
    uint64_t heads() const { return uint64_t{problem_.given.batch} * problem_.given.queryHeads; }

private:
    // The problem's tensor behind an operand; null for none and scratch.
    const VkfTensorLayout* tensorOf(Operand operand) const {
        const auto index = static_cast<size_t>(operand) - static_cast<size_t>(Operand::q);
        return index < problem_.layouts.size() ? &problem_.layouts[index] : nullptr;
    }

    ByteStrides operandStrides(Operand operand) const {
        if (operand == Operand::scratch) {
            return byteStrides(scoreLayout(problem_.given));
        }
        const VkfTensorLayout* layout = tensorOf(operand);
        return layout != nullptr ? byteStrides(*layout) : ByteStrides{};
    }

    const Caps& caps_;
    const CheckedProblem& problem_;
    Schedule* schedule_;
};

VkfResult scheduleScalar(const CheckedProblem& problem, Builder& builder, const Tile& tile, VkfMessage* message) {
    const VkfProblem& p = problem.given;
    const double operations =
        2.0 * tile.rows() * widestRow(problem, tile) * (static_cast<double>(p.headDim) + p.valueDim);
    const VkfResult result = builder.add(Kernel::attentionScalar, {Operand::q, Operand::k, Operand::v, Operand::o},
                                         builder.rowTiles(), operations, message);
    if (result == VKF_SUCCESS) {
        builder.lastPhase().writesLse = p.lse != 0;
    }
    return result;
}

VkfResult scheduleStandard(const CheckedProblem& problem, Builder& builder, const Tile& tile, VkfMessage* message) {
    const VkfProblem& p = problem.given;
    const uint64_t keyTiles = (uint64_t{p.keys} + tile.keys() - 1) / tile.keys();
    const double rows = tile.rows();
    VkfResult result = builder.add(Kernel::standardScores, {Operand::q, Operand::k, Operand::none, Operand::scratch},
                                   builder.rowTiles() * keyTiles, 2.0 * rows * tile.keys() * p.headDim, message);
    if (result != VKF_SUCCESS) {
        return result;
    }
    result = builder.add(Kernel::standardSoftmax, {Operand::none, Operand::none, Operand::none, Operand::scratch},
                         builder.heads() * p.queryRows, 8.0 * p.keys, message);
    if (result != VKF_SUCCESS) {
        return result;
    }
    // One workgroup a row, all its invocations on that row.
    Phase& softmax = builder.lastPhase();
    softmax.writesLse = p.lse != 0;
    softmax.variant.constants[VKF_ID_WORKGROUP_SIZE] = standardSoftmaxLanes;
    softmax.variant.constants[VKF_ID_LANES] = standardSoftmaxLanes;
    softmax.variant.constants[VKF_ID_THREAD_ROWS] = 1;
    return builder.add(Kernel::standardOutput, {Operand::scratch, Operand::none, Operand::v, Operand::o},
                       builder.rowTiles(), 2.0 * rows * widestRow(problem, tile) * p.valueDim, message);
}

} // namespace

uint32_t Schedule::steps() const {
    uint32_t total = 0;
    for (const Phase& phase : phases) {
        total += phase.steps();
    }
    return total;
}

VkfResult makeSchedule(const Caps& caps, const CheckedProblem& problem, Schedule* schedule, VkfMessage* message) {
    const VkfProblem& p = problem.given;
    Schedule made;
    made.path = p.path == VKF_PATH_AUTO ? VKF_PATH_SCALAR : p.path;
    Builder builder(caps, problem, &made);
    if (builder.needsStorage16() && (caps.features & VKF_FEATURE_STORAGE_16BIT) == 0) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "f16 and bf16 tensors need storageBuffer16BitAccess, which is not enabled on this device");
    }
    if (builder.heads() * p.queryRows > most32) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "batch * queryHeads * queryRows is over the limit of 4294967295");
    }
    made.tile = chooseScalarTile(caps, {p.headDim, p.valueDim, p.queryRows, builder.heads(), p.o.type == VKF_TYPE_F32});
    if (made.tile.workgroupSize == 0) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "headDim %u and valueDim %u need more than the %u bytes of shared memory there are", p.headDim,
                    p.valueDim, caps.maxSharedMemoryBytes);
    }
    if (!problem.empty) {
        const bool standard = made.path == VKF_PATH_STANDARD;
        const VkfResult result = standard ? scheduleStandard(problem, builder, made.tile, message)
                                          : scheduleScalar(problem, builder, made.tile, message);
        if (result != VKF_SUCCESS) {
            return result;
        }
        made.scratchBytes = standard ? scoreLayout(p).elements * sizeof(float) : 0;
    }
    *schedule = std::move(made);
    return VKF_SUCCESS;
}

} // namespace vkf
