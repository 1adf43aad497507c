// SPDX-License-Identifier: MIT
//
// The knowledge of chips and their compilers: thresholds between tiles and paths, with the times they come from.
// A new chip is a row of the table in chips.cpp. A default value is that of an NVIDIA H200, which most values were
// measured on; the rows of other chips name what differs.
#pragma once

#include <cstdint>
#include <span>

#include "device/caps.hpp"

namespace vkf {

// Multiprocessors of an H200. Tiles and splits aim at this number on all chips, because Vulkan does not tell it. A
// device with fewer of them loses little.
inline constexpr uint64_t multiprocessors = 132;

// A tile before matrix shape and head dimensions are known. lab/log-0.4.md has the measurements.
struct CoopmatCandidate {
    uint32_t subgroups;
    uint32_t rowMatrices;       // of a subgroup
    uint32_t keyUnits;          // as in CoopmatTile
    uint32_t maxDim;            // of q and v, whichever is larger
    uint32_t maxMaskedKeys = 0; // if not 0, for masked problems of at most as many keys, and for block masks
};

struct Chip {
    // Which path AUTO takes.
    struct Path {
        bool avoidsMatrices = false;         // path coopmat is slower than path scalar
        bool avoidsBf16x3 = false;           // for fp32 numbers as bf16x3
        bool avoidsBackwardMatrices = false; // in the backward pass
        // The default path is decode up to maxDecodeRows query rows. But wgmma or coopmat, where they can run, take
        // problems with more than maxPackedDecodeRows packed rows and at least minCoopmatKeys keys in all KV heads.
        // Path decode reads the keys once for every 16 packed rows, and path coopmat once for all rows. Times with 8 KV
        // heads in us:
        //
        //     packed rows   keys   decode   coopmat
        //              64   1024     15.6      18.4
        //              64   4096       71        50
        //              32    any   about the same
        uint32_t maxDecodeRows = 16;
        uint64_t maxPackedDecodeRows = 32;
        uint64_t minCoopmatKeys = 16384;
    };

    // Path coopmat.
    struct Coopmat {
        std::span<const CoopmatCandidate> registerCandidates;  // matrices of a known element layout
        std::span<const CoopmatCandidate> viaSharedCandidates; // elements pass through shared memory
        std::span<const CoopmatCandidate> bf16x3Candidates;    // fp32 numbers as bf16x3
        // With fewer subgroups a smaller tile is faster: eight subgroups for a little less than all multiprocessors.
        uint32_t minSubgroups = 960;
        // Enough workgroups of four subgroups with 16 rows each where keys are not split. One sequence of 512 rows, 16
        // heads, D = 128, takes 20.8 us in 128 of them, causal 22.3. In two splits of larger tiles it takes 22.3 us. In
        // smaller tiles, causal, it takes 38.5 us.
        uint64_t enoughSmallWorkgroups = 120;
        // The bias of the next tile counts: 8192 rows of 16 heads with a bias take 2.2 ms with 16 rows a subgroup, 2.9
        // with 32.
        uint32_t maxRegisters = 232;
        // Tiles that need more registers keep the last slices of q in shared memory. D = 128 with 32 rows a subgroup
        // needs 224, D = 256 with 16 rows needs 208.
        uint32_t registersBeforeSharingQ = 200;
        // As many slices as free this number of registers. With D = 128 these are 2 of 8. 16384 rows in all take 257,
        // 775 and 2880 us with 512, 2048 and 8192 keys, and 264, 817 and 3010 with all of q in registers. With one
        // slice they take 264, 826 and 3100, with three 270, 833 and 3080. With D = 256 these are 3 of 16: 301, 986 and
        // 3750 instead of 313, 1030 and 3890.
        uint32_t freedRegisters = 12;
        // Smaller workgroups load too little at a time, however few the rows are.
        uint32_t subgroupsOfFewRows = 4;
        // Two workgroups for each multiprocessor where each split has this many keys: 65536 keys of 64 packed rows of 8
        // KV heads take 93 us in 33 splits, 115 in 16.
        uint64_t manyWorkgroups = 2 * multiprocessors;
        uint64_t manySplitKeys = 1024;
        // Under a causal mask, one wave of workgroups that share multiprocessors leaves them idle in the end. 1024 rows
        // of 32 heads, D = 64, take 37.5 us in 256 workgroups, and 33.5 in 512 of half the rows. 40 heads: 36.5 in
        // 320, 43.7 in 640.
        uint64_t moreThanOneWave = manyWorkgroups + 1;
        // Under a causal mask, tiles of 256 rows are slower than smaller ones with 512 keys, and faster with more.
        // 16384 rows in all, D = 128, take 234 us instead of 224 with 512 keys, and 324 instead of 336 with 1024.
        uint32_t maxKeysOfSmallCausalTiles = 768;
        // Splits of fewer keys cost more in prologue, epilogue and merge than they gain.
        uint32_t minSplitKeys = 256;
        // A cache has at least this many keys for each row. Large tiles of split keys are faster there. 512 rows of 32
        // query heads, 8 KV heads, D = 128, with 16384 keys: 413 us, small tiles 457. With 4096 keys: 126 and 120. With
        // 4096 keys where k and v are q4_0: 159 and 172, because each tile of rows decodes their elements again.
        uint32_t cacheKeys = 8;
        uint32_t minSplitKeysOfLargeHeads = 128;
        // Under a causal mask, large heads are split until there are this many workgroups, because the longest takes
        // twice the mean. 2048 rows of 8 heads, D = 256: 138 us in 128 workgroups, 104 in 256. 12 heads: 141 us in 192,
        // 161 in 384.
        uint64_t balancedWorkgroups = 160;
        // Each of these splits has this many keys. 1024 rows of 16 heads take 76.7 us in 128 workgroups, 80.1 in 256.
        uint32_t minBalancedSplitKeys = 640;
        uint32_t maxSmallDim = 128;
    };

