// SPDX-License-Identifier: MIT
#include "calls/backward.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/boundary.hpp"
#include "calls/addresses.hpp"
#include "calls/binding.hpp"
#include "calls/context.hpp"
#include "calls/describe.hpp"
#include "calls/first_sizes.hpp"
#include "calls/record_steps.hpp"
#include "calls/refused_launches.hpp"
#include "planning/packed_sequences.hpp"
#include "problem/strides.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

VkfResult planFor(VkfContext context, const VkfBackwardProblem* problem, CheckedBackward* checked,
                  BackwardPlan* backward, VkfMessage* message) {
    if (context == nullptr) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "context is null");
    }
    const VkfResult result = checkBackward(problem, checked, message);
    return result == VKF_SUCCESS ? makeBackwardPlan(context->tunedDevice(), *checked, backward, message) : result;
}

VkfResult makeBackwardObject(VkfContext context, const VkfBackwardProblem* problem,
                             std::unique_ptr<VkfBackward_T>* backward, VkfMessage* message) {
    std::unique_ptr<VkfBackward_T> made(new VkfBackward_T{{}, context, {}, {}});
    VkfResult result = planFor(context, problem, &made->problem, made.get(), message);
    if (result == VKF_SUCCESS) {
        result = getExecutables(context, made->phases, &made->executables, message);
    }
    *backward = std::move(made);
    return result;
}

VkfResult createBackward(VkfContext context, const VkfBackwardProblem* problem, VkfBackward* backward,
                         VkfMessage* message) {
    if (backward == nullptr) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "backward is null");
    }
    std::unique_ptr<VkfBackward_T> created;
    const VkfResult result = makeDespiteRefusal(
        context, message, [&](VkfMessage* text) { return makeBackwardObject(context, problem, &created, text); });
    if (result == VKF_SUCCESS) {
        *backward = created.release();
    }
    return result;
}

uint64_t bytesOf(const VkfTensorLayout& layout) { return vkfStoredBytes(layout.type, layout.elements); }

VkfResult resolveEach(Resolver* resolver, std::initializer_list<RequiredBinding> all) {
    for (const RequiredBinding& required : all) {
        if (const VkfResult result = resolver->resolve(required); result != VKF_SUCCESS) {
            return result;
        }
    }
    return VKF_SUCCESS;
}

// The checked addresses of a backward call.
struct BackwardAddresses {
    Addresses call;
    shared::BackwardTable table{};
};

VkfResult resolveInputs(const VkfBackward_T& backward, const VkfBindings& call, const VkfBackwardBindings& bindings,
                        Resolver* resolver, Addresses* to) {
    const CheckedProblem& forward = backward.problem.forward;
    const auto tensor = [&](const char* name, const VkfBinding& binding, Operand operand,
                            const VkfTensorLayout& layout) {
        const uint64_t alignment = operand == Operand::o ? 1 : backward.inputAlignment;
        return RequiredBinding{name,
                               &binding,
                               &to->at(operand),
                               bytesOf(layout),
                               std::max<uint64_t>(elementAlignment(layout.type), alignment),
                               Access::read,
                               isDense(layout)};
    };
    const uint64_t dlseBytes = arrayBytes(backward.problem, VKF_ARRAY_DLSE);
    return resolveEach(resolver,
                       {tensor("q", call.q, Operand::q, forward.layout(VKF_TENSOR_Q)),
                        tensor("k", call.k, Operand::k, forward.layout(VKF_TENSOR_K)),
                        tensor("v", call.v, Operand::v, forward.layout(VKF_TENSOR_V)),
                        tensor("o", call.o, Operand::o, forward.layout(VKF_TENSOR_O)),
                        tensor("dout", bindings.dout, Operand::dout, backward.problem.layout(VKF_BACKWARD_DOUT)),
                        {"dlse", &bindings.dlse, &to->at(Operand::dlse), dlseBytes, sizeof(float)}});
}

