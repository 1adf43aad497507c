// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstddef>

#include "base/message.hpp"
#include "calls/binding.hpp"
#include "calls/context.hpp"
#include "calls/first_sizes.hpp"
#include "calls/plan.hpp"
#include "problem/optional_inputs.hpp"
#include "schedule/call_table.hpp"
#include "schedule/kernel_parameters.hpp"
#include "schedule/packed_sequences.hpp"

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

// Checked addresses of one call.
struct Addresses {
    std::array<VkDeviceAddress, operandCount> operand{}; // indexed by Operand
    VkDeviceAddress keyLengths = 0;
    shared::CallTable table{};        // optional inputs that travel by windowSlot or callTable
    VkDeviceAddress tableAddress = 0; // where the call writes the table, if it needs one

    VkDeviceAddress& at(Operand which) { return operand[static_cast<size_t>(which)]; }
};

uint64_t layoutBytes(const VkfTensorLayout& layout) { return vkfStoredBytes(layout.type, layout.elements); }

// `input` must be one that travels by Travel::operand.
Operand operandOf(Input input) {
    return input == Input::lse             ? Operand::lse
           : input == Input::probabilities ? Operand::probabilities
                                           : Operand::probabilityRows;
}

// Returns where `addresses` has the address of an optional input.
VkDeviceAddress* placeOf(const OptionalInput& row, Addresses* addresses) {
    switch (row.travel) {
    case Travel::operand:
        return &addresses->at(operandOf(row.input));
    case Travel::pushConstant:
        return &addresses->keyLengths;
    default:
        return &(addresses->table.*row.field);
    }
}

VkfResult resolveTensors(const VkfPlan_T& plan, const VkfBindings& bindings, Addresses* addresses,
                         VkfMessage* message) {
    const struct {
        const char* name;
        const VkfBinding& binding;
        Operand operand;
        VkfTensorRole role;
    } tensors[] = {
        {"q", bindings.q, Operand::q, VKF_TENSOR_Q},
        {"k", bindings.k, Operand::k, VKF_TENSOR_K},
        {"v", bindings.v, Operand::v, VKF_TENSOR_V},
        {"o", bindings.o, Operand::o, VKF_TENSOR_O},
    };
    for (const auto& tensor : tensors) {
        const VkfTensorLayout& layout = plan.problem.layout(tensor.role);
        const uint64_t alignment = tensor.role == VKF_TENSOR_O ? 1 : plan.schedule.inputAlignment;
        const Need need{tensor.name, &tensor.binding, &addresses->at(tensor.operand), layoutBytes(layout),
                        std::max(elementAlignment(layout.type), alignment)};
        if (const VkfResult result = resolve(*plan.context, need, message); result != VKF_SUCCESS) {
            return result;
        }
    }
    return VKF_SUCCESS;
}

VkfResult resolveOptional(const VkfPlan_T& plan, const VkfBindings& bindings, Addresses* addresses,
                          VkfMessage* message) {
    const VkfProblem& p = plan.problem.given;
    addresses->table.dropout = p.dropout.seed; // a binding of dropoutSeed or dropoutMask replaces it below
    for (size_t i = 0; i < inputCount; i++) {
        const OptionalInput& row = optionalInputs[i];
        const VkfBinding& binding = bindings.*inputBindings[i].binding;
        if (!has(p, row.bit)) {
            if (const VkfResult result = refuseStray(row.name, binding, row.bit, message); result != VKF_SUCCESS) {
                return result;
            }
        }
        const Need need{row.name, &binding, placeOf(row, addresses), bytesOf(row, p), row.alignment};
        if (const VkfResult result = resolve(*plan.context, need, message); result != VKF_SUCCESS) {
            return result;
        }
    }
    addStrides(p, &addresses->table);
    return VKF_SUCCESS;
}

VkfResult resolveScratch(const VkfPlan_T& plan, const VkfBindings& bindings, Addresses* addresses,
                         VkfMessage* message) {
    const Schedule& schedule = plan.schedule;
    VkDeviceAddress& scratch = addresses->at(Operand::scratch);
    const Need need{"scratch", &bindings.scratch, &scratch, schedule.scratchBytes, scratchAlignment};
    if (const VkfResult result = resolve(*plan.context, need, message); result != VKF_SUCCESS) {
        return result;
    }
    if (schedule.scratchBytes != 0 && bindings.scratch.size == 0) {
        return fail(message, VKF_ERROR_BINDING_TOO_SMALL, "the size of scratch is 0; the plan needs %llu bytes",
                    static_cast<unsigned long long>(schedule.scratchBytes));
    }
    addresses->at(Operand::scratchState) = scratch + schedule.scratchStateOffset;
    addresses->at(Operand::scratchLse) = scratch + schedule.scratchLseOffset;
    addresses->tableAddress = scratch + schedule.tableOffset;
    addresses->table.tile_map = scratch + schedule.mapOffset;
    addresses->table.tile_order = scratch + schedule.orderOffset;
    addresses->table.slots = scratch + schedule.slots.offset;
    return VKF_SUCCESS;
}

