/* SPDX-License-Identifier: MIT
 *
 * A C11 program that asks, without any device, whether problems can be computed. */
#include <vkflash/vkflash.h>

#include <stdio.h>
#include <string.h>

static int expect(int holds, const char* what) {
    if (!holds) {
        fprintf(stderr, "failed: %s\n", what);
    }
    return holds ? 0 : 1;
}

int main(void) {
    VkfProblem problem = {.structSize = sizeof(VkfProblem),
                          .batch = 1,
                          .queryHeads = 8,
                          .kvHeads = 2,
                          .queryRows = 100,
                          .keys = 200,
                          .headDim = 64};
    VkfMessage message = {{0}};
    int failures = 0;

    failures += expect(vkfVersion() == ((VKF_VERSION_MAJOR << 22) | (VKF_VERSION_MINOR << 12) | VKF_VERSION_PATCH),
                       "library and header have the same version");
    failures += expect(vkfCheckProblem(&problem, &message) == VKF_SUCCESS, "a plain problem is accepted");

    problem.kvHeads = 3;
    failures += expect(vkfCheckProblem(&problem, &message) == VKF_ERROR_INVALID_ARGUMENT, "8 heads over 3 are refused");
    failures += expect(strlen(message.text) > 0, "the refusal says why");
    failures += expect(vkfCheckSupport(NULL, &problem, &message) != VKF_SUCCESS, "no context, no support");
    failures += expect(strlen(vkfResultString(VKF_ERROR_DEVICE_LOST)) > 0, "results have texts");
    return failures;
}
