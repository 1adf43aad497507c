// SPDX-License-Identifier: MIT
#include "device.hpp"

#include <algorithm>
#include <utility>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "errors.hpp"

namespace vkf::python {
namespace {

// Bytes of free buffers that a pool keeps.
constexpr uint64_t maxFreeBytes = uint64_t{512} << 20;

const char* kindName(host::DeviceKind kind) {
    switch (kind) {
    case host::DeviceKind::discrete:
        return "discrete";
    case host::DeviceKind::integrated:
        return "integrated";
    case host::DeviceKind::virtualGpu:
        return "virtual";
    case host::DeviceKind::cpu:
        return "cpu";
    case host::DeviceKind::other:
        break;
    }
    return "other";
}

nb::dict describe(const host::DeviceSummary& summary) {
    uint64_t bytes = 0;
    for (const host::MemoryHeap& heap : summary.heaps) {
        bytes += heap.deviceLocal ? heap.bytes : 0;
    }
    nb::dict entries;
    entries["index"] = summary.index;
    entries["name"] = summary.name;
    entries["kind"] = kindName(summary.kind);
    entries["driver"] = summary.driver;
    entries["memory_bytes"] = bytes;
    entries["usable"] = summary.usable == VKF_SUCCESS;
    entries["reason"] = summary.reason;
    return entries;
}

nb::list listDevices() {
    std::vector<host::DeviceSummary> summaries;
    {
        const nb::gil_scoped_release released;
        summaries = host::listDevices();
    }
    nb::list devices;
    for (const host::DeviceSummary& summary : summaries) {
        devices.append(describe(summary));
    }
    return devices;
}

std::shared_ptr<Device> openDevice(const std::string& select, bool validation, const std::string& tuning,
                                   double timeoutSeconds) {
    host::DeviceOptions options;
    options.select = select;
    options.validation = validation;
    options.tuning = tuning;
    options.submitTimeoutSeconds = timeoutSeconds;
    const nb::gil_scoped_release released;
    return std::make_shared<Device>(options);
}

} // namespace

host::Buffer BufferPool::takeFree(uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    // Not more than twice the bytes, so that small arrays leave large buffers for large ones.
    auto best = free_.end();
    for (auto buffer = free_.begin(); buffer != free_.end(); ++buffer) {
        if (buffer->size() >= bytes && buffer->size() <= 2 * bytes + 256 &&
            (best == free_.end() || buffer->size() < best->size())) {
            best = buffer;
        }
    }
    host::Buffer taken;
    if (best != free_.end()) {
        taken = std::move(*best);
        free_.erase(best);
        freeBytes_ -= taken.size();
    }
    while (freeBytes_ > maxFreeBytes) {
        freeBytes_ -= free_.front().size();
        free_.erase(free_.begin());
    }
    return taken;
}

host::Buffer BufferPool::take(host::Device& device, uint64_t bytes) {
    host::Buffer buffer = takeFree(bytes);
    if (buffer.handle() != VK_NULL_HANDLE) {
        return buffer;
    }
    try {
        return device.createBuffer(bytes);
    } catch (const host::Error& error) {
        if (error.result() != VKF_ERROR_OUT_OF_DEVICE_MEMORY) {
            throw;
        }
        clear();
        return device.createBuffer(bytes);
    }
}

void BufferPool::give(host::Buffer buffer) noexcept {
    if (buffer.handle() == VK_NULL_HANDLE) {
        return;
    }
    const std::lock_guard lock(mutex_);
    freeBytes_ += buffer.size();
    free_.push_back(std::move(buffer));
}

void BufferPool::clear() noexcept {
    const std::lock_guard lock(mutex_);
    free_.clear();
    freeBytes_ = 0;
}

Device::Device(const host::DeviceOptions& options) : device_(options) {
    const PFN_vkGetInstanceProcAddr instanceFunction = device_.getInstanceProcAddr();
    const auto deviceFunction =
        reinterpret_cast<PFN_vkGetDeviceProcAddr>(instanceFunction(device_.instance(), "vkGetDeviceProcAddr"));
    copyBuffer_ = reinterpret_cast<PFN_vkCmdCopyBuffer>(deviceFunction(device_.handle(), "vkCmdCopyBuffer"));
}

void Device::copy(const VkBufferCopy& range, const host::Buffer& from, const host::Buffer& to) {
    if (range.size > 0) {
        device_.submit([&](VkCommandBuffer commands) { copyBuffer_(commands, from.handle(), to.handle(), 1, &range); });
    }
}

void raiseInterrupt() {
    const nb::gil_scoped_acquire acquired;
    if (PyErr_CheckSignals() != 0) {
        throw nb::python_error();
    }
}

void defineDevices(nb::module_& module) {
    nb::class_<Device>(module, "Device")
        .def("summary", [](Device& device) { return describe(device.host().summary()); })
        .def("bytes_in_use", [](Device& device) { return device.use([&] { return device.host().bytesInUse(); }); })
        .def("validation_messages", [](Device& device) { return device.host().validationMessageCount(); })
        .def("free_memory", [](Device& device) { device.use([&] { device.pool().clear(); }); });
    module.def("open_device", openDevice, nb::arg("select"), nb::arg("validation"), nb::arg("tuning"),
               nb::arg("timeout"));
    module.def("list_devices", listDevices);
}

} // namespace vkf::python
