// SPDX-License-Identifier: MIT
//
// Which tiles AMD's compiler can hold in the registers of an invocation. The counts of the tiles themselves
// (KernelTile's registers()) follow NVIDIA's compiler. AMD's differs in four ways:
//
// - It loads the values of four keys before it multiplies them (scalar kernel).
// - An operand of a matrix takes as many registers in a subgroup of 64 as in one of 32, because both halves of the
//   subgroup hold it.
// - Operands of p, and words of the next tile of k and v, have registers of their own (cooperative matrices).
// - It does not spill where an array is too large for registers, but puts the whole array into memory.
//
// docs/portability.md has the statistics.
#pragma once

#include "device/caps.hpp"
#include "tiles/coopmat_tile.hpp"
#include "tiles/decode/decode_tile.hpp"
#include "tiles/decode/latent_tile.hpp"
#include "tiles/rejections.hpp"
#include "tiles/scalar_tile.hpp"

namespace vkf {

// VKF_TILE_SPILLS with the tile's registers as AMD's compiler counts them, or no rejection. There is none on devices of
// other vendors.
Rejection spillsOnAmd(const ScalarTile& tile, const Caps& caps);
Rejection spillsOnAmd(const CoopmatTile& tile, const Caps& caps);
Rejection spillsOnAmd(const DecodeTile& tile, const Caps& caps);
Rejection spillsOnAmd(const LatentTile& tile, const Caps& caps);

} // namespace vkf
