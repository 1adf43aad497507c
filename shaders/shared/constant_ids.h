/* SPDX-License-Identifier: MIT
 *
 * Ids of the specialization constants of the kernels of an attention call, by the kernels that own them. The merge of
 * key splits has its own ids (merge_params.h). An id has one meaning in all kernels that declare it. A new meaning gets
 * the next number, wherever it stands here. */
#ifndef VKF_CONSTANT_IDS_H
#define VKF_CONSTANT_IDS_H

/* Every kernel. */
#define VKF_ID_WORKGROUP_SIZE 0 /* invocations of a workgroup */

/* All kernels of attention: the tensors. If a kernel does not use a constant, the host may set it to 0. Plans that
 * differ only there then share a pipeline. */
#define VKF_ID_HEAD_DIM 1  /* columns of q and k */
#define VKF_ID_VALUE_DIM 2 /* columns of v and o */
#define VKF_ID_TYPE_Q 3    /* types of stored elements, VKF_STORED_* */
#define VKF_ID_TYPE_K 4
#define VKF_ID_TYPE_V 5
#define VKF_ID_TYPE_O 6       /* type in which the kernel writes o: fp32 for a partial result */
#define VKF_ID_STRIDE_SHIFT 7 /* bits by which head and batch strides are shifted right */
#define VKF_ID_SEQUENCES 8    /* number of sequences; path key_outer needs it to count work items */

/* All kernels of attention: scores and outputs. */
#define VKF_ID_SOFTCAP 9            /* bool */
#define VKF_ID_SINKS 10             /* bool */
#define VKF_ID_ALIBI 11             /* VKF_ALIBI_* */
#define VKF_ID_BIAS 12              /* type of the bias, VKF_STORED_* plus 1; 0 = no bias */
#define VKF_ID_BIAS_FACTORS 77      /* bool: a factor for each query head multiplies the bias */
#define VKF_ID_BROADCAST_REPEATS 79 /* bool: heads or sequences of a bias, mask or dropout mask repeat by modulo */
#define VKF_ID_DROPOUT 13           /* VKF_DROPOUT_* */
#define VKF_ID_DROPOUT_THRESHOLD 14 /* the generator drops a key if its number is smaller */
#define VKF_ID_DROPOUT_SCALE 15     /* float: 1 / (1 - probability) */
#define VKF_ID_KV_SCALES 117        /* VKF_SCALES_* of k, plus 4 times that of v: numbers that multiply k and v */
#define VKF_ID_LSE 16               /* bool: the kernel writes lse; for partial results, m and l */

/* All kernels of attention: masks. */
#define VKF_ID_WINDOW 17             /* bool: a window or a causal mask */
#define VKF_ID_TOP_LEFT 18           /* bool: the position of row 0 is key 0 */
#define VKF_ID_POSITIONS 112         /* VKF_POSITIONS_*: whether the call says where rows and keys stand */
#define VKF_ID_ROW_STRIDE 113        /* from the position of a row to that of the next one; 1 without positions */
#define VKF_ID_KEY_STRIDE 114        /* from the position of a key to that of the next one; 1 without positions */
#define VKF_ID_FIRST_KEYS 19         /* first keys that rows see in addition to the window */
#define VKF_ID_FIRST_KEYS_CAUSAL 20  /* bool: a row sees no first key after its own position */
#define VKF_ID_KEY_LENGTHS 21        /* bool */
#define VKF_ID_MASK 22               /* bits of an element of the boolean mask, 8 or 1; 0 = no mask */
#define VKF_ID_MASK_OF_LAST_KEYS 116 /* bool: columns of the boolean mask are the last keys of each sequence */
#define VKF_ID_DOCUMENTS 23          /* bool */
#define VKF_ID_MASK_BLOCK 24         /* rows and keys of a block of the block mask; 0 = no block mask */
#define VKF_ID_MASK_BATCH_STRIDE 25  /* uint32 words from the block mask of one sequence to the next */
#define VKF_ID_MASK_HEAD_STRIDE 26   /* uint32 words from the block mask of one head to the next */
#define VKF_ID_TILE_MAP 27           /* whether there is a map of empty and full tiles: VKF_MAP_* */
#define VKF_ID_CHOSEN_KEYS 118       /* entries of a list of chosen keys; 0 = no lists */
#define VKF_ID_LIST_DIMENSIONS 119   /* dimensions that lists of chosen keys have: VKF_LISTS_* */
#define VKF_ID_ROW_CLASS 78 /* which tiles of rows the kernel takes, if the map looks at the bias: VKF_ROWS_* */

