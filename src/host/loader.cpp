// SPDX-License-Identifier: MIT
#include "host/loader.hpp"

#include <string>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace vkf::host {
namespace {

// Names of the loader, in the order in which they are tried.
#if defined(_WIN32)
constexpr const char* libraryNames[] = {"vulkan-1.dll"};
constexpr const char* advice = "install the graphics driver of the device's vendor";
#elif defined(__APPLE__)
constexpr const char* libraryNames[] = {"libvulkan.1.dylib", "libvulkan.dylib", "/usr/local/lib/libvulkan.1.dylib",
                                        "libMoltenVK.dylib"};
constexpr const char* advice = "install MoltenVK or the Vulkan SDK";
#else
constexpr const char* libraryNames[] = {"libvulkan.so.1", "libvulkan.so"};
constexpr const char* advice = "install a graphics driver with Vulkan, or Debian's libvulkan1";
#endif

#ifdef _WIN32

void* openLibrary(const char* name) {
    // Searches the system folder only, so that no DLL of the working folder is loaded.
    return static_cast<void*>(LoadLibraryExA(name, nullptr, LOAD_LIBRARY_SEARCH_SYSTEM32));
}

void closeLibrary(void* library) { FreeLibrary(static_cast<HMODULE>(library)); }

PFN_vkGetInstanceProcAddr findEntry(void* library) {
    return reinterpret_cast<PFN_vkGetInstanceProcAddr>(
        reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), "vkGetInstanceProcAddr")));
}

#else

void* openLibrary(const char* name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL); }

void closeLibrary(void* library) { dlclose(library); }

PFN_vkGetInstanceProcAddr findEntry(void* library) {
    return reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
}

#endif

void* openFirstLibrary() {
    for (const char* name : libraryNames) {
        if (void* library = openLibrary(name)) {
            return library;
        }
    }
    throw Error(VKF_ERROR_UNSUPPORTED,
                std::string("there is no Vulkan loader on this system (") + libraryNames[0] + "): " + advice);
}

} // namespace

Loader::Loader(PFN_vkGetInstanceProcAddr entry)
    : library_(entry == nullptr ? openFirstLibrary() : nullptr),
      getInstanceProcAddr_(entry == nullptr ? findEntry(library_) : entry) {
    if (getInstanceProcAddr_ == nullptr) {
        closeLibrary(library_);
        throw Error(VKF_ERROR_UNSUPPORTED, "the Vulkan loader lacks vkGetInstanceProcAddr");
    }
}

Loader::~Loader() {
    if (library_ != nullptr) {
        closeLibrary(library_);
    }
}

} // namespace vkf::host
