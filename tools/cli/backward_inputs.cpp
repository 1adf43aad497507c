// SPDX-License-Identifier: MIT
#include "cli/backward_inputs.hpp"

#include "cli/error.hpp"
#include "cli/program/help.hpp"
#include "tensors/tensor_file.hpp"

namespace vkf::tools {

namespace {

// Loads a .npy file, or the named tensor of a .safetensors file.
Tensor loadEither(const FlagFile& file, const std::string& tensor) {
    try {
        if (formatOf(pathOf(file.path)) == FileFormat::safetensors)
            return std::move(loadSafetensors(pathOf(file.path), {&tensor, 1})[0]);
        return loadNpy(pathOf(file.path));
    } catch (const FormatError& error) {
        failInput("{} {}: {}", file.flag, file.path, error.what());
    }
}

void requireShape(const FlagFile& file, const Tensor& tensor, const char* what, const Shape& shape) {
    if (tensor.shape != shape)
        failInput("{} {}: has shape {}; {} is {}", file.flag, file.path, shapeText(tensor.shape), what,
                  shapeText(shape));
}

// Loads o or its gradient.
Tensor loadLikeO(const FlagFile& file, const char* name, const Inputs& inputs) {
    Tensor tensor = loadEither(file, name);
    if (vkfTypeOf(tensor.type) == VKF_TYPE_FORCE_INT32)
        failInput("{} {}: holds {}, not floating-point numbers", file.flag, file.path, elementName(tensor.type));
    requireShape(file, tensor, "the shape of o", outputShape(inputs));
    return tensor;
}

// Loads lse or its gradient.
Tensor loadLikeLse(const FlagFile& file, const char* name, const Inputs& inputs) {
    Tensor tensor = loadEither(file, name);
    if (tensor.type != ElementType::f32)
        failInput("{} {}: holds {}; it must be float32", file.flag, file.path, elementName(tensor.type));
    requireShape(file, tensor, "the shape of lse", lseShape(inputs));
    return tensor;
}

} // namespace

void addBackwardInputOptions(CLI::App& command, BackwardInputFiles& files) {
    const HelpGroup group(command, filesGroup);
    const auto add = [&command](const char* flag, std::string& path, const char* help) {
        command.add_option(flag, path, help)->type_name("FILE");
    };
    add("--do", files.dout, "gradient of o: .npy, or .safetensors with a tensor do (default: tensor do of --tensors)");
    add("--o", files.o, "o of the forward pass, as --do; needs --lse (default: the forward pass runs first)");
    add("--lse", files.lse, "lse of the forward pass: .npy, or .safetensors with a tensor lse; needs --o");
    add("--dlse", files.dlse, "gradient of lse, as --lse (default: lse has no gradient)");
}

std::vector<FlagFile> filesGiven(const BackwardInputFiles& files) {
    std::vector<FlagFile> given;
    for (const FlagFile& file :
         {FlagFile{"--do", files.dout}, {"--o", files.o}, {"--lse", files.lse}, {"--dlse", files.dlse}})
        if (!file.path.empty())
            given.push_back(file);
    return given;
}

BackwardInputs loadBackwardInputs(const BackwardInputFiles& files, const InputFiles& inputFiles, const Inputs& inputs) {
    if (files.o.empty() != files.lse.empty())
        failInput("{}: is missing; the outputs of a forward pass are --o and --lse", files.o.empty() ? "--o" : "--lse");
    const bool inTensors = files.dout.empty();
    if (inTensors && inputFiles.tensors.empty())
        failInput("--do: is missing; give the file with the gradient of o");
    BackwardInputs loaded;
    loaded.dout =
        loadLikeO(inTensors ? FlagFile{"--tensors", inputFiles.tensors} : FlagFile{"--do", files.dout}, "do", inputs);
    if (!files.o.empty()) {
        loaded.o = loadLikeO({"--o", files.o}, "o", inputs);
        loaded.lse = loadLikeLse({"--lse", files.lse}, "lse", inputs);
    }
    if (!files.dlse.empty())
        loaded.dlse = loadLikeLse({"--dlse", files.dlse}, "dlse", inputs);
    return loaded;
}

} // namespace vkf::tools
