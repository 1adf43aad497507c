// SPDX-License-Identifier: MIT
#pragma once

#include "vkflash/host.hpp"

namespace vkf::tools {

// A buffer on the device with these values.
template <typename Values> host::Buffer uploaded(host::Device& device, const Values& values) {
    const uint64_t bytes = values.size() * sizeof(values[0]);
    host::Buffer buffer = device.createBuffer(bytes);
    device.upload(buffer, values.data(), bytes);
    return buffer;
}

} // namespace vkf::tools