/* All kernels of attention: packed sequences and pages. */
#define VKF_ID_PACKED_SEQUENCES 28  /* bool */
#define VKF_ID_PAGE_ROWS 29         /* rows of a page; 0 = no pages */
#define VKF_ID_MAX_PAGES 30         /* entries of the block table for a sequence */
#define VKF_ID_PAGES 31             /* pages that k and v have */
#define VKF_ID_PAGES_ARE_COPIED 120 /* bool: k and v are dense copies. The block table only says which keys exist. */

/* All kernels of attention: optional inputs. */
#define VKF_ID_EXTRA_SLOT 32   /* what the push constants have in the extra slot: VKF_EXTRA_SLOT_HAS_* */
#define VKF_ID_WINDOW_LEFT 33  /* left reach of the window, if the slot has an address */
#define VKF_ID_WINDOW_RIGHT 34 /* right reach of the window, if the slot has an address */

/* All kernels of attention: work items. */
#define VKF_ID_PACKED_HEADS 35      /* query heads of a KV head whose rows share a tile; 1 = no head shares one */
#define VKF_ID_INTERLEAVED_HEADS 36 /* heads, of all sequences and splits, whose row tiles take turns */
#define VKF_ID_KEY_SPLITS 37        /* workgroups that share the keys of a row tile */
#define VKF_ID_SPLIT_TILES 115      /* least tiles of keys of a key split (splitTiles); 0 = an even share of them */
#define VKF_ID_MAP_ROW_TILES 80     /* tiles of rows of the attention kernel in a tile of rows of the map */

/* All kernels on cooperative matrices: sizes, and the element layout of the device. */
#define VKF_ID_SUBGROUP_LANES 45        /* invocations of a subgroup */
#define VKF_ID_MATRIX_ROWS 46           /* rows of the score matrices */
#define VKF_ID_MATRIX_DEPTH 47          /* the depth of a product */
#define VKF_ID_MATRIX_COLUMNS 48        /* columns of the score matrices; the depth if matrices stay in registers */
#define VKF_ID_FRAGMENT_ROW_ELEMENTS 49 /* consecutive elements of an invocation that lie in one row */
#define VKF_ID_COLUMN_LANES 50          /* bits of the lane number that choose a column, not a row */
#define VKF_ID_ELEMENT_BASIS 51         /* position of element 1, 2, 4, 8 of lane 0: row | column << 4, a byte each */
#define VKF_ID_LANE_BASIS 52            /* position of element 0 of lane 1, 2, 4, 8, in the same form */
#define VKF_ID_LANE_BASIS_HIGH 53       /* position of element 0 of lane 16, 32, in the same form */
#define VKF_ID_LOCKSTEP 54              /* bool: a subgroup runs in lockstep and needs no barriers of its own */

/* Tiles of several folders. */
#define VKF_ID_WHOLE_WORDS 57  /* bool: rows of q, k and v are complete words of 16 bytes, at multiples of 16 */
#define VKF_ID_ROW_MATRICES 55 /* matrices of query rows that a subgroup owns */

/* scalar: the tile of path scalar, and of the kernels that include its files. */
#define VKF_ID_ROW_LANES 39      /* invocations that share a query row, a power of two */
#define VKF_ID_THREAD_ROWS 40    /* query rows that an invocation owns */
#define VKF_ID_THREAD_KEYS 41    /* keys of a tile that an invocation owns */
#define VKF_ID_THREAD_COLUMNS 42 /* columns of o that an invocation owns, in fours */
#define VKF_ID_CHUNK_DIM 43      /* columns of the factors of scores staged at once, in fours */
#define VKF_ID_CHUNK_KEYS 44     /* rows of v staged at once: lanes times a divisor of thread keys */
#define VKF_ID_KEY_OUTER 38      /* bool: a workgroup takes one tile of keys; m, l and o are loaded and stored */

/* coopmat. */
#define VKF_ID_KEY_MATRICES 56     /* number of matrices side by side in a tile of keys */
#define VKF_ID_OUTPUT_WORDS 58     /* bool: rows of o, of fp32 or q's type, may be stored as words of 16 bytes */
#define VKF_ID_SHARED_Q_SLICES 111 /* slices of q that lie in shared memory, not in registers */
#define VKF_ID_PARTS_ARE_BF16 108  /* bool: parts are bf16; else fp16 */

/* decode. */
#define VKF_ID_KEY_LANES 59       /* invocations that share a key, a power of two */
#define VKF_ID_LANE_GROUP_ROWS 60 /* packed query rows of the tile; each lane group holds all of them */
#define VKF_ID_LANE_GROUP_KEYS 61 /* keys that a lane group holds at once */

