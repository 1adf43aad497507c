// SPDX-License-Identifier: MIT
#include "planning/phase.hpp"

namespace vkf {

uint32_t stepsOf(const std::vector<Phase>& phases) {
    uint32_t total = 0;
    for (const Phase& phase : phases) {
        total += phase.steps();
    }
    return total;
}

} // namespace vkf
