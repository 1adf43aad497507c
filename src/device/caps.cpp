// SPDX-License-Identifier: MIT
#include "device/caps.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/message.hpp"
#include "base/vulkan_result.hpp"
#include "device/chips.hpp"
#include "device/quirks.hpp"

namespace vkf {
namespace {

// Fills *list by get(count, items), one of Vulkan's functions for lists. `empty` is an item before the driver fills it.
template <typename Item, typename Get> VkResult readList(const Get& get, const Item& empty, std::vector<Item>* list) {
    for (;;) {
        uint32_t count = 0;
        if (const VkResult result = get(&count, static_cast<Item*>(nullptr)); result != VK_SUCCESS) {
            return result;
        }
        list->assign(count, empty);
        const VkResult result = get(&count, list->data());
        // The list can grow between the two calls.
        if (result != VK_INCOMPLETE) {
            list->resize(result == VK_SUCCESS ? count : 0);
            return result;
        }
    }
}

bool contains(const std::vector<VkExtensionProperties>& extensions, const char* name) {
    return std::any_of(extensions.begin(), extensions.end(), [name](const VkExtensionProperties& extension) {
        return std::strcmp(extension.extensionName, name) == 0;
    });
}

// What the device knows: structs that a query may contain, and extensions.
struct Known {
    bool subgroupSizeControl = false;
    bool subgroupSizeExtension = false;
    bool cooperativeMatrix = false;
    bool bfloat16 = false;
    bool binaryImport = false; // an extension without a struct
};

VkfResult readKnownStructs(const InstanceFunctions& functions, VkPhysicalDevice device, uint32_t apiVersion,
                           Known* known, VkfMessage* message) {
    std::vector<VkExtensionProperties> extensions;
    const auto get = [&](uint32_t* count, VkExtensionProperties* items) {
        return functions.vkEnumerateDeviceExtensionProperties(device, nullptr, count, items);
    };
    if (const VkResult result = readList(get, VkExtensionProperties{}, &extensions); result != VK_SUCCESS) {
        return failVulkan(message, result, "vkEnumerateDeviceExtensionProperties");
    }
    known->subgroupSizeExtension = contains(extensions, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
    known->subgroupSizeControl = apiVersion >= VK_API_VERSION_1_3 || known->subgroupSizeExtension;
    known->cooperativeMatrix = functions.vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR != nullptr &&
                               contains(extensions, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
    known->bfloat16 = contains(extensions, VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME);
    known->binaryImport = contains(extensions, VK_NVX_BINARY_IMPORT_EXTENSION_NAME);
    return VKF_SUCCESS;
}

// Links structs into a chain for a query, the last one first.
class QueryChain {
public:
    template <typename Struct> void add(Struct& next, VkStructureType type) {
        next.sType = type;
        next.pNext = first_;
        first_ = &next;
    }
    void* first() const { return first_; }

private:
    void* first_ = nullptr;
};

void readProperties(const InstanceFunctions& functions, VkPhysicalDevice device, const Known& known, Caps* caps) {
    VkPhysicalDeviceSubgroupSizeControlProperties sizes{};
    sizes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES;
    VkPhysicalDeviceDriverProperties driver{};
    driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
    driver.pNext = known.subgroupSizeControl ? &sizes : nullptr;
    VkPhysicalDeviceSubgroupProperties subgroup{};
    subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
    subgroup.pNext = &driver;
    VkPhysicalDeviceProperties2 properties{};
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    properties.pNext = &subgroup;
    functions.vkGetPhysicalDeviceProperties2(device, &properties);

    const VkPhysicalDeviceLimits& limits = properties.properties.limits;
    caps->driver = driver.driverID;
    caps->vendorId = properties.properties.vendorID;
    caps->deviceId = properties.properties.deviceID;
    caps->maxSharedMemoryBytes = limits.maxComputeSharedMemorySize;
    caps->maxInvocations = std::min(limits.maxComputeWorkGroupInvocations, limits.maxComputeWorkGroupSize[0]);
    caps->maxGroupCount = limits.maxComputeWorkGroupCount[0];
    caps->subgroupSize = subgroup.subgroupSize;
    const bool inCompute = (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
    caps->subgroupShuffle = inCompute && (subgroup.supportedOperations & VK_SUBGROUP_FEATURE_SHUFFLE_BIT) != 0;
    caps->subgroupVote = inCompute && (subgroup.supportedOperations & VK_SUBGROUP_FEATURE_VOTE_BIT) != 0;
    caps->subgroupSizeRequired = (sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
}

void readFeatures(const InstanceFunctions& functions, VkPhysicalDevice device, const Known& known, Caps* caps) {
    VkPhysicalDevice16BitStorageFeatures storage{};
    VkPhysicalDeviceBufferDeviceAddressFeatures address{};
    VkPhysicalDeviceVulkanMemoryModelFeatures memoryModel{};
    VkPhysicalDeviceShaderFloat16Int8Features float16{};
    VkPhysicalDeviceSubgroupSizeControlFeatures subgroups{};
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix{};
    VkPhysicalDeviceShaderBfloat16FeaturesKHR bfloat16{};
    QueryChain chain;
    chain.add(storage, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES);
    chain.add(address, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES);
    chain.add(memoryModel, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES);
    chain.add(float16, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES);
    if (known.subgroupSizeControl) {
        chain.add(subgroups, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES);
    }
    if (known.cooperativeMatrix) {
        chain.add(matrix, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR);
    }
    if (known.bfloat16) {
        chain.add(bfloat16, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR);
    }
    VkPhysicalDeviceFeatures2 features{};
    features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    features.pNext = chain.first();
    functions.vkGetPhysicalDeviceFeatures2(device, &features);

    const bool fullSubgroups = subgroups.subgroupSizeControl == VK_TRUE && subgroups.computeFullSubgroups == VK_TRUE;
    const bool matrices = matrix.cooperativeMatrix == VK_TRUE && memoryModel.vulkanMemoryModel == VK_TRUE &&
                          float16.shaderFloat16 == VK_TRUE;
    const struct {
        bool supported;
        VkfFeatures bit;
    } bits[] = {
        {address.bufferDeviceAddress == VK_TRUE, VKF_FEATURE_BUFFER_DEVICE_ADDRESS},
        {storage.storageBuffer16BitAccess == VK_TRUE, VKF_FEATURE_STORAGE_16BIT},
        {fullSubgroups, VKF_FEATURE_FULL_SUBGROUPS},
        {matrices, VKF_FEATURE_COOPERATIVE_MATRIX},
        {matrices && bfloat16.shaderBFloat16CooperativeMatrix == VK_TRUE && bfloat16.shaderBFloat16Type == VK_TRUE,
         VKF_FEATURE_BFLOAT16_MATRIX},
        {known.binaryImport && hasWgmma(caps->identity()), VKF_FEATURE_BINARY_IMPORT},
    };
    for (const auto& feature : bits) {
        caps->features |= feature.supported ? feature.bit : 0;
    }
}

// The 16-bit type that subgroups multiply in this shape and add up in fp32; VKF_TYPE_F32 = none.
VkfType multipliedType(const VkCooperativeMatrixPropertiesKHR& shape) {
    const bool sumsInFp32 = shape.CType == VK_COMPONENT_TYPE_FLOAT32_KHR &&
                            shape.ResultType == VK_COMPONENT_TYPE_FLOAT32_KHR && shape.scope == VK_SCOPE_SUBGROUP_KHR;
    if (!sumsInFp32 || shape.AType != shape.BType) {
        return VKF_TYPE_F32;
    }
    return shape.AType == VK_COMPONENT_TYPE_FLOAT16_KHR    ? VKF_TYPE_F16
           : shape.AType == VK_COMPONENT_TYPE_BFLOAT16_KHR ? VKF_TYPE_BF16
                                                           : VKF_TYPE_F32;
}

// Chooses among the shapes of a 16-bit type. In a known layout, results must be operands of the next product as they
// are, so that a shape needs as many columns as depth.
MatrixUse matrixUseOf(VkfType type, const Caps& caps) {
    MatrixUse use;
    for (const MatrixShape& shape : caps.matrixShapes) {
        if (shape.type != type) {
            continue;
        }
        if (use.known.rows == 0 && shape.columns == shape.depth) {
            use.known = knownMatrixLayout(caps.driver, caps.subgroupSize, shape.rows, shape.depth);
        }
        use.viaShared =
            larger(use.viaShared, viaSharedMatrixLayout(caps.subgroupSize, shape.rows, shape.columns, shape.depth));
    }
    const MatrixLayout& known = use.known;
    const bool hasSmallShape =
        std::any_of(caps.matrixShapes.begin(), caps.matrixShapes.end(), [&](const MatrixShape& shape) {
            return shape.type == type && shape.rows == known.rows && shape.columns == known.smallShapeColumns &&
                   shape.depth == known.depth;
        });
    use.known.smallShapeColumns = hasSmallShape ? known.smallShapeColumns : 0;
    return use;
}

VkfResult readMatrices(const InstanceFunctions& functions, VkPhysicalDevice device, Caps* caps, VkfMessage* message) {
    VkCooperativeMatrixPropertiesKHR empty{};
    empty.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
    std::vector<VkCooperativeMatrixPropertiesKHR> shapes;
    const auto get = [&](uint32_t* count, VkCooperativeMatrixPropertiesKHR* items) {
        return functions.vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR(device, count, items);
    };
    if (const VkResult result = readList(get, empty, &shapes); result != VK_SUCCESS) {
        return failVulkan(message, result, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
    }
    for (const VkCooperativeMatrixPropertiesKHR& shape : shapes) {
        if (const VkfType type = multipliedType(shape); type != VKF_TYPE_F32) {
            caps->matrixShapes.push_back({type, shape.MSize, shape.NSize, shape.KSize});
        }
    }
    caps->f16Matrix = matrixUseOf(VKF_TYPE_F16, *caps);
    caps->bf16Matrix = matrixUseOf(VKF_TYPE_BF16, *caps);
    return VKF_SUCCESS;
}

} // namespace

VkfResult readCaps(const VkfDeviceQuery& query, Caps* caps, VkfMessage* message) {
    const char* missing = query.getInstanceProcAddr == nullptr     ? "getInstanceProcAddr"
                          : query.instance == VK_NULL_HANDLE       ? "instance"
                          : query.physicalDevice == VK_NULL_HANDLE ? "physicalDevice"
                                                                   : nullptr;
    if (missing != nullptr) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is null", missing);
    }
    InstanceFunctions functions;
    if (const VkfResult result = loadInstanceFunctions(query.getInstanceProcAddr, query.instance, &functions, message);
        result != VKF_SUCCESS) {
        return result;
    }
    VkPhysicalDeviceProperties2 properties{};
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    functions.vkGetPhysicalDeviceProperties2(query.physicalDevice, &properties);
    const uint32_t apiVersion = properties.properties.apiVersion;
    if (apiVersion < VK_API_VERSION_1_2) {
        return fail(message, VKF_ERROR_MISSING_FEATURE, "the device has Vulkan %u.%u; 1.2 is needed",
                    VK_API_VERSION_MAJOR(apiVersion), VK_API_VERSION_MINOR(apiVersion));
    }
    Caps read;
    Known known;
    if (const VkfResult result = readKnownStructs(functions, query.physicalDevice, apiVersion, &known, message);
        result != VKF_SUCCESS) {
        return result;
    }
    read.subgroupSizeExtension = known.subgroupSizeExtension;
    readProperties(functions, query.physicalDevice, known, &read);
    readFeatures(functions, query.physicalDevice, known, &read);
    if ((read.features & VKF_FEATURE_COOPERATIVE_MATRIX) != 0) {
        if (const VkfResult result = readMatrices(functions, query.physicalDevice, &read, message);
            result != VKF_SUCCESS) {
            return result;
        }
    }
    read.quirks = driverQuirks(read.driver);
    if ((read.features & VKF_FEATURE_BUFFER_DEVICE_ADDRESS) == 0) {
        return fail(message, VKF_ERROR_MISSING_FEATURE,
                    "the device has no bufferDeviceAddress, or its instance was made for a Vulkan before 1.2");
    }
    *caps = read;
    return VKF_SUCCESS;
}

VkfResult requireStorage16(const Caps& caps, const char* needy, VkfMessage* message) {
    if (caps.storage16()) {
        return VKF_SUCCESS;
    }
    return fail(message, VKF_ERROR_UNSUPPORTED,
                "%s storageBuffer16BitAccess (VKF_FEATURE_STORAGE_16BIT), which the device or the context lacks",
                needy);
}

} // namespace vkf
