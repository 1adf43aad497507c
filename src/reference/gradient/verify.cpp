// SPDX-License-Identifier: MIT
//
// Judges gradients as verify.cpp judges o: by an exact run, two runs with the kernel's roundings, and an estimate of
// what roundings may change where these runs agree by chance.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/boundary.hpp"
#include "problem/first_sizes.hpp"
#include "reference/comparison.hpp"
#include "reference/element.hpp"
#include "reference/gradient/algorithm.hpp"

namespace vkf {

// The last fields of version 0.4.
VKF_FIRST_SIZE(VkfReferenceGradientOutputs, dsinks);
VKF_FIRST_SIZE(VkfGradientVerdict, dsinks);

} // namespace vkf

namespace vkf::reference {
namespace {

// Memory for the gradients that are compared. Vectors of the others are empty.
struct Gradients {
    std::vector<double> dq;
    std::vector<double> dk;
    std::vector<double> dv;
    std::vector<double> dbias;
    std::vector<double> dsinks;

    Gradients(const GradientCall& call, const VkfReferenceGradientOutputs& outputs) {
        const auto sizeOf = [&](VkfGradientRole role) {
            const VkfTensorLayout& layout = call.layout(role);
            return uint64_t{layout.batch} * layout.heads * layout.rows * layout.dim;
        };
        dq.resize(outputs.dq != nullptr ? sizeOf(VKF_GRADIENT_TENSOR_DQ) : 0);
        dk.resize(outputs.dk != nullptr ? sizeOf(VKF_GRADIENT_TENSOR_DK) : 0);
        dv.resize(outputs.dv != nullptr ? sizeOf(VKF_GRADIENT_TENSOR_DV) : 0);
        dbias.resize(
            outputs.dbias != nullptr ? vkfGradientBiasBytes(&call.problem) / vkfTypeBytes(call.problem.dbiasType) : 0);
        dsinks.resize(outputs.dsinks != nullptr ? call.forward.problem.queryHeads : 0);
    }

    GradientOutput output() {
        const auto memory = [](std::vector<double>& of) { return of.empty() ? nullptr : of.data(); };
        return {memory(dq), memory(dk), memory(dv), memory(dbias), memory(dsinks)};
    }
};

struct Runs {
    Gradients exact;
    Gradients errors; // squares of the estimate
    Gradients oneRounding;
    Gradients twoRoundings;
};

void run(const GradientCall& call, VkfReferenceAlgorithm algorithm, Gradients* gradients, Gradients* errors,
         double progressBegin, double progressEnd) {
    GradientCall variant = call;
    variant.forward.options.algorithm = algorithm;
    computeForward(&variant);
    computeGradients(variant, gradients->output(), errors != nullptr ? errors->output() : GradientOutput{},
                     progressBegin, progressEnd);
}

// The gradients that are compared, of one kind.
struct Compared {
    const Runs& runs;
    std::vector<double> Gradients::*values;
    VkfType type;
    double estimate = 0.0; // largest
    Comparison comparison{};

    void add(double value, uint64_t element) {
        const double largest = formatOf(type).largest;
        const double exact = (runs.exact.*values)[element];
        const double reference =
            type == VKF_TYPE_F32 || !std::isfinite(exact) ? exact : std::clamp(exact, -largest, largest);
        const Rounded fp32 = {(runs.oneRounding.*values)[element], (runs.twoRoundings.*values)[element]};
        const double square = (runs.errors.*values)[element];
        // Nothing reaches the element: no rounding can make it other than 0.
        const bool nothing = exact == 0.0 && square == 0.0;
        const double error = !nothing       ? distance(value, reference, fp32)
                             : value == 0.0 ? 0.0
                                            : std::numeric_limits<double>::infinity();
        estimate = std::isfinite(square) ? std::max(estimate, std::sqrt(square)) : estimate;
        comparison.add(error, value, reference, fp32, element);
    }

