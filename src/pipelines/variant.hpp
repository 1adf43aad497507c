// SPDX-License-Identifier: MIT
//
// What identifies a compiled pipeline: which kernel, built with which extensions, specialized how.
#pragma once

#include <array>
#include <compare>
#include <cstdint>

#include "shared/attention_params.h"

namespace vkf {

enum class Kernel : uint32_t {
    attentionScalar,
    attentionCoopmat,
    attentionDecode,
    attentionDecodeMatrix,
    attentionDecodeWide,
    mergeSplits,
    mergeParts,
    appendRows,
    advanceLengths,
    finishRows,
    standardScores,
    standardScoresCoopmat,
    standardSoftmax,
    standardOutput,
    standardOutputCoopmat,
    writeTable,
    mapTiles,
    orderTiles,
    listSequences,
    attentionWeights
};

// By constant id; kernels other than attention have ids of their own, in their headers.
using Constants = std::array<uint32_t, VKF_ID_COUNT>;

struct Variant {
    Kernel kernel{};
    bool storage16 = false;    // 16-bit loads and stores
    bool subgroups = false;    // lanes talk by shuffles
    bool exchange = false;     // elements of matrices pass through shared memory
    bool rolled = false;       // loops left as they are
    bool bf16 = false;         // matrices of fp16 made bf16
    uint32_t subgroupSize = 0; // required if subgroups
    Constants constants{};

    auto operator<=>(const Variant&) const = default;
};

} // namespace vkf
