// SPDX-License-Identifier: MIT
//
// Tree of draft tokens, for speculative decoding. The rows are the nodes, which are the last keys, too. A node sees the
// cache before the tree, and its ancestors. attention-gym: jetspec.
// Arrays: isAncestor u8 [NODES, NODES], nonzero = the node of the column is an ancestor of that of the row, or itself.

const int NODES = 64; // at least the number of rows

bool keep(Position at) {
    int cached = at.keys - at.rows;
    int node = at.row - cached;
    int ancestor = at.key - cached;
    bool isNode = node >= 0 && node < at.rows;
    return ancestor < 0 || isNode && isAncestor(node * NODES + ancestor) != 0;
}
