// SPDX-License-Identifier: MIT
#include "kernel.hpp"

#include <cstring>
#include <string_view>

namespace vkf::layer {
namespace {

struct KernelInterface {
    KernelKind kind;
    uint64_t bindings;
    uint64_t constants;
    std::string_view pushConstants;
};

constexpr uint64_t firstBits(uint32_t count) { return (uint64_t{1} << count) - 1; }

// The letters of the attention kernel's block are those of PushConstants in call.hpp. Kernels before ggml 0.27 have no
// atKeyIndices.
constexpr std::array interfaces = {
    KernelInterface{KernelKind::attention, firstBits(mostBindings - 1), firstBits(attentionConstantCount),
                    "uuuuuuuuuuuuuuuuuuuuuuufffuffuuu"},
    KernelInterface{KernelKind::attention, firstBits(mostBindings), firstBits(attentionConstantCount),
                    "uuuuuuuuuuuuuuuuuuuuuuufffuffuuu"},
    KernelInterface{KernelKind::reduction, firstBits(3), firstBits(1), "uuuuuu"},
};

} // namespace

std::optional<KernelKind> kindOf(const ModuleInterface& module) {
    for (const KernelInterface& known : interfaces) {
        if (module.bindings == known.bindings && module.constants == known.constants &&
            module.pushConstants == known.pushConstants) {
            return known.kind;
        }
    }
    return std::nullopt;
}

std::optional<Kernel> kernelOf(KernelKind kind, const VkSpecializationInfo* constants) {
    Kernel kernel{kind, {}};
    if (kind == KernelKind::reduction) {
        return kernel;
    }
    std::array<uint32_t, attentionConstantCount> values{};
    uint64_t found = 0;
    for (uint32_t i = 0; constants != nullptr && i < constants->mapEntryCount; i++) {
        const VkSpecializationMapEntry& entry = constants->pMapEntries[i];
        if (entry.constantID < values.size() && entry.size == sizeof(uint32_t) &&
            entry.offset + entry.size <= constants->dataSize) {
            std::memcpy(&values[entry.constantID], static_cast<const char*>(constants->pData) + entry.offset,
                        sizeof(uint32_t));
            found |= uint64_t{1} << entry.constantID;
        }
    }
    if (found != firstBits(attentionConstantCount)) {
        return std::nullopt;
    }
    std::memcpy(&kernel.constants, values.data(), sizeof kernel.constants);
    return kernel;
}

} // namespace vkf::layer
