// SPDX-License-Identifier: MIT
#include "support/program_checks.hpp"

#include <algorithm>
#include <optional>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

namespace vkf::test {

void needDevice() {
    static const std::optional<std::string> reason = []() -> std::optional<std::string> {
        const ProgramResult info = Workplace().run("info --json");
        const auto document = nlohmann::json::parse(info.out, nullptr, false);
        if (document.is_object()) {
            for (const auto& device : document["devices"]) {
                if (device["usable"]) {
                    return std::nullopt;
                }
            }
        }
        return "no usable Vulkan device: " + info.err;
    }();
    if (reason) {
        SKIP(*reason);
    }
}

bool isOneLine(const std::string& text) { return text.size() > 1 && text.find('\n') == text.size() - 1; }

void checkRefusal(const Workplace& place, const Refusal& test, int status) {
    INFO("vkflash " << test.arguments);
    const std::vector<std::string> before = place.files();
    const ProgramResult result = place.run(test.arguments);
    INFO("stderr: " << result.err);
    CHECK(result.status == status);
    CHECK(result.out.empty());
    CHECK(isOneLine(result.err));
    CHECK(result.err.starts_with("vkflash: "));
    size_t begin = 0;
    while (begin <= test.words.size()) {
        const size_t end = std::min(test.words.find('|', begin), test.words.size());
        CHECK_THAT(result.err, Catch::Matchers::ContainsSubstring(test.words.substr(begin, end - begin)));
        begin = end + 1;
    }
    CHECK(place.files() == before);
}

void checkRefusals(const Workplace& place, const std::vector<Refusal>& tests) {
    for (const Refusal& test : tests) {
        checkRefusal(place, test);
    }
}

} // namespace vkf::test