    VkfGradientError result() const {
        const double floor = floorUlps * (ulp(type, comparison.largest()) + estimate);
        return {comparison.error(),         comparison.bound(floor),  comparison.rms(),
                comparison.worst().element, comparison.worst().value, comparison.worst().reference};
    }
};

VkfGradientError compareTensor(const GradientCall& call, const Runs& runs, std::vector<double> Gradients::*values,
                               VkfGradientRole role, const void* memory) {
    const VkfTensorLayout& layout = call.layout(role);
    Compared compared{runs, values, layout.type};
    std::vector<double> row(layout.dim);
    for (uint64_t i = 0; memory != nullptr && i < (runs.exact.*values).size() / layout.dim; i++) {
        const uint64_t head = i / layout.rows;
        if (!call.selects(i % layout.rows)) {
            continue;
        }
        const uint64_t first = elementOf(layout, head / layout.heads, head % layout.heads, i % layout.rows);
        loadElements(layout.type, memory, first, layout.dim, row.data(), 1);
        for (uint32_t d = 0; d < layout.dim; d++) {
            compared.add(row[d], i * layout.dim + d);
        }
    }
    return memory != nullptr ? compared.result() : VkfGradientError{};
}

VkfGradientError compareBias(const GradientCall& call, const Runs& runs, const void* dbias) {
    Compared compared{runs, &Gradients::dbias, call.problem.dbiasType};
    if (dbias == nullptr || runs.exact.dbias.empty()) {
        return {};
    }
    forEachBiasElement(call.forward.problem, [&](uint64_t element) {
        compared.add(vkfLoadElement(call.problem.dbiasType, dbias, element), element);
    });
    return compared.result();
}

VkfGradientError compareSinks(const Runs& runs, const float* dsinks) {
    Compared compared{runs, &Gradients::dsinks, VKF_TYPE_F32};
    for (uint64_t head = 0; dsinks != nullptr && head < runs.exact.dsinks.size(); head++) {
        compared.add(static_cast<double>(dsinks[head]), head);
    }
    return dsinks != nullptr ? compared.result() : VkfGradientError{};
}

VkfGradientVerdict judge(const GradientCall& call, const VkfReferenceGradientOutputs& outputs) {
    const Gradients zeros(call, outputs);
    Runs runs{zeros, zeros, zeros, zeros};
    run(call, VKF_REFERENCE_DIRECT, &runs.exact, &runs.errors, 0.0, 0.4);
    run(call, VKF_REFERENCE_TILED_FP32, &runs.oneRounding, nullptr, 0.4, 0.7);
    run(call, VKF_REFERENCE_TILED_FP32_TWO_ROUNDINGS, &runs.twoRoundings, nullptr, 0.7, 1.0);

    VkfGradientVerdict verdict{};
    verdict.dq = compareTensor(call, runs, &Gradients::dq, VKF_GRADIENT_TENSOR_DQ, outputs.dq);
    verdict.dk = compareTensor(call, runs, &Gradients::dk, VKF_GRADIENT_TENSOR_DK, outputs.dk);
    verdict.dv = compareTensor(call, runs, &Gradients::dv, VKF_GRADIENT_TENSOR_DV, outputs.dv);
    verdict.dbias = compareBias(call, runs, outputs.dbias);
    verdict.dsinks = compareSinks(runs, outputs.dsinks);
    verdict.passed = 1;
    for (const VkfGradientError* gradient : {&verdict.dq, &verdict.dk, &verdict.dv, &verdict.dbias, &verdict.dsinks}) {
        verdict.passed = gradient->error <= gradient->bound ? verdict.passed : 0;
    }
    return verdict;
}

} // namespace
} // namespace vkf::reference

VkfResult vkfReferenceVerifyGradient(const VkfGradientProblem* problem, const VkfReferenceInputs* inputs,
                                     const VkfReferenceGradientInputs* gradientInputs,
                                     const VkfReferenceOptions* options, const VkfReferenceGradientOutputs* outputs,
                                     VkfGradientVerdict* verdict, VkfMessage* message) {
    using namespace vkf::reference;
    return vkf::guarded(message, [&] {
        if (const VkfResult result = vkf::checkStructSize(verdict, "verdict", message); result != VKF_SUCCESS) {
            return result;
        }
        GradientCall call{};
        if (const VkfResult result = checkGradientCall(problem, inputs, gradientInputs, options, &call, message);
            result != VKF_SUCCESS) {
            return result;
        }
        VkfReferenceGradientOutputs given{};
        if (const VkfResult result = vkf::readVersioned(outputs, &given, "outputs", message); result != VKF_SUCCESS) {
            return result;
        }
        if (const VkfResult result =
                checkGradientOutputs(call, {given.dq, given.dk, given.dv, given.dbias, given.dsinks}, message);
            result != VKF_SUCCESS) {
            return result;
        }
        return vkf::writeVersioned(judge(call, given), verdict, "verdict", message);
    });
}
