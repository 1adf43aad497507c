// SPDX-License-Identifier: MIT
//
// Catch2's program, which also fails after validation messages.
#include <catch2/catch_session.hpp>

#include <cstdio>

#include "graph.hpp"

int main(int argc, char** argv) {
    const int result = Catch::Session().run(argc, argv);
    const int messages = vkf::test::validationMessages();
    if (messages != 0) {
        std::fprintf(stderr, "%d validation messages\n", messages);
    }
    return result != 0 ? result : static_cast<int>(messages != 0);
}
