// SPDX-License-Identifier: MIT
#include "calls/gradient.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/boundary.hpp"
#include "calls/addresses.hpp"
#include "calls/binding.hpp"
#include "calls/context.hpp"
#include "calls/first_sizes.hpp"
#include "calls/recorder.hpp"
#include "planning/packed_sequences.hpp"
#include "problem/strides.hpp"

namespace vkf {
namespace {

VkfResult planFor(VkfContext context, const VkfGradientProblem* problem, CheckedGradient* checked,
                  GradientPlan* gradient, VkfMessage* message) {
    if (context == nullptr) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "context is null");
    }
    const VkfResult result = checkGradient(problem, checked, message);
    return result == VKF_SUCCESS ? makeGradientPlan(context->tunedDevice(), *checked, gradient, message) : result;
}

VkfResult createGradient(VkfContext context, const VkfGradientProblem* problem, VkfGradient* gradient,
                         VkfMessage* message) {
    if (gradient == nullptr) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "gradient is null");
    }
    auto created = std::make_unique<VkfGradient_T>();
    created->context = context;
    if (const VkfResult result = planFor(context, problem, &created->problem, created.get(), message);
        result != VKF_SUCCESS) {
        return result;
    }
    if (const VkfResult result = getPipelines(context, created->phases, &created->pipelines, message);
        result != VKF_SUCCESS) {
        return result;
    }
    *gradient = created.release();
    return VKF_SUCCESS;
}

uint64_t bytesOf(const VkfTensorLayout& layout) { return vkfStoredBytes(layout.type, layout.elements); }

// One tensor or array of a call: its name, its binding, what it needs.
struct Bound {
    const char* name;
    const VkfBinding& binding;
    VkDeviceAddress* address;
    uint64_t bytes;
    uint64_t alignment;
};

VkfResult resolveEach(const VkfContext_T& context, std::initializer_list<Bound> all, VkfMessage* message) {
    for (const Bound& one : all) {
        const Need need{one.name, &one.binding, one.address, one.bytes, one.alignment};
        if (const VkfResult result = resolve(context, need, message); result != VKF_SUCCESS) {
            return result;
        }
    }
    return VKF_SUCCESS;
}

// The checked addresses of a backward call.
struct GradientAddresses {
    Addresses call;
    shared::BackwardTable table{};
};

VkfResult resolveInputs(const VkfGradient_T& gradient, const VkfBindings& call, const VkfGradientBindings& bindings,
                        Addresses* to, VkfMessage* message) {
    const CheckedProblem& forward = gradient.problem.forward;
    const auto tensor = [&](const char* name, const VkfBinding& binding, Operand operand,
                            const VkfTensorLayout& layout) {
        const uint64_t alignment = operand == Operand::o ? 1 : gradient.inputAlignment;
        return Bound{name, binding, &to->at(operand), bytesOf(layout),
                     std::max<uint64_t>(elementAlignment(layout.type), alignment)};
    };
    const VkfProblem& p = forward.given;
    const uint64_t lseBytes = uint64_t{tensorSequences(p)} * p.queryHeads * p.queryRows * sizeof(float);
    const bool hasDlse = gradient.problem.given.hasDlse != 0;
    return resolveEach(*gradient.context,
                       {tensor("q", call.q, Operand::q, forward.layout(VKF_TENSOR_Q)),
                        tensor("k", call.k, Operand::k, forward.layout(VKF_TENSOR_K)),
                        tensor("v", call.v, Operand::v, forward.layout(VKF_TENSOR_V)),
                        tensor("o", call.o, Operand::o, forward.layout(VKF_TENSOR_O)),
                        tensor("dout", bindings.dout, Operand::dout, gradient.problem.layout(VKF_GRADIENT_TENSOR_DOUT)),
                        {"dlse", bindings.dlse, &to->at(Operand::dlse), hasDlse ? lseBytes : 0, sizeof(float)}},
                       message);
}

