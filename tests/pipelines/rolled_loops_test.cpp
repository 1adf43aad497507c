// SPDX-License-Identifier: MIT
#include <catch2/catch_test_macros.hpp>

#include "pipelines/rolled_loops.hpp"

TEST_CASE("a shader loses its hints to unroll and nothing else", "[planning]") {
    constexpr uint32_t loopMerge = 4 << 16 | 246;
    const std::vector<uint32_t> module = {
        0x07230203,     0x00010500, 0,  1,         0, // header
        loopMerge,      10,         11, 1,            // unroll
        loopMerge,      1,          1,  2,            // do not
        loopMerge,      1,          1,  0,            // no hint
        2 << 16 | 249U, 1,                            // a branch
        4 << 16 | 247U, 1,          1,  1,            // as long, but no loop
        5 << 16 | 246U, 1,          1,  1 | 0x100, 8, // with a second hint
    };
    std::vector<uint32_t> expected = module;
    expected[8] = 2;
    expected[expected.size() - 2] = 2 | 0x100;
    CHECK(vkf::withRolledLoops(module) == expected);
}
