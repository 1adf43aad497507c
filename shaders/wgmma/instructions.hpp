// SPDX-License-Identifier: MIT
//
// The instructions of the wgmma kernels that C++ has no words for. Section numbers are those of "Parallel Thread
// Execution ISA", version 8.5.
//
// Layouts. A warpgroup is four consecutive warps, 128 threads. `lane` counts in a warp, `warp` in a warpgroup.
//
//   Result (9.7.14.5.1, "Register Fragments", matrix D): 64 rows, N columns. d[4 j + 2 h + e] is the element of
//   row 16 warp + lane / 4 + 8 h, column 8 j + 2 (lane % 4) + e.
//
//   Left operand in registers (the same section, matrix A): 64 rows, 16 columns. Word a[2 c + h] has the elements of
//   row 16 warp + lane / 4 + 8 h, columns 8 c + 2 (lane % 4) and the next one. So columns 16 i to 16 i + 15 of a
//   result become a left operand without moves between threads.
//
//   Right operand in shared memory (9.7.14.5.1, "Shared Memory Matrix Layout"), with a swizzle of 128 bytes: lines of
//   128 bytes, in groups of 8 that begin at multiples of 1024 bytes. Chunk c of line r, 16 bytes, lies at chunk
//   c ^ (r % 8). A line of k has 64 columns of one key: the depth of the product runs along lines. A line of v has 64
//   columns of one key too, but there the depth runs from line to line: the operand is transposed.
//
//   Descriptor of a right operand (9.7.14.5.1, "Matrix Descriptor Format"):
//
//     bits 0 to 13     address / 16
//     bits 16 to 29    leading offset / 16
//     bits 32 to 45    stride offset / 16, from one group of 8 lines to the next
//     bits 62 and 63   1: swizzle of 128 bytes
//
//   The leading offset of a transposed operand leads from 64 columns to the next 64. The other operand does not use it.
#ifndef VKF_WGMMA_INSTRUCTIONS_HPP
#define VKF_WGMMA_INSTRUCTIONS_HPP

#include "wgmma/device.hpp"

namespace vkf::wgmma {

// Threads.

// Numbers are read again by each call, so that what follows from them need not stay in registers.

VKF_DEVICE uint32_t threadNumber() {
    uint32_t number;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(number));
    return number;
}

VKF_DEVICE uint32_t workgroupNumber() {
    uint32_t number;
    asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(number));
    return number;
}

// The value of lane 0. The compiler then knows that all lanes have the same.
VKF_DEVICE uint32_t uniform(const uint32_t x) {
    return static_cast<uint32_t>(__nvvm_shfl_sync_idx_i32(~0u, static_cast<int>(x), 0, 31));
}

VKF_DEVICE float shuffleXor(const float x, const int mask) { return __nvvm_shfl_sync_bfly_f32(~0u, x, mask, 31); }

VKF_DEVICE uint32_t shuffleXor(const uint32_t x, const int mask) {
    return static_cast<uint32_t>(__nvvm_shfl_sync_bfly_i32(~0u, static_cast<int>(x), mask, 31));
}

VKF_DEVICE uint32_t shuffleFrom(const uint32_t x, const uint32_t lane) {
    return static_cast<uint32_t>(__nvvm_shfl_sync_idx_i32(~0u, static_cast<int>(x), static_cast<int>(lane), 31));
}

// Bit i is the condition of lane i.
VKF_DEVICE uint32_t lanesWhere(const bool condition) {
    return static_cast<uint32_t>(__nvvm_vote_ballot_sync(~0u, condition));
}

VKF_DEVICE bool anyLane(const bool condition) { return __nvvm_vote_any_sync(~0u, condition); }

VKF_DEVICE bool allLanes(const bool condition) { return __nvvm_vote_all_sync(~0u, condition); }

// Lanes of the warp see what the others have written before.
VKF_DEVICE void syncWarp() { asm volatile("bar.warp.sync 0xffffffff;" ::: "memory"); }

