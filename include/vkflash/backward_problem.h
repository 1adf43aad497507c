/* SPDX-License-Identifier: MIT
 *
 * vkflash/backward_problem.h: the backward pass. From the gradient of o it computes the gradients of q, k and v, and
 * on request those of the bias and of the sinks. The library and the CPU reference share this description, which needs
 * no Vulkan. vkfCreateBackward and vkfCmdBackward (backward.h) run it on the device, vkfReferenceBackward (reference.h)
 * on the CPU.
 *
 *
 * DEFINITION
 *
 * L is any number that depends on o and lse. dout is dL/do, dlse is dL/dlse, dq is dL/dq, and so on. With s, p, o and
 * lse as problem.h defines them for row i and key j, where t is the score before softcap and u the capped one:
 *
 *     delta[i] = dot(dout[i], o[i]) - dlse[i]      dlse is 0 where it is not given
 *     p[i,j] = exp(s[i,j] - lse[i])                0 for dropped keys
 *     kept[i,j] = 1                                with dropout 0 or 1 / (1 - probability)
 *     dv[j] = sum over i of p[i,j] kept[i,j] dout[i]
 *     dp[i,j] = kept[i,j] dot(dout[i], v[j])
 *     ds[i,j] = p[i,j] (dp[i,j] - delta[i])
 *     dt[i,j] = ds[i,j] (1 - (u[i,j] / softcap)^2)     ds[i,j] without softcap
 *     dq[i] = scale sum over j of dt[i,j] k[j]
 *     dk[j] = scale sum over i of dt[i,j] q[i]
 *     dbias = factor[h] ds[i,j], summed over all (b, h, i) that share the element of the bias
 *     dsinks[h] = - sum over b and i of exp(sink[h] - lse[i]) delta[i]
 *
 * o is o as stored, lse is lse as stored: the outputs of the forward call.
 *
 * - dk and dv of a KV head are summed over its query heads, in the order of their numbers.
 * - A row with lse = -infinity, or +infinity, which some libraries write for an empty row, contributes nothing and gets
 *   no gradient. Its dq is 0 exactly, and nothing of its dout, o and dlse reaches a result, NaN included.
 * - A row that sees no key, and has a sink, has a dq of 0 exactly. Its lse is the sink, so it adds its dlse to dsinks.
 * - The bytes of dropped keys and values never reach a result. dk and dv are 0 exactly where no row sees the key.
 *   Every element of dq, dk and dv is written, those past keyLengths included.
 * - With packed sequences, dq of rows and dk and dv of keys that belong to no sequence, or to several, are unspecified,
 *   as o is.
 * - A key that dropout leaves out is visible: its kept is 0, and NaN or infinity may make dp NaN as it makes o.
 * - Scores, p, dp, ds and all sums are fp32. Paths coopmat and wgmma round p, ds and an fp32 operand to the type of k
 *   where they enter a product. A ds past the largest finite fp16 does not become infinite there.
 * - There are no atomic additions: equal calls give the same bits on every run.
 *
 * The algorithm is the backward pass of FlashAttention-2 (Dao 2023, arXiv 2307.08691, algorithm 2), which keeps lse in
 * place of p. */
#ifndef VKFLASH_BACKWARD_PROBLEM_H
#define VKFLASH_BACKWARD_PROBLEM_H

#include "problem.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The gradients that a call computes. A new bit of a later version is UNSUPPORTED in this one. */
typedef enum VkfGradientBits VKF_INT32_ENUM {
    VKF_GRADIENT_Q = 1 << 0,     /* output dq */
    VKF_GRADIENT_K = 1 << 1,     /* output dk */
    VKF_GRADIENT_V = 1 << 2,     /* output dv */
    VKF_GRADIENT_BIAS = 1 << 3,  /* output dbias. INVALID_ARGUMENT without VKF_USE_BIAS. */
    VKF_GRADIENT_SINKS = 1 << 4, /* output dsinks, fp32 [queryHeads]. INVALID_ARGUMENT without VKF_USE_SINKS. */
    VKF_GRADIENT_FORCE_INT32 = 0x7fffffff
} VkfGradientBits;
typedef uint32_t VkfGradients; /* bits of VkfGradientBits */

/* Default limit of VkfBackwardProblem::maxScratchBytes: room for a band of 128 workgroups with headDim 256 and 16384
 * rows, and for its sums. */
#define VKF_DEFAULT_BACKWARD_SCRATCH_BYTES UINT64_C(1342177280)