VkfResult resolveAll(const VkfPlan_T& plan, const VkfBindings& bindings, Addresses* addresses, VkfMessage* message) {
    for (const auto resolveSome : {resolveTensors, resolveOptional, resolveScratch}) {
        if (const VkfResult result = resolveSome(plan, bindings, addresses, message); result != VKF_SUCCESS) {
            return result;
        }
    }
    const VkfProblem& p = plan.problem.given;
    addresses->table.sequences = p.batch;
    addresses->table.slot_count = plan.schedule.slots.count;
    addresses->table.longest_rows = longestRowsOf(p);
    addresses->table.longest_keys = longestKeysOf(p);
    return VKF_SUCCESS;
}

void recordBarrier(const DeviceFunctions& functions, VkCommandBuffer commandBuffer) {
    VkMemoryBarrier barrier{};
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
    functions.vkCmdPipelineBarrier(commandBuffer, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                   VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

shared::CallParams paramsOf(const Phase& phase, const Addresses& addresses) {
    shared::CallParams params = phase.params;
    const auto address = [&](Operand operand) { return addresses.operand[static_cast<size_t>(operand)]; };
    std::transform(phase.operands.begin(), phase.operands.end(), params.tensor, address);
    params.lse = address(phase.lse);
    params.key_lengths = addresses.keyLengths;
    const uint32_t slot = phase.variant.constants[VKF_ID_WINDOW_SLOT];
    if (slot != VKF_SLOT_HAS_WINDOW) {
        setOptionalInputs(slotAddress(slot, addresses.table, addresses.tableAddress), &params);
    }
    return params;
}

void bindPipeline(const VkfPlan_T& plan, size_t index, VkCommandBuffer commandBuffer) {
    plan.context->functions.vkCmdBindPipeline(commandBuffer, VK_PIPELINE_BIND_POINT_COMPUTE, plan.pipelines[index]);
}

// Dispatches the pipeline that is bound.
template <typename Params>
void dispatch(const VkfPlan_T& plan, const Params& params, uint32_t workgroups, VkCommandBuffer commandBuffer) {
    const VkfContext_T& context = *plan.context;
    context.functions.vkCmdPushConstants(commandBuffer, context.pipelines.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                         sizeof params, &params);
    context.functions.vkCmdDispatch(commandBuffer, workgroups, 1, 1);
}

// Records the phase that writes the call table.
void recordTable(const VkfPlan_T& plan, size_t index, const Addresses& addresses, VkCommandBuffer commandBuffer) {
    bindPipeline(plan, index, commandBuffer);
    for (uint32_t i = 0; i < tablePieces(); i++) {
        dispatch(plan, tablePiece(addresses.table, addresses.tableAddress, i), 1, commandBuffer);
    }
}

// Records the phase that writes which packed sequence each slot belongs to. No barrier comes before it, because it
// reads nothing that the call writes.
void recordSequenceList(const VkfPlan_T& plan, size_t index, const Addresses& addresses,
                        VkCommandBuffer commandBuffer) {
    bindPipeline(plan, index, commandBuffer);
    dispatch(plan, sequenceList(plan.problem, plan.schedule.slots, addresses.table.row_starts, addresses.table.slots),
             plan.schedule.phases[index].items, commandBuffer);
}

shared::SplitMergeParams mergeParamsOf(const VkfPlan_T& plan, const Phase& phase, const Addresses& addresses) {
    const auto address = [&](Operand operand) { return addresses.operand[static_cast<size_t>(operand)]; };
    shared::SplitMergeParams params = splitMergeParams(plan.problem);
    params.partial_o = address(Operand::scratch);
    params.partial_state = address(Operand::scratchState);
    params.o = address(Operand::o);
    params.lse = address(phase.lse);
    params.sinks = addresses.table.sinks;
    return params;
}

// Records steps [first, last) of one phase, counted from the phase's first step. `params` are the phase's push
// constants.
template <typename Params>
void recordSteps(const VkfPlan_T& plan, size_t index, Params params, VkCommandBuffer commandBuffer, uint32_t first,
                 uint32_t last) {
    const DeviceFunctions& functions = plan.context->functions;
    const Phase& phase = plan.schedule.phases[index];
    if (index > 0 && first == 0 && !phase.joins) {
        recordBarrier(functions, commandBuffer);
    }
    bindPipeline(plan, index, commandBuffer);
    const uint32_t stepsPerPass = phase.stepsPerPass();
    for (uint32_t step = first; step < last; step++) {
        const uint32_t pass = step / stepsPerPass;
        const uint32_t stepOfPass = step % stepsPerPass;
        if (stepOfPass == 0 && pass > 0) {
            recordBarrier(functions, commandBuffer);
        }
        const uint32_t firstOfPass = stepOfPass * phase.itemsPerStep;
        params.first_item = pass * phase.itemsPerPass() + firstOfPass;
        dispatch(plan, params, std::min(phase.itemsPerStep, phase.itemsPerPass() - firstOfPass), commandBuffer);
    }
}

// Records steps [first, last) of one phase. The phases that write the table or list sequences have a single step.
void recordPhase(const VkfPlan_T& plan, size_t index, const Addresses& addresses, VkCommandBuffer commandBuffer,
                 uint32_t first, uint32_t last) {
    const Phase& phase = plan.schedule.phases[index];
    switch (phase.variant.kernel) {
    case Kernel::writeTable:
        recordTable(plan, index, addresses, commandBuffer);
        break;
    case Kernel::listSequences:
        recordSequenceList(plan, index, addresses, commandBuffer);
        break;
    case Kernel::mergeSplits:
        recordSteps(plan, index, mergeParamsOf(plan, phase, addresses), commandBuffer, first, last);
        break;
    case Kernel::attentionProbabilities:
        recordSteps(plan, index, probabilitiesParams(plan.problem.given, paramsOf(phase, addresses)), commandBuffer,
                    first, last);
        break;
    default:
        recordSteps(plan, index, paramsOf(phase, addresses), commandBuffer, first, last);
        break;
    }
}

VkfResult record(VkCommandBuffer commandBuffer, const VkfPlan_T& plan, const VkfBindings* given, uint32_t firstStep,
                 uint32_t stepCount, VkfMessage* message) {
    VkfBindings bindings{};
    if (const VkfResult result = readVersioned(given, &bindings, "bindings", message); result != VKF_SUCCESS) {
        return result;
    }
    Addresses addresses;
    if (!plan.schedule.phases.empty()) {
        if (const VkfResult result = resolveAll(plan, bindings, &addresses, message); result != VKF_SUCCESS) {
            return result;
        }
    }
    const uint64_t end = uint64_t{firstStep} + stepCount;
    uint64_t phaseBegin = 0;
    for (size_t i = 0; i < plan.schedule.phases.size(); i++) {
        const uint64_t phaseEnd = phaseBegin + plan.schedule.phases[i].steps();
        const uint64_t first = std::max<uint64_t>(firstStep, phaseBegin);
        const uint64_t last = std::min(end, phaseEnd);
        if (first < last) {
            recordPhase(plan, i, addresses, commandBuffer, static_cast<uint32_t>(first - phaseBegin),
                        static_cast<uint32_t>(last - phaseBegin));
        }
        phaseBegin = phaseEnd;
    }
    return VKF_SUCCESS;
}

} // namespace
} // namespace vkf

VkfResult vkfCmdAttention(VkCommandBuffer commandBuffer, VkfPlan plan, const VkfBindings* bindings,
                          VkfMessage* message) {
    return vkfCmdAttentionSteps(commandBuffer, plan, bindings, 0, plan == nullptr ? 0 : plan->schedule.steps(),
                                message);
}

VkfResult vkfCmdAttentionSteps(VkCommandBuffer commandBuffer, VkfPlan plan, const VkfBindings* bindings,
                               uint32_t firstStep, uint32_t stepCount, VkfMessage* message) {
    if (commandBuffer == VK_NULL_HANDLE || plan == nullptr) {
        return vkf::fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is null", plan == nullptr ? "plan" : "commandBuffer");
    }
    const uint32_t steps = plan->schedule.steps();
    if (uint64_t{firstStep} + stepCount > steps) {
        return vkf::fail(message, VKF_ERROR_INVALID_ARGUMENT, "firstStep + stepCount is %llu; the plan has %u steps",
                         static_cast<unsigned long long>(uint64_t{firstStep} + stepCount), steps);
    }
    return vkf::record(commandBuffer, *plan, bindings, firstStep, stepCount, message);
}
