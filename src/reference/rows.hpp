// SPDX-License-Identifier: MIT
//
// Computes the selected rows of every head: shares the work out over threads and tells progress.
#pragma once

#include "reference/algorithm.hpp"

namespace vkf::reference {

// Throws std::bad_alloc. The shares that options.progress is told run from progressBegin to progressEnd.
void computeRows(const Call& call, const Output& output, double progressBegin, double progressEnd);

} // namespace vkf::reference
