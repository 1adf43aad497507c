// SPDX-License-Identifier: MIT
#include "tiles/amd/registers.hpp"

#include "shared/tile_memory.h"

namespace vkf {
namespace {

// The largest counts without spills, of 256 registers. RADV of Mesa 25.0.7 for vega10, navi21, navi31 and gfx1201:
//
//     kernel        count: what the compiler did
//     scalar        184: 252 registers; 196: 1 spilled; 272: 28 spilled; 282: 287 to 381 spilled
//     coopmat       152: 256 registers; 156: 7 spilled; 196: 10 to 31 spilled; 208: 58 to 70 spilled
//     its loop      188: 252 registers; 192: none or 5 spilled; 204: 31 to 92 spilled; 208: none or 2 spilled
//     with a bias   168: 252 registers; 176: none to 210 spilled; 188: none or 172 spilled; 192: none or 13 spilled
//     q and o of a loop that gathers, with a bias of packed rows and all score terms
//                   84: 216 registers; 96: 15 to 83 spilled; 144: 210 spilled
//     decode        128: 256 registers; 144: 3 spilled (vega10, D = 512); 160: 23 spilled
//     o of decode   64: in registers; 80 and 96: in memory, which no other kernel's arrays are
//     latent        216: 171 to 275 spilled; 400: 730 to 885 spilled
constexpr uint32_t mostScalar = 190;
constexpr uint32_t mostCoopmat = 152;
constexpr uint32_t mostCoopmatLoop = 188;
constexpr uint32_t mostCoopmatLoopWithBias = 172;
constexpr uint32_t mostCoopmatGathering = 90;
constexpr uint32_t mostDecode = 136;
constexpr uint32_t mostDecodeOutput = 64;
constexpr uint32_t mostLatent = 180;

// Registers of one 16-bit operand of 16 x 16 elements.
constexpr uint32_t operandRegisters = 8;

Rejection beyond(uint32_t registers, uint32_t most, const Caps& caps) {
    return rejectIf(isAmd(caps) && registers > most, {VKF_TILE_SPILLS, registers, most});
}

// The words of the next tile of k and v that an invocation has on their way. A small workgroup fetches many.
uint32_t fetchedRegisters(const CoopmatTile& tile) {
    constexpr uint32_t wordElements = 8;
    const auto words = [&](uint32_t dim) {
        const uint32_t ofTile = tile.keys() * ((dim + wordElements - 1) / wordElements);
        return (ofTile + tile.workgroupSize() - 1) / tile.workgroupSize();
    };
    return tile.subgroups == 0 ? 0 : 4 * (words(tile.headDim) + words(tile.valueDim));
}

} // namespace

bool isAmd(const Caps& caps) {
    constexpr uint32_t pciVendor = 0x1002;
    return caps.vendorId == pciVendor;
}

Rejection spillsOnAmd(const ScalarTile& tile, const Caps& caps) {
    constexpr uint32_t loadedKeys = 4;
    // The tile counts the values of one key.
    const uint32_t ofOtherKeys = (loadedKeys - 1) * 4 * tile.threadColumns4;
    return beyond(tile.registers() + ofOtherKeys, mostScalar, caps);
}

Rejection spillsOnAmd(const CoopmatTile& tile, const Caps& caps) {
    const uint32_t dimTiles = VKF_MATRIX_TILES(tile.headDim, tile.layout.depth);
    const uint32_t halved = tile.layout.rows * tile.layout.depth / tile.layout.lanes * dimTiles / 2;
    const uint32_t held = tile.registers() + tile.rowTiles * (operandRegisters * dimTiles - halved);
    const uint32_t ofP = operandRegisters * tile.rowTiles * (tile.keys() / tile.layout.depth);
    const uint32_t most = tile.biasBits != 0 ? mostCoopmatLoopWithBias : mostCoopmatLoop;
    const uint32_t valueTiles = VKF_MATRIX_TILES(tile.valueDim, tile.layout.columns);
    const uint32_t kept = tile.rowTiles * (operandRegisters * dimTiles + tile.layout.elements() * valueTiles);
    const bool gathers = tile.gathersPacked && tile.biasBits != 0;
    return firstOf({
        beyond(held, mostCoopmat, caps),
        beyond(held + ofP + fetchedRegisters(tile), most, caps),
        gathers ? beyond(kept, mostCoopmatGathering, caps) : Rejection{},
    });
}

Rejection spillsOnAmd(const DecodeTile& tile, const Caps& caps) {
    return firstOf(
        {beyond(tile.registers(), mostDecode, caps), beyond(tile.outputRegisters(), mostDecodeOutput, caps)});
}

Rejection spillsOnAmd(const LatentTile& tile, const Caps& caps) {
    const uint32_t dimTiles = VKF_LATENT_TILES(tile.headDim, tile.layout.depth, tile.depthSubgroups());
    const uint32_t halved = dimTiles * (tile.layout.rows * tile.layout.depth / tile.layout.lanes) / 2;
    return beyond(tile.registers() + operandRegisters * dimTiles - halved, mostLatent, caps);
}

} // namespace vkf
