// SPDX-License-Identifier: MIT
//
// A shared library with the name of the Vulkan loader, for tests of the program `vkflash`. LD_PRELOAD puts it into the
// program, so that the program finds it instead of the system's loader. One call of Vulkan fails. Environment:
//   VKFLASH_FAULTY_REAL      path of the loader behind
//   VKFLASH_FAULTY_FUNCTION  the function that fails; all others are passed on
//   VKFLASH_FAULTY_CALL      which of its calls fails, from 0 on
//   VKFLASH_FAULTY_RESULT    what this call returns, a number of VkResult; "kill" = the process dies instead
#include <dlfcn.h>

#include <csignal>
#include <cstdlib>
#include <string_view>
#include <type_traits>

#include "faults/vulkan_functions.hpp"

namespace {

const char* variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

bool failsNow(std::string_view name) {
    static long calls = 0;
    return name == variable("VKFLASH_FAULTY_FUNCTION") && calls++ == std::atol(variable("VKFLASH_FAULTY_CALL"));
}

template <int number, typename Function> struct Wrapped;

template <int number, typename Result, typename... Arguments> struct Wrapped<number, Result(VKAPI_PTR*)(Arguments...)> {
    static inline const char* name = nullptr;
    static inline Result(VKAPI_PTR* real)(Arguments...) = nullptr;

    static Result VKAPI_CALL call(Arguments... arguments) {
        if constexpr (std::is_same_v<Result, VkResult>) {
            if (failsNow(name)) {
                if (std::string_view(variable("VKFLASH_FAULTY_RESULT")) == "kill") {
                    std::raise(SIGKILL);
                }
                // The device behind must have finished its work, as a lost device has.
                if (std::string_view(name) == "vkWaitForFences") {
                    real(arguments...);
                }
                return static_cast<VkResult>(std::atol(variable("VKFLASH_FAULTY_RESULT")));
            }
        }
        return real(arguments...);
    }

    static PFN_vkVoidFunction of(const char* function, PFN_vkVoidFunction behind) {
        name = function;
        real = reinterpret_cast<Result(VKAPI_PTR*)(Arguments...)>(behind);
        return reinterpret_cast<PFN_vkVoidFunction>(call);
    }
};

// A line of the list of functions is one number.
PFN_vkVoidFunction wrap(std::string_view name, PFN_vkVoidFunction behind) {
    if (behind == nullptr) {
        return nullptr;
    }
#define VKF_TEST_WRAP(function)                                                                                        \
    if (name == #function) {                                                                                           \
        return Wrapped<__COUNTER__, PFN_##function>::of(#function, behind);                                            \
    }
    VKF_TEST_FUNCTIONS(VKF_TEST_WRAP)
    return behind;
}

PFN_vkGetInstanceProcAddr realEntry() {
    static void* const loader = dlopen(variable("VKFLASH_FAULTY_REAL"), RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<PFN_vkGetInstanceProcAddr>(loader != nullptr ? dlsym(loader, "vkGetInstanceProcAddr")
                                                                         : nullptr);
}

PFN_vkGetDeviceProcAddr realDeviceEntry = nullptr;

PFN_vkVoidFunction VKAPI_CALL deviceEntry(VkDevice device, const char* name) {
    return wrap(name, realDeviceEntry(device, name));
}

} // namespace

extern "C" __attribute__((visibility("default"))) PFN_vkVoidFunction VKAPI_CALL
vkGetInstanceProcAddr(VkInstance instance, const char* name) {
    const PFN_vkGetInstanceProcAddr entry = realEntry();
    const PFN_vkVoidFunction function = entry != nullptr ? entry(instance, name) : nullptr;
    if (std::string_view(name) == "vkGetDeviceProcAddr") {
        realDeviceEntry = reinterpret_cast<PFN_vkGetDeviceProcAddr>(function);
        return reinterpret_cast<PFN_vkVoidFunction>(deviceEntry);
    }
    return wrap(name, function);
}
