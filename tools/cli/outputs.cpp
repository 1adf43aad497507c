// SPDX-License-Identifier: MIT
#include "cli/outputs.hpp"

#include "cli/error.hpp"
#include "cli/files.hpp"
#include "tensors/atomic_file.hpp"
#include "tensors/npy.hpp"
#include "tensors/safetensors.hpp"
#include "tensors/tensor_file.hpp"

namespace vkf::tools {

namespace {

void checkOutput(const Output& output, std::span<const FlagFile> inputs) {
    const std::optional<FileFormat> format = formatOf(pathOf(output.path));
    if (!format)
        failInput("{} {}: the name must end in .npy or .safetensors", output.flag, output.path);
    if (format == FileFormat::npy && output.tensor.type == ElementType::bf16)
        failInput("{} {}: NumPy has no bf16; end the name in .safetensors or give --output-type f32", output.flag,
                  output.path);
    for (const FlagFile& input : inputs)
        if (sameFile(output.path, input.path))
            failInput("{} {}: is the input file of {}", output.flag, output.path, input.flag);
    checkOutputFile(output.flag, output.path);
}

void writeTensors(AtomicFile& file, FileFormat format, const std::vector<NamedView>& tensors) {
    file.write(format == FileFormat::npy ? npyHeader(tensors[0].tensor.type, tensors[0].tensor.shape)
                                         : safetensorsHeader(tensors));
    for (const NamedView& entry : tensors)
        file.write(entry.tensor.data);
}

} // namespace

void checkOutputs(std::span<const Output> outputs, std::span<const FlagFile> inputs) {
    for (size_t i = 0; i < outputs.size(); i++) {
        const Output& output = outputs[i];
        if (output.path.empty())
            continue;
        checkOutput(output, inputs);
        for (const Output& earlier : outputs.first(i))
            if (!earlier.path.empty() && sameFile(output.path, earlier.path) &&
                formatOf(pathOf(output.path)) != FileFormat::safetensors)
                failInput("{} {}: is also the file of {}; only a .safetensors file can hold both", output.flag,
                          output.path, earlier.flag);
    }
}

void allocate(Output& output, Shape shape) {
    const std::optional<uint64_t> bytes = tensorBytes(shape, elementBytes(output.tensor.type));
    if (!bytes)
        failInput("{}: the size of an output of shape {} does not fit 64 bits", output.flag, shapeText(shape));
    output.tensor.shape = std::move(shape);
    output.tensor.bytes.assign(*bytes, std::byte{0});
}

void writeOutputs(std::span<const Output> outputs) {
    std::vector<bool> written(outputs.size());
    std::vector<AtomicFile> files;
    std::string first; // flag and file of the first result
    files.reserve(outputs.size());
    for (size_t i = 0; i < outputs.size(); i++) {
        const Output& output = outputs[i];
        if (output.path.empty() || written[i])
            continue;
        first = first.empty() ? fmt::format("{} {}", output.flag, output.path) : first;
        std::vector<NamedView> together;
        for (size_t other = i; other < outputs.size(); other++)
            if (!outputs[other].path.empty() && sameFile(outputs[other].path, output.path)) {
                together.push_back({outputs[other].name, outputs[other].tensor.view()});
                written[other] = true;
            }
        try {
            files.emplace_back(pathOf(output.path));
            writeTensors(files.back(), *formatOf(pathOf(output.path)), together);
        } catch (const WriteError& error) {
            fail("{} {}: {}", output.flag, output.path, error.what());
        }
    }
    try {
        AtomicFile::commit(files);
    } catch (const WriteError& error) {
        fail("{}: {}", first, error.what());
    }
}

std::string writtenText(std::span<const Output> outputs) {
    std::string text;
    for (const Output& output : outputs)
        if (!output.path.empty())
            text += fmt::format("wrote   {} {} {}\n", output.path, shapeText(output.tensor.shape),
                                elementName(output.tensor.type));
    return text;
}

} // namespace vkf::tools
