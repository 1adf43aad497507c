// SPDX-License-Identifier: MIT
//
// Trains an attention layer on the device by plain gradient descent, and beside it on the CPU in fp64. The losses must
// agree in every step, and the layer must have learned the task. The exit status is 1 otherwise.
//
//     example_training [f16]        f16: attention and its gradients in fp16, as in mixed-precision training
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "cpu_training.hpp"
#include "gpu_training.hpp"
#include "program.hpp"

namespace {

constexpr double learned = 0.05; // of the last loss. Guessing has ln 8 = 2.1.

int train(const Layer& layer) {
    Gpu gpu;
    GpuTraining device(gpu, layer);
    CpuTraining<double> exact(layer, false);
    CpuTraining<float> rounded(layer, layer.fp16);
    // Differences of fp32 or fp16 grow from step to step. A run on the CPU with the same roundings shows by how much.
    // Another order of the same sums may lead a few times as far. A mean of losses alone has an error of some units of
    // fp32.
    double bound = 8 * 0x1p-23;
    bool agrees = true;
    double worst = 0.0; // largest share of the bound
    double loss = 0.0;
    for (uint32_t step = 0; step < steps; step++) {
        const Batch batch = batchOf(step);
        const double right = exact.step(batch);
        bound = std::max(bound, 8 * std::abs(rounded.step(batch) - right));
        loss = device.step(batch);
        const double share = std::abs(loss - right) / bound;
        agrees = agrees && share <= 1.0; // false for NaN
        worst = std::max(worst, share);
        if (step % 20 == 0) {
            std::printf("training: step %3u, loss %.6f, on the CPU %.6f (+- %.1g)\n", step, loss, right, bound);
        }
    }
    const bool passed = agrees && loss < learned;
    std::printf("training: largest difference %.2g of its bound, last loss %.4f (less than %.2f): %s\n", worst, loss,
                learned, passed ? "right" : "WRONG");
    return passed ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    return runProgram("training", [&] {
        if (arguments.empty()) {
            return train(fp32Layer);
        }
        if (arguments == std::vector<std::string>{"f16"}) {
            return train(fp16Layer);
        }
        throw std::invalid_argument("the only argument is f16, for attention in fp16");
    });
}
