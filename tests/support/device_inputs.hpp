// SPDX-License-Identifier: MIT
//
// The inputs of a call in device memory, with guards around each.
#pragma once

#include <cstddef>
#include <vector>

#include "support/call.hpp"
#include "support/guarded.hpp"

namespace vkf::test {

template <typename T> Guarded uploaded(host::Device& device, const std::vector<T>& from) {
    Guarded to(device, from.size() * sizeof(T));
    if (!from.empty()) {
        device.upload(to.buffer, from.data(), to.bytes, to.offset);
    }
    return to;
}

struct DeviceInputs {
    DeviceInputs(host::Device& device, const Inputs& inputs);

    // The bindings of all inputs of a problem. Inputs may have arrays that the problem lacks: tests compare a call with
    // an array to one without it.
    VkfBindings bindings(const VkfProblem& problem) const;

    Guarded q, k, v, keyLengths, blockTable, blockMask, sinks, alibiSlopes, bias, mask, documentIds, cuSeqlensQ,
        cuSeqlensK, dropoutMask, dropoutSeed, probabilityRows, biasFactors;
    bool vInK;
};

// True if all bytes between the rows of a tensor hold the poison. `bytes` is the tensor's span.
bool gapsIntact(const VkfTensorLayout& layout, const std::vector<std::byte>& bytes);

} // namespace vkf::test
