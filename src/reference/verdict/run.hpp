// SPDX-License-Identifier: MIT
//
// One run of an algorithm over the selected rows, for verdicts.
#pragma once

#include <vector>

#include "reference/rows.hpp"

namespace vkf::reference {

struct Run {
    std::vector<double> o;                 // [heads, selected rows, valueDim]
    std::vector<double> lse;               // [heads, selected rows]
    std::vector<RowMagnitudes> magnitudes; // of rows; of the exact run
};

inline Run runAlgorithm(const Call& call, VkfReferenceAlgorithm algorithm, double progressBegin, double progressEnd) {
    Call variant = call;
    variant.options.algorithm = algorithm;
    variant.options.probabilities = nullptr;
    Run run;
    run.lse.resize(call.heads() * call.rows);
    run.o.resize(run.lse.size() * call.layout(VKF_TENSOR_O).dim);
    run.magnitudes.resize(run.lse.size());
    computeRows(variant, {run.o.data(), run.lse.data(), true, run.magnitudes.data()}, progressBegin, progressEnd);
    return run;
}

} // namespace vkf::reference
