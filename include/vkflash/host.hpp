// SPDX-License-Identifier: MIT
//
// vkflash/host.hpp: the convenience layer for programs without Vulkan code of their own. Opens a
// device in one line, moves data, and computes attention on host arrays in one call. Programs that
// own a VkDevice use vkflash.h alone.
//
//     vkf::host::Device device;
//     vkf::host::attention(device, problem, {q, k, v, nullptr, o});
//
// Errors are exceptions of type vkf::host::Error; std::bad_alloc where host memory runs out. A Device
// and everything made from it belongs to one thread at a time; different Devices are independent. The
// Vulkan loader is loaded at run time, and no environment variable is read here. C++17.
#ifndef VKFLASH_HOST_HPP
#define VKFLASH_HOST_HPP

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "vkflash.h"

namespace vkf::host {

class Error : public std::runtime_error {
public:
    Error(VkfResult result, const std::string& text) : std::runtime_error(text), result_(result) {}
    VkfResult result() const noexcept { return result_; }

private:
    VkfResult result_;
};

enum class DeviceKind { discrete, integrated, virtualGpu, cpu, other };

struct MemoryHeap {
    uint64_t bytes;
    bool deviceLocal;
};

// What a physical device is and whether vkflash can run on it.
struct DeviceSummary {
    uint32_t index = 0; // as DeviceOptions::select takes it
    std::string name;
    DeviceKind kind = DeviceKind::other;
    std::string driver; // name and version, "NVIDIA 580.159.04"
    uint32_t apiVersion = 0;
    uint32_t sharedMemoryBytes = 0;
    uint32_t maxInvocations = 0;
    uint32_t maxGroupCountX = 0;
    uint32_t subgroupSize = 0;
    uint32_t maxPushConstantBytes = 0;
    float timestampPeriod = 0;
    std::vector<MemoryHeap> heaps;
    std::vector<std::string> extensions; // supported by the device
    VkfFeatures features = 0;            // usable by vkflash
    VkfResult usable = VKF_SUCCESS;
    std::string reason; // why not, if not usable
    uint32_t vendorId = 0;
    uint32_t deviceId = 0;
    VkDriverId driverId{};
};

// Every physical device of the system; none if no driver is installed. Throws
// Error(VKF_ERROR_UNSUPPORTED) if there is no Vulkan loader.
std::vector<DeviceSummary> listDevices();

struct DeviceOptions {
    // "" = the best that vkflash can use: discrete before integrated before virtual before CPU. A
    // number = that index of listDevices. Else: the first device whose name contains the text, letter
    // case ignored. An error lists the devices there are.
    std::string select;
    // Load the Khronos validation layer with core and synchronization checks; error if not installed.
    bool validation = false;
    // Receives every validation warning and error, on the thread whose Vulkan call caused it, destroying
    // the device included. Exceptions that it throws are dropped. Without it messages are counted only.
    std::function<void(const std::string&)> onValidationMessage;
    VkfFeatures withoutFeatures = 0; // do not enable these, as if the device lacked them
    VkfQuirks quirks = 0;
    uint32_t maxSharedMemoryBytes = 0; // 0 = the device's
    std::string tuning;                // a tuning file's content (VkfContextCreateInfo::tuning); empty = none
    // A submission that has not finished after this time counts as a lost device. Steps of a plan are
    // far shorter; this is here so that no program hangs forever.
    double submitTimeoutSeconds = 600;
};

// Where a buffer lives. `device` is the fastest for kernels; `staging` is mapped, coherent and, where
// the device has such memory, cached by the host.
enum class Memory { device, staging };

class DeviceState; // what Device, Buffer and Plan share; the last of them to go destroys it

// A buffer with a device address, a multiple of 256. Move-only. An empty one has size 0 and no handle.
class Buffer {
public:
    Buffer() noexcept;
    Buffer(Buffer&& other) noexcept;
    Buffer& operator=(Buffer&& other) noexcept;
    ~Buffer();

    uint64_t size() const noexcept;
    VkBuffer handle() const noexcept;
    VkDeviceAddress address() const noexcept;
    void* mapped() const noexcept;                          // staging only, else nullptr
    VkfBinding binding(uint64_t offset = 0) const noexcept; // with the size that is left

private:
    friend class Device;
    struct State;
    explicit Buffer(std::unique_ptr<State> state) noexcept;
    std::unique_ptr<State> state_;
};

// An instance, a device, one compute queue, an allocator and a vkflash context. Copies share one
// device. A moved-from Device may only be assigned to or destroyed.
class Device {
public:
    explicit Device(const DeviceOptions& options = {});

    const DeviceSummary& summary() const noexcept;
    VkfContext context() const noexcept;
    VkDevice handle() const noexcept;
    VkPhysicalDevice physicalDevice() const noexcept;
    VkInstance instance() const noexcept;
    PFN_vkGetInstanceProcAddr getInstanceProcAddr() const noexcept;
    uint32_t queueFamily() const noexcept; // of the queue that submit() uses
    bool hasShaderClock() const noexcept;  // VK_KHR_shader_clock with shaderSubgroupClock is enabled
    uint64_t validationMessageCount() const noexcept;

