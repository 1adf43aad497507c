// SPDX-License-Identifier: MIT
#include "schedule/gradient/gradient.hpp"

#include <algorithm>
#include <bit>

#include "device/matrix_obstacle.hpp"
#include "problem/dropout.hpp"
#include "problem/mask_layout.hpp"
#include "problem/strides.hpp"
#include "schedule/gradient/gradient_bands.hpp"
#include "schedule/gradient/gradient_builder.hpp"
#include "schedule/packed_sequences.hpp"
#include "tiles/gradient/gradient_matrix_tile.hpp"
#include "tiles/gradient/gradient_tile.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

constexpr uint32_t stateWorkgroupSize = 128; // Vulkan guarantees this many invocations
constexpr uint32_t mostStateLanes = 32;

uint64_t tilesOf(uint64_t count, uint32_t tile) { return (count + tile - 1) / tile; }

// The most rows of a head that may see a tile of so many keys.
double widestColumn(const CheckedProblem& problem, uint32_t tileKeys) {
    const double rows = longestRowsOf(problem.given);
    const bool narrow = problem.windowLeft >= 0 && problem.windowRight >= 0 && problem.firstKeys() == 0;
    return narrow ? std::min(rows, static_cast<double>(problem.windowLeft) + static_cast<double>(problem.windowRight) +
                                       1.0 + tileKeys)
                  : rows;
}

// Number of sequences, heads or rows of dbias that differ.
uint32_t differing(uint64_t stride, uint32_t given, uint32_t count) {
    return stride == 0 ? 1 : repeatedCount(given, count);
}

shared::GradientTensor stridesOf(const VkfTensorLayout& layout) {
    const ByteStrides strides = byteStrides(layout);
    return {0, strides.batch, strides.head, strides.row};
}

// Fills in the table of the call, all but addresses.
void fillTable(const CheckedGradient& gradient, GradientSchedule* schedule) {
    const VkfProblem& p = gradient.forward.given;
    shared::GradientTable& table = schedule->table;
    table.dq = stridesOf(gradient.layout(VKF_GRADIENT_TENSOR_DQ));
    table.dk = stridesOf(gradient.layout(VKF_GRADIENT_TENSOR_DK));
    table.dv = stridesOf(gradient.layout(VKF_GRADIENT_TENSOR_DV));
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
    const uint64_t rows = uint64_t{tensorSequences(p)} * p.queryHeads * p.queryRows;
    if (rows > most32) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "%squeryHeads * queryRows is over the limit of 4294967295",
                    has(p, VKF_ARRAY_CU_SEQLENS) ? "" : "batch * ");
    }
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
    const VkfResult result =
        builder.add(Kernel::gradientRows, constants,
                    {{{Operand::o, &forward.layout(VKF_TENSOR_O), "o"},
                      {Operand::dout, &builder.gradient().layout(VKF_GRADIENT_TENSOR_DOUT), "dout"},
                      {Operand::dlse, nullptr, "dlse"},
                      {Operand::scratchState, nullptr, "scratch"}}},
                    tilesOf(rows, rowsOfWorkgroup), 2.0 * rowsOfWorkgroup * p.valueDim, message);
    if (result == VKF_SUCCESS) {
        builder.lastPhase().lse = Operand::lse;
        builder.lastPhase().joins = true; // it does not read the table
    }
    return result;
}

GradientTileProblem tileProblem(const GradientBuilder& builder, GradientOwner owner, bool sumsHeads, bool sumsValues) {
    const VkfProblem& p = builder.forward().given;
    const bool keys = owner == GradientOwner::keys;
    return {owner,
            p.headDim,
            p.valueDim,
            sumsHeads,
            sumsValues,
            keys ? typicalKeys(p) : typicalRows(p),
            uint64_t{typicalSequences(p)} * (keys ? p.kvHeads : p.queryHeads),
            hasDropout(p),
            vkf::tileProblem(VKF_PATH_COOPMAT, builder.forward())};
}

// Fails where no tile fits the device.
template <KernelTile Tile>
VkfResult requireTile(const GradientBuilder& builder, const Tile& tile, VkfMessage* message) {
    const VkfProblem& p = builder.forward().given;
    return tile.workgroupSize() != 0
               ? VKF_SUCCESS
               : fail(message, VKF_ERROR_UNSUPPORTED,
                      "the backward pass of headDim %u and valueDim %u needs more than the device's %u bytes of shared "
                      "memory",
                      p.headDim, p.valueDim, builder.caps().maxSharedMemoryBytes);
}

