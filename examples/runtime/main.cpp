// SPDX-License-Identifier: MIT
//
// A llama-style decoder loop with its own device. It takes in a prompt and then makes 64 tokens. One command buffer,
// submitted once for each token, makes them. The logits of every step are compared with a CPU run in fp64. The exit
// status is 1 if they differ.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <vector>

#include "cpu_model.hpp"
#include "gpu_model.hpp"
#include "program.hpp"

namespace {

constexpr uint32_t steps = 64;
// Logits have a spread of about 1. If fp32 and fp64 round k or v to different numbers of the cache's type, the values
// differ by one step of that type.
constexpr double tolerance = cacheType == VKF_TYPE_F32 ? 1e-4 : cacheType == VKF_TYPE_Q8_0 ? 5e-3 : 1e-3;

// Pages of the sequence in reverse order.
std::vector<int32_t> makeBlockTable() {
    std::vector<int32_t> table(pages);
    std::iota(table.rbegin(), table.rend(), 0);
    return table;
}

double largestDifference(const std::vector<double>& exact, const float* logits) {
    double largest = 0.0;
    for (size_t i = 0; i < exact.size(); i++) {
        const double difference = std::abs(exact[i] - static_cast<double>(logits[i]));
        largest = difference <= largest ? largest : difference; // keeps a NaN
    }
    return largest;
}

int run() {
    const std::vector<int32_t> prompt = {72, 101, 108, 108, 111, 44, 32, 119, 111, 114, 108, 100, 33};
    const auto promptRows = static_cast<uint32_t>(prompt.size());
    const std::vector<int32_t> blockTable = makeBlockTable();
    const Weights weights = randomWeights();
    Gpu gpu;
    GpuModel model(gpu, weights, prompt, blockTable);
    const Step prefill = model.prepare(promptRows);
    const Step decode = model.prepare(1);
    gpu.frame([&](VkCommandBuffer commandBuffer) { model.record(commandBuffer, prefill); });

    const VkCommandBuffer step =
        gpu.record([&](VkCommandBuffer commandBuffer) { model.record(commandBuffer, decode); });
    const auto begin = std::chrono::steady_clock::now();
    for (uint32_t i = 0; i < steps; i++) {
        gpu.submit(step);
    }
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;

    CpuModel cpu(weights, blockTable);
    std::vector<double> logits;
    for (const int32_t token : prompt) {
        logits = cpu.forward(token);
    }
    double difference = largestDifference(logits, model.logits(promptRows - 1));
    std::printf("runtime: tokens");
    for (uint32_t i = 0; i < steps; i++) {
        const uint32_t position = promptRows + i;
        std::printf(" %d", model.token(position));
        const double ofStep = largestDifference(cpu.forward(model.token(position)), model.logits(position));
        difference = ofStep <= difference ? difference : ofStep;
    }
    const bool right = difference <= tolerance;
    std::printf("\nruntime: %s cache, %.3f ms a step, largest difference of a logit %.2g (at most %.2g): %s\n",
                vkfTypeName(cacheType), time.count() / steps, difference, tolerance, right ? "right" : "WRONG");
    return right ? 0 : 1;
}

} // namespace

int main() { return runProgram("runtime", run); }
