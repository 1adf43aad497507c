// SPDX-License-Identifier: MIT
#include "cli/random_gradients.hpp"

#include "tensors/random_tensors.hpp"
#include "vkflash/problem.hpp"

namespace vkf::tools {

RandomGradients::RandomGradients(const VkfProblem& forward, uint64_t seed, uint64_t scratchBytes)
    : problem(make<VkfBackwardProblem>()) {
    problem.forward = &forward;
    problem.use |= VKF_USE_DLSE;
    problem.maxScratchBytes = scratchBytes;
    problem.dout = forward.o;
    problem.dq = forward.q;
    problem.dk = forward.k;
    problem.dv = forward.v;
    VkfMessage message{};
    if (const VkfResult code = vkfCheckBackward(&problem, &message); code != VKF_SUCCESS)
        throw host::Error(code, message.text);
    const VkfTensorLayout o = layoutOf(problem, VKF_BACKWARD_DOUT);
    dout = normalBlock(o.type, o.elements, seed + 1);
    dlse = normalBlock(VKF_TYPE_F32, uint64_t{o.batch} * o.heads * o.rows, seed + 2);
    dq = poisoned(VKF_BACKWARD_DQ);
    dk = poisoned(VKF_BACKWARD_DK);
    dv = poisoned(VKF_BACKWARD_DV);
}

host::HostGradients RandomGradients::pointers() {
    return {dout.data(), reinterpret_cast<const float*>(dlse.data()), dq.data(), dk.data(), dv.data(), nullptr,
            nullptr};
}

// NaN in every type, so that a check finds an element that was not written.
std::vector<std::byte> RandomGradients::poisoned(VkfBackwardRole role) const {
    const VkfTensorLayout layout = layoutOf(problem, role);
    return std::vector<std::byte>(layout.elements * vkfTypeBytes(layout.type), std::byte{0xff});
}

} // namespace vkf::tools
