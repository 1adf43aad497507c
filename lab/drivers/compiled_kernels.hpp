// SPDX-License-Identifier: MIT
//
// What a driver's compiler says about each kernel that the library makes. The library gets all Vulkan functions through
// the application's vkGetInstanceProcAddr. The one of this file replaces vkCreateComputePipelines by a function that
// also asks for statistics (VK_KHR_pipeline_executable_properties).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "drivers/described_chip.hpp"

namespace vkf::tools {

struct CompiledKernel {
    std::string name; // of the shader variant
    uint32_t subgroupSize = 0;
    uint64_t registers = 0;    // vector registers of an invocation
    uint64_t spilled = 0;      // vector registers that the compiler moved to memory
    uint64_t scalars = 0;      // scalar registers that it moved, to lanes of vector registers
    uint64_t scratchBytes = 0; // memory of a subgroup for spilled registers and arrays
    uint64_t sharedBytes = 0;
    uint64_t subgroups = 0; // that one SIMD unit runs at a time
    uint64_t codeBytes = 0;
    double seconds = 0; // processor time of the compilation

    bool spills() const { return spilled != 0 || scratchBytes != 0; }
};

// What happens to the kernels of a context.
// - compile: the driver compiles them.
// - skip: they only get their names. Their plans say which tiles the library chooses, in a small part of the time.
enum class Compilation { compile, skip };

// The kernels of one context. Only the thread that made the object may create plans of the context, and only one object
// of a thread exists at a time.
class CompiledKernels {
public:
    explicit CompiledKernels(const DescribedChip& chip, Compilation compilation = Compilation::compile);
    CompiledKernels(const CompiledKernels&) = delete;
    CompiledKernels& operator=(const CompiledKernels&) = delete;
    ~CompiledKernels();

    VkfContext context() const { return context_.get(); }

    // Returns the kernels that were created since the last call.
    std::vector<CompiledKernel> take();

private:
    friend struct Replacements;

    const DescribedChip& chip_;
    const Compilation compilation_;
    PFN_vkGetDeviceProcAddr getDeviceProcAddr_;
    PFN_vkCreateComputePipelines createComputePipelines_;
    PFN_vkDestroyPipeline destroyPipeline_;
    PFN_vkGetPipelineExecutablePropertiesKHR getProperties_;
    PFN_vkGetPipelineExecutableStatisticsKHR getStatistics_;
    std::vector<CompiledKernel> kernels_;
    Context context_;
};

} // namespace vkf::tools
