// SPDX-License-Identifier: MIT
//
// The optional inputs of a benched call: host copies for the reference, device copies for the kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vkflash/host.hpp"

namespace vkf::tools {

// An empty vector means that the problem does not use the input.
struct CallExtras {
    std::vector<float> sinks;
    // The bytes of bias and mask are rounded up to a multiple of 4.
    std::vector<std::byte> bias;
    std::vector<std::byte> mask;
    std::vector<int32_t> documents;
    std::vector<int32_t> starts; // starts of packed sequences; rows and keys have the same starts
    // Arrays that functions read, in their order. Their bytes are rounded up to a multiple of 4.
    std::vector<std::vector<std::byte>> functionArrays;

    // Sets pointers into this object.
    void addTo(host::HostTensors& tensors) const;
};

// The device copies of CallExtras.
class ExtraBuffers {
public:
    ExtraBuffers(host::Device& device, const CallExtras& extras);
    void addTo(VkfBindings& bindings) const;

private:
    host::Buffer sinks_, bias_, mask_, documents_, starts_;
    std::vector<host::Buffer> functionArrays_;
};

} // namespace vkf::tools
