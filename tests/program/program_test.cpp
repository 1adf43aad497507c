// SPDX-License-Identifier: MIT
//
// The program's results from outside: status 0 only if all requested results are written and right.
// program_refusal_test.cpp has the refusals.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "support/program.hpp"
#include "support/program_checks.hpp"
#include "support/program_files.hpp"
#include "tensors/tensor_file.hpp"

namespace fs = std::filesystem;
using namespace vkf::test;
using namespace vkf::tools;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("run computes, verifies and writes every kind of problem", "[program][gpu]") {
    needDevice();
    const Workplace place;
    writeUsual(place);
    writeNpy(place, "q16.npy", ElementType::f16, {3, 7, 40}, 1);
    writeNpy(place, "k16.npy", ElementType::f16, {1, 11, 40}, 2);
    writeNpy(place, "v16.npy", ElementType::f16, {1, 11, 9}, 3);
    writeNpy(place, "q1.npy", ElementType::f32, {5, 1}, 1);
    writeNpy(place, "k1.npy", ElementType::f32, {6, 1}, 2);
    writeLengths(place, "lengths.npy", {33, 0});
    writeNpy(place, "heads.npy", ElementType::f32, {6}, 4);
    std::vector<int32_t> documents(33);
    for (size_t i = 0; i < documents.size(); ++i) {
        documents[i] = static_cast<int32_t>(i / 9);
    }
    writeLengths(place, "documents.npy", documents);
    writeNpy(place, "bias.npy", ElementType::f16, {2, 1, 17, 33}, 5);
    Tensor mask{ElementType::u8, {17, 33}, std::vector<std::byte>(size_t{17} * 33)};
    for (size_t i = 0; i < mask.bytes.size(); ++i) {
        mask.bytes[i] = static_cast<std::byte>(i % 5);
    }
    place.write("mask.npy", npyOf(mask));
    mask.shape = {17, 11};
    mask.bytes.resize(size_t{17} * 11);
    place.write("last.npy", npyOf(mask));
    writeNpy(place, "qp.npy", ElementType::f32, {17, 6, 24}, 1);
    writeNpy(place, "kp.npy", ElementType::f32, {33, 2, 24}, 2);
    writeNpy(place, "vp.npy", ElementType::f32, {33, 2, 8}, 3);
    writeNpy(place, "qh.npy", ElementType::f32, {1, 6, 17, 24}, 1);
    writeNpy(place, "kh.npy", ElementType::f32, {1, 2, 33, 24}, 2);
    writeLengths(place, "rows.npy", {0, 3, 3, 17});
    writeLengths(place, "keys.npy", {0, 9, 20, 33});
    writeLengths(place, "used.npy", {5, 11, 2});
    writeNpy(place, "bias3.npy", ElementType::f32, {3, 1, 14, 13}, 5);
    const std::string lengths = " --cu-seqlens-q rows.npy --cu-seqlens-k keys.npy";
    const std::string packed = "run --q qp.npy --k kp.npy --v vp.npy -o o.npy" + lengths;
    const std::string rank3 = "run --q q16.npy --k k16.npy --v v16.npy -o o.npy";
    struct Case {
        std::string arguments;
        ElementType type;
        Shape shape;
    };
    const Shape whole = {2, 6, 17, 24};
    const std::vector<Case> cases = {
        {usual, ElementType::f32, whole},
        {usual + " --causal --lengths lengths.npy --lse lse.npy", ElementType::f32, whole},
        {usual + " --causal top-left --alibi --sinks heads.npy --lse lse.npy", ElementType::f32, whole},
        {usual + " --window 4,2 --softcap 5 --scale 0.3", ElementType::f32, whole},
        {usual + " --causal --row-positions 40,2 --key-positions 3 --alibi --lse lse.npy", ElementType::f32, whole},
        {usual + " --window 9,4 --row-offsets lengths.npy --key-positions 0,3", ElementType::f32, whole},
        {usual + " --causal --row-offsets lengths.npy", ElementType::f32, whole},
        {usual + " --window -1,2 --alignment top-left --bias bias.npy --mask mask.npy", ElementType::f32, whole},
        {usual + " --mask last.npy --mask-keys last --lengths lengths.npy --split-keys 8", ElementType::f32, whole},
        {usual + " --documents documents.npy --window 9,-1 --first-keys 3 --bias bias.npy --bias-factors heads.npy",
         ElementType::f32, whole},
        {usual + " --dropout 0.25 --seed 18446744073709551615 --alibi-slopes heads.npy --causal --lse lse.npy",
         ElementType::f32, whole},
        {usual + " --dropout 0.5 --dropout-mask mask.npy --path standard", ElementType::f32, whole},
        {usual + " --path scalar --precision fp32 --output-type f16", ElementType::f16, whole},
        {rank3 + " --causal bottom-right", ElementType::f16, {3, 7, 9}},
        {rank3 + " --output-type f32", ElementType::f32, {3, 7, 9}},
        {"run --q q1.npy --k k1.npy --v k1.npy -o o.npy", ElementType::f32, {5, 1}},
        {packed + " --causal --lse lse.npy", ElementType::f32, {17, 6, 8}},
        {packed + " --bias bias3.npy --documents documents.npy --lengths used.npy", ElementType::f32, {17, 6, 8}},
        {"run --q qh.npy --k kh.npy --v kh.npy -o o.npy" + lengths, ElementType::f32, {1, 6, 17, 24}},
    };
    for (const Case& test : cases) {
        fs::remove(place / "o.npy");
        fs::remove(place / "lse.npy");
        const ProgramResult result = place.run(test.arguments + " --verify");
        INFO("vkflash " << test.arguments << "\n" << result.out << result.err);
        CHECK(result.status == 0);
        CHECK(result.err.empty());
        CHECK_THAT(result.out, ContainsSubstring("bound"));
        REQUIRE(fs::exists(place / "o.npy"));
        const Tensor o = loadNpy(place / "o.npy");
        CHECK(o.type == test.type);
        CHECK(o.shape == test.shape);
        CHECK(fs::exists(place / "lse.npy") == (test.arguments.find("--lse") != std::string::npos));
    }
}

