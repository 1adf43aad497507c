// SPDX-License-Identifier: MIT
//
// The parameters of a kernel: push constants and specialization constants, made from a problem and a tile.
#pragma once

#include <array>
#include <cstdint>

#include "pipelines/variant.hpp"
#include "problem/backward.hpp"
#include "problem/problem.hpp"
#include "problem/strides.hpp"
#include "shared/attention_params.h"
#include "shared/merge_params.h"
#include "tiles/backward/backward_matrix_tile.hpp"
#include "tiles/backward/backward_sum_tile.hpp"
#include "tiles/backward/backward_tile.hpp"
#include "tiles/backward/backward_wgmma_tile.hpp"
#include "tiles/coopmat_tile.hpp"
#include "tiles/decode/decode_matrix_tile.hpp"
#include "tiles/decode/decode_tile.hpp"
#include "tiles/decode/latent_tile.hpp"
#include "tiles/probabilities_tile.hpp"
#include "tiles/scalar_tile.hpp"
#include "tiles/standard_tile.hpp"

namespace vkf {

// One side of the window as the shaders take it. `keys` is -1 for an unlimited side, and `unlimited` VKF_UNLIMITED_LEFT
// or VKF_UNLIMITED_RIGHT.
int32_t windowReach(int64_t keys, int32_t unlimited);

// Returns the push constants of the attention kernels. Addresses and first_item stay 0. Strides of heads and batches
// are shifted right by `shift`.
shared::CallParams baseParams(const CheckedProblem& problem, const std::array<ByteStrides, 4>& strides, uint32_t shift);

// Returns the push constants of attention_probabilities.comp, made from those of the attention kernels. Its tensors are
// q, k, the probabilities and the chosen rows.
shared::ProbabilitiesParams probabilitiesParams(const VkfProblem& p, const shared::CallParams& call);

// Puts the address of the optional inputs into the extra slot of the push constants.
void setOptionalInputs(uint64_t address, shared::CallParams* params);

// Returns the push constants of merge_splits.comp. Addresses and first_item stay 0.
shared::SplitMergeParams splitMergeParams(const CheckedProblem& problem);

// Returns VKF_SCALES_* of k or v.
uint32_t scalesOf(const VkfTensor& tensor);

// The specialization constants of a tile. constantsOf adds those of the problem.
Constants tileConstants(const ScalarTile& tile);
Constants tileConstants(const DecodeTile& tile);
Constants tileConstants(const CoopmatTile& tile);
Constants tileConstants(const DecodeMatrixTile& tile);
Constants tileConstants(const LatentTile& tile);
Constants tileConstants(const ProductTile& tile);
Constants tileConstants(const ProbabilitiesTile& tile);
Constants tileConstants(const BackwardTile& tile);
Constants tileConstants(const BackwardMatrixTile& tile);
Constants tileConstants(const BackwardSumTile& tile);
Constants tileConstants(const BackwardWgmmaTile& tile);

// Returns the specialization constants of a problem and a tile. `shift` is that of baseParams, `extraSlot` what the
// extra slot of the push constants holds: VKF_EXTRA_SLOT_HAS_*.
Constants constantsOf(const CheckedProblem& problem, const Constants& ofTile, uint32_t shift, uint32_t extraSlot);
// Returns those of a kernel of the backward pass, which always has a table.
Constants backwardConstants(const CheckedBackward& backward, const Constants& ofTile, uint32_t shift);

} // namespace vkf