    // Contents are undefined at first. A buffer of 0 bytes has a handle and an address too. Throws
    // Error(VKF_ERROR_OUT_OF_DEVICE_MEMORY) naming the bytes asked for and left.
    Buffer createBuffer(uint64_t bytes, Memory memory = Memory::device);
    // Through a staging buffer of 16 MiB, however long the data. Throws
    // Error(VKF_ERROR_INVALID_ARGUMENT) if the range is not within the buffer.
    void upload(const Buffer& to, const void* from, uint64_t bytes, uint64_t offset = 0);
    void download(void* to, const Buffer& from, uint64_t bytes, uint64_t offset = 0);
    // Fills the whole buffer with a 32-bit pattern.
    void fill(const Buffer& buffer, uint32_t pattern);

    // Records through the callback, submits, waits, and returns the GPU seconds that passed between
    // its first and last command (0 if the queue has no timestamps). Barriers around the recorded
    // commands make all earlier writes visible to them and theirs to later submissions and the host.
    // What the callback throws passes through, and nothing is submitted. Throws
    // Error(VKF_ERROR_DEVICE_LOST) if the device is lost or submitTimeoutSeconds have passed; after
    // that every further submission throws, and objects of a device that hangs are left to the end of
    // the process.
    double submit(const std::function<void(VkCommandBuffer)>& record);
    // Two parts in one submission, the second behind a barrier. Returns the GPU seconds of each, by timestamps of its
    // own: the first part's are those that it has alone.
    std::array<double, 2> submit(const std::function<void(VkCommandBuffer)>& record,
                                 const std::function<void(VkCommandBuffer)>& recordBehind);

    // Bytes of the buffers made by createBuffer that are alive, as they were asked for, and the most
    // that has been. The device's own staging buffer is not counted.
    uint64_t bytesInUse() const noexcept;
    uint64_t peakBytes() const noexcept;
    void resetPeakBytes() noexcept; // to the bytes in use now

private:
    friend class Plan;
    std::shared_ptr<DeviceState> state_;
};

// Owns a VkfPlan. Throws what vkfCreatePlan refuses.
class Plan {
public:
    Plan(const Device& device, const VkfProblem& problem);
    Plan(Plan&& other) noexcept;
    Plan& operator=(Plan&& other) noexcept;
    ~Plan();

    VkfPlan handle() const noexcept { return plan_; }
    const VkfProblem& problem() const noexcept { return problem_; }
    const VkfPlanInfo& info() const noexcept { return info_; }

private:
    std::shared_ptr<DeviceState> device_;
    VkfPlan plan_ = nullptr;
    VkfProblem problem_;
    VkfPlanInfo info_;
};

// Host memory of one call, laid out as the problem's tensors and strides say (vkfTensorLayout tells how
// many elements). What the problem does not ask for may be null.
struct HostTensors {
    const void* q = nullptr;
    const void* k = nullptr;
    const void* v = nullptr;
    const int32_t* keyLengths = nullptr;
    void* o = nullptr;
    float* lse = nullptr;
    const uint32_t* blockMask = nullptr;
    float* probabilities = nullptr;
    const int32_t* blockTable = nullptr;
    const float* sinks = nullptr;
    const float* alibiSlopes = nullptr;
    const void* bias = nullptr; // whole words of 4 bytes, as of the mask
    const void* mask = nullptr;
    const int32_t* documentIds = nullptr;
    const int32_t* cuSeqlensQ = nullptr; // of packed problems, as vkfCheckSequences wants them
    const int32_t* cuSeqlensK = nullptr;
    const void* dropoutMask = nullptr; // as of the mask
    const uint64_t* dropoutSeed = nullptr;
    const int32_t* probabilityRows = nullptr;
    const float* biasFactors = nullptr;
};

// A plan with its tensors on the device, to run any number of times.
class Attention {
public:
    Attention(Device& device, const VkfProblem& problem);

    const Plan& plan() const noexcept { return plan_; }
    // All inputs. The bytes between rows are uploaded too, so they must be readable.
    void upload(const HostTensors& tensors);
    // Runs every step, each in a submission of its own, and returns the GPU seconds of all. progress
    // is called after each step with the share done, 1 at the end.
    double run(const std::function<void(double)>& progress = {});
    // o, lse, probabilities. Elements between the rows of a strided o keep their values; such an o takes a temporary
    // copy in host memory.
    void download(const HostTensors& tensors);
    VkfBindings bindings() const noexcept;

private:
    Device device_;
    Plan plan_;
    Buffer q_, k_, v_, o_, scratch_;
    std::vector<Buffer> optional_; // the optional inputs and outputs, in the order of a table of the library
};

struct AttentionReport {
    VkfPlanInfo plan{};
    double seconds = 0; // on the GPU
};

// Everything in one call: upload, run, download.
AttentionReport attention(Device& device, const VkfProblem& problem, const HostTensors& tensors,
                          const std::function<void(double)>& progress = {});

} // namespace vkf::host

#endif
