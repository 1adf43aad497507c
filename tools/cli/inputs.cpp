// SPDX-License-Identifier: MIT
#include "cli/inputs.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "cli/error.hpp"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

namespace {

// Dimensions counted from the innermost, so that they are the same at every rank.
enum Axis : size_t { axisDim = 0, axisRow = 1, axisHead = 2, axisBatch = 3 };

constexpr std::array<const char*, 4> axisNames = {"head dimensions", "rows", "heads", "sequences"};

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

// [sequences, heads, rows, keys] of a bias or a mask.
Shape scoresShape(const Inputs& inputs) {
    const uint32_t heads = extent(inputs.q, axisHead);
    if (inputs.cuSeqlensQ.empty())
        return {extent(inputs.q, axisBatch), heads, extent(inputs.q, axisRow), extent(inputs.k, axisRow)};
    return {inputs.cuSeqlensQ.size() - 1, heads, longest(inputs.cuSeqlensQ), longest(inputs.cuSeqlensK)};
}

// A tensor and how messages call it.
struct Source {
    const Tensor* tensor;
    std::string name;
};

void checkShape(const Source& source) {
    const Tensor& tensor = *source.tensor;
    const VkfType type = vkfTypeOf(tensor.type);
    if (type == VKF_TYPE_FORCE_INT32)
        failInput("{}: holds {}, not floating-point numbers", source.name, elementName(tensor.type));
    if (tensor.shape.size() < 2 || tensor.shape.size() > 4)
        failInput("{}: has shape {}, which is none of [N, D], [H, N, D], [B, H, N, D]", source.name,
                  shapeText(tensor.shape));
    for (const uint64_t value : tensor.shape)
        if (value > UINT32_MAX)
            failInput("{}: has shape {}, the limit of a dimension is {}", source.name, shapeText(tensor.shape),
                      UINT32_MAX);
    if (tensor.shape.back() == 0)
        failInput("{}: has shape {}, the head dimension must be at least 1", source.name, shapeText(tensor.shape));
}

void checkSame(const Source& a, const Source& b, Axis axis) {
    if (extent(*a.tensor, axis) != extent(*b.tensor, axis))
        failInput("{}: shape {} does not fit {}, shape {}: {} and {} {}", b.name, shapeText(b.tensor->shape), a.name,
                  shapeText(a.tensor->shape), extent(*b.tensor, axis), extent(*a.tensor, axis), axisNames[axis]);
}

void checkTogether(const Source& q, const Source& k, const Source& v) {
    for (const Source* source : {&q, &k, &v})
        checkShape(*source);
    for (const Source* source : {&k, &v})
        if (source->tensor->shape.size() != q.tensor->shape.size())
            failInput("{}: shape {} has not as many dimensions as {}, shape {}", source->name,
                      shapeText(source->tensor->shape), q.name, shapeText(q.tensor->shape));
    checkSame(q, k, axisBatch);
    checkSame(q, v, axisBatch);
    checkSame(q, k, axisDim);
    checkSame(k, v, axisHead);
    checkSame(k, v, axisRow);
    const uint32_t heads = extent(*q.tensor, axisHead);
    const uint32_t kvHeads = extent(*k.tensor, axisHead);
    if (kvHeads == 0 ? heads != 0 : heads % kvHeads != 0)
        failInput("{}: {} query heads are not a multiple of the {} KV heads of {}", q.name, heads, kvHeads, k.name);
}

int64_t lengthAt(const Tensor& lengths, size_t index) {
    if (lengths.type == ElementType::i64) {
        int64_t value = 0;
        std::memcpy(&value, lengths.bytes.data() + index * sizeof(value), sizeof(value));
        return value;
    }
    int32_t value = 0;
    std::memcpy(&value, lengths.bytes.data() + index * sizeof(value), sizeof(value));
    return value;
}

std::vector<int32_t> toLengths(const Tensor& file, const std::string& name, uint64_t batch, const Tensor& k,
                               const std::string& kName) {
    const uint32_t keys = extent(k, axisRow);
    if (file.type != ElementType::i32 && file.type != ElementType::i64)
        failInput("{}: holds {}; lengths are int32 or int64", name, elementName(file.type));
    if (file.shape != Shape{batch})
        failInput("{}: has shape {}, one length for each sequence is [{}]", name, shapeText(file.shape), batch);
    std::vector<int32_t> lengths;
    for (size_t i = 0; i < batch; ++i) {
        const int64_t length = lengthAt(file, i);
        if (length < 0 || length > keys || length > INT32_MAX)
            failInput("{}: length {} of sequence {} is not within 0 and the {} rows of {}", name, length, i, keys,
                      kName);
        lengths.push_back(static_cast<int32_t>(length));
    }
    return lengths;
}

// Where packed sequences begin, and where the last one ends, among the rows of a tensor.
std::vector<int32_t> toStarts(const Tensor& file, const std::string& name, const Source& of) {
    const uint32_t rows = extent(*of.tensor, axisRow);
    if (file.type != ElementType::i32 && file.type != ElementType::i64)
        failInput("{}: holds {}; cumulative lengths are int32 or int64", name, elementName(file.type));
    if (file.shape.size() != 1 || file.shape[0] < 2)
        failInput("{}: has shape {}, cumulative lengths of B sequences are [B + 1]", name, shapeText(file.shape));
    std::vector<int32_t> starts;
    for (size_t i = 0; i < file.shape[0]; ++i) {
        const int64_t least = starts.empty() ? 0 : starts.back();
        const int64_t start = lengthAt(file, i);
        if (start < least || start > rows || (i == 0 && start != 0))
            failInput("{}: element {} is {}; they start at 0, never fall and are at most {}, the rows of {}", name, i,
                      start, rows, of.name);
        starts.push_back(static_cast<int32_t>(start));
    }
    if (starts.back() != static_cast<int64_t>(rows))
        failInput("{}: ends at {}; {} has {} rows", name, starts.back(), of.name, rows);
    return starts;
}

// A FormatError of the call gets the file's name in front of it.
template <typename Load> auto named(const std::string& name, Load load) {
    try {
        return load();
    } catch (const FormatError& error) {
        failInput("{}: {}", name, error.what());
    }
}

Tensor loadArray(const FlagFile& file, const std::string& name) {
    if (formatOf(file.path) == FileFormat::safetensors)
        failInput("{}: takes a .npy file; a .safetensors file goes to --tensors", name);
    return named(name, [&] { return loadNpy(file.path); });
}

void checkGiven(const InputFiles& files) {
    const bool arrays = !files.q.empty() || !files.k.empty() || !files.v.empty();
    if (!files.tensors.empty() && arrays)
        failInput("--tensors {}: takes the place of --q, --k and --v, not both", files.tensors);
    if (!files.tensors.empty())
        return;
    for (const auto& [flag, path] : {FlagFile{"--q", files.q}, {"--k", files.k}, {"--v", files.v}})
        if (path.empty())
            failInput("{}: is missing; give --q, --k and --v, or --tensors", flag);
}

// The document of each key of each sequence; of one row they are those of every sequence.
std::vector<int32_t> toDocuments(const Tensor& file, const std::string& name, const Tensor& k) {
    const uint32_t batch = extent(k, axisBatch); // 1 of packed sequences
    const uint32_t keys = extent(k, axisRow);
    if (file.type != ElementType::i32 && file.type != ElementType::i64)
        failInput("{}: holds {}; documents are int32 or int64", name, elementName(file.type));
    if (file.shape != Shape{batch, keys} && file.shape != Shape{keys})
        failInput("{}: has shape {}, one document for each key is [{}, {}] or [{}]", name, shapeText(file.shape), batch,
                  keys, keys);
    std::vector<int32_t> documents;
    for (size_t i = 0; i < size_t{batch} * keys; ++i) {
        const int64_t document = lengthAt(file, file.shape.size() == 1 ? i % keys : i);
        if (document < INT32_MIN || document > INT32_MAX)
            failInput("{}: document {} of key {} does not fit 32 bits", name, document, i);
        documents.push_back(static_cast<int32_t>(document));
    }
    return documents;
}

// Rows whose weights are wanted.
std::vector<int32_t> toWeightRows(const Tensor& file, const std::string& name) {
    if (file.type != ElementType::i32 && file.type != ElementType::i64)
        failInput("{}: holds {}; row numbers are int32 or int64", name, elementName(file.type));
    if (file.shape.size() != 1 || file.shape[0] == 0)
        failInput("{}: has shape {}, one or more row numbers are [W]", name, shapeText(file.shape));
    std::vector<int32_t> rows;
    for (size_t i = 0; i < file.shape[0]; ++i) {
        const int64_t row = lengthAt(file, i);
        if (row < INT32_MIN || row > INT32_MAX)
            failInput("{}: row number {} at {} does not fit 32 bits", name, row, i);
        rows.push_back(static_cast<int32_t>(row));
    }
    return rows;
}

// A number for each query head, if the file is given.
std::optional<Tensor> loadHeads(const FlagFile& file, uint32_t heads) {
    if (file.path.empty())
        return std::nullopt;
    const std::string name = fmt::format("{} {}", file.flag, file.path);
    Tensor tensor = loadArray(file, name);
    if (tensor.type != ElementType::f32)
        failInput("{}: holds {}; it must be float32", name, elementName(tensor.type));
    if (tensor.shape != Shape{heads})
        failInput("{}: has shape {}, one number for each query head is [{}]", name, shapeText(tensor.shape), heads);
    return tensor;
}

// A bias or a mask, if the file is given: dimensions of 1, or that are not there, repeat.
std::optional<Tensor> loadBroadcast(const FlagFile& file, const Inputs& inputs) {
    if (file.path.empty())
        return std::nullopt;
    const std::string name = fmt::format("{} {}", file.flag, file.path);
    Tensor tensor = loadArray(file, name);
    const Shape whole = scoresShape(inputs);
    bool fits = !tensor.shape.empty() && tensor.shape.size() <= whole.size() && tensor.shape.back() == whole.back();
    for (size_t i = 1; fits && i < tensor.shape.size(); ++i) {
        const uint64_t count = tensor.shape[tensor.shape.size() - 1 - i];
        fits = count == 1 || count == whole[whole.size() - 1 - i];
    }
    if (!fits)
        failInput("{}: has shape {}, which cannot be repeated to [B, H, N, K] = {}", name, shapeText(tensor.shape),
                  shapeText(whole));
    tensor.bytes.resize((tensor.bytes.size() + 3) / 4 * 4);
    return tensor;
}

std::optional<Tensor> loadMask(const FlagFile& file, const Inputs& inputs) {
    std::optional<Tensor> mask = loadBroadcast(file, inputs);
    if (mask && mask->type != ElementType::boolean && mask->type != ElementType::u8)
        failInput("{} {}: holds {}; it must be bool or uint8", file.flag, file.path, elementName(mask->type));
    return mask;
}

VkfBias broadcastOf(const std::optional<Tensor>& tensor, VkfType type) {
    VkfBias bias{};
    if (!tensor)
        return bias;
    bias.enabled = 1;
    bias.type = type;
    const uint32_t heads = extent(*tensor, axisHead);
    const uint32_t rows = extent(*tensor, axisRow);
    const uint64_t keys = extent(*tensor, axisDim);
    bias.rowStride = rows > 1 ? keys : 0;
    bias.headStride = heads > 1 ? keys * rows : 0;
    bias.batchStride = extent(*tensor, axisBatch) > 1 ? keys * rows * heads : 0;
    return bias;
}

// Shapes of [rows, heads, D] become those of [heads, rows, D], in which everything here counts.
void putHeadsFirst(Inputs& inputs, const std::array<std::string, 3>& names) {
    const std::array<Tensor*, 3> tensors = {&inputs.q, &inputs.k, &inputs.v};
    inputs.rowsFirst = inputs.q.shape.size() == 3;
    for (size_t i = 0; i < tensors.size(); ++i) {
        Shape& shape = tensors[i]->shape;
        if ((shape.size() == 3) != inputs.rowsFirst || (shape.size() == 4 && shape[0] != 1))
            failInput("{}: has shape {}, packed sequences are [rows, H, D], or [1, H, rows, D], in q, k and v alike",
                      names[i], shapeText(shape));
        if (inputs.rowsFirst)
            std::swap(shape[0], shape[1]);
    }
}

void loadStarts(const InputFiles& files, const std::array<std::string, 3>& names, Inputs& inputs) {
    const std::string ofQ = "--cu-seqlens-q " + files.cuSeqlensQ;
    const std::string ofK = "--cu-seqlens-k " + files.cuSeqlensK;
    inputs.cuSeqlensQ = toStarts(loadArray({"--cu-seqlens-q", files.cuSeqlensQ}, ofQ), ofQ, {&inputs.q, names[0]});
    inputs.cuSeqlensK = toStarts(loadArray({"--cu-seqlens-k", files.cuSeqlensK}, ofK), ofK, {&inputs.k, names[1]});
    if (inputs.cuSeqlensQ.size() != inputs.cuSeqlensK.size())
        failInput("{}: has {} elements, {} has {}", ofK, inputs.cuSeqlensK.size(), ofQ, inputs.cuSeqlensQ.size());
}

VkfTensor rowsFirst(VkfType type, uint32_t heads, uint32_t dim) { return {type, 0, 0, dim, uint64_t{heads} * dim}; }

// What of the problem is other if sequences are packed.
void setPacked(const Inputs& inputs, VkfProblem& problem) {
    if (inputs.cuSeqlensQ.empty())
        return;
    problem.packed = 1;
    problem.batch = static_cast<uint32_t>(inputs.cuSeqlensQ.size() - 1);
    problem.longestRows = longest(inputs.cuSeqlensQ);
    problem.longestKeys = longest(inputs.cuSeqlensK);
    if (!inputs.rowsFirst)
        return;
    problem.q = rowsFirst(problem.q.type, problem.queryHeads, problem.headDim);
    problem.k = rowsFirst(problem.k.type, problem.kvHeads, problem.headDim);
    problem.v = rowsFirst(problem.v.type, problem.kvHeads, problem.valueDim);
    problem.o = rowsFirst(problem.o.type, problem.queryHeads, problem.valueDim);
}

} // namespace

