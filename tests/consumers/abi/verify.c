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
    DECLARE_OUTPUT(VkfVerdict, verdict);
    checkVkflash(
        vkfReferenceVerify(&call->problem, inputs, &options, call->o.data, call->lse.data, &verdict.value, &message),
        &message);
    CHECK_OUTPUT(verdict);
    require(verdict.value.passed == 1, "the reference finds o or lse wrong");
    printf("rms of o: %.5g\n", verdict.value.oRms);
}

/* No kernel is needed: the probabilities come from the reference itself. */
static void verifyProbabilities(const Call* call, const VkfReferenceInputs* inputs) {
    VkfProblem problem = call->problem;
    problem.arrays |= VKF_ARRAY_PROBABILITIES;
    const size_t count = (size_t)problem.batch * problem.queryHeads * problem.queryRows * problem.keys;
    const size_t oCount = (size_t)(call->o.bytes / sizeof(float));
    double* o = malloc(oCount * sizeof *o);
    double* probabilities = malloc(count * sizeof *probabilities);
    float* rounded = malloc(count * sizeof *rounded);
    require(o != NULL && probabilities != NULL && rounded != NULL, "there is no memory");

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
    DECLARE_OUTPUT(VkfProbabilitiesVerdict, verdict);
    checkVkflash(vkfReferenceVerifyProbabilities(&problem, inputs, &options, rounded, &verdict.value, &message),
                 &message);
    CHECK_OUTPUT(verdict);
    require(verdict.value.passed == 1, "the reference finds its own probabilities wrong");

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
