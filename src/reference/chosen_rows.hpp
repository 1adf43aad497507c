// SPDX-License-Identifier: MIT
//
// The rows whose probabilities a problem asks for: a list of the rows that exist, and of their indices among the
// probabilities.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/call.hpp"

namespace vkf::reference {

struct ChosenRows {
    std::vector<uint32_t> rows;
    std::vector<uint32_t> indices; // of these rows among the probabilities
    std::vector<uint32_t> missing; // indices whose number is not a row; their probabilities are 0

    // Takes the entries of the problem's list that the options select. Without a list, takes the query rows that the
    // options select. A call without an output has no list, and no rows.
    explicit ChosenRows(const Call& call) {
        const VkfProblem& p = call.problem;
        if (call.empty()) {
            return;
        }
        for (uint64_t index = call.options.rowBegin; index < call.probabilityRows(); index += call.options.rowStride) {
            const int64_t row =
                has(p, VKF_USE_PROBABILITY_ROWS) ? call.inputs.probabilityRows[index] : static_cast<int64_t>(index);
            if (row >= 0 && row < p.queryRows) {
                rows.push_back(static_cast<uint32_t>(row));
                indices.push_back(static_cast<uint32_t>(index));
            } else {
                missing.push_back(static_cast<uint32_t>(index));
            }
        }
    }

    // Returns the call for `rows` only. This object must outlive the result.
    Call callOf(const Call& call) const {
        Call chosen = call;
        chosen.rowList = rows.data();
        chosen.rows = static_cast<uint32_t>(rows.size());
        chosen.options.rowBegin = 0;
        chosen.options.rowStride = 1;
        return chosen;
    }
};

} // namespace vkf::reference
