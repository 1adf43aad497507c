/* SPDX-License-Identifier: MIT
 *
 * One attention call: its problem, its arrays, and a check of its results against a plain loop in double. */
#ifndef CALL_H
#define CALL_H

#include "gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Call {
    VkfProblem problem;
    Array q, k, v, keyLengths; /* inputs */
    Array o, lse;              /* outputs */
} Call;

/* Describes the problem, creates the arrays and fills the inputs. */
void createCall(const Gpu* gpu, Call* call);
void destroyCall(const Gpu* gpu, Call* call);

/* Ends the program with a sentence if o or lse is wrong. */
void checkResults(const Call* call);

#ifdef __cplusplus
}
#endif

#endif
