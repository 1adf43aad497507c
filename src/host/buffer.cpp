// SPDX-License-Identifier: MIT
//
// Buffer, and the functions of Device that move data.
#include <algorithm>
#include <cstring>

#include "host/device_state.hpp"
#include "host/error.hpp"

namespace vkf::host {

struct Buffer::State {
    std::shared_ptr<DeviceState> device;
    uint64_t bytes;
    AllocatedBuffer memory;
    VkDeviceAddress address;

    State(std::shared_ptr<DeviceState> owner, uint64_t size, Memory kind)
        : device(std::move(owner)), bytes(size), memory(device->createBuffer(size, kind)),
          address(device->addressOf(memory.buffer)) {}
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() { device->destroyBuffer(memory, bytes); }
};

Buffer::Buffer() noexcept = default;
Buffer::Buffer(Buffer&& other) noexcept = default;
Buffer& Buffer::operator=(Buffer&& other) noexcept = default;
Buffer::~Buffer() = default;
Buffer::Buffer(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}

uint64_t Buffer::size() const noexcept { return state_ ? state_->bytes : 0; }
VkBuffer Buffer::handle() const noexcept { return state_ ? state_->memory.buffer : VK_NULL_HANDLE; }
VkDeviceAddress Buffer::address() const noexcept { return state_ ? state_->address : 0; }
void* Buffer::mapped() const noexcept { return state_ ? state_->memory.mapped : nullptr; }

VkfBinding Buffer::binding(uint64_t offset) const noexcept {
    VkfBinding binding{};
    if (offset >= size()) {
        return binding; // a size of 0 would mean that the library does not check it
    }
    binding.address = address();
    binding.buffer = handle();
    binding.offset = offset;
    binding.size = size() - offset;
    return binding;
}

namespace {

void checkRange(const Buffer& buffer, uint64_t bytes, uint64_t offset, const char* call) {
    if (offset > buffer.size() || bytes > buffer.size() - offset) {
        throw Error(VKF_ERROR_INVALID_ARGUMENT, std::string(call) + ": " + std::to_string(bytes) + " bytes at offset " +
                                                    std::to_string(offset) + " are not within a buffer of " +
                                                    std::to_string(buffer.size()) + " bytes");
    }
}

unsigned char* bytesAt(void* data, uint64_t offset) { return static_cast<unsigned char*>(data) + offset; }
const unsigned char* bytesAt(const void* data, uint64_t offset) {
    return static_cast<const unsigned char*>(data) + offset;
}

void copyOnDevice(DeviceState& device, VkBuffer from, VkBuffer to, const VkBufferCopy& region) {
    device.submit([&](VkCommandBuffer commandBuffer) {
        device.device().functions().CmdCopyBuffer(commandBuffer, from, to, 1, &region);
    });
}

// Calls copy(position, bytes) for one piece after the other, each small enough for the staging buffer.
template <typename Copy> void inPieces(uint64_t bytes, uint64_t pieceBytes, const Copy& copy) {
    for (uint64_t position = 0; position < bytes; position += pieceBytes) {
        copy(position, std::min(pieceBytes, bytes - position));
    }
}

} // namespace

Buffer Device::createBuffer(uint64_t bytes, Memory memory) {
    return Buffer(std::make_unique<Buffer::State>(state_, bytes, memory));
}

void Device::upload(const Buffer& to, const void* from, uint64_t bytes, uint64_t offset) {
    checkRange(to, bytes, offset, "upload");
    state_->requireDevice();
    if (bytes == 0) {
        return;
    }
    if (to.mapped() != nullptr) {
        std::memcpy(bytesAt(to.mapped(), offset), from, bytes);
        return;
    }
    const AllocatedBuffer& staging = state_->stagingBuffer();
    inPieces(bytes, staging.capacity, [&](uint64_t position, uint64_t count) {
        std::memcpy(staging.mapped, bytesAt(from, position), count);
        copyOnDevice(*state_, staging.buffer, to.handle(), {0, offset + position, count});
    });
}

void Device::download(void* to, const Buffer& from, uint64_t bytes, uint64_t offset) {
    checkRange(from, bytes, offset, "download");
    state_->requireDevice();
    if (bytes == 0) {
        return;
    }
    if (from.mapped() != nullptr) {
        std::memcpy(to, bytesAt(from.mapped(), offset), bytes);
        return;
    }
    const AllocatedBuffer& staging = state_->stagingBuffer();
    inPieces(bytes, staging.capacity, [&](uint64_t position, uint64_t count) {
        copyOnDevice(*state_, from.handle(), staging.buffer, {offset + position, 0, count});
        std::memcpy(bytesAt(to, position), staging.mapped, count);
    });
}

void Device::fill(const Buffer& buffer, uint32_t pattern) {
    if (buffer.handle() == VK_NULL_HANDLE) {
        return;
    }
    submit([&](VkCommandBuffer commandBuffer) {
        // Fills the full capacity, a multiple of 4, so that the last bytes of an odd size are filled too.
        state_->device().functions().CmdFillBuffer(commandBuffer, buffer.handle(), 0, buffer.state_->memory.capacity,
                                                   pattern);
    });
}

} // namespace vkf::host
