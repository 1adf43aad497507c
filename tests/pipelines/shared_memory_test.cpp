// SPDX-License-Identifier: MIT
//
// The shared memory that shaders declare for the plans of random problems, counted in their SPIR-V. A tile that leaves
// out a few bytes fails only on a device whose shared memory it fills.
#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <span>
#include <vector>

#include "pipelines/shader_table.hpp"
#include "pipelines/specialized_module.hpp"
#include "pipelines/spirv.hpp"
#include "planning/backward/backward_plan.hpp"
#include "planning/plan.hpp"
#include "problem/backward.hpp"
#include "proof/plans/described_devices.hpp"
#include "proof/plans/random_problems.hpp"
#include "shared/constant_ids.h"
#include "support/everywhere.hpp"

namespace {

using vkf::test::DescribedDevice;

// Bytes of the variables in shared memory of a specialized module. Their types are numbers, vectors and arrays.
uint64_t sharedBytesOf(std::span<const uint32_t> module) {
    std::vector<uint64_t> values(module[3], 0); // of constants; bytes of a type, for a pointer of what it points to
    uint64_t bytes = 0;
    vkf::forEachInstruction(module, [&](uint32_t opcode, vkf::Instruction words) {
        switch (opcode) {
        case vkf::opTypeInt:
        case vkf::opTypeFloat:
            values[words[1]] = words[2] / 8;
            break;
        case vkf::opTypeVector:
            values[words[1]] = values[words[2]] * words[3];
            break;
        case vkf::opTypeArray:
            values[words[1]] = values[words[2]] * values[words[3]];
            break;
        case vkf::opTypePointer:
            values[words[1]] = values[words[3]];
            break;
        case vkf::opConstant:
            values[words[2]] = words[3];
            break;
        case vkf::opVariable:
            bytes += words[3] == vkf::workgroupStorage ? values[words[1]] : 0;
            break;
        default:
            break;
        }
    });
    return bytes;
}

// 0 for a kernel of path wgmma, which has no SPIR-V.
uint64_t sharedBytesOf(const vkf::Variant& variant) {
    const vkf::ShaderBinary* binary =
        vkf::findShader({vkf::shaderBinaries, vkf::shaderBinariesCount}, vkf::shaderName(variant));
    return binary == nullptr || binary->units == nullptr
               ? 0
               : sharedBytesOf(vkf::specialized(binary->words(), variant.constants));
}

// Checks a plan's phases. isMain(kernel): whether the plan shows the tile of this kernel, with `shown` bytes. Returns
// how many phases have it. Rows whose bias is a mask may have another tile.
template <typename IsMain>
size_t check(const DescribedDevice& device, const std::vector<vkf::Phase>& phases, uint32_t shown,
             const IsMain& isMain) {
    size_t count = 0;
    for (const vkf::Phase& phase : phases) {
        const uint64_t bytes = sharedBytesOf(phase.variant);
        INFO(device.name << ", " << vkf::shaderName(phase.variant));
        CHECK(bytes <= device.caps.maxSharedMemoryBytes);
        const bool ofOtherTile = phase.variant.constants[VKF_ID_ROW_CLASS] == VKF_ROWS_BIAS_MASK;
        if (isMain(phase.variant.kernel) && bytes != 0 && !ofOtherTile) {
            CHECK(bytes <= shown);
            count++;
        }
    }
    return count;
}

} // namespace

TEST_CASE("no plan declares more shared memory than it shows, or than its device has", "[pipelines]") {
    size_t counted = 0;
    const std::vector<DescribedDevice> devices = vkf::test::describedDevices();
    for (uint32_t seed = 0; seed < (vkf::test::wholeSweeps() ? 20000 : 1000); seed++) {
        for (size_t i = seed % 3; i < devices.size(); i += 3) {
            INFO("seed " << seed);
            const vkf::TunedDevice device = {devices[i].caps, devices[i].tuning};
            vkf::test::Dice dice(seed);
            const VkfProblem problem = vkf::test::randomPlanProblem(dice);
            vkf::CheckedProblem checked{};
            vkf::AttentionPlan plan;
            if (vkf::checkProblem(&problem, &checked, nullptr) == VKF_SUCCESS &&
                vkf::makePlan(device, checked, &plan, nullptr) == VKF_SUCCESS) {
                counted += check(devices[i], plan.phases, plan.tile.sharedBytes,
                                 [&](vkf::Kernel kernel) { return kernel == plan.kernel; });
            }
            const VkfProblem forward = vkf::test::randomForwardProblem(dice);
            const VkfBackwardProblem backward = vkf::test::randomBackwardProblem(dice, forward);
            vkf::CheckedBackward checkedBackward{};
            vkf::BackwardPlan backwardPlan;
            if (vkf::checkBackward(&backward, &checkedBackward, nullptr) == VKF_SUCCESS &&
                vkf::makeBackwardPlan(device, checkedBackward, &backwardPlan, nullptr) == VKF_SUCCESS) {
                counted +=
                    check(devices[i], backwardPlan.phases, backwardPlan.tile.sharedBytes, [](vkf::Kernel kernel) {
                        return kernel == vkf::Kernel::backwardScalar || kernel == vkf::Kernel::backwardScalarListed ||
                               kernel == vkf::Kernel::backwardCoopmat || kernel == vkf::Kernel::backwardCoopmatListed;
                    });
            }
        }
    }
    CHECK(counted > 50);
}
