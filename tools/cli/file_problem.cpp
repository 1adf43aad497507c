// SPDX-License-Identifier: MIT
#include "cli/file_problem.hpp"

#include "cli/error.hpp"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

VkfProblem fileProblem(const Inputs& inputs, const MathOptions& math, const DropoutOptions& dropout) {
    if (inputs.blockMask.has_value() != (math.maskBlock != 0))
        failInput("{}: is missing; a block mask needs --block-mask and --mask-block",
                  inputs.blockMask ? "--mask-block" : "--block-mask");
    VkfProblem problem = problemOf(inputs);
    if (math.alibi && has(problem, VKF_USE_ALIBI_SLOPES))
        failInput("--alibi: means the usual slopes, which --alibi-slopes replaces");
    applyMathOptions(math, problem);
    applyDropoutOptions(dropout, problem);
    return problem;
}

} // namespace vkf::tools