void addInputOptions(CLI::App& command, InputFiles& files) {
    command.add_option("--q", files.q, ".npy of [B, H, N, D], [H, N, D] or [N, D], float32 or float16");
    command.add_option("--k", files.k, ".npy of the keys, with H or fewer heads that divide it");
    command.add_option("--v", files.v, ".npy of the values");
    command.add_option("--tensors", files.tensors,
                       ".safetensors with q, k and v in F32, F16 or BF16, in place of those three");
    command.add_option("--lengths", files.lengths, ".npy of [B], int32 or int64: keys of each sequence");
    command.add_option(
        "--block-mask", files.blockMask,
        ".npy of [B, H, R, K], [H, R, K] or [R, K], bool or uint8: which of R x K blocks of --mask-block "
        "rows and keys are open");
    command.add_option("--sinks", files.sinks,
                       ".npy of [H], float32: a logit for each query head beside those of the keys");
    command.add_option(
        "--alibi-slopes", files.alibiSlopes,
        ".npy of [H], float32: how scores of each query head fall with the distance between row and key");
    command.add_option(
        "--bias", files.bias,
        ".npy of [B, H, N, K], float32 or float16, added to scores; dimensions of 1, or missing, repeat");
    command.add_option("--mask", files.mask, ".npy of [B, H, N, K], bool or uint8, likewise: which keys rows see");
    command.add_option("--documents", files.documents,
                       ".npy of [B, K] or [K], int32 or int64: the document of each key; rows see their own alone");
    command.add_option(
        "--cu-seqlens-q", files.cuSeqlensQ,
        ".npy of [B + 1], int32 or int64: where the rows of each of B packed sequences begin and the last "
        "ends; q, k and v are then [rows, H, D] or [1, H, rows, D]");
    command.add_option("--cu-seqlens-k", files.cuSeqlensK, ".npy of [B + 1], the same of the keys");
    command.add_option("--dropout-mask", files.dropoutMask,
                       ".npy of [B, H, N, K], bool or uint8; dimensions of 1, or missing, repeat: which probabilities "
                       "--dropout keeps, in place of its generator");
    command.add_option("--weight-rows", files.weightRows,
                       ".npy of [W], int32 or int64: the rows of --weights, in any order; one that is none gets zeros");
}

