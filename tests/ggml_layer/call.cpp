// SPDX-License-Identifier: MIT
#include "call.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace vkf::test {
namespace {

constexpr uint32_t flagMask = 2, flagSoftcap = 4, sinksBit = 1 << 24;
constexpr uint16_t halfZero = 0, halfMinusOne = 0xbc00, halfMinusInfinity = 0xfc00;
constexpr float scale = 0.25F;

double valueOf(uint16_t half) {
    return half == halfZero ? 0 : half == halfMinusOne ? -1 : -std::numeric_limits<double>::infinity();
}

} // namespace

Call::Call(FakeDevice& device, const CallOptions& options)
    : q(device.buffer(4 * heads * rows * headDim)), k(device.buffer(4 * kvHeads * options.keys * headDim)),
      v(device.buffer(4 * kvHeads * options.keys * headDim)), maskBuffer(device.buffer(2 * maskRows * options.keys)),
      sinkBuffer(device.buffer(4 * heads)), result(device.buffer(4 * heads * rows * headDim)),
      partial(device.buffer(4 * heads * rows * (headDim + 2) * options.splitCount())), device_(device),
      options_(options) {
    fill(1);
}

void Call::fill(uint32_t seed) {
    std::mt19937 dice(seed);
    std::uniform_real_distribution<float> number(-1, 1);
    for (const FakeBuffer* buffer : {&q, &k, &v, &sinkBuffer}) {
        std::generate_n(buffer->floats(), buffer->bytes / sizeof(float), [&] { return number(dice); });
    }
    auto* mask = static_cast<uint16_t*>(maskBuffer.data);
    for (uint32_t i = 0; i < maskRows * options_.keys; i++) {
        const uint32_t kind = dice() % 4;
        mask[i] = kind == 0 ? halfMinusInfinity : kind == 1 ? halfMinusOne : halfZero;
    }
}

FakeConstants Call::constants() const {
    FakeConstants constants{};
    constants[0] = 1;
    constants[tileRowsConstant] = tileRows;
    constants[headDimConstant] = constants[valueDimConstant] = headDim;
    constants[flagsConstant] = (options_.mask ? flagMask : 0) | (options_.softcap != 0 ? flagSoftcap : 0);
    constants[keyTypeConstant] = constants[valueTypeConstant] = 0; // fp32
    constants[keyBytesConstant] = constants[valueBytesConstant] = 16;
    return constants;
}

FakeWords Call::words() const {
    FakeWords words{};
    const uint32_t keys = options_.keys;
    words[rowsWord] = options_.grouped ? heads / kvHeads : rows;
    words[keysWord] = keys;
    words[resultHeadsWord] = words[queryHeadsWord] = heads;
    words[resultRowsWord] = rows;
    words[resultSequencesWord] = words[querySequencesWord] = words[keySequencesWord] = words[valueSequencesWord] = 1;
    words[keyHeadsWord] = words[valueHeadsWord] = kvHeads;
    if (options_.mask) {
        words[maskRowsWord] = maskRows;
        words[maskHeadsWord] = words[maskSequencesWord] = 1;
    }
    words[queryRowWord] = headDim;
    words[queryHeadWord] = 4 * headDim * rows;
    words[querySequenceWord] = 4 * headDim * rows * heads;
    words[keyRowWord] = words[valueRowWord] = headDim / 4;
    words[keyHeadWord] = words[valueHeadWord] = 4 * headDim * keys;
    words[keySequenceWord] = words[valueSequenceWord] = 4 * headDim * keys * kvHeads;
    words[scaleWord] = wordOf(options_.softcap != 0 ? scale / options_.softcap : scale);
    words[maxBiasWord] = wordOf(options_.maxBias);
    words[softcapWord] = wordOf(options_.softcap);
    words[headsAndSinksWord] = heads | (options_.sinks ? sinksBit : 0); // 4 is a power of two
    words[firstSlopeWord] = wordOf(std::exp2(-options_.maxBias / heads));
    words[secondSlopeWord] = wordOf(std::exp2(-options_.maxBias / 2 / heads));
    words[groupedHeadsWord] = options_.grouped ? heads / kvHeads : 1;
    const uint32_t splits = options_.splitCount();
    words[splitKeysWord] = (keys + splits - 1) / splits;
    words[splitsWord] = options_.splits;
    return words;
}

std::array<uint32_t, 3> Call::groups() const {
    const uint32_t tiles = options_.grouped ? rows : (rows + tileRows - 1) / tileRows;
    return {tiles * options_.splitCount(), options_.grouped ? kvHeads : heads, 1};
}

std::array<uint32_t, 6> Call::reductionWords() const {
    return {headDim, heads, rows, 1, options_.splits, options_.sinks ? 1U : 0U};
}

VkDescriptorSet Call::attentionSet() {
    const VkBuffer out = options_.splits > 1 ? partial.handle : result.handle;
    const VkBuffer mask = options_.mask ? maskBuffer.handle : q.handle; // ggml binds q where there is nothing
    const VkBuffer sinks = options_.sinks ? sinkBuffer.handle : q.handle;
    return device_.set({q.handle, k.handle, v.handle, mask, sinks, out, q.handle, q.handle});
}

VkDescriptorSet Call::reductionSet() {
    return device_.set({partial.handle, options_.sinks ? sinkBuffer.handle : q.handle, result.handle});
}

double Call::score(uint32_t head, uint32_t row, uint32_t key) const {
    double sum = 0;
    for (uint32_t d = 0; d < headDim; d++) {
        sum += double{q.floats()[(head * rows + row) * headDim + d]} *
               k.floats()[(head / (heads / kvHeads) * options_.keys + key) * headDim + d];
    }
    sum *= scale;
    if (options_.softcap != 0) {
        sum = options_.softcap * std::tanh(sum / options_.softcap);
    }
    if (options_.mask) {
        const double slope = options_.maxBias == 0 ? 1 : std::exp2(-double{options_.maxBias} / heads * (head + 1));
        sum += slope * valueOf(static_cast<const uint16_t*>(maskBuffer.data)[row * options_.keys + key]);
    }
    return sum;
}

std::vector<float> Call::expected() const {
    std::vector<float> all(size_t{heads} * rows * headDim);
    for (uint32_t row = 0; row < rows; row++) {
        for (uint32_t head = 0; head < heads; head++) {
            std::vector<double> sums(headDim);
            double total = options_.sinks ? std::exp(sinkBuffer.floats()[head]) : 0;
            for (uint32_t key = 0; key < options_.keys; key++) {
                const double p = std::exp(score(head, row, key)); // scores are small
                total += p;
                for (uint32_t d = 0; d < headDim; d++) {
                    sums[d] += p * v.floats()[(head / (heads / kvHeads) * options_.keys + key) * headDim + d];
                }
            }
            for (uint32_t d = 0; d < headDim; d++) {
                all[(row * heads + head) * headDim + d] = static_cast<float>(sums[d] / total);
            }
        }
    }
    return all;
}

} // namespace vkf::test
