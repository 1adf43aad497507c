// SPDX-License-Identifier: MIT
#include "support/device_inputs.hpp"

#include <algorithm>

namespace vkf::test {

DeviceInputs::DeviceInputs(host::Device& device, const Inputs& inputs)
    : q(uploaded(device, inputs.q)), k(uploaded(device, inputs.k)), v(uploaded(device, inputs.v)),
      keyLengths(uploaded(device, inputs.keyLengths)), blockTable(uploaded(device, inputs.blockTable)),
      blockMask(uploaded(device, inputs.blockMask)), sinks(uploaded(device, inputs.sinks)),
      alibiSlopes(uploaded(device, inputs.alibiSlopes)), bias(uploaded(device, inputs.bias)),
      mask(uploaded(device, inputs.mask)), documentIds(uploaded(device, inputs.documentIds)),
      cuSeqlensQ(uploaded(device, inputs.cuSeqlensQ)), cuSeqlensK(uploaded(device, inputs.cuSeqlensK)),
      dropoutMask(uploaded(device, inputs.dropoutMask)), dropoutSeed(uploaded(device, inputs.dropoutSeed)),
      probabilityRows(uploaded(device, inputs.probabilityRows)), biasFactors(uploaded(device, inputs.biasFactors)),
      vInK(inputs.vInK) {}

VkfBindings DeviceInputs::bindings(const VkfProblem& problem) const {
    const auto bound = [&problem](VkfArrayBits array, const Guarded& memory) {
        return has(problem, array) ? memory.binding() : VkfBinding{};
    };
    auto bindings = make<VkfBindings>();
    bindings.q = q.binding();
    bindings.k = k.binding();
    bindings.v = vInK ? k.binding() : v.binding();
    bindings.keyLengths = bound(VKF_ARRAY_KEY_LENGTHS, keyLengths);
    bindings.blockMask = bound(VKF_ARRAY_BLOCK_MASK, blockMask);
    bindings.blockTable = bound(VKF_ARRAY_BLOCK_TABLE, blockTable);
    bindings.sinks = bound(VKF_ARRAY_SINKS, sinks);
    bindings.alibiSlopes = bound(VKF_ARRAY_ALIBI_SLOPES, alibiSlopes);
    bindings.bias = bound(VKF_ARRAY_BIAS, bias);
    bindings.mask = bound(VKF_ARRAY_MASK, mask);
    bindings.documentIds = bound(VKF_ARRAY_DOCUMENT_IDS, documentIds);
    bindings.cuSeqlensQ = bound(VKF_ARRAY_CU_SEQLENS, cuSeqlensQ);
    bindings.cuSeqlensK = bound(VKF_ARRAY_CU_SEQLENS, cuSeqlensK);
    bindings.dropoutMask = bound(VKF_ARRAY_DROPOUT_MASK, dropoutMask);
    bindings.dropoutSeed = bound(VKF_ARRAY_DROPOUT_SEED, dropoutSeed);
    bindings.probabilityRows = bound(VKF_ARRAY_PROBABILITY_ROWS, probabilityRows);
    bindings.biasFactors = bound(VKF_ARRAY_BIAS_FACTORS, biasFactors);
    return bindings;
}

bool gapsIntact(const VkfTensorLayout& layout, const std::vector<std::byte>& bytes) {
    const uint64_t size = vkfTypeBytes(layout.type);
    std::vector<bool> written(bytes.size(), false);
    for (uint64_t b = 0; b < layout.batch; b++) {
        for (uint64_t h = 0; h < layout.heads; h++) {
            for (uint64_t row = 0; row < layout.rows; row++) {
                const uint64_t first = (b * layout.batchStride + h * layout.headStride + row * layout.rowStride) * size;
                std::fill_n(written.begin() + static_cast<std::ptrdiff_t>(first), layout.dim * size, true);
            }
        }
    }
    for (size_t i = 0; i < bytes.size(); i++) {
        if (!written[i] && bytes[i] != std::byte{0xff}) {
            return false;
        }
    }
    return true;
}

} // namespace vkf::test