TEST_CASE("a sequence of length zero gives zeros and an lse of minus infinity", "[program][gpu]") {
    needDevice();
    const Workplace place;
    writeUsual(place);
    writeLengths(place, "lengths.npy", {33, 0});
    REQUIRE(place.run(usual + " --lengths lengths.npy --lse lse.npy").status == 0);
    const Tensor o = loadNpy(place / "o.npy");
    const Tensor lse = loadNpy(place / "lse.npy");
    REQUIRE(lse.shape == Shape{2, 6, 17});
    for (size_t i = 0; i < size_t{6} * 17; ++i) {
        CHECK(std::isfinite(element(lse, i)));
        CHECK(element(lse, size_t{6} * 17 + i) == -INFINITY);
        CHECK(element(o, (size_t{6} * 17 + i) * 24) == 0.0);
    }
}

TEST_CASE("run writes the probabilities of the unfused path", "[program][gpu]") {
    needDevice();
    const Workplace place;
    writeUsual(place);
    const ProgramResult result =
        place.run(usual + " --path standard --causal --lse lse.npy --probabilities weights.npy --verify");
    INFO(result.out << result.err);
    REQUIRE(result.status == 0);
    CHECK_THAT(result.out, ContainsSubstring("\nprobabilities error "));
    const Tensor probabilities = loadNpy(place / "weights.npy");
    REQUIRE(probabilities.shape == Shape{2, 6, 17, 33});
    CHECK(probabilities.type == ElementType::f32);
    for (size_t row = 0; row < size_t{2} * 6 * 17; row++) {
        double sum = 0;
        for (size_t key = 0; key < 33; key++) {
            sum += element(probabilities, row * 33 + key);
        }
        CHECK(std::abs(sum - 1.0) < 1e-5);
        CHECK((element(probabilities, row * 33 + 32) != 0.0) ==
              (row % 17 == 16)); // only the last row sees the last key
    }
    CHECK(fs::exists(place / "lse.npy"));
}