/* decode_matrix. */
#define VKF_ID_ROW_SUBGROUPS 62    /* subgroups with their own rows; the others share keys */
#define VKF_ID_LANE_ROWS 63        /* rows of an invocation that may exist (decode_matrix/tile.glsl) */
#define VKF_ID_BLOCK_LOAD_WORDS 64 /* words of 4 bytes of a block type that are loaded at once */
#define VKF_ID_KEY_OFFSETS_32 109  /* bool: k and v of a head: 4 GiB each at most, in whole words, no pages */
#define VKF_ID_KEY_COLUMNS 110     /* columns of v that a matrix has of each key: 1 or 2 */

/* latent. */
#define VKF_ID_LATENT_KEY_MATRICES 65 /* matrices of keys in a tile, each VKF_ID_MATRIX_DEPTH keys */

/* standard: the unfused path. */
#define VKF_ID_STEP_DIM 66      /* columns of q and k in a step of a product on matrices, in fours */
#define VKF_ID_STEP_KEYS 67     /* keys in a step of such a product */
#define VKF_ID_TYPE_P 68        /* type of P between the passes, VKF_STORED_* */
#define VKF_ID_ROW_WORDS 69     /* words of four scores of a row that an invocation of the softmax keeps */
#define VKF_ID_READER_ROWS 70   /* query rows of a tile in which the pass after the softmax reads P */
#define VKF_ID_READER_KEYS 71   /* keys of a step in which that pass reads P */
#define VKF_ID_PROBABILITIES 72 /* bool: the softmax writes probabilities too */

/* Kernels that run before or after attention. */
#define VKF_ID_FINISH_LANES 73      /* finish_rows.comp: invocations that share a row of o, a power of two */
#define VKF_ID_MAP_TILE_ROWS 74     /* map of tiles: packed rows of a tile of the attention kernel */
#define VKF_ID_MAP_TILE_KEYS 75     /* map of tiles: keys of a tile of the attention kernel */
#define VKF_ID_CHOSEN_ROWS 76       /* bool: probabilities of the rows of a list in memory, not of all rows */
#define VKF_ID_DEQUANTIZED_KEYS 107 /* dequantize_keys.comp: keys that a workgroup converts */

/* backward: all paths (backward_params.h). */
#define VKF_ID_TYPE_DOUT 81 /* types of stored elements, VKF_STORED_* */
#define VKF_ID_TYPE_DQ 82
#define VKF_ID_TYPE_DK 83
#define VKF_ID_TYPE_DV 84
#define VKF_ID_TYPE_DBIAS 85
#define VKF_ID_DLSE 86          /* bool: lse has a gradient */
#define VKF_ID_STATE_LANES 87   /* backward_rows.comp: invocations that share a query row, a power of two */
#define VKF_ID_OWNER 88         /* what a workgroup owns: VKF_OWNS_* */
#define VKF_ID_WRITES_DK 89     /* bool: a workgroup that owns keys writes dk */
#define VKF_ID_WRITES_DV 90     /* bool: it writes dv */
#define VKF_ID_CELL_ROWS 121    /* rows of a tile of the map of tiles, which divides the tiles of all kernels */
#define VKF_ID_CELL_KEYS 122    /* its keys */
#define VKF_ID_READ_ROWS 123    /* list_tiles.comp: rows of the tiles that read stored ds or p; 0 = no tile reads */
#define VKF_ID_TILE_LISTS 124   /* where the lists of tiles of the kernel are (backward/map_and_lists.glsl) */
#define VKF_ID_LISTED_TILES 125 /* most tiles of such a list */

/* backward: the tile in plain arithmetic. */
#define VKF_ID_OWNED_LANES 91    /* invocations that share an owned row or key, a power of two */
#define VKF_ID_THREAD_OWNED 92   /* rows or keys of the tile that an invocation owns */
#define VKF_ID_THREAD_VISITED 93 /* keys or rows of the visited tile that an invocation pairs with them */
#define VKF_ID_CHUNK_VISITED 94  /* visited rows or keys staged at once for a sum: a multiple of the lanes */

/* backward_coopmat: the tile on cooperative matrices. */
#define VKF_ID_OWNED_MATRICES 95  /* matrices of rows or keys that a subgroup owns */
#define VKF_ID_VISITED_STEPS 96   /* steps of a visited tile; a step fills the depth and the columns of a matrix */
#define VKF_ID_TWO_STAGES 97      /* bool: shared memory has two visited tiles */
#define VKF_ID_DEPTH_SUBGROUPS 98 /* subgroups that share owned rows or keys, and divide the columns of all tensors */

