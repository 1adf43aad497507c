// SPDX-License-Identifier: MIT
//
// Computes the selected rows of every head. Divides the work among threads, and reports progress.
#pragma once

#include "reference/algorithm.hpp"

namespace vkf::reference {

// Calls options.progress with shares from progressBegin to progressEnd. Throws std::bad_alloc.
void computeRows(const Call& call, const Output& output, double progressBegin, double progressEnd);

} // namespace vkf::reference
