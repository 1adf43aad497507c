// SPDX-License-Identifier: MIT
#include "planning/backward/backward_decision.hpp"

#include <array>
#include <utility>

#include "device/chips.hpp"
#include "device/matrix_support.hpp"
#include "planning/backward/backward_map.hpp"
#include "planning/backward/backward_wgmma.hpp"
#include "problem/dropout.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

// Whether a gradient is wanted and has elements.
bool writes(const CheckedBackward& backward, VkfGradientBits bit, VkfBackwardRole role) {
    return backward.wants(bit) && backward.layout(role).elements != 0;
}
bool writesDq(const CheckedBackward& g) { return writes(g, VKF_GRADIENT_Q, VKF_BACKWARD_DQ); }
bool writesDk(const CheckedBackward& g) { return writes(g, VKF_GRADIENT_K, VKF_BACKWARD_DK); }
bool writesDv(const CheckedBackward& g) { return writes(g, VKF_GRADIENT_V, VKF_BACKWARD_DV); }

BackwardTileProblem problemOf(const CheckedBackward& backward, BackwardOwner owner, bool makesDqOrDk, bool makesDv) {
    const VkfProblem& p = backward.forward.fields;
    const bool keys = owner == BackwardOwner::keys;
    return {owner,
            p.headDim,
            p.valueDim,
            makesDqOrDk,
            makesDv,
            keys ? typicalKeys(p) : typicalRows(p),
            uint64_t{typicalSequences(p)} * (keys ? p.kvHeads : p.queryHeads),
            hasDropout(p),
            tileProblem(VKF_PATH_COOPMAT, backward.forward)};
}

// ---- The path --------------------------------------------------------------------------------------------------

// Why the device cannot do the backward pass on cooperative matrices, or null.
const char* whyNoMatrices(const Caps& caps, const CheckedBackward& backward) {
    const VkfProblem& p = backward.forward.fields;
    const VkfType type = matrixType(p);
    // The forward pass takes block types, which have no backward pass.
    if (p.precision != VKF_PRECISION_FP32 && (p.k.type != type || p.v.type != type)) {
        return "k and v must both be f16 or both be bf16, as q unless q is f32";
    }
    if (const char* whyNot = whyNoMatrices(caps, backward.forward); whyNot != nullptr) {
        return whyNot;
    }
    const VkfType dout = backward.layout(VKF_BACKWARD_DOUT).type;
    return dout == VKF_TYPE_F32 || dout == type ? nullptr : "dout must be f32 or of the type of k and v";
}

// Whether every kernel that is wanted has a tile that fits the device.
bool hasMatrixTiles(const TunedDevice& device, const CheckedBackward& backward, const MatrixLayout& layout) {
    const auto fits = [&](BackwardOwner owner) {
        const bool keys = owner == BackwardOwner::keys;
        return chooseBackwardMatrixTile(device, layout, problemOf(backward, owner, true, keys)).workgroupSize() != 0;
    };
    return fits(BackwardOwner::rows) && fits(BackwardOwner::keys);
}

// Whether no kernel on cooperative matrices reads tensors element by element.
bool readsWholeWords(const CheckedBackward& backward) {
    const CheckedProblem& forward = backward.forward;
    return inWholeWords(forward.layout(VKF_TENSOR_Q)) && inWholeWords(forward.layout(VKF_TENSOR_K)) &&
           inWholeWords(forward.layout(VKF_TENSOR_V)) && inWholeWords(backward.layout(VKF_BACKWARD_DOUT));
}

constexpr std::array paths = {VKF_PATH_WGMMA, VKF_PATH_COOPMAT, VKF_PATH_SCALAR};

using WgmmaTiles = PairTiles<BackwardWgmmaTile>;
constexpr uint32_t minWgmmaDim = 40; // of headDim and valueDim, the larger one
constexpr const char* noWgmmaTile = "its tile needs more shared memory or more invocations than the device has, or a "
                                    "row stride of q, k, v or dout is too large";

