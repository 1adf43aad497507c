// SPDX-License-Identifier: MIT
//
// Whether a driver loads cooperative matrices from shared memory as the attention kernels do: several in a tile, at
// different offsets, in rows or in columns.
#pragma once

#include "host/matrices/layout_kernel.hpp"

namespace vkf::host {

// Multiplies known matrices that lie at four offsets of a tile, and compares the products with the CPU's. Blocks.
bool loadsMatricesRight(LayoutKernel& kernel, const MatrixShape& shape);

} // namespace vkf::host
