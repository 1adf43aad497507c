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
    CHECK(vkf::withLoops(vkf::Loops::rolled, module) == expected);
}

TEST_CASE("loops of plain arithmetic are rolled, and those that use memory through addresses are not", "[planning]") {
    constexpr uint32_t label = 2 << 16 | 248;
    constexpr uint32_t loopMerge = 4 << 16 | 246;
    constexpr uint32_t access = 5 << 16 | 65;
    constexpr uint32_t function = 5 << 16 | 54;
    constexpr uint32_t call = 4 << 16 | 57;
    constexpr uint32_t toMemory = 7;
    constexpr uint32_t toOther = 8;
    const std::vector<uint32_t> module = {
        0x07230203,    0x00010500, 0,    1,  0,  // header
        4U << 16 | 32, toMemory,   5349, 1,      // a type of pointers to memory
        4U << 16 | 32, toOther,    4,    1,      // and one to shared memory
        function,      1,          50,   0,  1,  // calls the one that uses memory
        label,         20,                       //
        loopMerge,     21,         22,   1,      // arithmetic
        access,        toOther,    30,   31, 32, //
        label,         22,                       //
        label,         21,                       //
        loopMerge,     23,         24,   1,      // calls the other function
        loopMerge,     25,         26,   1,      // arithmetic inside of it
        label,         25,                       //
        call,          1,          33,   51,     //
        label,         23,                       //
        function,      1,          51,   0,  1,  //
        loopMerge,     27,         28,   1,      // uses memory
        access,        toMemory,   34,   35, 36, //
        label,         27,
    };
    std::vector<uint32_t> expected = module;
    expected[23] = 2;
    expected[40] = 2;
    CHECK(vkf::withLoops(vkf::Loops::rolledArithmetic, module) == expected);
    CHECK(vkf::withLoops(vkf::Loops::asWritten, module) == module);
}
