// SPDX-License-Identifier: MIT
//
// Reads any bytes as tuning data. The library must refuse them with a text, or read them. If it reads them, every tile
// that it chooses by the entries must fit the device, and every element layout must be one that kernels can use.
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "device/caps.hpp"
#include "shared/attention_params.h"
#include "tiles/backward/backward_matrix_tile.hpp"
#include "tiles/coopmat_tile.hpp"
#include "tiles/scalar_tile.hpp"
#include "tiles/tuning_file.hpp"

namespace {

void require(bool condition) {
    if (!condition)
        std::abort();
}

vkf::Caps describedCaps() {
    vkf::Caps caps;
    caps.maxSharedMemoryBytes = 49152;
    caps.maxInvocations = 1024;
    caps.subgroupSize = 32;
    caps.subgroupShuffle = true;
    caps.subgroupSizeRequired = true;
    caps.features = VKF_FEATURE_FULL_SUBGROUPS | VKF_FEATURE_STORAGE_16BIT;
    return caps;
}

void requireScalar(const vkf::TunedDevice& device, const vkf::TileProblem& problem) {
    const vkf::Caps& caps = device.caps;
    const vkf::ScalarPlan plan = vkf::chooseScalarTile(device, problem);
    const vkf::ScalarTile& tile = plan.tile;
    require(tile.workgroupSize() > 0 && tile.workgroupSize() <= caps.maxInvocations);
    require(tile.workgroupSize() % caps.subgroupSize == 0 && tile.lanes <= caps.subgroupSize);
    require(tile.sharedBytes() <= caps.maxSharedMemoryBytes);
    require(tile.lanes * tile.threadColumns4 * 4 >= problem.valueDim && tile.chunkDim4 > 0);
    require(plan.splits >= 1 && plan.splits <= VKF_MAX_SPLITS);
    require(tile.chunkKeys % 4 == 0 && tile.chunkKeys % tile.lanes == 0 && tile.keys() % tile.chunkKeys == 0);
}

void requireMatrix(const vkf::TunedDevice& device, const vkf::TileProblem& problem) {
    const vkf::MatrixLayout layout = vkf::knownMatrixLayout(VK_DRIVER_ID_NVIDIA_PROPRIETARY, 32, 16, 16);
    const vkf::CoopmatPlan plan = vkf::chooseCoopmatTile(device, layout, problem);
    require(plan.tile.subgroups > 0 && plan.tile.workgroupSize() <= device.caps.maxInvocations);
    require(plan.tile.sharedBytes() <= device.caps.maxSharedMemoryBytes);
    require(plan.tile.keys() > 0 && plan.splits >= 1 && plan.splits <= VKF_MAX_SPLITS);
}

void requireBackward(const vkf::TunedDevice& device, const vkf::TuningEntry& entry, const vkf::TileProblem& problem) {
    const vkf::MatrixLayout layout = vkf::knownMatrixLayout(VK_DRIVER_ID_NVIDIA_PROPRIETARY, 32, 16, 16);
    const bool rows = entry.kernel == vkf::TunedKernel::dq;
    const vkf::BackwardMatrixTile tile = vkf::chooseBackwardMatrixTile(
        device, layout,
        {rows ? vkf::BackwardOwner::rows : vkf::BackwardOwner::keys, problem.headDim, problem.valueDim,
         entry.kernel != vkf::TunedKernel::dv,
         entry.kernel == vkf::TunedKernel::dv || entry.kernel == vkf::TunedKernel::dkAndDv,
         rows ? problem.queryRows : problem.keys, problem.heads, true, problem});
    require(tile.subgroups > 0 && tile.workgroupSize() <= device.caps.maxInvocations);
    require(tile.sharedBytes() <= device.caps.maxSharedMemoryBytes);
    require(tile.owned() > 0 && tile.visited() > 0 && tile.subgroups % tile.depthSubgroups == 0);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    VkfMessage message;
    std::memset(&message, 'x', sizeof(message));
    vkf::TuningData read;
    const VkfResult result = vkf::readTuning(text, {0x10de, 0x2335, VK_DRIVER_ID_NVIDIA_PROPRIETARY}, &read, &message);
    if (data != nullptr)
        require(vkfCheckTuning(text.data(), size, nullptr) == result);
    if (result != VKF_SUCCESS) {
        require(std::memchr(message.text, 0, sizeof(message.text)) != nullptr);
        require(std::strlen(message.text) > 0 && read.entries.empty() && read.matrixLayouts.empty());
        return 0;
    }
    for (const VkfMatrixLayout& layout : read.matrixLayouts)
        require(vkfCheckMatrixLayout(&layout, nullptr) == VKF_SUCCESS);
    const vkf::Caps caps = describedCaps();
    const vkf::TunedDevice device = {caps, read.entries};
    // The smallest problem of the class of each entry.
    for (const vkf::TuningEntry& entry : read.entries) {
        const vkf::TileProblem problem = {
            entry.headDim.least, entry.valueDim.least, entry.rows.least, entry.heads.least, entry.type == VKF_TYPE_F32,
            entry.keys.least,    entry.masked,         entry.path,       entry.type};
        require(vkf::isAbout(entry, entry.kernel, problem));
        if (entry.kernel != vkf::TunedKernel::attention) {
            requireBackward(device, entry, problem);
            continue;
        }
        entry.path == VKF_PATH_SCALAR ? requireScalar(device, problem) : requireMatrix(device, problem);
    }
    return 0;
}
