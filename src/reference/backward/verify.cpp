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
#include "reference/backward/algorithm.hpp"
#include "reference/element.hpp"
#include "reference/verdict/comparison.hpp"
#include "reference/verdict/contract_limits.hpp"

namespace vkf {

// The last fields of version 0.4.
VKF_FIRST_SIZE(VkfBackwardOutputs, dsinks);
VKF_FIRST_SIZE(VkfBackwardVerdict, dsinks);

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

    Gradients(const BackwardCall& call, const VkfBackwardOutputs& outputs) {
        const auto sizeOf = [&](VkfBackwardRole role) {
            const VkfTensorLayout& layout = call.layout(role);
            return uint64_t{layout.batch} * layout.heads * layout.rows * layout.dim;
        };
        dq.resize(outputs.dq != nullptr ? sizeOf(VKF_BACKWARD_DQ) : 0);
        dk.resize(outputs.dk != nullptr ? sizeOf(VKF_BACKWARD_DK) : 0);
        dv.resize(outputs.dv != nullptr ? sizeOf(VKF_BACKWARD_DV) : 0);
        dbias.resize(outputs.dbias != nullptr ? vkfGetBackwardArrayBytes(&call.problem, VKF_ARRAY_DBIAS) /
                                                    vkfTypeBytes(call.problem.dbiasType)
                                              : 0);
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

void run(const BackwardCall& call, VkfReferenceAlgorithm algorithm, Gradients* gradients, Gradients* errors,
         double progressBegin, double progressEnd) {
    BackwardCall variant = call;
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
    bool mayOverflow;
    Comparison comparison{};

    // The class of elements [first, end), which belong to one row: what roundings may change says how large its numbers
    // are.
    RowClass classOf(uint64_t first, uint64_t end) const {
        double estimate = 0.0;
        for (uint64_t element = first; element < end; element++) {
            estimate = std::max(estimate, std::sqrt((runs.errors.*values)[element]));
        }
        return {0, valueClass(estimate)};
    }

    void add(RowClass ofRow, double value, uint64_t element) {
        const double largest = formatOf(type).largest;
        const double exact = (runs.exact.*values)[element];
        const double reference =
            type == VKF_TYPE_F32 || !std::isfinite(exact) ? exact : std::clamp(exact, -largest, largest);
        const Rounded fp32 = {(runs.oneRounding.*values)[element], (runs.twoRoundings.*values)[element]};
        const double square = (runs.errors.*values)[element];
        // Nothing reaches the element: no rounding can make it other than 0.
        const bool nothing = exact == 0.0 && square == 0.0;
        const double error = !nothing       ? distance(value, reference, fp32, mayOverflow)
                             : value == 0.0 ? 0.0
                                            : std::numeric_limits<double>::infinity();
        comparison.add(ofRow, error, value, reference, fp32, element, std::sqrt(square));
    }

    VkfGradientError result() const {
        const Judgement judgement = comparison.judge(
            [&](const ClassErrors& errors) { return floorUlps * (ulp(type, errors.largest) + errors.estimate); });
        const ClassErrors& worst = judgement.worst;
        return {judgement.error(), judgement.bound, judgement.rms, worst.element, worst.value, worst.reference};
    }
};

VkfGradientError compareTensor(const BackwardCall& call, const Runs& runs, std::vector<double> Gradients::*values,
                               VkfBackwardRole role, const void* memory, bool mayOverflow) {
    const VkfTensorLayout& layout = call.layout(role);
    Compared compared{runs, values, layout.type, mayOverflow};
    std::vector<double> row(layout.dim);
    for (uint64_t i = 0; memory != nullptr && i < (runs.exact.*values).size() / layout.dim; i++) {
        const uint64_t head = i / layout.rows;
        if (!call.selects(i % layout.rows)) {
            continue;
        }
        const uint64_t first = elementOf(layout, head / layout.heads, head % layout.heads, i % layout.rows);
        loadElements(layout.type, memory, first, layout.dim, row.data(), 1);
        const RowClass ofRow = compared.classOf(i * layout.dim, (i + 1) * layout.dim);
        for (uint32_t d = 0; d < layout.dim; d++) {
            compared.add(ofRow, row[d], i * layout.dim + d);
        }
    }
    return memory != nullptr ? compared.result() : VkfGradientError{};
}

VkfGradientError compareBias(const BackwardCall& call, const Runs& runs, const void* dbias, bool mayOverflow) {
    Compared compared{runs, &Gradients::dbias, call.problem.dbiasType, mayOverflow};
    if (dbias == nullptr || runs.exact.dbias.empty()) {
        return {};
    }
    forEachBiasElement(call.forward.problem, [&](uint64_t element) {
        compared.add(compared.classOf(element, element + 1), vkfLoadElement(call.problem.dbiasType, dbias, element),
                     element);
    });
    return compared.result();
}

VkfGradientError compareSinks(const Runs& runs, const float* dsinks, bool mayOverflow) {
    Compared compared{runs, &Gradients::dsinks, VKF_TYPE_F32, mayOverflow};
    for (uint64_t head = 0; dsinks != nullptr && head < runs.exact.dsinks.size(); head++) {
        compared.add(compared.classOf(head, head + 1), static_cast<double>(dsinks[head]), head);
    }
    return dsinks != nullptr ? compared.result() : VkfGradientError{};
}

// Whether the contract promises nothing for inputs as large as these: a sum of products may leave fp32.
bool mayOverflow(const BackwardCall& call) {
    const Call& forward = call.forward;
    if (forward.empty()) {
        return false;
    }
    const VkfProblem& p = forward.problem;
    const ContractLimits limits(forward);
    const double q = largestFinite(forward.layout(VKF_TENSOR_Q), forward.inputs.q);
    const double dout = largestFinite(call.layout(VKF_BACKWARD_DOUT), call.inputs.dout);
    const double dim = forward.layout(VKF_TENSOR_V).dim;
    const double ds = 2.0 * dout * limits.largestV() * dim; // o is at most as large as v
    const uint64_t packedRows = uint64_t{p.queryRows} * (p.queryHeads / p.kvHeads);
    const double pairs = std::max<double>(p.keys, static_cast<double>(packedRows));
    const double operand = std::max(q, limits.largestK()) * std::max(1.0, std::abs(static_cast<double>(p.scale)));
    return limits.mayOverflow(q) || ds * std::max(1.0, operand) * pairs > largestSum ||
           (forward.options.productType == VKF_TYPE_F16 && dout > formatOf(VKF_TYPE_F16).largest);
}

VkfBackwardVerdict judge(const BackwardCall& call, const VkfBackwardOutputs& outputs) {
    const auto zeros = [&] { return Gradients(call, outputs); };
    Runs runs{zeros(), zeros(), zeros(), zeros()};
    run(call, VKF_REFERENCE_DIRECT, &runs.exact, &runs.errors, 0.0, 0.4);
    run(call, VKF_REFERENCE_TILED_FP32, &runs.oneRounding, nullptr, 0.4, 0.7);
    run(call, VKF_REFERENCE_TILED_FP32_TWO_ROUNDINGS, &runs.twoRoundings, nullptr, 0.7, 1.0);

    const bool overflows = mayOverflow(call);
    VkfBackwardVerdict verdict{};
    verdict.dq = compareTensor(call, runs, &Gradients::dq, VKF_BACKWARD_DQ, outputs.dq, overflows);
    verdict.dk = compareTensor(call, runs, &Gradients::dk, VKF_BACKWARD_DK, outputs.dk, overflows);
    verdict.dv = compareTensor(call, runs, &Gradients::dv, VKF_BACKWARD_DV, outputs.dv, overflows);
    verdict.dbias = compareBias(call, runs, outputs.dbias, overflows);
    verdict.dsinks = compareSinks(runs, outputs.dsinks, overflows);
    verdict.passed = 1;
    for (const VkfGradientError* gradient : {&verdict.dq, &verdict.dk, &verdict.dv, &verdict.dbias, &verdict.dsinks}) {
        verdict.passed = gradient->error <= gradient->bound ? verdict.passed : 0;
    }
    return verdict;
}

} // namespace
} // namespace vkf::reference

VkfResult vkfReferenceVerifyBackward(const VkfBackwardProblem* problem, const VkfReferenceInputs* inputs,
                                     const VkfReferenceBackwardInputs* backwardInputs,
                                     const VkfReferenceOptions* options, const VkfBackwardOutputs* outputs,
                                     VkfBackwardVerdict* verdict, VkfMessage* message) {
    using namespace vkf::reference;
    return vkf::guarded(message, [&] {
        if (const VkfResult result = vkf::checkStructSize(verdict, "verdict", message); result != VKF_SUCCESS) {
            return result;
        }
        BackwardCall call{};
        if (const VkfResult result = checkBackwardCall(problem, inputs, backwardInputs, options, &call, message);
            result != VKF_SUCCESS) {
            return result;
        }
        VkfBackwardOutputs given{};
        if (const VkfResult result = vkf::readVersioned(outputs, &given, "outputs", message); result != VKF_SUCCESS) {
            return result;
        }
        if (const VkfResult result =
                checkBackwardOutputs(call, {given.dq, given.dk, given.dv, given.dbias, given.dsinks}, message);
            result != VKF_SUCCESS) {
            return result;
        }
        return vkf::writeVersioned(judge(call, given), verdict, "verdict", message);
    });
}