/* One backward call. The rules for all structs in problem.h hold here too. */
typedef struct VkfBackwardProblem {
    size_t structSize; /* sizeof(VkfBackwardProblem) */
    /* The problem of the forward call. Must not be null. Every function copies what it needs.
     *
     * - It must have VKF_USE_LSE, else INVALID_ARGUMENT: the backward pass needs the lse of the forward call.
     * - `path`: AUTO, SCALAR, COOPMAT or WGMMA, else UNSUPPORTED. It is the path of the backward pass alone: o and lse
     *   may come from any path.
     * - headDim and valueDim are at most 256, else UNSUPPORTED.
     * - Block types of k and v, VKF_USE_BLOCK_TABLE (pages) and VKF_USE_CHOSEN_KEYS are UNSUPPORTED.
     * - VKF_USE_PROBABILITIES, VKF_USE_PROBABILITY_ROWS and kvSplits change nothing.
     * - maxStepOperations limits the steps of the backward pass too. */
    const VkfProblem* forward;
    /* The gradients that are wanted: bits of VkfGradientBits. 0 = VKF_GRADIENT_Q, VKF_GRADIENT_K and VKF_GRADIENT_V. A
     * bit that this version does not know is UNSUPPORTED. */
    VkfGradients gradients;
    /* VKF_USE_DLSE, or 0. */
    VkfUse use;
    /* Input: the gradient of o. Shape of o. F32, F16 or BF16, else UNSUPPORTED. */
    VkfTensor dout;
    /* Output: the gradient of q. Shape of q. F32, F16 or BF16, else UNSUPPORTED. Elements must not overlap, else
     * INVALID_ARGUMENT. Zero without VKF_GRADIENT_Q, else INVALID_ARGUMENT. */
    VkfTensor dq;
    /* Output: the gradient of k. Shape of k: [batch, kvHeads, keys, headDim], with packed sequences a batch of 1.
     * Otherwise as dq, with VKF_GRADIENT_K. */
    VkfTensor dk;
    /* Output: the gradient of v. Shape of v. Otherwise as dq, with VKF_GRADIENT_V. */
    VkfTensor dv;
    /* Type of output dbias: F32, F16 or BF16, else UNSUPPORTED. Zero without VKF_GRADIENT_BIAS, else INVALID_ARGUMENT.
     *
     * dbias has the strides, heads and sequences of VkfProblem::bias. vkfGetBackwardArrayBytes gives its size.
     *
     * - A dimension with a stride of 0, or that repeats by modulo, is shared. The elements hold the sum over the rows,
     *   heads and sequences that share them, made in one fixed order.
     * - An element that no visible pair of a row and a key uses is 0. With packed sequences and with keyLengths these
     *   are the elements past the sequences' rows and keys too.
     * - Bytes between rows, which belong to no element, stay as they are.
     * - Other rows, heads and sequences must not overlap, else UNSUPPORTED. */
    VkfType dbiasType;
    uint32_t reserved; /* 0; else INVALID_ARGUMENT */
    /* Bytes of scratch memory that the call may use to save work, besides what it needs anyway. On path coopmat, ds of
     * a band of keys then stays there, and the call computes five products instead of seven. With headDim or valueDim
     * over 128, p stays there too.
     *
     * - 0 = VKF_DEFAULT_BACKWARD_SCRATCH_BYTES, where that is expected to save time: with headDim or valueDim over 64,
     *   and enough keys and heads to occupy a large device. 1 = none. Any other number is used wherever it suffices.
     * - A band needs 2 bytes for each pair of a key and a row, 4 with p. It has at least as many keys, counted over
     *   heads, as workgroups take at a time: about 17,000. So 17,000 * 2 * queryRows bytes are enough for most of the
     *   effect, and at most four times as many are used. A causal mask halves these numbers where a band has all keys
     *   of a head, and a window makes them smaller. Less than one band has no effect, nor has any value with packed
     *   sequences, block masks, or first keys without a map of tiles. A band has at most 32 GiB.
     *   VkfBackwardInfo::bandKeys says what was chosen. The map (VkfBackwardInfo::tileMapBytes) does not count.
     * - The bits of the gradients depend on this number. */
    uint64_t maxScratchBytes;
    uint64_t reserved2[4]; /* 0; else INVALID_ARGUMENT */
} VkfBackwardProblem;

/* All functions of this header are thread-safe, need no device, allocate nothing and do not block. */

/* Checks that the backward problem is well formed, and that this version can do it on some device.
 *
 * Errors: those of vkfCheckProblem for the forward problem; VKF_ERROR_INVALID_ARGUMENT,
 * VKF_ERROR_STRUCT_SIZE, VKF_ERROR_UNSUPPORTED, as the fields say. The message names the first field that is wrong. */
VKF_API VkfResult vkfCheckBackward(const VkfBackwardProblem* problem, VkfMessage* message);

/* One of the backward problem's tensors. vkfGetTensorLayout has the layouts of q, k, v and o. */
typedef enum VkfBackwardRole VKF_INT32_ENUM {
    VKF_BACKWARD_DOUT = 0, /* the gradient of o */
    VKF_BACKWARD_DQ = 1,
    VKF_BACKWARD_DK = 2,
    VKF_BACKWARD_DV = 3,
    VKF_BACKWARD_FORCE_INT32 = 0x7fffffff
} VkfBackwardRole;

/* Fills *layout with the layout of one of the backward problem's tensors, defaults filled in. The caller sets its
 * structSize. The layout of a gradient that is not wanted is the dense one.
 *
 * Errors: those of vkfCheckBackward; VKF_ERROR_INVALID_ARGUMENT if `layout` is null or `role` is not a VkfBackwardRole;
 * VKF_ERROR_STRUCT_SIZE. */
VKF_API VkfResult vkfGetBackwardTensorLayout(const VkfBackwardProblem* problem, VkfBackwardRole role,
                                             VkfTensorLayout* layout, VkfMessage* message);

/* Returns the bytes of VKF_ARRAY_DLSE, VKF_ARRAY_DBIAS or VKF_ARRAY_DSINKS, from the first one to one past the last one
 * that is read or written. 0 = not used: the problem does not have the array, nothing of it is read or written, or
 * vkfCheckBackward refuses the problem. vkfGetArrayBytes has the arrays of the forward call. */
VKF_API uint64_t vkfGetBackwardArrayBytes(const VkfBackwardProblem* problem, VkfArray array);

/* Returns a static string: "VKF_GRADIENT_Q", ... Never NULL; "unknown bit" for other values. */
VKF_API const char* vkfGradientString(VkfGradientBits bit);

/* Returns a static string: "dout", ... Never NULL; "unknown role" for other values. */
VKF_API const char* vkfBackwardRoleString(VkfBackwardRole role);

#ifdef __cplusplus
}
#endif

#endif