// setmaxnreg (9.7.19.5): all warps of a warpgroup change their number of registers.
template <uint32_t REGISTERS> VKF_DEVICE void giveRegisters() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}
template <uint32_t REGISTERS> VKF_DEVICE void takeRegisters() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

// Named barriers (9.7.13.1), 0 to 15. A barrier completes when `threads` threads have arrived or wait.

VKF_DEVICE void waitAt(const uint32_t barrier, const uint32_t threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

VKF_DEVICE void arriveAt(const uint32_t barrier, const uint32_t threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// Waits. Returns whether the condition of one of the threads is true.
VKF_DEVICE bool anyAt(const uint32_t barrier, const uint32_t threads, const bool condition) {
    uint32_t any;
    asm volatile("{\n.reg .pred p, q;\nsetp.ne.u32 p, %1, 0;\nbar.red.or.pred q, %2, %3, p;\nselp.u32 %0, 1, 0, q;\n}"
                 : "=r"(any)
                 : "r"(static_cast<uint32_t>(condition)), "r"(barrier), "r"(threads)
                 : "memory");
    return any != 0;
}

// Memory.

struct Word {
    uint32_t x[4];
};

VKF_DEVICE Word loadWord(const uint64_t address) {
    Word word;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word.x[0]), "=r"(word.x[1]), "=r"(word.x[2]), "=r"(word.x[3])
                 : "l"(address));
    return word;
}

// The word at the address, or zeros. A condition is no branch here, so that many loads are in flight.
VKF_DEVICE Word loadWordIf(const bool condition, const uint64_t address) {
    Word word;
    asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %5, 0;\nmov.u32 %0, 0;\nmov.u32 %1, 0;\nmov.u32 %2, 0;\n"
                 "mov.u32 %3, 0;\n@p ld.global.v4.u32 {%0, %1, %2, %3}, [%4];\n}"
                 : "=&r"(word.x[0]), "=&r"(word.x[1]), "=&r"(word.x[2]), "=&r"(word.x[3])
                 : "l"(address), "r"(static_cast<uint32_t>(condition)));
    return word;
}

VKF_DEVICE void storeWord(const uint64_t address, const Word word) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(word.x[0]), "r"(word.x[1]),
                 "r"(word.x[2]), "r"(word.x[3])
                 : "memory");
}

// Two numbers; `aligned`: at a multiple of 8 bytes.
VKF_DEVICE void storePair(const uint64_t address, const float a, const float b, const bool aligned) {
    if (aligned) {
        asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(address), "f"(a), "f"(b) : "memory");
    } else {
        storeGlobal<float>(address, a);
        storeGlobal<float>(address + 4, b);
    }
}

// Two 16-bit numbers; `aligned`: at a multiple of 4 bytes.
VKF_DEVICE void storeHalfPair(const uint64_t address, const uint32_t pair, const bool aligned) {
    if (aligned) {
        storeGlobal<uint32_t>(address, pair);
    } else {
        storeGlobal<uint16_t>(address, static_cast<uint16_t>(pair));
        storeGlobal<uint16_t>(address + 2, static_cast<uint16_t>(pair >> 16));
    }
}

// Addresses of shared memory are byte offsets.

// The launch chooses the size. Slots begin at multiples of 1024 bytes, because of the swizzle.
extern "C" __attribute__((shared, aligned(1024))) unsigned char vkf_slots[];

VKF_DEVICE uint32_t sharedMemory() {
    return static_cast<uint32_t>(
        reinterpret_cast<uintptr_t>((__attribute__((address_space(3))) unsigned char*)vkf_slots));
}

VKF_DEVICE Word loadShared(const uint32_t address) {
    Word word;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word.x[0]), "=r"(word.x[1]), "=r"(word.x[2]), "=r"(word.x[3])
                 : "r"(address)
                 : "memory");
    return word;
}

