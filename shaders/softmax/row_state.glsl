// SPDX-License-Identifier: MIT
//
// The state (m, l) of a row of online softmax: m is the running maximum of its scores, l the running sum of exp(s - m).
// Numbers in comments are lines of algorithm 1 of FlashAttention-2 (Dao 2023). Kernels keep m and l in arrays of their
// own, so that they stay in registers. For the same reason these are macros: a function would be a level of calls more
// (docs/kernel_rules.md, "Chains of calls"). They use power() of scores/units.glsl. finish.glsl ends a row,
// stored_state.glsl has states in memory.
#ifndef VKF_ROW_STATE_GLSL
#define VKF_ROW_STATE_GLSL

// Line 5: a row that has seen no key.
#define emptyState() vec2(MINUS_INFINITY, 0.0)

// Line 9 compares scores with this. Before the first visible key m is -infinity, and the difference of two
// infinities is NaN.
#define finiteMaximum(m) ((m) == MINUS_INFINITY ? 0.0 : (m))

// Lines 9 and 10: l and o are multiplied by this where the maximum goes from m_old to m_new.
#define rescaleFactor(m_old, m_new) power((m_old) - (m_new))

// What a state adds to the l of a join with maximum m: 0 if it saw no key, whatever its own m is. A join is lines 9 and
// 10 with states in place of tiles of keys.
#define sumInJoin(state, m) ((state).y == 0.0 ? 0.0 : (state).y * rescaleFactor((state).x, m))

// By which o is multiplied in a join with maximum m.
#define factorInJoin(state, m) ((state).y == 0.0 ? 0.0 : rescaleFactor((state).x, m))

// Line 12: the factor that divides o by l. A row without a visible key has l = 0 and o = 0.
#define inverseOfSum(l) ((l) == 0.0 ? 0.0 : 1.0 / (l))

// The factor of a row of o without a visible key: o is 0 exactly, whatever the kernel has added up. It differs from a
// factor of 0, which a sink far above all keys leads to: 0 times NaN is NaN. No other factor is negative.
#define EMPTY_ROW (-1.0)

// Line 13: lse of a row, from an m in natural units.
#define lseOfState(m, l) ((l) == 0.0 ? MINUS_INFINITY : (m) + log2(l) * LN2)

#endif