// Refuses memory that is bound for a gradient that the problem does not want, and for dlse without hasDlse.
VkfResult refuseUnwanted(const CheckedGradient& problem, const VkfGradientBindings& bindings, VkfMessage* message) {
    const struct {
        const char* name;
        const VkfBinding& binding;
        bool wanted;
        const char* lacks;
    } optional[] = {
        {"dlse", bindings.dlse, problem.given.hasDlse != 0, "hasDlse of the gradient problem is 0"},
        {"dq", bindings.dq, problem.wants(VKF_GRADIENT_Q), "gradients lacks VKF_GRADIENT_Q"},
        {"dk", bindings.dk, problem.wants(VKF_GRADIENT_K), "gradients lacks VKF_GRADIENT_K"},
        {"dv", bindings.dv, problem.wants(VKF_GRADIENT_V), "gradients lacks VKF_GRADIENT_V"},
        {"dbias", bindings.dbias, problem.wants(VKF_GRADIENT_BIAS), "gradients lacks VKF_GRADIENT_BIAS"},
        {"dsinks", bindings.dsinks, problem.wants(VKF_GRADIENT_SINKS), "gradients lacks VKF_GRADIENT_SINKS"},
    };
    for (const auto& one : optional) {
        if (!one.wanted && (one.binding.address != 0 || one.binding.buffer != VK_NULL_HANDLE)) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is bound, but %s", one.name, one.lacks);
        }
    }
    return VKF_SUCCESS;
}

VkfResult resolveOutputs(const VkfGradient_T& gradient, const VkfGradientBindings& bindings,
                         shared::BackwardTable* table, VkfMessage* message) {
    const CheckedGradient& problem = gradient.problem;
    const auto tensor = [&](const char* name, const VkfBinding& binding, VkDeviceAddress* address,
                            VkfGradientBits wanted, VkfGradientRole role) {
        const VkfTensorLayout& layout = problem.layout(role);
        return Bound{name, binding, address, problem.wants(wanted) ? bytesOf(layout) : 0,
                     elementAlignment(layout.type)};
    };
    const uint64_t biasElementBytes = vkfTypeBytes(problem.given.dbiasType);
    const uint64_t sinkBytes = problem.wants(VKF_GRADIENT_SINKS) ? problem.forward.given.queryHeads * sizeof(float) : 0;
    return resolveEach(
        *gradient.context,
        {tensor("dq", bindings.dq, &table->dq.address, VKF_GRADIENT_Q, VKF_GRADIENT_TENSOR_DQ),
         tensor("dk", bindings.dk, &table->dk.address, VKF_GRADIENT_K, VKF_GRADIENT_TENSOR_DK),
         tensor("dv", bindings.dv, &table->dv.address, VKF_GRADIENT_V, VKF_GRADIENT_TENSOR_DV),
         {"dbias", bindings.dbias, &table->dbias.address, problem.biasElements * biasElementBytes, biasElementBytes},
         {"dsinks", bindings.dsinks, &table->dsinks, sinkBytes, sizeof(float)}},
        message);
}

VkfResult resolveScratch(const VkfGradient_T& gradient, const VkfBinding& binding, GradientAddresses* to,
                         VkfMessage* message) {
    VkDeviceAddress& scratch = to->call.at(Operand::scratch);
    const Need need{"scratch", &binding, &scratch, gradient.scratch.bytes(), scratchAlignment};
    if (const VkfResult result = resolve(*gradient.context, need, message); result != VKF_SUCCESS) {
        return result;
    }
    if (binding.size == 0) {
        return fail(message, VKF_ERROR_BINDING_TOO_SMALL, "the size of scratch is 0; the gradient needs %llu bytes",
                    static_cast<unsigned long long>(gradient.scratch.bytes()));
    }
    const auto at = [&](ScratchRange range) { return scratch + gradient.scratch.offset(range); };
    to->call.at(Operand::scratchState) = at(ScratchRange::rowState);
    to->call.tableAddress = at(ScratchRange::table);
    to->call.table.tile_sequences = at(ScratchRange::rowSequences);
    to->call.table.tile_count = gradient.tileSequences.count;
    to->table.row_state = at(ScratchRange::rowState);
    to->table.ds = at(ScratchRange::storedDs);
    to->table.p = at(ScratchRange::storedP);
    to->table.dq_sums = at(ScratchRange::partialSums);
    to->table.key_tile_sequences = at(ScratchRange::keyTileSequences);
    to->table.key_tile_count = gradient.keyTileSequences.count;
    return VKF_SUCCESS;
}

