// SPDX-License-Identifier: MIT
//
// Records the steps of a plan or of a backward pass: checks the range, reads the bindings, resolves all addresses, and
// visits the phases.
#pragma once

#include "base/message.hpp"
#include "calls/call_barriers.hpp"
#include "calls/first_sizes.hpp"
#include "calls/recorder.hpp"

namespace vkf {

// What differs between the two.
template <typename Object, typename Bindings, typename Addresses> struct Recording {
    const char* name; // of the object's parameter
    const char* noun; // for the object
    VkfResult (*resolve)(const Object& object, const Bindings& bindings, Addresses* addresses, VkfMessage* message);
    // Records steps [first, last) of one phase.
    void (*recordPhase)(const Object& object, const Recorder& recorder, size_t index, const Addresses& addresses,
                        uint32_t first, uint32_t last);
};

inline VkfResult checkNotNull(VkCommandBuffer commandBuffer, const void* object, const char* name,
                              VkfMessage* message) {
    if (commandBuffer == VK_NULL_HANDLE || object == nullptr) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is null", object == nullptr ? name : "commandBuffer");
    }
    return VKF_SUCCESS;
}

template <typename Object, typename Bindings, typename Addresses>
VkfResult recordSteps(const Recording<Object, Bindings, Addresses>& recording, VkCommandBuffer commandBuffer,
                      const Object* object, const Bindings* given, uint32_t firstStep, uint32_t stepCount,
                      VkfMessage* message) {
    if (const VkfResult result = checkNotNull(commandBuffer, object, recording.name, message); result != VKF_SUCCESS) {
        return result;
    }
    const uint32_t steps = object->steps();
    if (uint64_t{firstStep} + stepCount > steps) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "firstStep + stepCount is %llu; the %s has %u steps",
                    static_cast<unsigned long long>(uint64_t{firstStep} + stepCount), recording.noun, steps);
    }
    Bindings bindings{};
    if (const VkfResult result = readVersioned(given, &bindings, "bindings", message); result != VKF_SUCCESS) {
        return result;
    }
    Addresses addresses;
    if (!object->phases.empty()) {
        if (const VkfResult result = recording.resolve(*object, bindings, &addresses, message); result != VKF_SUCCESS) {
            return result;
        }
    }
    if (stepCount == 0) {
        return VKF_SUCCESS;
    }
    const CallBarriers barriers(*object->context, commandBuffer);
    const Recorder recorder(*object->context, object->phases, object->executables, commandBuffer);
    recorder.forEachPhase(firstStep, stepCount, [&](size_t index, uint32_t first, uint32_t last) {
        recording.recordPhase(*object, recorder, index, addresses, first, last);
    });
    return VKF_SUCCESS;
}

} // namespace vkf
