/* SPDX-License-Identifier: MIT
 *
 * vkflash/inspect.h: why a plan is as it is. Tools and bug reports need this header; other programs do not.
 *
 * - vkfGetPlanPath and vkfGetBackwardPath say why a plan or a backward pass has its path and not another one.
 * - vkfGetPlanTile lists the tiles that a plan could have taken, with the reason against each of them.
 * - vkfGetMatrixInfo describes the cooperative matrices of a context.
 * - vkfGetShaderVariant lists the shaders that are compiled into the library.
 *
 * Every function of this header is thread-safe and does not block. Only vkfGetPlanPath and vkfGetBackwardPath allocate.
 */
#ifndef VKFLASH_INSPECT_H
#define VKFLASH_INSPECT_H

#include "vkflash.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Cooperative matrices ------------------------------------------------------------------- */

/* How path coopmat multiplies 16-bit types of one kind: a matrix of rows x depth by a matrix of depth x columns. */
typedef struct VkfMatrixInfo {
    size_t structSize;
    uint32_t rows;        /* rows of the left matrix and of the product */
    uint32_t columns;     /* columns of the right matrix and of the product */
    uint32_t depth;       /* columns of the left matrix, rows of the right matrix */
    uint32_t layoutKnown; /* 1 = scores stay in registers; 0 = scores pass through shared memory, because the library
                             does not know which invocation of this driver holds which element, or a quirk says so */
    uint32_t layoutFromApplication; /* 1 = layoutKnown because of VkfContextCreateInfo::matrixLayouts; 0 = not */
    uint32_t reserved;              /* 0 */
} VkfMatrixInfo;

/* Fills *info for VKF_TYPE_F16 or VKF_TYPE_BF16. The caller sets structSize.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT (null, or another type), VKF_ERROR_STRUCT_SIZE, VKF_ERROR_UNSUPPORTED (the device
 * has no such matrices; the message says why). */
VKF_API VkfResult vkfGetMatrixInfo(VkfContext context, VkfType type, VkfMatrixInfo* info, VkfMessage* message);

/* ---- The choice of a path -------------------------------------------------------------------- */

/* The rule that decided about a path. Its thresholds depend on the chip; VkfPathDecision::reason has them. */
typedef enum VkfPathRule VKF_INT32_ENUM {
    VKF_RULE_ASKED_FOR = 0,   /* VkfProblem::path is not AUTO */
    VKF_RULE_UNSUPPORTED = 1, /* the path cannot compute the problem on the device */
    /* Rules of AUTO, in the order in which it follows them: about decode first, then about wgmma, coopmat and scalar.
     * If many rows and keys rule out decode, but neither wgmma nor coopmat can run, AUTO goes back to decode with
     * VKF_RULE_FEW_ROWS. */
    VKF_RULE_LATENT_HEADS = 2,       /* decode, because no other path computes heads over 256 columns */
    VKF_RULE_CHOSEN_KEYS = 14,       /* decode, whose tiles have the rows of one list of chosen keys */
    VKF_RULE_FEW_ROWS = 3,           /* decode, which is the fastest for few query rows */
    VKF_RULE_MANY_ROWS_AND_KEYS = 4, /* wgmma or coopmat instead of decode: many packed rows and many keys */
    VKF_RULE_MANY_ROWS = 5,          /* not decode: too many query rows */
    VKF_RULE_LONG_CALL = 12,         /* wgmma: the call is long enough for it to be faster than coopmat */
    VKF_RULE_SHORT_CALL = 13,        /* not wgmma: coopmat is faster for such a short call */
    VKF_RULE_CHIP = 6,               /* not coopmat: the table of chips says so */
    VKF_RULE_WHOLE_WORDS = 7,        /* not coopmat in the backward pass: rows are not multiples of 16 bytes */
    VKF_RULE_SPILLS = 8,             /* not coopmat: its tile spills registers on this device */
    VKF_RULE_MATRIX_UNITS = 9,       /* coopmat: matrix units multiply faster than plain arithmetic */
    VKF_RULE_OTHERWISE = 10,         /* scalar, where AUTO chooses none of the paths above */
    VKF_RULE_COMPARISON = 11,        /* not standard or key_outer: they are for comparisons */
    VKF_RULE_FORCE_INT32 = 0x7fffffff
} VkfPathRule;

/* Returns a short static text without numbers: "few query rows". Never NULL; "unknown rule" for other values. */
VKF_API const char* vkfPathRuleString(VkfPathRule rule);

/* Why a plan or a backward pass has a path, or why it does not. */
typedef struct VkfPathDecision {
    size_t structSize;
    VkfPathRule rule; /* the rule that decided */
    uint32_t taken;   /* 1 = the path of the plan or of the backward pass */
    /* The rule in words, with its thresholds and the numbers of the problem. With VKF_RULE_UNSUPPORTED, the message of
     * a problem that asks for the path. English, ends with a zero byte; cut off if longer. */
    char reason[VKF_MESSAGE_CAPACITY];
} VkfPathDecision;

/* Fills *decision for a path of VkfPath other than VKF_PATH_AUTO. A path that cannot compute the problem has
 * VKF_RULE_UNSUPPORTED, also where AUTO took another path before it looked at this one. The caller sets structSize.
 * Allocates host memory. The context of the plan must still exist.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT (null, VKF_PATH_AUTO, or a value that is not a VkfPath), VKF_ERROR_STRUCT_SIZE,
 * VKF_ERROR_OUT_OF_HOST_MEMORY. */
VKF_API VkfResult vkfGetPlanPath(VkfPlan plan, VkfPath path, VkfPathDecision* decision, VkfMessage* message);

