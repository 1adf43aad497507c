// SPDX-License-Identifier: MIT
#include "cli/inputs.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "cli/error.hpp"
#include "cli/optional_inputs.hpp"
#include "cli/program/help.hpp"
#include "tensors/tensor_file.hpp"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

namespace {

constexpr std::array<const char*, 4> axisNames = {"head dimensions", "rows", "heads", "sequences"};

// A tensor, its name in messages and its shape in the file.
struct Source {
    const Tensor* tensor;
    std::string name;
    Shape shape;
};

void checkShape(const Source& source) {
    const Tensor& tensor = *source.tensor;
    const VkfType type = vkfTypeOf(tensor.type);
    if (type == VKF_TYPE_FORCE_INT32)
        failInput("{}: holds {}, not floating-point numbers", source.name, elementName(tensor.type));
    if (tensor.shape.size() < 2 || tensor.shape.size() > 4)
        failInput("{}: has shape {}, which is none of [N, D], [H, N, D], [B, H, N, D]", source.name,
                  shapeText(source.shape));
    for (const uint64_t value : tensor.shape)
        if (value > UINT32_MAX)
            failInput("{}: has shape {}, the limit of a dimension is {}", source.name, shapeText(source.shape),
                      UINT32_MAX);
    if (tensor.shape.back() == 0)
        failInput("{}: has shape {}, the head dimension must be at least 1", source.name, shapeText(source.shape));
}

void checkSame(const Source& a, const Source& b, Axis axis) {
    if (extent(*a.tensor, axis) != extent(*b.tensor, axis))
        failInput("{}: shape {} does not fit {}, shape {}: {} and {} {}", b.name, shapeText(b.shape), a.name,
                  shapeText(a.shape), extent(*b.tensor, axis), extent(*a.tensor, axis), axisNames[axis]);
}

void checkTogether(const Source& q, const Source& k, const Source& v) {
    for (const Source* source : {&q, &k, &v})
        checkShape(*source);
    for (const Source* source : {&k, &v})
        if (source->tensor->shape.size() != q.tensor->shape.size())
            failInput("{}: shape {} and {}, shape {}, differ in the number of dimensions", source->name,
                      shapeText(source->shape), q.name, shapeText(q.shape));
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

// Adds the file's name to a FormatError of the call.
template <typename Load> auto named(const std::string& name, Load load) {
    try {
        return load();
    } catch (const FormatError& error) {
        failInput("{}: {}", name, error.what());
    }
}

void checkGiven(const InputFiles& files) {
    const bool arrays = !files.q.empty() || !files.k.empty() || !files.v.empty();
    if (!files.tensors.empty() && arrays)
        failInput("--tensors {}: replaces --q, --k and --v; do not give both", files.tensors);
    if (!files.tensors.empty())
        return;
    for (const auto& [flag, path] : {FlagFile{"--q", files.q}, {"--k", files.k}, {"--v", files.v}})
        if (path.empty())
            failInput("{}: is missing; give --q, --k and --v, or --tensors", flag);
}

void checkPackedShapes(const TensorNames& names, const Inputs& inputs) {
    const size_t dimensions = inputs.q.shape.size();
    const std::array<const Tensor*, 3> tensors = {&inputs.q, &inputs.k, &inputs.v};
    for (size_t i = 0; i < tensors.size(); ++i) {
        const Shape& shape = tensors[i]->shape;
        if (shape.size() != dimensions || (shape.size() != 3 && shape.size() != 4) ||
            (shape.size() == 4 && shape[0] != 1))
            failInput("{}: has shape {}; packed sequences are all [rows, H, D] or all [1, H, rows, D]", names[i],
                      shapeText(shape));
    }
}

// --layout says where the heads are. Packed tensors of three dimensions always have them after the rows.
bool hasRowsFirst(const InputFiles& files, const Inputs& inputs) {
    if (files.layout != "bhnd" && files.layout != "bnhd")
        failInput("--layout {}: takes one of bhnd, bnhd", files.layout);
    const size_t dimensions = inputs.q.shape.size();
    return dimensions > 2 && (files.layout == "bnhd" || (!files.of("--cu-seqlens-q").empty() && dimensions == 3));
}

VkfTensor rowsFirstTensor(const Tensor& tensor) {
    return rowsFirst(vkfTypeOf(tensor.type), extent(tensor, axisRow), extent(tensor, axisHead),
                     extent(tensor, axisDim));
}

// Sets strides for heads after rows. o has the type of q.
void setRowsFirst(const Inputs& inputs, VkfProblem& problem) {
    problem.q = rowsFirstTensor(inputs.q);
    problem.k = rowsFirstTensor(inputs.k);
    problem.v = rowsFirstTensor(inputs.v);
    problem.o = rowsFirst(problem.q.type, problem.queryRows, problem.queryHeads, problem.valueDim);
    if (!inputs.cuSeqlensQ.empty()) // packed sequences are one tensor without a batch
        for (VkfTensor* tensor : {&problem.q, &problem.k, &problem.v, &problem.o})
            tensor->batchStride = 0;
}

// Sets the fields that differ for packed sequences.
void setPacked(const Inputs& inputs, VkfProblem& problem) {
    if (inputs.cuSeqlensQ.empty())
        return;
    enable(problem, VKF_USE_CU_SEQLENS);
    problem.batch = static_cast<uint32_t>(inputs.cuSeqlensQ.size() - 1);
    problem.longestRows = longest(inputs.cuSeqlensQ);
    problem.longestKeys = longest(inputs.cuSeqlensK);
}

} // namespace

Tensor loadArray(const FlagFile& file, const std::string& name) {
    if (formatOf(pathOf(file.path)) == FileFormat::safetensors)
        failInput("{}: takes a .npy file; a .safetensors file goes to --tensors", name);
    return named(name, [&] { return loadNpy(pathOf(file.path)); });
}

void addInputOptions(CLI::App& command, InputFiles& files) {
    const HelpGroup group(command, filesGroup);
    const auto add = [&command](const std::string& flags, std::string& path, const char* help) {
        command.add_option(flags, path, help)->type_name("FILE");
    };
    add("--q", files.q, ".npy file of the queries: [B, H, N, D], [H, N, D] or [N, D], float32 or float16");
    add("--k", files.k, ".npy file of the keys; H is a multiple of its number of heads");
    add("--v", files.v, ".npy file of the values");
    add("--tensors", files.tensors,
        ".safetensors file with tensors q, k and v in F32, F16 or BF16; replaces --q, --k and --v");
    command
        .add_option("--layout", files.layout,
                    "order of the dimensions in files: bhnd, or bnhd with the heads after the rows")
        ->type_name("NAME")
        ->capture_default_str();
    for (const OptionalInput& row : optionalInputs())
        add(row.alias == nullptr ? row.flag : fmt::format("{},{}", row.flag, row.alias), files.optional[row.flag],
            row.help);
    command.add_option("--mask-keys", files.maskKeys, "columns of --mask: all keys, or the last ones of a sequence")
        ->type_name("all|last")
        ->capture_default_str();
}

std::vector<FlagFile> filesGiven(const InputFiles& files) {
    std::vector<FlagFile> given;
    const auto add = [&given](const char* flag, const std::string& path) {
        if (!path.empty())
            given.push_back({flag, path});
    };
    add("--q", files.q);
    add("--k", files.k);
    add("--v", files.v);
    add("--tensors", files.tensors);
    for (const OptionalInput& row : optionalInputs())
        add(row.flag, files.of(row.flag));
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
        std::vector<Tensor> tensors = named(name, [&] { return loadSafetensors(pathOf(files.tensors), wanted); });
        inputs.q = std::move(tensors[0]);
        inputs.k = std::move(tensors[1]);
        inputs.v = std::move(tensors[2]);
        for (size_t i = 0; i < names.size(); ++i)
            names[i] = name + ": tensor " + wanted[i];
    }
    completeInputs(files, names, inputs);
    return inputs;
}

