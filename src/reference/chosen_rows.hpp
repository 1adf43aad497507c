// SPDX-License-Identifier: MIT
//
// The rows whose probabilities a problem asks for: a list of the rows that exist, and of their places among the
// probabilities.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/call.hpp"

namespace vkf::reference {

struct ChosenRows {
    std::vector<uint32_t> rows;
    std::vector<uint32_t> places;  // of these rows
    std::vector<uint32_t> nowhere; // places whose number is not a row; their probabilities are 0

    // Takes the entries of the problem's list that the options select. Without a list, takes the query rows that the
    // options select. A call without an output has no list, and no rows.
    explicit ChosenRows(const Call& call) {
        const VkfProblem& p = call.problem;
        if (call.empty()) {
            return;
        }
        for (uint64_t place = call.options.rowBegin; place < call.probabilityRows(); place += call.options.rowStride) {
            const int64_t row =
                has(p, VKF_USE_PROBABILITY_ROWS) ? call.inputs.probabilityRows[place] : static_cast<int64_t>(place);
            if (row >= 0 && row < p.queryRows) {
                rows.push_back(static_cast<uint32_t>(row));
                places.push_back(static_cast<uint32_t>(place));
            } else {
                nowhere.push_back(static_cast<uint32_t>(place));
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
