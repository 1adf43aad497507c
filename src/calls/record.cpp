// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/message.hpp"
#include "calls/addresses.hpp"
#include "calls/binding.hpp"
#include "calls/context.hpp"
#include "calls/plan.hpp"
#include "calls/record_steps.hpp"
#include "planning/call_table.hpp"
#include "planning/kernel_parameters.hpp"
#include "planning/packed_sequences.hpp"

namespace vkf {
namespace {

VkfResult resolveTensors(const VkfPlan_T& plan, const VkfBindings& bindings, Resolver* resolver, Addresses* addresses) {
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
        const bool output = tensor.role == VKF_TENSOR_O;
        const uint64_t alignment = output ? plan.outputAlignment : plan.inputAlignment;
        const RequiredBinding required{tensor.name,
                                       &tensor.binding,
                                       &addresses->at(tensor.operand),
                                       vkfStoredBytes(layout.type, layout.elements),
                                       std::max(elementAlignment(layout.type), alignment),
                                       output ? Access::write : Access::read,
                                       isDense(layout)};
        if (const VkfResult result = resolver->resolve(required); result != VKF_SUCCESS) {
            return result;
        }
    }
    return VKF_SUCCESS;
}

VkfResult resolveScratch(const VkfPlan_T& plan, const VkfBindings& bindings, Resolver* resolver, Addresses* addresses,
                         VkfMessage* message) {
    VkDeviceAddress& scratch = addresses->at(Operand::scratch);
    const RequiredBinding required{"scratch",        &bindings.scratch, &scratch, plan.scratch.bytes(),
                                   scratchAlignment, Access::write};
    if (const VkfResult result = resolver->resolve(required); result != VKF_SUCCESS) {
        return result;
    }
    if (plan.scratch.bytes() != 0 && bindings.scratch.size == 0) {
        return fail(message, VKF_ERROR_BINDING_TOO_SMALL, "the size of scratch is 0; the plan needs %llu bytes",
                    static_cast<unsigned long long>(plan.scratch.bytes()));
    }
    const auto at = [&](ScratchRange range) { return scratch + plan.scratch.offset(range); };
    addresses->at(Operand::scratchState) = at(ScratchRange::rowState);
    addresses->at(Operand::scratchLse) = at(ScratchRange::lse);
    addresses->at(Operand::dequantizedK) = at(ScratchRange::dequantizedK);
    addresses->at(Operand::dequantizedV) = at(ScratchRange::dequantizedV);
    addresses->tableAddress = at(ScratchRange::table);
    addresses->table.tile_map = at(ScratchRange::tileMap);
    addresses->table.tile_sequences = at(ScratchRange::rowSequences);
    addresses->table.tile_count = plan.tileSequences.count;
    return VKF_SUCCESS;
}

// A map in scratch memory has its address already.
VkfResult resolveTileMap(const VkfPlan_T& plan, const VkfBindings& bindings, Access access, Resolver* resolver,
                         Addresses* addresses, VkfMessage* message) {
    if (!has(plan.problem.fields, VKF_USE_TILE_MAP)) {
        addresses->table.tile_order = addresses->table.tile_map + plan.tileMap.orderOffset;
        return refuseStray("tileMap", bindings.tileMap, VKF_USE_TILE_MAP, message);
    }
    const RequiredBinding required{"tileMap",          &bindings.tileMap, &addresses->table.tile_map,
                                   plan.tileMap.bytes, scratchAlignment,  access};
    const VkfResult result = resolver->resolve(required);
    addresses->table.tile_order = addresses->table.tile_map + plan.tileMap.orderOffset;
    return result;
}

VkfResult resolveAll(const VkfPlan_T& plan, const VkfBindings& bindings, Access mapAccess, Addresses* addresses,
                     VkfMessage* message) {
    Resolver resolver(*plan.context, message);
    VkfResult result = resolveTensors(plan, bindings, &resolver, addresses);
    if (result == VKF_SUCCESS) {
        result = resolveOptional(&resolver, plan.problem.fields, bindings, InputsOf::attention, addresses, message);
    }
    if (result == VKF_SUCCESS) {
        result = resolveScratch(plan, bindings, &resolver, addresses, message);
    }
    if (result == VKF_SUCCESS) {
        result = resolveTileMap(plan, bindings, mapAccess, &resolver, addresses, message);
    }
    return result == VKF_SUCCESS ? resolver.checkOutputs() : result;
}

VkfResult resolveCall(const VkfPlan_T& plan, const VkfBindings& bindings, Addresses* addresses, VkfMessage* message) {
    return resolveAll(plan, bindings, Access::read, addresses, message);
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

// The phases that write the table or list sequences have a single step.
void recordPhaseOf(const std::vector<Phase>& phases, const VkfPlan_T& plan, const Recorder& recorder, size_t index,
                   const Addresses& addresses, uint32_t first, uint32_t last) {
    const Phase& phase = phases[index];
    const auto* const arrays = functionArrayCount(plan.problem.fields) != 0 ? &addresses.functionArrays : nullptr;
    switch (phase.variant.kernel) {
    case Kernel::writeTable:
        if (plan.bf16x3) {
            recorder.table(index, shared::Bf16x3Table{addresses.table, 0, 0}, arrays, addresses.tableAddress);
        } else {
            recorder.table(index, addresses.table, arrays, addresses.tableAddress);
        }
        break;
    case Kernel::listSequences:
        recorder.once(index, sequenceList(plan.problem.fields, plan.tileSequences, addresses.table.row_starts,
                                          plan.problem.fields.queryRows, addresses.table.tile_sequences));
        break;
    case Kernel::mergeSplits:
        recorder.steps(index, mergeParamsOf(plan, phase, addresses), first, last);
        break;
    case Kernel::attentionProbabilities:
        recorder.steps(index, probabilitiesParams(plan.problem.fields, paramsOf(phase, addresses)), first, last);
        break;
    default:
        recorder.steps(index, paramsOf(phase, addresses), first, last);
        break;
    }
}

void recordPhase(const VkfPlan_T& plan, const Recorder& recorder, size_t index, const Addresses& addresses,
                 uint32_t first, uint32_t last) {
    recordPhaseOf(plan.phases, plan, recorder, index, addresses, first, last);
}

constexpr Recording<VkfPlan_T, VkfBindings, Addresses> forwardRecording = {"plan", "plan", resolveCall, recordPhase};

VkfResult recordMap(VkCommandBuffer commandBuffer, VkfPlan plan, const VkfBindings* given, VkfMessage* message) {
    VkfResult result = checkNotNull(commandBuffer, plan, "plan", message);
    if (result != VKF_SUCCESS) {
        return result;
    }
    if (!has(plan->problem.fields, VKF_USE_TILE_MAP)) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "the problem's use lacks VKF_USE_TILE_MAP");
    }
    VkfBindings bindings{};
    Addresses addresses;
    result = readVersioned(given, &bindings, "bindings", message);
    if (result != VKF_SUCCESS || plan->mapPhases.empty()) {
        return result;
    }
    result = resolveAll(*plan, bindings, Access::write, &addresses, message);
    if (result != VKF_SUCCESS) {
        return result;
    }
    const CallBarriers barriers(*plan->context, commandBuffer);
    const Recorder recorder(*plan->context, plan->mapPhases, plan->mapExecutables, commandBuffer);
    recorder.forEachPhase(0, stepsOf(plan->mapPhases), [&](size_t index, uint32_t first, uint32_t last) {
        recordPhaseOf(plan->mapPhases, *plan, recorder, index, addresses, first, last);
    });
    return VKF_SUCCESS;
}

} // namespace
} // namespace vkf

VkfResult vkfCmdAttention(VkCommandBuffer commandBuffer, VkfPlan plan, const VkfBindings* bindings,
                          VkfMessage* message) {
    return vkfCmdAttentionSteps(commandBuffer, plan, bindings, 0, plan == nullptr ? 0 : plan->steps(), message);
}

VkfResult vkfCmdAttentionSteps(VkCommandBuffer commandBuffer, VkfPlan plan, const VkfBindings* bindings,
                               uint32_t firstStep, uint32_t stepCount, VkfMessage* message) {
    return vkf::recordSteps(vkf::forwardRecording, commandBuffer, plan, bindings, firstStep, stepCount, message);
}

VkfResult vkfCmdMapTiles(VkCommandBuffer commandBuffer, VkfPlan plan, const VkfBindings* bindings,
                         VkfMessage* message) {
    return vkf::recordMap(commandBuffer, plan, bindings, message);
}
