// SPDX-License-Identifier: MIT
//
// A program that compiles functions of its own with the installed library.
#include <vkflash/functions.hpp>

#include <cstdio>
#include <cstring>

int main() {
    const vkf::functions::Functions functions =
        vkf::functions::compile({"bool keep(Position at) { return at.key % 2 == 0; }", "even.glsl", {}});
    const bool keeps = vkfGetFunctionSet(functions.handle()) == VKF_FUNCTION_KEEP;
    try {
        vkf::functions::compile({"bool keep(Position at) { return x; }", "wrong.glsl", {}});
    } catch (const vkf::functions::Error& error) {
        std::puts(error.what());
        return keeps && std::strcmp(error.what(), "wrong.glsl:1: 'x' : undeclared identifier") == 0 ? 0 : 1;
    }
    return 1;
}