// Tiles of the kernels that are wanted. Empty if one does not fit.
std::optional<WgmmaTiles> chooseWgmmaTiles(const Caps& caps, const CheckedBackward& backward) {
    const VkfProblem& p = backward.forward.fields;
    bool fits = true;
    const auto choose = [&](BackwardOwner owner) {
        const BackwardWgmmaTile tile = chooseBackwardWgmmaTile(caps, owner, p.headDim, p.valueDim);
        fits = fits && tile.workgroupSize() != 0 && hasWholeWords(backward, tile);
        return tile;
    };
    WgmmaTiles tiles;
    if (writesDq(backward)) {
        tiles.rows = choose(BackwardOwner::rows);
    }
    if (writesDk(backward) || writesDv(backward)) {
        tiles.keys = {choose(BackwardOwner::keys)};
    }
    return fits ? std::optional(tiles) : std::nullopt;
}

// Decides whether AUTO takes path wgmma, and says why. On an H200 no call is too short for a launch: it takes as long
// as coopmat with 64 rows and keys of 32 heads, and less from there on. Few columns leave half of the matrices empty:
// with 32, it takes 1.03 of coopmat's time (bench/results/h200-wgmma-backward.txt).
PathDecision judgeWgmma(const TunedDevice& device, const CheckedBackward& backward) {
    const char* whyNot = whyNotWgmma(device, backward);
    if (whyNot == nullptr && !chooseWgmmaTiles(device.caps, backward)) {
        whyNot = noWgmmaTile;
    }
    if (whyNot != nullptr) {
        return {VKF_PATH_WGMMA, VKF_RULE_UNSUPPORTED, inWords("the backward pass on path wgmma: %s", whyNot)};
    }
    const uint32_t dim = std::max(backward.forward.fields.headDim, backward.forward.fields.valueDim);
    if (dim < minWgmmaDim) {
        return {VKF_PATH_WGMMA, VKF_RULE_SHORT_CALL,
                inWords("wgmma pays from %u columns on (here %u): its matrices have 64", minWgmmaDim, dim)};
    }
    return {VKF_PATH_WGMMA, VKF_RULE_LONG_CALL, "a backward pass of any length pays for a launch of wgmma"};
}

// Decides whether AUTO takes path coopmat, and says why: it does where the device can and no rule excludes it.
PathDecision judgeCoopmat(const TunedDevice& device, const CheckedBackward& backward) {
    if (chipOf(device.caps).path.avoidsBackwardMatrices) {
        return {VKF_PATH_COOPMAT, VKF_RULE_CHIP, "plain arithmetic is faster than the matrices of this chip"};
    }
    // NVIDIA's compiler (580.159.04) lost sums of calls whose rows are not whole words.
    if (!readsWholeWords(backward)) {
        return {VKF_PATH_COOPMAT, VKF_RULE_WHOLE_WORDS,
                inWords("AUTO takes coopmat if rows of q, k, v and dout are multiples of %u bytes", loadedWordBytes)};
    }
    if (const char* whyNot = whyNoMatrices(device.caps, backward); whyNot != nullptr) {
        return {VKF_PATH_COOPMAT, VKF_RULE_UNSUPPORTED, inWords("the backward pass on path coopmat: %s", whyNot)};
    }
    if (!hasMatrixTiles(device, backward, device.caps.matrixOf(matrixType(backward.forward.fields)))) {
        return {VKF_PATH_COOPMAT, VKF_RULE_UNSUPPORTED, "no tile of the backward pass on path coopmat fits the device"};
    }
    return {VKF_PATH_COOPMAT, VKF_RULE_MATRIX_UNITS, "matrix units multiply faster than plain arithmetic"};
}

