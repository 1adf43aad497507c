// SPDX-License-Identifier: MIT
//
// The phase that converts k and v of block types before attention (shaders/coopmat/dequantize_keys.comp).
#include "planning/build/build_parts.hpp"

#include <algorithm>

#include "tiles/kernel_tile.hpp"

namespace vkf {
namespace {

constexpr uint32_t dequantizeWorkgroup = 256;
constexpr double elementOperations = 8;

} // namespace

VkfResult buildDequantizedKeys(const AttentionPhaseBuilder& builder, AttentionPhases* phases, Scratch* scratch,
                               VkfMessage* message) {
    const VkfProblem& p = builder.problem().fields;
    const DequantizedKeys& dequantized = *builder.decision().dequantizedKeys;
    scratch->reserve(ScratchRange::dequantizedK, vkfStoredBytes(dequantized.k.type, dequantized.k.elements));
    scratch->reserve(ScratchRange::dequantizedV, vkfStoredBytes(dequantized.v.type, dequantized.v.elements));
    const double operations =
        elementOperations * dequantized.workgroupKeys * (static_cast<double>(p.headDim) + p.valueDim);
    Phase& phase = phases->dequantizeKeys.emplace();
    const VkfResult result = builder.make(
        Kernel::dequantizeKeys, {}, {Operand::dequantizedK, Operand::k, Operand::v, Operand::dequantizedV},
        uint64_t{p.batch} * p.kvHeads * tilesOf(p.keys, dequantized.workgroupKeys), operations, &phase, message);
    Constants& constants = phase.variant.constants;
    constants[VKF_ID_WORKGROUP_SIZE] = std::min(dequantizeWorkgroup, builder.caps().maxInvocations);
    constants[VKF_ID_DEQUANTIZED_KEYS] = dequantized.workgroupKeys;
    constants[VKF_ID_WHOLE_WORDS] = dequantized.wholeWords ? 1 : 0;
    return result;
}

} // namespace vkf
