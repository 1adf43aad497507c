// SPDX-License-Identifier: MIT
//
// A C++17 program that computes attention over one key on the CPU. o is v for all q and k.
#include <vkflash/reference.h>
#include <vkflash/vkflash.hpp>

#include <array>
#include <cstdio>

int main() {
    VkfProblem problem{};
    problem.structSize = sizeof problem;
    problem.batch = problem.queryHeads = problem.kvHeads = problem.queryRows = problem.keys = 1;
    problem.headDim = 4;

    const std::array<float, 4> q{1, 2, 3, 4}, k{4, 3, 2, 1}, v{0.5F, -1, 2, 8};
    VkfReferenceInputs inputs{};
    inputs.structSize = sizeof inputs;
    inputs.q = q.data();
    inputs.k = k.data();
    inputs.v = v.data();

    std::array<double, 4> o{};
    VkfMessage message{};
    if (vkfReferenceAttention(&problem, &inputs, nullptr, o.data(), nullptr, &message) != VKF_SUCCESS) {
        std::fprintf(stderr, "%s\n", message.text);
        return 1;
    }
    for (std::size_t i = 0; i < o.size(); i++) {
        if (o[i] != static_cast<double>(v[i])) {
            std::fprintf(stderr, "o[%zu] = %g, expected %g\n", i, o[i], static_cast<double>(v[i]));
            return 1;
        }
    }
    return 0;
}
