// SPDX-License-Identifier: MIT
#include "cli/outputs.hpp"

#include <array>

#include "cli/error.hpp"
#include "tensors/atomic_file.hpp"
#include "tensors/npy.hpp"
#include "tensors/safetensors.hpp"

namespace vkf::tools {

namespace {

// One result: its flag, its name in a .safetensors file, and the path of the file. An empty path means that the caller
// does not want the result.
struct Result {
    const char* flag;
    const char* name;
    std::string path;
};

std::array<Result, 3> resultsOf(const OutputFiles& files) {
    return {{{"-o", "o", files.o}, {"--lse", "lse", files.lse}, {"--weights", "probabilities", files.probabilities}}};
}

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
    const auto results = resultsOf(files);
    for (size_t i = 0; i < results.size(); i++) {
        const Result& result = results[i];
        if (result.path.empty())
            continue;
        checkOutput({result.flag, result.path}, i == 0 ? outputType : ElementType::f32, inputs);
        for (size_t earlier = 0; earlier < i; earlier++)
            if (!results[earlier].path.empty() && sameFile(result.path, results[earlier].path) &&
                formatOf(result.path) != FileFormat::safetensors)
                failInput("{} {}: is also the file of {}; only a .safetensors file can hold both", result.flag,
                          result.path, results[earlier].flag);
    }
}

void writeOutputs(const OutputFiles& files, const OutputTensors& tensors) {
    const auto results = resultsOf(files);
    const std::array<const Tensor*, 3> all = {&tensors.o, &tensors.lse, &tensors.probabilities};
    std::array<bool, 3> written{};
    std::vector<AtomicFile> outputs;
    outputs.reserve(results.size());
    for (size_t i = 0; i < results.size(); i++) {
        if (results[i].path.empty() || written[i])
            continue;
        std::vector<NamedView> together;
        for (size_t other = i; other < results.size(); other++)
            if (!results[other].path.empty() && sameFile(results[other].path, results[i].path)) {
                together.push_back({results[other].name, all[other]->view()});
                written[other] = true;
            }
        try {
            outputs.emplace_back(results[i].path);
            writeTensors(outputs.back(), *formatOf(results[i].path), together);
        } catch (const WriteError& error) {
            fail("{} {}: {}", results[i].flag, results[i].path, error.what());
        }
    }
    try {
        AtomicFile::commit(outputs);
    } catch (const WriteError& error) {
        fail("-o {}: {}", files.o, error.what());
    }
}

} // namespace vkf::tools