std::vector<FlagFile> filesGiven(const InputFiles& files) {
    std::vector<FlagFile> given;
    for (const FlagFile& file : {FlagFile{"--q", files.q},
                                 {"--k", files.k},
                                 {"--v", files.v},
                                 {"--tensors", files.tensors},
                                 {"--lengths", files.lengths},
                                 {"--block-mask", files.blockMask},
                                 {"--sinks", files.sinks},
                                 {"--alibi-slopes", files.alibiSlopes},
                                 {"--bias", files.bias},
                                 {"--mask", files.mask},
                                 {"--documents", files.documents},
                                 {"--cu-seqlens-q", files.cuSeqlensQ},
                                 {"--cu-seqlens-k", files.cuSeqlensK},
                                 {"--dropout-mask", files.dropoutMask},
                                 {"--weight-rows", files.weightRows}})
        if (!file.path.empty())
            given.push_back(file);
    return given;
}

Inputs loadInputs(const InputFiles& files) {
    checkGiven(files);
    Inputs inputs;
    std::array<std::string, 3> names = {"--q " + files.q, "--k " + files.k, "--v " + files.v};
    if (files.tensors.empty()) {
        inputs.source = fmt::format("{} {} {}", names[0], names[1], names[2]);
        inputs.q = loadArray({"--q", files.q}, names[0]);
        inputs.k = loadArray({"--k", files.k}, names[1]);
        inputs.v = loadArray({"--v", files.v}, names[2]);
    } else {
        const std::string name = "--tensors " + files.tensors;
        inputs.source = name;
        const std::array<std::string, 3> wanted = {"q", "k", "v"};
        std::vector<Tensor> tensors = named(name, [&] { return loadSafetensors(files.tensors, wanted); });
        inputs.q = std::move(tensors[0]);
        inputs.k = std::move(tensors[1]);
        inputs.v = std::move(tensors[2]);
        for (size_t i = 0; i < names.size(); ++i)
            names[i] = name + ": tensor " + wanted[i];
    }
    const bool packed = !files.cuSeqlensQ.empty();
    if (packed != !files.cuSeqlensK.empty())
        failInput("{}: is missing; packed sequences take --cu-seqlens-q and --cu-seqlens-k",
                  packed ? "--cu-seqlens-k" : "--cu-seqlens-q");
    if (packed)
        putHeadsFirst(inputs, names);
    checkTogether({&inputs.q, names[0]}, {&inputs.k, names[1]}, {&inputs.v, names[2]});
    if (packed)
        loadStarts(files, names, inputs);
    if (!files.lengths.empty()) {
        const std::string name = "--lengths " + files.lengths;
        inputs.lengths =
            toLengths(loadArray({"--lengths", files.lengths}, name), name, scoresShape(inputs)[0], inputs.k, names[1]);
    }
    if (!files.blockMask.empty())
        inputs.blockMask = loadArray({"--block-mask", files.blockMask}, "--block-mask " + files.blockMask);
    const uint32_t heads = extent(inputs.q, axisHead);
    inputs.sinks = loadHeads({"--sinks", files.sinks}, heads);
    inputs.alibiSlopes = loadHeads({"--alibi-slopes", files.alibiSlopes}, heads);
    inputs.bias = loadBroadcast({"--bias", files.bias}, inputs);
    if (inputs.bias && vkfTypeOf(inputs.bias->type) == VKF_TYPE_FORCE_INT32)
        failInput("--bias {}: holds {}, not floating-point numbers", files.bias, elementName(inputs.bias->type));
    if (!files.documents.empty())
        inputs.documents = toDocuments(loadArray({"--documents", files.documents}, "--documents " + files.documents),
                                       "--documents " + files.documents, inputs.k);
    if (!files.weightRows.empty())
        inputs.weightRows =
            toWeightRows(loadArray({"--weight-rows", files.weightRows}, "--weight-rows " + files.weightRows),
                         "--weight-rows " + files.weightRows);
    inputs.mask = loadMask({"--mask", files.mask}, inputs);
    inputs.dropoutMask = loadMask({"--dropout-mask", files.dropoutMask}, inputs);
    return inputs;
}