// The path that the problem asks for, or AUTO takes. Sets its decisions.
VkfPath choosePath(const TunedDevice& device, const CheckedBackward& backward, PathDecisions* decisions) {
    if (const VkfPath asked = backward.forward.fields.path; asked != VKF_PATH_AUTO) {
        *decisions = askedFor(asked, paths);
        return asked;
    }
    const PathDecision wgmma = judgeWgmma(device, backward);
    PathDecision coopmat = judgeCoopmat(device, backward);
    const bool hasCoopmat = coopmat.rule == VKF_RULE_MATRIX_UNITS;
    const PathDecision scalar =
        hasCoopmat ? PathDecision{VKF_PATH_SCALAR, coopmat.rule, coopmat.reason}
                   : PathDecision{VKF_PATH_SCALAR, VKF_RULE_OTHERWISE, "scalar computes what coopmat does not take"};
    // Path wgmma falls back to coopmat, so it needs both.
    const bool hasWgmma = hasCoopmat && wgmma.rule == VKF_RULE_LONG_CALL;
    if (hasWgmma) {
        coopmat = {VKF_PATH_COOPMAT, wgmma.rule, wgmma.reason};
    }
    *decisions = {wgmma, coopmat, scalar};
    return hasWgmma ? VKF_PATH_WGMMA : hasCoopmat ? VKF_PATH_COOPMAT : VKF_PATH_SCALAR;
}

// Decides the path and its matrices.
VkfResult decidePath(const TunedDevice& device, const CheckedBackward& backward, BackwardDecision* decision,
                     VkfMessage* message) {
    decision->path = choosePath(device, backward, &decision->pathDecisions);
    if (decision->path == VKF_PATH_SCALAR) {
        return VKF_SUCCESS;
    }
    if (decision->path == VKF_PATH_WGMMA) {
        if (const char* const whyNot = whyNotWgmma(device, backward); whyNot != nullptr) {
            return fail(message, VKF_ERROR_UNSUPPORTED, "the backward pass on path wgmma: %s", whyNot);
        }
    }
    if (const char* const whyNot = whyNoMatrices(device.caps, backward); whyNot != nullptr) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "the backward pass on path coopmat%s: %s",
                    decision->path == VKF_PATH_WGMMA ? ", which path wgmma falls back to" : "", whyNot);
    }
    decision->productType = matrixType(backward.forward.fields);
    decision->matrix = device.caps.matrixOf(decision->productType);
    return VKF_SUCCESS;
}

// ---- Tiles -----------------------------------------------------------------------------------------------------

void decideScalarTiles(const Caps& caps, const CheckedBackward& backward, BackwardDecision* decision) {
    const bool dk = writesDk(backward);
    const bool dv = writesDv(backward);
    if (writesDq(backward)) {
        decision->scalar.rows = chooseBackwardTile(caps, problemOf(backward, BackwardOwner::rows, true, false));
    }
    if (dk || dv) {
        decision->scalar.keys = chooseKeyTiles(caps, problemOf(backward, BackwardOwner::keys, dk, dv));
    }
}

void decideMatrixTiles(const TunedDevice& device, const CheckedBackward& backward, BackwardDecision* decision) {
    const bool dk = writesDk(backward);
    const bool dv = writesDv(backward);
    if (writesDq(backward)) {
        decision->coopmat.rows =
            chooseBackwardMatrixTile(device, decision->matrix, problemOf(backward, BackwardOwner::rows, true, false));
    }
    if (dk || dv) {
        const bool packed = has(backward.forward.fields, VKF_USE_CU_SEQLENS); // all phases share the tile sequences
        decision->coopmat.keys =
            chooseKeyMatrixTiles(device, decision->matrix, problemOf(backward, BackwardOwner::keys, dk, dv), packed);
    }
}

VkfResult decideWgmmaTiles(const Caps& caps, const CheckedBackward& backward, BackwardDecision* decision,
                           VkfMessage* message) {
    std::optional<WgmmaTiles> tiles = chooseWgmmaTiles(caps, backward);
    if (!tiles) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "the backward pass on path wgmma: %s", noWgmmaTile);
    }
    decision->wgmma = std::move(*tiles);
    return VKF_SUCCESS;
}

// ---- Bands -----------------------------------------------------------------------------------------------------