/* backward_coopmat: bands of keys, whose ds or p and ds lie in scratch memory (backward/bands.glsl). */
#define VKF_ID_BAND_TILES 99        /* tiles of keys in a band; 0 = ds is not stored */
#define VKF_ID_BAND_HEADS 100       /* KV heads whose bands are computed at the same time; a divisor of all of them */
#define VKF_ID_BAND_TILE_ROWS 101   /* rows of a tile of the kernel that stores ds */
#define VKF_ID_BAND_TILE_KEYS 102   /* keys of such a tile */
#define VKF_ID_BAND_SHARED_ROWS 106 /* rows that two tiles of keys share in a band (stored_matrices.glsl) */
#define VKF_ID_STORES_P 103         /* bool: p is stored too, and other kernels make all sums */
#define VKF_ID_PAIRS_BY_LANE 104    /* bool: stored pairs lie as operands hold them (stored_matrices.glsl) */
#define VKF_ID_FALLBACK 105         /* bool: the kernel does nothing unless the table asks for a fallback */

#define VKF_ID_COUNT 126

/* The contents of the extra slot of the push constants. */
#define VKF_EXTRA_SLOT_HAS_WINDOW 0
#define VKF_EXTRA_SLOT_HAS_ADDRESS 1 /* the address of the only optional input (call_table.h) */
#define VKF_EXTRA_SLOT_HAS_TABLE 2   /* the address of a CallTable */
/* The address of a bias, the only optional input. Its rows follow each other, as long as the call has keys; all heads
 * and sequences have the same. */
#define VKF_EXTRA_SLOT_HAS_BIAS 3
/* The address of dense lists of chosen keys, the only optional input. */
#define VKF_EXTRA_SLOT_HAS_CHOSEN_KEYS 4
/* The address of a boolean mask of the last keys, the only optional input. Each sequence has a dense square of as many
 * rows and columns as the call has rows; all heads have the same. */
#define VKF_EXTRA_SLOT_HAS_MASK 5

/* Dimensions of lists of chosen keys, as bits. Rows whose lists differ share no tile. The other bits say where dense
 * lists lie that have no table. */
#define VKF_LISTS_BY_ROW 1
#define VKF_LISTS_BY_HEAD 2
#define VKF_LISTS_BY_SEQUENCE 4

#define VKF_MAP_NONE 0
#define VKF_MAP_SHARED 1  /* all heads share a map */
#define VKF_MAP_BY_HEAD 2 /* each head, or each group of packed heads, has its own map */
#define VKF_MAP_OF_ALL 3  /* all heads of all sequences share a map; only for kernels with functions */

/* A map that looks at the bias divides the tiles of rows into classes. Each class has an attention phase.
 * order_tiles.comp has the largest class of the schedule as its VKF_ID_ROW_CLASS. */
#define VKF_ROWS_ALL 0       /* the map does not look at the bias, and one phase takes all tiles of rows */
#define VKF_ROWS_BIASED 1    /* each tile of keys adds the bias */
#define VKF_ROWS_BIAS_MASK 2 /* the bias is a mask, of 0 and -infinity, and most tiles of keys have a bias of 0 */
#define VKF_ROWS_DENSE 3     /* each tile of keys adds the bias, and nearly none is empty. The kernel skips none. */

/* Where the offset of rows stands, in a call with positions of its own (call_table.h). */
#define VKF_POSITIONS_NONE 0
#define VKF_POSITIONS_FIXED 1
#define VKF_POSITIONS_BY_SEQUENCE 2

/* How many numbers multiply k, or v. */
#define VKF_SCALES_NONE 0
#define VKF_SCALES_ONE 1
#define VKF_SCALES_BY_HEAD 2 /* one for each KV head */

#define VKF_ALIBI_NONE 0
#define VKF_ALIBI_STANDARD 1
#define VKF_ALIBI_CUSTOM 2 /* slopes from memory */

/* How dropout chooses the probabilities that stay out of o. */
#define VKF_DROPOUT_NONE 0
#define VKF_DROPOUT_SEED 1        /* the generator; the table has its seed */
#define VKF_DROPOUT_DEVICE_SEED 2 /* the generator; the table has the address of its seed */
#define VKF_DROPOUT_BYTES 3       /* a mask, a byte for each pair */
#define VKF_DROPOUT_BITS 4        /* a mask, a bit for each pair */

#endif