VkfProblem problemOf(const Inputs& inputs) {
    auto problem = make<VkfProblem>();
    problem.batch = extent(inputs.q, axisBatch);
    problem.queryHeads = extent(inputs.q, axisHead);
    problem.kvHeads = extent(inputs.k, axisHead);
    problem.queryRows = extent(inputs.q, axisRow);
    problem.keys = extent(inputs.k, axisRow);
    problem.headDim = extent(inputs.q, axisDim);
    problem.valueDim = extent(inputs.v, axisDim);
    problem.q = dense(vkfTypeOf(inputs.q.type));
    problem.k = dense(vkfTypeOf(inputs.k.type));
    problem.v = dense(vkfTypeOf(inputs.v.type));
    problem.o = problem.q;
    problem.keyLengths = inputs.lengths.empty() ? 0 : 1;
    problem.sinks = inputs.sinks ? 1 : 0;
    if (inputs.bias)
        problem.bias = broadcastOf(inputs.bias, vkfTypeOf(inputs.bias->type));
    problem.documents = inputs.documents.empty() ? 0 : 1;
    problem.mask = broadcastOf(inputs.mask, VKF_TYPE_BOOL8);
    problem.dropoutMask = broadcastOf(inputs.dropoutMask, VKF_TYPE_BOOL8);
    problem.weightRows = static_cast<uint32_t>(inputs.weightRows.size());
    problem.alibi = problem.alibiCustom = inputs.alibiSlopes ? 1 : 0;
    setPacked(inputs, problem);
    return problem;
}

