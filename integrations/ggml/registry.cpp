// SPDX-License-Identifier: MIT
//
// The library's entry, and the tables that ggml sees: a registry with one device. The device has one type of memory.
#include <dlfcn.h>

#include <algorithm>
#include <memory>
#include <string>

#include "accelerator.hpp"
#include "interface.hpp"
#include "log.hpp"
#include "memory.hpp"
#include "problem.hpp"
#include "stream.hpp"

namespace vkf::ggml {
namespace {

constexpr const char* registryName = "vkflash";
constexpr const char* deviceName = "vkflash";

Accelerator& acceleratorOf(ggml_backend_dev_t device) {
    return *static_cast<Accelerator*>(reinterpret_cast<Device*>(device)->context);
}

// ---- Type of memory -------------------------------------------------------------------------------

// The version of the interface decides about the layout of the functions.
template <typename Functions> struct MemoryType {
    static BufferType<Functions>* of(ggml_backend_buffer_type_t type) {
        return reinterpret_cast<BufferType<Functions>*>(type);
    }
    static ggml_backend_buffer_t allocate(ggml_backend_buffer_type_t type, size_t bytes) {
        return ggml::allocate(acceleratorOf(of(type)->device), type, bytes);
    }
    static const char* name(ggml_backend_buffer_type_t) { return deviceName; }
    static size_t alignment(ggml_backend_buffer_type_t) { return tensorAlignment; }
    static size_t largest(ggml_backend_buffer_type_t type) { return acceleratorOf(of(type)->device).largestBuffer(); }

    static ggml_backend_buffer_type_t make(ggml_backend_dev_t device) {
        static BufferType<Functions> type{};
        type.functions.name = name;
        type.functions.allocate = allocate;
        type.functions.alignment = alignment;
        type.functions.largest = largest;
        type.device = device;
        return reinterpret_cast<ggml_backend_buffer_type_t>(&type);
    }
};

// ---- Everything that there is one of --------------------------------------------------------------

struct Library {
    Registry registry{};
    Device device{};
    ggml_backend_buffer_type_t memoryType = nullptr;
};

Library& library() {
    static Library library;
    return library;
}

// ---- Stream ---------------------------------------------------------------------------------------

Stream& streamOf(ggml_backend_t backend) { return *static_cast<Stream*>(reinterpret_cast<Backend*>(backend)->context); }
ggml_status compute(ggml_backend_t backend, ggml_cgraph* graph) { return streamOf(backend).compute(graph); }

void freeBackend(ggml_backend_t backend) {
    delete &streamOf(backend);
    delete reinterpret_cast<Backend*>(backend);
}

ggml_backend_t newBackend(ggml_backend_dev_t device, const char* /*parameters*/) {
    static ggml_guid id = {0x76, 0x6b, 0x66, 0x6c, 0x61, 0x73, 0x68, 0x2d,
                           0x67, 0x67, 0x6d, 0x6c, 0x00, 0x00, 0x00, 0x01};
    return guarded("make a backend", ggml_backend_t{nullptr}, [&] {
        auto stream = std::make_unique<Stream>(acceleratorOf(device), library().memoryType);
        auto backend = std::make_unique<Backend>();
        backend->id = &id;
        backend->functions.name = [](ggml_backend_t) { return deviceName; };
        backend->functions.free = freeBackend;
        backend->functions.compute = compute;
        backend->device = device;
        backend->context = stream.release();
        return reinterpret_cast<ggml_backend_t>(backend.release());
    });
}

// ---- Device ---------------------------------------------------------------------------------------

const char* description(ggml_backend_dev_t device) { return acceleratorOf(device).description().c_str(); }

void memory(ggml_backend_dev_t device, size_t* free, size_t* total) {
    Accelerator& accelerator = acceleratorOf(device);
    *total = accelerator.memory();
    *free = *total - std::min<size_t>(*total, accelerator.memoryInUse());
}

void properties(ggml_backend_dev_t device, ggml_backend_dev_props* properties) {
    properties->name = deviceName;
    properties->description = description(device);
    memory(device, &properties->memory_free, &properties->memory_total);
    properties->type = GGML_BACKEND_DEVICE_TYPE_ACCEL;
    properties->device_id = nullptr;
    properties->caps = {};
}

bool supportsNode(ggml_backend_dev_t device, const ggml_tensor* node) {
    if (node->op == GGML_OP_FLASH_ATTN_EXT) {
        return guarded("supports_op", false, [&] { return acceleratorOf(device).refusal(*node).empty(); });
    }
    return onlyDescribes(*node);
}

void fillDevice(Device& device, Accelerator* accelerator) {
    device.functions.name = [](ggml_backend_dev_t) { return deviceName; };
    device.functions.description = description;
    device.functions.memory = memory;
    // A GPU would be given whole layers of a model.
    device.functions.type = [](ggml_backend_dev_t) { return GGML_BACKEND_DEVICE_TYPE_ACCEL; };
    device.functions.properties = properties;
    device.functions.newBackend = newBackend;
    device.functions.bufferType = [](ggml_backend_dev_t) { return library().memoryType; };
    device.functions.supportsNode = supportsNode;
    device.functions.supportsBufferType = [](ggml_backend_dev_t, ggml_backend_buffer_type_t type) {
        return type == library().memoryType;
    };
    device.registry = reinterpret_cast<ggml_backend_reg_t>(&library().registry);
    device.context = accelerator;
}

// ---- Registry -------------------------------------------------------------------------------------

// Which version of the interface the ggml of this process has; 0 = none that this library knows. No function tells.
// Therefore the presence of functions does, which came with a version.
int interfaceVersion() {
    if (dlsym(RTLD_DEFAULT, "ggml_backend_buft_alloc_buffer_n") != nullptr) {
        return 3;
    }
    // Version 2 got entries in the midst of its tables together with this function.
    return dlsym(RTLD_DEFAULT, "ggml_backend_tensor_set_2d") != nullptr ? 2 : 0;
}

void fillRegistry(Registry& registry, int version) {
    registry.version = version;
    registry.functions.name = [](ggml_backend_reg_t) { return registryName; };
    registry.functions.deviceCount = [](ggml_backend_reg_t) {
        return library().device.context != nullptr ? size_t{1} : size_t{0}; // none: no device could be opened
    };
    registry.functions.device = [](ggml_backend_reg_t, size_t index) {
        return index == 0 ? reinterpret_cast<ggml_backend_dev_t>(&library().device) : nullptr;
    };
}

ggml_backend_reg_t makeRegistry() {
    Library& made = library();
    const int version = interfaceVersion();
    if (version == 0) {
        log(GGML_LOG_LEVEL_ERROR, std::string("this library knows versions 2 and 3 of ggml's interface for backends, "
                                              "from April 2026 on; ggml ") +
                                      ggml_version() + " is older");
        return nullptr;
    }
    const auto device = reinterpret_cast<ggml_backend_dev_t>(&made.device);
    Accelerator* const accelerator = guarded("no device", static_cast<Accelerator*>(nullptr),
                                             [] { return std::make_unique<Accelerator>().release(); });
    made.memoryType =
        version == 2 ? MemoryType<BufferTypeFunctions2>::make(device) : MemoryType<BufferTypeFunctions3>::make(device);
    fillDevice(made.device, accelerator);
    fillRegistry(made.registry, version);
    return reinterpret_cast<ggml_backend_reg_t>(&made.registry);
}

} // namespace
} // namespace vkf::ggml

// ggml calls it after it has loaded this library.
extern "C" __attribute__((visibility("default"))) ggml_backend_reg_t ggml_backend_init() {
    static ggml_backend_reg_t registry =
        vkf::ggml::guarded("load", ggml_backend_reg_t{nullptr}, [] { return vkf::ggml::makeRegistry(); });
    return registry;
}
