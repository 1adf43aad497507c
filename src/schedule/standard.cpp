// SPDX-License-Identifier: MIT
#include "schedule/paths.hpp"

#include <algorithm>
#include <string>

#include "device/matrix_support.hpp"
#include "tiles/standard_tile.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

// The kernels of path standard, and the sizes that they share.
struct StandardKernels {
    Kernel scores;
    Kernel output;
    uint32_t typeOfP;        // VKF_STORED_*
    uint32_t stepKeys;       // keys of P v that are staged at once
    uint32_t rowMultiple;    // the rows of S are padded to a multiple of it
    uint32_t columnMultiple; // the columns of S are padded to a multiple of it
};

// No memory is larger, and offsets of more bytes of scores might not fit into 64 bits.
constexpr double mostScoreBytes = 0x1p62;

VkfResult standardOnMatrices(const TunedDevice& device, const CheckedProblem& problem, ScheduleBuilder& builder,
                             StandardKernels* kernels, VkfMessage* message) {
    const Caps& caps = device.caps;
    const VkfProblem& p = problem.given;
    const ProductTile tile = chooseProductTile(caps, caps.matrixOf(matrixType(p)), tileProblem(builder.path(), problem),
                                               builder.considered());
    if (tile.workgroupSize() == 0) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "path standard: valueDim %u needs more than the device's %u bytes of shared memory", p.valueDim,
                    caps.maxSharedMemoryBytes);
    }
    builder.setTile(tile, 1);
    builder.setMatrices(tile.layout);
    builder.setWholeWords(hasWholeWords(problem, tile));
    *kernels = {Kernel::standardScoresCoopmat,
                Kernel::standardOutputCoopmat,
                static_cast<uint32_t>(p.v.type),
                tile.step(),
                tile.layout.rows,
                std::max(tile.step(), tile.layout.columns)};
    return VKF_SUCCESS;
}

VkfResult standardInFp32(const TunedDevice& device, const CheckedProblem& problem, ScheduleBuilder& builder,
                         StandardKernels* kernels, VkfMessage* message) {
    const VkfResult result = setScalarTile(device, problem, builder, message);
    *kernels = {
        Kernel::standardScores, Kernel::standardOutput, VKF_STORED_F32, builder.tileConstant(VKF_ID_CHUNK_KEYS), 1, 4};
    return result;
}

// Adds the softmax, in which one workgroup takes one row.
VkfResult addSoftmax(const Caps& caps, const CheckedProblem& problem, const StandardKernels& kernels,
                     ScheduleBuilder& builder, VkfMessage* message) {
    const VkfProblem& p = problem.given;
    const bool probabilities =
        has(p, VKF_USE_PROBABILITIES) && !has(p, VKF_USE_PROBABILITY_ROWS); // chosen rows have a phase of their own
    const VkfResult result = builder.add(Kernel::standardSoftmax,
                                         {Operand::none, Operand::scratchState,
                                          probabilities ? Operand::probabilities : Operand::none, Operand::scratch},
                                         builder.heads() * p.queryRows, 8.0 * p.keys, message);
    if (result == VKF_SUCCESS) {
        const SoftmaxTile tile =
            chooseSoftmaxTile(caps, static_cast<uint32_t>(widestRow(problem, builder.tile().rows)));
        builder.addToTileText(" softmaxKeys=" + std::to_string(tile.keys()));
        Phase& softmax = builder.lastPhase();
        softmax.lse = has(p, VKF_USE_LSE) ? Operand::lse : Operand::none;
        Constants& constants = softmax.variant.constants;
        constants[VKF_ID_WORKGROUP_SIZE] = tile.workgroupSize;
        constants[VKF_ID_ROW_WORDS] = tile.rowWords;
        constants[VKF_ID_READER_ROWS] = builder.tile().rows;
        constants[VKF_ID_READER_KEYS] = kernels.stepKeys;
        constants[VKF_ID_PROBABILITIES] = probabilities ? 1 : 0;
        constants[VKF_ID_TYPE_P] = kernels.typeOfP;
        constants[VKF_ID_TYPE_O] = 0; // so that plans that differ in the type of o alone share a pipeline
    }
    return result;
}

} // namespace

VkfResult scheduleStandard(const TunedDevice& device, const CheckedProblem& problem, ScheduleBuilder& builder,
                           VkfMessage* message) {
    const auto choose = whyNoMatrices(device.caps, problem) == nullptr ? standardOnMatrices : standardInFp32;
    StandardKernels kernels{};
    VkfResult result = choose(device, problem, builder, &kernels, message);
    if (result != VKF_SUCCESS || problem.empty) {
        return result;
    }
    const VkfProblem& p = problem.given;
    if (static_cast<double>(roundUp(p.queryRows, kernels.rowMultiple)) * static_cast<double>(builder.heads()) *
            static_cast<double>(roundUp(p.keys, kernels.columnMultiple)) * sizeof(float) >
        mostScoreBytes) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "path standard: the scores of all heads are over 2^62 bytes");
    }
    builder.setScratch(scratchLayout(p, p.batch, p.keys, kernels.rowMultiple, kernels.columnMultiple)); // S, then P
    builder.addScratchState(1);
    const TileShape& tile = builder.tile();
    const uint64_t keyTiles = (uint64_t{p.keys} + tile.keys - 1) / tile.keys;
    const double rows = tile.rows;
    result = builder.add(kernels.scores, {Operand::q, Operand::k, Operand::none, Operand::scratch},
                         builder.rowTiles() * keyTiles, 2.0 * rows * tile.keys * p.headDim, message);
    if (result == VKF_SUCCESS) {
        result = addSoftmax(device.caps, problem, kernels, builder, message);
    }
    if (result == VKF_SUCCESS) {
        result = builder.add(kernels.output, {Operand::scratch, Operand::scratchState, Operand::v, Operand::o},
                             builder.rowTiles(), 2.0 * rows * widestRow(problem, tile.rows) * p.valueDim, message);
    }
    if (result == VKF_SUCCESS) {
        Constants& constants = builder.lastPhase().variant.constants;
        constants[VKF_ID_TYPE_P] = kernels.typeOfP;
        constants[VKF_ID_TYPE_Q] = 0; // so that plans that differ in the type of q alone share a pipeline
    }
    return result;
}

} // namespace vkf
