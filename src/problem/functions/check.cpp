// SPDX-License-Identifier: MIT
#include "problem/functions/check.hpp"

#include <cstring>
#include <string_view>

#include "base/identifier.hpp"
#include "base/message.hpp"

namespace vkf {
namespace {

constexpr VkfFunctionSet functionBits = VKF_FUNCTION_SCORE | VKF_FUNCTION_KEEP | VKF_FUNCTION_SCORE_DERIVATIVE;
constexpr VkfFunctionSet allBits = functionBits | VKF_FUNCTION_KEEP_BY_HEAD | VKF_FUNCTION_KEEP_BY_SEQUENCE;

VkfResult checkSet(VkfFunctionSet functions, VkfMessage* message) {
    if ((functions & ~allBits) != 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "functions has unknown bits 0x%x", functions & ~allBits);
    }
    if ((functions & functionBits) == 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "functions has no function; it must have score or keep");
    }
    const struct {
        VkfFunctionSet bit;
        VkfFunctionSet needed;
        const char* text;
    } needs[] = {
        {VKF_FUNCTION_SCORE_DERIVATIVE, VKF_FUNCTION_SCORE,
         "VKF_FUNCTION_SCORE_DERIVATIVE, which needs VKF_FUNCTION_SCORE"},
        {VKF_FUNCTION_KEEP_BY_HEAD, VKF_FUNCTION_KEEP, "VKF_FUNCTION_KEEP_BY_HEAD, which needs VKF_FUNCTION_KEEP"},
        {VKF_FUNCTION_KEEP_BY_SEQUENCE, VKF_FUNCTION_KEEP,
         "VKF_FUNCTION_KEEP_BY_SEQUENCE, which needs VKF_FUNCTION_KEEP"},
    };
    for (const auto& need : needs) {
        if ((functions & need.bit) != 0 && (functions & need.needed) == 0) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT, "functions has %s", need.text);
        }
    }
    return VKF_SUCCESS;
}

VkfResult checkArray(const VkfFunctionArray& array, size_t number, VkfMessage* message) {
    if (std::memchr(array.name, 0, sizeof array.name) == nullptr || !isIdentifier(array.name)) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "arrays[%zu].name \"%.*s\" is no identifier", number,
                    static_cast<int>(sizeof array.name), array.name);
    }
    if (elementName(array.element) == nullptr) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "arrays[%zu].element is %d, which is no VkfElement", number,
                    static_cast<int>(array.element));
    }
    if (array.reserved != 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "arrays[%zu].reserved is %u; it must be 0", number,
                    array.reserved);
    }
    return VKF_SUCCESS;
}

} // namespace

const char* elementName(VkfElement element) {
    switch (element) {
    case VKF_ELEMENT_F32:
        return "f32";
    case VKF_ELEMENT_F16:
        return "f16";
    case VKF_ELEMENT_BF16:
        return "bf16";
    case VKF_ELEMENT_I32:
        return "i32";
    case VKF_ELEMENT_U8:
        return "u8";
    default:
        return nullptr;
    }
}

VkfResult checkFunctions(VkfFunctionSet functions, std::span<const VkfFunctionArray> arrays, VkfMessage* message) {
    if (const VkfResult result = checkSet(functions, message); result != VKF_SUCCESS) {
        return result;
    }
    if (arrays.size() > VKF_MAX_FUNCTION_ARRAYS) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "arrayCount is %zu, over the limit of %d", arrays.size(),
                    VKF_MAX_FUNCTION_ARRAYS);
    }
    for (size_t i = 0; i < arrays.size(); i++) {
        if (const VkfResult result = checkArray(arrays[i], i, message); result != VKF_SUCCESS) {
            return result;
        }
        for (size_t other = 0; other < i; other++) {
            if (std::string_view(arrays[other].name) == arrays[i].name) {
                return fail(message, VKF_ERROR_INVALID_ARGUMENT, "arrays[%zu] and arrays[%zu] are both named \"%s\"",
                            other, i, arrays[i].name);
            }
        }
    }
    return VKF_SUCCESS;
}

} // namespace vkf
