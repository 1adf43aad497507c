// SPDX-License-Identifier: MIT
#include "cli/optional_inputs.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "cli/error.hpp"

namespace vkf::tools {

namespace {

// The full shape [sequences, heads, rows, keys] of a bias or a mask.
Shape scoresShape(const Inputs& inputs) {
    const uint32_t heads = extent(inputs.q, axisHead);
    if (inputs.cuSeqlensQ.empty())
        return {extent(inputs.q, axisBatch), heads, extent(inputs.q, axisRow), extent(inputs.k, axisRow)};
    return {inputs.cuSeqlensQ.size() - 1, heads, longest(inputs.cuSeqlensQ), longest(inputs.cuSeqlensK)};
}

NamedArray load(const FlagFile& file) {
    std::string name = fmt::format("{} {}", file.flag, file.path);
    Tensor tensor = loadArray(file, name);
    return {std::move(name), std::move(tensor)};
}

// Whole numbers of a file.
struct WholeNumbers {
    std::string name; // in messages
    Shape shape;
    std::vector<int64_t> values;
};

// Reads whole numbers. `what` names them in a message.
WholeNumbers loadWhole(const FlagFile& flagFile, const char* what) {
    const auto [name, file] = load(flagFile);
    if (file.type != ElementType::i32 && file.type != ElementType::i64)
        failInput("{}: holds {}; {} are int32 or int64", name, elementName(file.type), what);
    WholeNumbers numbers{name, file.shape, {}};
    const size_t bytes = elementBytes(file.type);
    for (size_t at = 0; at < file.bytes.size(); at += bytes) {
        int32_t narrow = 0;
        int64_t wide = 0;
        std::memcpy(&narrow, file.bytes.data() + at, sizeof(narrow));
        std::memcpy(&wide, file.bytes.data() + at, bytes);
        numbers.values.push_back(file.type == ElementType::i64 ? wide : narrow);
    }
    return numbers;
}

// The numbers in 32 bits. `one` names one of them in a message.
std::vector<int32_t> in32Bits(const WholeNumbers& numbers, const char* one) {
    std::vector<int32_t> narrow;
    for (const int64_t value : numbers.values) {
        if (value < INT32_MIN || value > INT32_MAX)
            failInput("{}: {} {} at {} does not fit 32 bits", numbers.name, one, value, narrow.size());
        narrow.push_back(static_cast<int32_t>(value));
    }
    return narrow;
}

void loadLengths(const FlagFile& file, const TensorNames& names, Inputs& inputs) {
    const WholeNumbers numbers = loadWhole(file, "lengths");
    const uint64_t batch = scoresShape(inputs)[0];
    const uint32_t keys = extent(inputs.k, axisRow);
    if (numbers.shape != Shape{batch})
        failInput("{}: has shape {}; one length for each sequence is [{}]", numbers.name, shapeText(numbers.shape),
                  batch);
    for (const int64_t length : numbers.values) {
        if (length < 0 || length > keys || length > INT32_MAX)
            failInput("{}: length {} of sequence {} is not within 0 and the {} rows of {}", numbers.name, length,
                      inputs.lengths.size(), keys, names[1]);
        inputs.lengths.push_back(static_cast<int32_t>(length));
    }
}

// Reads cumulative lengths: the first row of each packed sequence, and the end of the last one.
std::vector<int32_t> loadStarts(const FlagFile& file, const Tensor& of, const std::string& nameOf) {
    const auto [name, shape, values] = loadWhole(file, "cumulative lengths");
    const uint32_t rows = extent(of, axisRow);
    if (shape.size() != 1 || shape[0] < 2)
        failInput("{}: has shape {}; cumulative lengths of B sequences are [B + 1]", name, shapeText(shape));
    std::vector<int32_t> starts;
    for (const int64_t start : values) {
        const int64_t least = starts.empty() ? 0 : starts.back();
        if (start < least || start > rows || (starts.empty() && start != 0))
            failInput("{}: element {} is {}; the elements start at 0, never fall and are at most {}, the rows of {}",
                      name, starts.size(), start, rows, nameOf);
        starts.push_back(static_cast<int32_t>(start));
    }
    if (starts.back() != static_cast<int64_t>(rows))
        failInput("{}: ends at {}; {} has {} rows", name, starts.back(), nameOf, rows);
    return starts;
}

void loadRowStarts(const FlagFile& file, const TensorNames& names, Inputs& inputs) {
    inputs.cuSeqlensQ = loadStarts(file, inputs.q, names[0]);
}

void loadKeyStarts(const FlagFile& file, const TensorNames& names, Inputs& inputs) {
    inputs.cuSeqlensK = loadStarts(file, inputs.k, names[1]);
}

// Reads the document of each key of each sequence. A file of one row serves every sequence.
void loadDocuments(const FlagFile& file, const TensorNames& /*names*/, Inputs& inputs) {
    const WholeNumbers numbers = loadWhole(file, "documents");
    const uint32_t batch = extent(inputs.k, axisBatch); // 1 for packed sequences
    const uint32_t keys = extent(inputs.k, axisRow);
    if (numbers.shape != Shape{batch, keys} && numbers.shape != Shape{keys})
        failInput("{}: has shape {}; one document for each key is [{}, {}] or [{}]", numbers.name,
                  shapeText(numbers.shape), batch, keys, keys);
    const std::vector<int32_t> rows = in32Bits(numbers, "document");
    for (size_t i = 0; i < size_t{batch} * keys; ++i)
        inputs.documents.push_back(rows[i % rows.size()]);
}

// Reads where the rows of each sequence stand.
void loadRowOffsets(const FlagFile& file, const TensorNames& /*names*/, Inputs& inputs) {
    const WholeNumbers numbers = loadWhole(file, "offsets");
    const uint64_t batch = scoresShape(inputs)[0];
    if (numbers.shape != Shape{batch})
        failInput("{}: has shape {}; one offset for each sequence is [{}]", numbers.name, shapeText(numbers.shape),
                  batch);
    inputs.rowOffsets = in32Bits(numbers, "offset");
}

// Returns a key that stands twice in a list, or -1.
int32_t findTwice(std::span<const int32_t> list, uint32_t keys) {
    std::vector<int32_t> sorted(list.begin(), list.end());
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end(), [keys](int32_t a, int32_t b) {
        return a == b && a >= 0 && static_cast<uint32_t>(a) < keys;
    });
    return twice == sorted.end() ? -1 : *twice;
}

// Whether a file of this shape gives an array of the whole shape. Dimensions of 1 and missing dimensions repeat, but
// for the last one.
bool canBroadcast(const Shape& shape, const Shape& whole) {
    bool fits = !shape.empty() && shape.size() <= whole.size() && shape.back() == whole.back();
    for (size_t i = 1; fits && i < shape.size(); ++i) {
        const uint64_t count = shape[shape.size() - 1 - i];
        fits = count == 1 || count == whole[whole.size() - 1 - i];
    }
    return fits;
}

// Reads lists of chosen keys. Dimensions of 1 and missing dimensions repeat.
void loadChosenKeys(const FlagFile& file, const TensorNames& /*names*/, Inputs& inputs) {
    const WholeNumbers numbers = loadWhole(file, "keys");
    const uint64_t count = numbers.shape.empty() ? 0 : numbers.shape.back();
    const Shape lists = {scoresShape(inputs)[0], extent(inputs.k, axisHead), extent(inputs.q, axisRow)};
    if (count == 0 || !canBroadcast(numbers.shape, {lists[0], lists[1], lists[2], count}))
        failInput("{}: has shape {}, which cannot be broadcast to [B, Hkv, N, count] with [B, Hkv, N] = {}",
                  numbers.name, shapeText(numbers.shape), shapeText(lists));
    inputs.chosenKeys = {numbers.shape, in32Bits(numbers, "key")};
    const std::span<const int32_t> entries = inputs.chosenKeys.entries;
    for (size_t first = 0; first < entries.size(); first += count)
        if (const int32_t twice = findTwice(entries.subspan(first, count), extent(inputs.k, axisRow)); twice >= 0)
            failInput("{}: key {} stands twice in list {}", numbers.name, twice, first / count);
}

// Reads the rows whose probabilities the caller wants.
void loadProbabilityRows(const FlagFile& file, const TensorNames& /*names*/, Inputs& inputs) {
    const WholeNumbers numbers = loadWhole(file, "row numbers");
    if (numbers.shape.size() != 1 || numbers.shape[0] == 0)
        failInput("{}: has shape {}; one or more row numbers are [W]", numbers.name, shapeText(numbers.shape));
    inputs.probabilityRows = in32Bits(numbers, "row number");
}

// Reads one number for each query head.
template <VkfArray array> void loadHeads(const FlagFile& file, const TensorNames& /*names*/, Inputs& inputs) {
    auto [name, tensor] = load(file);
    const uint32_t heads = extent(inputs.q, axisHead);
    if (tensor.type != ElementType::f32)
        failInput("{}: holds {}; it must be float32", name, elementName(tensor.type));
    if (tensor.shape != Shape{heads})
        failInput("{}: has shape {}; one number for each query head is [{}]", name, shapeText(tensor.shape), heads);
    inputs.headNumbers[array] = std::move(tensor);
}

// Reads a bias or a mask. Dimensions of 1 and missing dimensions repeat. `lastKeys`: the file says how many keys it
// has.
NamedArray loadBroadcast(const FlagFile& file, const Inputs& inputs, bool lastKeys = false) {
    auto [name, tensor] = load(file);
    Shape whole = scoresShape(inputs);
    if (lastKeys && !tensor.shape.empty() && tensor.shape.back() != 0)
        whole.back() = tensor.shape.back();
    if (!canBroadcast(tensor.shape, whole))
        failInput("{}: has shape {}, which cannot be broadcast to [B, H, N, K] = {}", name, shapeText(tensor.shape),
                  shapeText(whole));
    tensor.bytes.resize((tensor.bytes.size() + 3) / 4 * 4);
    return {std::move(name), std::move(tensor)};
}

void loadBias(const FlagFile& file, const TensorNames& /*names*/, Inputs& inputs) {
    auto [name, bias] = loadBroadcast(file, inputs);
    if (vkfTypeOf(bias.type) == VKF_TYPE_FORCE_INT32)
        failInput("{}: holds {}, not floating-point numbers", name, elementName(bias.type));
    inputs.bias = std::move(bias);
}

void loadBiasFactors(const FlagFile& file, const TensorNames& names, Inputs& inputs) {
    loadHeads<VKF_ARRAY_BIAS_FACTORS>(file, names, inputs);
    if (!inputs.bias)
        failInput("{} {}: multiplies a bias; give --bias", file.flag, file.path);
}

template <std::optional<Tensor> Inputs::*field>
void loadMask(const FlagFile& file, const TensorNames& /*names*/, Inputs& inputs) {
    auto [name, mask] = loadBroadcast(file, inputs, field == &Inputs::mask && inputs.maskOfLastKeys);
    if (mask.type != ElementType::boolean && mask.type != ElementType::u8)
        failInput("{}: holds {}; it must be bool or uint8", name, elementName(mask.type));
    inputs.*field = std::move(mask);
}

void loadBlockMask(const FlagFile& file, const TensorNames& /*names*/, Inputs& inputs) {
    inputs.blockMask = load(file);
}

VkfBroadcastArray broadcastOf(const Tensor& tensor, VkfType type) {
    VkfBroadcastArray bias{};
    bias.type = type;
    const uint32_t heads = extent(tensor, axisHead);
    const uint32_t rows = extent(tensor, axisRow);
    const uint64_t keys = extent(tensor, axisDim);
    bias.rowStride = rows > 1 ? keys : 0;
    bias.headStride = heads > 1 ? keys * rows : 0;
    bias.batchStride = extent(tensor, axisBatch) > 1 ? keys * rows * heads : 0;
    return bias;
}

// How a table row describes its input in the problem.
using P = VkfProblem;

template <VkfUseBits array> void hasArray(const Inputs& /*inputs*/, P& problem) { enable(problem, array); }

template <auto tensor, auto field, VkfUseBits array> void isMask(const Inputs& inputs, P& problem) {
    problem.*field = broadcastOf(*(inputs.*tensor), VKF_TYPE_BOOL8);
    if (array == VKF_USE_MASK && inputs.maskOfLastKeys)
        problem.mask.lastKeys = extent(*inputs.mask, axisDim);
    enable(problem, array);
}

void isRowOffsets(const Inputs& /*inputs*/, P& problem) {
    enable(problem, VKF_USE_POSITIONS);
    enable(problem, VKF_USE_ROW_OFFSETS);
}

void isChosenKeys(const Inputs& inputs, P& problem) {
    const Shape& shape = inputs.chosenKeys.shape;
    const auto count = [&shape](size_t axis) { return axis < shape.size() ? shape[shape.size() - 1 - axis] : 1; };
    problem.chosenKeys.count = static_cast<uint32_t>(count(axisDim));
    problem.chosenKeys.rowStride = count(axisRow) > 1 ? count(axisDim) : 0;
    problem.chosenKeys.headStride = count(axisHead) > 1 ? count(axisDim) * count(axisRow) : 0;
    problem.chosenKeys.batchStride = count(axisBatch) > 1 ? count(axisDim) * count(axisRow) * count(axisHead) : 0;
    enable(problem, VKF_USE_CHOSEN_KEYS);
}

void handChosenKeys(const Inputs& inputs, host::HostTensors& tensors) {
    tensors.chosenKeys = inputs.chosenKeys.entries.data();
}

void isBias(const Inputs& inputs, P& problem) {
    problem.bias = broadcastOf(*inputs.bias, vkfTypeOf(inputs.bias->type));
    enable(problem, VKF_USE_BIAS);
}

void isAlibi(const Inputs& /*inputs*/, P& problem) {
    problem.use |= VKF_USE_ALIBI;
    enable(problem, VKF_USE_ALIBI_SLOPES);
}

void isProbabilityRows(const Inputs& inputs, P& problem) {
    problem.probabilityRowCount = static_cast<uint32_t>(inputs.probabilityRows.size());
    enable(problem, VKF_USE_PROBABILITY_ROWS, problem.probabilityRowCount != 0);
}

// Where host attention takes an input.
using T = host::HostTensors;

template <auto vector, auto field> void numbers(const Inputs& inputs, T& tensors) {
    tensors.*field = (inputs.*vector).data();
}

template <VkfArray array, auto field> void floats(const Inputs& inputs, T& tensors) {
    tensors.*field = reinterpret_cast<const float*>(inputs.headNumbers.at(array).bytes.data());
}

template <auto tensor, auto field> void bytes(const Inputs& inputs, T& tensors) {
    tensors.*field = (inputs.*tensor)->bytes.data();
}

using I = Inputs;

// Packed sequences come first, because the shapes of other inputs depend on them.
const std::array tableRows = {
    OptionalInput{
        "--cu-seqlens-q",
        ".npy file of [B + 1], int32 or int64: the first row of each of B packed sequences, and the end of the "
        "last one; q, k and v are then [rows, H, D] or [1, H, rows, D]",
        loadRowStarts, nullptr, numbers<&I::cuSeqlensQ, &T::cuSeqlensQ>},
    OptionalInput{"--cu-seqlens-k", ".npy file of [B + 1]: the first key of each sequence, and the end of the last one",
                  loadKeyStarts, nullptr, numbers<&I::cuSeqlensK, &T::cuSeqlensK>},
    OptionalInput{"--lengths", ".npy file of [B], int32 or int64: number of keys of each sequence", loadLengths,
                  hasArray<VKF_USE_KEY_LENGTHS>, numbers<&I::lengths, &T::keyLengths>},
    OptionalInput{"--row-offsets",
                  ".npy file of [B], int32 or int64: position of row 0 less that of key 0 in each sequence",
                  loadRowOffsets, isRowOffsets, numbers<&I::rowOffsets, &T::rowOffsets>},
    OptionalInput{"--block-mask",
                  ".npy file of [B, H, R, K], [H, R, K] or [R, K], bool or uint8: the open blocks; a block has "
                  "--mask-block rows and keys",
                  loadBlockMask, nullptr, nullptr},
    OptionalInput{"--sinks", ".npy file of [H], float32: one more logit for each query head",
                  loadHeads<VKF_ARRAY_SINKS>, hasArray<VKF_USE_SINKS>, floats<VKF_ARRAY_SINKS, &T::sinks>},
    OptionalInput{"--alibi-slopes", ".npy file of [H], float32: the ALiBi slope of each query head",
                  loadHeads<VKF_ARRAY_ALIBI_SLOPES>, isAlibi, floats<VKF_ARRAY_ALIBI_SLOPES, &T::alibiSlopes>},
    OptionalInput{
        "--bias",
        ".npy file of [B, H, N, K], float32 or float16: added to the scores; dimensions of 1 and missing ones repeat",
        loadBias, isBias, bytes<&I::bias, &T::bias>},
    OptionalInput{"--bias-factors", ".npy file of [H], float32: one factor of --bias for each query head",
                  loadBiasFactors, hasArray<VKF_USE_BIAS_FACTORS>, floats<VKF_ARRAY_BIAS_FACTORS, &T::biasFactors>},
    OptionalInput{
        "--mask",
        ".npy file of [B, H, N, K], bool or uint8: the keys that each row sees; dimensions repeat as in --bias",
        loadMask<&I::mask>, isMask<&I::mask, &P::mask, VKF_USE_MASK>, bytes<&I::mask, &T::mask>},
    OptionalInput{"--documents",
                  ".npy file of [B, K] or [K], int32 or int64: the document of each key; a row sees only the keys of "
                  "its document",
                  loadDocuments, hasArray<VKF_USE_DOCUMENT_IDS>, numbers<&I::documents, &T::documentIds>},
    OptionalInput{
        "--chosen-keys",
        ".npy file of [B, Hkv, N, count], int32 or int64: a list of keys for each row, which sees only these; "
        "-1 = none; dimensions repeat as in --bias",
        loadChosenKeys, isChosenKeys, handChosenKeys},
    OptionalInput{"--dropout-mask",
                  ".npy file of [B, H, N, K], bool or uint8: the probabilities that --dropout keeps, in place of its "
                  "generator; dimensions repeat as in --bias",
                  loadMask<&I::dropoutMask>, isMask<&I::dropoutMask, &P::dropoutMask, VKF_USE_DROPOUT_MASK>,
                  bytes<&I::dropoutMask, &T::dropoutMask>},
    OptionalInput{"--probability-rows",
                  ".npy file of [W], int32 or int64: the rows of --probabilities in any order; a number outside of "
                  "the rows gives zeros",
                  loadProbabilityRows, isProbabilityRows, numbers<&I::probabilityRows, &T::probabilityRows>,
                  "--weight-rows"},
};

} // namespace

std::span<const OptionalInput> optionalInputs() { return tableRows; }

uint32_t extent(const Tensor& tensor, Axis axis) {
    const size_t rank = tensor.shape.size();
    return axis < rank ? static_cast<uint32_t>(tensor.shape[rank - 1 - axis]) : 1;
}

// The longest of packed sequences.
uint32_t longest(const std::vector<int32_t>& starts) {
    int32_t most = 0;
    for (size_t i = 1; i < starts.size(); ++i)
        most = std::max(most, starts[i] - starts[i - 1]);
    return static_cast<uint32_t>(most);
}

} // namespace vkf::tools
