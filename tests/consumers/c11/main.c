/* SPDX-License-Identifier: MIT
 *
 * A C11 program with its own instance, device, memory and command buffer. It first asks, without any device, whether
 * problems can be computed. It then computes attention, and compares o and lse with a loop in double. */
#include "attend.h"

#include <stdio.h>
#include <string.h>

static void checkWithoutDevice(void) {
    VkfProblem problem = {.structSize = sizeof(VkfProblem),
                          .batch = 1,
                          .queryHeads = 8,
                          .kvHeads = 2,
                          .queryRows = 100,
                          .keys = 200,
                          .headDim = 64};
    VkfMessage message = {{0}};
    require(vkfVersion() == ((VKF_VERSION_MAJOR << 22) | (VKF_VERSION_MINOR << 12) | VKF_VERSION_PATCH),
            "library and header have different versions");
    require(vkfCheckProblem(&problem, &message) == VKF_SUCCESS, "a plain problem is refused");

    problem.kvHeads = 3;
    require(vkfCheckProblem(&problem, &message) == VKF_ERROR_INVALID_ARGUMENT, "8 heads over 3 are accepted");
    require(strlen(message.text) > 0, "the refusal does not say why");
    require(vkfCheckSupport(NULL, &problem, &message) != VKF_SUCCESS, "a null context supports a problem");
    require(strlen(vkfResultString(VKF_ERROR_DEVICE_LOST)) > 0, "a result has no text");
}

int main(void) {
    checkWithoutDevice();

    Gpu gpu;
    openGpu(&gpu);
    VkfContext context = createContext(&gpu);
    Call call;
    createCall(&gpu, &call);
    attend(&gpu, context, &call);
    checkResults(&call);
    puts("o and lse are right");

    destroyCall(&gpu, &call);
    vkfDestroyContext(context);
    closeGpu(&gpu);
    return 0;
}
