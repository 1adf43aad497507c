// SPDX-License-Identifier: MIT
#include "reference/backward/head.hpp"

#include <utility>

namespace vkf::reference {
namespace {

Call swappedCall(Call call) {
    std::swap(call.layouts[VKF_TENSOR_K], call.layouts[VKF_TENSOR_V]);
    std::swap(call.inputs.k, call.inputs.v);
    call.problem.headDim = call.layout(VKF_TENSOR_K).dim;
    return call;
}

} // namespace

BackwardHead::BackwardHead(const BackwardCall& call)
    : call_(call.forward), swapped_(swappedCall(call.forward)), scores_(makeKvHead(call_)),
      values_(makeKvHead(swapped_)) {}

void BackwardHead::load(uint32_t batch, uint32_t kvHead) {
    const KeyRange keys = {0, maskOf(call_.problem, 0, call_.keyLength(batch), 0).keys};
    loadKeys(call_, batch, kvHead, keys, &scores_);
    loadKeys(swapped_, batch, kvHead, keys, &values_);
}

} // namespace vkf::reference
