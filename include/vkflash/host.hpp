// SPDX-License-Identifier: MIT
//
// vkflash/host.hpp: the convenience layer for programs without Vulkan code of their own. It opens a device in one line,
// moves data, and computes attention and gradients on host arrays in one call. Programs that own a VkDevice use
// vkflash.h alone.
//
//     vkf::host::Device device;
//     vkf::host::attention(device, problem, {q, k, v, nullptr, o});
//
// For appends and merges, and for tensors that stay on the device, create objects of vkflash.h from Device::context(),
// buffers by Device::createBuffer(), and record into the command buffer of Device::submit():
//
//     vkf::Append append;
//     vkfCreateAppend(device.context(), &problem, append.put(), &message);
//     device.submit([&](VkCommandBuffer commands) { vkfCmdAppend(commands, append.get(), &bindings, &message); });
//
// - C++17. The layer loads the Vulkan loader at run time, and reads no environment variable.
// - Threads: a Device and everything made from it belong to one thread at a time. Different Devices are independent.
// - Lifetimes: Buffer, Plan and Attention share the device. It lives until the last of them and the last Device that
//   shares it are gone, so that they may be destroyed in any order.
// - Blocking: each function that moves data or runs commands waits until the device has finished. Creating a Plan or an
//   Attention waits while the driver compiles.
//
// Errors are exceptions of type vkf::host::Error, whose result() is a VkfResult. std::bad_alloc is thrown where the C++
// runtime has no host memory. Any function that calls Vulkan can throw an Error with these results:
// - VKF_ERROR_OUT_OF_HOST_MEMORY, VKF_ERROR_OUT_OF_DEVICE_MEMORY
// - VKF_ERROR_DEVICE_LOST: from then on, every call that needs the device throws this without asking the driver. Open a
//   new Device.
// - VKF_ERROR_VULKAN: another Vulkan call failed; what() names it.
// After any other error the objects are as before the call, and the next call works. docs/errors.md says more.
// Functions below list other results only. Functions marked noexcept throw nothing.
#ifndef VKFLASH_HOST_HPP
#define VKFLASH_HOST_HPP

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "vkflash.hpp"

