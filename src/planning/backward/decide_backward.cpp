// SPDX-License-Identifier: MIT
#include "planning/backward/backward_decision.hpp"

#include <array>
#include <utility>

#include "device/chips.hpp"
#include "device/matrix_support.hpp"
#include "problem/dropout.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

// Whether a gradient is wanted and has elements.
bool writes(const CheckedGradient& gradient, VkfGradientBits bit, VkfBackwardRole role) {
    return gradient.wants(bit) && gradient.layout(role).elements != 0;
}
bool writesDq(const CheckedGradient& g) { return writes(g, VKF_GRADIENT_Q, VKF_BACKWARD_DQ); }
bool writesDk(const CheckedGradient& g) { return writes(g, VKF_GRADIENT_K, VKF_BACKWARD_DK); }
bool writesDv(const CheckedGradient& g) { return writes(g, VKF_GRADIENT_V, VKF_BACKWARD_DV); }

BackwardTileProblem problemOf(const CheckedGradient& gradient, BackwardOwner owner, bool sumsHeads, bool sumsValues) {
    const VkfProblem& p = gradient.forward.given;
    const bool keys = owner == BackwardOwner::keys;
    return {owner,
            p.headDim,
            p.valueDim,
            sumsHeads,
            sumsValues,
            keys ? typicalKeys(p) : typicalRows(p),
            uint64_t{typicalSequences(p)} * (keys ? p.kvHeads : p.queryHeads),
            hasDropout(p),
            tileProblem(VKF_PATH_COOPMAT, gradient.forward)};
}

// ---- The path --------------------------------------------------------------------------------------------------

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
bool hasMatrixTiles(const TunedDevice& device, const CheckedGradient& gradient, const MatrixLayout& layout) {
    const auto fits = [&](BackwardOwner owner) {
        const bool keys = owner == BackwardOwner::keys;
        return chooseBackwardMatrixTile(device, layout, problemOf(gradient, owner, true, keys)).workgroupSize() != 0;
    };
    return fits(BackwardOwner::rows) && fits(BackwardOwner::keys);
}

// Whether no kernel on cooperative matrices reads tensors element by element.
bool readsWholeWords(const CheckedGradient& gradient) {
    const CheckedProblem& forward = gradient.forward;
    return inWholeWords(forward.layout(VKF_TENSOR_Q)) && inWholeWords(forward.layout(VKF_TENSOR_K)) &&
           inWholeWords(forward.layout(VKF_TENSOR_V)) && inWholeWords(gradient.layout(VKF_BACKWARD_DOUT));
}

constexpr std::array paths = {VKF_PATH_COOPMAT, VKF_PATH_SCALAR};

// AUTO is coopmat where the device can and nothing speaks against it. Decides about it, with the reason.
PathVerdict judgeCoopmat(const TunedDevice& device, const CheckedGradient& gradient) {
    if (chipOf(device.caps).path.avoidsBackwardMatrices) {
        return {VKF_PATH_COOPMAT, VKF_RULE_CHIP, "plain arithmetic is faster than the matrices of this chip"};
    }
    // NVIDIA's compiler (580.159.04) lost sums of calls whose rows are not whole words.
    if (!readsWholeWords(gradient)) {
        return {VKF_PATH_COOPMAT, VKF_RULE_WHOLE_WORDS,
                inWords("AUTO takes coopmat if rows of q, k, v and dout are multiples of %u bytes", loadedWordBytes)};
    }
    if (const char* whyNot = whyNoMatrices(device.caps, gradient); whyNot != nullptr) {
        return {VKF_PATH_COOPMAT, VKF_RULE_UNSUPPORTED, inWords("the backward pass on path coopmat: %s", whyNot)};
    }
    if (!hasMatrixTiles(device, gradient, device.caps.matrixOf(matrixType(gradient.forward.given)))) {
        return {VKF_PATH_COOPMAT, VKF_RULE_UNSUPPORTED, "no tile of the backward pass on path coopmat fits the device"};
    }
    return {VKF_PATH_COOPMAT, VKF_RULE_MATRIX_UNITS, "matrix units multiply faster than plain arithmetic"};
}