    // Path wgmma beside path coopmat, on an H100 and an H200 (bench/results/h100-wgmma-short.txt). Microseconds of
    // wgmma and coopmat, 32 heads, 64 rows and 512 keys: D = 64 13.9 and 25.2, D = 128 16.4 and 26.3, D = 256 27.7
    // and 50.0. Calls with pages have the same limits (bench/results/h200-serving.txt).
    struct Wgmma {
        // AUTO prefers path coopmat for fewer packed rows: 32 rows and keys of D = 128 take 9.5 and 8.8. Under a mask,
        // where they take 9.7 and 12.7, and with heads of over unmaskedColumns, the lower limit holds.
        uint64_t minPackedRows = 64;
        uint64_t minMaskedPackedRows = 32;
        uint32_t unmaskedColumns = 128;
        // So few packed rows wait for memory where they see many keys, and path coopmat reads faster in more splits. An
        // H200 with 8 KV heads, D = 128, takes 83.1 and 80.1 us for 65536 keys of a sequence, 564 and 547 for 8 of them
        // (bench/results/h200-few-rows.txt).
        uint64_t fewPackedRows = 64;
        double manyKeysOfFewRows = 16384;
        // Path coopmat starts sooner with heads of up to narrowColumns, and has more workgroups. So wgmma needs few
        // workgroups, each of whose time then counts, or rows that see many keys, on average, and workgroups that
        // occupy this share of the multiprocessors.
        uint32_t narrowColumns = 64;
        uint64_t minNarrowRows = 128;
        uint64_t minNarrowRowsOfManyKeys = 64; // for rows that see at least manyKeys
        double manyKeys = 384;
        uint64_t fewWorkgroups = 48;
        uint64_t fewMaskedWorkgroups = 264;
        double minNarrowKeys = 512;
        double minNarrowMaskedKeys = 768;
        double minNarrowShare = 0.77;
        // One workgroup runs on a multiprocessor. A key split has at least minSplitKeys.
        uint64_t workgroupsAtOnce = multiprocessors;
        uint32_t minSplitKeys = 512;
    };

    // Key splits of path scalar.
    struct Scalar {
        // Cost and gain of splits on an H200, in microseconds. The numbers come from the times of 16 heads of 512 to
        // 2048 rows (lab/log-0.4.md): a tile of 64 rows and keys of D = 128 takes 14 us alone on a multiprocessor, and
        // 20 us next to another workgroup.
        double operationsOfMultiprocessor = 2.1e5; // in one microsecond
        double aloneFactor = 1.4;                  // times a workgroup's share of a full multiprocessor
        double prologueAndEpilogue = 5;            // of a workgroup
        double merge = 5;
        double partialResultBytes = 3e6; // written or read in one microsecond
        double worthIt = 0.9;            // of the time with fewer splits
        uint32_t minSplitKeys = 64;
        uint64_t enoughWaves = 8; // limits the scratch memory
    };

    // Key splits of path decode.
    struct Decode {
        // Keys are split until the last wave of workgroups is nearly full, or there are this many waves. Half a wave
        // too many costs a quarter of the time (one row, 65536 keys: 49 splits 98 us, 32 splits 79).
        uint64_t enoughWaves = 8;
        double fullEnough = 0.9;
        // Where k and v have no block type, two workgroups of a multiprocessor keep its memory busy. A third pays for
        // its merge if each split has this many keys (16384 keys: 33 splits 23.8 us, 49 splits 24.2; 65536 keys:
        // both 68.3; eight sequences of 16384 keys: two 130, three 128). To decode elements of block types takes longer
        // than to read them, so that a third workgroup is always better there.
        uint32_t busyWorkgroups = 2;
        uint32_t keysOfBusySplits = 1024;
        // A second tile takes less time than a merge, if tiles are small: 128 keys take 5.1 us instead of 6.6, and 256
        // take 6.3 instead of 6.8.
        uint32_t unsplitTiles = 2;
        uint32_t unsplitKeys = 256;
    };

