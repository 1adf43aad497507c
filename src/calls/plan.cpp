// SPDX-License-Identifier: MIT
#include "calls/plan.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <utility>

#include "base/boundary.hpp"
#include "calls/context.hpp"
#include "calls/describe.hpp"
#include "calls/first_sizes.hpp"
#include "calls/recorder.hpp"
#include "calls/refused_launches.hpp"

namespace vkf {
namespace {

VkfResult checkContext(VkfContext context, VkfMessage* message) {
    return context != nullptr ? VKF_SUCCESS : fail(message, VKF_ERROR_INVALID_ARGUMENT, "context is null");
}

VkfResult planFor(const TunedDevice& device, const VkfProblem* problem, CheckedProblem* checked, AttentionPlan* plan,
                  VkfMessage* message) {
    const VkfResult result = checkProblem(problem, checked, message);
    return result == VKF_SUCCESS ? makePlan(device, *checked, plan, message) : result;
}

// Plans and compiles.
VkfResult makePlanObject(VkfContext context, const VkfProblem* problem, std::unique_ptr<VkfPlan_T>* plan,
                         VkfMessage* message) {
    std::unique_ptr<VkfPlan_T> made(new VkfPlan_T{{}, context, {}, {}, {}});
    VkfResult result = planFor(context->tunedDevice(), problem, &made->problem, made.get(), message);
    if (result == VKF_SUCCESS) {
        result = getExecutables(context, made->phases, &made->executables, message);
    }
    if (result == VKF_SUCCESS) {
        result = getExecutables(context, made->mapPhases, &made->mapExecutables, message);
    }
    *plan = std::move(made);
    return result;
}

VkfResult createPlan(VkfContext context, const VkfProblem* problem, VkfPlan* plan, VkfMessage* message) {
    if (const VkfResult result = checkContext(context, message); result != VKF_SUCCESS) {
        return result;
    }
    if (plan == nullptr) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "plan is null");
    }
    std::unique_ptr<VkfPlan_T> created;
    const VkfResult result = makeDespiteRefusal(
        context, message, [&](VkfMessage* text) { return makePlanObject(context, problem, &created, text); });
    if (result == VKF_SUCCESS) {
        *plan = created.release();
    }
    return result;
}

// Computes VkfPlanInfo::minimumBytes.
double minimumBytes(const CheckedProblem& problem) {
    const VkfProblem& p = problem.fields;
    double bytes = 0;
    for (const VkfTensorRole role : {VKF_TENSOR_Q, VKF_TENSOR_K, VKF_TENSOR_V, VKF_TENSOR_O}) {
        const VkfTensorLayout& layout = problem.layout(role);
        const bool hasQueryRows = role == VKF_TENSOR_Q || role == VKF_TENSOR_O;
        const double rows = hasQueryRows ? 1.0 * tensorSequences(p) * p.queryRows
                                         : 1.0 * keySequences(p) * std::min(p.keys, mostKeysOf(p));
        bytes += rows * layout.heads * static_cast<double>(vkfStoredBytes(layout.type, layout.dim));
    }
    const double rows = static_cast<double>(tensorSequences(p)) * p.queryHeads * p.queryRows;
    const double probabilities = static_cast<double>(p.batch) * p.queryHeads * probabilityRows(p) * p.keys;
    return bytes + (has(p, VKF_USE_LSE) ? 4.0 * rows : 0.0) +
           (has(p, VKF_USE_PROBABILITIES) ? 4.0 * probabilities : 0.0);
}

// Returns the part of the description about cooperative matrices; empty without them.
std::array<char, 64> matrixText(const MatrixLayout& matrix) {
    std::array<char, 64> text{};
    if (matrix.rows != 0) {
        std::snprintf(text.data(), text.size(), ", %ux%ux%u matrices%s", matrix.rows, matrix.columns, matrix.depth,
                      matrix.viaShared ? " through shared memory" : "");
    }
    return text;
}

