// SPDX-License-Identifier: MIT
#include "tiles/tile_search.hpp"

namespace vkf {

bool isAbout(const TuningEntry& entry, TunedKernel kernel, const TileProblem& problem) {
    return entry.path == problem.path && entry.kernel == kernel && problem.type == entry.type &&
           entry.masked == problem.masked && entry.headDim.holds(problem.headDim) &&
           entry.valueDim.holds(problem.valueDim) && entry.rows.holds(problem.queryRows) &&
           entry.keys.holds(problem.keys) && entry.heads.holds(problem.heads);
}

} // namespace vkf
