// SPDX-License-Identifier: MIT
//
// Buffers of the device. ggml sees a buffer's device address as its base, so that ggml_tensor::data is a device address
// too. The host cannot read there.
#pragma once

#include <ggml-backend.h>

#include <cstddef>

namespace vkf::ggml {

class Accelerator;

// Bytes that the addresses of tensors are a multiple of. Buffers of vkflash::host begin at such a multiple.
constexpr size_t tensorAlignment = 256;

// Makes a buffer of the type. Logs why and returns NULL if there is no memory.
ggml_backend_buffer_t allocate(Accelerator& accelerator, ggml_backend_buffer_type_t type, size_t bytes) noexcept;

} // namespace vkf::ggml
