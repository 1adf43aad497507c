// SPDX-License-Identifier: MIT
#include "calls/addresses.hpp"

#include <algorithm>

#include "calls/binding.hpp"
#include "planning/call_table.hpp"
#include "planning/kernel_parameters.hpp"
#include "problem/arrays.hpp"
#include "problem/masks/positions.hpp"

namespace vkf {
namespace {

// Returns the member of VkfBindings that binds an array of attention.
VkfBinding VkfBindings::*bindingOf(VkfArray array) {
#define VKF_MEMBER_CASE(NAME, member)                                                                                  \
    case VKF_ARRAY_##NAME:                                                                                             \
        return &VkfBindings::member;
    switch (array) {
        VKF_FOR_EACH_OPTIONAL_INPUT(VKF_MEMBER_CASE)
        VKF_FOR_EACH_OPTIONAL_OUTPUT(VKF_MEMBER_CASE)
    default:
        return nullptr;
    }
#undef VKF_MEMBER_CASE
}

// `array` must be one that is passed in PassedIn::operand.
Operand operandOf(VkfArray array) {
    return array == VKF_ARRAY_LSE             ? Operand::lse
           : array == VKF_ARRAY_PROBABILITIES ? Operand::probabilities
                                              : Operand::probabilityRows;
}

// Returns where `addresses` has the address of an optional input.
VkDeviceAddress* addressOf(const ArrayRow& row, Addresses* addresses) {
    switch (row.passedIn) {
    case PassedIn::operand:
        return &addresses->at(operandOf(row.array));
    case PassedIn::pushConstant:
        return &addresses->keyLengths;
    default:
        return &(addresses->table.*row.field);
    }
}

static_assert(VKF_FUNCTION_ARRAYS == VKF_MAX_FUNCTION_ARRAYS);

// The library knows no sizes of these arrays. A size that the caller gives is taken for the size of the array.
VkfResult resolveFunctionArrays(Resolver* resolver, const VkfProblem& p, const VkfBindings& bindings,
                                Addresses* addresses) {
    for (uint32_t i = 0; i < functionArrayCount(p); i++) {
        const VkfBinding& binding = bindings.functionArrays[i];
        const RequiredBinding required{p.functions->arrays[i].name, &binding, &addresses->functionArrays.arrays[i],
                                       std::max<uint64_t>(binding.size, sizeof(uint32_t)), sizeof(uint32_t)};
        if (const VkfResult result = resolver->resolve(required); result != VKF_SUCCESS) {
            return result;
        }
    }
    return VKF_SUCCESS;
}

} // namespace

VkfResult resolveOptional(Resolver* resolver, const VkfProblem& p, const VkfBindings& bindings, InputsOf call,
                          Addresses* addresses, VkfMessage* message) {
    addresses->table.dropout = p.dropout.seed; // a binding of dropoutSeed or dropoutMask replaces it below
    for (const ArrayRow& row : arrayTable) {
        if (call == InputsOf::backward && row.passedIn == PassedIn::operand && row.array != VKF_ARRAY_LSE) {
            continue;
        }
        // clang 14 does not follow pointers to members: NOLINTNEXTLINE(clang-analyzer-core.*)
        const VkfBinding& binding = bindings.*bindingOf(row.array);
        if (!has(p, row.bit)) {
            if (const VkfResult result = refuseStray(row.name, binding, row.bit, message); result != VKF_SUCCESS) {
                return result;
            }
        }
        const bool written = row.output && call == InputsOf::attention; // the backward pass reads lse
        const bool dense =
            row.broadcast == nullptr && row.array != VKF_ARRAY_BLOCK_MASK && row.array != VKF_ARRAY_CHOSEN_KEYS;
        const RequiredBinding required{row.name,
                                       &binding,
                                       addressOf(row, addresses),
                                       bytesOf(row, p),
                                       row.alignment,
                                       written ? Access::write : Access::read,
                                       dense};
        if (const VkfResult result = resolver->resolve(required); result != VKF_SUCCESS) {
            return result;
        }
    }
    if (const VkfResult result = resolveFunctionArrays(resolver, p, bindings, addresses); result != VKF_SUCCESS) {
        return result;
    }
    addStrides(p, &addresses->table);
    if (has(p, VKF_USE_POSITIONS) && !hasOffsetOnDevice(p)) {
        addresses->table.row_offset = static_cast<uint64_t>(rowOffsetOf(p, p.queryRows, p.keys));
    }
    addresses->table.sequences = p.batch;
    addresses->table.longest_rows = longestRowsOf(p);
    addresses->table.longest_keys = longestKeysOf(p);
    return VKF_SUCCESS;
}

shared::CallParams paramsOf(const Phase& phase, const Addresses& addresses) {
    shared::CallParams params = phase.params;
    const auto address = [&](Operand operand) { return addresses.operand[static_cast<size_t>(operand)]; };
    std::transform(phase.operands.begin(), phase.operands.end(), params.tensor, address);
    params.lse = address(phase.lse);
    params.key_lengths = addresses.keyLengths;
    const uint32_t extraSlot = phase.variant.constants[VKF_ID_EXTRA_SLOT];
    if (extraSlot != VKF_EXTRA_SLOT_HAS_WINDOW) {
        setOptionalInputs(extraSlotAddress(extraSlot, addresses.table, addresses.tableAddress), &params);
    }
    return params;
}

} // namespace vkf