namespace vkf::host {

// What this layer throws. what() is one readable sentence.
class Error : public std::runtime_error {
public:
    // An error with this result(), and with `text` as what().
    Error(VkfResult result, const std::string& text) : std::runtime_error(text), result_(result) {}
    // The code that the same failure has in the C interface; never VKF_SUCCESS.
    VkfResult result() const noexcept { return result_; }

private:
    VkfResult result_;
};

// Kinds of devices, best first: DeviceOptions::select = "" prefers them in this order.
enum class DeviceKind { discrete, integrated, virtualGpu, cpu, other };

// A memory heap of a device.
struct MemoryHeap {
    uint64_t bytes;   // size of the heap
    bool deviceLocal; // the heap has VK_MEMORY_HEAP_DEVICE_LOCAL_BIT
};

// What a physical device is, and whether vkflash can run on it.
struct DeviceSummary {
    uint32_t index = 0;                  // number of the device, as DeviceOptions::select takes it
    std::string name;                    // the driver's name for the device
    DeviceKind kind = DeviceKind::other; // kind of the device
    std::string driver;                  // driver's name and version: "NVIDIA 580.159.04"; empty below Vulkan 1.2
    uint32_t apiVersion = 0;             // Vulkan version of the device, as VK_MAKE_API_VERSION packs it
    uint32_t sharedMemoryBytes = 0;      // limit of shared memory for each workgroup
    uint32_t maxInvocations = 0;         // limit of invocations of a workgroup
    uint32_t maxGroupCountX = 0;         // limit of workgroups of a dispatch, in its first dimension
    uint32_t subgroupSize = 0;           // invocations of a subgroup; 0 below Vulkan 1.2
    uint32_t maxPushConstantBytes = 0;   // limit of push constants
    float timestampPeriod = 0;           // nanoseconds of one timestamp tick
    std::vector<MemoryHeap> heaps;       // memory heaps, in the order of Vulkan
    std::vector<std::string> extensions; // device extensions that the device supports
    VkfFeatures features = 0;            // features that vkflash can use; 0 if the device is not usable
    VkfResult usable = VKF_SUCCESS;      // what vkfGetDeviceRequirements returned; VKF_SUCCESS = vkflash can run here
    std::string reason;                  // why the device is not usable; empty if it is usable
    uint32_t vendorId = 0;               // VkPhysicalDeviceProperties::vendorID
    uint32_t deviceId = 0;               // VkPhysicalDeviceProperties::deviceID
    VkDriverId driverId{};               // driver; 0 below Vulkan 1.2
};

// Lists every physical device of the system. Returns an empty list if no driver is installed. Creates a Vulkan instance
// and destroys it before it returns. getInstanceProcAddr is as DeviceOptions::getInstanceProcAddr.
//
// Throws Error: VKF_ERROR_UNSUPPORTED (no Vulkan loader, or a loader older than Vulkan 1.2).
std::vector<DeviceSummary> listDevices(PFN_vkGetInstanceProcAddr getInstanceProcAddr = nullptr);

// Which element layouts of cooperative matrices (matrix_layout.h) the context of a device uses.
// - automatic: those of DeviceOptions::tuning, after a test. For types without any, the layout that the library knows
//   for this driver. If it knows none, a measured one.
// - measured: measured ones, even where the library knows the layout. Layouts of the tuning data are ignored.
// - builtIn: only layouts that the library knows for this driver. Nothing is measured.
// A measured layout that fails its test is not used. With VKF_QUIRK_UNKNOWN_MATRIX_LAYOUT the context uses none.
//
// Where the library does not know the layout, and with `measured`, matrices are also loaded from several offsets of
// shared memory. If an element is wrong, the context gets VKF_QUIRK_WRONG_MATRIX_LOADS.
enum class LayoutSource { automatic, measured, builtIn };

// How to open a device. The defaults open the best device with everything that it has.
struct DeviceOptions {
    // Which device to open. An error lists the devices that there are.
    // - "": the best device. Usable devices come first, then the order is that of DeviceKind.
    // - a number: the device with this DeviceSummary::index
    // - other text: the first device whose name contains the text; letter case does not matter
    std::string select;
    // true = load the Khronos validation layer with core and synchronization checks.
    bool validation = false;
    // Called with every validation warning and error, on the thread whose Vulkan call caused it. Destroying the device
    // can cause some too. Exceptions that it throws are dropped. Empty = messages are counted only.
    std::function<void(const std::string&)> onValidationMessage;
    // Features that are not enabled, as if the device lacked them. 0 = none. Must not contain
    // VKF_FEATURE_BUFFER_DEVICE_ADDRESS.
    VkfFeatures withoutFeatures = 0;
    // VkfContextCreateInfo::quirks: quirks to add to the built-in ones.
    VkfQuirks quirks = 0;
    // VkfContextCreateInfo::debug: help for finding mistakes of the program. 0 = none.
    VkfDebug debug = 0;
    // VkfContextCreateInfo::maxSharedMemoryBytes. 0 = the device's limit.
    uint32_t maxSharedMemoryBytes = 0;
    // Content of a tuning file (VkfContextCreateInfo::tuning). Empty = no tuning data.
    std::string tuning;
    // Where element layouts of cooperative matrices come from.
    LayoutSource layoutSource = LayoutSource::automatic;
    // Seconds after which a submission that has not finished counts as a lost device. Steps of a plan are far shorter;
    // the limit keeps a program from hanging forever. Negative values count as 0, values over a year as a year.
    double submitTimeoutSeconds = 600;
    // Entry of the program's own Vulkan loader or driver, for programs that link one, or that watch Vulkan calls.
    // nullptr = the system's loader, which the layer loads. It must stay loaded as long as the device is open.
    PFN_vkGetInstanceProcAddr getInstanceProcAddr = nullptr;
};

// Where a buffer lives.
// - device: device-local memory, the fastest for kernels. The host cannot map it.
// - staging: mapped and coherent memory; cached by the host where the device has such memory.
enum class Memory { device, staging };

class DeviceState; // what Device, Buffer and Plan share; the last of them to go destroys it

// A buffer with a device address. Move-only. A buffer that was constructed empty, or moved from, has size 0, no handle
// and no address. The destructor frees the memory; no submission may use it any more.
class Buffer {
public:
    Buffer() noexcept;
    Buffer(Buffer&& other) noexcept;
    Buffer& operator=(Buffer&& other) noexcept;
    ~Buffer();

