// SPDX-License-Identifier: MIT
#include "schedule/gradient/gradient.hpp"

#include <algorithm>
#include <bit>

#include "device/matrix_support.hpp"
#include "problem/mask_layout.hpp"
#include "problem/strides.hpp"
#include "schedule/counts.hpp"
#include "schedule/gradient/gradient_bands.hpp"
#include "schedule/gradient/gradient_builder.hpp"
#include "schedule/gradient/gradient_pairs.hpp"
#include "schedule/packed_sequences.hpp"
#include "tiles/amd/registers.hpp"
#include "tiles/gradient/gradient_matrix_tile.hpp"
#include "tiles/gradient/gradient_tile.hpp"
#include "tiles/kernel_tile.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

constexpr uint32_t stateWorkgroupSize = 128; // Vulkan guarantees this many invocations
constexpr uint32_t mostStateLanes = 32;

// Number of sequences, heads or rows of dbias that differ.
uint32_t differing(uint64_t stride, uint32_t given, uint32_t count) {
    return stride == 0 ? 1 : repeatedCount(given, count);
}

shared::BackwardTensor stridesOf(const VkfTensorLayout& layout) {
    const ByteStrides strides = byteStrides(layout);
    return {0, strides.batch, strides.head, strides.row};
}

// Fills in the table of the call, all but addresses.
void fillTable(const CheckedGradient& gradient, GradientSchedule* schedule) {
    const VkfProblem& p = gradient.forward.given;
    shared::BackwardTable& table = schedule->table;
    table.dq = stridesOf(gradient.layout(VKF_BACKWARD_DQ));
    table.dk = stridesOf(gradient.layout(VKF_BACKWARD_DK));
    table.dv = stridesOf(gradient.layout(VKF_BACKWARD_DV));
    table.kv_heads = p.kvHeads;
    table.scale = p.scale;
    if (gradient.biasElements != 0) {
        const uint64_t bytes = vkfTypeBytes(gradient.given.dbiasType);
        table.dbias = {0, p.bias.batchStride * bytes, p.bias.headStride * bytes, p.bias.rowStride * bytes};
        table.bias_sequences = differing(p.bias.batchStride, p.bias.sequences, p.batch);
        table.bias_heads = differing(p.bias.headStride, p.bias.heads, p.queryHeads);
        table.bias_rows = differing(p.bias.rowStride, 0, longestRowsOf(p));
    }
}

// Adds the phase that writes the state of all rows.
VkfResult addState(GradientBuilder& builder, VkfMessage* message) {
    const CheckedProblem& forward = builder.forward();
    const VkfProblem& p = forward.given;
    if (const VkfResult result = checkRowCount(forward, 1, message); result != VKF_SUCCESS) {
        return result;
    }
    const uint64_t rows = uint64_t{tensorSequences(p)} * p.queryHeads * p.queryRows;
    builder.reserveState(rows);
    if (rows == 0) {
        return VKF_SUCCESS;
    }
    const uint32_t lanes = std::min(std::bit_ceil((p.valueDim + 3) / 4), mostStateLanes);
    const uint32_t rowsOfWorkgroup = stateWorkgroupSize / lanes;
    Constants constants{};
    constants[VKF_ID_WORKGROUP_SIZE] = stateWorkgroupSize;
    constants[VKF_ID_STATE_LANES] = lanes;
    constants[VKF_ID_SEQUENCES] = tensorSequences(p);
    const VkfResult result = builder.add(Kernel::backwardRows, constants,
                                         {{{Operand::o, &forward.layout(VKF_TENSOR_O), "o"},
                                           {Operand::dout, &builder.gradient().layout(VKF_BACKWARD_DOUT), "dout"},
                                           {Operand::dlse, nullptr, "dlse"},
                                           {Operand::scratchState, nullptr, "scratch"}}},
                                         tilesOf(rows, rowsOfWorkgroup), 2.0 * rowsOfWorkgroup * p.valueDim, message);
    if (result == VKF_SUCCESS) {
        builder.lastPhase().lse = Operand::lse;
        builder.lastPhase().joins = true; // it does not read the table
    }
    return result;
}

