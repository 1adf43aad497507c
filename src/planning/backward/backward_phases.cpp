// SPDX-License-Identifier: MIT
#include "planning/backward/backward_phases.hpp"

#include <array>
#include <utility>

#include "base/message.hpp"
#include "planning/tile_map_sizes.hpp"

namespace vkf {
namespace {

// Adds phases that run at the same time: a barrier stands before the first of them at most.
void addConcurrent(std::vector<Phase>&& concurrent, bool barrierBefore, std::vector<Phase>* all) {
    for (Phase& phase : concurrent) {
        phase.barrierBefore = barrierBefore;
        barrierBefore = false;
        all->push_back(phase);
    }
}

void addWithoutBarrier(const std::optional<Phase>& phase, std::vector<Phase>* all) {
    if (phase) {
        all->push_back(*phase);
        all->back().barrierBefore = false;
    }
}

// Only kernels with functions or with lists have these constants. They divide by the cells, also without a map.
void setMap(const BackwardDecision& decision, Constants* constants) {
    const std::optional<TileMapChoice>& map = decision.map;
    (*constants)[VKF_ID_TILE_MAP] = map ? kindOf(*map) : VKF_MAP_NONE;
    (*constants)[VKF_ID_CELL_ROWS] = map ? map->rows : 1;
    (*constants)[VKF_ID_CELL_KEYS] = map ? map->keys : 1;
}

} // namespace

std::vector<Phase> inOrder(BackwardPhases&& phases) {
    std::vector<Phase> all;
    if (phases.table) {
        all.push_back(*phases.table);
    }
    if (phases.tileMap) {
        all.push_back(*phases.tileMap);
    }
    // These do not read the table.
    addWithoutBarrier(phases.keySequences, &all);
    addWithoutBarrier(phases.rowSequences, &all);
    addWithoutBarrier(phases.rowState, &all);
    addConcurrent(std::move(phases.tileLists), true, &all);
    const bool hasBands = !phases.bands.empty();
    all.insert(all.end(), phases.bands.begin(), phases.bands.end());
    const bool hasPairs = !phases.pairs.empty();
    addConcurrent(std::move(phases.pairs), !hasBands, &all); // dv, while the last dq is made
    addConcurrent(std::move(phases.fallback), true, &all);
    addConcurrent(std::move(phases.others), !hasBands && !hasPairs, &all);
    return all;
}

VkfResult BackwardPhaseBuilder::make(Kernel kernel, const Constants& ofTile, const std::array<PhaseTensor, 4>& tensors,
                                     uint64_t items, double operations, Phase* phase, VkfMessage* message) const {
    uint32_t shift = 0;
    const VkfResult result =
        PhaseBuilder::make({kernel, tensors, needsStorage16(backward_), items, operations}, phase, &shift, message);
    if (result == VKF_SUCCESS) {
        phase->variant.constants = backwardConstants(backward_, ofTile, shift);
        if (has(forward().fields, VKF_USE_FUNCTIONS) || decision_.map) {
            setMap(decision_, &phase->variant.constants);
        }
    }
    return result;
}

Kernel BackwardPhaseBuilder::listedIfMapped(Kernel kernel, Kernel listed) const {
    return decision_.map && !has(forward().fields, VKF_USE_FUNCTIONS) ? listed : kernel;
}

std::array<PhaseTensor, 4> BackwardPhaseBuilder::pairTensors() const {
    const CheckedProblem& p = forward();
    return {{{Operand::q, byteStrides(p.layout(VKF_TENSOR_Q)), "q"},
             {Operand::k, byteStrides(p.layout(VKF_TENSOR_K)), "k"},
             {Operand::v, byteStrides(p.layout(VKF_TENSOR_V)), "v"},
             {Operand::dout, byteStrides(backward_.layout(VKF_BACKWARD_DOUT)), "dout"}}};
}

template <KernelTile Tile>
VkfResult BackwardPhaseBuilder::makePairs(Kernel kernel, const Tile& tile, Constants constants, uint64_t items,
                                          double operations, Phase* phase, VkfMessage* message) const {
    constants[VKF_ID_WRITES_DK] = tile.owner == BackwardOwner::keys && tile.makesDqOrDk() ? 1 : 0;
    constants[VKF_ID_WRITES_DV] = tile.owner == BackwardOwner::keys && tile.makesDv() ? 1 : 0;
    if (tile.owner != BackwardOwner::bias) {
        setTileLists(decision_.lists, listedTiles(forward(), tile), &constants);
    }
    return make(kernel, constants, pairTensors(), items, operations, phase, message);
}

VkfResult BackwardPhaseBuilder::makePairs(const BackwardTile& tile, uint64_t items, double operations, Phase* phase,
                                          VkfMessage* message) const {
    return makePairs(listedIfMapped(Kernel::backwardScalar, Kernel::backwardScalarListed), tile, tileConstants(tile),
                     items, operations, phase, message);
}

VkfResult BackwardPhaseBuilder::makePairs(const BackwardMatrixTile& tile, uint64_t items, double operations,
                                          Phase* phase, VkfMessage* message) const {
    Constants constants = tileConstants(tile);
    constants[VKF_ID_WHOLE_WORDS] = hasWholeWords(backward_, tile) ? 1 : 0;
    constants[VKF_ID_LOCKSTEP] = (caps().quirks & VKF_QUIRK_LOCKSTEP_SUBGROUPS) != 0 ? 1 : 0;
    return makePairs(listedIfMapped(Kernel::backwardCoopmat, Kernel::backwardCoopmatListed), tile, constants, items,
                     operations, phase, message);
}

VkfResult BackwardPhaseBuilder::makePairs(const BackwardWgmmaTile& tile, uint64_t items, double operations,
                                          Phase* phase, VkfMessage* message) const {
    return makePairs(tile.kernel, tile, tileConstants(tile), items, operations, phase, message);
}

VkfResult BackwardPhaseBuilder::makeSums(const BackwardSumTile& tile, bool writesDv, uint64_t items, double operations,
                                         Phase* phase, VkfMessage* message) const {
    Constants constants = tileConstants(tile);
    constants[VKF_ID_WHOLE_WORDS] = hasWholeWords(backward_, tile) ? 1 : 0;
    constants[VKF_ID_WRITES_DV] = writesDv ? 1 : 0;
    setTileLists(decision_.lists, listedSteps(forward(), decision_, tile), &constants);
    return make(listedIfMapped(Kernel::backwardSums, Kernel::backwardSumsListed), constants, pairTensors(), items,
                operations, phase, message);
}

VkfResult BackwardPhaseBuilder::requireTile(uint32_t workgroupSize, VkfMessage* message) const {
    const VkfProblem& p = forward().fields;
    return workgroupSize != 0
               ? VKF_SUCCESS
               : fail(message, VKF_ERROR_UNSUPPORTED,
                      "the backward pass of headDim %u and valueDim %u needs more than the device's %u bytes of shared "
                      "memory",
                      p.headDim, p.valueDim, caps().maxSharedMemoryBytes);
}

} // namespace vkf
