// SPDX-License-Identifier: MIT
#include "planning/phase_builder.hpp"

#include "planning/counts.hpp"
#include "planning/item_steps.hpp"
#include "planning/kernel_parameters.hpp"

namespace vkf {

VkfResult PhaseBuilder::make(const PhaseRequest& request, Phase* phase, uint32_t* strideShift,
                             VkfMessage* message) const {
    if (const VkfResult result = checkItemCount(request.items, message); result != VKF_SUCCESS) {
        return result;
    }
    Phase made;
    std::array<ByteStrides, 4> strides{};
    std::array<const char*, 4> names{};
    for (size_t i = 0; i < strides.size(); i++) {
        made.operands[i] = request.tensors[i].operand;
        strides[i] = request.tensors[i].strides;
        names[i] = request.tensors[i].name;
    }
    if (const VkfResult result = chooseStrideShift(strides, strideShift, message, names); result != VKF_SUCCESS) {
        return result;
    }
    made.params = baseParams(problem_, strides, *strideShift);
    made.variant = variantOf(request);
    made.items = static_cast<uint32_t>(request.items);
    made.itemsPerStep = itemsPerStep(request);
    *phase = made;
    return VKF_SUCCESS;
}

KernelFunctions kernelFunctions(Kernel kernel, const VkfProblem& p) {
    const bool takes = has(p, VKF_USE_FUNCTIONS) && traitsOf(kernel).functions;
    return takes ? KernelFunctions{p.functions, p.functions->key} : KernelFunctions{};
}

Variant PhaseBuilder::variantOf(const PhaseRequest& request) const {
    const KernelTraits& traits = traitsOf(request.kernel);
    Variant variant;
    variant.kernel = request.kernel;
    variant.storage16 = isTaken(traits.storage16, request.has16Bits && caps_.storage16());
    variant.loops = loopsOf(traits, caps_.quirks);
    variant.bf16 = traits.matrices && matrixElements_ == VKF_TYPE_BF16;
    variant.viaShared = isTaken(traits.viaShared, matrix_.viaShared);
    variant.subgroups = isTaken(traits.subgroups, caps_.subgroupReductions());
    variant.subgroupSize = variant.subgroups ? caps_.subgroupSize : 0;
    variant.functions = kernelFunctions(request.kernel, problem_.fields);
    return variant;
}

uint32_t PhaseBuilder::itemsPerStep(const PhaseRequest& request) const {
    const uint64_t requested = problem_.fields.maxStepOperations;
    const auto most = static_cast<double>(requested != 0 ? requested : traitsOf(request.kernel).stepOperations);
    return itemsOfStep(most, request.operations, caps_.maxGroupCount);
}

} // namespace vkf
