// SPDX-License-Identifier: MIT
//
// What a call reads beside q, k and v: on the host for the reference, on the device for the kernels.
#ifndef VKFLASH_TOOLS_CALL_EXTRAS_HPP
#define VKFLASH_TOOLS_CALL_EXTRAS_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vkflash/host.hpp"

namespace vkf::tools {

// Empty = the problem has none.
struct CallExtras {
    std::vector<float> sinks;
    std::vector<std::byte> bias; // in whole words of 4 bytes, as of the mask
    std::vector<std::byte> mask;
    std::vector<int32_t> documents;
    std::vector<int32_t> starts; // of packed sequences with as many rows as keys

    // Pointers into this object.
    void addTo(host::HostTensors& tensors) const;
};

// Their copy on the device.
class ExtraBuffers {
public:
    ExtraBuffers(host::Device& device, const CallExtras& extras);
    void addTo(VkfBindings& bindings) const;

private:
    host::Buffer sinks_, bias_, mask_, documents_, starts_;
};

} // namespace vkf::tools

#endif
