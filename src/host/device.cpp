// SPDX-License-Identifier: MIT
//
// Device: creates a DeviceState and passes calls on to it. Its transfers are in buffer.cpp.
#include "host/device_state.hpp"
#include "host/matrices/matrix_layouts.hpp"

namespace vkf::host {

// A submission that hangs needs a state that is shared already.
Device::Device(const DeviceOptions& options) : state_(std::make_shared<DeviceState>(options)) {
    state_->takeMatrixLayouts(options);
}

const DeviceSummary& Device::summary() const noexcept { return state_->summary(); }
VkfContext Device::context() const noexcept { return state_->context(); }
VkDevice Device::handle() const noexcept { return state_->device().handle(); }
VkPhysicalDevice Device::physicalDevice() const noexcept { return state_->device().physicalDevice(); }
VkInstance Device::instance() const noexcept { return state_->instance().handle(); }

PFN_vkGetInstanceProcAddr Device::getInstanceProcAddr() const noexcept {
    return state_->instance().getInstanceProcAddr();
}

uint32_t Device::queueFamily() const noexcept { return state_->device().queueFamily(); }

uint64_t Device::validationMessageCount() const noexcept { return state_->validationMessageCount(); }

bool Device::hasShaderClock() const noexcept { return state_->device().hasShaderClock(); }

double Device::submit(const std::function<void(VkCommandBuffer)>& record) { return state_->submit(record)[0]; }

std::array<double, 2> Device::submit(const std::function<void(VkCommandBuffer)>& record,
                                     const std::function<void(VkCommandBuffer)>& recordBehind) {
    return state_->submit(record, recordBehind);
}

const std::vector<VkfMatrixLayout>& Device::matrixLayouts() const noexcept { return state_->matrixLayouts(); }

VkfQuirks Device::quirks() const noexcept { return state_->quirks(); }

std::vector<VkfMatrixLayout> Device::measureMatrixLayouts() {
    std::vector<VkfMatrixLayout> layouts = host::measureMatrixLayouts(*state_, VKF_TYPE_F16);
    const std::vector<VkfMatrixLayout> ofBfloat16 = host::measureMatrixLayouts(*state_, VKF_TYPE_BF16);
    layouts.insert(layouts.end(), ofBfloat16.begin(), ofBfloat16.end());
    return layouts;
}

void Device::testMatrixLayout(const VkfMatrixLayout& layout) { host::testMatrixLayout(*state_, layout); }

uint64_t Device::bytesInUse() const noexcept { return state_->bytesInUse(); }
uint64_t Device::peakBytes() const noexcept { return state_->peakBytes(); }
void Device::resetPeakBytes() noexcept { state_->resetPeakBytes(); }

} // namespace vkf::host