template <KernelTile Tile>
VkfResult addRowsAndKeys(GradientBuilder& builder, const std::vector<Tile>& keyTiles, VkfMessage* message) {
    VkfResult result = addRowPhase(builder, message);
    if (result == VKF_SUCCESS && writesDq(builder)) {
        builder.joinGradients();
    }
    for (const Tile& tile : keyTiles) {
        if (result == VKF_SUCCESS) {
            result = addKeyPhase(builder, tile, message);
        }
        if (result == VKF_SUCCESS) {
            builder.joinGradients();
        }
    }
    return result;
}

// Adds the phases that write dq, dk and dv: one for dq, one for dk and dv or one each.
VkfResult addMatrixPairs(GradientBuilder& builder, VkfMessage* message) {
    const bool dk = writesDk(builder);
    const MatrixLayout& matrices = builder.schedule().matrix;
    std::vector<GradientMatrixTile> keyTiles;
    if (dk || writesDv(builder)) {
        const bool packed = has(builder.forward().given, VKF_USE_CU_SEQLENS); // all phases share the tile sequences
        keyTiles = chooseKeyMatrixTiles(builder.device(), matrices,
                                        tileProblem(builder, GradientOwner::keys, dk, writesDv(builder)), packed);
    }
    bool inBands = false;
    const VkfResult result = addBands(builder, keyTiles, &inBands, message);
    return inBands || result != VKF_SUCCESS ? result : addRowsAndKeys(builder, keyTiles, message);
}

VkfResult addPairs(GradientBuilder& builder, VkfMessage* message) {
    if (matricesOf(builder) != nullptr) {
        return addMatrixPairs(builder, message);
    }
    const bool dk = writesDk(builder);
    const bool dv = writesDv(builder);
    std::vector<GradientTile> keyTiles;
    if (dk || dv) {
        keyTiles = chooseKeyTiles(builder.caps(), tileProblem(builder, GradientOwner::keys, dk, dv));
    }
    return addRowsAndKeys(builder, keyTiles, message);
}

// Adds the phase that writes dbias.
VkfResult addBias(GradientBuilder& builder, VkfMessage* message) {
    const VkfProblem& p = builder.forward().given;
    if (builder.gradient().biasElements == 0) {
        return VKF_SUCCESS;
    }
    const GradientTile tile =
        chooseGradientTile(builder.caps(), tileProblem(builder, GradientOwner::bias, false, false));
    if (const VkfResult result = requireTile(builder, tile.workgroupSize(), message); result != VKF_SUCCESS) {
        return result;
    }
    const shared::BackwardTable& table = builder.schedule().table;
    const uint64_t shared = uint64_t{p.batch} * p.queryHeads / table.bias_sequences / table.bias_heads + 1;
    const uint64_t rows = table.bias_rows == 1 ? longestRowsOf(p) : std::min(tile.rows(), longestRowsOf(p));
    const double operations = 2.0 * static_cast<double>(shared) * static_cast<double>(rows) * tile.keys() *
                              (static_cast<double>(p.headDim) + p.valueDim);
    const uint64_t items = uint64_t{table.bias_sequences} * table.bias_heads * tilesOf(table.bias_rows, tile.rows());
    const uint64_t keyTiles = tilesOf(longestKeysOf(p), tile.keys());
    if (items > mostCount / keyTiles) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "dbias has over %llu tiles of %u rows and %u keys",
                    static_cast<unsigned long long>(mostCount), tile.rows(), tile.keys());
    }
    const VkfResult result = builder.addPairs(tile, items * keyTiles, operations, message);
    if (result == VKF_SUCCESS) {
        builder.joinGradients();
    }
    return result;
}

// Adds the phase that writes dsinks.
VkfResult addSinks(GradientBuilder& builder, VkfMessage* message) {
    const VkfProblem& p = builder.forward().given;
    if (!builder.gradient().wants(VKF_GRADIENT_SINKS) || p.queryHeads == 0) {
        return VKF_SUCCESS;
    }
    Constants constants{};
    constants[VKF_ID_WORKGROUP_SIZE] = stateWorkgroupSize;
    const VkfResult result = builder.add(Kernel::backwardSinks, constants,
                                         {{{Operand::none, nullptr, ""},
                                           {Operand::none, nullptr, ""},
                                           {Operand::none, nullptr, ""},
                                           {Operand::scratchState, nullptr, "scratch"}}},
                                         p.queryHeads, 4.0 * tensorSequences(p) * p.queryRows, message);
    if (result == VKF_SUCCESS) {
        builder.joinGradients();
    }
    return result;
}

