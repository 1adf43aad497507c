// SPDX-License-Identifier: MIT
#include "host/device_state.hpp"

#include <algorithm>
#include <utility>

#include "host/error.hpp"
#include "host/matrices/matrix_layouts.hpp"

namespace vkf::host {
namespace {

constexpr uint64_t stagingBytes = uint64_t{16} << 20; // promised in host.hpp

} // namespace

DeviceState::DeviceState(const DeviceOptions& options)
    : log_(options.onValidationMessage), instance_(options.validation ? &log_ : nullptr, options.getInstanceProcAddr),
      summary_(select(options.select)),
      device_(instance_, instance_.physicalDevices()[summary_.index], options.withoutFeatures), quirks_(options.quirks),
      context_(createContext(options)), allocator_(instance_, device_, summary_.name),
      submitter_(device_, static_cast<double>(summary_.timestampPeriod), options.submitTimeoutSeconds) {}

DeviceState::~DeviceState() {
    if (staging_.buffer != VK_NULL_HANDLE) {
        allocator_.destroy(staging_);
    }
}

DeviceSummary DeviceState::select(const std::string& name) const {
    const std::vector<DeviceSummary> devices = summarize(instance_);
    return devices[selectDevice(devices, name)];
}

Context DeviceState::createContext(const DeviceOptions& options) const {
    auto info = make<VkfContextCreateInfo>();
    info.getInstanceProcAddr = instance_.getInstanceProcAddr();
    info.instance = instance_.handle();
    info.physicalDevice = device_.physicalDevice();
    info.device = device_.handle();
    info.features = device_.features();
    info.quirks = quirks_;
    info.debug = options.debug;
    info.maxSharedMemoryBytes = options.maxSharedMemoryBytes;
    info.tuning = options.tuning.data();
    info.tuningBytes = options.tuning.size();
    info.matrixLayouts = matrixLayouts_.data();
    info.matrixLayoutCount = matrixLayouts_.size();
    VkfMessage message{};
    VkfContext context = nullptr;
    check(vkfCreateContext(&info, &context, &message), message);
    return Context(context);
}

void DeviceState::takeMatrixLayouts(const DeviceOptions& options) {
    MatrixFindings findings = examineMatrices(*this, options);
    matrixLayouts_ = std::move(findings.layouts);
    if (findings.loadsWrong) {
        quirks_ |= VKF_QUIRK_WRONG_MATRIX_LOADS;
    }
    if (!matrixLayouts_.empty() || findings.loadsWrong) {
        context_ = createContext(options);
    }
}

void DeviceState::requireDevice() const {
    if (lost_ || submitter_.hangs()) {
        throw Error(VKF_ERROR_DEVICE_LOST, "the device was lost in an earlier call; open a new one");
    }
}

AllocatedBuffer DeviceState::createBuffer(uint64_t bytes, Memory memory) {
    const AllocatedBuffer buffer = remembering([&] { return allocator_.create(bytes, memory); });
    bytesInUse_ += bytes;
    peakBytes_ = std::max(peakBytes_, bytesInUse_);
    return buffer;
}

void DeviceState::destroyBuffer(const AllocatedBuffer& buffer, uint64_t bytes) noexcept {
    bytesInUse_ -= bytes;
    if (!submitter_.hangs()) {
        allocator_.destroy(buffer);
    }
}

VkDeviceAddress DeviceState::addressOf(VkBuffer buffer) const noexcept {
    VkBufferDeviceAddressInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
    info.buffer = buffer;
    return device_.functions().GetBufferDeviceAddress(device_.handle(), &info);
}

std::array<double, 2> DeviceState::submit(const std::function<void(VkCommandBuffer)>& record,
                                          const std::function<void(VkCommandBuffer)>& recordBehind) {
    try {
        return remembering([&] { return submitter_.submit(record, recordBehind); });
    } catch (...) {
        if (submitter_.hangs()) {
            keptAlive_ = shared_from_this();
        }
        throw;
    }
}

const AllocatedBuffer& DeviceState::stagingBuffer() {
    if (staging_.buffer == VK_NULL_HANDLE) {
        staging_ = remembering([&] { return allocator_.create(stagingBytes, Memory::staging); });
    }
    return staging_;
}

} // namespace vkf::host
