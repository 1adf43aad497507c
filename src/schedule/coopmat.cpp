// SPDX-License-Identifier: MIT
#include "schedule/paths.hpp"

#include "device/matrix_obstacle.hpp"
#include "tiles/coopmat_tile.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

// Whether the kernel can store rows of o in words of 16 bytes. It can for fp32 and for the type of its matrices, if a
// row consists of such words.
bool hasWordOutput(const VkfProblem& p, VkfType stored) {
    return (stored == VKF_TYPE_F32 || stored == matrixType(p)) &&
           p.valueDim * vkfTypeBytes(stored) % loadedWordBytes == 0;
}

} // namespace

VkfResult scheduleCoopmat(const TunedDevice& device, const CheckedProblem& problem, ScheduleBuilder& builder,
                          VkfMessage* message) {
    const Caps& caps = device.caps;
    if (const char* obstacle = matrixObstacle(caps, problem); obstacle != nullptr) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "path coopmat: %s", obstacle);
    }
    const VkfProblem& p = problem.given;
    const TileProblem tiled = tileProblem(builder.path(), problem);
    const CoopmatPlan chosen = chooseCoopmatTile(device, caps.matrixOf(matrixType(p)), tiled, builder.considered());
    const CoopmatTile& tile = chosen.tile;
    if (tile.workgroupSize() == 0) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "path coopmat: headDim %u and valueDim %u need more than the device's %u bytes of shared memory",
                    p.headDim, p.valueDim, caps.maxSharedMemoryBytes);
    }
    const uint32_t splits = p.kvSplits != 0 ? p.kvSplits : chosen.splits;
    builder.setTile(tile, splits, chosen.tuned);
    const bool split = splits > 1 && !problem.empty;
    const bool outputWords = outputInWords(tile, tiled.keys / splits, problem.asksKeys()) &&
                             hasWordOutput(p, split ? VKF_TYPE_F32 : p.o.type);
    builder.packHeads(packedHeads(builder.path(), problem));
    builder.setMatrices(tile.layout);
    builder.setWholeWords(hasWholeWords(problem, tile));
    builder.setOutputWords(outputWords);
    return scheduleFused(caps, Kernel::attentionCoopmat, splits, problem, builder, message);
}

} // namespace vkf