// Why the device cannot do the backward pass on cooperative matrices, or null.
const char* whyNoMatrices(const Caps& caps, const CheckedGradient& gradient) {
    const VkfProblem& p = gradient.forward.given;
    const VkfType type = matrixType(p);
    // The forward pass takes block types, which have no backward pass.
    if (p.precision != VKF_PRECISION_FP32 && (p.k.type != type || p.v.type != type)) {
        return "k and v must both be f16 or both be bf16, as q unless q is f32";
    }
    if (const char* whyNot = whyNoMatrices(caps, gradient.forward); whyNot != nullptr) {
        return whyNot;
    }
    const VkfType dout = gradient.layout(VKF_BACKWARD_DOUT).type;
    return dout == VKF_TYPE_F32 || dout == type ? nullptr : "dout must be f32 or of the type of k and v";
}

// Whether every kernel that is wanted has a tile that fits the device.
bool hasMatrixTiles(GradientBuilder& builder, const MatrixLayout& layout) {
    const auto fits = [&](GradientOwner owner) {
        const bool keys = owner == GradientOwner::keys;
        return chooseGradientMatrixTile(builder.device(), layout, tileProblem(builder, owner, true, keys))
                   .workgroupSize() != 0;
    };
    return fits(GradientOwner::rows) && fits(GradientOwner::keys);
}

// Whether no kernel on cooperative matrices reads tensors element by element.
bool readsWholeWords(const GradientBuilder& builder) {
    const CheckedProblem& forward = builder.forward();
    return inWholeWords(forward.layout(VKF_TENSOR_Q)) && inWholeWords(forward.layout(VKF_TENSOR_K)) &&
           inWholeWords(forward.layout(VKF_TENSOR_V)) && inWholeWords(builder.gradient().layout(VKF_BACKWARD_DOUT));
}

// AUTO avoids llvmpipe, which has no matrix units. It avoids rows that are not whole words, because NVIDIA's compiler
// (580.159.04) lost sums of such calls, and AMD chips, whose compiler keeps no tile in registers (docs/portability.md).
bool avoidsMatrices(const GradientBuilder& builder) {
    return builder.caps().driver == VK_DRIVER_ID_MESA_LLVMPIPE || isAmd(builder.caps()) || !readsWholeWords(builder);
}

// Chooses the path. AUTO is coopmat where the device can and nothing speaks against it.
VkfResult choosePath(GradientBuilder& builder, VkfMessage* message) {
    const Caps& caps = builder.caps();
    const VkfProblem& p = builder.forward().given;
    builder.schedule().path = VKF_PATH_SCALAR;
    if (p.path == VKF_PATH_SCALAR || (p.path == VKF_PATH_AUTO && avoidsMatrices(builder))) {
        return VKF_SUCCESS;
    }
    const char* const whyNot = whyNoMatrices(caps, builder.gradient());
    if (p.path == VKF_PATH_COOPMAT && whyNot != nullptr) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "the backward pass on path coopmat: %s", whyNot);
    }
    if (whyNot == nullptr) {
        const MatrixLayout& layout = caps.matrixOf(matrixType(p));
        if (p.path == VKF_PATH_COOPMAT || hasMatrixTiles(builder, layout)) {
            builder.schedule().path = VKF_PATH_COOPMAT;
            builder.setMatrices(layout);
        }
    }
    return VKF_SUCCESS;
}

} // namespace

VkfResult makeGradientSchedule(const TunedDevice& device, const CheckedGradient& gradient, GradientSchedule* schedule,
                               VkfMessage* message) {
    GradientSchedule made;
    GradientBuilder builder(device, gradient, &made);
    if (const VkfResult result = choosePath(builder, message); result != VKF_SUCCESS) {
        return result;
    }
    if (builder.needsStorage16()) {
        if (const VkfResult result = requireStorage16(device.caps, "tensors of other types than f32 need", message);
            result != VKF_SUCCESS) {
            return result;
        }
    }
    fillTable(gradient, &made);
    VkfResult result = addState(builder, message);
    for (const auto add : {addPairs, addBias, addSinks}) {
        result = result == VKF_SUCCESS ? add(builder, message) : result;
    }
    if (result != VKF_SUCCESS) {
        return result;
    }
    builder.finish();
    if (result = checkStepCount(made.phases, message); result != VKF_SUCCESS) {
        return result;
    }
    *schedule = std::move(made);
    return VKF_SUCCESS;
}

} // namespace vkf