// Wider heads leave all sums to others: with them, two subgroups share 16 keys, and add up their scores.
constexpr uint32_t widestFused = 128;

BandChoice bandTiles(const TunedDevice& device, const CheckedBackward& backward, const BackwardDecision& decision) {
    const VkfProblem& p = backward.forward.fields;
    BandChoice tiles{{}, decision.coopmat.keys[0], {}, {}, {}};
    const auto sum = [&](BackwardOwner owner, uint32_t dim) {
        return chooseBackwardSumTile(device.caps, decision.matrix, owner, dim, tiles.store.keys());
    };
    if (std::max(p.headDim, p.valueDim) > widestFused) {
        BackwardTileProblem problem = problemOf(backward, BackwardOwner::keys, false, false);
        problem.storesP = true;
        tiles.store = chooseBackwardMatrixTile(device, decision.matrix, problem);
        tiles.dk = sum(BackwardOwner::keys, p.headDim);
        tiles.dv = writesDv(backward) ? sum(BackwardOwner::keys, p.valueDim) : BackwardSumTile{};
    }
    tiles.dq = sum(BackwardOwner::rows, p.headDim);
    return tiles;
}

// Whether the sums that `store` leaves to others have a tile that fits the device.
bool hasAllSums(const CheckedBackward& backward, const BandChoice& tiles) {
    return !tiles.store.storesP ||
           (tiles.dk.workgroupSize() != 0 && (!writesDv(backward) || tiles.dv.workgroupSize() != 0));
}

// Bands of keys, if VkfBackwardProblem::maxScratchBytes has room for enough keys.
std::optional<BandChoice> chooseBands(const TunedDevice& device, const CheckedBackward& backward,
                                      const BackwardDecision& decision) {
    if (!writesDq(backward) || !writesDk(backward) || decision.coopmat.keys[0].workgroupSize() == 0) {
        return {};
    }
    BandChoice chosen = bandTiles(device, backward, decision);
    chosen.bands = chooseBackwardBands(backward, chosen.store, chosen.dq);
    return chosen.bands.heads != 0 && hasAllSums(backward, chosen) ? std::optional(chosen) : std::nullopt;
}

// Chooses the map after the bands, because its tiles divide theirs. First keys have bands only with lists
// (chooseBackwardBands).
void chooseMapForBands(const Caps& caps, const CheckedBackward& backward, BackwardDecision* decision) {
    chooseBackwardMap(caps, backward, decision);
    if (decision->bands && !decision->map && backward.forward.firstKeys() != 0) {
        decision->bands.reset();
        chooseBackwardMap(caps, backward, decision);
    }
}

// ---- What vkfGetBackwardInfo shows -----------------------------------------------------------------------------

template <KernelTile Tile> void showTile(const Tile& tile, BackwardDecision* decision) {
    TileShape& shown = decision->tile;
    shown.workgroupSize = std::max(shown.workgroupSize, tile.workgroupSize());
    shown.sharedBytes = std::max(shown.sharedBytes, tile.sharedBytes());
}

// Where rows are whole words, kernels load them as such, and the addresses must be aligned to words.
template <KernelTile Tile>
void showMatrixTile(const CheckedBackward& backward, const Tile& tile, BackwardDecision* decision) {
    showTile(tile, decision);
    const uint32_t alignment = hasWholeWords(backward, tile) ? loadedWordBytes : 1U;
    decision->inputAlignment = std::max(decision->inputAlignment, alignment);
}

void showTileOfPairs(const CheckedBackward& backward, const BackwardMatrixTile& tile, BackwardDecision* decision) {
    showMatrixTile(backward, tile, decision);
    decision->tuned = decision->tuned || tile.tuned;
}

template <typename Tile> std::string textOf(const std::vector<Tile>& tiles) {
    std::string text;
    for (const Tile& tile : tiles) {
        text += (text.empty() ? "" : "; ") + tile.text(1);
    }
    return text;
}

template <typename Tile> void showTexts(const PairTiles<Tile>& tiles, BackwardDecision* decision) {
    decision->rowTileText = tiles.rows ? tiles.rows->text(1) : "";
    decision->keyTileText = textOf(tiles.keys);
}

