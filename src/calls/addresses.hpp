// SPDX-License-Identifier: MIT
//
// The checked addresses of one call, for the calls that share the optional inputs of attention.
#pragma once

#include <array>

#include <vkflash/vkflash.h>

#include "calls/binding.hpp"
#include "planning/plan.hpp"
#include "shared/call_table.h"

namespace vkf {

// Checked addresses of one call.
struct Addresses {
    std::array<VkDeviceAddress, operandCount> operand{}; // indexed by Operand
    VkDeviceAddress keyLengths = 0;
    shared::CallTable table{};        // optional inputs that passedIn by extraSlot or callTable
    VkDeviceAddress tableAddress = 0; // where the call writes the table, if it needs one
    shared::FunctionArrays functionArrays{};

    VkDeviceAddress& at(Operand which) { return operand[static_cast<size_t>(which)]; }
};

// Which optional inputs a call has: all, or those of the backward pass, which reads lse and knows no probabilities.
enum class InputsOf { attention, backward };

// Checks the bindings of the optional inputs. Writes their addresses, and the strides and lengths of the table.
VkfResult resolveOptional(Resolver* resolver, const VkfProblem& problem, const VkfBindings& bindings, InputsOf call,
                          Addresses* addresses, VkfMessage* message);

// Returns the push constants of a phase, all but first_item.
shared::CallParams paramsOf(const Phase& phase, const Addresses& addresses);

} // namespace vkf