VkfResult resolveAll(const VkfGradient_T& gradient, const VkfGradientBindings& bindings, GradientAddresses* to,
                     VkfMessage* message) {
    VkfBindings call{};
    to->table = gradient.table;
    VkfResult result = readVersioned(bindings.call, &call, "call", message);
    if (result == VKF_SUCCESS) {
        result = refuseUnwanted(gradient.problem, bindings, message);
    }
    if (result == VKF_SUCCESS) {
        result = resolveInputs(gradient, call, bindings, &to->call, message);
    }
    if (result == VKF_SUCCESS) {
        result = resolveOptional(*gradient.context, gradient.problem.forward.given, call, InputsOf::gradient, &to->call,
                                 message);
    }
    if (result == VKF_SUCCESS) {
        result = resolveOutputs(gradient, bindings, &to->table, message);
    }
    if (result == VKF_SUCCESS) {
        result = resolveScratch(gradient, bindings.scratch, to, message);
    }
    to->call.at(Operand::rowStarts) = to->call.table.row_starts;
    to->call.at(Operand::keyStarts) = to->call.table.key_starts;
    to->table.call = to->call.table;
    return result;
}

void recordPhase(const VkfGradient_T& gradient, const Recorder& recorder, size_t index,
                 const GradientAddresses& addresses, uint32_t first, uint32_t last) {
    const Phase& phase = gradient.phases[index];
    const VkfProblem& p = gradient.problem.forward.given;
    const bool ofKeys = phase.operands[0] == Operand::keyStarts;
    switch (phase.variant.kernel) {
    case Kernel::writeTable:
        recorder.table(index, wordsOf(addresses.table), addresses.call.tableAddress);
        break;
    case Kernel::listSequences:
        recorder.once(index, ofKeys ? sequenceList(p, gradient.keyTileSequences, addresses.call.table.key_starts,
                                                   p.keys, addresses.table.key_tile_sequences)
                                    : sequenceList(p, gradient.tileSequences, addresses.call.table.row_starts,
                                                   p.queryRows, addresses.call.table.tile_sequences));
        break;
    default:
        recorder.steps(index, paramsOf(phase, addresses.call), first, last);
        break;
    }
}

VkfResult record(VkCommandBuffer commandBuffer, const VkfGradient_T& gradient, const VkfGradientBindings* given,
                 uint32_t firstStep, uint32_t stepCount, VkfMessage* message) {
    VkfGradientBindings bindings{};
    if (const VkfResult result = readVersioned(given, &bindings, "bindings", message); result != VKF_SUCCESS) {
        return result;
    }
    GradientAddresses addresses;
    if (!gradient.phases.empty()) {
        if (const VkfResult result = resolveAll(gradient, bindings, &addresses, message); result != VKF_SUCCESS) {
            return result;
        }
    }
    const Recorder recorder(*gradient.context, gradient.phases, gradient.pipelines, commandBuffer);
    recorder.forEachPhase(firstStep, stepCount, [&](size_t index, uint32_t first, uint32_t last) {
        recordPhase(gradient, recorder, index, addresses, first, last);
    });
    return VKF_SUCCESS;
}

// Computes VkfGradientInfo::minimumBytes.
double minimumBytes(const CheckedGradient& gradient) {
    const VkfProblem& p = gradient.forward.given;
    const auto bytes = [](const VkfTensorLayout& layout) {
        return 1.0 * layout.batch * layout.heads * layout.rows *
               static_cast<double>(vkfStoredBytes(layout.type, layout.dim));
    };
    double sum = bytes(gradient.layout(VKF_GRADIENT_TENSOR_DOUT));
    for (const VkfTensorLayout& layout : gradient.forward.layouts) {
        sum += bytes(layout);
    }
    sum += gradient.wants(VKF_GRADIENT_Q) ? bytes(gradient.layout(VKF_GRADIENT_TENSOR_DQ)) : 0.0;
    sum += gradient.wants(VKF_GRADIENT_K) ? bytes(gradient.layout(VKF_GRADIENT_TENSOR_DK)) : 0.0;
    sum += gradient.wants(VKF_GRADIENT_V) ? bytes(gradient.layout(VKF_GRADIENT_TENSOR_DV)) : 0.0;
    const double rows = static_cast<double>(tensorSequences(p)) * p.queryHeads * p.queryRows;
    return sum + (gradient.given.hasDlse != 0 ? 8.0 : 4.0) * rows;
}

