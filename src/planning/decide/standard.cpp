// SPDX-License-Identifier: MIT
#include "planning/decide/decide_paths.hpp"

#include <algorithm>
#include <string>

#include "device/matrix_support.hpp"
#include "planning/kernel_parameters.hpp"
#include "tiles/standard_tile.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

VkfResult onMatrices(const TunedDevice& device, const CheckedProblem& problem, Decision* decision,
                     StandardKernels* kernels, VkfMessage* message) {
    const Caps& caps = device.caps;
    const VkfProblem& p = problem.fields;
    const ProductTile tile = chooseProductTile(caps, caps.matrixOf(matrixType(p)), tileProblem(decision->path, problem),
                                               &decision->considered);
    if (tile.workgroupSize() == 0) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "path standard: valueDim %u needs more than the device's %u bytes of shared memory", p.valueDim,
                    caps.maxSharedMemoryBytes);
    }
    setTile(tile, 1, false, decision);
    decision->constants = tileConstants(tile);
    setProductMatrices(caps, problem, tile.layout, decision);
    setWholeWords(hasWholeWords(problem, tile), decision);
    *kernels = {Kernel::standardScoresCoopmat,
                Kernel::standardOutputCoopmat,
                static_cast<uint32_t>(p.v.type),
                tile.step(),
                tile.layout.rows,
                std::max(tile.step(), tile.layout.columns)};
    return VKF_SUCCESS;
}

VkfResult inFp32(const TunedDevice& device, const CheckedProblem& problem, Decision* decision, StandardKernels* kernels,
                 VkfMessage* message) {
    ScalarPlan plan;
    const VkfResult result = decideScalarTile(device, problem, &plan, decision, message);
    *kernels = {Kernel::standardScores, Kernel::standardOutput, VKF_STORED_F32, plan.tile.chunkKeys, 1, 4};
    return result;
}

} // namespace

VkfResult decideStandard(const TunedDevice& device, const CheckedProblem& problem, Decision* decision,
                         VkfMessage* message) {
    const auto decideProducts = whyNoMatrices(device.caps, problem) == nullptr ? onMatrices : inFp32;
    StandardKernels kernels;
    const VkfResult result = decideProducts(device, problem, decision, &kernels, message);
    if (result == VKF_SUCCESS && !problem.empty) {
        kernels.softmax =
            chooseSoftmaxTile(device.caps, static_cast<uint32_t>(maxVisibleKeys(problem, decision->tile.rows)));
        decision->tileText += " softmaxKeys=" + std::to_string(kernels.softmax.keys());
        decision->standard = kernels;
    }
    return result;
}

} // namespace vkf
