// SPDX-License-Identifier: MIT
#include "schedule/paths.hpp"

#include <bit>

namespace vkf {

VkfResult scheduleKeyOuter(const TunedDevice& device, const CheckedProblem& problem, ScheduleBuilder& builder,
                           VkfMessage* message) {
    VkfResult result = setScalarTile(device, problem, builder, message);
    if (result != VKF_SUCCESS || problem.empty) {
        return result;
    }
    const VkfProblem& p = problem.given;
    builder.setScratch(scratchLayout(p, p.batch, p.valueDim)); // o
    builder.addScratchState(1);
    const uint32_t keyTiles = (p.keys + builder.tile().keys - 1) / builder.tile().keys;
    if (keyTiles > 0) {
        const double columns = static_cast<double>(p.headDim) + p.valueDim;
        result = builder.add(Kernel::attentionScalar, {Operand::q, Operand::k, Operand::v, Operand::scratch},
                             builder.rowTiles() * keyTiles, 2.0 * builder.tile().rows * builder.tile().keys * columns,
                             message);
        if (result != VKF_SUCCESS) {
            return result;
        }
        Phase& passes = builder.lastPhase();
        passes.passes = keyTiles;
        passes.lse = Operand::scratchState;
        passes.variant.constants[VKF_ID_KEY_OUTER] = 1;
        passes.variant.constants[VKF_ID_SEQUENCES] = p.batch;
        passes.variant.constants[VKF_ID_TYPE_O] = VKF_STORED_F32;
    }
    const uint32_t lanes = std::bit_ceil((p.valueDim + 3) / 4);
    const uint32_t rows = finishWorkgroupSize / lanes;
    result = builder.add(Kernel::finishRows, {Operand::scratch, Operand::scratchState, Operand::none, Operand::o},
                         (builder.heads() * p.queryRows + rows - 1) / rows, 1.0 * rows * p.valueDim, message);
    if (result == VKF_SUCCESS) {
        Phase& finish = builder.lastPhase();
        finish.lse = has(p, VKF_USE_LSE) ? Operand::lse : Operand::none;
        finish.variant.constants[VKF_ID_WORKGROUP_SIZE] = finishWorkgroupSize;
        finish.variant.constants[VKF_ID_FINISH_LANES] = lanes;
        finish.variant.constants[VKF_ID_SEQUENCES] = p.batch;
    }
    return result;
}

} // namespace vkf
