/* SPDX-License-Identifier: MIT
 *
 * The verdicts of the CPU reference. */
#include "border.h"

#include <stdio.h>
#include <stdlib.h>

#include <vkflash/reference.h>

static void verifyOutputs(const Call* call, const VkfReferenceInputs* inputs) {
    const VkfReferenceOptions options = {.structSize = sizeof options, .threads = 1};
    VkfMessage message;
    VkfVerdict* verdict = poisonedOutput(sizeof *verdict);
    checkVkflash(vkfReferenceVerify(&call->problem, inputs, &options, call->o.data, call->lse.data, verdict, &message),
                 &message);
    checkOutput(verdict, sizeof *verdict);
    require(verdict->passed == 1, "the reference finds o or lse wrong");
    printf("rms of o: %.5g\n", verdict->oRms);
}

static void* allocate(size_t bytes) {
    void* memory = malloc(bytes);
    if (memory == NULL) {
        fprintf(stderr, "there is no memory\n");
        exit(1);
    }
    return memory;
}

/* No kernel is needed: the probabilities come from the reference itself. */
static void verifyProbabilities(const Call* call, const VkfReferenceInputs* inputs) {
    VkfProblem problem = call->problem;
    problem.use |= VKF_USE_PROBABILITIES;
    const size_t count = (size_t)problem.batch * problem.queryHeads * problem.queryRows * problem.keys;
    const size_t oCount = (size_t)(call->o.bytes / sizeof(float));
    double* o = allocate(oCount * sizeof *o);
    double* probabilities = allocate(count * sizeof *probabilities);
    float* rounded = allocate(count * sizeof *rounded);

    VkfReferenceOptions options = {.structSize = sizeof options,
                                   .algorithm = VKF_REFERENCE_STANDARD,
                                   .threads = 1,
                                   .probabilities = probabilities};
    VkfMessage message;
    checkVkflash(vkfReferenceAttention(&problem, inputs, &options, o, NULL, &message), &message);
    for (size_t i = 0; i < count; i++) {
        rounded[i] = (float)probabilities[i];
    }
    options.algorithm = VKF_REFERENCE_DIRECT;
    options.probabilities = NULL;
    VkfProbabilitiesVerdict* verdict = poisonedOutput(sizeof *verdict);
    checkVkflash(vkfReferenceVerifyProbabilities(&problem, inputs, &options, rounded, verdict, &message), &message);
    checkOutput(verdict, sizeof *verdict);
    require(verdict->passed == 1, "the reference finds its own probabilities wrong");

    free(o);
    free(probabilities);
    free(rounded);
}

void verify(const Call* call) {
    const VkfReferenceInputs inputs = {.structSize = sizeof inputs,
                                       .q = call->q.data,
                                       .k = call->k.data,
                                       .v = call->v.data,
                                       .keyLengths = call->keyLengths.data};
    verifyOutputs(call, &inputs);
    verifyProbabilities(call, &inputs);
}
