// SPDX-License-Identifier: MIT
//
// The table of a backward call, and the addresses of the gradients.
#ifndef VKF_BACKWARD_TABLE_GLSL
#define VKF_BACKWARD_TABLE_GLSL

#include "common/item.glsl"
#include "shared/backward_params.h"

layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer BackwardTableAt {
    BackwardTable table;
};

#define VKF_BACKWARD_TABLE BackwardTableAt(optionalInputs()).table

layout(buffer_reference, std430, buffer_reference_align = 8) buffer ChangedTableAt {
    BackwardTable table;
};

// The one member that kernels change.
#define VKF_WANTS_FALLBACK ChangedTableAt(optionalInputs()).table.wants_fallback

// lse of a row that contributes nothing and gets no gradient, in the state of the rows. 2^(s - PLUS_INFINITY) is 0.
#define PLUS_INFINITY uintBitsToFloat(0x7f800000u)

// The rows of a head of a tensor that the kernel writes, from some row on. Stores might change the table, so a loop
// that stores would load the table again in each iteration. Kernels read this before such loops.
struct BackwardRows {
    uvec2 address; // of the first row
    uvec2 stride;  // bytes from row to row
};

// All packed sequences lie in sequence 0.
BackwardRows backwardRows(const BackwardTensor tensor, const uint sequence, const uint head, const uint first) {
    uvec2 address = add64(tensor.address, multiply64(sequence, tensor.batch_stride));
    address = add64(address, multiply64(head, tensor.head_stride));
    return BackwardRows(add64(address, multiply64(first, tensor.row_stride)), tensor.row_stride);
}

uvec2 backwardRow(const BackwardRows rows, const uint row) {
    return add64(rows.address, multiply64(row, rows.stride));
}

// The item of a sequence, without head and tile.
Item itemOfSequence(const uint sequence) {
    Item item;
    item.batch = sequence;
    item.head = 0;
    item.kv_head = 0;
    item.split = 0;
    item.partial_result = PACKED_SEQUENCES ? 0 : sequence;
    item.row_begin = 0;
    if (PACKED_SEQUENCES) {
        setSequence(item);
    } else {
        item.rows = params.query_rows;
        item.first_row = 0;
        item.first_key = 0;
        item.keys = keysOf(sequence);
    }
    item.offset = offsetOf(item);
    return item;
}

#endif
