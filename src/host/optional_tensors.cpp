// SPDX-License-Identifier: MIT
#include "host/optional_tensors.hpp"

namespace vkf::host {
namespace {

using B = VkfBindings;
using P = VkfProblem;
using T = HostTensors;

template <auto field> const void* from(const T& tensors) { return tensors.*field; }
template <auto field> void* to(const T& tensors) { return tensors.*field; }

// Bytes.
uint64_t lse(const P& p) {
    const VkfTensorLayout o = vkf::layoutOf(p, VKF_TENSOR_O);
    return has(p, VKF_ARRAY_LSE) ? uint64_t{o.batch} * o.heads * o.rows * sizeof(float) : 0;
}
uint64_t probabilities(const P& p) {
    const uint64_t rows = has(p, VKF_ARRAY_PROBABILITY_ROWS) ? p.probabilityRowCount : p.queryRows;
    return has(p, VKF_ARRAY_PROBABILITIES) ? uint64_t{p.batch} * p.queryHeads * rows * p.keys * sizeof(float) : 0;
}
uint64_t probabilityRows(const P& p) { return p.keys != 0 ? uint64_t{p.probabilityRowCount} * sizeof(int32_t) : 0; }
uint64_t keyLengths(const P& p) { return has(p, VKF_ARRAY_KEY_LENGTHS) ? uint64_t{p.batch} * sizeof(int32_t) : 0; }
uint64_t blockMask(const P& p) { return vkf::blockMaskLayoutOf(p).words * sizeof(uint32_t); }
uint64_t blockTable(const P& p) { return p.keys != 0 ? uint64_t{p.batch} * p.paging.maxPages * sizeof(int32_t) : 0; }
template <VkfArrayBits array> uint64_t ofHeads(const P& p) {
    return has(p, array) ? uint64_t{p.queryHeads} * sizeof(float) : 0;
}
template <VkfArrayBits array> uint64_t ofBias(const P& p) { return vkfBroadcastBytes(&p, array); }
// A number for each key, one sequence after the other.
uint64_t documentIds(const P& p) {
    const bool together = has(p, VKF_ARRAY_CU_SEQLENS) && !has(p, VKF_ARRAY_BLOCK_TABLE);
    return has(p, VKF_ARRAY_DOCUMENT_IDS) ? (together ? 1 : uint64_t{p.batch}) * p.keys * sizeof(int32_t) : 0;
}
uint64_t rowStarts(const P& p) { return has(p, VKF_ARRAY_CU_SEQLENS) ? (uint64_t{p.batch} + 1) * sizeof(int32_t) : 0; }
uint64_t keyStarts(const P& p) { return has(p, VKF_ARRAY_BLOCK_TABLE) ? 0 : rowStarts(p); }
uint64_t dropoutSeed(const P& p) {
    const bool used = p.dropout.probability != 0.0F && !has(p, VKF_ARRAY_DROPOUT_MASK);
    return used && has(p, VKF_ARRAY_DROPOUT_SEED) ? sizeof(uint64_t) : 0;
}

} // namespace

// clang-format off
const std::array<OptionalTensor, optionalTensorCount> optionalTensors = {{
    {"lse",             &B::lse,             lse,                             nullptr,                   to<&T::lse>},
    {"probabilities",   &B::probabilities,   probabilities,                   nullptr,                   to<&T::probabilities>},
    {"keyLengths",      &B::keyLengths,      keyLengths,                      from<&T::keyLengths>,      nullptr},
    {"blockMask",       &B::blockMask,       blockMask,                       from<&T::blockMask>,       nullptr},
    {"blockTable",      &B::blockTable,      blockTable,                      from<&T::blockTable>,      nullptr},
    {"sinks",           &B::sinks,           ofHeads<VKF_ARRAY_SINKS>,        from<&T::sinks>,           nullptr},
    {"alibiSlopes",     &B::alibiSlopes,     ofHeads<VKF_ARRAY_ALIBI_SLOPES>, from<&T::alibiSlopes>,     nullptr},
    {"bias",            &B::bias,            ofBias<VKF_ARRAY_BIAS>,          from<&T::bias>,            nullptr},
    {"mask",            &B::mask,            ofBias<VKF_ARRAY_MASK>,          from<&T::mask>,            nullptr},
    {"documentIds",     &B::documentIds,     documentIds,                     from<&T::documentIds>,     nullptr},
    {"cuSeqlensQ",      &B::cuSeqlensQ,      rowStarts,                       from<&T::cuSeqlensQ>,      nullptr},
    {"cuSeqlensK",      &B::cuSeqlensK,      keyStarts,                       from<&T::cuSeqlensK>,      nullptr},
    {"dropoutMask",     &B::dropoutMask,     ofBias<VKF_ARRAY_DROPOUT_MASK>,  from<&T::dropoutMask>,     nullptr},
    {"dropoutSeed",     &B::dropoutSeed,     dropoutSeed,                     from<&T::dropoutSeed>,     nullptr},
    {"probabilityRows", &B::probabilityRows, probabilityRows,                 from<&T::probabilityRows>, nullptr},
    {"biasFactors",     &B::biasFactors,     ofHeads<VKF_ARRAY_BIAS_FACTORS>, from<&T::biasFactors>,     nullptr},
}};
// clang-format on

} // namespace vkf::host
