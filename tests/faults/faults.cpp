// SPDX-License-Identifier: MIT
#include "faults/faults.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "faults/vulkan_functions.hpp"
#include "support/allocations.hpp"
#include "support/device.hpp"

namespace vkf::test {
namespace {

#define VKF_TEST_ID(name) name,
enum class Id : size_t { VKF_TEST_FUNCTIONS(VKF_TEST_ID) };
#define VKF_TEST_NAME(name) #name,
constexpr auto names = std::to_array<std::string_view>({VKF_TEST_FUNCTIONS(VKF_TEST_NAME)});

constexpr std::string_view nameOf(Id id) { return names[static_cast<size_t>(id)]; }

struct State {
    Fault fault;
    Compiler compiler;
    std::vector<std::string> calls;
    std::vector<std::string> functions;
    std::map<std::string, uint64_t, std::less<>> counts;
    bool happened = false;
};

State* state = nullptr;

using Object = std::pair<std::string, uint64_t>; // kind and handle
std::set<Object> objects;
std::string misuses;

template <typename Handle> uint64_t handleNumber(Handle handle) {
    if constexpr (std::is_pointer_v<Handle>) {
        return reinterpret_cast<uintptr_t>(handle);
    } else {
        return handle;
    }
}

// Pool memory holds command buffers, so that they need no function to destroy them.
constexpr bool creates(std::string_view name) { return name.starts_with("vkCreate") || name == "vkAllocateMemory"; }
constexpr bool destroys(std::string_view name) { return name.starts_with("vkDestroy") || name == "vkFreeMemory"; }

std::string kindOf(std::string_view name) {
    for (const std::string_view verb : {"vkCreate", "vkAllocate", "vkDestroy", "vkFree"}) {
        if (name.starts_with(verb)) {
            name.remove_prefix(verb.size());
        }
    }
    return std::string(name == "ComputePipelines" ? "Pipeline" : name);
}

// Vulkan promises null for these two alone.
constexpr bool failsWithNull(Id id) { return id == Id::vkCreateComputePipelines || id == Id::vkAllocateCommandBuffers; }

// What a failed call leaves in an argument.
template <typename Argument> void spoil(Argument argument, bool null) {
    if constexpr (std::is_pointer_v<Argument>) {
        using Target = std::remove_pointer_t<Argument>;
        if constexpr (std::is_scalar_v<Target> && !std::is_const_v<Target>) {
            if (argument != nullptr) {
                std::ranges::fill(std::as_writable_bytes(std::span(argument, 1)), std::byte(null ? 0 : 0xa5));
            }
        }
    }
}

template <typename Argument> bool isGiven(Argument argument) {
    if constexpr (std::is_pointer_v<Argument>) {
        return argument != nullptr;
    } else {
        return true;
    }
}

// Returns what the call must return instead of being made.
std::optional<VkResult> failureOf(Id id) {
    if (state == nullptr) {
        return std::nullopt;
    }
    const std::string name(nameOf(id));
    const Fault& fault = state->fault;
    const uint64_t number = state->counts[name]++;
    state->calls.push_back(name);
    if (name != fault.function || (fault.forever ? number < fault.call : number != fault.call)) {
        return std::nullopt;
    }
    state->happened = true;
    return fault.result;
}

template <typename First, typename... Rest> auto last(First first, Rest... rest) {
    if constexpr (sizeof...(Rest) == 0) {
        return first;
    } else {
        return last(rest...);
    }
}

// Returns a handle that only functions of this file may see.
template <typename Handle> Handle madeUp() {
    static uint64_t number = 0;
    number += 16;
    Handle handle = VK_NULL_HANDLE;
    const std::span<std::byte> bytes = std::as_writable_bytes(std::span(&handle, 1));
    std::memcpy(bytes.data(), &number, bytes.size());
    return handle;
}

VKAPI_ATTR VkResult VKAPI_CALL makeUpModule(VkDevice, const VkShaderModuleCreateInfo*, const VkAllocationCallbacks*,
                                            VkShaderModule* module) {
    *module = madeUp<VkShaderModule>();
    return VK_SUCCESS;
}
VKAPI_ATTR VkResult VKAPI_CALL makeUpPipelines(VkDevice, VkPipelineCache, uint32_t count,
                                               const VkComputePipelineCreateInfo*, const VkAllocationCallbacks*,
                                               VkPipeline* pipelines) {
    std::generate_n(pipelines, count, madeUp<VkPipeline>);
    return VK_SUCCESS;
}
VKAPI_ATTR void VKAPI_CALL forgetModule(VkDevice, VkShaderModule, const VkAllocationCallbacks*) {}
VKAPI_ATTR void VKAPI_CALL forgetPipeline(VkDevice, VkPipeline, const VkAllocationCallbacks*) {}
VKAPI_ATTR VkResult VKAPI_CALL forgetName(VkDevice, const VkDebugUtilsObjectNameInfoEXT*) { return VK_SUCCESS; }

// Returns what a function is replaced by, itself with a real compiler.
PFN_vkVoidFunction replacedIfMadeUp(std::string_view name, PFN_vkVoidFunction function) {
    if (state == nullptr || state->compiler == Compiler::real) {
        return function;
    }
    const std::pair<std::string_view, PFN_vkVoidFunction> replacements[] = {
        {"vkCreateShaderModule", reinterpret_cast<PFN_vkVoidFunction>(makeUpModule)},
        {"vkCreateComputePipelines", reinterpret_cast<PFN_vkVoidFunction>(makeUpPipelines)},
        {"vkDestroyShaderModule", reinterpret_cast<PFN_vkVoidFunction>(forgetModule)},
        {"vkDestroyPipeline", reinterpret_cast<PFN_vkVoidFunction>(forgetPipeline)},
        {"vkSetDebugUtilsObjectNameEXT", reinterpret_cast<PFN_vkVoidFunction>(forgetName)},
    };
    for (const auto& [replaced, replacement] : replacements) {
        if (name == replaced) {
            return replacement;
        }
    }
    return function;
}

// Returns the number of the argument that a vkDestroy function destroys.
constexpr size_t destroyedArgument(Id id) { return id == Id::vkDestroyInstance || id == Id::vkDestroyDevice ? 0 : 1; }

template <Id id, typename Function> struct Wrapped;

template <Id id, typename Result, typename... Arguments> struct Wrapped<id, Result(VKAPI_PTR*)(Arguments...)> {
    static inline Result(VKAPI_PTR* real)(Arguments...) = nullptr;

    static Result VKAPI_CALL call(Arguments... arguments) {
        const AllocationsWork pause;
        if constexpr (std::is_same_v<Result, VkResult>) {
            const std::optional<VkResult> failure = failureOf(id);
            if (failure == VK_INCOMPLETE) { // a list that grows between the call that counts and this one
                const VkResult result = real(arguments...);
                return result == VK_SUCCESS && isGiven(last(arguments...)) ? VK_INCOMPLETE : result;
            }
            // A lost device has finished all its work. The device behind must have done so too.
            if (id == Id::vkWaitForFences && failure == VK_ERROR_DEVICE_LOST) {
                real(arguments...);
            }
            if (failure) {
                (spoil(arguments, failsWithNull(id)), ...);
                return *failure;
            }
            const VkResult result = real(arguments...);
            if constexpr (creates(nameOf(id))) {
                if (result == VK_SUCCESS) {
                    objects.emplace(kindOf(nameOf(id)), handleNumber(*last(arguments...)));
                }
            }
            return result;
        } else {
            if constexpr (destroys(nameOf(id))) {
                const uint64_t handle = handleNumber(std::get<destroyedArgument(id)>(std::tuple(arguments...)));
                if (handle != 0 && objects.erase({kindOf(nameOf(id)), handle}) == 0) {
                    misuses += std::string(nameOf(id)) + " got an object that does not exist\n";
                    return;
                }
            }
            return real(arguments...);
        }
    }

    static PFN_vkVoidFunction of(PFN_vkVoidFunction function) {
        real = reinterpret_cast<Result(VKAPI_PTR*)(Arguments...)>(function);
        return reinterpret_cast<PFN_vkVoidFunction>(call);
    }
};

PFN_vkVoidFunction wrap(std::string_view name, PFN_vkVoidFunction function) {
#define VKF_TEST_WRAP(wrapped)                                                                                         \
    if (name == #wrapped) {                                                                                            \
        return Wrapped<Id::wrapped, PFN_##wrapped>::of(function);                                                      \
    }
    VKF_TEST_FUNCTIONS(VKF_TEST_WRAP)
    return function;
}

// Notes that the library asks for a function. Returns true if the implementation shall lack it.
bool lacks(const std::string& name) {
    if (state == nullptr) {
        return false;
    }
    if (std::find(state->functions.begin(), state->functions.end(), name) == state->functions.end()) {
        state->functions.push_back(name);
    }
    const bool missing = name == state->fault.missing;
    state->happened = state->happened || missing;
    return missing;
}

// A function pointer has no state. Therefore the functions behind are found through the test device.
PFN_vkGetInstanceProcAddr realEntry() { return testDevice().getInstanceProcAddr(); }

PFN_vkGetDeviceProcAddr realDeviceEntry = nullptr;

PFN_vkVoidFunction VKAPI_CALL faultyDeviceEntry(VkDevice device, const char* name) {
    const AllocationsWork pause;
    if (lacks(name)) {
        return nullptr;
    }
    const PFN_vkVoidFunction function = replacedIfMadeUp(name, realDeviceEntry(device, name));
    return function == nullptr ? nullptr : wrap(name, function);
}

} // namespace

Faults::Faults(Fault fault, Compiler compiler) {
    realEntry(); // opens the test device, or skips the test case
    state = new State{std::move(fault), compiler, {}, {}, {}, false};
}

Faults::~Faults() { delete std::exchange(state, nullptr); }

const std::vector<std::string>& Faults::calls() const { return state->calls; }
const std::vector<std::string>& Faults::functions() const { return state->functions; }
bool Faults::happened() const { return state->happened; }

uint64_t Faults::count(const std::string& function) const {
    const auto found = state->counts.find(function);
    return found == state->counts.end() ? 0 : found->second;
}

std::string Faults::takeLeftovers() {
    std::string text = std::exchange(misuses, "");
    for (const auto& [kind, handle] : std::exchange(objects, {})) {
        text += kind + " lives\n";
    }
    return text;
}

PFN_vkVoidFunction VKAPI_CALL faultyEntry(VkInstance instance, const char* name) {
    const AllocationsWork pause;
    if (lacks(name)) {
        return nullptr;
    }
    const PFN_vkVoidFunction function = replacedIfMadeUp(name, realEntry()(instance, name));
    if (function == nullptr) {
        return nullptr;
    }
    if (std::string_view(name) == "vkGetDeviceProcAddr") {
        realDeviceEntry = reinterpret_cast<PFN_vkGetDeviceProcAddr>(function);
        return reinterpret_cast<PFN_vkVoidFunction>(faultyDeviceEntry);
    }
    return wrap(name, function);
}

std::vector<VkResult> errorsOf(const std::string& function) {
    constexpr VkResult host = VK_ERROR_OUT_OF_HOST_MEMORY;
    constexpr VkResult device = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    constexpr VkResult lost = VK_ERROR_DEVICE_LOST;
    constexpr VkResult unknown = VK_ERROR_UNKNOWN;
    constexpr VkResult validation = VK_ERROR_VALIDATION_FAILED_EXT;
    static const std::map<std::string, std::vector<VkResult>> others = {
        // Its specification does not list a lost device, but drivers return it.
        {"vkCreateComputePipelines", {host, device, VK_ERROR_INVALID_SHADER_NV, unknown, validation, lost}},
        {"vkCreateShaderModule", {host, device, VK_ERROR_INVALID_SHADER_NV, unknown, validation}},
        {"vkCreateInstance",
         {host, device, VK_ERROR_INITIALIZATION_FAILED, VK_ERROR_LAYER_NOT_PRESENT, VK_ERROR_EXTENSION_NOT_PRESENT,
          VK_ERROR_INCOMPATIBLE_DRIVER, unknown, validation}},
        {"vkCreateDevice",
         {host, device, VK_ERROR_INITIALIZATION_FAILED, VK_ERROR_EXTENSION_NOT_PRESENT, VK_ERROR_FEATURE_NOT_PRESENT,
          VK_ERROR_TOO_MANY_OBJECTS, lost, unknown, validation}},
        {"vkCreateDebugUtilsMessengerEXT", {host, unknown, validation}},
        {"vkEnumerateInstanceVersion", {host, unknown, validation}},
        {"vkEnumerateInstanceExtensionProperties", {host, device, VK_ERROR_LAYER_NOT_PRESENT, unknown, validation}},
        {"vkEnumerateDeviceExtensionProperties", {host, device, VK_ERROR_LAYER_NOT_PRESENT, unknown, validation}},
        {"vkEnumeratePhysicalDevices", {host, device, VK_ERROR_INITIALIZATION_FAILED, unknown, validation}},
        {"vkAllocateMemory",
         {host, device, VK_ERROR_INVALID_EXTERNAL_HANDLE, VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS, unknown,
          validation}},
        {"vkBindBufferMemory", {host, device, VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS, unknown, validation}},
        {"vkBindBufferMemory2", {host, device, VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS, unknown, validation}},
        {"vkCreateBuffer", {host, device, VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS, unknown, validation}},
        {"vkMapMemory", {host, device, VK_ERROR_MEMORY_MAP_FAILED, unknown, validation}},
        {"vkResetCommandPool", {device, unknown, validation}},
        {"vkResetFences", {device, unknown, validation}},
        {"vkQueueSubmit", {host, device, lost, unknown, validation}},
        {"vkWaitForFences", {host, device, lost, unknown, validation}},
        {"vkGetQueryPoolResults", {host, device, lost, unknown, validation}},
    };
    const auto found = others.find(function);
    return found != others.end() ? found->second : std::vector<VkResult>{host, device, unknown, validation};
}

VkfResult libraryResult(VkResult result) {
    switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
        return VKF_ERROR_OUT_OF_HOST_MEMORY;
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
        return VKF_ERROR_OUT_OF_DEVICE_MEMORY;
    case VK_ERROR_DEVICE_LOST:
        return VKF_ERROR_DEVICE_LOST;
    default:
        return VKF_ERROR_VULKAN;
    }
}

} // namespace vkf::test
