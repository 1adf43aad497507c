// SPDX-License-Identifier: MIT
//
// The masks of examples/functions in C++.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "gallery/gallery.hpp"

namespace vkf::tools {
namespace {

using At = const VkfPosition*;
using Keep = int32_t (*)(At at, void* user);
using Arrays = std::vector<ExampleArray>;

VkfReferenceFunctions formula(Keep keep) {
    VkfReferenceFunctions functions{};
    functions.keep = keep;
    return functions;
}

bool isInside(At at) { return at->row >= 0 && at->row < at->keys; }

// Runs of keys with one number. The first run has the number 0.
std::vector<double> runs(ExampleGenerator& random) {
    std::vector<double> numbers;
    for (int32_t number = 0; numbers.size() < gallery::keys; number++)
        numbers.insert(numbers.end(), 5 + random() % 30, number);
    numbers.resize(gallery::keys);
    return numbers;
}

// Nonzero with a probability of 1 / n.
std::vector<double> flags(ExampleGenerator& random, size_t count, uint64_t n) {
    std::vector<double> values(count);
    for (double& value : values)
        value = random() % n == 0 ? static_cast<double>(1 + random() % 255) : 0.0;
    return values;
}

// The rows of the ancestors of a random tree.
std::vector<double> ancestors(ExampleGenerator& random, size_t nodes) {
    std::vector<double> matrix(nodes * nodes, 0.0);
    for (size_t node = 0; node < nodes; node++) {
        if (node != 0) {
            const size_t parent = random() % node;
            std::copy_n(matrix.begin() + static_cast<std::ptrdiff_t>(parent * nodes), nodes,
                        matrix.begin() + static_cast<std::ptrdiff_t>(node * nodes));
        }
        matrix[node * nodes + node] = 1.0;
    }
    return matrix;
}

using Pixel = std::array<int, 2>;

// Whether a key lies in the window of `kernel` around a row, in an image of width x height.
bool isNear(Pixel row, Pixel key, Pixel size, int kernel) {
    bool isNear = true;
    for (size_t axis = 0; axis < 2; axis++) {
        const int centre = std::clamp(row[axis], kernel / 2, size[axis] - 1 - kernel / 2);
        isNear = isNear && std::abs(centre - key[axis]) <= kernel / 2;
    }
    return isNear;
}

Pixel byRows(int i, int width) { return {i % width, i / width}; }

Pixel byTiles(int i) {
    const int tile = i / 9;
    return {tile % 4 * 3 + i % 3, tile / 4 * 3 + i % 9 / 3};
}

Pixel byMorton(int i) {
    Pixel pixel{};
    for (int bit = 0; bit < 16; bit++) {
        pixel[0] |= (i >> (2 * bit) & 1) << bit;
        pixel[1] |= (i >> (2 * bit + 1) & 1) << bit;
    }
    return pixel;
}

std::vector<Example> windowsAndDocuments() {
    return {
        {"masks/causal.glsl", {}, [](ExampleGenerator&) { return Arrays{}; }, formula([](At at, void*) -> int32_t {
             return at->key <= at->row;
         })},
        {"masks/sliding_window.glsl",
         {{"WINDOW", "20"}},
         [](ExampleGenerator&) { return Arrays{}; },
         formula(
             [](At at, void* user) -> int32_t { return at->key <= at->row && at->row - at->key <= number(user, 0); })},
        {"masks/dilated_window.glsl",
         {{"WINDOW", "40"}, {"DILATION", "3"}},
         [](ExampleGenerator&) { return Arrays{}; },
         formula([](At at, void* user) -> int32_t {
             const int distance = std::abs(at->row - at->key);
             return distance <= number(user, 0) && distance % number(user, 1) == 0;
         })},
        {"masks/global_window.glsl",
         {{"WINDOW", "9"}},
         [](ExampleGenerator& random) {
             return Arrays{{"isGlobal", VKF_ELEMENT_U8, flags(random, gallery::keys, 12)}};
         },
         formula([](At at, void* user) -> int32_t {
             return std::abs(at->row - at->key) <= 9 || read(user, 0, at->key) != 0 ||
                    (isInside(at) && read(user, 0, at->row) != 0);
         })},
        {"masks/prefix_lm.glsl",
         {{"PREFIX", "33"}},
         [](ExampleGenerator&) { return Arrays{}; },
         formula([](At at, void* user) -> int32_t { return at->key < number(user, 0) || at->key <= at->row; })},
        {"masks/shared_prefix.glsl",
         {},
         [](ExampleGenerator& random) {
             return Arrays{{"document", VKF_ELEMENT_I32, runs(random)}};
         },
         formula([](At at, void* user) -> int32_t {
             const double document = read(user, 0, at->key);
             return at->key <= at->row && (document == 0 || (isInside(at) && read(user, 0, at->row) == document));
         })},
        {"masks/document.glsl",
         {},
         [](ExampleGenerator& random) {
             return Arrays{{"document", VKF_ELEMENT_I32, runs(random)}};
         },
         formula([](At at, void* user) -> int32_t {
             return at->key <= at->row && isInside(at) && read(user, 0, at->row) == read(user, 0, at->key);
         })},
    };
}

std::vector<Example> imagesAndVideos() {
    return {
        {"masks/natten.glsl",
         {{"WIDTH", "13"}, {"HEIGHT", "10"}, {"KERNEL", "5"}},
         [](ExampleGenerator&) { return Arrays{}; },
         formula([](At at, void* user) -> int32_t {
             const int width = number(user, 0);
             return isNear(byRows(std::max(at->row, 0), width), byRows(at->key, width), {width, number(user, 1)},
                           number(user, 2));
         }),
         130,
         130},
        {"masks/natten_tiled.glsl",
         {{"WIDTH", "12"}, {"HEIGHT", "9"}, {"KERNEL", "7"}, {"TILE", "3"}},
         [](ExampleGenerator&) { return Arrays{}; },
         formula([](At at, void*) -> int32_t {
             return isNear(byTiles(std::max(at->row, 0)), byTiles(at->key), {12, 9}, 7);
         }),
         108,
         108},
        {"masks/natten_morton.glsl",
         {{"WIDTH", "16"}, {"HEIGHT", "8"}, {"KERNEL", "5"}},
         [](ExampleGenerator&) { return Arrays{}; },
         formula([](At at, void*) -> int32_t {
             return isNear(byMorton(std::max(at->row, 0)), byMorton(at->key), {16, 8}, 5);
         }),
         128,
         128},
        {"masks/vision_cross_attention.glsl",
         {{"IMAGE_TOKENS", "27"}},
         [](ExampleGenerator&) {
             return Arrays{{"interval", VKF_ELEMENT_I32, {0, 30, 7, 41, 20, 69, 60, 70, 35, 36}}};
         },
         formula([](At at, void* user) -> int32_t {
             const int text = at->row + at->rows - at->keys;
             return text >= read(user, 0, int64_t{at->key} / 27 * 2) &&
                    text < read(user, 0, int64_t{at->key} / 27 * 2 + 1);
         })},
        {"masks/sliding_tile_2d.glsl",
         {{"TILE", "5"}, {"TILES_X", "6"}, {"TILES_Y", "4"}},
         [](ExampleGenerator&) { return Arrays{}; },
         formula([](At at, void*) -> int32_t {
             const auto tileOf = [](int i) { return Pixel{i / 5 % 6, i / 5 / 6}; };
             return isNear(tileOf(std::max(at->row, 0)), tileOf(at->key), {6, 4}, 3);
         }),
         120,
         120},
        {"masks/sliding_tile_3d.glsl",
         {{"TILE", "3"}, {"TILES_X", "4"}, {"TILES_Y", "3"}, {"TILES_Z", "3"}, {"KERNEL_Y", "1"}},
         [](ExampleGenerator&) { return Arrays{}; },
         formula([](At at, void*) -> int32_t {
             const int row = std::max(at->row, 0) / 3;
             const int key = at->key / 3;
             const int rowY = std::min(row / 4 % 3, 2);
             return isNear({row % 4, row / 12}, {key % 4, key / 12}, {4, 3}, 3) && rowY == key / 4 % 3;
         }),
         108,
         108},
        {"masks/spatial_temporal_heads.glsl",
         {{"FRAME", "17"}},
         [](ExampleGenerator&) {
             return Arrays{{"isTemporal", VKF_ELEMENT_U8, {0, 9, 1, 0}}};
         },
         formula([](At at, void* user) -> int32_t {
             const int pixel = std::max(at->row, 0);
             const bool isTemporal = read(user, 0, at->head) != 0;
             return isTemporal ? pixel % 17 == at->key % 17 : pixel / 17 == at->key / 17;
         })},
    };
}

std::vector<Example> treesAndLists() {
    return {
        {"masks/tree.glsl",
         {{"NODES", "150"}},
         [](ExampleGenerator& random) {
             return Arrays{{"isAncestor", VKF_ELEMENT_U8, ancestors(random, gallery::rows)}};
         },
         formula([](At at, void* user) -> int32_t {
             const int cached = at->keys - at->rows;
             const int node = at->row - cached;
             return at->key < cached ||
                    (node >= 0 && node < at->rows && read(user, 0, node * gallery::rows + at->key - cached) != 0);
         })},
        {"masks/block_diffusion.glsl",
         {{"TEXT", "65"}, {"BLOCK", "8"}},
         [](ExampleGenerator&) { return Arrays{}; },
         formula([](At at, void*) -> int32_t {
             const int row = std::max(at->row, 0);
             const int rowBlock = row % 65 / 8;
             const int keyBlock = at->key % 65 / 8;
             const bool isRowClean = row >= 65;
             const bool isKeyClean = at->key >= 65;
             if (isRowClean && isKeyClean)
                 return keyBlock <= rowBlock;
             return isKeyClean ? keyBlock < rowBlock : !isRowClean && keyBlock == rowBlock;
         }),
         130,
         130},
        {"masks/top_k_tiles.glsl",
         {{"TILE", "16"}, {"TOP_K", "3"}},
         [](ExampleGenerator& random) {
             return Arrays{{"chosen", VKF_ELEMENT_I32, wholeValues(random, 27, 0, 8)}};
         },
         formula([](At at, void* user) -> int32_t {
             const int list = std::clamp(at->row, 0, at->keys - 1) / 16 * 3;
             const int tile = at->key / 16;
             return read(user, 0, list) == tile || read(user, 0, list + 1) == tile || read(user, 0, list + 2) == tile;
         })},
        {"masks/bit_packed.glsl",
         {{"WORDS", "5"}},
         [](ExampleGenerator& random) {
             return Arrays{{"words", VKF_ELEMENT_I32,
                            wholeValues(random, size_t{5} * gallery::rows, -2147483648LL, 2147483647LL)}};
         },
         formula([](At at, void* user) -> int32_t {
             const int row = std::clamp(at->row + at->rows - at->keys, 0, at->rows - 1);
             const auto word = static_cast<uint32_t>(readInt(user, 0, row * 5 + at->key / 32));
             return (word >> static_cast<uint32_t>(at->key % 32) & 1U) != 0;
         })},
    };
}

} // namespace

std::vector<Example> exampleMasks() {
    std::vector<Example> all;
    for (const std::vector<Example>& some : {windowsAndDocuments(), imagesAndVideos(), treesAndLists()})
        all.insert(all.end(), some.begin(), some.end());
    return all;
}

} // namespace vkf::tools
