// SPDX-License-Identifier: MIT
#include "calls/context.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include <vkflash/inspect.h>
#include <vkflash/tuning.h>

#include "base/boundary.hpp"
#include "calls/first_sizes.hpp"
#include "device/application_layouts.hpp"
#include "device/matrix_support.hpp"
#include "pipelines/shader_table.hpp"
#include "tiles/tuning_file.hpp"

namespace vkf {
namespace {

// Reads the device's caps. Takes away what the application did not enable or does not allow, and adds its quirks and
// element layouts.
VkfResult enabledCaps(const VkfContextCreateInfo& info, Caps* caps, VkfMessage* message) {
    const VkfDeviceQuery query{sizeof query, info.getInstanceProcAddr, info.instance, info.physicalDevice, 0, 0};
    if (const VkfResult result = readCaps(query, caps, message); result != VKF_SUCCESS) {
        return result;
    }
    if ((info.features & ~caps->features) != 0) {
        return fail(message, VKF_ERROR_MISSING_FEATURE,
                    "features has bits 0x%x, which the device does not support; it has 0x%x",
                    info.features & ~caps->features, caps->features);
    }
    if ((info.features & VKF_FEATURE_BUFFER_DEVICE_ADDRESS) == 0) {
        return fail(message, VKF_ERROR_MISSING_FEATURE,
                    "features lacks VKF_FEATURE_BUFFER_DEVICE_ADDRESS, which is needed");
    }
    caps->features = info.features;
    caps->quirks |= info.quirks;
    if (info.maxSharedMemoryBytes != 0) {
        caps->maxSharedMemoryBytes = std::min(caps->maxSharedMemoryBytes, info.maxSharedMemoryBytes);
    }
    if (info.matrixLayouts == nullptr && info.matrixLayoutCount != 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "matrixLayouts is null, but matrixLayoutCount is %zu",
                    info.matrixLayoutCount);
    }
    return useMatrixLayouts({info.matrixLayouts, info.matrixLayoutCount}, caps, message);
}

VkfResult readContextTuning(const VkfContextCreateInfo& info, const DeviceIdentity& device, TuningData* tuning,
                            VkfMessage* message) {
    if (info.tuningBytes == 0) {
        return VKF_SUCCESS;
    }
    if (info.tuning == nullptr) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "tuning is null, but tuningBytes is %zu", info.tuningBytes);
    }
    return readTuning({info.tuning, info.tuningBytes}, device, tuning, message);
}

VkfResult createContext(const VkfContextCreateInfo* given, VkfContext* context, VkfMessage* message) {
    VkfContextCreateInfo info{};
    if (const VkfResult result = readVersioned(given, &info, "info", message); result != VKF_SUCCESS) {
        return result;
    }
    if (context == nullptr || info.device == VK_NULL_HANDLE) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is null", context == nullptr ? "context" : "device");
    }
    if (constexpr VkfDebug known = VKF_DEBUG_FULL_BARRIERS | VKF_DEBUG_LIFETIMES;
        (info.debug & ~known) != 0 || info.reserved != 0) {
        return (info.debug & ~known) != 0
                   ? fail(message, VKF_ERROR_INVALID_ARGUMENT, "debug has bits 0x%x, which this version does not know",
                          info.debug & ~known)
                   : fail(message, VKF_ERROR_INVALID_ARGUMENT, "the reserved field of info is not zero");
    }
    Caps caps;
    if (const VkfResult result = enabledCaps(info, &caps, message); result != VKF_SUCCESS) {
        return result;
    }
    TuningData tuning;
    if (const VkfResult result = readContextTuning(info, caps.identity(), &tuning, message); result != VKF_SUCCESS) {
        return result;
    }
    InstanceFunctions instanceFunctions;
    DeviceFunctions functions;
    if (const VkfResult result =
            loadInstanceFunctions(info.getInstanceProcAddr, info.instance, &instanceFunctions, message);
        result != VKF_SUCCESS) {
        return result;
    }
    if (const VkfResult result = loadDeviceFunctions(instanceFunctions, info.device, &functions, message);
        result != VKF_SUCCESS) {
        return result;
    }
    if ((caps.features & VKF_FEATURE_BINARY_IMPORT) != 0) {
        loadLaunchFunctions(instanceFunctions, info.device, &functions);
    }
    auto created = std::make_unique<VkfContext_T>(info, caps, std::move(tuning), functions);
    if (const VkfResult result = created->pipelines.initialize(message); result != VKF_SUCCESS) {
        return result;
    }
    *context = created.release();
    return VKF_SUCCESS;
}