// Refuses memory that is bound for a gradient that the problem does not want, and for dlse without its bit.
VkfResult refuseUnwanted(const CheckedBackward& problem, const VkfBackwardBindings& bindings, VkfMessage* message) {
    const struct {
        const char* name;
        const VkfBinding& binding;
        bool wanted;
        const char* lacks;
    } optional[] = {
        {"dlse", bindings.dlse, has(problem.fields, VKF_USE_DLSE), "use of the backward problem lacks VKF_USE_DLSE"},
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

VkfResult resolveOutputs(const VkfBackward_T& backward, const VkfBackwardBindings& bindings, Resolver* resolver,
                         shared::BackwardTable* table) {
    const CheckedBackward& problem = backward.problem;
    const auto tensor = [&](const char* name, const VkfBinding& binding, VkDeviceAddress* address,
                            VkfGradientBits wanted, VkfBackwardRole role) {
        const VkfTensorLayout& layout = problem.layout(role);
        return RequiredBinding{name,
                               &binding,
                               address,
                               problem.wants(wanted) ? bytesOf(layout) : 0,
                               elementAlignment(layout.type),
                               Access::write,
                               isDense(layout)};
    };
    const uint64_t biasElementBytes = vkfTypeBytes(problem.fields.dbiasType);
    return resolveEach(resolver, {tensor("dq", bindings.dq, &table->dq.address, VKF_GRADIENT_Q, VKF_BACKWARD_DQ),
                                  tensor("dk", bindings.dk, &table->dk.address, VKF_GRADIENT_K, VKF_BACKWARD_DK),
                                  tensor("dv", bindings.dv, &table->dv.address, VKF_GRADIENT_V, VKF_BACKWARD_DV),
                                  {"dbias", &bindings.dbias, &table->dbias.address,
                                   arrayBytes(problem, VKF_ARRAY_DBIAS), biasElementBytes, Access::write, false},
                                  {"dsinks", &bindings.dsinks, &table->dsinks, arrayBytes(problem, VKF_ARRAY_DSINKS),
                                   sizeof(float), Access::write}});
}

VkfResult resolveScratch(const VkfBackward_T& backward, const VkfBinding& binding, Resolver* resolver,
                         BackwardAddresses* to, VkfMessage* message) {
    VkDeviceAddress& scratch = to->call.at(Operand::scratch);
    const RequiredBinding required{"scratch",        &binding,     &scratch, backward.scratch.bytes(),
                                   scratchAlignment, Access::write};
    if (const VkfResult result = resolver->resolve(required); result != VKF_SUCCESS) {
        return result;
    }
    if (binding.size == 0) {
        return fail(message, VKF_ERROR_BINDING_TOO_SMALL,
                    "the size of scratch is 0; the backward pass needs %llu bytes",
                    static_cast<unsigned long long>(backward.scratch.bytes()));
    }
    const auto at = [&](ScratchRange range) { return scratch + backward.scratch.offset(range); };
    to->call.at(Operand::scratchState) = at(ScratchRange::rowState);
    to->call.tableAddress = at(ScratchRange::table);
    to->call.table.tile_map = backward.map ? at(ScratchRange::tileMap) : 0;
    to->call.table.tile_sequences = at(ScratchRange::rowSequences);
    to->call.table.tile_count = backward.tileSequences.count;
    to->table.row_state = at(ScratchRange::rowState);
    to->table.ds = at(ScratchRange::storedDs);
    to->table.p = at(ScratchRange::storedP);
    to->table.dq_sums = at(ScratchRange::partialSums);
    to->table.key_tile_sequences = at(ScratchRange::keyTileSequences);
    to->table.key_tile_count = backward.keyTileSequences.count;
    return VKF_SUCCESS;
}

VkfResult resolveAll(const VkfBackward_T& backward, const VkfBackwardBindings& bindings, BackwardAddresses* to,
                     VkfMessage* message) {
    VkfBindings call{};
    Resolver resolver(*backward.context, message);
    to->table = backward.table;
    VkfResult result = readVersioned(bindings.forward, &call, "forward", message);
    if (result == VKF_SUCCESS) {
        result = refuseUnwanted(backward.problem, bindings, message);
    }
    if (result == VKF_SUCCESS) {
        result = resolveInputs(backward, call, bindings, &resolver, &to->call);
    }
    if (result == VKF_SUCCESS) {
        result =
            resolveOptional(&resolver, backward.problem.forward.fields, call, InputsOf::backward, &to->call, message);
    }
    if (result == VKF_SUCCESS) {
        result = resolveOutputs(backward, bindings, &resolver, &to->table);
    }
    if (result == VKF_SUCCESS) {
        result = resolveScratch(backward, bindings.scratch, &resolver, to, message);
    }
    if (result == VKF_SUCCESS) {
        result = resolver.checkOutputs();
    }
    to->call.at(Operand::rowStarts) = to->call.table.row_starts;
    to->call.at(Operand::keyStarts) = to->call.table.key_starts;
    to->table.call = to->call.table;
    return result;
}

void recordPhase(const VkfBackward_T& backward, const Recorder& recorder, size_t index,
                 const BackwardAddresses& addresses, uint32_t first, uint32_t last) {
    const Phase& phase = backward.phases[index];
    const VkfProblem& p = backward.problem.forward.fields;
    const bool ofKeys = phase.operands[0] == Operand::keyStarts;
    switch (phase.variant.kernel) {
    case Kernel::writeTable:
        recorder.table(index, addresses.table, functionArrayCount(p) != 0 ? &addresses.call.functionArrays : nullptr,
                       addresses.call.tableAddress);
        break;
    case Kernel::listSequences:
        recorder.once(index, ofKeys ? sequenceList(p, backward.keyTileSequences, addresses.call.table.key_starts,
                                                   p.keys, addresses.table.key_tile_sequences)
                                    : sequenceList(p, backward.tileSequences, addresses.call.table.row_starts,
                                                   p.queryRows, addresses.call.table.tile_sequences));
        break;
    default:
        recorder.steps(index, paramsOf(phase, addresses.call), first, last);
        break;
    }
}

constexpr Recording<VkfBackward_T, VkfBackwardBindings, BackwardAddresses> backwardRecording = {
    "backward", "backward pass", resolveAll, recordPhase};

// Computes VkfBackwardInfo::minimumBytes.
double minimumBytes(const CheckedBackward& backward) {
    const VkfProblem& p = backward.forward.fields;
    const auto bytes = [](const VkfTensorLayout& layout) {
        return 1.0 * layout.batch * layout.heads * layout.rows *
               static_cast<double>(vkfStoredBytes(layout.type, layout.dim));
    };
    double sum = bytes(backward.layout(VKF_BACKWARD_DOUT));
    for (const VkfTensorLayout& layout : backward.forward.layouts) {
        sum += bytes(layout);
    }
    sum += backward.wants(VKF_GRADIENT_Q) ? bytes(backward.layout(VKF_BACKWARD_DQ)) : 0.0;
    sum += backward.wants(VKF_GRADIENT_K) ? bytes(backward.layout(VKF_BACKWARD_DK)) : 0.0;
    sum += backward.wants(VKF_GRADIENT_V) ? bytes(backward.layout(VKF_BACKWARD_DV)) : 0.0;
    const double rows = static_cast<double>(tensorSequences(p)) * p.queryHeads * p.queryRows;
    return sum + (has(backward.fields, VKF_USE_DLSE) ? 8.0 : 4.0) * rows;
}

VkfBackwardInfo backwardInfo(const VkfBackward_T& backward) {
    const CheckedBackward& problem = backward.problem;
    VkfBackwardInfo info{};
    info.structSize = sizeof info;
    info.path = backward.path;
    info.stepCount = backward.steps();
    info.scratchBytes = backward.scratch.bytes();
    info.scratchAlignment = scratchAlignment;
    for (const VkfTensorLayout* layout : {&problem.forward.layout(VKF_TENSOR_Q), &problem.forward.layout(VKF_TENSOR_K),
                                          &problem.forward.layout(VKF_TENSOR_V), &problem.layout(VKF_BACKWARD_DOUT)}) {
        info.inputAlignment = std::max(info.inputAlignment, elementAlignment(layout->type));
    }
    info.inputAlignment = std::max<VkDeviceSize>(info.inputAlignment, backward.inputAlignment);
    info.productType = backward.productType;
    info.workgroupSize = backward.tile.workgroupSize;
    info.sharedMemoryBytes = backward.tile.sharedBytes;
    info.tuned = backward.tuned ? 1 : 0;
    info.bandKeys = backward.bandKeys();
    info.tileMapBytes = backward.tileMapBytes;
    info.operations = backwardOperations(problem.forward);
    info.minimumBytes = minimumBytes(problem);
    std::snprintf(info.rowTile, sizeof info.rowTile, "%s", backward.rowTileText.c_str());
    std::snprintf(info.keyTile, sizeof info.keyTile, "%s", backward.keyTileText.c_str());
    Line line(info.description, sizeof info.description);
    line.add("backward %s: ", vkfPathName(info.path));
    describeProblem(problem.forward, &line);
    line.add("; dout %s%s, %u threads, %u B shared, %u step%s%s", vkfTypeName(problem.fields.dout.type),
             has(problem.fields, VKF_USE_DLSE) ? ", dlse" : "", info.workgroupSize, info.sharedMemoryBytes,
             info.stepCount, info.stepCount == 1 ? "" : "s", info.tuned != 0 ? ", tuned" : "");
    if (backward.map) {
        line.add(", map of tiles");
    } else if (backward.whyNoMap != nullptr) {
        line.add(", no map of tiles: %s", backward.whyNoMap);
    }
    return info;
}

} // namespace
} // namespace vkf

