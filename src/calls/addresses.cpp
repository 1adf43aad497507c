// SPDX-License-Identifier: MIT
#include "calls/addresses.hpp"

#include <algorithm>

#include "calls/binding.hpp"
#include "problem/optional_inputs.hpp"
#include "schedule/call_table.hpp"
#include "schedule/kernel_parameters.hpp"

namespace vkf {
namespace {

// Where VkfBindings has the binding of an optional input.
struct InputBinding {
    Input input;
    VkfBinding VkfBindings::*binding;
};
// Indexed by Input.
constexpr std::array<InputBinding, inputCount> inputBindings = {{
    {Input::lse, &VkfBindings::lse},
    {Input::probabilities, &VkfBindings::probabilities},
    {Input::probabilityRows, &VkfBindings::probabilityRows},
    {Input::keyLengths, &VkfBindings::keyLengths},
    {Input::blockMask, &VkfBindings::blockMask},
    {Input::blockTable, &VkfBindings::blockTable},
    {Input::sinks, &VkfBindings::sinks},
    {Input::alibiSlopes, &VkfBindings::alibiSlopes},
    {Input::bias, &VkfBindings::bias},
    {Input::mask, &VkfBindings::mask},
    {Input::documentIds, &VkfBindings::documentIds},
    {Input::cuSeqlensQ, &VkfBindings::cuSeqlensQ},
    {Input::cuSeqlensK, &VkfBindings::cuSeqlensK},
    {Input::dropoutMask, &VkfBindings::dropoutMask},
    {Input::dropoutSeed, &VkfBindings::dropoutSeed},
    {Input::biasFactors, &VkfBindings::biasFactors},
}};
static_assert(std::is_sorted(inputBindings.begin(), inputBindings.end(),
                             [](const InputBinding& a, const InputBinding& b) { return a.input <= b.input; }));

// `input` must be one that is passed in PassedIn::operand.
Operand operandOf(Input input) {
    return input == Input::lse             ? Operand::lse
           : input == Input::probabilities ? Operand::probabilities
                                           : Operand::probabilityRows;
}

// Returns where `addresses` has the address of an optional input.
VkDeviceAddress* placeOf(const OptionalInput& row, Addresses* addresses) {
    switch (row.passedIn) {
    case PassedIn::operand:
        return &addresses->at(operandOf(row.input));
    case PassedIn::pushConstant:
        return &addresses->keyLengths;
    default:
        return &(addresses->table.*row.field);
    }
}

} // namespace

VkfResult resolveOptional(const VkfContext_T& context, const VkfProblem& p, const VkfBindings& bindings, InputsOf call,
                          Addresses* addresses, VkfMessage* message) {
    addresses->table.dropout = p.dropout.seed; // a binding of dropoutSeed or dropoutMask replaces it below
    for (size_t i = 0; i < inputCount; i++) {
        const OptionalInput& row = optionalInputs[i];
        if (call == InputsOf::gradient && row.passedIn == PassedIn::operand && row.input != Input::lse) {
            continue;
        }
        const VkfBinding& binding = bindings.*inputBindings[i].binding;
        if (!has(p, row.bit)) {
            if (const VkfResult result = refuseStray(row.name, binding, row.bit, message); result != VKF_SUCCESS) {
                return result;
            }
        }
        const Need need{row.name, &binding, placeOf(row, addresses), bytesOf(row, p), row.alignment};
        if (const VkfResult result = resolve(context, need, message); result != VKF_SUCCESS) {
            return result;
        }
    }
    addStrides(p, &addresses->table);
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