TEST_CASE("run writes the probabilities of chosen rows on any path", "[program][gpu]") {
    needDevice();
    const Workplace place;
    writeUsual(place);
    writeLengths(place, "rows.npy", {16, 2, -1, 16, 17});
    for (const std::string path : {"scalar", "standard", "key_outer"}) {
        const ProgramResult result = place.run(fmt::format(
            "{} --path {} --causal --probabilities weights.npy --probability-rows rows.npy --verify", usual, path));
        INFO(result.out << result.err);
        REQUIRE(result.status == 0);
        CHECK_THAT(result.out, ContainsSubstring("\nprobabilities error "));
        const Tensor probabilities = loadNpy(place / "weights.npy");
        REQUIRE(probabilities.shape == Shape{2, 6, 5, 33});
        for (size_t row = 0; row < size_t{2} * 6 * 5; row++) {
            double sum = 0;
            for (size_t key = 0; key < 33; key++) {
                sum += element(probabilities, row * 33 + key);
            }
            const bool exists = row % 5 != 2 && row % 5 != 4;
            CHECK(std::abs(sum - (exists ? 1.0 : 0.0)) < 1e-5);
            CHECK((element(probabilities, row * 33 + 32) != 0.0) ==
                  (row % 5 % 3 == 0)); // only row 16 sees the last key
        }
    }
}

TEST_CASE("a tensor without elements gives an output without elements", "[program][gpu]") {
    needDevice();
    const Workplace place;
    writeNpy(place, "q.npy", ElementType::f32, {1, 2, 0, 8}, 1);
    writeNpy(place, "k.npy", ElementType::f32, {1, 2, 5, 8}, 2);
    writeNpy(place, "v.npy", ElementType::f32, {1, 2, 5, 8}, 3);
    const ProgramResult result = place.run(usual + " --lse lse.npy --verify");
    INFO(result.err);
    REQUIRE(result.status == 0);
    CHECK(loadNpy(place / "o.npy").shape == Shape{1, 2, 0, 8});
    CHECK(loadNpy(place / "lse.npy").shape == Shape{1, 2, 0});
}

TEST_CASE("no keys give an output of zeros", "[program][gpu]") {
    needDevice();
    const Workplace place;
    writeNpy(place, "q.npy", ElementType::f32, {1, 2, 3, 8}, 1);
    writeNpy(place, "k.npy", ElementType::f32, {1, 2, 0, 8}, 2);
    writeNpy(place, "v.npy", ElementType::f32, {1, 2, 0, 8}, 3);
    const ProgramResult result = place.run(usual + " --lse lse.npy --verify");
    INFO(result.err);
    REQUIRE(result.status == 0);
    const Tensor o = loadNpy(place / "o.npy");
    CHECK(std::all_of(o.bytes.begin(), o.bytes.end(), [](std::byte b) { return b == std::byte{0}; }));
    CHECK(element(loadNpy(place / "lse.npy"), 0) == -INFINITY);
}

TEST_CASE("bf16 goes in and out through safetensors, o and lse in one file", "[program][gpu]") {
    needDevice();
    const Workplace place;
    writeSafetensors(place, "in.safetensors", ElementType::bf16, {{1, 4, 9, 16}, {1, 2, 13, 16}, {1, 2, 13, 16}});
    const ProgramResult result =
        place.run("run --tensors in.safetensors -o out.safetensors --lse out.safetensors --causal --verify");
    INFO(result.out << result.err);
    REQUIRE(result.status == 0);
    const std::vector<std::string> names = {"o", "lse"};
    const std::vector<Tensor> tensors = loadSafetensors(place / "out.safetensors", names);
    CHECK(tensors[0].type == ElementType::bf16);
    CHECK(tensors[0].shape == Shape{1, 4, 9, 16});
    CHECK(tensors[1].type == ElementType::f32);
    CHECK(tensors[1].shape == Shape{1, 4, 9});
    CHECK(place.files() == std::vector<std::string>{"in.safetensors", "out.safetensors"});
}

