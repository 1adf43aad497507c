// SPDX-License-Identifier: MIT
//
// Spatial encoding of Graphormer (arXiv 2106.05234): a bias by head and by the distance of two nodes in the graph.
// attention-gym: graphormer.
// Arrays: hops u8 [batch, NODES, NODES], bias f32 [heads, DISTANCES].

const int NODES = 128; // at least the number of keys
const int DISTANCES = 16;

float score(float s, Position at) {
    int node = clamp(at.row, 0, at.keys - 1);
    int distance = min(hops((at.batch * NODES + node) * NODES + at.key), DISTANCES - 1);
    return s + bias(at.head * DISTANCES + distance);
}

float scoreDerivative(float s, Position at) {
    return 1.0;
}
