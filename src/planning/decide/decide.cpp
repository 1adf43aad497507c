// SPDX-License-Identifier: MIT
#include "planning/decision.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "device/matrix_support.hpp"
#include "planning/counts.hpp"
#include "planning/decide/decide_paths.hpp"
#include "planning/decide/interleaved_heads.hpp"
#include "planning/decide/storage16.hpp"
#include "planning/decide/tile_map.hpp"
#include "problem/arrays.hpp"
#include "problem/masks/mask_layout.hpp"
#include "problem/strides.hpp"
#include "shared/constant_ids.h"
#include "shared/work_items.h"
#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

VkfResult decidePath(const TunedDevice& device, const CheckedProblem& problem, const PathChoice& chosen,
                     Decision* decision, VkfMessage* message) {
    switch (chosen.path) {
    case VKF_PATH_STANDARD:
        return decideStandard(device, problem, decision, message);
    case VKF_PATH_COOPMAT:
        return decideCoopmat(device, problem, chosen.coopmat ? *chosen.coopmat : chooseCoopmat(device, problem),
                             decision, message);
    case VKF_PATH_WGMMA:
        return decideWgmma(problem, chosen.wgmma ? *chosen.wgmma : chooseWgmma(device, problem), decision, message);
    case VKF_PATH_DECODE:
        return decideDecode(device, problem, decision, message);
    case VKF_PATH_KEY_OUTER:
        return decideKeyOuter(device, problem, decision, message);
    default:
        return decideScalar(device, problem, decision, message);
    }
}

// Whether a phase makes the probabilities from lse. The softmax of path standard writes those of all rows.
bool hasProbabilityPhase(const CheckedProblem& problem, VkfPath path) {
    const VkfProblem& p = problem.fields;
    const bool writtenBySoftmax = path == VKF_PATH_STANDARD && !has(p, VKF_USE_PROBABILITY_ROWS);
    return has(p, VKF_USE_PROBABILITIES) && !problem.empty && p.keys != 0 && !writtenBySoftmax;
}

Operand lseOf(const VkfProblem& p, bool probabilities) {
    return has(p, VKF_USE_LSE) ? Operand::lse : probabilities ? Operand::scratchLse : Operand::none;
}

// Path decode reads a bias that all heads share without a table: short calls notice the dispatches that write one. For
// the same reason, fused kernels read the mask of a draft tree without one. All paths read dense lists of chosen keys
// without one. A map of tiles is found by the table, even where a function without arrays is the only mask.
uint32_t extraSlotOf(const CheckedProblem& problem, const Decision& decision) {
    if (decision.bf16x3 || decision.map) {
        return VKF_EXTRA_SLOT_HAS_TABLE;
    }
    if (hasOnlyDenseLists(problem.fields)) {
        return VKF_EXTRA_SLOT_HAS_CHOSEN_KEYS;
    }
    const bool fused = decision.path == VKF_PATH_DECODE || walksTiles(decision.path);
    if (fused && !decision.probabilities && masksFewLastKeys(problem.fields) && hasOnlySquareMask(problem.fields)) {
        return VKF_EXTRA_SLOT_HAS_MASK;
    }
    const bool biasAlone =
        decision.path == VKF_PATH_DECODE && !decision.probabilities && hasOnlySharedBias(problem.fields);
    return biasAlone ? VKF_EXTRA_SLOT_HAS_BIAS : extraSlot(problem.fields);
}

} // namespace

VkfResult decide(const TunedDevice& device, const CheckedProblem& problem, Decision* decision, VkfMessage* message) {
    const Caps& caps = device.caps;
    const VkfProblem& p = problem.fields;
    const PathChoice chosen = choosePath(device, problem);
    Decision made;
    made.path = chosen.path;
    made.pathDecisions = chosen.decisions;
    made.packedHeads = packedHeads(made.path, problem);
    if (const VkfResult result = checkStorage16(caps, problem, made.path, message); result != VKF_SUCCESS) {
        return result;
    }
    if (const VkfResult result = checkRowCount(problem, 1, message); result != VKF_SUCCESS) {
        return result;
    }
    if (const VkfResult result = decidePath(device, problem, chosen, &made, message); result != VKF_SUCCESS) {
        return result;
    }
    made.constants[VKF_ID_PACKED_HEADS] = made.packedHeads;
    made.probabilities = hasProbabilityPhase(problem, made.path);
    made.lse = lseOf(p, made.probabilities);
    made.inputAlignment = std::max(made.inputAlignment, storage16InputAlignment(caps, problem));
    made.outputAlignment = storage16OutputAlignment(caps, problem);
    made.interleavedHeads = interleavedHeads(caps, problem, made);
    made.map = chooseTileMap(caps, problem, made);
    made.extraSlot = extraSlotOf(problem, made);
    *decision = std::move(made);
    return VKF_SUCCESS;
}

void setMatrices(const Caps& caps, const MatrixLayout& layout, VkfType elements, Decision* decision) {
    decision->matrix = layout;
    decision->matrixElements = elements;
    decision->constants[VKF_ID_LOCKSTEP] = (caps.quirks & VKF_QUIRK_LOCKSTEP_SUBGROUPS) != 0 ? 1 : 0;
}

void setProductMatrices(const Caps& caps, const CheckedProblem& problem, const MatrixLayout& layout,
                        Decision* decision) {
    setMatrices(caps, layout, matrixType(problem.fields), decision);
    decision->productType = decision->matrixElements;
}

void setWholeWords(bool wholeWords, Decision* decision) {
    decision->inputAlignment = wholeWords ? loadedWordBytes : 1;
    decision->constants[VKF_ID_WHOLE_WORDS] = wholeWords ? 1 : 0;
}

// A split of a fixed number of keys may begin at any tile that a row sees. Two splits at least, so that all calls merge
// partial results: the merge of one of them rounds o once more than a call without a merge. The kernels double
// the length of splits by the keys of each sequence, so a shorter sequence may have more splits than the longest one.
uint32_t splitsOf(const CheckedProblem& problem, const TileShape& tile, uint32_t chosen) {
    const VkfProblem& p = problem.fields;
    if (p.splitKeys == 0) {
        return p.kvSplits != 0 ? p.kvSplits : chosen;
    }
    if (neverSplits(p)) {
        return 1;
    }
    const bool shiftedWindow = problem.firstKeys() == 0 && problem.windowLeft >= 0;
    const double most = has(p, VKF_USE_CHOSEN_KEYS) ? p.chosenKeys.count : longestKeysOf(p);
    const double seen = shiftedWindow ? std::min<double>(maxVisibleKeys(problem, tile.rows) + tile.keys, most) : most;
    const double splits = std::ceil(seen / (static_cast<double>(splitTiles(p, tile.keys)) * tile.keys));
    return static_cast<uint32_t>(std::clamp<double>(splits, 2, VKF_MOST_FIXED_SPLITS));
}

} // namespace vkf