VKF_DEVICE void storeSharedWord(const uint32_t address, const uint32_t word) {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(word) : "memory");
}

VKF_DEVICE void storeShared(const uint32_t address, const Word word) {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(word.x[0]), "r"(word.x[1]),
                 "r"(word.x[2]), "r"(word.x[3])
                 : "memory");
}

// Starts to copy a word from device to shared memory (9.7.9.25.3). Only the first `bytes` are read, the others are
// zeros.
VKF_DEVICE void copyWord(const uint32_t to, const uint64_t from, const uint32_t bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

// Starts to copy eight bytes to a multiple of eight. Only the first `bytes` are read.
VKF_DEVICE void copyHalfWord(const uint32_t to, const uint64_t from, const uint32_t bytes) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

VKF_DEVICE void endCopyGroup() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most GROUPS of the thread's copy groups are in flight.
template <int GROUPS> VKF_DEVICE void waitForCopies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(GROUPS) : "memory");
}

// wgmma reads what this thread has written to shared memory (9.7.14.4, "Async proxy").
VKF_DEVICE void publishSharedWrites() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Barriers in shared memory (9.7.13.15), for copies by tensor maps. A phase completes when `arrivals` threads have
// arrived and all bytes that they expect have been copied. Phases are numbered from 0, modulo 2.