VkfType vkfTypeOf(ElementType type) {
    switch (type) {
    case ElementType::f32:
        return VKF_TYPE_F32;
    case ElementType::f16:
        return VKF_TYPE_F16;
    case ElementType::bf16:
        return VKF_TYPE_BF16;
    default:
        return VKF_TYPE_FORCE_INT32;
    }
}

ElementType elementTypeOf(VkfType type) {
    for (const ElementType known : {ElementType::f32, ElementType::f16, ElementType::bf16})
        if (vkfTypeOf(known) == type)
            return known;
    failInput("{} tensors cannot be written to files", vkfTypeName(type));
}

Shape outputShape(const Inputs& inputs) {
    Shape shape = inputs.q.shape;
    shape.back() = inputs.v.shape.back();
    if (inputs.rowsFirst)
        std::swap(shape[0], shape[1]);
    return shape;
}

Shape weightsShape(const Inputs& inputs) {
    Shape shape = inputs.q.shape;
    if (!inputs.weightRows.empty())
        shape[shape.size() - 2] = inputs.weightRows.size();
    shape.back() = extent(inputs.k, axisRow);
    return shape;
}

Shape lseShape(const Inputs& inputs) {
    Shape shape = inputs.q.shape;
    shape.pop_back();
    return shape;
}

} // namespace vkf::tools