TEST_CASE("a repeated run writes the same bytes over the old output", "[program][gpu]") {
    needDevice();
    const Workplace place;
    writeUsual(place, ElementType::f16);
    place.write("o.npy", "something else");
    REQUIRE(place.run(usual + " --causal").status == 0);
    const std::string first = place.read("o.npy");
    REQUIRE(place.run(usual + " --causal").status == 0);
    CHECK(first == place.read("o.npy"));
    CHECK(place.files() == std::vector<std::string>{"k.npy", "o.npy", "q.npy", "v.npy"});
}

TEST_CASE("a closed pipe on stdout is an error and not a crash", "[program]") {
    const Workplace place;
    const ProgramResult result = place.run("--help", {.closedPipe = true});
    CHECK(result.status == 1);
    CHECK(isOneLine(result.err));
    CHECK_THAT(result.err, ContainsSubstring("standard output"));
}

TEST_CASE("help and version are answers, not errors", "[program]") {
    const Workplace place;
    for (const std::string arguments : {"--help", "run --help", "--version"}) {
        INFO(arguments);
        const ProgramResult result = place.run(arguments);
        CHECK(result.status == 0);
        CHECK_FALSE(result.out.empty());
        CHECK(result.err.empty());
    }
}

TEST_CASE("info lists devices with their paths, for people and for programs", "[program][gpu]") {
    needDevice();
    const Workplace place;
    const ProgramResult text = place.run("info");
    CHECK(text.status == 0);
    CHECK_THAT(text.out, ContainsSubstring("scalar"));
    const nlohmann::json document = nlohmann::json::parse(place.run("info --json").out);
    REQUIRE_FALSE(document["devices"].empty());
    CHECK_FALSE(document["shaders"].empty());
    for (const auto& device : document["devices"]) {
        INFO(device.dump());
        CHECK(device["name"].is_string());
        if (!device["usable"]) {
            CHECK_FALSE(device["reason"].get<std::string>().empty());
            continue;
        }
        for (const auto& path : device["paths"]) {
            CHECK(path["available"] == !path.contains("reason"));
        }
        CHECK(device["paths"][0]["name"] == "scalar");
        CHECK(device["paths"][0]["available"] == true);
        // If path coopmat runs, info names its matrices.
        CHECK(device["paths"][2]["name"] == "coopmat");
        CHECK(device["paths"][2]["available"] == !device["matrices"].empty());
        for (const auto& matrices : device["matrices"]) {
            CHECK(matrices["rows"] >= 8);
            CHECK(matrices["layoutKnown"].is_boolean());
        }
    }
}

TEST_CASE("plan says what would be done", "[program][gpu]") {
    needDevice();
    const Workplace place;
    const std::string shape = "plan --batch 2 --heads 8 --kv-heads 2 --rows 100 --keys 120 --dim 64 --type f16";
    CHECK_THAT(place.run(shape + " --path scalar").out, ContainsSubstring("scalar"));
    const auto scalar = nlohmann::json::parse(place.run(shape + " --path scalar --json").out);
    CHECK(scalar["path"] == "scalar");
    CHECK(scalar["operations"] == 4.0 * 2 * 8 * 100 * 120 * 64);
    CHECK(scalar["scratchBytes"] == 0); // too few keys to split
    const auto standard = nlohmann::json::parse(place.run(shape + " --path standard --json").out);
    CHECK(standard["path"] == "standard");
    CHECK(standard["scratchBytes"].get<uint64_t>() >= uint64_t{2} * 8 * 100 * 120 * 4);
}