/* As vkfGetPlanPath, for a backward pass. It has three paths; all others have VKF_RULE_UNSUPPORTED. */
VKF_API VkfResult vkfGetBackwardPath(VkfBackward backward, VkfPath path, VkfPathDecision* decision,
                                     VkfMessage* message);

/* ---- The choice of a tile -------------------------------------------------------------------- */

/* The first reason against a tile. `value` and `limit` are members of VkfTileCandidate. */
typedef enum VkfTileReason VKF_INT32_ENUM {
    VKF_TILE_SUITS = 0, /* the tile suits the problem */
    /* The tile cannot be used: */
    VKF_TILE_DIMENSIONS = 1,  /* the tile is for head dimensions on the other side of `limit` than `value` */
    VKF_TILE_OUTPUT_TYPE = 2, /* the tile is for fp32 outputs */
    VKF_TILE_MASK = 3,        /* the tile is for masks with at most `limit` visible keys of a row; there are `value` */
    VKF_TILE_INVOCATIONS = 4, /* a workgroup has `value` invocations; the device takes `limit` */
    VKF_TILE_SHARED_MEMORY = 5, /* the tile takes `value` bytes of shared memory; there are `limit` */
    VKF_TILE_SUBGROUPS = 6,     /* `value` invocations are not whole subgroups of `limit`, or not within one */
    VKF_TILE_PARTIALS = 7,      /* tuning data asks for `value` partial results; `limit` is the largest number */
    VKF_TILE_BLOCKS = 8,        /* the tile does not fit the blocks of the block mask: it splits blocks of `limit` rows,
                                   or its `value` rows are far fewer. If no tile fits better, the library looks at the
                                   list a second time with weaker limits. */
    VKF_TILE_FEW_ROWS = 9,      /* the tile is for more rows of a KV head than `limit`; here `value` */
    VKF_TILE_MANY_KEYS = 10, /* the tile is for few keys; here larger tiles give `value` workgroups, at least `limit` */
    VKF_TILE_LAYOUT = 11,    /* the kernel cannot fill in matrices of this device's element layout */
    /* The tile can be used. The plan takes it if no later tile is better: */
    VKF_TILE_REGISTERS = 16,      /* about `value` registers an invocation; compilers spill above `limit` */
    VKF_TILE_HALF_EMPTY = 17,     /* the tile has at least twice as many rows as the problem, `limit` or more */
    VKF_TILE_FEW_WORKGROUPS = 18, /* the tile gives `value` workgroups; a large device needs `limit` to be busy */
    VKF_TILE_SPILLS = 19,         /* about `value` registers an invocation by the count of this device's compiler, which
                                     spills above `limit`. The plan takes the tile only if every usable tile spills. */
    /* The library did not consider the tile, because an earlier one suits. */
    VKF_TILE_NOT_NEEDED = 32,
    VKF_TILE_FORCE_INT32 = 0x7fffffff
} VkfTileReason;

/* Returns a short static text without numbers: "too much shared memory". Never NULL; "unknown reason" for other values.
 */
VKF_API const char* vkfTileReasonString(VkfTileReason reason);

/* One tile that the library considered for a plan. A tile for other problems shows the numbers that it would have. */
typedef struct VkfTileCandidate {
    size_t structSize;
    VkfTileReason reason;       /* the first reason against the tile; VKF_TILE_SUITS = none */
    uint32_t taken;             /* 1 = the plan's tile. Its reason is not VKF_TILE_SUITS if no tile suits. */
    uint32_t fromTuning;        /* 1 = from the context's tuning data. Its entries about the problem come first. */
    uint32_t tileRows;          /* query rows */
    uint32_t tileKeys;          /* keys */
    uint32_t workgroupSize;     /* invocations */
    uint32_t sharedMemoryBytes; /* bytes for each workgroup */
    uint32_t registers;         /* registers for an invocation's share of s and o, and of q, k and v where the kernel
                                   keeps them in registers */
    uint32_t kvSplits;   /* key splits that go with the tile. VkfProblem::kvSplits, if not 0, takes precedence. */
    uint32_t reserved;   /* 0 */
    uint64_t workgroups; /* workgroups of all key splits together */
    uint64_t value;      /* see VkfTileReason */
    uint64_t limit;      /* see VkfTileReason */
    char tile[VKF_TILE_CAPACITY]; /* the tile as tuning data writes it. Other paths use the same spelling. */
} VkfTileCandidate;

/* Number of tiles that the library considered for the plan. 0 for NULL. */
VKF_API uint32_t vkfGetPlanTileCount(VkfPlan plan);

/* Fills *candidate with tile `index` of the plan, in the order in which the library looked at them, best first. The
 * plan has the first tile that suits, or else the last one that can be used (VKF_TILE_SPILLS says which tiles that
 * excludes). The caller sets structSize.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT (null, or index at or above vkfGetPlanTileCount), VKF_ERROR_STRUCT_SIZE. */
VKF_API VkfResult vkfGetPlanTile(VkfPlan plan, uint32_t index, VkfTileCandidate* candidate, VkfMessage* message);

/* ---- Shaders in this build ------------------------------------------------------------------- */

/* Number of shader variants that the library knows, the PTX kernels of path wgmma among them. */
VKF_API uint32_t vkfGetShaderVariantCount(void);

/* Name of shader variant `index`. *missingReason is NULL if this build contains the variant, and says otherwise why the
 * build left it out. Both are static strings.
 *
 * Errors: VKF_ERROR_INVALID_ARGUMENT (null, or index at or above vkfGetShaderVariantCount). */
VKF_API VkfResult vkfGetShaderVariant(uint32_t index, const char** name, const char** missingReason);

#ifdef __cplusplus
}
#endif

#endif
