// SPDX-License-Identifier: MIT
//
// Adds the phases that compute scores again, and what all of them need.
#pragma once

#include "planning/gradient/gradient_builder.hpp"

namespace vkf {

// Whether a gradient is wanted and has elements.
bool writesDq(const GradientBuilder& builder);
bool writesDk(const GradientBuilder& builder);
bool writesDv(const GradientBuilder& builder);

// The matrices of the chosen path; none on path scalar.
const MatrixLayout* matricesOf(GradientBuilder& builder);

GradientTileProblem tileProblem(const GradientBuilder& builder, GradientOwner owner, bool sumsHeads, bool sumsValues);

// Fails where no tile fits the device.
VkfResult requireTile(const GradientBuilder& builder, uint32_t workgroupSize, VkfMessage* message);

// Adds the phase that writes dq and computes scores and dp again, if dq is wanted.
VkfResult addRowPhase(GradientBuilder& builder, VkfMessage* message);

// Adds a phase that writes dk, dv or both, or that stores p and ds.
VkfResult addKeyPhase(GradientBuilder& builder, const GradientTile& tile, VkfMessage* message);
VkfResult addKeyPhase(GradientBuilder& builder, const GradientMatrixTile& tile, VkfMessage* message);

} // namespace vkf
