// SPDX-License-Identifier: MIT
//
// Turns bindings into checked addresses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <vkflash/vkflash.h>

namespace vkf {

// What a call does to a binding.
enum class Access : uint8_t { read, write };

// What a call needs of one binding.
struct RequiredBinding {
    const char* name; // name in messages
    const VkfBinding* binding;
    VkDeviceAddress* address; // where the resolver writes the address
    uint64_t bytes;           // from the first byte that the call touches to the last; 0 = nobody looks at the binding
    uint64_t alignment;       // of the address, in bytes
    Access access = Access::read;
    bool dense = true;               // the call touches all of these bytes
    const char* inPlaceOf = nullptr; // name of the input that may have the address of this output
};

// Whether the elements of a tensor have no gaps between them.
bool isDense(const VkfTensorLayout& layout);

// Refuses memory that is bound for an optional array which the problem does not have. The caller forgot the array's
// bit, and would get results without the array.
VkfResult refuseStray(const char* name, const VkfBinding& binding, VkfUseBits bit, VkfMessage* message);

// Resolves the bindings of one call, and remembers their memory to find outputs that overlap it. Allocates nothing.
class Resolver {
public:
    // The arguments must live as long as the resolver.
    Resolver(const VkfContext_T& context, VkfMessage* message) : context_(context), message_(message) {}

    // Checks a binding and writes its address to *required.address.
    VkfResult resolve(const RequiredBinding& required);

    // Refuses an output that certainly shares a byte with another binding of the call: both begin at one address, or
    // one without gaps holds the first or the last byte of the other. Tensors with gaps may lie in each other's gaps.
    VkfResult checkOutputs() const;

private:
    // The memory of one binding that the call touches.
    struct Touched {
        const char* name;
        VkDeviceAddress first; // address of the first byte
        uint64_t bytes;
        Access access;
        bool dense;
        const char* inPlaceOf;
    };
    static constexpr size_t maxBindings = 48;

    static bool overlap(const Touched& a, const Touched& b);

    const VkfContext_T& context_;
    VkfMessage* message_;
    std::array<Touched, maxBindings> touched_{};
    size_t count_ = 0;
};

} // namespace vkf