void describe(const VkfPlan_T& plan, VkfPlanInfo* info) {
    Line line(info->description, sizeof info->description);
    line.add("%s: ", vkfPathName(info->path));
    describeProblem(plan.problem, &line);
    line.add("; tile %ux%u, %u split%s, %u threads, %u B shared, %s%s, %u step%s%s", info->tileRows, info->tileKeys,
             info->kvSplits, info->kvSplits == 1 ? "" : "s", info->workgroupSize, info->sharedMemoryBytes,
             info->subgroupReductions != 0 ? "subgroups" : "no subgroups", matrixText(plan.matrix).data(),
             info->stepCount, info->stepCount == 1 ? "" : "s", info->tuned != 0 ? ", tuned" : "");
}

VkfPlanInfo planInfo(const VkfPlan_T& plan) {
    VkfPlanInfo info{};
    info.structSize = sizeof info;
    info.path = plan.path;
    info.stepCount = plan.steps();
    info.scratchBytes = plan.scratch.bytes();
    info.scratchAlignment = scratchAlignment;
    info.tileRows = plan.tile.rows;
    info.tileKeys = plan.tile.keys;
    info.workgroupSize = plan.tile.workgroupSize;
    info.sharedMemoryBytes = plan.tile.sharedBytes;
    info.subgroupReductions =
        std::any_of(plan.phases.begin(), plan.phases.end(), [](const Phase& phase) { return phase.variant.subgroups; })
            ? 1
            : 0;
    for (const VkfTensorRole role : {VKF_TENSOR_Q, VKF_TENSOR_K, VKF_TENSOR_V}) {
        info.inputAlignment = std::max(info.inputAlignment, elementAlignment(plan.problem.layout(role).type));
    }
    info.inputAlignment = std::max<VkDeviceSize>(info.inputAlignment, plan.inputAlignment);
    info.kvSplits = plan.splits;
    std::snprintf(info.tile, sizeof info.tile, "%s", plan.tileText.c_str());
    info.tuned = plan.tuned ? 1 : 0;
    info.tileMapBytes = plan.tileMap.bytes;
    info.productType = plan.productType;
    info.operations = callOperations(plan.problem);
    info.minimumBytes = minimumBytes(plan.problem);
    describe(plan, &info);
    return info;
}

} // namespace
} // namespace vkf

VkfResult vkfCheckSupport(VkfContext context, const VkfProblem* problem, VkfMessage* message) {
    return vkf::guarded(message, [&] {
        vkf::CheckedProblem checked{};
        vkf::AttentionPlan plan;
        const VkfResult result = vkf::checkContext(context, message);
        return result == VKF_SUCCESS ? vkf::planFor(context->tunedDevice(), problem, &checked, &plan, message) : result;
    });
}

VkfResult vkfCheckDeviceSupport(const VkfDeviceQuery* query, const VkfProblem* problem, VkfMessage* message) {
    return vkf::guarded(message, [&] {
        vkf::Caps caps;
        vkf::CheckedProblem checked{};
        vkf::AttentionPlan plan;
        if (const VkfResult result = vkf::queryCaps(query, &caps, message); result != VKF_SUCCESS) {
            return result;
        }
        return vkf::planFor({caps, {}, vkf::whyNoTexts(vkf::builtPtxTexts())}, problem, &checked, &plan, message);
    });
}

VkfResult vkfCreatePlan(VkfContext context, const VkfProblem* problem, VkfPlan* plan, VkfMessage* message) {
    return vkf::guarded(message, [&] { return vkf::createPlan(context, problem, plan, message); });
}

void vkfDestroyPlan(VkfPlan plan) { delete plan; }

VkfResult vkfGetPlanInfo(VkfPlan plan, VkfPlanInfo* info, VkfMessage* message) {
    if (plan == nullptr) {
        return vkf::fail(message, VKF_ERROR_INVALID_ARGUMENT, "plan is null");
    }
    return vkf::writeVersioned(vkf::planInfo(*plan), info, "info", message);
}
