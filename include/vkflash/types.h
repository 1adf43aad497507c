/* SPDX-License-Identifier: MIT
 *
 * vkflash/types.h: version, export macro, result codes and messages. All other public headers include it. It needs no
 * Vulkan.
 */
#ifndef VKFLASH_TYPES_H
#define VKFLASH_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* Version of this header. The build reads it from these three lines. vkfVersion gives the version of the library. */
#define VKF_VERSION_MAJOR 0
#define VKF_VERSION_MINOR 5
#define VKF_VERSION_PATCH 0

/* Exports a function. CMake's targets and pkg-config define VKF_SHARED for users of a shared library, which only
 * Windows needs. VKF_BUILDING is for the build of the library itself. */
#if defined(VKF_SHARED) && defined(_WIN32)
#if defined(VKF_BUILDING)
#define VKF_API __declspec(dllexport)
#else
#define VKF_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define VKF_API __attribute__((visibility("default")))
#else
#define VKF_API
#endif

/* Underlying type of every enumeration, so that the library can read and refuse any value that a caller writes. In C
 * the last member of each enumeration fixes the size instead. No function returns or takes these FORCE_INT32
 * members. */
#ifdef __cplusplus
#define VKF_INT32_ENUM : int32_t
#else
#define VKF_INT32_ENUM
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The outcome of a call. 0 is success, and all errors are negative.
 *
 * Every function that can fail returns a VkfResult. A call that fails has written no handle and recorded no command;
 * vkflash.h says more. */
typedef enum VkfResult VKF_INT32_ENUM {
    VKF_SUCCESS = 0,
    /* The caller gave a value that no device can accept, or a null pointer. */
    VKF_ERROR_INVALID_ARGUMENT = -1,
    /* The problem is valid, but this device, path, version or build cannot do it. */
    VKF_ERROR_UNSUPPORTED = -2,
    /* The device lacks a needed feature, or was created without it. */
    VKF_ERROR_MISSING_FEATURE = -3,
    /* structSize is not a size of this struct, or the struct has fields that are not 0 and that this version does not
     * know. vkflash.h says more. */
    VKF_ERROR_STRUCT_SIZE = -4,
    /* VkfBinding::size says that scratch, a tensor or an array is too short for the call. Or scratch has no size. */
    VKF_ERROR_BINDING_TOO_SMALL = -5,
    /* An allocation on the host failed, in the library or in Vulkan. */
    VKF_ERROR_OUT_OF_HOST_MEMORY = -6,
    /* A Vulkan call returned VK_ERROR_OUT_OF_DEVICE_MEMORY. */
    VKF_ERROR_OUT_OF_DEVICE_MEMORY = -7,
    /* A Vulkan call returned VK_ERROR_DEVICE_LOST. */
    VKF_ERROR_DEVICE_LOST = -8,
    /* Another Vulkan call failed; the message names call and code. Also an unexpected failure in the C++ runtime. */
    VKF_ERROR_VULKAN = -9,
    VKF_RESULT_FORCE_INT32 = 0x7fffffff
} VkfResult;

/* Bytes of a message, with the zero byte at its end. */
#define VKF_MESSAGE_CAPACITY 256

/* The reason of an error: one sentence that names the wrong field and its limit.
 *
 * Every function that takes a VkfMessage also takes NULL. It writes the message only if it fails. The caller owns the
 * message, so errors need no allocation and no thread-local state. */
typedef struct VkfMessage {
    char text[VKF_MESSAGE_CAPACITY]; /* English, ends with a zero byte; cut off if longer */
} VkfMessage;

/* Both functions are thread-safe, allocate nothing and do not block. */

/* Returns a short English text for a result code ("unsupported"), a static string. Never NULL; "unknown result code"
 * for other values. */
VKF_API const char* vkfResultString(VkfResult result);

/* Returns the version of the library that the program runs with: VKF_VERSION_MAJOR << 22 | VKF_VERSION_MINOR << 12 |
 * VKF_VERSION_PATCH. */
VKF_API uint32_t vkfVersion(void);

#ifdef __cplusplus
}
#endif

#endif
