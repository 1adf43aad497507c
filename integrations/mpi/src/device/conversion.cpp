// SPDX-License-Identifier: MIT
#include "device/conversion.hpp"

namespace vkf::mpi {

Conversion::Conversion(Gpu& gpu, uint64_t rows, uint32_t dim, VkfType type) : gpu_(gpu), rows_(rows) {
    if (rows_ == 0) {
        return;
    }
    zeros_ = Memory(gpu_, rows_ * sizeof(float), Place::device);
    gpu_.kernels().submit([&](VkCommandBuffer commands) { gpu_.fill(commands, zeros_, 0, zeros_.bytes(), 0); });
    auto problem = make<VkfMergeProblem>();
    problem.partials = 1;
    problem.batch = 1;
    problem.heads = 1;
    problem.rows = static_cast<uint32_t>(rows_);
    problem.dim = dim;
    problem.o.type = type;
    VkfMessage message{};
    check(vkfCreateMerge(gpu_.context(), &problem, merge_.put(), &message), message);
}

void Conversion::record(VkCommandBuffer commands, const VkfBinding& from, const VkfBinding& to) const {
    if (rows_ == 0) {
        return;
    }
    auto bindings = make<VkfMergeBindings>();
    bindings.partials = from;
    bindings.partialLse = zeros_.binding(0, zeros_.bytes());
    bindings.o = to;
    VkfMessage message{};
    gpu_.barrier(commands);
    check(vkfCmdMerge(commands, merge_.get(), &bindings, &message), message);
}

} // namespace vkf::mpi
