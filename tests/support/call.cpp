// SPDX-License-Identifier: MIT
#include "support/call.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <sstream>

#include "support/lacking.hpp"
#include "support/lists/block_tables.hpp"
#include "support/lists/chosen_keys.hpp"
#include "support/masks.hpp"
#include "support/probabilities.hpp"

namespace vkf::test {
namespace {

// Writes elements from `first` on. Quantises them for block types.
void storeRow(VkfType type, std::vector<std::byte>& bytes, uint64_t first, const std::vector<double>& row) {
    if (vkfBlockElements(type) > 1) {
        const std::vector<float> values(row.begin(), row.end());
        vkfQuantizeBlocks(type, values.data(), row.size() / vkfBlockElements(type),
                          &bytes[vkfStoredBytes(type, first)]);
        return;
    }
    for (uint64_t d = 0; d < row.size(); d++) {
        vkfStoreElement(type, bytes.data(), first + d, row[d]);
    }
}

std::vector<std::byte> randomTensor(const VkfTensorLayout& layout, double magnitude, std::mt19937_64& random) {
    std::vector<std::byte> bytes(vkfStoredBytes(layout.type, layout.elements), std::byte{0xff});
    std::normal_distribution<double> normal(0.0, magnitude);
    std::vector<double> values(layout.dim);
    for (uint64_t b = 0; b < layout.batch; b++) {
        for (uint64_t h = 0; h < layout.heads; h++) {
            for (uint64_t row = 0; row < layout.rows; row++) {
                const uint64_t first = b * layout.batchStride + h * layout.headStride + row * layout.rowStride;
                std::generate(values.begin(), values.end(), [&] { return normal(random); });
                storeRow(layout.type, bytes, first, values);
            }
        }
    }
    return bytes;
}

int64_t keysOf(const VkfProblem& problem, const std::vector<int32_t>& keyLengths, uint32_t batch) {
    if (!has(problem, VKF_USE_KEY_LENGTHS)) {
        return problem.keys;
    }
    return std::clamp<int64_t>(keyLengths[batch], 0, problem.keys);
}

// One sequence as a separate problem that shares the tensors, and its first row and key there.
struct Sequence {
    VkfProblem problem;
    uint64_t firstKey = 0;
    uint64_t firstRow = 0;
};

Sequence sequenceOf(const VkfProblem& problem, const std::vector<int32_t>& cuSeqlensQ,
                    const std::vector<int32_t>& cuSeqlensK, uint32_t batch) {
    Sequence sequence{problem};
    if (has(problem, VKF_USE_CU_SEQLENS)) {
        sequence.problem.queryRows = static_cast<uint32_t>(cuSeqlensQ[batch + 1] - cuSeqlensQ[batch]);
        sequence.firstRow = static_cast<uint64_t>(cuSeqlensQ[batch]);
    }
    if (has(problem, VKF_USE_CU_SEQLENS) && !has(problem, VKF_USE_BLOCK_TABLE)) {
        sequence.problem.keys = static_cast<uint32_t>(cuSeqlensK[batch + 1] - cuSeqlensK[batch]);
        sequence.firstKey = static_cast<uint64_t>(cuSeqlensK[batch]);
    }
    return sequence;
}

std::vector<float> randomHeads(uint32_t heads, std::pair<float, float> range, std::mt19937_64& random) {
    std::uniform_real_distribution<float> uniform(range.first, range.second);
    std::vector<float> values(heads);
    std::generate(values.begin(), values.end(), [&] { return uniform(random); });
    return values;
}

// The element of key 0 in a row of a bias or mask.
uint64_t broadcastRow(const VkfBroadcastArray& array, uint64_t batch, uint64_t head, uint64_t row) {
    const uint64_t sequence = array.sequences != 0 ? batch % array.sequences : batch;
    const uint64_t ownHead = array.heads != 0 ? head % array.heads : head;
    return sequence * array.batchStride + ownHead * array.headStride + row * array.rowStride;
}

// Calls visit(element, row, key) for each element of a bias or mask, for some elements more than once.
template <typename Visit>
void forEachBroadcast(const VkfProblem& problem, const VkfBroadcastArray& bias, const Visit& visit) {
    const uint64_t rows = problem.longestRows != 0 ? problem.longestRows : problem.queryRows;
    const uint64_t allKeys = problem.longestKeys != 0 ? problem.longestKeys : problem.keys;
    const uint64_t columns = bias.lastKeys != 0 ? bias.lastKeys : allKeys;
    for (uint64_t b = 0; b < problem.batch; b++) {
        for (uint64_t h = 0; h < problem.queryHeads; h++) {
            for (uint64_t i = 0; i < rows; i++) {
                for (uint64_t j = 0; j < columns; j++) {
                    visit(broadcastRow(bias, b, h, i) + j, i, j);
                }
            }
        }
    }
}

// A bias of a pair in squares. Zeros have either sign.
double biasInSquares(uint64_t square, uint64_t row, uint64_t key, std::mt19937_64& random, double number) {
    constexpr double closed = -std::numeric_limits<double>::infinity();
    const bool coin = (random() & 1U) != 0;
    const double zero = coin ? 0.0 : -0.0;
    switch ((row / square * 7 + key / square * 5) / 2 % 8) { // mostly 0 and -infinity
    case 0:
        if (coin) {
            return zero;
        }
        return closed;
    case 1:
        return number;
    case 2:
    case 3:
    case 4:
        return closed;
    default:
        return zero;
    }
}

// The gaps between rows hold NaN.
std::vector<std::byte> randomBias(const VkfProblem& problem, const Data& data, std::mt19937_64& random) {
    std::vector<std::byte> bytes(vkfGetArrayBytes(&problem, VKF_ARRAY_BIAS), std::byte{0xff});
    std::normal_distribution<double> normal(0.0, 2.0);
    if (!bytes.empty()) {
        forEachBroadcast(problem, problem.bias, [&](uint64_t element, uint64_t row, uint64_t key) {
            const double number = normal(random);
            vkfStoreElement(problem.bias.type, bytes.data(), element,
                            data.biasSquare == 0 ? number : biasInSquares(data.biasSquare, row, key, random, number));
        });
    }
    return bytes;
}

// The gaps between rows say "keep".
std::vector<std::byte> randomMask(const VkfProblem& problem, VkfArray array, const Data& data,
                                  std::mt19937_64& random) {
    const VkfBroadcastArray& mask = array == VKF_ARRAY_MASK ? problem.mask : problem.dropoutMask;
    std::vector<std::byte> bytes(vkfGetArrayBytes(&problem, array), std::byte{0xff});
    const auto keeps = [&random, &data](uint64_t row, uint64_t key) {
        double density = data.maskDensity;
        if (data.maskSquare != 0) { // a third of the squares drops everything, a third keeps everything
            const uint64_t square = row / data.maskSquare * 7 + key / data.maskSquare * 11 + data.seed;
            density = std::array{0.0, 0.5, 1.0}[square * square % 17 % 3];
        }
        return std::bernoulli_distribution(density)(random);
    };
    if (!bytes.empty()) {
        forEachBroadcast(problem, mask, [&](uint64_t element, uint64_t row, uint64_t key) {
            const bool kept = keeps(row, key);
            if (mask.type == VKF_TYPE_BOOL8) {
                bytes[element] = kept ? static_cast<std::byte>(1 + random() % 255) : std::byte{0};
            } else {
                const auto bit = static_cast<std::byte>(1U << element % 8);
                bytes[element / 8] = kept ? bytes[element / 8] | bit : bytes[element / 8] & ~bit;
            }
        });
    }
    return bytes;
}

// Runs of random lengths. A number may occur in several runs.
std::vector<int32_t> randomDocuments(const VkfProblem& problem, const Data& data, std::mt19937_64& random) {
    const uint64_t sequences =
        has(problem, VKF_USE_CU_SEQLENS) && !has(problem, VKF_USE_BLOCK_TABLE) ? 1 : problem.batch;
    std::vector<int32_t> ids(has(problem, VKF_USE_DOCUMENT_IDS) ? sequences * problem.keys : 0);
    int32_t document = 0;
    for (int32_t& id : ids) {
        document = random() % data.documentKeys == 0 ? static_cast<int32_t>(random() % 5) - 2 : document;
        id = document;
    }
    return ids;
}

// True if row and key are of one document. `first` is the number of the sequence's first key.
bool isOfDocument(const VkfProblem& problem, const std::vector<int32_t>& ids, uint64_t first, int64_t keys, int64_t row,
                  int64_t key) {
    const int64_t position = row + keys - problem.queryRows;
    const auto idOf = [&](int64_t at) { return ids[first + static_cast<uint64_t>(at)]; };
    return !has(problem, VKF_USE_DOCUMENT_IDS) || (position >= 0 && idOf(position) == idOf(key));
}

// Whether the boolean mask keeps a key of a sequence of `keys` keys.
bool isUnmaskedKey(const VkfBroadcastArray& mask, const Inputs& inputs, const QueryKey& pair, int64_t keys) {
    const int64_t firstKey = mask.lastKeys != 0 ? keys - mask.lastKeys : 0;
    const int64_t column = static_cast<int64_t>(pair.key) - firstKey;
    return column < 0 ||
           isUnmaskedTile(mask, inputs.mask, pair.batch, pair.head, pair.row, static_cast<uint64_t>(column));
}

// Keys of a KV head that some query row of some head sees.
std::vector<bool> seenKeys(const VkfProblem& all, const Inputs& inputs, uint32_t batch, uint64_t kvHead) {
    const Sequence sequence = sequenceOf(all, inputs.cuSeqlensQ, inputs.cuSeqlensK, batch);
    const VkfProblem& problem = sequence.problem;
    const uint64_t firstId =
        has(all, VKF_USE_CU_SEQLENS) && !has(all, VKF_USE_BLOCK_TABLE) ? sequence.firstKey : batch * uint64_t{all.keys};
    const int64_t keys = keysOf(problem, inputs.keyLengths, batch);
    const int64_t rowOffset = has(all, VKF_USE_ROW_OFFSETS) ? inputs.rowOffsets[batch] : 0;
    const bool differ =
        has(problem, VKF_USE_BLOCK_MASK) || has(problem, VKF_USE_MASK) || has(problem, VKF_USE_FUNCTIONS);
    const uint64_t heads = problem.queryHeads / problem.kvHeads;
    std::vector<bool> seen(problem.keys, false);
    for (uint64_t h = kvHead * heads; h < kvHead * heads + (differ ? heads : 1); h++) {
        for (uint32_t i = 0; i < problem.queryRows; i++) {
            for (uint32_t j = 0; j < problem.keys; j++) {
                seen[j] = seen[j] || (isVisible(problem, keys, i, j, rowOffset) &&
                                      isUnmaskedKey(problem.mask, inputs, {batch, h, i, j}, keys) &&
                                      isOfDocument(problem, inputs.documentIds, firstId, keys, i, j) &&
                                      isKept(problem, inputs.functions, keys, {batch, h, i, j}) &&
                                      isChosen(problem, inputs.chosenKeys, batch, kvHead, sequence.firstRow + i, j) &&
                                      (!has(problem, VKF_USE_BLOCK_MASK) ||
                                       isOpenBlock(problem, inputs.blockMask, batch, h, i / problem.blockMask.blockSize,
                                                   j / problem.blockMask.blockSize)));
            }
        }
    }
    return seen;
}

void poisonInvisible(const VkfProblem& problem, const Inputs& inputs, VkfTensorRole role,
                     std::vector<std::byte>& bytes) {
    const VkfTensorLayout layout = vkf::layoutOf(problem, role);
    const bool differ = has(problem, VKF_USE_BLOCK_MASK) || has(problem, VKF_USE_MASK) ||
                        has(problem, VKF_USE_FUNCTIONS) || has(problem, VKF_USE_CHOSEN_KEYS);
    const bool headsShare = layout.headStride == 0 && layout.heads > 1 && differ;
    if (headsShare || (layout.batchStride == 0 && layout.batch > 1)) {
        return; // a key that one row does not see may be visible to another
    }
    std::set<std::array<uint64_t, 3>> seenRows; // page or sequence, head, row
    for (uint32_t b = 0; b < problem.batch; b++) {
        for (uint64_t h = 0; h < layout.heads; h++) {
            const std::vector<bool> seen = seenKeys(problem, inputs, b, h);
            for (uint64_t j = 0; j < seen.size(); j++) {
                const auto [page, row] = inputs.placeOf(problem, b, j);
                if (seen[j] && page < layout.batch) { // else the key is absent
                    seenRows.insert({page, h, row});
                }
            }
        }
    }
    const std::vector<double> poisoned(layout.dim, std::numeric_limits<double>::quiet_NaN());
    for (uint64_t b = 0; b < layout.batch; b++) {
        for (uint64_t h = 0; h < layout.heads; h++) {
            for (uint64_t row = 0; row < layout.rows; row++) {
                if (!seenRows.contains({b, h, row})) {
                    storeRow(layout.type, bytes,
                             b * layout.batchStride + h * layout.headStride + row * layout.rowStride, poisoned);
                }
            }
        }
    }
}

VkfProbabilitiesVerdict verdictOnProbabilities(const VkfProblem& problem, const VkfReferenceInputs& inputs,
                                               const VkfReferenceOptions& options, const std::vector<float>& p) {
    VkfProbabilitiesVerdict verdict{};
    verdict.structSize = sizeof verdict;
    verdict.passed = 1;
    VkfMessage message{};
    if (has(problem, VKF_USE_PROBABILITIES)) {
        const VkfResult result =
            vkfReferenceVerifyProbabilities(&problem, &inputs, &options, p.data(), &verdict, &message);
        if (result != VKF_SUCCESS) {
            throw host::Error(result, message.text);
        }
    }
    return verdict;
}

} // namespace

bool isUnmaskedTile(const VkfBroadcastArray& mask, const std::vector<std::byte>& bytes, uint64_t batch, uint64_t head,
                    uint64_t row, uint64_t key) {
    if (bytes.empty()) { // there is no mask
        return true;
    }
    const uint64_t element = broadcastRow(mask, batch, head, row) + key;
    return mask.type == VKF_TYPE_BOOL8 ? bytes[element] != std::byte{0}
                                       : (bytes[element / 8] >> element % 8 & std::byte{1}) != std::byte{0};
}

std::vector<uint32_t> randomBlockMask(const VkfProblem& problem, double density, uint32_t seed) {
    std::mt19937_64 random(seed);
    std::bernoulli_distribution open(density);
    std::vector<uint32_t> words(vkf::blockMaskLayoutOf(problem).words);
    for (uint32_t& word : words) {
        for (uint32_t bit = 0; bit < 32; bit++) {
            word |= open(random) ? 1U << bit : 0U;
        }
    }
    return words;
}

bool isOpenBlock(const VkfProblem& problem, const std::vector<uint32_t>& blockMask, uint64_t batch, uint64_t head,
                 uint64_t rowBlock, uint64_t keyBlock) {
    const uint64_t row = batch * problem.blockMask.batchStride + head * problem.blockMask.headStride +
                         rowBlock * ((problem.keys - 1) / problem.blockMask.blockSize / 32 + 1);
    return (blockMask[row + keyBlock / 32] >> (keyBlock % 32) & 1U) != 0;
}

VkfProblem problemOf(const Shape& shape) {
    VkfProblem problem{};
    problem.structSize = sizeof problem;
    problem.batch = shape.B;
    problem.queryHeads = shape.H;
    problem.kvHeads = shape.Hkv;
    problem.queryRows = shape.Nq;
    problem.keys = shape.Nk;
    problem.headDim = shape.D;
    problem.valueDim = shape.Dv;
    problem.q.type = problem.k.type = problem.v.type = problem.o.type = shape.type;
    enable(problem, VKF_USE_LSE);
    return problem;
}

void setPacked(VkfProblem& problem, Data& data, const std::vector<int32_t>& rows, const std::vector<int32_t>& keys) {
    const auto starts = [](const std::vector<int32_t>& lengths) {
        std::vector<int32_t> sums(lengths.size() + 1, 0);
        std::partial_sum(lengths.begin(), lengths.end(), sums.begin() + 1);
        return sums;
    };
    enable(problem, VKF_USE_CU_SEQLENS);
    problem.batch = static_cast<uint32_t>(rows.size());
    data.cuSeqlensQ = starts(rows);
    problem.queryRows = static_cast<uint32_t>(data.cuSeqlensQ.back());
    problem.longestRows = static_cast<uint32_t>(*std::max_element(rows.begin(), rows.end()));
    if (!has(problem, VKF_USE_BLOCK_TABLE)) {
        data.cuSeqlensK = starts(keys);
        problem.keys = static_cast<uint32_t>(data.cuSeqlensK.back());
        problem.longestKeys = static_cast<uint32_t>(*std::max_element(keys.begin(), keys.end()));
    }
}

VkfReferenceInputs Inputs::reference() const {
    VkfReferenceInputs inputs{};
    inputs.structSize = sizeof inputs;
    inputs.q = q.data();
    inputs.k = k.data();
    inputs.v = vInK ? k.data() : v.data();
    inputs.keyLengths = keyLengths.empty() ? nullptr : keyLengths.data();
    inputs.blockMask = blockMask.empty() ? nullptr : blockMask.data();
    inputs.blockTable = blockTable.empty() ? nullptr : blockTable.data();
    inputs.sinks = sinks.empty() ? nullptr : sinks.data();
    inputs.alibiSlopes = alibiSlopes.empty() ? nullptr : alibiSlopes.data();
    inputs.bias = bias.empty() ? nullptr : bias.data();
    inputs.mask = mask.empty() ? nullptr : mask.data();
    inputs.documentIds = documentIds.empty() ? nullptr : documentIds.data();
    inputs.cuSeqlensQ = cuSeqlensQ.empty() ? nullptr : cuSeqlensQ.data();
    inputs.cuSeqlensK = cuSeqlensK.empty() ? nullptr : cuSeqlensK.data();
    inputs.dropoutMask = dropoutMask.empty() ? nullptr : dropoutMask.data();
    inputs.dropoutSeed = dropoutSeed.empty() ? nullptr : dropoutSeed.data();
    inputs.probabilityRows = probabilityRows.empty() ? nullptr : probabilityRows.data();
    inputs.biasFactors = biasFactors.empty() ? nullptr : biasFactors.data();
    inputs.functions = functions != nullptr ? &functions->reference : nullptr;
    inputs.rowOffsets = rowOffsets.empty() ? nullptr : rowOffsets.data();
    inputs.kvScales = kvScales.empty() ? nullptr : kvScales.data();
    inputs.chosenKeys = chosenKeys.empty() ? nullptr : chosenKeys.data();
    return inputs;
}

std::pair<uint64_t, uint64_t> Inputs::placeOf(const VkfProblem& problem, uint64_t batch, uint64_t key) const {
    const VkfPaging& paging = problem.paging;
    if (!has(problem, VKF_USE_BLOCK_TABLE) && has(problem, VKF_USE_CU_SEQLENS)) {
        return {0, static_cast<uint64_t>(cuSeqlensK[batch]) + key};
    }
    if (!has(problem, VKF_USE_BLOCK_TABLE)) {
        return {batch, key};
    }
    const int32_t page = blockTable[batch * paging.maxPages + key / paging.pageSize];
    return {static_cast<uint64_t>(page), key % paging.pageSize};
}

Inputs makeInputs(const VkfProblem& problem, const Data& data) {
    std::mt19937_64 random(data.seed);
    Inputs inputs;
    inputs.q = randomTensor(vkf::layoutOf(problem, VKF_TENSOR_Q), data.magnitude, random);
    inputs.k = randomTensor(vkf::layoutOf(problem, VKF_TENSOR_K), data.magnitude, random);
    inputs.v = randomTensor(vkf::layoutOf(problem, VKF_TENSOR_V), data.magnitude, random);
    inputs.keyLengths = data.keyLengths;
    inputs.rowOffsets = data.rowOffsets;
    inputs.cuSeqlensQ = data.cuSeqlensQ;
    inputs.cuSeqlensK = data.cuSeqlensK;
    inputs.functions = data.functions;
    inputs.blockMask = randomBlockMask(problem, data.blockDensity, data.seed);
    inputs.blockTable = randomBlockTable(
        problem, [&](uint32_t b) { return keysOf(problem, data.keyLengths, b); }, data.absentPages, random);
    inputs.sinks = randomHeads(has(problem, VKF_USE_SINKS) ? problem.queryHeads : 0, {-6.0F, 6.0F}, random);
    inputs.alibiSlopes =
        randomHeads(has(problem, VKF_USE_ALIBI_SLOPES) ? problem.queryHeads : 0, {-0.1F, 0.5F}, random);
    inputs.bias = randomBias(problem, data, random);
    inputs.mask = randomMask(problem, VKF_ARRAY_MASK, data, random);
    inputs.documentIds = randomDocuments(problem, data, random);
    inputs.dropoutMask = randomMask(problem, VKF_ARRAY_DROPOUT_MASK, data, random);
    inputs.dropoutSeed.resize(has(problem, VKF_USE_DROPOUT_SEED) ? 1 : 0, random());
    inputs.probabilityRows = randomProbabilityRows(problem, data.seed);
    inputs.biasFactors =
        randomHeads(has(problem, VKF_USE_BIAS_FACTORS) ? problem.queryHeads : 0, {-1.0F, 2.0F}, random);
    inputs.kvScales =
        randomHeads(has(problem, VKF_USE_KV_SCALES) ? problem.k.scales + problem.v.scales : 0, {0.2F, 1.7F}, random);
    inputs.chosenKeys = randomLists(problem, data.seed);
    if (data.poisonInvisibleKeys) {
        poisonInvisible(problem, inputs, VKF_TENSOR_K, inputs.k);
        poisonInvisible(problem, inputs, VKF_TENSOR_V, inputs.v);
    }
    if (data.edit) {
        data.edit(inputs.q, inputs.k, inputs.v);
    }
    return inputs;
}

std::string Outcome::text() const {
    std::ostringstream text;
    const VkfProbabilitiesVerdict& p = probabilitiesVerdict;
    text << plan.description << ": o error " << verdict.oError << " (bound " << verdict.oBound << "), lse error "
         << verdict.lseError << " (bound " << verdict.lseBound << "), worst element " << verdict.worstElement << ": "
         << verdict.worstValue << " for " << verdict.worstReference << ", probabilities error " << p.error << " (bound "
         << p.bound << "), worst element " << p.worstElement << ": " << p.worstValue << " for " << p.worstReference
         << (gapsIntact ? "" : ", GAPS WRITTEN") << (guardsIntact ? "" : ", GUARDS WRITTEN");
    return text.str();
}

Outcome runCall(host::Device& device, const VkfProblem& problem, const Data& data) {
    VkfProblem possible = fitted(device, problem);
    if (data.oOffset % 4 != 0 && wantsFp32(device, {possible.o.type})) {
        possible.o.type = VKF_TYPE_F32; // 16-bit rows would begin within a word
    }
    return runCall(device, possible, makeInputs(possible, data), data.oOffset);
}

namespace {

std::vector<float> floatsIn(const Guarded& memory, const std::vector<std::byte>& downloaded) {
    std::vector<float> floats(memory.bytes / sizeof(float));
    if (!floats.empty()) {
        std::memcpy(floats.data(), downloaded.data() + memory.offset, memory.bytes);
    }
    return floats;
}

} // namespace

DeviceInputs::DeviceInputs(host::Device& device, const Inputs& inputs)
    : q(uploaded(device, inputs.q)), k(uploaded(device, inputs.k)), v(uploaded(device, inputs.v)),
      keyLengths(uploaded(device, inputs.keyLengths)), blockTable(uploaded(device, inputs.blockTable)),
      blockMask(uploaded(device, inputs.blockMask)), sinks(uploaded(device, inputs.sinks)),
      alibiSlopes(uploaded(device, inputs.alibiSlopes)), bias(uploaded(device, inputs.bias)),
      mask(uploaded(device, inputs.mask)), documentIds(uploaded(device, inputs.documentIds)),
      cuSeqlensQ(uploaded(device, inputs.cuSeqlensQ)), cuSeqlensK(uploaded(device, inputs.cuSeqlensK)),
      dropoutMask(uploaded(device, inputs.dropoutMask)), dropoutSeed(uploaded(device, inputs.dropoutSeed)),
      probabilityRows(uploaded(device, inputs.probabilityRows)), biasFactors(uploaded(device, inputs.biasFactors)),
      rowOffsets(uploaded(device, inputs.rowOffsets)), kvScales(uploaded(device, inputs.kvScales)),
      chosenKeys(uploaded(device, inputs.chosenKeys)), vInK(inputs.vInK) {
    for (size_t i = 0; inputs.functions != nullptr && i < inputs.functions->arrays.size(); i++) {
        functionArrays.push_back(uploaded(device, inputs.functions->arrays[i]));
    }
}

VkfBindings DeviceInputs::bindings(const VkfProblem& problem) const {
    const auto bound = [&problem](VkfUseBits array, const Guarded& memory) {
        return has(problem, array) ? memory.binding() : VkfBinding{};
    };
    auto bindings = make<VkfBindings>();
    bindings.q = q.binding();
    bindings.k = k.binding();
    bindings.v = vInK ? k.binding() : v.binding();
    bindings.keyLengths = bound(VKF_USE_KEY_LENGTHS, keyLengths);
    bindings.blockMask = bound(VKF_USE_BLOCK_MASK, blockMask);
    bindings.blockTable = bound(VKF_USE_BLOCK_TABLE, blockTable);
    bindings.sinks = bound(VKF_USE_SINKS, sinks);
    bindings.alibiSlopes = bound(VKF_USE_ALIBI_SLOPES, alibiSlopes);
    bindings.bias = bound(VKF_USE_BIAS, bias);
    bindings.mask = bound(VKF_USE_MASK, mask);
    bindings.documentIds = bound(VKF_USE_DOCUMENT_IDS, documentIds);
    bindings.cuSeqlensQ = bound(VKF_USE_CU_SEQLENS, cuSeqlensQ);
    bindings.cuSeqlensK = bound(VKF_USE_CU_SEQLENS, cuSeqlensK);
    bindings.dropoutMask = bound(VKF_USE_DROPOUT_MASK, dropoutMask);
    bindings.dropoutSeed = bound(VKF_USE_DROPOUT_SEED, dropoutSeed);
    bindings.probabilityRows = bound(VKF_USE_PROBABILITY_ROWS, probabilityRows);
    bindings.biasFactors = bound(VKF_USE_BIAS_FACTORS, biasFactors);
    bindings.rowOffsets = bound(VKF_USE_ROW_OFFSETS, rowOffsets);
    bindings.kvScales = bound(VKF_USE_KV_SCALES, kvScales);
    bindings.chosenKeys = bound(VKF_USE_CHOSEN_KEYS, chosenKeys);
    for (size_t i = 0; i < functionArrays.size(); i++) {
        bindings.functionArrays[i] = functionArrays[i].binding();
    }
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

Outcome runUnjudged(host::Device& device, const VkfProblem& problem, const Inputs& inputs, uint64_t oOffset) {
    needSupport(device, problem);
    const host::Plan plan(device, problem);
    const VkfTensorLayout oLayout = vkf::layoutOf(problem, VKF_TENSOR_O);
    const uint64_t lseCount = has(problem, VKF_USE_LSE) ? uint64_t{oLayout.batch} * oLayout.heads * oLayout.rows : 0;
    const DeviceInputs memory(device, inputs);
    const Guarded o(device, oLayout.elements * vkfTypeBytes(oLayout.type), oOffset * vkfTypeBytes(oLayout.type));
    const Guarded lse(device, lseCount * sizeof(float));
    const uint64_t rowsOfP = has(problem, VKF_USE_PROBABILITY_ROWS) ? problem.probabilityRowCount : problem.queryRows;
    const uint64_t floats =
        has(problem, VKF_USE_PROBABILITIES) ? uint64_t{problem.batch} * problem.queryHeads * rowsOfP * problem.keys : 0;
    const Guarded probabilities(device, floats * sizeof(float));
    const Guarded scratch(device, plan.info().scratchBytes);

    VkfBindings bindings = memory.bindings(problem);
    bindings.o = o.binding();
    bindings.lse = lse.binding();
    bindings.probabilities = probabilities.binding();
    bindings.scratch = scratch.binding();
    device.submit([&](VkCommandBuffer commandBuffer) {
        VkfMessage message{};
        const VkfResult result = vkfCmdAttention(commandBuffer, plan.handle(), &bindings, &message);
        if (result != VKF_SUCCESS) {
            throw host::Error(result, message.text);
        }
    });

    Outcome outcome;
    outcome.plan = plan.info();
    const std::vector<std::byte> oAll = o.download(device);
    const std::vector<std::byte> lseAll = lse.download(device);
    outcome.o.assign(oAll.begin() + static_cast<std::ptrdiff_t>(o.offset),
                     oAll.begin() + static_cast<std::ptrdiff_t>(o.offset + o.bytes));
    outcome.lse = floatsIn(lse, lseAll);
    const std::vector<std::byte> probabilitiesAll = probabilities.download(device);
    outcome.probabilities = floatsIn(probabilities, probabilitiesAll);
    outcome.guardsIntact = o.intact(oAll) && lse.intact(lseAll) && probabilities.intact(probabilitiesAll) &&
                           scratch.intact(scratch.download(device));
    outcome.gapsIntact = gapsIntact(oLayout, outcome.o);
    return outcome;
}

Outcome runCall(host::Device& device, const VkfProblem& problem, const Inputs& inputs, uint64_t oOffset) {
    Outcome outcome = runUnjudged(device, problem, inputs, oOffset);
    VkfReferenceOptions options{};
    options.structSize = sizeof options;
    options.tileKeys = outcome.plan.tileKeys;
    options.productType = outcome.plan.productType;
    VkfMessage message{};
    const VkfReferenceInputs reference = inputs.reference();
    outcome.verdict.structSize = sizeof outcome.verdict;
    const VkfResult result =
        vkfReferenceVerify(&problem, &reference, &options, outcome.o.data(),
                           has(problem, VKF_USE_LSE) ? outcome.lse.data() : nullptr, &outcome.verdict, &message);
    if (result != VKF_SUCCESS) {
        throw host::Error(result, message.text);
    }
    outcome.probabilitiesVerdict = verdictOnProbabilities(problem, reference, options, outcome.probabilities);
    return outcome;
}

} // namespace vkf::test
