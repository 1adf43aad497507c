/* SPDX-License-Identifier: MIT
 *
 * Only in the program of the later headers: fields that the library does not know, and that are not 0. */
#include "border.h"

/* The call must refuse `input`, one of its arguments, while the last later field is not 0. */
#define EXPECT_REFUSAL(input, call)                                                                                    \
    (input).later[3] = 1;                                                                                              \
    require((call) == VKF_ERROR_STRUCT_SIZE, "not refused, with an unknown field: " #call);                            \
    (input).later[3] = 0

/* The address stands for an object that a refused call must leave in its place. */
static char untouched;

static void refuseDevice(const Gpu* gpu) {
    VkfDeviceQuery query = {.structSize = sizeof query,
                            .getInstanceProcAddr = vkGetInstanceProcAddr,
                            .instance = gpu->instance,
                            .physicalDevice = gpu->physicalDevice};
    VkfDeviceRequirements needs;
    memset(&needs, poison, sizeof needs);
    needs.structSize = sizeof needs;
    EXPECT_REFUSAL(query, vkfGetDeviceRequirements(&query, &needs, NULL));
    require(isAll((const char*)&needs + sizeof(size_t), sizeof needs - sizeof(size_t), poison),
            "a refused call wrote requirements");

    VkfContextCreateInfo info = {.structSize = sizeof info,
                                 .getInstanceProcAddr = vkGetInstanceProcAddr,
                                 .instance = gpu->instance,
                                 .physicalDevice = gpu->physicalDevice,
                                 .device = gpu->device,
                                 .features = gpu->features};
    VkfContext context = (VkfContext)(void*)&untouched;
    EXPECT_REFUSAL(info, vkfCreateContext(&info, &context, NULL));
    require((void*)context == &untouched, "a refused call wrote a context");
}

static VkfResult noKernel(void* user, const char* kernel, const uint32_t** words, size_t* wordCount,
                          VkfMessage* message) {
    (void)user, (void)kernel, (void)words, (void)wordCount, (void)message;
    return VKF_ERROR_UNSUPPORTED;
}

static void refuseFunctions(void) {
    VkfFunctionsCreateInfo info = {.structSize = sizeof info, .functions = VKF_FUNCTION_KEEP, .getKernel = noKernel};
    VkfFunctions functions = (VkfFunctions)(void*)&untouched;
    EXPECT_REFUSAL(info, vkfCreateFunctions(&info, &functions, NULL));
    require((void*)functions == &untouched, "a refused call wrote functions");
}

static void refuseProblem(VkfContext context, const Call* call) {
    VkfProblem problem = call->problem;
    VkfTensorLayout layout;
    memset(&layout, poison, sizeof layout);
    layout.structSize = sizeof layout;
    EXPECT_REFUSAL(problem, vkfCheckProblem(&problem, NULL));
    EXPECT_REFUSAL(problem, vkfCheckSupport(context, &problem, NULL));
    EXPECT_REFUSAL(problem, vkfGetTensorLayout(&problem, VKF_TENSOR_Q, &layout, NULL));
    require(isAll((const char*)&layout + sizeof(size_t), sizeof layout - sizeof(size_t), poison),
            "a refused call wrote a layout");
    VkfPlan plan = (VkfPlan)(void*)&untouched;
    EXPECT_REFUSAL(problem, vkfCreatePlan(context, &problem, &plan, NULL));
    require((void*)plan == &untouched, "a refused call wrote a plan");

    VkfMergeProblem mergeProblem = smallMerge();
    VkfMerge merge = (VkfMerge)(void*)&untouched;
    EXPECT_REFUSAL(mergeProblem, vkfCheckMerge(&mergeProblem, NULL));
    EXPECT_REFUSAL(mergeProblem, vkfCreateMerge(context, &mergeProblem, &merge, NULL));
    require((void*)merge == &untouched, "a refused call wrote a merge");

    VkfAppendProblem appendProblem = smallAppend();
    VkfAppend append = (VkfAppend)(void*)&untouched;
    EXPECT_REFUSAL(appendProblem, vkfCheckAppend(&appendProblem, NULL));
    EXPECT_REFUSAL(appendProblem, vkfCreateAppend(context, &appendProblem, &append, NULL));
    require((void*)append == &untouched, "a refused call wrote an append");
}

/* Records refused calls, and runs what they recorded: nothing. All bindings would be good ones for small outputs. */
static void refuseRecording(const Gpu* gpu, VkfContext context, const Call* call) {
    const VkfMergeProblem mergeProblem = smallMerge();
    const VkfAppendProblem appendProblem = smallAppend();
    VkfPlan plan = NULL;
    VkfMerge merge = NULL;
    VkfAppend append = NULL;
    VkfMessage message;
    checkVkflash(vkfCreatePlan(context, &call->problem, &plan, &message), &message);
    checkVkflash(vkfCreateMerge(context, &mergeProblem, &merge, &message), &message);
    checkVkflash(vkfCreateAppend(context, &appendProblem, &append, &message), &message);
    const VkfBinding q = bindingOf(&call->q), k = bindingOf(&call->k), v = bindingOf(&call->v);
    const VkfBinding lengths = bindingOf(&call->keyLengths), o = bindingOf(&call->o), lse = bindingOf(&call->lse);
    VkfBindings bindings = {
        .structSize = sizeof bindings, .q = q, .k = k, .v = v, .keyLengths = lengths, .o = o, .lse = lse};
    VkfMergeBindings mergeBindings = {
        .structSize = sizeof mergeBindings, .partials = k, .partialLse = v, .o = o, .lse = lse};
    VkfAppendBindings appendBindings = {
        .structSize = sizeof appendBindings, .newK = k, .newV = v, .k = o, .v = lse, .lengths = lengths};
    appendBindings.newLengths = q;

    beginCommands(gpu);
    recordPoison(gpu, &call->o);
    recordPoison(gpu, &call->lse);
    barrierBeforeCompute(gpu);
    EXPECT_REFUSAL(bindings, vkfCmdAttention(gpu->commandBuffer, plan, &bindings, NULL));
    EXPECT_REFUSAL(mergeBindings, vkfCmdMerge(gpu->commandBuffer, merge, &mergeBindings, NULL));
    EXPECT_REFUSAL(appendBindings, vkfCmdAppend(gpu->commandBuffer, append, &appendBindings, NULL));
    barrierAfterCompute(gpu);
    submitCommands(gpu);
    require(isAll(call->o.data, call->o.bytes, 0xff), "a refused call has recorded commands that write o");
    require(isAll(call->lse.data, call->lse.bytes, 0xff), "a refused call has recorded commands that write lse");
    vkfDestroyPlan(plan);
    vkfDestroyMerge(merge);
    vkfDestroyAppend(append);
}

static void refuseBackward(void) {
    VkfProblem forward = smallForward();
    VkfBackwardProblem problem = smallBackward(&forward);
    VkfReferenceInputs inputs = smallInputs();
    VkfReferenceBackwardInputs backwardInputs = smallBackwardInputs();
    double dq[8] = {0};
    VkfReferenceGradients gradients = {.structSize = sizeof gradients, .dq = dq};
    EXPECT_REFUSAL(forward, vkfCheckBackward(&problem, NULL));
    EXPECT_REFUSAL(problem, vkfCheckBackward(&problem, NULL));
    EXPECT_REFUSAL(problem, vkfReferenceBackward(&problem, &inputs, &backwardInputs, NULL, &gradients, NULL));
    EXPECT_REFUSAL(inputs, vkfReferenceBackward(&problem, &inputs, &backwardInputs, NULL, &gradients, NULL));
    EXPECT_REFUSAL(backwardInputs, vkfReferenceBackward(&problem, &inputs, &backwardInputs, NULL, &gradients, NULL));
    EXPECT_REFUSAL(gradients, vkfReferenceBackward(&problem, &inputs, &backwardInputs, NULL, &gradients, NULL));
    require(dq[0] == 0, "a refused backward pass has written");

    VkfBackwardOutputs outputs = {.structSize = sizeof outputs};
    VkfBackwardVerdict verdict = {.structSize = sizeof verdict};
    EXPECT_REFUSAL(outputs,
                   vkfReferenceVerifyBackward(&problem, &inputs, &backwardInputs, NULL, &outputs, &verdict, NULL));
}

static void refuseReference(const Call* call) {
    VkfReferenceInputs inputs = {.structSize = sizeof inputs,
                                 .q = call->q.data,
                                 .k = call->k.data,
                                 .v = call->v.data,
                                 .keyLengths = call->keyLengths.data};
    VkfReferenceOptions options = {.structSize = sizeof options};
    VkfProblem problem = call->problem;
    problem.batch = problem.queryHeads = problem.kvHeads = 1; /* so that the doubles of o fit into the array */
    double* o = call->o.data;
    EXPECT_REFUSAL(problem, vkfReferenceAttention(&problem, &inputs, &options, o, NULL, NULL));
    EXPECT_REFUSAL(inputs, vkfReferenceAttention(&problem, &inputs, &options, o, NULL, NULL));
    EXPECT_REFUSAL(options, vkfReferenceAttention(&problem, &inputs, &options, o, NULL, NULL));

    const VkfAppendProblem appendProblem = smallAppend();
    float row[16] = {0};
    int32_t length = 0;
    VkfAppendBuffers buffers = {.structSize = sizeof buffers,
                                .newK = row,
                                .newV = row,
                                .k = call->o.data,
                                .v = call->lse.data,
                                .lengths = &length,
                                .newLengths = &length};
    EXPECT_REFUSAL(buffers, vkfReferenceAppend(&appendProblem, &buffers, NULL));
    require(isAll(call->o.data, call->o.bytes, 0xff) && length == 0, "a refused call of the reference has written");
}

void checkRefusals(const Gpu* gpu, VkfContext context, const Call* call) {
    refuseDevice(gpu);
    refuseFunctions();
    refuseProblem(context, call);
    refuseRecording(gpu, context, call);
    refuseReference(call);
    refuseBackward();
}