// Adds the phase that writes dq.
template <KernelTile Tile> VkfResult addRows(GradientBuilder& builder, const Tile& tile, VkfMessage* message) {
    const VkfProblem& p = builder.forward().given;
    if (const VkfResult result = requireTile(builder, tile, message); result != VKF_SUCCESS) {
        return result;
    }
    builder.schedule().rowTileText = tile.text(1);
    const uint64_t tiles = tilesOfRows(builder.forward(), 1, tile.rows());
    if (has(p, VKF_ARRAY_CU_SEQLENS)) {
        builder.schedule().slots = {static_cast<uint32_t>(tiles), 1, tile.rows(), 0};
    }
    const double operations =
        2.0 * tile.rows() * widestRow(builder.forward(), tile.rows()) * (2.0 * p.headDim + p.valueDim);
    return builder.addPairs(tile, tiles * builder.heads(), operations, message);
}

// The matrices of the chosen path; none on path scalar.
const MatrixLayout* matricesOf(GradientBuilder& builder) {
    return builder.schedule().path == VKF_PATH_COOPMAT ? &builder.schedule().matrix : nullptr;
}

// Whether a gradient is wanted and has elements.
bool writes(const GradientBuilder& builder, VkfGradientBits bit, VkfGradientRole role) {
    const CheckedGradient& gradient = builder.gradient();
    return gradient.wants(bit) && gradient.layout(role).elements != 0;
}

bool writesDq(const GradientBuilder& builder) { return writes(builder, VKF_GRADIENT_Q, VKF_GRADIENT_TENSOR_DQ); }
bool writesDk(const GradientBuilder& builder) { return writes(builder, VKF_GRADIENT_K, VKF_GRADIENT_TENSOR_DK); }
bool writesDv(const GradientBuilder& builder) { return writes(builder, VKF_GRADIENT_V, VKF_GRADIENT_TENSOR_DV); }

// Adds the phase that writes dq and computes scores and dp again, if dq is wanted.
VkfResult addRowPhase(GradientBuilder& builder, VkfMessage* message) {
    if (!writesDq(builder)) {
        return VKF_SUCCESS;
    }
    const GradientTileProblem problem = tileProblem(builder, GradientOwner::rows, true, false);
    const MatrixLayout* matrices = matricesOf(builder);
    return matrices != nullptr
               ? addRows(builder, chooseGradientMatrixTile(builder.device(), *matrices, problem), message)
               : addRows(builder, chooseGradientTile(builder.caps(), problem), message);
}

bool needsDp(const GradientTile& tile) { return tile.sumsHeads(); }
bool needsDp(const GradientMatrixTile& tile) { return tile.sumsHeads() || tile.storesP; }

// Adds a phase that writes dk, dv or both, or that stores p and ds.
template <KernelTile Tile> VkfResult addKeys(GradientBuilder& builder, const Tile& tile, VkfMessage* message) {
    if (const VkfResult result = requireTile(builder, tile, message); result != VKF_SUCCESS) {
        return result;
    }
    const VkfProblem& p = builder.forward().given;
    std::string& shown = builder.schedule().keyTileText;
    shown += (shown.empty() ? "" : "; ") + tile.text(1);
    const bool packed = has(p, VKF_ARRAY_CU_SEQLENS);
    const uint64_t tiles = packed ? uint64_t{p.keys} / tile.keys() + p.batch : tilesOf(p.keys, tile.keys());
    if (packed) {
        builder.schedule().keySlots = {static_cast<uint32_t>(tiles), 1, tile.keys(), 0};
    }
    const double columns = p.headDim + (needsDp(tile) ? p.valueDim : 0.0) + (tile.sumsHeads() ? p.headDim : 0.0) +
                           (tile.sumsValues() ? p.valueDim : 0.0);
    const uint32_t heads = p.queryHeads / p.kvHeads;
    const double operations = 2.0 * tile.keys() * widestColumn(builder.forward(), tile.keys()) * heads * columns;
    return builder.addPairs(tile, tiles * tensorSequences(p) * p.kvHeads, operations, message);
}

// The tiles of kernels that take turns, band by band. `dk` and `dv` have no workgroup unless `store` stores p.
struct BandTiles {
    GradientMatrixTile store;
    GradientSumTile dq, dk, dv;
};

// Wider heads leave all sums to others: with them, two subgroups share 16 keys, and add up their scores.
constexpr uint32_t widestFused = 128;

BandTiles bandTiles(const GradientBuilder& builder, const std::vector<GradientMatrixTile>& keyTiles,
                    const MatrixLayout& layout) {
    const VkfProblem& p = builder.forward().given;
    const auto sum = [&](GradientOwner owner, uint32_t dim) {
        return chooseGradientSumTile(builder.caps(), layout, owner, dim);
    };
    if (std::max(p.headDim, p.valueDim) <= widestFused) {
        return {keyTiles[0], sum(GradientOwner::rows, p.headDim), {}, {}};
    }
    GradientTileProblem problem = tileProblem(builder, GradientOwner::keys, false, false);
    problem.storesP = true;
    return {chooseGradientMatrixTile(builder.device(), layout, problem), sum(GradientOwner::rows, p.headDim),
            sum(GradientOwner::keys, p.headDim),
            writesDv(builder) ? sum(GradientOwner::keys, p.valueDim) : GradientSumTile{}};
}