// The path that the problem asks for, or AUTO takes. Sets its verdicts.
VkfPath choosePath(const TunedDevice& device, const CheckedGradient& gradient, PathVerdicts* verdicts) {
    if (const VkfPath asked = gradient.forward.given.path; asked != VKF_PATH_AUTO) {
        *verdicts = askedFor(asked, paths);
        return asked;
    }
    const PathVerdict coopmat = judgeCoopmat(device, gradient);
    const bool taken = coopmat.rule == VKF_RULE_MATRIX_UNITS;
    const PathVerdict scalar =
        taken ? PathVerdict{VKF_PATH_SCALAR, coopmat.rule, coopmat.reason}
              : PathVerdict{VKF_PATH_SCALAR, VKF_RULE_OTHERWISE, "scalar computes what coopmat does not take"};
    *verdicts = {coopmat, scalar};
    return taken ? VKF_PATH_COOPMAT : VKF_PATH_SCALAR;
}

// Decides the path and its matrices.
VkfResult decidePath(const TunedDevice& device, const CheckedGradient& gradient, BackwardDecision* decision,
                     VkfMessage* message) {
    decision->path = choosePath(device, gradient, &decision->pathVerdicts);
    if (decision->path == VKF_PATH_SCALAR) {
        return VKF_SUCCESS;
    }
    if (const char* const whyNot = whyNoMatrices(device.caps, gradient); whyNot != nullptr) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "the backward pass on path coopmat: %s", whyNot);
    }
    decision->productType = matrixType(gradient.forward.given);
    decision->matrix = device.caps.matrixOf(decision->productType);
    return VKF_SUCCESS;
}

// ---- Tiles -----------------------------------------------------------------------------------------------------

void decideScalarTiles(const Caps& caps, const CheckedGradient& gradient, BackwardDecision* decision) {
    const bool dk = writesDk(gradient);
    const bool dv = writesDv(gradient);
    if (writesDq(gradient)) {
        decision->scalar.rows = chooseBackwardTile(caps, problemOf(gradient, BackwardOwner::rows, true, false));
    }
    if (dk || dv) {
        decision->scalar.keys = chooseKeyTiles(caps, problemOf(gradient, BackwardOwner::keys, dk, dv));
    }
}

void decideMatrixTiles(const TunedDevice& device, const CheckedGradient& gradient, BackwardDecision* decision) {
    const bool dk = writesDk(gradient);
    const bool dv = writesDv(gradient);
    if (writesDq(gradient)) {
        decision->coopmat.rows =
            chooseBackwardMatrixTile(device, decision->matrix, problemOf(gradient, BackwardOwner::rows, true, false));
    }
    if (dk || dv) {
        const bool packed = has(gradient.forward.given, VKF_USE_CU_SEQLENS); // all phases share the tile sequences
        decision->coopmat.keys =
            chooseKeyMatrixTiles(device, decision->matrix, problemOf(gradient, BackwardOwner::keys, dk, dv), packed);
    }
}

// ---- Bands -----------------------------------------------------------------------------------------------------

// Wider heads leave all sums to others: with them, two subgroups share 16 keys, and add up their scores.
constexpr uint32_t widestFused = 128;

BandChoice bandTiles(const TunedDevice& device, const CheckedGradient& gradient, const BackwardDecision& decision) {
    const VkfProblem& p = gradient.forward.given;
    BandChoice tiles{{}, decision.coopmat.keys[0], {}, {}, {}};
    const auto sum = [&](BackwardOwner owner, uint32_t dim) {
        return chooseBackwardSumTile(device.caps, decision.matrix, owner, dim, tiles.store.keys());
    };
    if (std::max(p.headDim, p.valueDim) > widestFused) {
        BackwardTileProblem problem = problemOf(gradient, BackwardOwner::keys, false, false);
        problem.storesP = true;
        tiles.store = chooseBackwardMatrixTile(device, decision.matrix, problem);
        tiles.dk = sum(BackwardOwner::keys, p.headDim);
        tiles.dv = writesDv(gradient) ? sum(BackwardOwner::keys, p.valueDim) : BackwardSumTile{};
    }
    tiles.dq = sum(BackwardOwner::rows, p.headDim);
    return tiles;
}

// Whether the sums that `store` leaves to others have a tile that fits the device.
bool hasAllSums(const CheckedGradient& gradient, const BandChoice& tiles) {
    return !tiles.store.storesP ||
           (tiles.dk.workgroupSize() != 0 && (!writesDv(gradient) || tiles.dv.workgroupSize() != 0));
}

