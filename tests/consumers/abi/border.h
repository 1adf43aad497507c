/* SPDX-License-Identifier: MIT
 *
 * Output structs that cross the border between a program and a library of another version. VKFLASH_LATER is defined if
 * the program is built against the headers that later_headers.cmake writes. */
#ifndef BORDER_H
#define BORDER_H

#include "attend.h"

#include <string.h>

#include <vkflash/reference.h>

enum { poison = 0xa5 };

/* Returns memory for one output struct, until the next call. structSize is set; all other bytes are poison, and so are
 * some bytes behind the struct. */
void* poisonedOutput(size_t structSize);

/* Call it after the library has filled the struct: fields that the library does not know are 0, structSize is the
 * program's, and nothing behind the struct was written. */
void checkOutput(const void* output, size_t structSize);

bool isAll(const void* bytes, size_t count, unsigned char value);

/* Prints a number that depends on every byte of the array. */
void printArray(const char* name, const Array* array);

/* Creates an array on the device with these bytes. */
Array arrayOf(const Gpu* gpu, const void* bytes, size_t count);

/* The calls of the program. They print what they get. */
void describeProblems(const VkfProblem* problem);
void verify(const Call* call);
void backward(void);
void backwardOnDevice(const Gpu* gpu, VkfContext context);
void mergePartials(const Gpu* gpu, VkfContext context);
void appendRow(const Gpu* gpu, VkfContext context);

VkfMergeProblem smallMerge(void);
VkfAppendProblem smallAppend(void);
VkfProblem smallForward(void);
VkfBackwardProblem smallBackward(const VkfProblem* forward);
VkfReferenceInputs smallInputs(void);
VkfReferenceBackwardInputs smallBackwardInputs(void);

#ifdef VKFLASH_LATER
/* Each function that takes a struct refuses one with a later field that is not 0, and writes nothing. */
void checkRefusals(const Gpu* gpu, VkfContext context, const Call* call);
#endif

#endif