TEST_CASE("verify accepts random problems with every mask", "[program][gpu]") {
    needDevice();
    const Workplace place;
    for (const std::string flags : {"", "--causal --lse", "--window 5,5 --random-lengths --seed 3",
                                    "--path standard --softcap 3", "--type bf16"}) {
        const ProgramResult result = place.run("verify --heads 2 --rows 37 --keys 53 --dim 40 " + flags);
        INFO(flags << "\n" << result.out << result.err);
        CHECK(result.status == 0);
        CHECK_THAT(result.out, ContainsSubstring("right"));
    }
}

TEST_CASE("run keeps keys and values in pages and in block types", "[program][gpu]") {
    needDevice();
    const Workplace place;
    writeNpy(place, "q.npy", ElementType::f16, {2, 4, 3, 32}, 1);
    writeNpy(place, "k.npy", ElementType::f16, {2, 2, 50, 32}, 2);
    writeNpy(place, "v.npy", ElementType::f16, {2, 2, 50, 64}, 3);
    const auto run = [&](const std::string& flags) {
        const ProgramResult result = place.run("run --q q.npy --k k.npy --v v.npy --causal --verify -o o.npy " + flags);
        INFO(flags << "\n" << result.out << result.err);
        CHECK(result.status == 0);
        return result.out;
    };
    run("--precision fp32"); // plain arithmetic, as for pages
    const std::string plain = place.read("o.npy");
    CHECK_THAT(run("--precision fp32 --page-size 4"), ContainsSubstring("pages of 4"));
    CHECK((place.read("o.npy") == plain)); // to the last bit
    CHECK_THAT(run("--kv-type q4_1"), ContainsSubstring("f16,q4_1,q4_1->f16"));
    CHECK((place.read("o.npy") != plain));
    CHECK_THAT(run("--kv-type q8_0 --v-type q5_0 --page-size 16"), ContainsSubstring("f16,q8_0,q5_0->f16"));

    const ProgramResult random = place.run(
        "verify --batch 2 --heads 2 --rows 3 --keys 53 --dim 64 --k-type q5_1 --page-size 8 --random-lengths --lse");
    INFO(random.out << random.err);
    CHECK(random.status == 0);
    CHECK_THAT(random.out, ContainsSubstring("right"));
}

TEST_CASE("demo checks its results and compares with the unfused path", "[program][gpu]") {
    needDevice();
    const Workplace place;
    const ProgramResult result = place.run({"demo", "--samples", VKFLASH_SAMPLES_DIR});
    INFO(result.out << result.err);
    CHECK(result.status == 0);
    CHECK_THAT(result.out, ContainsSubstring(": right"));
    CHECK_THAT(result.out, ContainsSubstring("three passes"));
    const ProgramResult absent = place.run("demo --samples absent");
    CHECK(absent.status == 2);
    CHECK_THAT(absent.err, ContainsSubstring("absent/q.npy"));
}

TEST_CASE("demo computes in fp32 on a device without 16-bit storage", "[program][gpu]") {
    needDevice();
    const Workplace place;
    const ProgramResult result = place.run({"demo", "--without-16-bit-storage", "--samples", VKFLASH_SAMPLES_DIR});
    INFO(result.out << result.err);
    CHECK(result.status == 0);
    CHECK(result.err.empty());
    CHECK_THAT(result.out, ContainsSubstring("The device has no 16-bit storage, so the demo computes in fp32."));
    CHECK_THAT(result.out, ContainsSubstring("Sample tensors") && ContainsSubstring("Generated tensors"));
    CHECK_THAT(result.out, ContainsSubstring(": right") && !ContainsSubstring("f16"));
    CHECK_THAT(result.out, ContainsSubstring("The unfused computation needs 16-bit storage"));
    CHECK_THAT(result.out, !ContainsSubstring("medians of"));
}