    // Bytes that createBuffer was asked for.
    uint64_t size() const noexcept;
    // The Vulkan buffer. It can be used as storage buffer, as source and target of transfers, and by device address.
    VkBuffer handle() const noexcept;
    // Device address; a multiple of 256 bytes.
    VkDeviceAddress address() const noexcept;
    // Host address of Memory::staging; nullptr for Memory::device.
    void* mapped() const noexcept;
    // Binding of the bytes from `offset` on, with the size that is left. All zeros, which means no memory, if no bytes
    // are left.
    VkfBinding binding(uint64_t offset = 0) const noexcept;

private:
    friend class Device;
    struct State;
    explicit Buffer(std::unique_ptr<State> state) noexcept;
    std::unique_ptr<State> state_;
};

// An instance, a device, one compute queue, an allocator and a vkflash context. Copies share one device. A moved-from
// Device may only be assigned to or destroyed.
class Device {
public:
    // Opens a device.
    //
    // Throws Error:
    // - VKF_ERROR_UNSUPPORTED: no Vulkan loader, a loader older than Vulkan 1.2, or no device at all
    // - VKF_ERROR_UNSUPPORTED: a validation layer that is not installed, or tuning data of an unknown version
    // - VKF_ERROR_INVALID_ARGUMENT: `select` fits no device, or malformed tuning data
    // - VKF_ERROR_INVALID_ARGUMENT: the tuning data has an element layout that is not that of the device (what() says
    //   which one)
    // - VKF_ERROR_INVALID_ARGUMENT: withoutFeatures contains VKF_FEATURE_BUFFER_DEVICE_ADDRESS or an unknown bit
    // - VKF_ERROR_MISSING_FEATURE: the device lacks what vkflash needs
    // - VKF_ERROR_MISSING_FEATURE: the device has no compute queue
    explicit Device(const DeviceOptions& options = {});

    // What the device is.
    const DeviceSummary& summary() const noexcept;
    // Context for the functions of vkflash.h. Do not destroy it. Destroy objects that are made from it before the
    // device goes.
    VkfContext context() const noexcept;
    // The Vulkan device, for Vulkan calls of the program's own. Do not destroy it.
    VkDevice handle() const noexcept;
    // The Vulkan physical device.
    VkPhysicalDevice physicalDevice() const noexcept;
    // The Vulkan instance. Do not destroy it.
    VkInstance instance() const noexcept;
    // Entry of the Vulkan loader that the device uses.
    PFN_vkGetInstanceProcAddr getInstanceProcAddr() const noexcept;
    // Family of the queue that submit() uses. It has compute.
    uint32_t queueFamily() const noexcept;
    // Whether VK_KHR_shader_clock with shaderSubgroupClock is enabled. It is wherever the device has it.
    bool hasShaderClock() const noexcept;
    // Validation warnings and errors so far. 0 without DeviceOptions::validation.
    uint64_t validationMessageCount() const noexcept;

    // Element layouts that context() was created with: VkfContextCreateInfo::matrixLayouts. Empty where the context
    // uses what the library knows. A context of the program's own on this device should get them too.
    const std::vector<VkfMatrixLayout>& matrixLayouts() const noexcept;
    // Quirks that context() was created with: DeviceOptions::quirks, and VKF_QUIRK_WRONG_MATRIX_LOADS where the device
    // failed its test. A context of the program's own on this device should get them too.
    VkfQuirks quirks() const noexcept;
    // Measures the element layouts of all shapes of cooperative matrices that kernels may use. Returns the layouts that
    // kernels can use, each after a test. Returns none if the device loads matrices incorrectly (quirks()). Blocks. The
    // result is for VkfContextCreateInfo::matrixLayouts, in this process.
    std::vector<VkfMatrixLayout> measureMatrixLayouts();
    // Multiplies known matrices on the device, with elements placed as the layout says, and compares all elements of
    // the products. Returns if they are correct: the layout is that of the device. Blocks.
    //
    // Throws Error:
    // - VKF_ERROR_INVALID_ARGUMENT: the layout is not that of the device, or vkfCheckMatrixLayout returns this code
    // - VKF_ERROR_INVALID_ARGUMENT: the device does not have the shape
    // - VKF_ERROR_UNSUPPORTED: kernels cannot use the layout, or this build lacks the shader of the test
    // - VKF_ERROR_UNSUPPORTED: the device loads matrices incorrectly from shared memory
    void testMatrixLayout(const VkfMatrixLayout& layout);