void completeInputs(const InputFiles& files, const std::array<std::string, 3>& names, Inputs& inputs) {
    const bool packed = !files.of("--cu-seqlens-q").empty();
    if (packed != !files.of("--cu-seqlens-k").empty())
        failInput("{}: is missing; packed sequences take --cu-seqlens-q and --cu-seqlens-k",
                  packed ? "--cu-seqlens-k" : "--cu-seqlens-q");
    if (packed)
        checkPackedShapes(names, inputs);
    inputs.rowsFirst = hasRowsFirst(files, inputs);
    const std::array<Shape, 3> shapes = {inputs.q.shape, inputs.k.shape, inputs.v.shape};
    for (Tensor* tensor : {&inputs.q, &inputs.k, &inputs.v})
        tensor->shape = otherOrder(inputs, tensor->shape);
    checkTogether({&inputs.q, names[0], shapes[0]}, {&inputs.k, names[1], shapes[1]}, {&inputs.v, names[2], shapes[2]});
    if (files.maskKeys != "all" && files.maskKeys != "last")
        failInput("--mask-keys {}: takes one of all, last", files.maskKeys);
    inputs.maskOfLastKeys = files.maskKeys == "last";
    if (inputs.maskOfLastKeys && files.of("--mask").empty())
        failInput("--mask-keys last: needs a --mask");
    for (const OptionalInput& row : optionalInputs())
        if (const std::string path = files.of(row.flag); !path.empty()) {
            row.load({row.flag, path}, names, inputs);
            inputs.given.push_back(&row);
        }
    if (inputs.cuSeqlensQ.size() != inputs.cuSeqlensK.size())
        failInput("--cu-seqlens-k {}: has {} elements, --cu-seqlens-q {} has {}", files.of("--cu-seqlens-k"),
                  inputs.cuSeqlensK.size(), files.of("--cu-seqlens-q"), inputs.cuSeqlensQ.size());
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
    for (const OptionalInput* row : inputs.given)
        if (row->describe != nullptr)
            row->describe(inputs, problem);
    setPacked(inputs, problem);
    if (inputs.rowsFirst)
        setRowsFirst(inputs, problem);
    return problem;
}