void showBands(const CheckedBackward& backward, BackwardDecision* decision) {
    const BandChoice& bands = *decision->bands;
    showTileOfPairs(backward, bands.store, decision);
    for (const BackwardSumTile* tile : bands.sums()) {
        if (tile->workgroupSize() != 0) {
            showMatrixTile(backward, *tile, decision);
        }
    }
    decision->rowTileText = bands.dq.text(1);
    decision->keyTileText = decision->writesDvBesideBands()
                                ? textOf(std::vector{bands.store, decision->coopmat.keys[1]})
                                : bands.store.text(1);
}

void showTiles(const CheckedBackward& backward, BackwardDecision* decision) {
    if (decision->scalar.rows) {
        showTile(*decision->scalar.rows, decision);
    }
    if (decision->wgmma.rows) {
        showMatrixTile(backward, *decision->wgmma.rows, decision);
    }
    for (const BackwardWgmmaTile& tile : decision->wgmma.keys) {
        showMatrixTile(backward, tile, decision);
    }
    for (const BackwardTile& tile : decision->scalar.keys) {
        showTile(tile, decision);
    }
    if (decision->coopmat.rows) {
        showTileOfPairs(backward, *decision->coopmat.rows, decision);
    }
    for (size_t i = 0; i < decision->coopmat.keys.size(); i++) {
        if (!decision->bands || decision->repeatsKeys() || (i == 1 && decision->writesDvBesideBands())) {
            showTileOfPairs(backward, decision->coopmat.keys[i], decision);
        }
    }
    if (decision->bands) {
        showBands(backward, decision);
    } else if (decision->path == VKF_PATH_WGMMA) {
        showTexts(decision->wgmma, decision);
    } else if (decision->path == VKF_PATH_COOPMAT) {
        showTexts(decision->coopmat, decision);
    } else {
        showTexts(decision->scalar, decision);
    }
    if (decision->bias) {
        showTile(*decision->bias, decision);
    }
}

} // namespace

bool needsStorage16(const CheckedBackward& g) {
    const auto is16Bit = [](const VkfTensorLayout& layout) { return layout.type != VKF_TYPE_F32; };
    return std::any_of(g.forward.layouts.begin(), g.forward.layouts.end(), is16Bit) ||
           std::any_of(g.layouts.begin(), g.layouts.end(), is16Bit) || g.fields.dbiasType != VKF_TYPE_F32;
}

VkfResult decideBackward(const TunedDevice& device, const CheckedBackward& backward, BackwardDecision* decision,
                         VkfMessage* message) {
    BackwardDecision made;
    if (const VkfResult result = decidePath(device, backward, &made, message); result != VKF_SUCCESS) {
        return result;
    }
    if (needsStorage16(backward)) {
        if (const VkfResult result = requireStorage16(device.caps, "tensors of other types than f32 need", message);
            result != VKF_SUCCESS) {
            return result;
        }
    }
    if (made.path == VKF_PATH_SCALAR) {
        decideScalarTiles(device.caps, backward, &made);
    } else {
        decideMatrixTiles(device, backward, &made);
    }
    if (made.path == VKF_PATH_COOPMAT) {
        made.bands = chooseBands(device, backward, made);
    } else if (made.path == VKF_PATH_WGMMA) {
        if (const VkfResult result = decideWgmmaTiles(device.caps, backward, &made, message); result != VKF_SUCCESS) {
            return result;
        }
    }
    if (backward.biasElements != 0) {
        made.bias = chooseBackwardTile(device.caps, problemOf(backward, BackwardOwner::bias, false, false));
    }
    made.sinks = backward.wants(VKF_GRADIENT_SINKS) && backward.forward.fields.queryHeads != 0;
    chooseMapForBands(device.caps, backward, &made);
    showTiles(backward, &made);
    *decision = std::move(made);
    return VKF_SUCCESS;
}

} // namespace vkf