VkfResult vkfCheckBackwardSupport(VkfContext context, const VkfBackwardProblem* problem, VkfMessage* message) {
    return vkf::guarded(message, [&] {
        vkf::CheckedBackward checked{};
        vkf::BackwardPlan backward;
        return vkf::planFor(context, problem, &checked, &backward, message);
    });
}

VkfResult vkfCreateBackward(VkfContext context, const VkfBackwardProblem* problem, VkfBackward* backward,
                            VkfMessage* message) {
    return vkf::guarded(message, [&] { return vkf::createBackward(context, problem, backward, message); });
}

void vkfDestroyBackward(VkfBackward backward) { delete backward; }

VkfResult vkfGetBackwardInfo(VkfBackward backward, VkfBackwardInfo* info, VkfMessage* message) {
    if (backward == nullptr) {
        return vkf::fail(message, VKF_ERROR_INVALID_ARGUMENT, "backward is null");
    }
    return vkf::writeVersioned(vkf::backwardInfo(*backward), info, "info", message);
}

VkfResult vkfCmdBackward(VkCommandBuffer commandBuffer, VkfBackward backward, const VkfBackwardBindings* bindings,
                         VkfMessage* message) {
    return vkfCmdBackwardSteps(commandBuffer, backward, bindings, 0, backward == nullptr ? 0 : backward->steps(),
                               message);
}

VkfResult vkfCmdBackwardSteps(VkCommandBuffer commandBuffer, VkfBackward backward, const VkfBackwardBindings* bindings,
                              uint32_t firstStep, uint32_t stepCount, VkfMessage* message) {
    return vkf::recordSteps(vkf::backwardRecording, commandBuffer, backward, bindings, firstStep, stepCount, message);
}
