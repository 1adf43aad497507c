// SPDX-License-Identifier: MIT
//
// Tensor maps, against words that cuTensorMapEncodeTiled of driver 580.159.04 wrote for the same tensors.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "pipelines/tensor_maps.hpp"

namespace {

using vkf::shared::TensorMap;

// A tensor of fp16, and its map for boxes of 64 columns and 32 keys.
struct Encoded {
    uint64_t address;
    uint32_t columns;
    uint32_t keys;
    std::array<uint64_t, 3> strides; // bytes, of key, head and sequence
    std::array<uint32_t, 10> words;  // 0 to 9
};

constexpr uint64_t at = 0x7f1234567800;
constexpr uint64_t bit36 = uint64_t{1} << 36;

constexpr std::array encoded = {
    Encoded{
        at, 256, 8192, {4096, 1 << 22, 1 << 25}, {0x34567800, 0x7f12, 0x6330, 256, 1 << 18, 1 << 21, 0, 0, 255, 8191}},
    Encoded{0xba9876543210,
            256,
            8192,
            {4096, 1 << 22, 1 << 25},
            {0x76543210, 0xba98, 0x6330, 256, 1 << 18, 1 << 21, 0, 0, 255, 8191}},
    Encoded{
        at, 200, 8192, {4096, 1 << 22, 1 << 25}, {0x34567800, 0x7f12, 0x6330, 256, 1 << 18, 1 << 21, 0, 0, 199, 8191}},
    Encoded{
        at, 256, 5000, {4096, 1 << 22, 1 << 25}, {0x34567800, 0x7f12, 0x6330, 256, 1 << 18, 1 << 21, 0, 0, 255, 4999}},
    Encoded{
        at, 256, 8192, {4112, 1 << 22, 1 << 25}, {0x34567800, 0x7f12, 0x6330, 257, 1 << 18, 1 << 21, 0, 0, 255, 8191}},
    Encoded{at, 256, 8192, {4096, 5 * bit36 + 80, 16}, {0x34567800, 0x7f12, 0x6330, 256, 5, 1, 0, 0x50, 255, 8191}},
    Encoded{at, 256, 8192, {4096, 32, 8 * bit36 + 112}, {0x34567800, 0x7f12, 0x6330, 256, 2, 7, 0, 0x800, 255, 8191}},
    Encoded{at, 256, 8192, {4096, 0, 0}, {0x34567800, 0x7f12, 0x6330, 256, 0, 0, 0, 0, 255, 8191}},
};

} // namespace

TEST_CASE("a tensor map has the words that NVIDIA's encoder writes", "[pipelines]") {
    for (const Encoded& one : encoded) {
        const TensorMap map = vkf::tensorMap(one.address, one.columns, one.keys, one.strides, 32);
        for (size_t i = 0; i < one.words.size(); i++) {
            INFO("word " << i);
            CHECK(map.words[i] == one.words[i]);
        }
        CHECK(map.words[10] == 0xffff);
        CHECK(map.words[11] == 0x7fffffff);
        CHECK(map.words[13] == 0x3f000000);
        CHECK(map.words[14] == 0x1f);
        CHECK(map.words[16] == 0x1000);
        CHECK(map.words[18] == 0x400);
        for (size_t i = 12; i < std::size(map.words); i++) {
            const bool used = i == 13 || i == 14 || i == 16 || i == 18;
            CHECK((used || map.words[i] == 0));
        }
    }
    const TensorMap map = vkf::tensorMap(0x10, 256, 8192, {4096, 16, 16}, 16);
    CHECK(map.words[14] == 0xf);
    CHECK(map.words[16] == 0x800);
}

TEST_CASE("the maps of a launch have its tensors, their dimensions and strides", "[pipelines]") {
    vkf::shared::CallParams params{};
    vkf::shared::WgmmaConstants constants{};
    params.tensor[VKF_K] = 0x7f1234567800;
    params.tensor[VKF_V] = 0x7f7654321000;
    params.keys = 5000;
    params.row_stride[VKF_K] = 4112;
    params.row_stride[VKF_V] = 512;
    params.head_stride[VKF_K] = 3;
    params.head_stride[VKF_V] = 5;
    params.batch_stride[VKF_K] = 0xffffffff;
    constants.stride_shift = 8;
    constants.head_dim = 200;
    constants.value_dim = 136;
    const vkf::shared::WgmmaMaps maps = vkf::tensorMapsOf(params, constants);
    const TensorMap k = vkf::tensorMap(0x7f1234567800, 200, 5000, {4112, 3 << 8, uint64_t{0xffffffff} << 8}, 32);
    const TensorMap v = vkf::tensorMap(0x7f7654321000, 136, 5000, {512, 5 << 8, 0}, 16);
    CHECK(std::equal(std::begin(maps.k.words), std::end(maps.k.words), std::begin(k.words)));
    CHECK(std::equal(std::begin(maps.v.words), std::end(maps.v.words), std::begin(v.words)));
}
