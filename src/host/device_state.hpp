// SPDX-License-Identifier: MIT
//
// Everything behind a Device, in the order of creation. Device, Buffer and Plan share it.
#pragma once

#include <vector>

#include <vkflash/vkflash.hpp>

#include "host/allocator.hpp"
#include "host/submitter.hpp"
#include "host/summary.hpp"

namespace vkf::host {

class DeviceState : public std::enable_shared_from_this<DeviceState> {
public:
    // The context has no measured element layouts of matrices yet.
    explicit DeviceState(const DeviceOptions& options);
    ~DeviceState();
    DeviceState(const DeviceState&) = delete;
    DeviceState& operator=(const DeviceState&) = delete;

    const DeviceSummary& summary() const noexcept { return summary_; }
    const Instance& instance() const noexcept { return instance_; }
    const LogicalDevice& device() const noexcept { return device_; }
    VkfContext context() const noexcept { return context_.get(); }
    bool hangs() const noexcept { return submitter_.hangs(); }
    uint64_t validationMessageCount() const noexcept { return log_.count(); }

    // Throws Error(VKF_ERROR_DEVICE_LOST) if an earlier call lost the device.
    void requireDevice() const;
    // Returns call(), unless the device is lost. Remembers whether the call loses it.
    template <typename Call> auto remembering(const Call& call) {
        requireDevice();
        try {
            return call();
        } catch (const Error& error) {
            lost_ = lost_ || error.result() == VKF_ERROR_DEVICE_LOST;
            throw;
        }
    }

    AllocatedBuffer createBuffer(uint64_t bytes, Memory memory);
    void destroyBuffer(const AllocatedBuffer& buffer, uint64_t bytes) noexcept;
    VkDeviceAddress addressOf(VkBuffer buffer) const noexcept;

    std::array<double, 2> submit(const std::function<void(VkCommandBuffer)>& record,
                                 const std::function<void(VkCommandBuffer)>& recordBehind = {});
    // A mapped buffer for transfers, created when it is first needed.
    const AllocatedBuffer& stagingBuffer();

    // Creates the context again, with the element layouts that the options ask for, or without matrices if the device
    // loads them wrong.
    void takeMatrixLayouts(const DeviceOptions& options);
    const std::vector<VkfMatrixLayout>& matrixLayouts() const noexcept { return matrixLayouts_; }
    VkfQuirks quirks() const noexcept { return quirks_; }

    uint64_t bytesInUse() const noexcept { return bytesInUse_; }
    uint64_t peakBytes() const noexcept { return peakBytes_; }
    void resetPeakBytes() noexcept { peakBytes_ = bytesInUse_; }

private:
    DeviceSummary select(const std::string& name) const;
    Context createContext(const DeviceOptions& options) const;

    ValidationLog log_;
    Instance instance_;
    DeviceSummary summary_;
    LogicalDevice device_;
    VkfQuirks quirks_;                           // of the context, without those that the library knows
    std::vector<VkfMatrixLayout> matrixLayouts_; // of the context
    Context context_;
    Allocator allocator_;
    Submitter submitter_;
    AllocatedBuffer staging_;
    bool lost_ = false;
    uint64_t bytesInUse_ = 0;
    uint64_t peakBytes_ = 0;
    // Set when the device hangs. To destroy objects that the device still uses is undefined behaviour, so that nothing
    // is destroyed.
    std::shared_ptr<DeviceState> keptAlive_;
};

} // namespace vkf::host
