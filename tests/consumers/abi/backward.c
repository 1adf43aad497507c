/* SPDX-License-Identifier: MIT
 *
 * A backward pass on the CPU, one on the device, and their verdicts. */
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
                                .use = VKF_USE_LSE};
    return problem;
}

VkfBackwardProblem smallBackward(const VkfProblem* forward) {
    const VkfBackwardProblem problem = {.structSize = sizeof problem, .forward = forward};
    return problem;
}

VkfReferenceInputs smallInputs(void) {
    const VkfReferenceInputs inputs = {.structSize = sizeof inputs, .q = q, .k = k, .v = v};
    return inputs;
}

VkfReferenceBackwardInputs smallBackwardInputs(void) {
    const VkfReferenceBackwardInputs inputs = {.structSize = sizeof inputs, .dout = dout};
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

/* Judges gradients in fp32 and prints what the verdict depends on. */
static void judge(const char* whose, const VkfBackwardProblem* problem, const float* dq, const float* dk,
                  const float* dv) {
    const VkfReferenceInputs inputs = smallInputs();
    const VkfReferenceBackwardInputs backwardInputs = smallBackwardInputs();
    const VkfBackwardOutputs outputs = {.structSize = sizeof outputs, .dq = dq, .dk = dk, .dv = dv};
    VkfMessage message;
    VkfBackwardVerdict* verdict = poisonedOutput(sizeof *verdict);
    checkVkflash(vkfReferenceVerifyBackward(problem, &inputs, &backwardInputs, NULL, &outputs, verdict, &message),
                 &message);
    checkOutput(verdict, sizeof *verdict);
    require(verdict->passed == 1, "the reference finds gradients wrong");
    printf("bounds of the %s's gradients: %.5g %.5g %.5g\n", whose, verdict->dq.bound, verdict->dk.bound,
           verdict->dv.bound);
}

void backward(void) {
    const VkfProblem forward = smallForward();
    const VkfBackwardProblem problem = smallBackward(&forward);
    const VkfReferenceInputs inputs = smallInputs();
    const VkfReferenceBackwardInputs backwardInputs = smallBackwardInputs();
    double dq[rows * dim], dk[rows * dim], dv[rows * dim];
    const VkfReferenceGradients gradients = {.structSize = sizeof gradients, .dq = dq, .dk = dk, .dv = dv};
    VkfMessage message;
    checkVkflash(vkfReferenceBackward(&problem, &inputs, &backwardInputs, NULL, &gradients, &message), &message);

    float roundedDq[rows * dim], roundedDk[rows * dim], roundedDv[rows * dim];
    printGradient("dq", dq, roundedDq);
    printGradient("dk", dk, roundedDk);
    printGradient("dv", dv, roundedDv);
    judge("reference", &problem, roundedDq, roundedDk, roundedDv);
}

static VkfBackwardInfo* printInfo(VkfBackward backward) {
    VkfMessage message;
    VkfBackwardInfo* info = poisonedOutput(sizeof *info);
    checkVkflash(vkfGetBackwardInfo(backward, info, &message), &message);
    checkOutput(info, sizeof *info);
    printf("backward pass %s, tiles %s and %s, %g operations\n", info->description, info->rowTile, info->keyTile,
           info->operations);
    return info;
}

/* Computes o and lse on the CPU, and the gradients from them on the device. */
void backwardOnDevice(const Gpu* gpu, VkfContext context) {
    const VkfProblem forward = smallForward();
    const VkfBackwardProblem problem = smallBackward(&forward);
    const VkfReferenceInputs inputs = smallInputs();
    double exactO[rows * dim], exactLse[rows];
    float outputO[rows * dim], outputLse[rows];
    VkfMessage message;
    checkVkflash(vkfReferenceAttention(&forward, &inputs, NULL, exactO, exactLse, &message), &message);
    for (int i = 0; i < rows * dim; i++) {
        outputO[i] = (float)exactO[i];
    }
    for (int i = 0; i < rows; i++) {
        outputLse[i] = (float)exactLse[i];
    }

    VkfBackward backward = NULL;
    checkVkflash(vkfCreateBackward(context, &problem, &backward, &message), &message);
    const VkfBackwardInfo* info = printInfo(backward);
    Array arrays[] = {arrayOf(gpu, q, sizeof q),
                      arrayOf(gpu, k, sizeof k),
                      arrayOf(gpu, v, sizeof v),
                      arrayOf(gpu, outputO, sizeof outputO),
                      arrayOf(gpu, outputLse, sizeof outputLse),
                      arrayOf(gpu, dout, sizeof dout)};
    Array dq, dk, dv, scratch;
    createArray(gpu, sizeof q, &dq);
    createArray(gpu, sizeof k, &dk);
    createArray(gpu, sizeof v, &dv);
    createArray(gpu, info->scratchBytes, &scratch);
    const VkfBindings call = {.structSize = sizeof call,
                              .q = bindingOf(&arrays[0]),
                              .k = bindingOf(&arrays[1]),
                              .v = bindingOf(&arrays[2]),
                              .o = bindingOf(&arrays[3]),
                              .lse = bindingOf(&arrays[4])};
    const VkfBackwardBindings bindings = {.structSize = sizeof bindings,
                                          .forward = &call,
                                          .dout = bindingOf(&arrays[5]),
                                          .dq = bindingOf(&dq),
                                          .dk = bindingOf(&dk),
                                          .dv = bindingOf(&dv),
                                          .scratch = bindingOf(&scratch)};
    beginCommands(gpu);
    checkVkflash(vkfCmdBackward(gpu->commandBuffer, backward, &bindings, &message), &message);
    barrierAfterCompute(gpu);
    submitCommands(gpu);
    judge("device", &problem, dq.data, dk.data, dv.data);

    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        destroyArray(gpu, &arrays[i]);
    }
    Array* const written[] = {&dq, &dk, &dv, &scratch};
    for (size_t i = 0; i < sizeof written / sizeof written[0]; i++) {
        destroyArray(gpu, written[i]);
    }
    vkfDestroyBackward(backward);
}
