// SPDX-License-Identifier: MIT
#include "device/chips.hpp"

#include <array>

namespace vkf {
namespace {

// Best first, for 16 x 16 matrices on an H200. The smaller tiles serve where the larger ones leave multiprocessors idle
// or do not fit the shared memory.
constexpr std::array registerCandidates = {
    // Two workgroups share the 48 KiB that a multiprocessor has for all. Each computes while the other waits at a
    // barrier.
    CoopmatCandidate{4, 2, 4, 64},
    // Twice as many workgroups: one sequence of 512 rows takes 17.3 us instead of 19.7, causal 18.9 instead of 22.4.
    CoopmatCandidate{4, 1, 4, 64},
    // Windows of few keys, and causal masks over maxKeysOfSmallCausalTiles: fewer tiles are partial than with 256 rows.
    // 8192 rows with a window of 1024 keys, D = 128, take 295 us, and 323 with the next tile. This one also serves
    // blocks that are smaller than the next one.
    CoopmatCandidate{8, 1, 4, 128, 1536},
    // o and q of 32 rows fill the registers: one workgroup of eight subgroups.
    CoopmatCandidate{8, 2, 2, 128},
    // Twice as many workgroups: one sequence of 1024 rows takes 44 us, and 58 us in two splits of the tile before.
    CoopmatCandidate{8, 1, 4, 128},
    // Few rows and many keys, 16 rows a subgroup: 64 packed rows with 65536 keys take 93 us, and 103 us with tiles of
    // 32 keys.
    CoopmatCandidate{4, 1, 4, 128},
    // o of 16 rows fills the registers.
    CoopmatCandidate{8, 1, 2, 256},
    CoopmatCandidate{4, 1, 2, 256},
    CoopmatCandidate{2, 1, 2, 256},
    CoopmatCandidate{1, 1, 2, 256},
    CoopmatCandidate{1, 1, 1, 256},
};

// Best first, for matrices whose elements pass through shared memory, of which each subgroup needs a part. The last
// three fit 32 KiB for every head dimension.
constexpr std::array viaSharedCandidates = {
    CoopmatCandidate{4, 2, 4, 64},  CoopmatCandidate{4, 2, 2, 64},  CoopmatCandidate{8, 2, 2, 128},
    CoopmatCandidate{4, 2, 2, 128}, CoopmatCandidate{8, 1, 1, 256}, CoopmatCandidate{4, 1, 1, 256},
    CoopmatCandidate{2, 1, 2, 256}, CoopmatCandidate{1, 1, 2, 256}, CoopmatCandidate{1, 1, 1, 256},
};

// Best first, for AMD devices, whose operands take twice as many registers (tiles/amd/registers.hpp). With D over 64 a
// subgroup has one matrix of rows. Tiles have as many keys as registers allow, because each tile costs two
// barriers.
constexpr std::array amdCandidates = {
    CoopmatCandidate{4, 2, 4, 64},  CoopmatCandidate{4, 2, 2, 64},  CoopmatCandidate{8, 1, 4, 128},
    CoopmatCandidate{8, 1, 2, 192}, CoopmatCandidate{4, 1, 4, 128}, CoopmatCandidate{4, 1, 2, 192},
    CoopmatCandidate{8, 1, 1, 256}, CoopmatCandidate{4, 1, 1, 256}, CoopmatCandidate{2, 1, 2, 256},
    CoopmatCandidate{1, 1, 2, 256}, CoopmatCandidate{1, 1, 1, 256},
};

// Best first, for fp32 numbers as bf16x3. A tile has as many keys as a matrix, because the parts of k and v fill the
// shared memory. No measurement has chosen between them yet.
constexpr std::array bf16x3Candidates = {
    CoopmatCandidate{4, 2, 1, 64},  CoopmatCandidate{4, 1, 1, 64},  CoopmatCandidate{8, 1, 1, 128},
    CoopmatCandidate{4, 1, 1, 128}, CoopmatCandidate{2, 1, 1, 128}, CoopmatCandidate{1, 1, 1, 128},
};

constexpr Chip::Coopmat coopmatWith(std::span<const CoopmatCandidate> viaShared) {
    return {registerCandidates, viaShared, bf16x3Candidates};
}

constexpr Chip h200 = {.path = {}, .coopmat = coopmatWith(viaSharedCandidates)};

// The software driver llvmpipe has no matrix units, so that kernels of plain arithmetic are faster there. The map's
// numbers are those of a few cores.
constexpr Chip llvmpipe = {.path = {.avoidsMatrices = true, .avoidsBackwardMatrices = true},
                           .coopmat = coopmatWith(viaSharedCandidates),
                           .tileMap = {20e9, 10e9, 12e-6}};

// The largest counts without spills, of 256 registers. RADV of Mesa 25.0.7 for vega10, navi21, navi31 and gfx1201:
//
//     kernel        count: what the compiler did
//     scalar        184: 252 registers; 196: 1 spilled; 272: 28 spilled; 282: 287 to 381 spilled
//     coopmat       152: 256 registers; 156: 7 spilled; 196: 10 to 31 spilled; 208: 58 to 70 spilled
//     its loop      188: 252 registers; 192: none or 5 spilled; 204: 31 to 92 spilled; 208: none or 2 spilled
//     with a bias   168: 252 registers; 176: none to 210 spilled; 188: none or 172 spilled; 192: none or 13 spilled
//     q and o of a loop that gathers, with a bias of packed rows and all score terms
//                   84: 216 registers; 96: 15 to 83 spilled; 144: 210 spilled
//     decode        128: 256 registers; 144: 3 spilled (vega10, D = 512); 160: 23 spilled
//     o of decode   64: in registers; 80 and 96: in memory, which no other kernel's arrays are
//     latent        216: 171 to 275 spilled; 400: 730 to 885 spilled
//
// fp32 numbers as bf16x3 were not measured on these chips. In the backward pass, their compiler keeps no tile of
// matrices in registers (docs/portability.md).
constexpr Chip amd = {.path = {.avoidsBf16x3 = true, .avoidsBackwardMatrices = true},
                      .coopmat = coopmatWith(amdCandidates),
                      .spills = {.maxScalar = 190,
                                 .maxCoopmat = 152,
                                 .maxCoopmatLoop = 188,
                                 .maxCoopmatLoopWithBias = 172,
                                 .maxCoopmatGathering = 90,
                                 .maxDecode = 136,
                                 .maxDecodeOutput = 64,
                                 .maxLatent = 180}};

// Vendors of PCI.
constexpr uint32_t amdVendor = 0x1002;
constexpr uint32_t nvidiaVendor = 0x10de;

} // namespace

const Chip& chipOf(const Caps& caps) {
    return caps.driver == VK_DRIVER_ID_MESA_LLVMPIPE ? llvmpipe : caps.vendorId == amdVendor ? amd : h200;
}

// NVIDIA numbers the products of a chip in a row. Products of GH100 (H100, H200, H800, H20, GH200) have 0x2300 to
// 0x23ff. Products of GA102 come before, products of GA103 after.
bool hasWgmma(const DeviceIdentity& device) { return device.vendor == nvidiaVendor && device.device >> 8 == 0x23; }

} // namespace vkf
