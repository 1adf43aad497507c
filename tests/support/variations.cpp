// SPDX-License-Identifier: MIT
#include "variations.hpp"

#include "device.hpp"

namespace vkf::test {

host::Device& deviceOf(const Variation& variation) {
    return testDevice(variation.quirks, variation.maxSharedMemoryBytes);
}

} // namespace vkf::test
