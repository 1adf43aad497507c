// SPDX-License-Identifier: MIT
//
// Tile choice of path decode, which has three kernels. It depends on plain data alone: a device and a problem.
#pragma once

#include <cstdint>
#include <variant>

#include "device/caps.hpp"
#include "device/chips.hpp"
#include "tiles/decode/decode_matrix_tile.hpp"
#include "tiles/decode/decode_problem.hpp"
#include "tiles/decode/decode_tile.hpp"
#include "tiles/decode/latent_tile.hpp"
#include "tiles/occupancy.hpp"
#include "tiles/tile_search.hpp"

namespace vkf {

// The alternative is the kernel. A DecodePlan without a tile means that no tile can be used.
using DecodeChoice = std::variant<DecodePlan, DecodeMatrixPlan, LatentPlan>;
using DecodeSearch = TileSearch<DecodeChoice>;

// Takes cooperative matrices where they are faster and the device has them. layout is null where the problem cannot
// use matrices. Fills *considered, unless null.
DecodeChoice chooseDecodeTile(const Caps& caps, const MatrixLayout* layout, const DecodeProblem& problem,
                              ConsideredTiles* considered = nullptr);

// Whether tiles of `tileKeys` keys take all keys so soon that splits and their merge would take longer.
bool staysUnsplit(const Chip::Decode& chip, uint64_t keys, uint32_t tileKeys);

// Returns into how many splits the keys of `workgroups` are divided. Each split has at least one tile of keys. `slots`
// is the number of workgroups that the device runs at a time.
uint32_t chooseDecodeSplits(uint64_t workgroups, uint32_t keys, uint32_t tileKeys, uint64_t slots,
                            const Chip::Decode& chip = {});

// Returns the splits for a tile of which a multiprocessor runs `resident` workgroups at a time.
uint32_t decodeSplits(const Chip::Decode& chip, const DecodeProblem& problem, uint64_t workgroups, uint32_t tileKeys,
                      uint32_t resident);

// ---- For the files of the three kernels ------------------------------------------------------------------------

// Considers the candidates of one kernel, best first.
void considerDecodeTiles(const Caps& caps, const DecodeProblem& problem, DecodeSearch& search);
void considerDecodeMatrixTile(const Caps& caps, const MatrixLayout& layout, const DecodeProblem& problem,
                              DecodeSearch& search);
void considerLatentTiles(const Caps& caps, const MatrixLayout& layout, const DecodeProblem& problem,
                         DecodeSearch& search);

template <KernelTile Tile>
void considerWithSplits(const Caps& caps, const Tile& tile, const DecodeProblem& problem, const Rejection& rejection,
                        DecodeSearch& search) {
    const uint64_t workgroups = problem.workgroups(tile.rows());
    const uint32_t resident = residentWorkgroups(tile.workgroupSize(), tile.registers(), tile.sharedBytes());
    const uint32_t splits = decodeSplits(chipOf(caps).decode, problem, workgroups, tile.keys(), resident);
    search.consider(TilePlan<Tile>{tile, splits}, workgroups, rejection);
}

} // namespace vkf
