// SPDX-License-Identifier: MIT
//
// Edge encoding of Graphormer (arXiv 2106.05234): the mean of a weight for each edge on the shortest path of two nodes.
// attention-gym: graphormer.
// Arrays: edge i32 [batch, NODES, NODES, PATH], the types of the edges, -1 behind the last one;
// weight f16 [heads, PATH, TYPES].

const int NODES = 64; // at least the number of keys
const int PATH = 4;
const int TYPES = 8;

float score(float s, Position at) {
    int path = ((at.batch * NODES + clamp(at.row, 0, at.keys - 1)) * NODES + at.key) * PATH;
    float sum = 0.0;
    int edges = 0;
    while (edges < PATH && edge(path + edges) >= 0) {
        sum += weight((at.head * PATH + edges) * TYPES + edge(path + edges));
        edges++;
    }
    return s + sum / float(max(edges, 1));
}

float scoreDerivative(float s, Position at) {
    return 1.0;
}