VkfResult matrixInfo(const Caps& caps, VkfType type, VkfMatrixInfo* info, VkfMessage* message) {
    if (type != VKF_TYPE_F16 && type != VKF_TYPE_BF16) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "type is %d; it must be VKF_TYPE_F16 or VKF_TYPE_BF16", type);
    }
    if (const char* whyNot = whyNoMatrices(caps, type); whyNot != nullptr) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "%s", whyNot);
    }
    const MatrixLayout& layout = caps.matrixOf(type);
    const uint32_t known = layout.viaShared ? 0 : 1;
    const uint32_t fromApplication = caps.matrixUse(type).fromApplication ? known : 0;
    return writeVersioned({sizeof *info, layout.rows, layout.columns, layout.depth, known, fromApplication, 0}, info,
                          "info", message);
}

} // namespace
} // namespace vkf

VkfResult vkfCreateContext(const VkfContextCreateInfo* info, VkfContext* context, VkfMessage* message) {
    return vkf::guarded(message, [&] { return vkf::createContext(info, context, message); });
}

void vkfDestroyContext(VkfContext context) {
    if (const uint32_t living = context != nullptr ? context->objects.count() : 0; living != 0) {
        // The context stays, so that these objects do not use freed memory.
        std::fprintf(stderr,
                     "vkflash: vkfDestroyContext: %u plans, merges, appends or backward passes of this context still "
                     "exist; destroy them before their context\n",
                     living);
        return;
    }
    delete context;
}

VkfResult vkfGetMatrixInfo(VkfContext context, VkfType type, VkfMatrixInfo* info, VkfMessage* message) {
    if (context == nullptr) {
        return vkf::fail(message, VKF_ERROR_INVALID_ARGUMENT, "context is null");
    }
    return vkf::matrixInfo(context->caps, type, info, message);
}

uint32_t vkfGetTuningEntryCount(VkfContext context) {
    return context != nullptr ? static_cast<uint32_t>(context->tuning.entries.size()) : 0;
}

uint32_t vkfGetTuningMatrixLayoutCount(VkfContext context) {
    return context != nullptr ? static_cast<uint32_t>(context->tuning.matrixLayouts.size()) : 0;
}

VkfResult vkfGetTuningMatrixLayout(VkfContext context, uint32_t index, VkfMatrixLayout* layout, VkfMessage* message) {
    if (context == nullptr || layout == nullptr) {
        return vkf::fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is null", context == nullptr ? "context" : "layout");
    }
    if (index >= context->tuning.matrixLayouts.size()) {
        return vkf::fail(message, VKF_ERROR_INVALID_ARGUMENT, "index is %u; the tuning data has %zu element layouts",
                         index, context->tuning.matrixLayouts.size());
    }
    *layout = context->tuning.matrixLayouts[index];
    return VKF_SUCCESS;
}

uint32_t vkfGetShaderVariantCount() { return static_cast<uint32_t>(vkf::shaderBinariesCount + vkf::ptxTextsCount); }

VkfResult vkfGetShaderVariant(uint32_t index, const char** name, const char** missingReason) {
    if (index >= vkfGetShaderVariantCount() || name == nullptr || missingReason == nullptr) {
        return VKF_ERROR_INVALID_ARGUMENT;
    }
    const bool isPtx = index >= vkf::shaderBinariesCount;
    const size_t text = index - vkf::shaderBinariesCount;
    *name = isPtx ? vkf::ptxTexts[text].name : vkf::shaderBinaries[index].name;
    *missingReason = isPtx ? vkf::ptxTexts[text].missingReason : vkf::shaderBinaries[index].missingReason;
    return VKF_SUCCESS;
}
