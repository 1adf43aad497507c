// SPDX-License-Identifier: MIT
#include "model/gradient_traffic.hpp"

#include <cmath>

namespace vkf::tools {

namespace {

// Bytes of whole tensors. dq is as large as q, and so on.
struct Sizes {
    double q, k, v, o, lse;

    explicit Sizes(const TrafficShape& s)
        : q(s.heads * s.rows * s.dims.head * s.elementBytes), k(s.heads * s.keys * s.dims.head * s.elementBytes),
          v(s.heads * s.keys * s.dims.value * s.elementBytes), o(s.heads * s.rows * s.dims.value * s.elementBytes),
          lse(s.heads * s.rows * s.stateBytes) {}
};

} // namespace

Traffic storedBackwardTraffic(const TrafficShape& shape) {
    const Sizes size(shape);
    const double p = shape.heads * shape.rows * shape.keys * shape.probabilityBytes;
    const double s = shape.heads * shape.rows * shape.keys * shape.scoreBytes;
    return {{{"q", size.q, 0},
             {"k", size.k, 0},
             {"v", size.v, 0},
             {"dO", 2 * size.o, 0},
             {"P", 2 * p, 0},
             {"dP", s, s},
             {"dS", 2 * s, s},
             {"dq", 0, size.q},
             {"dk", 0, size.k},
             {"dv", 0, size.v}}};
}

Traffic keyOuterBackwardTraffic(const TrafficShape& shape, TileSize tile) {
    const Sizes size(shape);
    const double steps = std::ceil(shape.keys / tile.keys);
    return {{{"q", steps * size.q, 0},
             {"k", size.k, 0},
             {"v", size.v, 0},
             {"o", steps * size.o, 0},
             {"dO", steps * size.o, 0},
             {"lse", steps * size.lse, 0},
             {"dq", steps * size.q, steps * size.q},
             {"dk", 0, size.k},
             {"dv", 0, size.v}}};
}

Traffic ownedBackwardTraffic(const TrafficShape& shape, TileSize tile) {
    const Sizes size(shape);
    const double ofKeys = std::ceil(shape.keys / tile.keys);
    const double ofRows = std::ceil(shape.rows / tile.rows);
    return {{{"q", (ofKeys + 1) * size.q, 0},
             {"k", (1 + ofRows) * size.k, 0},
             {"v", (1 + ofRows) * size.v, 0},
             {"o", size.o, 0},
             {"dO", (1 + ofKeys + 1) * size.o, 0},
             {"lse, delta", size.lse + (ofKeys + 1) * 2 * size.lse, 2 * size.lse},
             {"dq", 0, size.q},
             {"dk", 0, size.k},
             {"dv", 0, size.v}}};
}

double leastBackwardBytes(const TrafficShape& shape) {
    const Sizes size(shape);
    return 2 * (size.q + size.k + size.v + size.o) + size.lse;
}

} // namespace vkf::tools
