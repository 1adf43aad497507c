// SPDX-License-Identifier: MIT
//
// What a kernel is told: push constants and specialization constants, from a problem and a tile.
#pragma once

#include <array>
#include <cstdint>

#include "pipelines/variant.hpp"
#include "problem/problem.hpp"
#include "problem/strides.hpp"
#include "shared/attention_params.h"
#include "shared/merge_params.h"
#include "shared/phase_params.h"
#include "tiles/coopmat_tile.hpp"
#include "tiles/decode_matrix_tile.hpp"
#include "tiles/decode_tile.hpp"
#include "tiles/decode_wide_tile.hpp"
#include "tiles/probabilities_tile.hpp"
#include "tiles/scalar_tile.hpp"
#include "tiles/standard_tile.hpp"

namespace vkf {

// The push constants, all but addresses and first_item.
shared::CallParams baseParams(const CheckedProblem& problem, const std::array<ByteStrides, 4>& strides, uint32_t shift);

// The push constants of attention_probabilities.comp, made from those that all kernels have. Its tensors are q, k, the
// probabilities and the chosen rows.
shared::ProbabilitiesParams probabilitiesParams(const VkfProblem& p, const shared::CallParams& call);

// Puts the address of optional inputs in the slot of the window.
void setOptionalInputs(uint64_t address, shared::CallParams* params);

// Those of merge_splits.comp, all but addresses and first_item.
shared::SplitMergeParams splitMergeParams(const CheckedProblem& problem);

// The constants of a tile; those of the problem are added to them.
Constants tileConstants(const ScalarTile& tile);
Constants tileConstants(const DecodeTile& tile);
Constants tileConstants(const CoopmatTile& tile);
Constants tileConstants(const DecodeMatrixTile& tile);
Constants tileConstants(const DecodeWideTile& tile);
Constants tileConstants(const ProductTile& tile);
Constants tileConstants(const ProbabilitiesTile& tile);

Constants constantsOf(const CheckedProblem& problem, const Constants& ofTile, uint32_t shift);

} // namespace vkf