// Bands of keys, if VkfBackwardProblem::maxScratchBytes has room for enough keys.
std::optional<BandChoice> chooseBands(const TunedDevice& device, const CheckedGradient& gradient,
                                      const BackwardDecision& decision) {
    if (!writesDq(gradient) || !writesDk(gradient) || decision.coopmat.keys[0].workgroupSize() == 0) {
        return {};
    }
    BandChoice chosen = bandTiles(device, gradient, decision);
    chosen.bands = chooseBackwardBands(gradient, chosen.store, chosen.dq);
    return chosen.bands.heads != 0 && hasAllSums(gradient, chosen) ? std::optional(chosen) : std::nullopt;
}

// ---- What vkfGetBackwardInfo shows -----------------------------------------------------------------------------

template <KernelTile Tile> void showTile(const Tile& tile, BackwardDecision* decision) {
    TileShape& shown = decision->tile;
    shown.workgroupSize = std::max(shown.workgroupSize, tile.workgroupSize());
    shown.sharedBytes = std::max(shown.sharedBytes, tile.sharedBytes());
}

// Where rows are whole words, kernels load them as such, and the addresses must be aligned to words.
template <KernelTile Tile>
void showMatrixTile(const CheckedGradient& gradient, const Tile& tile, BackwardDecision* decision) {
    showTile(tile, decision);
    const uint32_t alignment = hasWholeWords(gradient, tile) ? loadedWordBytes : 1U;
    decision->inputAlignment = std::max(decision->inputAlignment, alignment);
}

void showTileOfPairs(const CheckedGradient& gradient, const BackwardMatrixTile& tile, BackwardDecision* decision) {
    showMatrixTile(gradient, tile, decision);
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

void showBands(const CheckedGradient& gradient, BackwardDecision* decision) {
    const BandChoice& bands = *decision->bands;
    showTileOfPairs(gradient, bands.store, decision);
    for (const BackwardSumTile* tile : {&bands.dq, &bands.dk, &bands.dv}) {
        if (tile->workgroupSize() != 0) {
            showMatrixTile(gradient, *tile, decision);
        }
    }
    decision->rowTileText = bands.dq.text(1);
    decision->keyTileText = decision->writesDvBesideBands()
                                ? textOf(std::vector{bands.store, decision->coopmat.keys[1]})
                                : bands.store.text(1);
}

void showTiles(const CheckedGradient& gradient, BackwardDecision* decision) {
    if (decision->scalar.rows) {
        showTile(*decision->scalar.rows, decision);
    }
    for (const BackwardTile& tile : decision->scalar.keys) {
        showTile(tile, decision);
    }
    if (decision->coopmat.rows) {
        showTileOfPairs(gradient, *decision->coopmat.rows, decision);
    }
    for (size_t i = 0; i < decision->coopmat.keys.size(); i++) {
        if (!decision->bands || decision->repeatsKeys() || (i == 1 && decision->writesDvBesideBands())) {
            showTileOfPairs(gradient, decision->coopmat.keys[i], decision);
        }
    }
    if (decision->bands) {
        showBands(gradient, decision);
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

bool needsStorage16(const CheckedGradient& g) {
    const auto is16Bit = [](const VkfTensorLayout& layout) { return layout.type != VKF_TYPE_F32; };
    return std::any_of(g.forward.layouts.begin(), g.forward.layouts.end(), is16Bit) ||
           std::any_of(g.layouts.begin(), g.layouts.end(), is16Bit) || g.given.dbiasType != VKF_TYPE_F32;
}

VkfResult decideBackward(const TunedDevice& device, const CheckedGradient& gradient, BackwardDecision* decision,
                         VkfMessage* message) {
    BackwardDecision made;
    if (const VkfResult result = decidePath(device, gradient, &made, message); result != VKF_SUCCESS) {
        return result;
    }
    if (needsStorage16(gradient)) {
        if (const VkfResult result = requireStorage16(device.caps, "tensors of other types than f32 need", message);
            result != VKF_SUCCESS) {
            return result;
        }
    }
    if (made.path == VKF_PATH_COOPMAT) {
        decideMatrixTiles(device, gradient, &made);
        made.bands = chooseBands(device, gradient, made);
    } else {
        decideScalarTiles(device.caps, gradient, &made);
    }
    if (gradient.biasElements != 0) {
        made.bias = chooseBackwardTile(device.caps, problemOf(gradient, BackwardOwner::bias, false, false));
    }
    made.sinks = gradient.wants(VKF_GRADIENT_SINKS) && gradient.forward.given.queryHeads != 0;
    showTiles(gradient, &made);
    *decision = std::move(made);
    return VKF_SUCCESS;
}

} // namespace vkf