VKF_DEVICE void makeBarrier(const uint32_t barrier, const uint32_t arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

VKF_DEVICE void arriveAtBarrier(const uint32_t barrier) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Arrives, and adds to the bytes of the phase.
VKF_DEVICE void expectBytes(const uint32_t barrier, const uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// Waits until the phase is complete. The barrier must be in this phase or in the next one.
VKF_DEVICE void waitForPhase(const uint32_t barrier, const uint32_t phase) {
    asm volatile(
        "{\n.reg .pred p;\nVKF_WAIT:\nmbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@!p bra VKF_WAIT;\n}" ::"r"(
            barrier),
        "r"(phase)
        : "memory");
}

// The generic address of a parameter of the kernel. clang would copy the parameter to local memory.
#define VKF_TEXT(x) #x
#define VKF_EXPANDED_TEXT(x) VKF_TEXT(x)
#define VKF_PARAMETER_ADDRESS(number)                                                                                  \
    [] {                                                                                                               \
        uint64_t address;                                                                                              \
        asm("{\n.reg .b64 a;\nmov.b64 a, " VKF_EXPANDED_TEXT(VKF_ENTRY) "_param_" #number                              \
                                                                        ";\ncvta.param.u64 %0, a;\n}"                  \
            : "=l"(address));                                                                                          \
        return address;                                                                                                \
    }()

// Tensor maps (5.5, "Tensor-map").

// Starts to copy a box at these coordinates of a tensor of four dimensions (9.7.9.25.5).
VKF_DEVICE void copyBox(const uint32_t to, const uint64_t map, const uint32_t barrier, const uint32_t x,
                        const uint32_t y, const uint32_t z, const uint32_t w) {
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
                 "[%1, {%3, %4, %5, %6}], [%2];" ::"r"(to),
                 "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(w)
                 : "memory");
}

// Numbers.

VKF_DEVICE float fma(const float a, const float b, const float c) { return __nvvm_fma_rn_f(a, b, c); }

// The larger number. A NaN loses.
VKF_DEVICE float maximum(const float a, const float b) { return __nvvm_fmax_f(a, b); }

VKF_DEVICE float magnitude(const float x) { return __builtin_fabsf(x); }

VKF_DEVICE float exp2(const float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

VKF_DEVICE float log2(const float x) {
    float y;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// 1 / x, with an error of one unit in the last place. 1 / infinity is 0.
VKF_DEVICE float reciprocal(const float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

VKF_DEVICE float roundUp(const float x) { return __nvvm_ceil_f(x); }

VKF_DEVICE float asFloat(const uint32_t bits) { return __builtin_bit_cast(float, bits); }

VKF_DEVICE uint32_t asBits(const float x) { return __builtin_bit_cast(uint32_t, x); }

// A pair of 16-bit numbers; `low` is in the lower half. Rounds to nearest, ties to even.
template <bool BF16> VKF_DEVICE uint32_t packHalves(const float low, const float high) {
    uint32_t pair;
    if constexpr (BF16) {
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    } else {
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    }
    return pair;
}

template <bool BF16> VKF_DEVICE float unpackHalf(const uint32_t bits) {
    if constexpr (BF16) {
        return asFloat(bits << 16);
    } else {
        float x;
        asm("{\n.reg .b16 h;\ncvt.u16.u32 h, %1;\ncvt.f32.f16 %0, h;\n}" : "=f"(x) : "r"(bits & 0xffffu));
        return x;
    }
}

// Products of matrices (9.7.14).

// The following products read registers that this thread has written before.
VKF_DEVICE void beginProducts() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

VKF_DEVICE void endProductGroup() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Waits until at most GROUPS groups of products are in flight.
template <int GROUPS> VKF_DEVICE void waitForProducts() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(GROUPS) : "memory");
}

VKF_DEVICE uint64_t rightOperand(const uint32_t address, const uint32_t leading_offset) {
    return uint64_t{address >> 4} | uint64_t{leading_offset >> 4} << 16 | uint64_t{1024 >> 4} << 32 | uint64_t{1} << 62;
}

// A left operand in shared memory, 64 rows and 16 columns, without a swizzle: blocks of 8 rows with 16 bytes each. The
// two blocks of 8 rows follow each other. `leftWordOffset` is the place of word a[i] of a left operand in registers.
constexpr uint32_t LEFT_OPERAND_BYTES = 64 * 32;
VKF_DEVICE uint64_t leftOperand(const uint32_t address) {
    return uint64_t{address >> 4} | uint64_t{128 >> 4} << 16 | uint64_t{256 >> 4} << 32;
}
VKF_DEVICE uint32_t leftWordOffset(const uint32_t thread, const uint32_t i) {
    return (thread / 32 * 2 + i % 2) * 256 + i / 2 * 128 + thread % 32 * 4;
}

// The operands d[i], d[i + 1], ... of a product, and their numbers in its text.
#define VKF_RESULTS_4(d, i) "+f"(d[i]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3])
#define VKF_RESULTS_8(d, i) VKF_RESULTS_4(d, i), VKF_RESULTS_4(d, (i) + 4)
#define VKF_RESULTS_16(d, i)                                                                                           \
    VKF_RESULTS_4(d, i), VKF_RESULTS_4(d, (i) + 4), VKF_RESULTS_4(d, (i) + 8), VKF_RESULTS_4(d, (i) + 12)
#define VKF_RESULTS_32(d, i) VKF_RESULTS_16(d, i), VKF_RESULTS_16(d, (i) + 16)
#define VKF_RESULTS_64(d, i) VKF_RESULTS_32(d, i), VKF_RESULTS_32(d, (i) + 32)
#define VKF_RESULTS_128(d, i) VKF_RESULTS_64(d, i), VKF_RESULTS_64(d, (i) + 64)
#define VKF_NUMBERS_10(tens)                                                                                           \
    "%" tens "0, %" tens "1, %" tens "2, %" tens "3, %" tens "4, %" tens "5, %" tens "6, %" tens "7, %" tens           \
    "8, %" tens "9"
#define VKF_NUMBERS_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define VKF_NUMBERS_16 VKF_NUMBERS_10("") ", %10, %11, %12, %13, %14, %15"
#define VKF_NUMBERS_32 VKF_NUMBERS_10("") ", " VKF_NUMBERS_10("1") ", " VKF_NUMBERS_10("2") ", %30, %31"
#define VKF_NUMBERS_60                                                                                                 \
    VKF_NUMBERS_10("")                                                                                                 \
    ", " VKF_NUMBERS_10("1") ", " VKF_NUMBERS_10("2") ", " VKF_NUMBERS_10("3") ", " VKF_NUMBERS_10(                    \
        "4") ", " VKF_NUMBERS_10("5")
#define VKF_NUMBERS_64 VKF_NUMBERS_60 ", %60, %61, %62, %63"
#define VKF_NUMBERS_128                                                                                                \
    VKF_NUMBERS_60 ", " VKF_NUMBERS_10("6") ", " VKF_NUMBERS_10("7") ", " VKF_NUMBERS_10("8") ", " VKF_NUMBERS_10(     \
        "9") ", " VKF_NUMBERS_10("10") ", " VKF_NUMBERS_10("11") ", %120, %121, %122, %123, %124, %125, %126, %127"

#define VKF_PRODUCT(columns, type, registers)                                                                          \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %[adds], 0;\n"                                                      \
                 "wgmma.mma_async.sync.aligned.m64n" columns "k16.f32." type "." type " {" VKF_NUMBERS_##registers     \
                 "}, {%[a0], %[a1], %[a2], %[a3]}, %[b], p, 1, 1, %[transposed];\n}"                                   \
                 : VKF_RESULTS_##registers(d, 0)                                                                       \
                 : [a0] "r"(a[0]), [a1] "r"(a[1]), [a2] "r"(a[2]), [a3] "r"(a[3]), [b] "l"(b), [adds] "n"(int{ADDS}),  \
                   [transposed] "n"(int{TRANSPOSED}))

#define VKF_SHARED_PRODUCT(columns, type, registers)                                                                   \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %[adds], 0;\n"                                                      \
                 "wgmma.mma_async.sync.aligned.m64n" columns "k16.f32." type "." type " {" VKF_NUMBERS_##registers     \
                 "}, %[a], %[b], p, 1, 1, 0, %[transposed];\n}"                                                        \
                 : VKF_RESULTS_##registers(d, 0)                                                                       \
                 : [a] "l"(a), [b] "l"(b), [adds] "n"(int{ADDS}), [transposed] "n"(int{TRANSPOSED}))

