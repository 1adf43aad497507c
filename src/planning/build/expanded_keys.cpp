// SPDX-License-Identifier: MIT
//
// The phase that converts k and v of block types before attention (shaders/coopmat/expand_keys.comp).
#include "planning/build/build_parts.hpp"

#include <algorithm>

#include "tiles/kernel_tile.hpp"

namespace vkf {
namespace {

constexpr uint32_t workgroupSize = 256;
constexpr double elementOperations = 8;

} // namespace

VkfResult buildExpandedKeys(const PhaseBuilder& builder, AttentionPhases* phases, Scratch* scratch,
                            VkfMessage* message) {
    const VkfProblem& p = builder.problem().given;
    const ExpandedKeys& expanded = *builder.decision().expandedKeys;
    scratch->reserve(ScratchRange::expandedK, vkfStoredBytes(expanded.k.type, expanded.k.elements));
    scratch->reserve(ScratchRange::expandedV, vkfStoredBytes(expanded.v.type, expanded.v.elements));
    const double operations =
        elementOperations * expanded.workgroupKeys * (static_cast<double>(p.headDim) + p.valueDim);
    Phase& phase = phases->expandKeys.emplace();
    const VkfResult result = builder.make(
        Kernel::expandKeys, {}, {Operand::expandedK, Operand::k, Operand::v, Operand::expandedV},
        uint64_t{p.batch} * p.kvHeads * tilesOf(p.keys, expanded.workgroupKeys), operations, &phase, message);
    Constants& constants = phase.variant.constants;
    constants[VKF_ID_WORKGROUP_SIZE] = std::min(workgroupSize, builder.caps().maxInvocations);
    constants[VKF_ID_EXPANDED_KEYS] = expanded.workgroupKeys;
    constants[VKF_ID_WHOLE_WORDS] = expanded.wholeWords ? 1 : 0;
    return result;
}

} // namespace vkf