// Whether the sums that `store` leaves to others have a tile that fits the device.
bool hasAllSums(const GradientBuilder& builder, const BandTiles& tiles) {
    return !tiles.store.storesP ||
           (tiles.dk.workgroupSize() != 0 && (!writesDv(builder) || tiles.dv.workgroupSize() != 0));
}

void setBands(const GradientBands& bands, const GradientMatrixTile& store, Phase& phase) {
    Constants& constants = phase.variant.constants;
    phase.passes = bands.passes;
    constants[VKF_ID_BAND_TILES] = bands.tiles;
    constants[VKF_ID_BAND_HEADS] = bands.heads;
    if (phase.variant.kernel == Kernel::gradientSums) {
        constants[VKF_ID_BAND_TILE_ROWS] = store.rows();
        constants[VKF_ID_BAND_TILE_KEYS] = store.keys();
        phase.alternates = true;
    } else {
        constants[VKF_ID_STORES_P] = store.storesP ? 1 : 0;
        phase.items = bands.passes * bands.heads * bands.tiles;
    }
}

// Adds the phase that sums over the pairs of a band.
VkfResult addSumPhase(GradientBuilder& builder, const GradientSumTile& tile, bool writesDv, const GradientBands& bands,
                      const GradientMatrixTile& store, VkfMessage* message) {
    const VkfProblem& p = builder.forward().given;
    const bool keys = tile.owner == GradientOwner::keys;
    const uint32_t heads = p.queryHeads / p.kvHeads;
    const uint32_t bandKeys = builder.schedule().bandKeys;
    const uint64_t tiles = keys ? tilesOf(bandKeys, tile.keys()) : heads * tilesOf(p.queryRows, tile.rows());
    const uint64_t visited = keys ? uint64_t{heads} * p.queryRows : std::min(bandKeys, p.keys);
    const double operations = 2.0 * tile.owned() * static_cast<double>(visited) * tile.dim;
    const VkfResult result =
        builder.addSums(tile, writesDv, uint64_t{bands.passes} * bands.heads * tiles, operations, message);
    if (result == VKF_SUCCESS) {
        setBands(bands, store, builder.lastPhase());
        builder.lastPhase().joins = keys;
    }
    return result;
}

// Adds the phases that store ds, or p and ds, and those that make sums from them.
VkfResult addBandPhases(GradientBuilder& builder, const BandTiles& tiles, const GradientBands& bands,
                        VkfMessage* message) {
    GradientSchedule& schedule = builder.schedule();
    const uint64_t stored = tiles.store.storesP ? bands.pairBytes / 2 : bands.pairBytes;
    schedule.bandKeys = bands.tiles * tiles.store.keys();
    schedule.dsOffset = schedule.reserveScratch(stored);
    schedule.pOffset = tiles.store.storesP ? schedule.reserveScratch(stored) : 0;
    schedule.sumsOffset = schedule.reserveScratch(bands.sumBytes);
    VkfResult result = addKeys(builder, tiles.store, message);
    if (result == VKF_SUCCESS) {
        setBands(bands, tiles.store, builder.lastPhase());
        builder.joinGradients();
    }
    for (const GradientSumTile* tile : {&tiles.dq, &tiles.dk, &tiles.dv}) {
        if (result == VKF_SUCCESS && tile->workgroupSize() != 0) {
            result = addSumPhase(builder, *tile, tile == &tiles.dv, bands, tiles.store, message);
        }
    }
    return result;
}

// The last phase does nothing unless the device asks for sums again.
void runIfAgain(GradientBuilder& builder, bool joins) {
    builder.lastPhase().variant.constants[VKF_ID_IF_AGAIN] = 1;
    builder.lastPhase().joins = joins;
}

