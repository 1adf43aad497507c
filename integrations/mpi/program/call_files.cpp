// SPDX-License-Identifier: MIT
#include "call_files.hpp"

#include "cli/error.hpp"
#include "cli/optional_inputs.hpp"

namespace vkf::mpi::program {
namespace {

using tools::failInput;

void requireKnownInputs(const tools::InputFiles& files) {
    if (!files.tensors.empty()) {
        failInput("--tensors {}: over ranks, q, k and v are .npy files: --q, --k and --v", files.tensors);
    }
    const std::array<std::pair<const char*, const std::string*>, 3> wanted = {
        {{"--q", &files.q}, {"--k", &files.k}, {"--v", &files.v}}};
    for (const auto& [flag, path] : wanted) {
        if (path->empty()) {
            failInput("{}: is missing", flag);
        }
    }
}

} // namespace

CallFiles::CallFiles(const tools::InputFiles& files, const tools::MathOptions& math) {
    requireKnownInputs(files);
    const std::array<std::string, 3> names = {"--q " + files.q, "--k " + files.k, "--v " + files.v};
    const std::array<const std::string*, 3> paths = {&files.q, &files.k, &files.v};
    const std::array<tools::Tensor*, 3> tensors = {&inputs_.q, &inputs_.k, &inputs_.v};
    for (size_t i = 0; i < tensors.size(); ++i) {
        const tools::TensorView& view = files_.emplace_back(names[i], *paths[i]).tensor();
        tensors[i]->type = view.type;
        tensors[i]->shape = view.shape;
    }
    tools::completeInputs(files, names, inputs_);
    problem_ = tools::fileProblem(inputs_, math, {});
    // Parts are dense, whatever the order in the files is.
    for (VkfTensor* tensor : {&problem_.q, &problem_.k, &problem_.v, &problem_.o}) {
        *tensor = dense(tensor->type);
    }
}

Lengths CallFiles::lengths() const {
    return {inputs_.lengths.data(), inputs_.cuSeqlensQ.data(), inputs_.cuSeqlensK.data()};
}

FileLayout CallFiles::layoutOf(VkfTensorRole role, VkfType type) const {
    const VkfTensorLayout layout = vkf::layoutOf(problem_, role);
    return {has(problem_, VKF_USE_CU_SEQLENS) ? 1 : problem_.batch, layout.heads, layout.rows,
            layout.dim * vkfTypeBytes(type), inputs_.rowsFirst};
}

FileLayout CallFiles::lseLayout() const {
    FileLayout layout = layoutOf(VKF_TENSOR_O, problem_.o.type);
    layout.rowBytes = sizeof(float);
    layout.rowsFirst = false;
    return layout;
}

PartInputs CallFiles::read(const Part& part) {
    parts_[0] = files_[0].read(layoutOf(VKF_TENSOR_Q, problem_.q.type), part.rows);
    parts_[1] = files_[1].read(layoutOf(VKF_TENSOR_K, problem_.k.type), part.keys);
    parts_[2] = files_[2].read(layoutOf(VKF_TENSOR_V, problem_.v.type), part.keys);
    PartInputs inputs;
    inputs.q = parts_[0].data();
    inputs.k = parts_[1].data();
    inputs.v = parts_[2].data();
    if (const tools::Tensor* slopes = inputs_.numbersOf(VKF_ARRAY_ALIBI_SLOPES); slopes != nullptr) {
        inputs.alibiSlopes = reinterpret_cast<const float*>(slopes->bytes.data());
    }
    return inputs;
}

} // namespace vkf::mpi::program