// d = a b, or d += a b if ADDS: starts a product of depth 16. `a` has four words, `b` describes the right operand.
#define VKF_DEFINE_MULTIPLY(columns, registers)                                                                        \
    template <bool BF16, bool TRANSPOSED, bool ADDS>                                                                   \
    VKF_DEVICE void multiply(float(&d)[registers], const uint32_t* a, const uint64_t b) {                              \
        if constexpr (BF16) {                                                                                          \
            VKF_PRODUCT(columns, "bf16", registers);                                                                   \
        } else {                                                                                                       \
            VKF_PRODUCT(columns, "f16", registers);                                                                    \
        }                                                                                                              \
    }
#define VKF_DEFINE_SHARED_MULTIPLY(columns, registers)                                                                 \
    template <bool BF16, bool TRANSPOSED, bool ADDS>                                                                   \
    VKF_DEVICE void multiplyShared(float(&d)[registers], const uint64_t a, const uint64_t b) {                         \
        if constexpr (BF16) {                                                                                          \
            VKF_SHARED_PRODUCT(columns, "bf16", registers);                                                            \
        } else {                                                                                                       \
            VKF_SHARED_PRODUCT(columns, "f16", registers);                                                             \
        }                                                                                                              \
    }
VKF_DEFINE_MULTIPLY("16", 8)
VKF_DEFINE_MULTIPLY("32", 16)
VKF_DEFINE_MULTIPLY("64", 32)
VKF_DEFINE_MULTIPLY("128", 64)
VKF_DEFINE_MULTIPLY("256", 128)
VKF_DEFINE_SHARED_MULTIPLY("32", 16)
VKF_DEFINE_SHARED_MULTIPLY("64", 32)

} // namespace vkf::wgmma

#endif