// Adds the phases that write dq, dk and dv, where ds, or p and ds, stay in scratch memory. Phases that keep them to
// themselves come last: they have to, if stored ones cannot give the sums (VKF_SUMS_AGAIN).
VkfResult addBands(GradientBuilder& builder, const std::vector<GradientMatrixTile>& keyTiles, const BandTiles& tiles,
                   const GradientBands& bands, VkfMessage* message) {
    VkfResult result = addBandPhases(builder, tiles, bands, message);
    if (result == VKF_SUCCESS && !tiles.store.storesP && keyTiles.size() > 1) {
        result = addKeys(builder, keyTiles[1], message); // dv, while the last dq is made
        builder.joinGradients();
    }
    const std::string keyTileText = builder.schedule().keyTileText;
    if (result == VKF_SUCCESS) {
        result = addRowPhase(builder, message);
        runIfAgain(builder, false);
    }
    for (const GradientMatrixTile& tile : keyTiles) {
        if (result == VKF_SUCCESS && tiles.store.storesP) {
            result = addKeys(builder, tile, message);
            runIfAgain(builder, true);
        }
    }
    builder.schedule().keyTileText = keyTileText;
    builder.schedule().rowTileText = tiles.dq.text(1);
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
            result = addKeys(builder, tile, message);
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
        const bool packed = has(builder.forward().given, VKF_ARRAY_CU_SEQLENS); // all phases share the slots
        keyTiles = chooseKeyMatrixTiles(builder.device(), matrices,
                                        tileProblem(builder, GradientOwner::keys, dk, writesDv(builder)), packed);
    }
    if (dk && writesDq(builder) && builder.gradient().given.maxScratchBytes != 0 && keyTiles[0].workgroupSize() != 0) {
        const BandTiles tiles = bandTiles(builder, keyTiles, matrices);
        const GradientBands bands = chooseGradientBands(builder.gradient(), tiles.store, tiles.dq);
        if (bands.heads != 0 && hasAllSums(builder, tiles)) {
            return addBands(builder, keyTiles, tiles, bands, message);
        }
    }
    return addRowsAndKeys(builder, keyTiles, message);
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
    if (const VkfResult result = requireTile(builder, tile, message); result != VKF_SUCCESS) {
        return result;
    }
    const shared::GradientTable& table = builder.schedule().table;
    const uint64_t shared = uint64_t{p.batch} * p.queryHeads / table.bias_sequences / table.bias_heads + 1;
    const uint64_t rows = table.bias_rows == 1 ? longestRowsOf(p) : std::min(tile.rows(), longestRowsOf(p));
    const double operations = 2.0 * static_cast<double>(shared) * static_cast<double>(rows) * tile.keys() *
                              (static_cast<double>(p.headDim) + p.valueDim);
    const uint64_t items = uint64_t{table.bias_sequences} * table.bias_heads * tilesOf(table.bias_rows, tile.rows());
    const uint64_t keyTiles = tilesOf(longestKeysOf(p), tile.keys());
    if (items > most32 / keyTiles) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "dbias has over 4294967295 tiles of %u rows and %u keys",
                    tile.rows(), tile.keys());
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
    const VkfResult result = builder.add(Kernel::gradientSinks, constants,
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
const char* matrixObstacle(const Caps& caps, const CheckedGradient& gradient) {
    const VkfProblem& p = gradient.forward.given;
    const VkfType type = matrixType(p);
    // The forward pass takes block types, which have no backward pass.
    if (p.precision != VKF_PRECISION_FP32 && (p.k.type != type || p.v.type != type)) {
        return "k and v must both be f16 or both be bf16, as q unless q is f32";
    }
    if (const char* obstacle = matrixObstacle(caps, gradient.forward); obstacle != nullptr) {
        return obstacle;
    }
    const VkfType dout = gradient.layout(VKF_GRADIENT_TENSOR_DOUT).type;
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
           inWholeWords(forward.layout(VKF_TENSOR_V)) &&
           inWholeWords(builder.gradient().layout(VKF_GRADIENT_TENSOR_DOUT));
}

// AUTO avoids llvmpipe, which has no matrix units. It avoids rows that are not whole words, because on an H200 (NVIDIA
// 580.159.04) two random calls with such rows had a wrong dk (docs/portability.md).
bool avoidsMatrices(const GradientBuilder& builder) {
    return builder.caps().driver == VK_DRIVER_ID_MESA_LLVMPIPE || !readsWholeWords(builder);
}

// Chooses the path. AUTO is coopmat where the device can and nothing speaks against it.
VkfResult choosePath(GradientBuilder& builder, VkfMessage* message) {
    const Caps& caps = builder.caps();
    const VkfProblem& p = builder.forward().given;
    builder.schedule().path = VKF_PATH_SCALAR;
    if (p.path == VKF_PATH_SCALAR || (p.path == VKF_PATH_AUTO && avoidsMatrices(builder))) {
        return VKF_SUCCESS;
    }
    const char* const obstacle = matrixObstacle(caps, builder.gradient());
    if (p.path == VKF_PATH_COOPMAT && obstacle != nullptr) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "the backward pass on path coopmat: %s", obstacle);
    }
    if (obstacle == nullptr) {
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
    *schedule = std::move(made);
    return VKF_SUCCESS;
}

} // namespace vkf
