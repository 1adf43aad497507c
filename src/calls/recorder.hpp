// SPDX-License-Identifier: MIT
//
// Gets what runs a plan's phases, and records the phases into a command buffer.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <variant>
#include <vector>

#include "calls/context.hpp"
#include "pipelines/tensor_maps.hpp"
#include "planning/call_table.hpp"
#include "planning/plan.hpp"

namespace vkf {

// Gets an executable for each phase, and compiles those that the context does not have yet.
inline VkfResult getExecutables(VkfContext context, const std::vector<Phase>& phases,
                                std::vector<Executable>* executables, VkfMessage* message) {
    for (const Phase& phase : phases) {
        Executable executable;
        // NOLINTNEXTLINE(clang-analyzer-core*): without a context there is no plan
        if (const VkfResult result = context->pipelines.get(phase.variant, &executable, message);
            result != VKF_SUCCESS) {
            return result;
        }
        executables->push_back(executable);
    }
    return VKF_SUCCESS;
}

class Recorder {
public:
    // `executables` has one for each phase. The arguments must live as long as the recorder.
    Recorder(const VkfContext_T& context, const std::vector<Phase>& phases, const std::vector<Executable>& executables,
             VkCommandBuffer commandBuffer)
        : context_(context), phases_(phases), executables_(executables), commandBuffer_(commandBuffer) {}

    // Records steps [first, last) of one phase, counted from the phase's first step. `params` are the phase's push
    // constants.
    template <typename Params> void steps(size_t index, Params params, uint32_t first, uint32_t last) const {
        const Phase& phase = phases_[index];
        if (index > 0 && first == 0 && phase.barrierBefore) {
            barrier();
        }
        bind(index);
        const uint32_t stepsPerRound = phase.stepsPerRound();
        for (uint32_t step = first; step < last; step++) {
            const uint32_t round = step / stepsPerRound;
            const uint32_t stepOfRound = step % stepsPerRound;
            if (stepOfRound == 0 && round > 0 && (phase.barrierBefore || !phase.interleaved)) {
                barrier();
            }
            const uint32_t firstOfRound = stepOfRound * phase.itemsPerStep;
            params.first_item = round * phase.itemsPerRound() + firstOfRound;
            run(index, params, std::min(phase.itemsPerStep, phase.itemsPerRound() - firstOfRound));
        }
    }

    // Records the phase that writes a call table. No barrier comes before it.
    void table(size_t index, std::span<const uint32_t> words, uint64_t tableAddress) const {
        bind(index);
        for (uint32_t i = 0; i < tableBatches(words); i++) {
            run(index, tableBatch(words, tableAddress, i), 1);
        }
    }

    // Records the phase that writes a table, which may have the arrays of functions before it.
    template <typename Table>
    void table(size_t index, const Table& table, const shared::FunctionArrays* arrays, uint64_t tableAddress) const {
        if (arrays != nullptr) {
            this->table(index, wordsOf(TableWithArrays<Table>{*arrays, table}), tableAddress - sizeof *arrays);
        } else {
            const size_t first = firstUsedWord(table);
            this->table(index, wordsOf(table).subspan(first), tableAddress + first * sizeof(uint32_t));
        }
    }

    // Records a phase of one dispatch over all items. No barrier comes before it, so it must read nothing that the call
    // writes.
    template <typename Params> void once(size_t index, const Params& params) const {
        bind(index);
        run(index, params, phases_[index].items);
    }

    // Calls visit(index, first, last) for each phase with steps among [firstStep, firstStep + stepCount) of all phases,
    // and for each round of interleaved phases. Steps [first, last) are counted from the phase's first step.
    template <typename Visit> void forEachPhase(uint32_t firstStep, uint32_t stepCount, const Visit& visit) const {
        const uint64_t end = uint64_t{firstStep} + stepCount;
        uint64_t begin = 0; // of the steps of this round of the phase
        size_t next = 0;
        for (size_t i = 0; i < phases_.size(); i = next) {
            next = i + 1;
            while (next < phases_.size() && phases_[next].interleaved) {
                next++;
            }
            const uint32_t rounds = next - i > 1 ? phases_[i].rounds : 1;
            for (uint32_t round = 0; round < rounds; round++) {
                for (size_t index = i; index < next; index++) {
                    const uint64_t steps = phases_[index].steps() / rounds;
                    const uint64_t first = std::max<uint64_t>(firstStep, begin);
                    const uint64_t last = std::min(end, begin + steps);
                    if (first < last) {
                        visit(index, static_cast<uint32_t>(round * steps + first - begin),
                              static_cast<uint32_t>(round * steps + last - begin));
                    }
                    begin += steps;
                }
            }
        }
    }

private:
    void barrier() const {
        VkMemoryBarrier barrier{};
        barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
        barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
        barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
        context_.functions.vkCmdPipelineBarrier(commandBuffer_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                                VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, nullptr, 0,
                                                nullptr);
    }

    // Launches need no binding.
    void bind(size_t index) const {
        if (const auto* pipeline = std::get_if<VkPipeline>(&executables_[index])) {
            context_.functions.vkCmdBindPipeline(commandBuffer_, VK_PIPELINE_BIND_POINT_COMPUTE, *pipeline);
        }
    }

    // Dispatches the pipeline, which is bound, or launches the kernel.
    template <typename Params> void run(size_t index, const Params& params, uint32_t workgroups) const {
        if (const auto* launch = std::get_if<Launch>(&executables_[index])) {
            this->launch(*launch, params, workgroups);
            return;
        }
        context_.functions.vkCmdPushConstants(commandBuffer_, context_.pipelines.layout(), VK_SHADER_STAGE_COMPUTE_BIT,
                                              0, sizeof params, &params);
        context_.functions.vkCmdDispatch(commandBuffer_, workgroups, 1, 1);
    }

    // Vulkan copies all parameters during the call.
    template <typename Params> void launch(const Launch& launch, const Params& params, uint32_t workgroups) const {
        shared::WgmmaMaps maps{};
        if constexpr (std::is_same_v<Params, shared::CallParams>) {
            if (launch.tensorMaps) {
                maps = tensorMapsOf(params, launch.constants);
            }
        }
        const std::array<const void*, 3> parameters = {&params, &launch.constants, &maps};
        VkCuLaunchInfoNVX info{};
        info.sType = VK_STRUCTURE_TYPE_CU_LAUNCH_INFO_NVX;
        info.function = launch.function;
        info.gridDimX = workgroups;
        info.gridDimY = 1;
        info.gridDimZ = 1;
        info.blockDimX = launch.threads;
        info.blockDimY = 1;
        info.blockDimZ = 1;
        info.sharedMemBytes = launch.sharedBytes;
        info.paramCount = launch.tensorMaps ? 3 : 2;
        info.pParams = parameters.data();
        context_.functions.vkCmdCuLaunchKernelNVX(commandBuffer_, &info);
    }

    const VkfContext_T& context_;
    const std::vector<Phase>& phases_;
    const std::vector<Executable>& executables_;
    VkCommandBuffer commandBuffer_;
};

} // namespace vkf
