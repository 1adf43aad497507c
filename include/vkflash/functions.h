/* SPDX-License-Identifier: MIT
 *
 * vkflash/functions.h: masks and scores of the caller's own, written in GLSL and fused into every kernel.
 * docs/functions.md explains how to write them, functions.hpp compiles them at run time, and `vkflash compile` writes
 * them to a file. This header needs no Vulkan, and the library has no compiler: it takes SPIR-V.
 *
 * A file defines one or more of these functions. A missing one has no effect:
 *
 *     float score(float s, Position at)             the score of a pair, in natural units, after scale and softcap
 *     bool keep(Position at)                        whether the row sees the key, besides the other masks
 *     float scoreDerivative(float s, Position at)   the derivative of score by s, for the backward pass
 *
 * A file may also promise that keep is monotone. In each head, keep then changes at most once along the keys of a row,
 * in the same direction in all rows, and at most once along the rows of a key, in the same direction for all keys. A
 * causal mask is monotone, a window is not. Without other per-key masks, the map of tiles then looks only at the
 * corners of a tile. A wrong promise gives wrong results.
 *
 *     const bool keepIsMonotone = true;
 *
 * Where they stand in the definition of problem.h:
 *
 *     s = scale * dot(q[i], k[j])
 *     s = softcap * tanh(s / softcap)               if softcap > 0
 *     s = score(s, at)                              if the file has score
 *     s = s - slope[h] * |i + Nk - Nq - j|          and so on
 *     key j is dropped                              if another mask says so, or keep(at) is false
 */
#ifndef VKFLASH_FUNCTIONS_H
#define VKFLASH_FUNCTIONS_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct VkfFunctions_T* VkfFunctions; /* the compiled functions of one file; VkfProblem::functions takes it */

/* Which functions a file has. */
typedef enum VkfFunctionBits VKF_INT32_ENUM {
    VKF_FUNCTION_SCORE = 1 << 0,
    VKF_FUNCTION_KEEP = 1 << 1,
    VKF_FUNCTION_SCORE_DERIVATIVE = 1 << 2,
    /* keep looks at at.head or at.kvHead. Without it all heads share one map of tiles. The compiler sets this bit and
     * the next one where the file has these words anywhere, also in score. */
    VKF_FUNCTION_KEEP_BY_HEAD = 1 << 3,
    /* keep looks at at.batch. Without this bit and the one before, sequences share one map of tiles too, if their other
     * masks are the same, and they have neither lengths nor documents. */
    VKF_FUNCTION_KEEP_BY_SEQUENCE = 1 << 4,
    VKF_FUNCTION_FORCE_INT32 = 0x7fffffff
} VkfFunctionBits;
typedef uint32_t VkfFunctionSet; /* bits of VkfFunctionBits */

/* A pair of a query row and a key, as functions see it. Row and key are positions among the keys of the sequence, as
 * causal masks count them. In GLSL the struct is Position, with the same members. */
typedef struct VkfPosition {
    int32_t batch;  /* sequence */
    int32_t head;   /* query head */
    int32_t kvHead; /* of the query head */
    int32_t row;    /* with bottom-right alignment: number of the row + keys - rows; negative before the first key */
    int32_t key;    /* number of the key */
    int32_t rows;   /* of the sequence */
    int32_t keys;   /* of the sequence */
} VkfPosition;

/* Type of the elements of an array that functions read. */
typedef enum VkfElement VKF_INT32_ENUM {
    VKF_ELEMENT_F32 = 0,
    VKF_ELEMENT_F16 = 1,
    VKF_ELEMENT_BF16 = 2,
    VKF_ELEMENT_I32 = 3,
    VKF_ELEMENT_U8 = 4,
    VKF_ELEMENT_FORCE_INT32 = 0x7fffffff
} VkfElement;

/* The most arrays that a file can declare. */
#define VKF_MAX_FUNCTION_ARRAYS 8

/* Bytes of an array's name, with the zero byte at its end. */
#define VKF_FUNCTION_NAME_CAPACITY 32

/* An array of the caller that functions read. NAME(i), with an int i, is element i: a float of F32, F16 and BF16, an
 * int of I32 and U8. The library knows no size: that no index leaves the array is the function's responsibility. */
typedef struct VkfFunctionArray {
    char name[VKF_FUNCTION_NAME_CAPACITY]; /* an identifier of GLSL */
    VkfElement element;                    /* type of the elements */
    uint32_t reserved;                     /* 0, else VKF_ERROR_INVALID_ARGUMENT */
} VkfFunctionArray;

/* Gives the SPIR-V of one kernel with the functions in it. `kernel` is a name of shaders/variants.json, such as
 * "attention_scalar_subgroups". The words must stay valid until the VkfFunctions is destroyed. The library calls it
 * while it creates a plan, once for each kernel of a context, and from any thread that creates one.
 *
 * Returns VKF_SUCCESS, or an error with its message, which vkfCreatePlan passes on. */
typedef VkfResult (*VkfGetKernel)(void* user, const char* kernel, const uint32_t** words, size_t* wordCount,
                                  VkfMessage* message);

/* What vkfCreateFunctions makes a VkfFunctions of. */
typedef struct VkfFunctionsCreateInfo {
    size_t structSize;
    /* Must not be 0. VKF_FUNCTION_SCORE_DERIVATIVE needs VKF_FUNCTION_SCORE. */
    VkfFunctionSet functions;
    /* At most VKF_MAX_FUNCTION_ARRAYS. */
    uint32_t arrayCount;
    /* [arrayCount], in the order of VkfBindings::functionArrays. Read during the call only. */
    const VkfFunctionArray* arrays;
    /* A number that differs for functions that differ, such as a hash of their text and arrays. A context compiles a
     * kernel once for each number. */
    uint64_t key;
    /* Must not be null. */
    VkfGetKernel getKernel;
    /* What the library passes to getKernel. It must stay valid until the VkfFunctions is destroyed. */
    void* user;
} VkfFunctionsCreateInfo;

/* Creates an object from functions that the caller compiled. Most callers use functions.hpp or vkfLoadFunctions
 * instead. Allocates host memory. Thread-safe. The object is immutable: any number of contexts and threads may use it.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT (null, a bit or a name that is wrong, too many arrays), VKF_ERROR_STRUCT_SIZE,
 * VKF_ERROR_OUT_OF_HOST_MEMORY. */
VKF_API VkfResult vkfCreateFunctions(const VkfFunctionsCreateInfo* info, VkfFunctions* functions, VkfMessage* message);

/* Creates an object from the bytes of a file that `vkflash compile` wrote. Copies them. Thread-safe.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT (null, or not such a file, or a damaged one), VKF_ERROR_UNSUPPORTED (written by
 * another version of the library, which the message names), VKF_ERROR_OUT_OF_HOST_MEMORY. */
VKF_API VkfResult vkfLoadFunctions(const void* data, size_t bytes, VkfFunctions* functions, VkfMessage* message);

/* Destroys the object. NULL is ignored. All plans and backward passes that use it must have been destroyed. */
VKF_API void vkfDestroyFunctions(VkfFunctions functions);

/* Returns which functions the object has. 0 for NULL. Thread-safe. */
VKF_API VkfFunctionSet vkfGetFunctionSet(VkfFunctions functions);
/* Copies the declared arrays to `arrays`, at most `capacity` of them, and returns how many there are. 0 for NULL.
 * Thread-safe. */
VKF_API uint32_t vkfGetFunctionArrays(VkfFunctions functions, VkfFunctionArray* arrays, uint32_t capacity);

#ifdef __cplusplus
}
#endif

#endif
