// SPDX-License-Identifier: MIT
#include "outputs.hpp"

#include "atomic_file.hpp"
#include "error.hpp"
#include "npy.hpp"
#include "safetensors.hpp"

namespace vkf::tools {

namespace {

constexpr const char* outputFlag = "-o";
constexpr const char* lseFlag = "--lse";

bool sameFile(const std::string& a, const std::string& b) {
    std::error_code error;
    namespace fs = std::filesystem;
    return fs::weakly_canonical(a, error) == fs::weakly_canonical(b, error) || fs::equivalent(a, b, error);
}

void checkOutput(const FlagFile& file, ElementType type, const InputFiles& inputs) {
    const std::optional<FileFormat> format = formatOf(file.path);
    if (!format)
        failInput("{} {}: the name must end in .npy or .safetensors", file.flag, file.path);
    if (format == FileFormat::npy && type == ElementType::bf16)
        failInput("{} {}: NumPy has no bf16; end the name in .safetensors or give --output-type f32", file.flag,
                  file.path);
    for (const FlagFile& input : filesGiven(inputs))
        if (sameFile(file.path, input.path))
            failInput("{} {}: is the input file of {}", file.flag, file.path, input.flag);
    try {
        checkWritable(file.path);
    } catch (const WriteError& error) {
        failInput("{} {}: {}", file.flag, file.path, error.what());
    }
}

void writeTensors(AtomicFile& file, FileFormat format, const std::vector<NamedView>& tensors) {
    file.write(format == FileFormat::npy ? npyHeader(tensors[0].tensor.type, tensors[0].tensor.shape)
                                         : safetensorsHeader(tensors));
    for (const NamedView& entry : tensors)
        file.write(entry.tensor.data);
}

} // namespace

void checkOutputs(const OutputFiles& files, ElementType outputType, const InputFiles& inputs) {
    checkOutput({outputFlag, files.o}, outputType, inputs);
    if (files.lse.empty())
        return;
    checkOutput({lseFlag, files.lse}, ElementType::f32, inputs);
    if (sameFile(files.o, files.lse) && formatOf(files.o) != FileFormat::safetensors)
        failInput("{} {}: is also the file of {}; only a .safetensors file can hold both", lseFlag, files.lse,
                  outputFlag);
}

void writeOutputs(const OutputFiles& files, const Tensor& o, const Tensor& lse) {
    const bool together = !files.lse.empty() && sameFile(files.o, files.lse);
    const bool apart = !files.lse.empty() && !together;
    FlagFile current{outputFlag, files.o}; // whose failure it would be
    try {
        std::vector<AtomicFile> outputs;
        outputs.reserve(2);
        std::vector<NamedView> first = {{"o", o.view()}};
        if (together)
            first.push_back({"lse", lse.view()});
        outputs.emplace_back(files.o);
        writeTensors(outputs.back(), *formatOf(files.o), first);
        if (apart) {
            current = {lseFlag, files.lse};
            outputs.emplace_back(files.lse);
            writeTensors(outputs.back(), *formatOf(files.lse), {{"lse", lse.view()}});
        }
        AtomicFile::commit(outputs);
    } catch (const WriteError& error) {
        fail("{} {}: {}", current.flag, current.path, error.what());
    }
}

} // namespace vkf::tools
