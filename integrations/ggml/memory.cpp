// SPDX-License-Identifier: MIT
#include "memory.hpp"

#include <memory>
#include <string>
#include <utility>

#include "accelerator.hpp"
#include "interface.hpp"
#include "log.hpp"

namespace vkf::ggml {
namespace {

// The context of a buffer.
struct Memory {
    Accelerator& accelerator;
    host::Buffer buffer;
    Memory(Accelerator& owner, uint64_t bytes) : accelerator(owner), buffer(owner.newBuffer(bytes)) {}
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory() { accelerator.deleteBuffer(std::move(buffer)); }
};

Memory& memoryOf(ggml_backend_buffer_t buffer) {
    return *static_cast<Memory*>(reinterpret_cast<Buffer*>(buffer)->context);
}

uint64_t offsetOf(const Memory& memory, const ggml_tensor* tensor, size_t offset) {
    return reinterpret_cast<uintptr_t>(tensor->data) - memory.buffer.address() + offset;
}

// These functions return nothing, so that errors can only be logged.
template <typename Function> void logged(const char* doing, const Function& function) noexcept {
    guarded(doing, 0, [&] {
        function();
        return 0;
    });
}

void freeBuffer(ggml_backend_buffer_t buffer) {
    logged("free a buffer", [&] { delete &memoryOf(buffer); });
}

void* base(ggml_backend_buffer_t buffer) {
    return reinterpret_cast<void*>(memoryOf(buffer).buffer.address()); // NOLINT: an address of the device
}

void fillTensor(ggml_backend_buffer_t buffer, ggml_tensor* tensor, uint8_t value, size_t offset, size_t bytes) {
    Memory& memory = memoryOf(buffer);
    logged("fill a tensor",
           [&] { memory.accelerator.fill(memory.buffer, value, bytes, offsetOf(memory, tensor, offset)); });
}

void writeTensor(ggml_backend_buffer_t buffer, ggml_tensor* tensor, const void* data, size_t offset, size_t bytes) {
    Memory& memory = memoryOf(buffer);
    logged("write a tensor",
           [&] { memory.accelerator.upload(memory.buffer, data, bytes, offsetOf(memory, tensor, offset)); });
}

void readTensor(ggml_backend_buffer_t buffer, const ggml_tensor* tensor, void* data, size_t offset, size_t bytes) {
    Memory& memory = memoryOf(buffer);
    logged("read a tensor",
           [&] { memory.accelerator.download(data, memory.buffer, bytes, offsetOf(memory, tensor, offset)); });
}

void fillBuffer(ggml_backend_buffer_t buffer, uint8_t value) {
    Memory& memory = memoryOf(buffer);
    logged("fill a buffer", [&] { memory.accelerator.fill(memory.buffer, value, memory.buffer.size(), 0); });
}

BufferFunctions functions() {
    BufferFunctions functions{};
    functions.free = freeBuffer;
    functions.base = base;
    functions.fillTensor = fillTensor;
    functions.writeTensor = writeTensor;
    functions.readTensor = readTensor;
    functions.fill = fillBuffer;
    return functions;
}

} // namespace

ggml_backend_buffer_t allocate(Accelerator& accelerator, ggml_backend_buffer_type_t type, size_t bytes) noexcept {
    return guarded("allocate", ggml_backend_buffer_t{nullptr}, [&] {
        if (bytes > accelerator.largestBuffer()) {
            throw host::Error(VKF_ERROR_OUT_OF_DEVICE_MEMORY,
                              std::to_string(bytes) + " bytes are more than the device's largest buffer, " +
                                  std::to_string(accelerator.largestBuffer()) + " bytes");
        }
        // The end of the last tensor is padded like that of the others: kernels read whole words.
        const uint64_t padded = (uint64_t{bytes} + tensorAlignment - 1) / tensorAlignment * tensorAlignment;
        auto memory = std::make_unique<Memory>(accelerator, padded);
        ggml_backend_buffer_t buffer = ggml_backend_buffer_init(type, functions(), memory.get(), bytes);
        memory.release(); // NOLINT: freeBuffer() deletes it
        return buffer;
    });
}

} // namespace vkf::ggml
