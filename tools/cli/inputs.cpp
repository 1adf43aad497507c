// SPDX-License-Identifier: MIT
#include "cli/inputs.hpp"

#include <algorithm>
#include <array>

#include "cli/error.hpp"
#include "cli/optional_inputs.hpp"
#include "tensors/path_of.hpp"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

namespace {

constexpr std::array<const char*, 4> axisNames = {"head dimensions", "rows", "heads", "sequences"};

// A tensor, and its name in messages.
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
            failInput("{}: shape {} and {}, shape {}, differ in the number of dimensions", source->name,
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

// Turns shapes of [rows, heads, D] into [heads, rows, D]. All code here uses that order.
void putHeadsFirst(const TensorNames& names, Inputs& inputs) {
    const std::array<Tensor*, 3> tensors = {&inputs.q, &inputs.k, &inputs.v};
    inputs.rowsFirst = inputs.q.shape.size() == 3;
    for (size_t i = 0; i < tensors.size(); ++i) {
        Shape& shape = tensors[i]->shape;
        if ((shape.size() == 3) != inputs.rowsFirst || (shape.size() == 4 && shape[0] != 1))
            failInput("{}: has shape {}; packed sequences are all [rows, H, D] or all [1, H, rows, D]", names[i],
                      shapeText(shape));
        if (inputs.rowsFirst)
            std::swap(shape[0], shape[1]);
    }
}

VkfTensor rowsFirst(VkfType type, uint32_t heads, uint32_t dim) { return {type, 0, 0, dim, uint64_t{heads} * dim}; }

// Sets the fields that differ for packed sequences.
void setPacked(const Inputs& inputs, VkfProblem& problem) {
    if (inputs.cuSeqlensQ.empty())
        return;
    enable(problem, VKF_ARRAY_CU_SEQLENS);
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

Tensor loadArray(const FlagFile& file, const std::string& name) {
    if (formatOf(pathOf(file.path)) == FileFormat::safetensors)
        failInput("{}: takes a .npy file; a .safetensors file goes to --tensors", name);
    return named(name, [&] { return loadNpy(pathOf(file.path)); });
}

void addInputOptions(CLI::App& command, InputFiles& files) {
    command.add_option("--q", files.q,
                       ".npy file of the queries: [B, H, N, D], [H, N, D] or [N, D], float32 or float16");
    command.add_option("--k", files.k, ".npy file of the keys; H is a multiple of its number of heads");
    command.add_option("--v", files.v, ".npy file of the values");
    command.add_option("--tensors", files.tensors,
                       ".safetensors file with tensors q, k and v in F32, F16 or BF16; replaces --q, --k and --v");
    for (const OptionalInput& row : optionalInputs())
        if (row.flag != nullptr)
            command.add_option(row.alias == nullptr ? row.flag : fmt::format("{},{}", row.flag, row.alias),
                               files.*row.path, row.help);
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
        if (row.flag != nullptr)
            add(row.flag, files.*row.path);
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
    const bool packed = !files.cuSeqlensQ.empty();
    if (packed != !files.cuSeqlensK.empty())
        failInput("{}: is missing; packed sequences take --cu-seqlens-q and --cu-seqlens-k",
                  packed ? "--cu-seqlens-k" : "--cu-seqlens-q");
    if (packed)
        putHeadsFirst(names, inputs);
    checkTogether({&inputs.q, names[0]}, {&inputs.k, names[1]}, {&inputs.v, names[2]});
    for (const OptionalInput& row : optionalInputs())
        if (row.flag != nullptr && !(files.*row.path).empty()) {
            row.load({row.flag, files.*row.path}, names, inputs);
            inputs.given.push_back(&row);
        }
    if (inputs.cuSeqlensQ.size() != inputs.cuSeqlensK.size())
        failInput("--cu-seqlens-k {}: has {} elements, --cu-seqlens-q {} has {}", files.cuSeqlensK,
                  inputs.cuSeqlensK.size(), files.cuSeqlensQ, inputs.cuSeqlensQ.size());
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
    for (const OptionalInput* row : inputs.given)
        if (row->describe != nullptr)
            row->describe(inputs, problem);
    setPacked(inputs, problem);
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

Shape outputShape(const Inputs& inputs) {
    Shape shape = inputs.q.shape;
    shape.back() = inputs.v.shape.back();
    if (inputs.rowsFirst)
        std::swap(shape[0], shape[1]);
    return shape;
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

} // namespace vkf::tools
