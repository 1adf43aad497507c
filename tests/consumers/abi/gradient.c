/* SPDX-License-Identifier: MIT
 *
 * A backward pass on the CPU, and its verdict. */
#include "border.h"

#include <stdio.h>

#include <vkflash/reference.h>

enum { dim = 4, rows = 2 };

static const float q[rows * dim] = {1, 2, 3, 4, -1, 0, 1, 2};
static const float k[rows * dim] = {0, 1, 0, -1, 2, 1, 0, 1};
static const float v[rows * dim] = {5, 6, 7, 8, 1, 2, 3, 4};
static const float dout[rows * dim] = {1, -1, 1, -1, 2, 0, 2, 0};

VkfProblem smallForward(void) {
    const VkfProblem problem = {.structSize = sizeof problem,
                                .batch = 1,
                                .queryHeads = 1,
                                .kvHeads = 1,
                                .queryRows = rows,
                                .keys = rows,
                                .headDim = dim,
                                .arrays = VKF_ARRAY_LSE};
    return problem;
}

VkfGradientProblem smallGradient(const VkfProblem* forward) {
    const VkfGradientProblem problem = {.structSize = sizeof problem, .problem = forward};
    return problem;
}

VkfReferenceInputs smallInputs(void) {
    const VkfReferenceInputs inputs = {.structSize = sizeof inputs, .q = q, .k = k, .v = v};
    return inputs;
}

VkfReferenceGradientInputs smallGradientInputs(void) {
    const VkfReferenceGradientInputs inputs = {.structSize = sizeof inputs, .dout = dout};
    return inputs;
}

static void printGradient(const char* name, const double* gradient, float* rounded) {
    printf("%s:", name);
    for (int i = 0; i < rows * dim; i++) {
        printf(" %.9g", gradient[i]);
        rounded[i] = (float)gradient[i];
    }
    printf("\n");
}

void backward(void) {
    const VkfProblem forward = smallForward();
    const VkfGradientProblem problem = smallGradient(&forward);
    const VkfReferenceInputs inputs = smallInputs();
    const VkfReferenceGradientInputs gradientInputs = smallGradientInputs();
    double dq[rows * dim], dk[rows * dim], dv[rows * dim];
    const VkfReferenceGradients gradients = {.structSize = sizeof gradients, .dq = dq, .dk = dk, .dv = dv};
    VkfMessage message;
    checkVkflash(vkfReferenceGradient(&problem, &inputs, &gradientInputs, NULL, &gradients, &message), &message);

    float roundedDq[rows * dim], roundedDk[rows * dim], roundedDv[rows * dim];
    printGradient("dq", dq, roundedDq);
    printGradient("dk", dk, roundedDk);
    printGradient("dv", dv, roundedDv);
    const VkfReferenceGradientOutputs outputs = {
        .structSize = sizeof outputs, .dq = roundedDq, .dk = roundedDk, .dv = roundedDv};
    VkfGradientVerdict* verdict = poisonedOutput(sizeof *verdict);
    checkVkflash(vkfReferenceVerifyGradient(&problem, &inputs, &gradientInputs, NULL, &outputs, verdict, &message),
                 &message);
    checkOutput(verdict, sizeof *verdict);
    require(verdict->passed == 1, "the reference finds its own gradients wrong");
    printf("bounds of gradients: %.5g %.5g %.5g\n", verdict->dq.bound, verdict->dk.bound, verdict->dv.bound);
}