    // Creates a buffer. Its contents are undefined. A buffer of 0 bytes has a handle and an address too.
    //
    // Throws Error: VKF_ERROR_OUT_OF_DEVICE_MEMORY (what() says how many bytes were asked for and how many are left).
    Buffer createBuffer(uint64_t bytes, Memory memory = Memory::device);
    // Copies `bytes` bytes from the host to offset `offset` of the buffer. Blocks. Data of any length goes through a
    // staging buffer of 16 MiB, which the first transfer creates. Memory::staging is written directly.
    //
    // Throws Error: VKF_ERROR_INVALID_ARGUMENT (the range is not within the buffer).
    void upload(const Buffer& to, const void* from, uint64_t bytes, uint64_t offset = 0);
    // Copies `bytes` bytes from offset `offset` of the buffer to the host. Otherwise like upload. If it throws, it may
    // have written some of the bytes.
    void download(void* to, const Buffer& from, uint64_t bytes, uint64_t offset = 0);
    // Fills the whole buffer with a 32-bit pattern. Blocks. Does nothing to an empty Buffer.
    void fill(const Buffer& buffer, uint32_t pattern);

    // Records commands through the callback, submits them, and waits until they have finished. Returns the GPU seconds
    // between the first and the last command; 0 if the queue has no timestamps.
    // - Barriers around the commands make all earlier writes visible to them. Later submissions and the host see what
    //   they write.
    // - An exception of the callback passes through, and nothing is submitted.
    // - Objects that the device may still use after a timeout are kept until the process ends.
    //
    // Throws Error: VKF_ERROR_DEVICE_LOST (the device is lost, or submitTimeoutSeconds have passed, or waiting failed
    // several times, so that it is not known when the submission ends).
    double submit(const std::function<void(VkCommandBuffer)>& record);
    // Submits two parts in one submission, the second after a barrier. Returns the GPU seconds of each part, which are
    // measured separately: the first number does not contain the second part. Otherwise like the other submit.
    std::array<double, 2> submit(const std::function<void(VkCommandBuffer)>& record,
                                 const std::function<void(VkCommandBuffer)>& recordBehind);

    // Bytes of all buffers of createBuffer that are alive, as they were asked for. The staging buffer of the transfers
    // does not count.
    uint64_t bytesInUse() const noexcept;
    // Largest bytesInUse() since the device was opened or resetPeakBytes() was called.
    uint64_t peakBytes() const noexcept;
    // Sets peakBytes() to bytesInUse().
    void resetPeakBytes() noexcept;

private:
    friend class Backward;
    friend class Plan;
    std::shared_ptr<DeviceState> state_;
};

// Owns a VkfPlan. Move-only. Move construction leaves a null handle behind; move assignment swaps the plans.
class Plan {
public:
    // Creates a plan. Blocks while the driver compiles.
    //
    // Throws Error: the results of vkfCreatePlan.
    Plan(const Device& device, const VkfProblem& problem);
    Plan(Plan&& other) noexcept;
    Plan& operator=(Plan&& other) noexcept;
    ~Plan();

