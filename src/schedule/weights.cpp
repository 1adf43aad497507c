// SPDX-License-Identifier: MIT
#include "schedule/paths.hpp"

#include <algorithm>
#include <array>

namespace vkf {
namespace {

// More bytes than this are no memory size, and their offsets would not fit 64 bits.
constexpr double mostWeightBytes = 0x1p62;

// No more rows than this get a tile of few rows and many keys.
constexpr uint32_t fewRows = 8;

// A tile without v, whose 16 columns take less shared memory than k.
constexpr Tile weightsTile(uint32_t threadRows, uint32_t threadKeys, uint32_t chunkDim4) {
    return {128, 16, threadRows, threadKeys, 1, chunkDim4, 16};
}

// Best first; the last two take 11 KiB and 6 KiB of shared memory.
constexpr std::array manyRowTiles = {weightsTile(8, 4, 8), weightsTile(8, 4, 4), weightsTile(2, 4, 4)};
constexpr std::array fewRowTiles = {weightsTile(1, 8, 8), weightsTile(1, 8, 4), weightsTile(1, 4, 4)};

// Of attention_weights.comp: the stages of q and k, and two numbers for each row.
uint32_t sharedBytes(const Tile& tile) {
    const uint32_t words = VKF_Q_WORDS(tile.rows(), tile.chunkDim4) + VKF_K_WORDS(tile.keys(), tile.chunkDim4);
    return words * 16 + tile.rows() * 2 * static_cast<uint32_t>(sizeof(uint32_t));
}

// None fits: a tile of no invocations.
Tile chooseWeightsTile(const Caps& caps, uint32_t rows) {
    const auto& tiles = rows <= fewRows ? fewRowTiles : manyRowTiles;
    const auto* tile = std::find_if(tiles.begin(), tiles.end(), [&caps](const Tile& t) {
        return t.workgroupSize <= caps.maxInvocations && sharedBytes(t) <= caps.maxSharedMemoryBytes;
    });
    return tile != tiles.end() ? *tile : Tile{};
}

} // namespace

VkfResult scheduleWeights(const Caps& caps, const CheckedProblem& problem, ScheduleBuilder& builder,
                          VkfMessage* message) {
    const VkfProblem& p = problem.given;
    const bool writtenBySoftmax = builder.path() == VKF_PATH_STANDARD && p.weightRows == 0;
    if (p.weights == 0 || problem.empty || p.keys == 0 || writtenBySoftmax) {
        return VKF_SUCCESS;
    }
    const uint32_t rows = weightRows(p);
    if (static_cast<double>(builder.heads()) * rows * p.keys * sizeof(float) > mostWeightBytes) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "the weights of all heads are over 2^62 bytes");
    }
    const Tile tile = chooseWeightsTile(caps, rows);
    if (tile.workgroupSize == 0) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "weights need more than the %u bytes of shared memory there are",
                    caps.maxSharedMemoryBytes);
    }
    Operand lse = Operand::lse;
    if (p.lse == 0) {
        lse = Operand::scratchLse;
        builder.addScratchLse();
        Phase& writer = builder.phaseOfLse();
        writer.lse = lse;
        writer.variant.constants[VKF_ID_LSE] = 1;
    }
    builder.setPhaseTile(tile);
    const uint64_t rowTiles = (uint64_t{rows} + tile.rows() - 1) / tile.rows();
    const uint64_t keyTiles = (uint64_t{p.keys} + tile.keys() - 1) / tile.keys();
    const VkfResult result =
        builder.add(Kernel::attentionWeights,
                    {Operand::q, Operand::k, p.weightRows != 0 ? Operand::weightRows : Operand::none, Operand::weights},
                    builder.heads() * rowTiles * keyTiles, 2.0 * tile.rows() * tile.keys() * p.headDim, message);
    if (result == VKF_SUCCESS) {
        Phase& phase = builder.lastPhase();
        phase.lse = lse;
        phase.params.row_stride[VKF_V] = rows;
        phase.variant.constants[VKF_ID_WEIGHT_ROWS] = p.weightRows != 0 ? 1 : 0;
        phase.variant.constants[VKF_ID_VALUE_DIM] = 4; // v has no part in it
    }
    return result;
}

} // namespace vkf
