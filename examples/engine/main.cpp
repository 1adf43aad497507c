// SPDX-License-Identifier: MIT
//
// An engine with its own device, memory and command buffer. It records one attention call between its own commands. It
// prints the result for one query and the expected value. The exit status is 1 if they differ.
#include <cmath>
#include <cstdio>

#include "gpu.hpp"
#include "program.hpp"

namespace {

constexpr uint32_t heads = 4;
constexpr uint32_t kvHeads = 2;
constexpr uint32_t rows = 64;
constexpr uint32_t dim = 32;
constexpr size_t queryElements = size_t{heads} * rows * dim; // elements of q, and of o
constexpr size_t keyElements = size_t{kvHeads} * rows * dim; // elements of k, and of v

// Causal self-attention with two KV heads for four query heads.
VkfProblem describeProblem() {
    auto problem = vkf::make<VkfProblem>();
    problem.batch = 1;
    problem.queryHeads = heads;
    problem.kvHeads = kvHeads;
    problem.queryRows = rows;
    problem.keys = rows;
    problem.headDim = dim;
    problem.use |= VKF_USE_CAUSAL;
    return problem;
}

// All scores are equal. Therefore row i of query head h is the mean of v[0..i] of KV head h / 2.
void fill(const Allocation& q, const Allocation& k, const Allocation& v) {
    for (size_t i = 0; i < queryElements; i++) {
        static_cast<float*>(q.mapped)[i] = 1.0F;
    }
    for (size_t i = 0; i < keyElements; i++) {
        static_cast<float*>(k.mapped)[i] = 0.5F;
        const size_t head = i / dim / rows;
        const size_t row = i / dim % rows;
        static_cast<float*>(v.mapped)[i] = static_cast<float>(row) + 100.0F * static_cast<float>(head);
    }
}

// Returns the first element of one row of o.
float resultAt(const Allocation& o, size_t head, size_t row) {
    return static_cast<const float*>(o.mapped)[(head * rows + row) * dim];
}

int run() {
    Gpu gpu;
    const Allocation q = gpu.allocate(queryElements * sizeof(float));
    const Allocation k = gpu.allocate(keyElements * sizeof(float));
    const Allocation v = gpu.allocate(keyElements * sizeof(float));
    const Allocation o = gpu.allocate(queryElements * sizeof(float));
    fill(q, k, v);

    const vkf::Context context = createContext(gpu);
    const VkfProblem problem = describeProblem();
    VkfMessage message{};
    vkf::Plan plan;
    check(vkfCreatePlan(context.get(), &problem, plan.put(), &message), message);

    auto bindings = vkf::make<VkfBindings>();
    bindings.q.address = q.address;
    bindings.k.address = k.address;
    bindings.v.address = v.address;
    bindings.o.address = o.address;
    gpu.frame([&](VkCommandBuffer commandBuffer) {
        check(vkfCmdAttention(commandBuffer, plan.get(), &bindings, &message), message);
    });

    bool right = true;
    for (uint32_t head = 0; head < heads; head++) {
        for (uint32_t row = 0; row < rows; row++) {
            const uint32_t kvHead = head / (heads / kvHeads);
            const float expected = 0.5F * static_cast<float>(row) + 100.0F * static_cast<float>(kvHead);
            right = right && std::abs(resultAt(o, head, row) - expected) < 1e-3F;
        }
    }
    std::printf("engine: head 3, row 10 is %.3f, must be 105.000: %s\n", static_cast<double>(resultAt(o, 3, 10)),
                right ? "all rows right" : "WRONG");
    return right ? 0 : 1;
}

} // namespace

int main() { return runProgram("engine", run); }