    // The plan, for the functions of vkflash.h. Do not destroy it.
    VkfPlan handle() const noexcept { return plan_; }
    // The problem, as it was given.
    const VkfProblem& problem() const noexcept { return problem_; }
    // What vkfGetPlanInfo says.
    const VkfPlanInfo& info() const noexcept { return info_; }

private:
    std::shared_ptr<DeviceState> device_;
    VkfPlan plan_ = nullptr;
    VkfProblem problem_;
    VkfPlanInfo info_;
};

// An array of any size in host memory.
struct HostArray {
    const void* data = nullptr; // the first element
    uint64_t bytes = 0;         // of all elements
};

// Host memory of one call. vkfGetTensorLayout says how many elements q, k, v and o have. Members that the problem does
// not use may be null.
struct HostTensors {
    const void* q = nullptr;                  // queries, as VkfProblem::q says
    const void* k = nullptr;                  // keys, as VkfProblem::k says
    const void* v = nullptr;                  // values, as VkfProblem::v says
    const int32_t* keyLengths = nullptr;      // [batch]
    void* o = nullptr;                        // output, as VkfProblem::o says
    float* lse = nullptr;                     // output, [batch, queryHeads, queryRows]; packed [queryHeads, queryRows]
    const uint32_t* blockMask = nullptr;      // [VkfBlockMaskLayout::words]
    float* probabilities = nullptr;           // output, [batch, queryHeads, queryRows or probabilityRowCount, keys]
    const int32_t* blockTable = nullptr;      // [batch, paging.maxPages]
    const float* sinks = nullptr;             // [queryHeads]
    const float* alibiSlopes = nullptr;       // [queryHeads]
    const void* bias = nullptr;               // as VkfProblem::bias says; vkfGetArrayBytes must be readable
    const void* mask = nullptr;               // as VkfProblem::mask says; vkfGetArrayBytes must be readable
    const int32_t* documentIds = nullptr;     // [batch, keys]; for packed sequences without pages [keys]
    const int32_t* cuSeqlensQ = nullptr;      // [batch + 1], for packed sequences; vkfCheckSequences must accept it
    const int32_t* cuSeqlensK = nullptr;      // [batch + 1], for packed sequences without pages; like cuSeqlensQ
    const void* dropoutMask = nullptr;        // as VkfProblem::dropoutMask says; vkfGetArrayBytes must be readable
    const uint64_t* dropoutSeed = nullptr;    // one number
    const int32_t* probabilityRows = nullptr; // [probabilityRowCount]
    const float* biasFactors = nullptr;       // [queryHeads]
    // The arrays that the functions of the problem declare, in their order.
    std::array<HostArray, VKF_MAX_FUNCTION_ARRAYS> functionArrays{};
    const int32_t* rowOffsets = nullptr; // [batch]
    const float* kvScales = nullptr;     // [k.scales + v.scales]
    const int32_t* chosenKeys = nullptr; // lists, as VkfProblem::chosenKeys says
};

// A plan with its tensors on the device, to run any number of times. Move-only.
class Attention {
public:
    // Creates the plan, and buffers for all tensors, optional inputs and scratch memory. Blocks while the driver
    // compiles.
    //
    // Throws Error: the results of vkfCreatePlan; VKF_ERROR_OUT_OF_DEVICE_MEMORY.
    Attention(Device& device, const VkfProblem& problem);

    // The plan.
    const Plan& plan() const noexcept { return plan_; }
    // Copies all inputs to the device. Blocks. Copies the bytes between rows of strided tensors too, so they must be
    // readable.
    //
    // Throws Error: VKF_ERROR_INVALID_ARGUMENT (an input that the problem uses is null, or vkfCheckSequences refuses
    // the lengths of packed sequences).
    void upload(const HostTensors& tensors);
    // Runs every step in a submission of its own, and returns the GPU seconds of all steps. Blocks. Calls progress
    // after each step with the fraction that is done; the last one is 1. Returns 0 for a plan without steps. With
    // VKF_USE_TILE_MAP, the first run after an upload makes the map of tiles, and its time counts.
    //
    // Throws Error: VKF_ERROR_DEVICE_LOST.
    double run(const std::function<void(double)>& progress = {});
    // Copies o, lse and probabilities to the host: all of them, or nothing if it throws. For this, it takes a temporary
    // copy of them in host memory. Blocks. Elements between the rows of a strided o keep their values.
    //
    // Throws Error: VKF_ERROR_INVALID_ARGUMENT (an output that the problem has is null).
    void download(const HostTensors& tensors);
    // Bindings of all buffers, for vkfCmdAttention. Valid as long as the Attention lives.
    VkfBindings bindings() const noexcept;

private:
    double makeTileMap();

