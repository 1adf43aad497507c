// SPDX-License-Identifier: MIT
//
// Shaders write some code only because a compiler needs it. That code has these macros, whose names say so. None of
// them changes a result. Sections of docs/tuning.md: "Registers, spills, machine code (NVIDIA)" has the rules, "Log:
// the cooperative-matrix kernel" has the measurements.
//
// Needs: GL_EXT_control_flow_attributes; VKF_VOTES defined where the kernel has votes (GL_KHR_shader_subgroup_vote).
// Provides: UNROLL, KEEP_LOOP, UNIFORM_BY_VOTE, IF_AS_LOOP, IF_KEEPING_LOADS_HERE, FORGET, PRETEND_TO_CHANGE, COUNT_ON,
// KEEP_IN_REGISTER, CHOOSE, LACKS_BIT.
//
// Rules that no macro can name; tests/pipelines/shader_rules_test.cpp checks the first two (NVIDIA, same section):
//   - No chain of calls is longer than eight functions. Small steps of deep chains are macros or stand in their caller.
//   - Loops over matrices end at a constant, with a condition inside where there is less to do.
//   - The order of functions in the SPIR-V changes the machine code, so a function that moves is measured again.
#ifndef VKF_COMPILERS_GLSL
#define VKF_COMPILERS_GLSL

// NVIDIA: arrays that an unrolled loop indexes stay in registers; an array that a variable indexes lives in memory.
// llvmpipe does not mind the memory but minds long code: src/pipelines/rolled_loops.cpp turns this hint around for it.
// docs/tuning.md, "Chains of calls" and "Loops over matrices count to a constant".
#define UNROLL [[unroll]]

// NVIDIA: code that runs once, or seldom, stays short. Unrolled, it takes registers from the hot loop and waits for its
// own instructions. docs/tuning.md, "Log: the cooperative-matrix kernel", the rows about storing o.
#define KEEP_LOOP [[dont_unroll]]

// NVIDIA: the condition is the same in all invocations of the workgroup, but it depends on memory, so the compiler
// cannot know. Without a vote it synchronises the subgroup before every later product (a tenth of the time).
// docs/tuning.md, "What comes from memory". Kernels without matrices, and so without votes, take the condition as it
// is.
#ifdef VKF_VOTES
#define UNIFORM_BY_VOTE(condition) subgroupAll(condition)
#else
#define UNIFORM_BY_VOTE(condition) (condition)
#endif

// NVIDIA: an `if` whose body changes scores in place costs 32 register moves on the way past it; a loop of one turn or
// none does not. The body must make the condition false. docs/tuning.md, "What costs registers or moves".
#define IF_AS_LOOP(condition) KEEP_LOOP while (condition)

// NVIDIA: a branch around loads that nearly every turn takes. It keeps the loads here; without it they sink to where
// their results are used, and their latency shows. docs/tuning.md, "Log: the cooperative-matrix kernel", "the branch
// around the fetch left out".
#define IF_KEEPING_LOADS_HERE(condition) if (condition)

// NVIDIA: the other side of that branch. Says that nothing of words[first..end) is needed any more, so that their
// registers are free. Same section.
#define FORGET(words, first, end, zero)             \
    UNROLL for (uint i = (first); i < (end); i++) { \
        words[i] = zero;                            \
    }

// NVIDIA: an assignment that changes nothing, for `key` is at most `most` or a key that does not exist. A compiler that
// sees `key` unchanged in a loop makes all comparisons of keys before the loop, and keeps their outcomes in registers
// that the products need. docs/tuning.md, "What costs registers or moves" and the row "cut tiles: masks as bits".
#define PRETEND_TO_CHANGE(key, most) key = min(key, most)

// NVIDIA: a sum that is carried from turn to turn although it follows from the lane's number: the compiler would make
// it anew in every turn. docs/tuning.md, "What costs registers or moves".
#define COUNT_ON(sum, step) sum += step

// NVIDIA: a number that the compiler must not know as a constant. Masking bits and setting others is one instruction as
// long as at most one of the two numbers is in the code. params.keys is below 2^30, so nothing is added.
// docs/tuning.md, "Log: path decode", "masks of codes kept in registers".
#define KEEP_IN_REGISTER(number) ((number) + (params.keys >> 30))

// NVIDIA: a choice without a branch. A matrix of which an element is set in a branch lives in memory. docs/tuning.md,
// "What else keeps arrays of matrices in memory".
#define CHOOSE(otherwise, value, condition) mix(otherwise, value, condition)

// NVIDIA: a comparison of keys whose outcome waits as a bit of a word (masks/range_bits.glsl). The outcomes of single
// comparisons would each keep a register while products are made. docs/tuning.md, the row "cut tiles: masks as bits".
#define LACKS_BIT(bits, bit) (((bits) & 1u << (bit)) == 0)

#endif
