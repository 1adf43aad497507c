// SPDX-License-Identifier: MIT
//
// Macros for code that exists only because a compiler needs it. No macro changes a result. docs/kernel_rules.md
// explains them, and lab/log-0.4.md has the measurements.
//
// Kernels with votes (GL_KHR_shader_subgroup_vote) define VKF_VOTES.
//
// Some rules have no macro (NVIDIA, section of the rules). tests/pipelines/shader_rules_test.cpp checks the first two:
//   - No chain of calls is longer than eight functions. In deep chains, small steps are macros or code of the caller.
//   - Loops over matrices end at a constant. If there is less to do, a condition inside the loop skips iterations.
//   - The order of functions in the SPIR-V changes the machine code. Measure again after moving a function.
#ifndef VKF_COMPILERS_GLSL
#define VKF_COMPILERS_GLSL

// NVIDIA: arrays that an unrolled loop indexes stay in registers. An array that a variable indexes lives in memory.
// llvmpipe needs the opposite, because long code costs it more than memory: src/pipelines/rolled_loops.cpp turns this
// hint around. docs/kernel_rules.md, "Chains of calls" and "Loops over matrices count to a constant".
#define UNROLL [[unroll]]

// NVIDIA: code that runs once or seldom stays short. If the compiler unrolls it, it takes registers from the hot loop,
// and waits for its instructions to be fetched. lab/log-0.4.md, "Log: the cooperative-matrix kernel", the rows about
// storing o.
#define KEEP_LOOP [[dont_unroll]]

// NVIDIA: all invocations of the workgroup have the same condition. It depends on memory, so the compiler cannot know
// that. Without a vote, the compiler synchronises the subgroup before every later product (a tenth of the time).
// docs/kernel_rules.md, "What comes from memory". Kernels without matrices have no votes and use the condition
// directly.
#ifdef VKF_VOTES
#define UNIFORM_BY_VOTE(condition) subgroupAll(condition)
#else
#define UNIFORM_BY_VOTE(condition) (condition)
#endif

// NVIDIA: an `if` whose body changes scores in place costs 32 register moves where the body does not run. A loop of one
// iteration or none costs none. The body must make the condition false. docs/kernel_rules.md, "What costs registers or
// moves".
#define IF_AS_LOOP(condition) KEEP_LOOP while (condition)

// NVIDIA: a branch around loads that nearly every iteration takes. The branch keeps the loads here. Without it, the
// compiler moves them to where their results are used, and nothing hides their latency. lab/log-0.4.md, "Log: the
// cooperative-matrix kernel", "the branch around the fetch left out".
#define IF_KEEPING_LOADS_HERE(condition) if (condition)

// NVIDIA: the other side of the branch of IF_KEEPING_LOADS_HERE. It tells the compiler that words[first..end) are no
// longer needed, so that their registers are free. lab/log-0.4.md, the same section.
#define FORGET(words, first, end, zero)                                                                                \
    UNROLL for (uint i = (first); i < (end); i++) {                                                                    \
        words[i] = zero;                                                                                               \
    }

// NVIDIA: an assignment that changes no existing key: a key above `most` does not exist. Without it, no loop changes
// `key`. The compiler would then compare all keys before the loop, and keep the results in registers that the products
// need. docs/kernel_rules.md, "What costs registers or moves", and lab/log-0.4.md, "cut tiles: masks as bits" (partial
// tiles).
#define PRETEND_TO_CHANGE(key, most) key = min(key, most)

// NVIDIA: a sum that each iteration passes on to the next. The lane's number would give it too, but the compiler would
// then compute it again in every iteration. docs/kernel_rules.md, "What costs registers or moves".
#define COUNT_ON(sum, step) sum += step

// NVIDIA: hides from the compiler that a number is a compile-time constant. One instruction masks bits and sets others,
// if at most one of the two numbers is the same in all lanes, as far as the compiler sees. `zero` is a 0 that it cannot
// know, read from memory by each lane.
// lab/log-0.4.md, "Log: path decode", "masks of codes kept in registers".
#define KEEP_IN_REGISTER(number, zero) ((number) + (zero))

// NVIDIA: a choice without a branch. If a branch sets an element of a matrix, the matrix lives in memory.
// docs/kernel_rules.md, "What else keeps arrays of matrices in memory".
#define CHOOSE(otherwise, value, condition) mix(otherwise, value, condition)

// NVIDIA: a comparison of keys whose result is a bit of a word (masks/mask.glsl). The result of a single
// comparison would occupy a register during the products. lab/log-0.4.md, the row "cut tiles: masks as bits".
#define LACKS_BIT(bits, bit) (((bits) & (1u << (bit))) == 0)

// Every device: flags, numbers in memory that several invocations may set, all to one value. Plain stores would be a
// data race, even of equal values, so the stores are atomic. A barrier lies between a flag and its readers, whose loads
// are plain. A flag in a buffer needs Vulkan's memory model, which kernels with cooperative matrices have. They are
// macros because an atomic operation names its memory.
#define VKF_SET_SHARED_FLAG(flag, value) atomicStore(flag, value, gl_ScopeWorkgroup, 0, gl_SemanticsRelaxed)
#define VKF_SET_BUFFER_FLAG(flag, value) atomicStore(flag, value, gl_ScopeQueueFamily, 0, gl_SemanticsRelaxed)

#endif