    Device device_;
    Plan plan_;
    Buffer q_, k_, v_, o_, scratch_, tileMap_;
    std::vector<Buffer> optional_; // the optional inputs and outputs, in the order of a table of the library
    std::vector<Buffer> functionArrays_;
    bool hasTileMap_ = false; // tileMap_ holds the map of the uploaded inputs
};

// What attention() did.
struct AttentionReport {
    VkfPlanInfo plan{}; // the plan
    double seconds = 0; // GPU seconds of all steps; 0 if the queue has no timestamps
};

// Computes attention on host arrays: creates an Attention, uploads, runs and downloads. Blocks. progress is as for
// Attention::run. Checks the outputs of `tensors` before the work starts.
//
// Throws Error: the results of Attention and its functions.
AttentionReport attention(Device& device, const VkfProblem& problem, const HostTensors& tensors,
                          const std::function<void(double)>& progress = {});

// Host memory of a backward pass, besides the HostTensors of its forward call. vkfGetBackwardTensorLayout says how many
// elements dout, dq, dk and dv have. Gradients that the problem does not want may be null.
struct HostGradients {
    const void* dout = nullptr;  // the gradient of o, as VkfBackwardProblem::dout says
    const float* dlse = nullptr; // the gradient of lse, dense like lse; with VKF_USE_DLSE
    void* dq = nullptr;          // output, as VkfBackwardProblem::dq says
    void* dk = nullptr;          // output, as VkfBackwardProblem::dk says
    void* dv = nullptr;          // output, as VkfBackwardProblem::dv says
    void* dbias = nullptr;       // output, as VkfBackwardProblem::dbiasType says; vkfGetBackwardArrayBytes has its size
    float* dsinks = nullptr;     // output, [queryHeads]
};

// A backward pass with its tensors on the device, to run any number of times. Move-only. A moved-from Backward may only
// be assigned to or destroyed.
class Backward {
public:
    // Creates the backward pass, and buffers for all tensors, optional inputs and scratch memory. Copies the problem
    // and its forward problem. Blocks while the driver compiles.
    //
    // Throws Error: the results of vkfCreateBackward; VKF_ERROR_OUT_OF_DEVICE_MEMORY.
    Backward(Device& device, const VkfBackwardProblem& problem);
    Backward(Backward&& other) noexcept;
    Backward& operator=(Backward&& other) noexcept;
    ~Backward();

    // The backward pass, for the functions of vkflash.h. Do not destroy it.
    VkfBackward handle() const noexcept;
    // What vkfGetBackwardInfo says.
    const VkfBackwardInfo& info() const noexcept;
    // Copies all inputs to the device: the inputs of the forward call, its outputs o and lse, dout and dlse. Blocks.
    // Copies the bytes between rows of strided tensors too, so they must be readable.
    //
    // Throws Error: VKF_ERROR_INVALID_ARGUMENT (an input that the problem uses is null, or vkfCheckSequences refuses
    // the lengths of packed sequences).
    void upload(const HostTensors& tensors, const HostGradients& gradients);
    // As Attention::run.
    double run(const std::function<void(double)>& progress = {});
    // Copies the gradients to the host: all of them, or nothing if it throws. For this, it takes a temporary copy of
    // them in host memory. Blocks. Elements between the rows of strided gradients keep their values.
    //
    // Throws Error: VKF_ERROR_INVALID_ARGUMENT (a gradient that the problem wants is null).
    void download(const HostGradients& gradients);
    // Bindings of all buffers, for vkfCmdBackward. Valid as long as the Backward lives.
    const VkfBackwardBindings& bindings() const noexcept;

private:
    struct State;
    std::unique_ptr<State> state_;
};

// What backward() did.
struct BackwardReport {
    VkfBackwardInfo info{}; // the backward pass
    double seconds = 0;     // GPU seconds of all steps; 0 if the queue has no timestamps
};

// Computes the backward pass on host arrays: creates a Backward, uploads, runs and downloads. o and lse of `tensors`
// are inputs. Blocks. progress is as for Attention::run. Checks the outputs of `gradients` before the work starts.
//
// Throws Error: the results of Backward and its functions.
BackwardReport backward(Device& device, const VkfBackwardProblem& problem, const HostTensors& tensors,
                        const HostGradients& gradients, const std::function<void(double)>& progress = {});

} // namespace vkf::host

#endif
