/* SPDX-License-Identifier: MIT
 *
 * Output structs that cross the border between a program and a library of another version. VKFLASH_LATER is defined if
 * the program is built against the headers that later_headers.cmake writes. */
#ifndef BORDER_H
#define BORDER_H

#include "attend.h"

#include <string.h>

enum { poison = 0xa5 };

#ifdef VKFLASH_LATER
#define HAS_ZERO_TAIL(output)                                                                                          \
    ((output).later[0] == 0 && (output).later[1] == 0 && (output).later[2] == 0 && (output).later[3] == 0)
#else
#define HAS_ZERO_TAIL(output) true
#endif

/* Declares `name.value`. structSize is set, all other bytes are poison, and so are some bytes behind the struct. */
#define DECLARE_OUTPUT(Struct, name)                                                                                   \
    struct {                                                                                                           \
        Struct value;                                                                                                  \
        unsigned char behind[64];                                                                                      \
    } name;                                                                                                            \
    memset(&name, poison, sizeof name);                                                                                \
    name.value.structSize = sizeof name.value

/* After a call has filled the output: fields that the library does not know are 0, structSize is the program's, and
 * nothing behind the struct was written. */
#define CHECK_OUTPUT(name)                                                                                             \
    require(HAS_ZERO_TAIL(name.value), "unknown fields of " #name " are not 0");                                       \
    require(name.value.structSize == sizeof name.value, "structSize of " #name " has changed");                        \
    require(isAll(name.behind, sizeof name.behind, poison), "a call wrote behind " #name)

bool isAll(const void* bytes, size_t count, unsigned char value);

/* Prints a number that depends on every byte of the array. */
void printArray(const char* name, const Array* array);

/* Creates an array on the device with these bytes. */
Array arrayOf(const Gpu* gpu, const void* bytes, size_t count);

/* The calls of the program. They print what they get. */
void describeProblems(const VkfProblem* problem);
void verify(const Call* call);
void mergeParts(const Gpu* gpu, VkfContext context);
void appendRow(const Gpu* gpu, VkfContext context);

VkfMergeProblem smallMerge(void);
VkfAppendProblem smallAppend(void);

#ifdef VKFLASH_LATER
/* Each function that takes a struct refuses one with a later field that is not 0, and writes nothing. */
void checkRefusals(const Gpu* gpu, VkfContext context, const Call* call);
#endif

#endif
