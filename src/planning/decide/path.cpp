// SPDX-License-Identifier: MIT
#include "planning/decide/decide_paths.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "device/chips.hpp"
#include "device/matrix_support.hpp"
#include "planning/decide/wgmma_gain.hpp"
#include "problem/masks/chosen_keys.hpp"
#include "tiles/amd/registers.hpp"

namespace vkf {
namespace {

constexpr std::array paths = {VKF_PATH_DECODE, VKF_PATH_WGMMA,    VKF_PATH_COOPMAT,
                              VKF_PATH_SCALAR, VKF_PATH_STANDARD, VKF_PATH_KEY_OUTER};

uint64_t keysOfAllHeads(const VkfProblem& p) { return uint64_t{typicalSequences(p)} * p.kvHeads * typicalKeys(p); }

// ---- Path decode -----------------------------------------------------------------------------------------------

bool isSupportedByDecode(const Caps& caps, const VkfProblem& p) {
    return caps.storage16() && !has(p, VKF_USE_BLOCK_MASK);
}

bool hasFewRows(const Chip::Path& chip, const VkfProblem& p) { return typicalRows(p) <= chip.maxDecodeRows; }

// Whether many packed rows meet many keys. fp32 as bf16x3 was not measured for few rows.
bool hasManyRowsAndKeys(const Chip::Path& chip, const CheckedProblem& problem) {
    const VkfProblem& p = problem.fields;
    const bool manyRows = !problem.empty && typicalPackedRows(p) > chip.maxPackedDecodeRows;
    return manyRows && keysOfAllHeads(p) >= chip.minCoopmatKeys && !usesBf16x3(p);
}

std::string latentHeads(const VkfProblem& p) {
    return inWords("heads have %u columns; other paths than decode take at most %u", std::max(p.headDim, p.valueDim),
                   maxHeadDim);
}

std::string listsByRow(const VkfProblem& p) {
    return inWords("a tile has the rows of one list of chosen keys, here %u", p.queryHeads / std::max(p.kvHeads, 1U));
}

std::string fewRows(const Chip::Path& chip, const CheckedProblem& problem) {
    const VkfProblem& p = problem.fields;
    std::string rows =
        inWords("decode is the fastest for up to %u query rows (here %u)", chip.maxDecodeRows, typicalRows(p));
    if (usesBf16x3(p) || problem.empty) {
        return rows;
    }
    if (hasManyRowsAndKeys(chip, problem)) {
        return rows + " where neither wgmma nor coopmat can be taken";
    }
    return rows +
           inWords(", and either up to %llu packed rows (here %llu) or under %llu keys in all KV heads (here %llu)",
                   static_cast<unsigned long long>(chip.maxPackedDecodeRows),
                   static_cast<unsigned long long>(typicalPackedRows(p)),
                   static_cast<unsigned long long>(chip.minCoopmatKeys),
                   static_cast<unsigned long long>(keysOfAllHeads(p)));
}

std::string manyRowsAndKeys(const Chip::Path& chip, const VkfProblem& p) {
    return inWords(
        "wgmma and coopmat are faster than decode for over %llu packed rows (here %llu) and at least %llu keys in all "
        "KV heads (here %llu)",
        static_cast<unsigned long long>(chip.maxPackedDecodeRows),
        static_cast<unsigned long long>(typicalPackedRows(p)), static_cast<unsigned long long>(chip.minCoopmatKeys),
        static_cast<unsigned long long>(keysOfAllHeads(p)));
}

// Why AUTO does not take path decode at once.
PathDecision whyNotDecode(const Caps& caps, const CheckedProblem& problem) {
    const VkfProblem& p = problem.fields;
    const Chip::Path& chip = chipOf(caps).path;
    if (!isSupportedByDecode(caps, p)) {
        return {VKF_PATH_DECODE, VKF_RULE_UNSUPPORTED,
                caps.storage16() ? "path decode has no block mask" : "path decode needs 16-bit storage"};
    }
    if (hasFewRows(chip, p)) {
        return {VKF_PATH_DECODE, VKF_RULE_MANY_ROWS_AND_KEYS, manyRowsAndKeys(chip, p)};
    }
    return {
        VKF_PATH_DECODE, VKF_RULE_MANY_ROWS,
        inWords("decode is the fastest for up to %u query rows only (here %u)", chip.maxDecodeRows, typicalRows(p))};
}

// ---- Path wgmma ------------------------------------------------------------------------------------------------

// What AUTO says about path wgmma: takes it, with its tile, or says why not.
struct WgmmaDecision {
    PathDecision decision;
    std::optional<WgmmaChoice> choice; // empty = not taken
};

WgmmaDecision judgeWgmma(const TunedDevice& device, const CheckedProblem& problem) {
    WgmmaChoice choice = chooseWgmma(device, problem);
    if (choice.whyNot != nullptr) {
        return {{VKF_PATH_WGMMA, VKF_RULE_UNSUPPORTED, inWords("path wgmma: %s", choice.whyNot)}, {}};
    }
    WgmmaGain gain = gainOfWgmma(chipOf(device.caps).wgmma, problem, choice);
    if (!gain.pays) {
        return {{VKF_PATH_WGMMA, VKF_RULE_SHORT_CALL, std::move(gain.reason)}, {}};
    }
    return {{VKF_PATH_WGMMA, VKF_RULE_LONG_CALL, std::move(gain.reason)}, std::move(choice)};
}

// ---- Path coopmat ----------------------------------------------------------------------------------------------

constexpr const char* matrixUnits = "matrix units multiply faster than plain arithmetic";

// What AUTO says about path coopmat: takes it, with its tile, or says why not.
struct CoopmatDecision {
    PathDecision decision;
    std::optional<CoopmatChoice> choice; // empty = not taken
};

CoopmatDecision without(VkfPathRule rule, std::string reason) {
    return {{VKF_PATH_COOPMAT, rule, std::move(reason)}, {}};
}

// Where a phase before attention converts k and v, the tile that would convert them itself is judged. On AMD chips the
// two can differ in what they spill, and no measurement says which of them to judge.
CoopmatTile judgedTile(const TunedDevice& device, const CheckedProblem& problem, const CoopmatChoice& choice) {
    return choice.dequantizesKeys ? chooseCoopmatTile(device, coopmatMatrices(device.caps, problem.fields),
                                                      tileProblem(VKF_PATH_COOPMAT, problem))
                                        .tile
                                  : choice.plan.tile;
}

CoopmatDecision judgeCoopmat(const TunedDevice& device, const CheckedProblem& problem) {
    const Caps& caps = device.caps;
    const Chip::Path& chip = chipOf(caps).path;
    if (chip.avoidsMatrices) {
        return without(VKF_RULE_CHIP, "plain arithmetic is faster than the matrices of this chip");
    }
    if (usesBf16x3(problem.fields) && chip.avoidsBf16x3) {
        return without(VKF_RULE_CHIP, "fp32 on matrix units was not measured on chips of this vendor");
    }
    if (!caps.storage16()) {
        return without(VKF_RULE_UNSUPPORTED, "path coopmat needs 16-bit storage");
    }
    if (const char* whyNot = whyNotCoopmat(caps, problem); whyNot != nullptr) {
        return without(VKF_RULE_UNSUPPORTED, inWords("path coopmat: %s", whyNot));
    }
    CoopmatChoice choice = chooseCoopmat(device, problem);
    const CoopmatTile judged = judgedTile(device, problem, choice);
    if (judged.subgroups == 0) {
        return without(VKF_RULE_UNSUPPORTED, "no tile of path coopmat fits the device");
    }
    if (const Rejection spills = spillsOnAmd(judged, caps); spills.reason != VKF_TILE_SUITS) {
        return without(VKF_RULE_SPILLS,
                       inWords("the tile of coopmat takes about %llu registers an invocation; the compiler of this "
                               "device spills above %llu",
                               static_cast<unsigned long long>(spills.value),
                               static_cast<unsigned long long>(spills.limit)));
    }
    return {{VKF_PATH_COOPMAT, VKF_RULE_MATRIX_UNITS, matrixUnits}, std::move(choice)};
}

// ---- All paths -------------------------------------------------------------------------------------------------

// AUTO never looks at these paths.
PathDecision forComparison(VkfPath path) {
    return {path, VKF_RULE_COMPARISON, "AUTO never takes it: it is for comparisons and for study"};
}

PathDecisions decisionsOn(PathDecision decode, PathDecision wgmma, PathDecision coopmat, PathDecision scalar) {
    return {std::move(decode),
            std::move(wgmma),
            std::move(coopmat),
            std::move(scalar),
            forComparison(VKF_PATH_STANDARD),
            forComparison(VKF_PATH_KEY_OUTER)};
}

// The rule that takes path decode decides against scalar too, and against paths that AUTO did not look at.
PathChoice takeDecode(VkfPathRule rule, const std::string& reason, std::optional<PathDecision> wgmma = {},
                      std::optional<PathDecision> coopmat = {}) {
    return {.path = VKF_PATH_DECODE,
            .decisions = decisionsOn(
                {VKF_PATH_DECODE, rule, reason}, wgmma.value_or(PathDecision{VKF_PATH_WGMMA, rule, reason}),
                coopmat.value_or(PathDecision{VKF_PATH_COOPMAT, rule, reason}), {VKF_PATH_SCALAR, rule, reason})};
}

// The rule that takes path wgmma decides against coopmat.
PathChoice takeWgmma(WgmmaDecision wgmma, PathDecision decode) {
    const PathDecision coopmat = {VKF_PATH_COOPMAT, wgmma.decision.rule, wgmma.decision.reason};
    return {.path = VKF_PATH_WGMMA,
            .wgmma = std::move(wgmma.choice),
            .decisions = decisionsOn(std::move(decode), std::move(wgmma.decision), coopmat,
                                     {VKF_PATH_SCALAR, VKF_RULE_MATRIX_UNITS, matrixUnits})};
}

PathChoice takeCoopmat(CoopmatDecision coopmat, PathDecision decode, PathDecision wgmma) {
    if (decode.rule == VKF_RULE_MANY_ROWS_AND_KEYS) {
        coopmat.decision.rule = decode.rule;
        coopmat.decision.reason = decode.reason;
    }
    return {.path = VKF_PATH_COOPMAT,
            .coopmat = std::move(coopmat.choice),
            .decisions = decisionsOn(std::move(decode), std::move(wgmma), std::move(coopmat.decision),
                                     {VKF_PATH_SCALAR, VKF_RULE_MATRIX_UNITS, matrixUnits})};
}

PathChoice takeScalar(PathDecision coopmat, PathDecision decode, PathDecision wgmma) {
    return {.path = VKF_PATH_SCALAR,
            .decisions = decisionsOn(
                std::move(decode), std::move(wgmma), std::move(coopmat),
                {VKF_PATH_SCALAR, VKF_RULE_OTHERWISE, "scalar computes what neither decode nor coopmat takes"})};
}

} // namespace

PathChoice choosePath(const TunedDevice& device, const CheckedProblem& problem) {
    const VkfProblem& p = problem.fields;
    const Chip::Path& chip = chipOf(device.caps).path;
    if (p.path != VKF_PATH_AUTO) {
        return {.path = p.path, .decisions = askedFor(p.path, paths)};
    }
    if (std::max(p.headDim, p.valueDim) > maxHeadDim) {
        return takeDecode(VKF_RULE_LATENT_HEADS, latentHeads(p));
    }
    if (hasListsByRow(p) && isSupportedByDecode(device.caps, p)) {
        return takeDecode(VKF_RULE_CHOSEN_KEYS, listsByRow(p));
    }
    const bool few = isSupportedByDecode(device.caps, p) && hasFewRows(chip, p);
    if (few && !hasManyRowsAndKeys(chip, problem)) {
        return takeDecode(VKF_RULE_FEW_ROWS, fewRows(chip, problem));
    }
    WgmmaDecision wgmma = judgeWgmma(device, problem);
    if (wgmma.choice) {
        return takeWgmma(std::move(wgmma), whyNotDecode(device.caps, problem));
    }
    CoopmatDecision coopmat = judgeCoopmat(device, problem);
    if (coopmat.choice) {
        return takeCoopmat(std::move(coopmat), whyNotDecode(device.caps, problem), std::move(wgmma.decision));
    }
    if (few) {
        return takeDecode(VKF_RULE_FEW_ROWS, fewRows(chip, problem), std::move(wgmma.decision),
                          std::move(coopmat.decision));
    }
    return takeScalar(std::move(coopmat.decision), whyNotDecode(device.caps, problem), std::move(wgmma.decision));
}

} // namespace vkf