void handOptional(const Inputs& inputs, host::HostTensors& tensors) {
    for (const OptionalInput* row : inputs.given)
        if (row->hand != nullptr)
            row->hand(inputs, tensors);
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

Shape otherOrder(const Inputs& inputs, Shape shape) {
    if (inputs.rowsFirst && shape.size() > 2)
        std::swap(shape[shape.size() - 3], shape[shape.size() - 2]);
    return shape;
}

Shape outputShape(const Inputs& inputs) {
    Shape shape = inputs.q.shape;
    shape.back() = inputs.v.shape.back();
    return otherOrder(inputs, shape);
}

Shape probabilitiesShape(const Inputs& inputs) {
    Shape shape = inputs.q.shape;
    if (!inputs.probabilityRows.empty())
        shape[shape.size() - 2] = inputs.probabilityRows.size();
    shape.back() = extent(inputs.k, axisRow);
    return shape;
}

Shape lseShape(const Inputs& inputs) {
    Shape shape = inputs.q.shape;
    shape.pop_back();
    return shape;
}

VkfProblem fileProblem(const Inputs& inputs, const MathOptions& math, const DropoutOptions& dropout) {
    if (inputs.blockMask.has_value() != (math.maskBlock != 0))
        failInput("{}: is missing; a block mask needs --block-mask and --mask-block",
                  inputs.blockMask ? "--mask-block" : "--block-mask");
    VkfProblem problem = problemOf(inputs);
    if (math.alibi && has(problem, VKF_USE_ALIBI_SLOPES))
        failInput("--alibi: means the standard slopes, which --alibi-slopes replaces");
    applyMathOptions(math, problem);
    applyDropoutOptions(dropout, problem);
    return problem;
}

std::vector<uint32_t> packBlockMask(const Inputs& inputs, VkfProblem& problem) {
    if (!inputs.blockMask)
        return {};
    const auto& [name, file] = *inputs.blockMask;
    if (file.type != ElementType::u8 && file.type != ElementType::boolean)
        failInput("{}: holds {}; block masks are bool or uint8", name, elementName(file.type));
    const VkfBlockMaskLayout layout = vkf::blockMaskLayoutOf(problem);
    const size_t rank = file.shape.size();
    const auto count = [&shape = file.shape, rank](size_t fromEnd) {
        return fromEnd < rank ? shape[rank - 1 - fromEnd] : 1;
    };
    const uint64_t heads = count(2);
    const uint64_t batch = count(3);
    if (rank < 2 || rank > 4 || count(0) != layout.keyBlocks || count(1) != layout.rowBlocks ||
        (heads != 1 && heads != problem.queryHeads) || (batch != 1 && batch != problem.batch))
        failInput("{}: has shape {}; blocks of {} make [{}, {}], with {} heads or 1 and {} sequences or 1 in front",
                  name, shapeText(file.shape), problem.blockMask.blockSize, layout.rowBlocks, layout.keyBlocks,
                  problem.queryHeads, problem.batch);
    const uint64_t wordsOfHead = uint64_t{layout.rowBlocks} * layout.rowWords;
    problem.blockMask.headStride = heads == 1 ? 0 : wordsOfHead;
    problem.blockMask.batchStride = batch == 1 ? 0 : wordsOfHead * heads;
    std::vector<uint32_t> words(wordsOfHead * heads * batch);
    for (size_t i = 0; i < file.bytes.size(); ++i) {
        const uint64_t block = i % layout.keyBlocks;
        if (file.bytes[i] != std::byte{0})
            words[i / layout.keyBlocks * layout.rowWords + block / 32] |= 1U << block % 32;
    }
    return words;
}

} // namespace vkf::tools
