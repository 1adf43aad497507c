// SPDX-License-Identifier: MIT
#include "calls/binding.hpp"

#include <cstring>

#include "base/message.hpp"
#include "calls/context.hpp"
#include "problem/checks.hpp"

namespace vkf {

bool isDense(const VkfTensorLayout& layout) {
    const auto distinct = [](uint64_t stride, uint32_t count) { return stride != 0 ? count : 1U; };
    const double elements = 1.0 * layout.dim * distinct(layout.rowStride, layout.rows) *
                            distinct(layout.headStride, layout.heads) * distinct(layout.batchStride, layout.batch);
    return static_cast<double>(layout.elements) == elements;
}

VkfResult refuseStray(const char* name, const VkfBinding& binding, VkfUseBits bit, VkfMessage* message) {
    return binding.address == 0 && binding.buffer == VK_NULL_HANDLE
               ? VKF_SUCCESS
               : fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is bound, but the problem's use lacks %s", name,
                      vkfUseString(bit));
}

VkfResult Resolver::resolve(const RequiredBinding& required) {
    if (required.bytes == 0) {
        return VKF_SUCCESS;
    }
    const VkfBinding& binding = *required.binding;
    if (binding.reserved != 0) {
        return fail(message_, VKF_ERROR_INVALID_ARGUMENT, "the reserved field of %s is not zero", required.name);
    }
    VkDeviceAddress base = binding.address;
    if (base == 0 && binding.buffer != VK_NULL_HANDLE) {
        VkBufferDeviceAddressInfo info{};
        info.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
        info.buffer = binding.buffer;
        base = context_.functions.vkGetBufferDeviceAddress(context_.device, &info);
    }
    if (base == 0) {
        return fail(message_, VKF_ERROR_INVALID_ARGUMENT,
                    "%s has neither address nor buffer; the call needs %llu bytes there", required.name,
                    static_cast<unsigned long long>(required.bytes));
    }
    *required.address = base + binding.offset;
    if (*required.address % required.alignment != 0) {
        return fail(message_, VKF_ERROR_INVALID_ARGUMENT, "the address of %s, 0x%llx, is not aligned to %llu bytes",
                    required.name, static_cast<unsigned long long>(*required.address),
                    static_cast<unsigned long long>(required.alignment));
    }
    if (binding.size != 0 && binding.size < required.bytes) {
        return fail(message_, VKF_ERROR_BINDING_TOO_SMALL, "%s needs %llu bytes; its binding has %llu", required.name,
                    static_cast<unsigned long long>(required.bytes), static_cast<unsigned long long>(binding.size));
    }
    touched_[count_++] = {required.name,   *required.address, required.bytes,
                          required.access, required.dense,    required.inPlaceOf};
    return VKF_SUCCESS;
}

VkfResult Resolver::checkOutputs() const {
    for (size_t i = 0; i < count_; i++) {
        const Touched& output = touched_[i];
        if (output.access != Access::write) {
            continue;
        }
        for (size_t j = 0; j < count_; j++) {
            const Touched& other = touched_[j];
            if (i == j || !overlap(output, other)) {
                continue;
            }
            return fail(message_, VKF_ERROR_INVALID_ARGUMENT,
                        "the %llu bytes of %s at 0x%llx overlap the %llu bytes of %s at 0x%llx; an output needs memory "
                        "of its own",
                        static_cast<unsigned long long>(output.bytes), output.name,
                        static_cast<unsigned long long>(output.first), static_cast<unsigned long long>(other.bytes),
                        other.name, static_cast<unsigned long long>(other.first));
        }
    }
    return VKF_SUCCESS;
}

bool Resolver::overlap(const Touched& a, const Touched& b) {
    // Equal texts need not have equal addresses.
    if (a.inPlaceOf != nullptr && std::strcmp(a.inPlaceOf, b.name) == 0 && a.first == b.first) {
        return false;
    }
    // Unsigned differences wrap around, so that an address below `first` is far past its end.
    const auto holds = [](const Touched& range, VkDeviceAddress address) {
        return range.dense && address - range.first < range.bytes;
    };
    return a.first == b.first || holds(a, b.first) || holds(a, b.first + b.bytes - 1) || holds(b, a.first) ||
           holds(b, a.first + a.bytes - 1);
}

} // namespace vkf
