// SPDX-License-Identifier: MIT
#include "support/program_checks.hpp"

#include <algorithm>
#include <optional>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "support/device.hpp"

namespace vkf::test {

void needDevice() {
    skipWithoutSwiftShader();
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
    INFO(place.program() << " " << test.arguments);
    const std::vector<std::string> before = place.files();
    const ProgramResult result = place.run(test.arguments);
    INFO("stderr: " << result.err);
    CHECK(result.status == status);
    CHECK(result.out.empty());
    CHECK(isOneLine(result.err));
    CHECK(result.err.starts_with(place.program() + ": "));
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

std::pair<ProgramResult, nlohmann::json> benchReport(const Workplace& place, const std::string& arguments) {
    const std::string command = (place.program() == "vkflash" ? "bench " : "") + arguments;
    INFO(place.program() << " " << command);
    ProgramResult result = place.run(command + " --json b.json --commit abc");
    INFO(result.out << result.err);
    REQUIRE(result.status == 0);
    CHECK(result.err.empty());
    nlohmann::json json = nlohmann::json::parse(place.read("b.json"));
    CHECK(json["commit"] == "abc");
    for (const char* name : {"program", "bench", "date", "device", "driver", "commandLine"}) {
        INFO(name);
        CHECK(json[name].is_string());
    }
    return {std::move(result), std::move(json)};
}

nlohmann::json peer(const std::string& name, const nlohmann::json& changed) {
    nlohmann::json result = {{"name", name},    {"batch", 1},        {"queryHeads", 2}, {"kvHeads", 2},
                             {"queryRows", 64}, {"keys", 64},        {"headDim", 32},   {"type", "f16"},
                             {"causal", false}, {"backward", false}, {"teraflops", 1}};
    result.update(changed);
    return result;
}

std::string peerFile(const std::string& device, const nlohmann::json& results) {
    // C++ makes one result of a list in braces that has one result.
    const nlohmann::json list = results.is_array() ? results : nlohmann::json::array({results});
    return nlohmann::json{{"format", "imaginary"}, {"device", device}, {"results", list}}.dump();
}

void checkTimed(const nlohmann::json& result) {
    INFO(result.dump());
    CHECK(result["medianSeconds"].get<double>() >= result["leastSeconds"].get<double>());
    CHECK(result["medianSeconds"].get<double>() > 0);
    CHECK(result["runs"].get<size_t>() > 0);
    CHECK(result.contains("clock_mhz") == result.contains("runs_left_out"));
    if (vkf::test::testDevice().summary().kind == vkf::host::DeviceKind::cpu) {
        CHECK_FALSE(result.contains("clock_mhz"));
    }
    CHECK(result["bufferSets"].get<size_t>() > 1); // small shapes take turns
    CHECK(result["error"].get<double>() <= result["bound"].get<double>());
    CHECK(result["teraflops"].get<double>() ==
          Catch::Approx(result["operations"].get<double>() / result["medianSeconds"].get<double>() * 1e-12));
}

} // namespace vkf::test
