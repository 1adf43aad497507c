// SPDX-License-Identifier: MIT
//
// Texts of the enumerations that know no device. A bit has the name of its constant, so that messages can be searched
// for; other values have short names, as the program's flags take them.
#include <vkflash/append_problem.h>
#include <vkflash/backward_problem.h>
#include <vkflash/merge_problem.h>
#include <vkflash/problem.h>

#include "base/texts.hpp"
#include "problem/arrays.hpp"

using vkf::find;
using vkf::Text;

const char* vkfResultString(VkfResult result) {
    static constexpr Text texts[] = {
        {VKF_SUCCESS, "success"},
        {VKF_ERROR_INVALID_ARGUMENT, "invalid argument"},
        {VKF_ERROR_UNSUPPORTED, "unsupported"},
        {VKF_ERROR_MISSING_FEATURE, "missing device feature"},
        {VKF_ERROR_STRUCT_SIZE, "unknown structSize"},
        {VKF_ERROR_BINDING_TOO_SMALL, "binding too small"},
        {VKF_ERROR_OUT_OF_HOST_MEMORY, "out of host memory"},
        {VKF_ERROR_OUT_OF_DEVICE_MEMORY, "out of device memory"},
        {VKF_ERROR_DEVICE_LOST, "device lost"},
        {VKF_ERROR_VULKAN, "Vulkan call failed"},
    };
    return find(texts, result, "unknown result code");
}

const char* vkfTypeName(VkfType type) {
    static constexpr Text texts[] = {
        {VKF_TYPE_F32, "f32"},      {VKF_TYPE_F16, "f16"},     {VKF_TYPE_BF16, "bf16"},   {VKF_TYPE_Q8_0, "q8_0"},
        {VKF_TYPE_F8_E4M3, "e4m3"}, {VKF_TYPE_Q4_0, "q4_0"},   {VKF_TYPE_Q4_1, "q4_1"},   {VKF_TYPE_Q5_0, "q5_0"},
        {VKF_TYPE_Q5_1, "q5_1"},    {VKF_TYPE_BOOL8, "bool8"}, {VKF_TYPE_BOOL1, "bool1"}, {VKF_TYPE_IQ4_NL, "iq4_nl"},
        {VKF_TYPE_F8_E5M2, "e5m2"},
    };
    return find(texts, type, "unknown type");
}

const char* vkfPathName(VkfPath path) {
    static constexpr Text texts[] = {
        {VKF_PATH_AUTO, "auto"},       {VKF_PATH_SCALAR, "scalar"}, {VKF_PATH_STANDARD, "standard"},
        {VKF_PATH_COOPMAT, "coopmat"}, {VKF_PATH_DECODE, "decode"}, {VKF_PATH_KEY_OUTER, "key_outer"},
        {VKF_PATH_WGMMA, "wgmma"},
    };
    return find(texts, path, "unknown path");
}

const char* vkfArrayString(VkfArray array) {
    static constexpr Text ofOtherCalls[] = {
        {VKF_ARRAY_LENGTHS, "lengths"}, {VKF_ARRAY_NEW_LENGTHS, "newLengths"},
        {VKF_ARRAY_COS, "cos"},         {VKF_ARRAY_CU_SEQLENS, "cuSeqlens"},
        {VKF_ARRAY_SIN, "sin"},         {VKF_ARRAY_PARTIAL_LSE, "partialLse"},
        {VKF_ARRAY_DLSE, "dlse"},       {VKF_ARRAY_DBIAS, "dbias"},
        {VKF_ARRAY_DSINKS, "dsinks"},   {VKF_ARRAY_ROTARY_POSITIONS, "rotaryPositions"},
    };
    const auto row = static_cast<size_t>(array);
    return row < vkf::arrayCount ? vkf::arrayTable[row].name : find(ofOtherCalls, array, "unknown array");
}

const char* vkfAlignmentString(VkfAlignment alignment) {
    static constexpr Text texts[] = {{VKF_ALIGNMENT_BOTTOM_RIGHT, "bottom-right"},
                                     {VKF_ALIGNMENT_TOP_LEFT, "top-left"}};
    return find(texts, alignment, "unknown alignment");
}

const char* vkfPrecisionString(VkfPrecision precision) {
    static constexpr Text texts[] = {{VKF_PRECISION_DEFAULT, "default"}, {VKF_PRECISION_FP32, "fp32"}};
    return find(texts, precision, "unknown precision");
}

const char* vkfTensorRoleString(VkfTensorRole role) {
    static constexpr Text texts[] = {
        {VKF_TENSOR_Q, "q"}, {VKF_TENSOR_K, "k"}, {VKF_TENSOR_V, "v"}, {VKF_TENSOR_O, "o"}};
    return find(texts, role, "unknown role");
}

const char* vkfMergeRoleString(VkfMergeRole role) {
    static constexpr Text texts[] = {{VKF_MERGE_PARTIAL, "partial"}, {VKF_MERGE_O, "o"}};
    return find(texts, role, "unknown role");
}

const char* vkfAppendRoleString(VkfAppendRole role) {
    static constexpr Text texts[] = {{VKF_APPEND_NEW_K, "newK"}, {VKF_APPEND_NEW_V, "newV"},
                                     {VKF_APPEND_K, "k"},        {VKF_APPEND_V, "v"},
                                     {VKF_APPEND_Q, "q"},        {VKF_APPEND_ROTATED_Q, "rotatedQ"}};
    return find(texts, role, "unknown role");
}

const char* vkfRotaryPairsString(VkfRotaryPairs pairs) {
    static constexpr Text texts[] = {
        {VKF_ROTARY_OFF, "off"}, {VKF_ROTARY_HALVES, "halves"}, {VKF_ROTARY_INTERLEAVED, "interleaved"}};
    return find(texts, pairs, "unknown pairs");
}

const char* vkfGradientString(VkfGradientBits bit) {
    static constexpr Text texts[] = {VKF_TEXT(VKF_GRADIENT_Q), VKF_TEXT(VKF_GRADIENT_K), VKF_TEXT(VKF_GRADIENT_V),
                                     VKF_TEXT(VKF_GRADIENT_BIAS), VKF_TEXT(VKF_GRADIENT_SINKS)};
    return find(texts, bit, "unknown bit");
}

const char* vkfBackwardRoleString(VkfBackwardRole role) {
    static constexpr Text texts[] = {
        {VKF_BACKWARD_DOUT, "dout"}, {VKF_BACKWARD_DQ, "dq"}, {VKF_BACKWARD_DK, "dk"}, {VKF_BACKWARD_DV, "dv"}};
    return find(texts, role, "unknown role");
}
