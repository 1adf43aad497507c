// SPDX-License-Identifier: MIT
//
// The part of ggml's interface for backends that its installed headers leave out. A backend hands ggml tables of
// function pointers. ggml's own declaration of them is in its source tree only. Here they are declared again, in the
// order in which ggml 0.27.0 (version 3 of the interface) and 0.21.0 (version 2) read them. Entries that this backend
// leaves empty are `Unused`.
//
// What differs between the two versions:
//   buffer type      version 3 has two entries more
//   graph optimizer  version 3 gives it one more argument; this backend has none
#pragma once

#include <ggml-backend.h>

#include <cstddef>
#include <cstdint>

namespace vkf::ggml {

using Unused = void (*)();

// A device's kind of memory, and the functions that allocate it.
struct BufferTypeFunctions2 {
    const char* (*name)(ggml_backend_buffer_type_t);
    ggml_backend_buffer_t (*allocate)(ggml_backend_buffer_type_t, size_t bytes); // NULL if it fails
    size_t (*alignment)(ggml_backend_buffer_type_t);                             // of tensors
    size_t (*largest)(ggml_backend_buffer_type_t);                               // bytes of one buffer
    Unused tensorBytes;
    Unused isHost;
};
struct BufferTypeFunctions3 {
    const char* (*name)(ggml_backend_buffer_type_t);
    ggml_backend_buffer_t (*allocate)(ggml_backend_buffer_type_t, size_t bytes);
    Unused allocateTensors;
    size_t (*alignment)(ggml_backend_buffer_type_t);
    size_t (*largest)(ggml_backend_buffer_type_t);
    Unused tensorBytes;
    Unused bytesOfTensors;
    Unused isHost;
};
template <typename Functions> struct BufferType {
    Functions functions;
    ggml_backend_dev_t device;
    void* context;
};

// A piece of memory, and what reads and writes tensors that lie in it. ggml has checked the ranges.
struct BufferFunctions {
    void (*free)(ggml_backend_buffer_t);
    void* (*base)(ggml_backend_buffer_t);
    Unused initTensor;
    void (*fillTensor)(ggml_backend_buffer_t, ggml_tensor*, uint8_t value, size_t offset, size_t bytes);
    void (*writeTensor)(ggml_backend_buffer_t, ggml_tensor*, const void* data, size_t offset, size_t bytes);
    void (*readTensor)(ggml_backend_buffer_t, const ggml_tensor*, void* data, size_t offset, size_t bytes);
    Unused writeTensor2d;
    Unused readTensor2d;
    Unused copyTensor;
    void (*fill)(ggml_backend_buffer_t, uint8_t value);
    Unused reset;
};
// The beginning of ggml's struct. ggml_backend_buffer_init makes it, because ggml itself deletes it.
struct Buffer {
    BufferFunctions functions;
    ggml_backend_buffer_type_t type;
    void* context;
    size_t bytes;
};

// A stream of work on a device.
struct BackendFunctions {
    const char* (*name)(ggml_backend_t);
    void (*free)(ggml_backend_t);
    Unused asynchronousTransfers[5];
    Unused synchronize;
    Unused graphPlans[4];
    ggml_status (*compute)(ggml_backend_t, ggml_cgraph*);
    Unused events[2];
    Unused optimizeGraph;
};
struct Backend {
    ggml_guid_t id;
    BackendFunctions functions;
    ggml_backend_dev_t device;
    void* context;
};

struct DeviceFunctions {
    const char* (*name)(ggml_backend_dev_t);
    const char* (*description)(ggml_backend_dev_t);
    void (*memory)(ggml_backend_dev_t, size_t* free, size_t* total);
    enum ggml_backend_dev_type (*type)(ggml_backend_dev_t);
    void (*properties)(ggml_backend_dev_t, ggml_backend_dev_props*);
    ggml_backend_t (*newBackend)(ggml_backend_dev_t, const char* parameters);
    ggml_backend_buffer_type_t (*bufferType)(ggml_backend_dev_t);
    Unused hostBufferType;
    Unused bufferFromHost;
    bool (*supportsNode)(ggml_backend_dev_t, const ggml_tensor* node);
    bool (*supportsBufferType)(ggml_backend_dev_t, ggml_backend_buffer_type_t);
    Unused takesOver;
    Unused events[3];
};
struct Device {
    DeviceFunctions functions;
    ggml_backend_reg_t registry;
    void* context;
};

// What a loaded library offers.
struct RegistryFunctions {
    const char* (*name)(ggml_backend_reg_t);
    size_t (*deviceCount)(ggml_backend_reg_t);
    ggml_backend_dev_t (*device)(ggml_backend_reg_t, size_t index);
    Unused function;
};
struct Registry {
    int version; // of the interface
    RegistryFunctions functions;
    void* context;
};

} // namespace vkf::ggml

// libggml-base has this function, but its installed headers do not.
extern "C" ggml_backend_buffer_t ggml_backend_buffer_init(ggml_backend_buffer_type_t type,
                                                          vkf::ggml::BufferFunctions functions, void* context,
                                                          size_t bytes);