    // Path decode on cooperative matrices.
    struct DecodeMatrix {
        // A matrix costs the same for one row as for sixteen. Plain arithmetic takes an instruction for each row and
        // element, so that it is best for one row.
        uint64_t maxPlainRows = 1;
        uint32_t usualSubgroups = 4; // of a workgroup, unless the rows need more
        // With many keys for each multiprocessor, one workgroup of eight subgroups has half as many partial results to
        // merge as two of four. 65536 keys take 66.3 us instead of 66.9, eight sequences of 65536 keys 480 instead of
        // 483. 16384 keys and eight sequences of 4096 take the same. Block types gain nothing: they keep four
        // workgroups of a multiprocessor busy.
        uint32_t subgroupsOfManyKeys = 8;
        uint64_t manyKeys = 2048; // of all KV heads, for each multiprocessor
        // Two columns of each key pay from here on. With 64 columns, 65536 keys of q8_0 take 35.4 us instead of 37.3,
        // but 4096 keys take 10.6 instead of 9.9.
        uint32_t minDimOfTwoColumns = 128;
    };

    // Merges of partial results.
    struct Merge {
        // One row with D = 128 on an H200: with 16 partial results, a call takes 8.1 us in 2 groups and 7.8 in 4 or 8.
        // With 33 of them, it takes 12.1 us in two iterations of eight at once, 11.6 in one iteration of five, and no
        // less with 512 invocations. Two rows in a workgroup of 256 invocations take 0.1 us more than one row in 128.
        // See lab/log-0.4.md, "The merge".
        uint32_t usualAtOnce = 4;
        uint32_t maxAtOnce = 8;
        uint32_t usualInvocations = 128;
        uint32_t maxInvocations = 256;
    };

    // What a map of a bias costs and saves (planning/decide/tile_map.cpp). For instance, 8192 rows and keys of 16 heads
    // with D = 128 take 1.8 ms at 300 TFLOP/s. A mask of fp16 for all heads has 134 MB, which take 34 us. With 1024
    // rows and keys attention takes 40 us without a bias, 53 with one, and 75 with a causal mask and a map: few
    // workgroups make the map, and the longest tile of rows takes as long as before.
    struct TileMap {
        double operations = 300e12; // of attention, a second
        double bytes = 4e12;        // of a bias that the map reads, a second
        double fixed = 35e-6;       // seconds of any map: dispatches, and workgroups that wait for memory
        double savedFraction = 0.5; // of the time of attention, by a causal mask
    };

    struct InterleavedHeads {
        // Heads that take turns read their k and v at the same time. More than 16 heads gain nothing. With 16 heads and
        // tiles of 256 rows, the multiprocessors of an H200 are equally busy within 3 %, for any N from 1024.
        uint64_t maxHeads = 16;
        uint64_t cacheBytes = uint64_t{32} << 20; // for k and v of all heads that take turns
    };

    // The most registers of a tile that the compiler holds without spills, as tiles/amd/registers.hpp counts them.
    // Compilers without an entry follow the counts of the tiles themselves.
    struct Spills {
        uint32_t maxScalar = UINT32_MAX;
        uint32_t maxCoopmat = UINT32_MAX;
        uint32_t maxCoopmatLoop = UINT32_MAX;
        uint32_t maxCoopmatLoopWithBias = UINT32_MAX;
        uint32_t maxCoopmatGathering = UINT32_MAX;
        uint32_t maxDecode = UINT32_MAX;
        uint32_t maxDecodeOutput = UINT32_MAX;
        uint32_t maxLatent = UINT32_MAX;
    };

    Path path;
    Coopmat coopmat;
    Wgmma wgmma;
    Scalar scalar;
    Decode decode;
    DecodeMatrix decodeMatrix;
    Merge merge;
    TileMap tileMap;
    InterleavedHeads interleavedHeads;
    Spills spills;
};

// The row of a device; that of an H200 for chips without a row.
const Chip& chipOf(const Caps& caps);

// Whether the chip has compute capability 9.0, by its PCI ids. The kernels of path wgmma use instructions that no other
// chip has. No property of Vulkan tells the compute capability.
bool hasWgmma(const DeviceIdentity& device);

} // namespace vkf
