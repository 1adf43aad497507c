/* SPDX-License-Identifier: MIT
 *
 * vkflash/vkflash.h: exact fused attention, recorded into an application's own command buffer.
 *
 *
 * THE FIRST CALL
 *
 * `load` is the application's vkGetInstanceProcAddr, and `why` a VkfMessage. Every function that can fail returns a
 * VkfResult; if it is not VKF_SUCCESS, why.text says in one sentence which field is wrong.
 *
 * 1. Ask what to enable, and create the device with needed.features, needed.extensions and needed.extensionCount. Give
 *    the struct back to vkfFreeDeviceRequirements afterwards.
 *
 *     VkfDeviceQuery query = {.structSize = sizeof query, .getInstanceProcAddr = load, .instance = instance};
 *     query.physicalDevice = gpu;
 *     VkfDeviceRequirements needed = {.structSize = sizeof needed};
 *     vkfGetDeviceRequirements(&query, &needed, &why);
 *
 * 2. Create one context for each device. It keeps the pipelines.
 *
 *     VkfContextCreateInfo info = {.structSize = sizeof info, .getInstanceProcAddr = load, .instance = instance};
 *     info.physicalDevice = gpu, info.device = device, info.features = needed.usableFeatures;
 *     vkfCreateContext(&info, &context, &why);
 *
 * 3. Describe the problem. All fields that are not set are 0, and 0 is the default: dense tensors of fp32.
 *
 *     VkfProblem problem = {.structSize = sizeof problem, .batch = 1, .queryHeads = 8, .kvHeads = 8};
 *     problem.queryRows = problem.keys = 1024, problem.headDim = 64, problem.use = VKF_USE_CAUSAL;
 *
 * 4. Create one plan for each problem. It chooses the kernel. Then ask how much scratch memory a call needs.
 *
 *     vkfCreatePlan(context, &problem, &plan, &why);
 *     VkfPlanInfo made = {.structSize = sizeof made};
 *     vkfGetPlanInfo(plan, &made, &why);
 *
 * 5. Record the call, as often as you like, between barriers of your own. Buffers need a device address. A size in
 *    each binding turns wrong shapes into messages. vkfGetTensorLayout and vkfStoredBytes give the bytes of a tensor,
 *    vkfGetArrayBytes those of an optional array.
 *
 *     VkfBindings call = {.structSize = sizeof call, .q.buffer = q, .k.buffer = k, .v.buffer = v, .o.buffer = o};
 *     call.scratch.buffer = scratch, call.scratch.size = made.scratchBytes;
 *     vkfCmdAttention(commands, plan, &call, &why);
 *
 *
 * WHERE TO FIND WHAT
 *
 *     device.h                        requirements of a device, contexts, bindings
 *     problem.h, attention.h          what attention computes; plans
 *     append_problem.h, append.h      new rows for a cache of K and V
 *     merge_problem.h, merge.h        partial results of several calls, or of several devices
 *     backward_problem.h, backward.h  gradients
 *     reference.h                     the same on the CPU, to compare with
 *     inspect.h, tuning.h             why a plan is as it is; measured tiles
 *     functions.h, functions.hpp      masks and scores of your own, compiled into the kernels; their compiler
 *     matrix_layout.h                 element layouts of cooperative matrices
 *     vkflash.hpp, problem.hpp        owning handles and shorthands for C++17
 *     host.hpp                        a device, buffers and one-call functions for C++ programs without an engine
 *
 * This header includes those from device.h to backward.h.
 *
 *
 * RULES
 *
 * The application owns everything: instance, physical device, device, queues, command buffers and memory. The library
 * has no queue. It submits nothing, waits for nothing on the device, and owns no device memory. A context owns
 * pipelines and one pipeline layout, and nothing else.
 *
 * Device memory. The kernels read and write memory through device addresses and use no descriptors. Hence:
 * - Create each buffer with VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT. The library needs no other usage flag. The
 *   programs under examples/ and host.hpp set VK_BUFFER_USAGE_STORAGE_BUFFER_BIT too.
 * - Bind the buffer to memory that was allocated with VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT, in
 *   VkMemoryAllocateFlagsInfo::flags.
 * - Enable the feature bufferDeviceAddress, which vkfGetDeviceRequirements asks for.
 *
 * Threads:
 * - Several threads may use one context at once. Threads compile different pipelines side by side. Each pipeline is
 *   compiled once: a second thread that needs it waits for the first one.
 * - Plans, merges, appends and backward passes are immutable. Any number of threads may record one of them at once,
 *   each thread into a command buffer of its own.
 * - No other thread may use an object while it is destroyed.
 * - Functions on different contexts are independent. "Thread-safe" below means that any number of threads may call the
 *   function at once.
 *
 * Lifetimes, from the object that goes first to the object that goes last:
 * 1. Plans, merges, appends and backward passes: destroy all of them before their context. Recorded command buffers
 *    stay valid, because the pipelines belong to the context.
 * 2. The context: destroy it when no command buffer that uses its pipelines is pending. Do not submit such a command
 *    buffer afterwards.
 * 3. VkfContextCreateInfo::pipelineCache and VkfContextCreateInfo::allocator, then the device and the instance.
 *
 * Structs. The ABI of the C interface stays: programs run with later versions of the library, and with earlier ones
 * that have all functions that the program calls.
 * - Structs that may grow start with structSize. Set it to sizeof(struct), and set fields that you do not use to 0.
 * - A smaller struct comes from an older header. Its missing fields count as 0.
 * - A larger struct comes from a newer header. The library takes an input struct if the fields that it does not know
 *   are 0. It sets the fields of an output struct that it does not know to 0.
 * - VKF_ERROR_STRUCT_SIZE refuses other structs: smaller than in their first version, with unknown fields that are not
 *   0, or over 4096 bytes larger than this version knows.
 * - Structs without structSize never change their size. Most of them have `reserved` fields.
 * The C++ class library of host.hpp has no such promise: build it together with the program.
 *
 * Errors. A call that fails writes no handle, fills no output struct and records no command. Pipelines that it compiled
 * before the failure stay in the context. Functions of reference.h may have written part of their arrays. Every
 * `message` may be NULL. Otherwise a call that fails writes one sentence to it.
 * - VKF_ERROR_OUT_OF_HOST_MEMORY: an allocation of host memory failed, in the library or in the driver.
 * - VKF_ERROR_DEVICE_LOST: a Vulkan call lost the device. From then on, every call that needs a pipeline of the context
 *   fails with this result, without a Vulkan call. Destroy the objects, and create a new device.
 * - VKF_ERROR_VULKAN: another Vulkan call failed, or the C++ runtime did.
 * After any other error than VKF_ERROR_DEVICE_LOST the same call may be tried again. docs/errors.md says more.
 */
#ifndef VKFLASH_VKFLASH_H
#define VKFLASH_VKFLASH_H

#include "append.h"
#include "attention.h"
#include "backward.h"
#include "device.h"
#include "merge.h"

#endif
