// SPDX-License-Identifier: MIT
#include "tiles/amd/registers.hpp"

#include "device/chips.hpp"
#include "shared/tile_memory.h"

namespace vkf {
namespace {

// Registers of one 16-bit operand of 16 x 16 elements.
constexpr uint32_t operandRegisters = 8;

Rejection beyond(uint32_t registers, uint32_t most) {
    return rejectIf(registers > most, {VKF_TILE_SPILLS, registers, most});
}

// The words of the next tile of k and v that an invocation has in flight. A small workgroup fetches many.
uint32_t fetchedRegisters(const CoopmatTile& tile) {
    constexpr uint32_t wordElements = 8;
    const auto words = [&](uint32_t dim) {
        const uint32_t ofTile = tile.keys() * ((dim + wordElements - 1) / wordElements);
        return (ofTile + tile.workgroupSize() - 1) / tile.workgroupSize();
    };
    return tile.subgroups == 0 ? 0 : 4 * (words(tile.headDim) + words(tile.valueDim));
}

} // namespace

Rejection spillsOnAmd(const ScalarTile& tile, const Caps& caps) {
    const Chip::Spills& chip = chipOf(caps).spills;
    constexpr uint32_t loadedKeys = 4;
    // The tile counts the values of one key.
    const uint32_t ofOtherKeys = (loadedKeys - 1) * 4 * tile.threadColumns4;
    return beyond(tile.registers() + ofOtherKeys, chip.maxScalar);
}

Rejection spillsOnAmd(const CoopmatTile& tile, const Caps& caps) {
    const Chip::Spills& chip = chipOf(caps).spills;
    const uint32_t dimMatrices = VKF_MATRICES(tile.headDim, tile.layout.depth);
    const uint32_t halved = tile.layout.rows * tile.layout.depth / tile.layout.lanes * dimMatrices / 2;
    const uint32_t held = tile.registers() + tile.rowMatrices * (operandRegisters * dimMatrices - halved);
    const uint32_t ofP = operandRegisters * tile.rowMatrices * (tile.keys() / tile.layout.depth);
    const uint32_t most = tile.biasBits != 0 ? chip.maxCoopmatLoopWithBias : chip.maxCoopmatLoop;
    const uint32_t valueMatrices = VKF_MATRICES(tile.valueDim, tile.layout.columns);
    const uint32_t kept = tile.rowMatrices * (operandRegisters * dimMatrices + tile.layout.elements() * valueMatrices);
    const bool gathers = tile.loadsScalars && tile.biasBits != 0;
    return firstOf({
        beyond(held, chip.maxCoopmat),
        beyond(held + ofP + fetchedRegisters(tile), most),
        gathers ? beyond(kept, chip.maxCoopmatGathering) : Rejection{},
    });
}

Rejection spillsOnAmd(const DecodeTile& tile, const Caps& caps) {
    const Chip::Spills& chip = chipOf(caps).spills;
    return firstOf({beyond(tile.registers(), chip.maxDecode), beyond(tile.outputRegisters(), chip.maxDecodeOutput)});
}

Rejection spillsOnAmd(const LatentTile& tile, const Caps& caps) {
    const Chip::Spills& chip = chipOf(caps).spills;
    const uint32_t dimMatrices = VKF_LATENT_MATRICES(tile.headDim, tile.layout.depth, tile.depthSubgroups());
    const uint32_t halved = dimMatrices * (tile.layout.rows * tile.layout.depth / tile.layout.lanes) / 2;
    return beyond(tile.registers() + operandRegisters * dimMatrices - halved, chip.maxLatent);
}

} // namespace vkf
