// SPDX-License-Identifier: MIT
#include "host/optional_tensors.hpp"

namespace vkf::host {
namespace {

using B = VkfBindings;
using T = HostTensors;

template <auto field> const void* from(const T& tensors) { return tensors.*field; }
template <auto field> void* to(const T& tensors) { return tensors.*field; }

} // namespace

// clang-format off
const std::array<OptionalTensor, optionalTensorCount> optionalTensors = {{
    {VKF_ARRAY_LSE,              "lse",             &B::lse,             nullptr, to<&T::lse>},
    {VKF_ARRAY_PROBABILITIES,    "probabilities",   &B::probabilities,   nullptr, to<&T::probabilities>},
    {VKF_ARRAY_KEY_LENGTHS,      "keyLengths",      &B::keyLengths,      from<&T::keyLengths>, nullptr},
    {VKF_ARRAY_BLOCK_MASK,       "blockMask",       &B::blockMask,       from<&T::blockMask>, nullptr},
    {VKF_ARRAY_BLOCK_TABLE,      "blockTable",      &B::blockTable,      from<&T::blockTable>, nullptr},
    {VKF_ARRAY_SINKS,            "sinks",           &B::sinks,           from<&T::sinks>, nullptr},
    {VKF_ARRAY_ALIBI_SLOPES,     "alibiSlopes",     &B::alibiSlopes,     from<&T::alibiSlopes>, nullptr},
    {VKF_ARRAY_BIAS,             "bias",            &B::bias,            from<&T::bias>, nullptr},
    {VKF_ARRAY_MASK,             "mask",            &B::mask,            from<&T::mask>, nullptr},
    {VKF_ARRAY_DOCUMENT_IDS,     "documentIds",     &B::documentIds,     from<&T::documentIds>, nullptr},
    {VKF_ARRAY_CU_SEQLENS_Q,     "cuSeqlensQ",      &B::cuSeqlensQ,      from<&T::cuSeqlensQ>, nullptr},
    {VKF_ARRAY_CU_SEQLENS_K,     "cuSeqlensK",      &B::cuSeqlensK,      from<&T::cuSeqlensK>, nullptr},
    {VKF_ARRAY_DROPOUT_MASK,     "dropoutMask",     &B::dropoutMask,     from<&T::dropoutMask>, nullptr},
    {VKF_ARRAY_DROPOUT_SEED,     "dropoutSeed",     &B::dropoutSeed,     from<&T::dropoutSeed>, nullptr},
    {VKF_ARRAY_PROBABILITY_ROWS, "probabilityRows", &B::probabilityRows, from<&T::probabilityRows>, nullptr},
    {VKF_ARRAY_BIAS_FACTORS,     "biasFactors",     &B::biasFactors,     from<&T::biasFactors>, nullptr},
}};
// clang-format on

} // namespace vkf::host
