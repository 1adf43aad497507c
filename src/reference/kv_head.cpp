// SPDX-License-Identifier: MIT
#include "kv_head.hpp"

#include "element.hpp"

namespace vkf::reference {

KvHead makeKvHead(const Call& call) {
    KvHead head;
    head.headDim = call.problem.headDim;
    head.columns = padded(call.layout(VKF_TENSOR_V).dim);
    head.k.resize(padded(call.problem.keys) * head.headDim);
    head.v.resize(call.problem.keys * head.columns);
    return head;
}

void loadKeys(const Call& call, uint32_t batch, uint32_t kvHead, KeyRange keys, KvHead* to) {
    const VkfTensorLayout& k = call.layout(VKF_TENSOR_K);
    const VkfTensorLayout& v = call.layout(VKF_TENSOR_V);
    for (int64_t key = keys.begin; key < keys.end; key++) {
        const auto row = static_cast<uint64_t>(key);
        float* group = to->k.data() + row / lanes * lanes * to->headDim;
        loadElements(k.type, call.inputs.k, elementOf(k, batch, kvHead, row), k.dim, group + row % lanes, lanes);
        loadElements(v.type, call.inputs.v, elementOf(v, batch, kvHead, row), v.dim, to->v.data() + row * to->columns,
                     1);
    }
}

} // namespace vkf::reference
