// SPDX-License-Identifier: MIT
//
// Moves the tensors of a call between host arrays and buffers.
#pragma once

#include <cstdint>

#include <vkflash/host.hpp>

namespace vkf::host {

// Bytes from the first element of a tensor to one past the last one.
uint64_t tensorBytes(const VkfTensorLayout& layout);

// Throws Error if an array of `bytes` bytes has no memory. `name` is the array's name in messages.
void requirePointer(const void* pointer, uint64_t bytes, const char* name);

// Fill the whole buffer, or copy the whole buffer.
void uploadAll(Device& device, const Buffer& to, const void* from, const char* name);
void downloadAll(Device& device, void* to, const Buffer& from, const char* name);

// Copies the rows of a tensor. Bytes between rows keep their values.
void downloadRows(Device& device, const VkfTensorLayout& layout, void* to, const Buffer& from, const char* name);

} // namespace vkf::host
