// SPDX-License-Identifier: MIT
#include "drivers/compiled_kernels.hpp"

#include <cstring>
#include <ctime>
#include <string_view>
#include <utility>

#include "cli/error.hpp"

namespace vkf::tools {

namespace {

// The functions that replace Vulkan's have no argument for an object of ours.
thread_local CompiledKernels* watching = nullptr;

// Other programs on the machine do not change this time.
double processorSeconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// RADV's names of statistics. Older and newer drivers have more of them.
void add(const VkPipelineExecutableStatisticKHR& statistic, CompiledKernel& kernel) {
    const std::string_view name = statistic.name;
    const uint64_t value = statistic.value.u64;
    if (name == "VGPRs")
        kernel.registers = value;
    else if (name == "Spilled VGPRs")
        kernel.spilled = value;
    else if (name == "Spilled SGPRs")
        kernel.scalars = value;
    else if (name == "Scratch size")
        kernel.scratchBytes = value;
    else if (name == "LDS size")
        kernel.sharedBytes = value;
    else if (name == "Subgroups per SIMD")
        kernel.subgroups = value;
    else if (name == "Code size")
        kernel.codeBytes = value;
}

} // namespace

// The functions that the library gets instead of the driver's.
struct Replacements {
    // Stands for the pipeline of a kernel that is skipped.
    static inline const VkPipeline noPipeline =
        reinterpret_cast<VkPipeline>(uintptr_t{1}); // NOLINT(performance-no-int-to-ptr)

    static void readStatistics(VkDevice device, VkPipeline pipeline, CompiledKernel& kernel) {
        VkPipelineInfoKHR whole{};
        whole.sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR;
        whole.pipeline = pipeline;
        uint32_t count = 1; // a compute pipeline has one executable
        VkPipelineExecutablePropertiesKHR properties{};
        properties.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR;
        watching->getProperties_(device, &whole, &count, &properties);
        kernel.subgroupSize = properties.subgroupSize;

        VkPipelineExecutableInfoKHR one{};
        one.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR;
        one.pipeline = pipeline;
        watching->getStatistics_(device, &one, &count, nullptr);
        VkPipelineExecutableStatisticKHR empty{};
        empty.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR;
        std::vector<VkPipelineExecutableStatisticKHR> statistics(count, empty);
        watching->getStatistics_(device, &one, &count, statistics.data());
        for (const VkPipelineExecutableStatisticKHR& statistic : statistics)
            add(statistic, kernel);
    }

    // The library creates one pipeline in each call.
    static VKAPI_ATTR VkResult VKAPI_CALL createComputePipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                                                 const VkComputePipelineCreateInfo* infos,
                                                                 const VkAllocationCallbacks* allocator,
                                                                 VkPipeline* pipelines) {
        if (watching->compilation_ == Compilation::skip) {
            *pipelines = noPipeline;
            watching->kernels_.emplace_back();
            return VK_SUCCESS;
        }
        VkComputePipelineCreateInfo info = *infos;
        info.flags |= VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR;
        const double start = processorSeconds();
        const VkResult result = watching->createComputePipelines_(device, cache, count, &info, allocator, pipelines);
        if (result != VK_SUCCESS)
            return result;
        CompiledKernel kernel;
        kernel.seconds = processorSeconds() - start;
        readStatistics(device, *pipelines, kernel);
        watching->kernels_.push_back(std::move(kernel));
        return VK_SUCCESS;
    }

    static VKAPI_ATTR void VKAPI_CALL destroyPipeline(VkDevice device, VkPipeline pipeline,
                                                      const VkAllocationCallbacks* allocator) {
        if (pipeline != noPipeline)
            watching->destroyPipeline_(device, pipeline, allocator);
    }

    // The library names each pipeline after it created it.
    static VKAPI_ATTR VkResult VKAPI_CALL setDebugUtilsObjectName(VkDevice /*device*/,
                                                                  const VkDebugUtilsObjectNameInfoEXT* info) {
        constexpr std::string_view prefix = "vkflash ";
        std::string_view name = info->pObjectName;
        name.remove_prefix(name.starts_with(prefix) ? prefix.size() : 0);
        watching->kernels_.back().name = name;
        return VK_SUCCESS;
    }

    static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL getDeviceProcAddr(VkDevice device, const char* name) {
        if (std::strcmp(name, "vkCreateComputePipelines") == 0)
            return reinterpret_cast<PFN_vkVoidFunction>(createComputePipelines);
        if (std::strcmp(name, "vkDestroyPipeline") == 0)
            return reinterpret_cast<PFN_vkVoidFunction>(destroyPipeline);
        return watching->getDeviceProcAddr_(device, name);
    }

    static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL getInstanceProcAddr(VkInstance instance, const char* name) {
        if (std::strcmp(name, "vkGetDeviceProcAddr") == 0)
            return reinterpret_cast<PFN_vkVoidFunction>(getDeviceProcAddr);
        if (std::strcmp(name, "vkSetDebugUtilsObjectNameEXT") == 0)
            return reinterpret_cast<PFN_vkVoidFunction>(setDebugUtilsObjectName);
        return watching->chip_.getInstanceProcAddr()(instance, name);
    }
};

CompiledKernels::CompiledKernels(const DescribedChip& chip, Compilation compilation)
    : chip_(chip), compilation_(compilation),
      getDeviceProcAddr_(chip.load<PFN_vkGetDeviceProcAddr>("vkGetDeviceProcAddr")),
      createComputePipelines_(chip.load<PFN_vkCreateComputePipelines>("vkCreateComputePipelines")),
      destroyPipeline_(chip.load<PFN_vkDestroyPipeline>("vkDestroyPipeline")),
      getProperties_(chip.load<PFN_vkGetPipelineExecutablePropertiesKHR>("vkGetPipelineExecutablePropertiesKHR")),
      getStatistics_(chip.load<PFN_vkGetPipelineExecutableStatisticsKHR>("vkGetPipelineExecutableStatisticsKHR")) {
    watching = this;
    context_ = chip.createContext(Replacements::getInstanceProcAddr);
}

// The context destroys its pipelines through the replacements.
CompiledKernels::~CompiledKernels() {
    context_ = {};
    watching = nullptr;
}

std::vector<CompiledKernel> CompiledKernels::take() { return std::exchange(kernels_, {}); }

} // namespace vkf::tools
