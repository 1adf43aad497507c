/* SPDX-License-Identifier: MIT
 *
 * What host and shader must agree on, written once and included by both languages: the push
 * constants, the numbers of the specialization constants, and the shared-memory size of a tile.
 * Only 4- and 8-byte members, widest first, so that C++ and std430 lay them out alike.
 */
#ifndef VKF_ATTENTION_PARAMS_H
#define VKF_ATTENTION_PARAMS_H

#ifdef __cplusplus
#include <cstddef>
#include <cstdint>
namespace vkf::shared {
using Address = uint64_t;
using Uint = uint32_t;
using Int = int32_t;
using Float = float;
#else
#define Address uvec2
#define Uint uint
#define Int int
#define Float float
#endif

/* Index of a tensor in the stride arrays and in the type constants. */
#define VKF_Q 0
#define VKF_K 1
#define VKF_V 2
#define VKF_O 3

/* One call of a kernel. 128 bytes, what every Vulkan 1.2 device has.
 *
 * Row strides are in bytes; head and batch strides in bytes >> stride_shift (a specialization constant,
 * 0 unless a stride passes 4 GiB). Rows and keys stay below 2^30, and the window is clamped to that,
 * so that i + offset +- window fits an int.
 *
 * What else a call brings (a block mask, a block table, sinks, ...) has the place of the window: the address of the
 * only such thing, low half first, or that of a table of all of them (call_table.h). The window is then in
 * specialization constants. */
struct AttentionParams {
    Address q;
    Address k;
    Address v;
    Address o;
    Address lse;
    Address key_lengths;
    Uint row_stride[4];
    Uint head_stride[4];
    Uint batch_stride[4];
    Uint query_rows;
    Uint keys;
    Float score_scale; /* scale * log2(e), or scale / softcap */
    Float softcap;     /* softcap * log2(e) */
    Int window_left;
    Int window_right;
    Uint heads;      /* query heads | (query heads / kv heads) << 16 */
    Uint first_item; /* work item of workgroup 0: steps of one call differ in it */
};

#define VKF_MAX_ROWS 0x3fffffff
#define VKF_UNLIMITED_LEFT 0x40000000
#define VKF_UNLIMITED_RIGHT 0x3fffffff
#define VKF_MAX_HEADS 65535
#define VKF_MAX_DIM 256
/* On path decode, for the shapes of latent attention: k of 512 and 64 columns, v the first 512 of them. */
#define VKF_MAX_DECODE_DIM 576
#define VKF_MAX_DECODE_VALUE_DIM 512
#define VKF_MAX_SPLITS 1024
/* Rows and keys of a block of a block mask: a multiple of the one, up to the other. Matrices of the
 * cooperative-matrix kernel are no larger than the smallest block. */
#define VKF_LEAST_MASK_BLOCK 16
#define VKF_MAX_MASK_BLOCK 65536

/* Values of the type constants; those of VkfType. */
#define VKF_STORED_F32 0
#define VKF_STORED_F16 1
#define VKF_STORED_BF16 2
#define VKF_STORED_Q8_0 4
#define VKF_STORED_Q4_0 5
#define VKF_STORED_Q4_1 6
#define VKF_STORED_Q5_0 7
#define VKF_STORED_Q5_1 8

/* Block types: VKF_BLOCK_ELEMENTS elements in an fp16 scale, perhaps an fp16 minimum, perhaps a word of fifth bits,
 * and codes of four or eight bits, in this order. */
#define VKF_BLOCK_ELEMENTS 32
#if defined(__cplusplus) || defined(VKF_CACHES) || defined(VKF_DEALT_BLOCKS)
#define VKF_IS_BLOCK_TYPE(type) ((type) >= VKF_STORED_Q8_0 && (type) <= VKF_STORED_Q5_1)
#else /* shaders for k and v of plain types leave the code for others out */
#define VKF_IS_BLOCK_TYPE(type) false
#endif
#define VKF_BLOCK_HAS_MINIMUM(type) ((type) == VKF_STORED_Q4_1 || (type) == VKF_STORED_Q5_1)
#define VKF_BLOCK_HAS_FIFTH_BITS(type) ((type) == VKF_STORED_Q5_0 || (type) == VKF_STORED_Q5_1)
#define VKF_BLOCK_FIFTH_BITS_AT(type) (VKF_BLOCK_HAS_MINIMUM(type) ? 4 : 2)
#define VKF_BLOCK_CODES_AT(type) (VKF_BLOCK_FIFTH_BITS_AT(type) + (VKF_BLOCK_HAS_FIFTH_BITS(type) ? 4 : 0))
#define VKF_BLOCK_CODE_BYTES(type) ((type) == VKF_STORED_Q8_0 ? 32 : 16)
#define VKF_BLOCK_BYTES(type) (VKF_BLOCK_CODES_AT(type) + VKF_BLOCK_CODE_BYTES(type))

/* Specialization constants. The first group is the tile of the kernels in plain arithmetic, the second the
 * problem. */
#define VKF_ID_WORKGROUP_SIZE 0
#define VKF_ID_LANES 1           /* invocations that share a query row, a power of two */
#define VKF_ID_THREAD_ROWS 2     /* query rows an invocation owns */
#define VKF_ID_THREAD_KEYS 3     /* keys of a tile an invocation owns */
#define VKF_ID_THREAD_COLUMNS 4  /* columns of o an invocation owns, in fours */
#define VKF_ID_CHUNK_DIM 5       /* columns of q and k staged at once, in fours */
#define VKF_ID_CHUNK_KEYS 6      /* rows of v staged at once: lanes times a divisor of thread keys */
#define VKF_ID_HEAD_DIM 7
#define VKF_ID_VALUE_DIM 8
#define VKF_ID_TYPE_Q 9
#define VKF_ID_TYPE_K 10
#define VKF_ID_TYPE_V 11
#define VKF_ID_TYPE_O 12
#define VKF_ID_WINDOW 13         /* bool: a window or causal mask */
#define VKF_ID_TOP_LEFT 14       /* bool */
#define VKF_ID_KEY_LENGTHS 15    /* bool */
#define VKF_ID_SOFTCAP 16        /* bool */
#define VKF_ID_LSE 17            /* bool */
#define VKF_ID_STRIDE_SHIFT 18
/* The third group is the tile of the cooperative-matrix kernel and how the device lays a matrix out over a
 * subgroup; the first group's workgroup size and lanes (here: of a subgroup) hold for it too. */
#define VKF_ID_MATRIX_ROWS 19    /* rows of the score matrices */
#define VKF_ID_MATRIX_DEPTH 20   /* the depth of a product */
#define VKF_ID_ROW_TILES 21      /* matrices one below the other that a subgroup owns */
#define VKF_ID_KEY_TILES 22      /* matrices side by side in a tile of keys */
#define VKF_ID_SLOT_ELEMENTS 23  /* consecutive elements of an invocation that lie in one row */
#define VKF_ID_COLUMN_LANES 24   /* bits of the lane number that choose a column, not a row */
#define VKF_ID_ELEMENT_BASIS 25  /* place of element 1, 2, 4, 8 of lane 0: row | column << 4, a byte each */
#define VKF_ID_LANE_BASIS 26     /* place of element 0 of lane 1, 2, 4, 8, alike */
#define VKF_ID_LANE_BASIS_HIGH 27 /* of lane 16, 32 */
#define VKF_ID_WHOLE_WORDS 28    /* bool: rows of q, k and v are whole words of 16 bytes, and start on them */
#define VKF_ID_SPLITS 29         /* workgroups that share the keys of a row tile, each with a part of them */
#define VKF_ID_OUTPUT_WORDS 30   /* bool: rows of o are whole words of 16 bytes, of fp32 or the type of v, and leave as such */
#define VKF_ID_MATRIX_COLUMNS 31 /* columns of the score matrices; the depth where a matrix stays in registers */
#define VKF_ID_LOCKSTEP 32       /* bool: a subgroup runs in lockstep and needs no barriers of its own */
#define VKF_ID_MERGE_GROUPS 33   /* groups of lanes that share the parts of a row, in the merge */
#define VKF_ID_ROW_SUBGROUPS 34  /* subgroups of the decode kernel with rows of their own; the others share keys */
/* The fourth group is the block mask. */
#define VKF_ID_MASK_BLOCK 35     /* rows and keys of a block; 0 = no block mask */
#define VKF_ID_MASK_BATCH_STRIDE 36 /* words from one sequence's mask to the next */
#define VKF_ID_MASK_HEAD_STRIDE 37
#define VKF_ID_WINDOW_LEFT 38    /* of a call with an address in the window's place */
#define VKF_ID_WINDOW_RIGHT 39
/* The fifth group is of the unfused path. */
#define VKF_ID_ROW_WORDS 40      /* words of four scores that an invocation of the softmax keeps of its row */
#define VKF_ID_READER_ROWS 41    /* query rows of the tiles in which the pass after the softmax reads P */
#define VKF_ID_WEIGHTS 42        /* bool: probabilities are an output too */
/* The sixth is of path key_outer. */
#define VKF_ID_KEY_OUTER 43      /* bool: a workgroup takes one tile of keys; m, l and o are loaded and stored */
#define VKF_ID_SEQUENCES 44
/* The seventh is of pages. */
#define VKF_ID_PAGE_ROWS 45      /* rows of a page, a power of two; 0 = no pages */
#define VKF_ID_MAX_PAGES 46      /* entries of the block table for a sequence */
/* The eighth is of block types in the decode kernel on cooperative matrices. */
#define VKF_ID_BLOCK_UNIT 47     /* words of 4 bytes that are loaded at once */
/* Query heads of a KV head whose rows are packed into one tile; 1 = each head has tiles of its own. */
#define VKF_ID_PACKED_HEADS 48
/* The ninth is of what a call brings beside its tensors. */
#define VKF_ID_WINDOW_PLACE 49   /* what stands in the place of the window: VKF_PLACE_* */
#define VKF_ID_SINKS 50          /* bool */
#define VKF_ID_ALIBI 51          /* VKF_ALIBI_* */
#define VKF_ID_BIAS 52           /* type of the bias, VKF_STORED_* plus 1; 0 = no bias */
#define VKF_ID_MASK 53           /* bits of an element of the boolean mask, 8 or 1; 0 = no mask */
#define VKF_ID_DOCUMENTS 54      /* bool */
#define VKF_ID_FIRST_KEYS 55     /* beside the window */
#define VKF_ID_FIRST_KEYS_CAUSAL 56 /* bool: a row does not see those after its own */
/* The tenth is of packed sequences. */
#define VKF_ID_PACKED 57         /* bool */
/* The eleventh is of dropout. */
#define VKF_ID_DROPOUT 59        /* VKF_DROPOUT_* */
#define VKF_ID_DROPOUT_THRESHOLD 60 /* of the generator: keys with smaller numbers are left out */
#define VKF_ID_DROPOUT_SCALE 61  /* float: 1 / (1 - probability) */
/* The twelfth is of weights made from lse. */
#define VKF_ID_WEIGHT_ROWS 64    /* bool: a list in memory says of which rows */
/* A map of the tiles that masks leave open, of which VKF_MAP_*. */
#define VKF_ID_TILE_MAP 66
#define VKF_ID_BIAS_FIRST 67    /* bool: path coopmat adds products to the bias */
#define VKF_ID_GROUP_HEADS 68   /* heads, of all sequences and splits, whose row tiles take turns */
#define VKF_ID_COUNT 69

#define VKF_PLACE_WINDOW 0
#define VKF_PLACE_ADDRESS 1 /* of the only thing that the call brings */
#define VKF_PLACE_TABLE 2   /* the address of a CallTable */

#define VKF_MAP_NONE 0
#define VKF_MAP_SHARED 1  /* by all heads */
#define VKF_MAP_BY_HEAD 2 /* each tile of heads has one of its own */

#define VKF_ALIBI_NONE 0
#define VKF_ALIBI_USUAL 1
#define VKF_ALIBI_CUSTOM 2 /* slopes from memory */

/* What decides which probabilities stay out of o. */
#define VKF_DROPOUT_NONE 0
#define VKF_DROPOUT_SEED 1        /* the generator, its seed in the call's table */
#define VKF_DROPOUT_DEVICE_SEED 2 /* likewise, the table having the seed's address */
#define VKF_DROPOUT_BYTES 3       /* a mask */
#define VKF_DROPOUT_BITS 4

/* Parts that an invocation of the merge has in flight at once. */
#define VKF_MERGED_AT_ONCE 8

/* Shared memory of the tiled kernels, in 16-byte words. Rows of q, k and p are padded by one word, so
 * that lanes reading neighbouring rows hit different banks. Macros, because GLSL takes no function
 * calls in the size of an array. */
#define VKF_STAGED_ROW_WORDS(chunk_dim4) ((chunk_dim4) + 1)
#define VKF_P_ROW_WORDS(chunk_keys) ((chunk_keys) / 4 + 1)
#define VKF_Q_WORDS(tile_rows, chunk_dim4) ((tile_rows) * VKF_STAGED_ROW_WORDS(chunk_dim4))
#define VKF_K_WORDS(tile_keys, chunk_dim4) ((tile_keys) * VKF_STAGED_ROW_WORDS(chunk_dim4))
#define VKF_V_WORDS(chunk_keys, value_dim4) ((chunk_keys) * (value_dim4))
#define VKF_MAX_WORDS(a, b) ((a) > (b) ? (a) : (b))
#define VKF_P_WORDS(tile_rows, chunk_keys) ((tile_rows) * VKF_P_ROW_WORDS(chunk_keys))

/* Shared memory of the cooperative-matrix kernel, in 16-byte words of eight elements. Rows are padded by
 * one word, so that the rows of a matrix start in different banks. */
#define VKF_MATRIX_TILES(dim, depth) (((dim) + (depth) - 1) / (depth))
#define VKF_MATRIX_ROW_WORDS(tiles, depth) ((tiles) * (depth) / 8 + 1)
#define VKF_MATRIX_KV_WORDS(keys, depth, columns, head_dim, value_dim)                                           \
    ((keys) * (VKF_MATRIX_ROW_WORDS(VKF_MATRIX_TILES(head_dim, depth), depth) +                                  \
               VKF_MATRIX_ROW_WORDS(VKF_MATRIX_TILES(value_dim, columns), columns)))
/* Of one subgroup, in the place of k and v: some depths of q on their way in, or two fp32 matrices of o on
 * their way out. */
#define VKF_MATRIX_STAGED_TILES 4
#define VKF_MATRIX_STAGE_WORDS(matrix_rows, depth, columns)                                                      \
    VKF_MAX_WORDS((matrix_rows) * VKF_MATRIX_ROW_WORDS(VKF_MATRIX_STAGED_TILES, depth), (matrix_rows) * (columns) / 2)
/* Of one subgroup, beside all others, where scores and probabilities pass through shared memory: a row of
 * matrices with its scores in fp32; its probabilities in 16 bits take less. Padded by two words, because
 * subgroups store and load half rows of fp32. */
#define VKF_MATRIX_EXCHANGE_ROW_WORDS(keys) ((keys) / 4 + 2)
#define VKF_MATRIX_EXCHANGE_WORDS(matrix_rows, keys) ((matrix_rows) * VKF_MATRIX_EXCHANGE_ROW_WORDS(keys))

/* Words of 16 bytes in which the decode kernels load rows of k and v: fours of elements in one, and words in a
 * row. Of block types a word is a piece of a block (block_types.glsl), which takes fewer bytes in memory. */
#define VKF_WORD_QUADS(type)                                                                                     \
    ((type) == VKF_STORED_F32 ? 1 : VKF_IS_BLOCK_TYPE(type) && (type) != VKF_STORED_Q8_0 ? 4 : 2)
#define VKF_ROW_WORDS(dim, type) (((dim) + 4 * VKF_WORD_QUADS(type) - 1) / (4 * VKF_WORD_QUADS(type)))
#define VKF_LANE_WORDS(dim, type, lanes) ((VKF_ROW_WORDS(dim, type) + (lanes) - 1) / (lanes))
/* Shared memory of the decode kernel in plain arithmetic, in 16-byte words: q as fp32, and one row of o of
 * each group of lanes. */
#define VKF_DECODE_Q_WORDS(rows, head_dim, type, lanes)                                                          \
    ((rows) * VKF_LANE_WORDS(head_dim, type, lanes) * (lanes) * VKF_WORD_QUADS(type))
#define VKF_DECODE_O_WORDS(workgroup_size, value_dim, type, lanes)                                               \
    ((workgroup_size) * VKF_LANE_WORDS(value_dim, type, lanes) * VKF_WORD_QUADS(type))

/* Rows of block types in the decode kernel on cooperative matrices (decode_blocks.glsl). `lanes` invocations load a row
 * together; so many of them share a block, in chunks of its codes, that each has as many chunks as the others. */
#define VKF_DEALS_BLOCKS(dim, lanes) ((dim) / 8 % (lanes) == 0)
#define VKF_VALUE_SHARES(dim, lanes) ((dim) / 16 % (lanes) == 0 ? 2 : 4)
#define VKF_KEY_SHARES(dim, lanes) ((dim) / 32 % (lanes) == 0 ? 1 : VKF_VALUE_SHARES(dim, lanes))
#define VKF_LANE_CHUNKS(dim, lanes, shares) ((dim) / VKF_BLOCK_ELEMENTS * (shares) / (lanes))
/* In words of 4 bytes: a chunk's codes, what a load takes, what is in front of the codes, and all that is loaded. */
#define VKF_CHUNK_WORDS(type, shares) (VKF_BLOCK_CODE_BYTES(type) / 4 / (shares))
#define VKF_CHUNK_UNIT(type, shares, unit) (VKF_CHUNK_WORDS(type, shares) < (unit) ? 1 : (unit))
#define VKF_EIGHT_WORDS(type) ((type) == VKF_STORED_Q8_0 ? 2 : 1) /* of the codes of eight elements */
#define VKF_HEADER_WORDS(type) (VKF_BLOCK_HAS_FIFTH_BITS(type) ? 2 : 1)
#define VKF_FETCHED_WORDS(type, shares, unit)                                                                    \
    (VKF_HEADER_WORDS(type) + VKF_CHUNK_WORDS(type, shares) + VKF_CHUNK_UNIT(type, shares, unit))

/* Of the decode kernel on cooperative matrices: pairs of columns from one staged row of o to the next, padded so that
 * neighbouring rows lie in other banks. */
#define VKF_DECODE_STAGED_ROW(columns) ((columns) / 2 + 1)
/* Query rows that an invocation of it keeps the state of, at most: each is code of its own. */
#define VKF_DECODE_MOST_STATES 4
/* Of the decode kernel for wide heads: matrices of `side` rows or columns that each of some subgroups takes of a dimension,
 * and 16-byte words from row to row of the tile that k and v share, an odd number. */
#define VKF_WIDE_TILES(dim, side, subgroups) ((VKF_MATRIX_TILES(dim, side) + (subgroups) - 1) / (subgroups))
#define VKF_WIDE_ROW_WORDS(head_dim, value_dim, side, depth_subgroups, subgroups)                                \
    VKF_MATRIX_ROW_WORDS(VKF_MAX_WORDS(VKF_WIDE_TILES(head_dim, side, depth_subgroups) * (depth_subgroups),      \
                                       VKF_WIDE_TILES(value_dim, side, subgroups) * (subgroups)), side)
/* Shared memory of one product of the unfused path on cooperative matrices, in 16-byte words: a step of a and one
 * of b, rows padded by one word as above, and in their place a matrix of each subgroup on its way out. */
#define VKF_PRODUCT_WORDS(a_rows, a_words, b_rows, b_words)                                                      \
    ((a_rows) * ((a_words) + 1) + (b_rows) * ((b_words) + 1))
#define VKF_PRODUCT_OUTPUT_WORDS(subgroups, matrix_rows, matrix_columns)                                         \
    ((subgroups) * (matrix_rows) * (matrix_columns) / 4)

#ifdef __cplusplus
static_assert(sizeof(AttentionParams) == 128);
static_assert(offsetof(AttentionParams, row_stride) == 48);
static_assert(offsetof(AttentionParams, query_rows) == 96);
static_assert(offsetof(AttentionParams, first_item) == 124);
} // namespace vkf::shared
#endif

#endif