VkfGradientInfo gradientInfo(const VkfGradient_T& gradient) {
    const CheckedGradient& problem = gradient.problem;
    const VkfProblem& p = problem.forward.given;
    VkfGradientInfo info{};
    info.structSize = sizeof info;
    info.path = gradient.path;
    info.stepCount = gradient.steps();
    info.scratchBytes = gradient.scratch.bytes();
    info.scratchAlignment = scratchAlignment;
    for (const VkfTensorLayout* layout :
         {&problem.forward.layout(VKF_TENSOR_Q), &problem.forward.layout(VKF_TENSOR_K),
          &problem.forward.layout(VKF_TENSOR_V), &problem.layout(VKF_GRADIENT_TENSOR_DOUT)}) {
        info.inputAlignment = std::max(info.inputAlignment, elementAlignment(layout->type));
    }
    info.inputAlignment = std::max<VkDeviceSize>(info.inputAlignment, gradient.inputAlignment);
    info.productType = gradient.productType;
    info.workgroupSize = gradient.tile.workgroupSize;
    info.sharedMemoryBytes = gradient.tile.sharedBytes;
    info.tuned = gradient.tuned ? 1 : 0;
    info.bandKeys = gradient.bandKeys();
    constexpr double backward = 2.5; // five products instead of two
    info.operations = backward * visiblePairs(problem.forward) * p.batch * p.queryHeads * 2.0 *
                      (static_cast<double>(p.headDim) + p.valueDim);
    info.minimumBytes = minimumBytes(problem);
    std::snprintf(info.rowTile, sizeof info.rowTile, "%s", gradient.rowTileText.c_str());
    std::snprintf(info.keyTile, sizeof info.keyTile, "%s", gradient.keyTileText.c_str());
    std::snprintf(info.description, sizeof info.description,
                  "backward %s: B=%u%s H=%u/%u Nq=%u Nk=%u D=%u/%u %s,%s,%s,%s, %u threads, %u B shared, %u step%s%s",
                  vkfPathName(info.path), p.batch, has(p, VKF_ARRAY_CU_SEQLENS) ? " packed" : "", p.queryHeads,
                  p.kvHeads, p.queryRows, p.keys, p.headDim, p.valueDim, vkfTypeName(p.q.type), vkfTypeName(p.k.type),
                  vkfTypeName(p.v.type), vkfTypeName(problem.given.dout.type), info.workgroupSize,
                  info.sharedMemoryBytes, info.stepCount, info.stepCount == 1 ? "" : "s",
                  info.tuned != 0 ? ", tuned" : "");
    return info;
}

} // namespace
} // namespace vkf

VkfResult vkfCheckGradientSupport(VkfContext context, const VkfGradientProblem* problem, VkfMessage* message) {
    return vkf::guarded(message, [&] {
        vkf::CheckedGradient checked{};
        vkf::GradientPlan gradient;
        return vkf::planFor(context, problem, &checked, &gradient, message);
    });
}

VkfResult vkfCreateGradient(VkfContext context, const VkfGradientProblem* problem, VkfGradient* gradient,
                            VkfMessage* message) {
    return vkf::guarded(message, [&] { return vkf::createGradient(context, problem, gradient, message); });
}

void vkfDestroyGradient(VkfGradient gradient) { delete gradient; }

VkfResult vkfGetGradientInfo(VkfGradient gradient, VkfGradientInfo* info, VkfMessage* message) {
    if (gradient == nullptr) {
        return vkf::fail(message, VKF_ERROR_INVALID_ARGUMENT, "gradient is null");
    }
    return vkf::writeVersioned(vkf::gradientInfo(*gradient), info, "info", message);
}

VkfResult vkfCmdGradient(VkCommandBuffer commandBuffer, VkfGradient gradient, const VkfGradientBindings* bindings,
                         VkfMessage* message) {
    return vkfCmdGradientSteps(commandBuffer, gradient, bindings, 0, gradient == nullptr ? 0 : gradient->steps(),
                               message);
}

VkfResult vkfCmdGradientSteps(VkCommandBuffer commandBuffer, VkfGradient gradient, const VkfGradientBindings* bindings,
                              uint32_t firstStep, uint32_t stepCount, VkfMessage* message) {
    if (commandBuffer == VK_NULL_HANDLE || gradient == nullptr) {
        return vkf::fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is null",
                         gradient == nullptr ? "gradient" : "commandBuffer");
    }
    const uint32_t steps = gradient->steps();
    if (uint64_t{firstStep} + stepCount > steps) {
        return vkf::fail(message, VKF_ERROR_INVALID_ARGUMENT,
                         "firstStep + stepCount is %llu; the gradient has %u steps",
                         static_cast<unsigned long long>(uint64_t{firstStep} + stepCount), steps);
    }
    return vkf::record(commandBuffer, *gradient, bindings, firstStep, stepCount, message);
}
