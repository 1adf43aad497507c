// SPDX-License-Identifier: MIT
//
// Catch2's program, which also fails after validation messages.
#include <catch2/catch_session.hpp>

#include "fake_ggml.hpp"

int main(int argc, char** argv) {
    const int result = Catch::Session().run(argc, argv);
    return result != 0 ? result : static_cast<int>(vkf::test::FakeInstance::messages() != 0);
}
