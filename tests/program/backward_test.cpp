// SPDX-License-Identifier: MIT
//
// The program's backward pass from outside: `backward` on files and `verify --backward` on random tensors.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "support/program.hpp"
#include "support/program_checks.hpp"
#include "support/program_files.hpp"
#include "tensors/tensor_file.hpp"

namespace fs = std::filesystem;
using namespace vkf::test;
using namespace vkf::tools;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::string call = "backward --q q.npy --k k.npy --v v.npy --do do.npy";
const std::string all = " --dq dq.npy --dk dk.npy --dv dv.npy";

// The usual tensors with a gradient of o.
void writeUsualBackward(const Workplace& place, ElementType type = ElementType::f32) {
    writeUsual(place, type);
    writeNpy(place, "do.npy", type, {2, 6, 17, 24}, 4);
}

void checkDone(const Workplace& place, const std::string& arguments) {
    const ProgramResult result = place.run(arguments + " --verify");
    INFO("vkflash " << arguments << "\n" << result.out << result.err);
    REQUIRE(result.status == 0);
    CHECK(result.err.empty());
    CHECK_THAT(result.out, ContainsSubstring("bound"));
}

void checkFile(const Workplace& place, const std::string& name, ElementType type, const Shape& shape) {
    INFO(name);
    REQUIRE(fs::exists(place / name));
    const Tensor tensor = loadNpy(place / name);
    CHECK(tensor.type == type);
    CHECK(tensor.shape == shape);
    fs::remove(place / name);
}

} // namespace

TEST_CASE("backward computes, verifies and writes the gradients of every kind of problem", "[program_backward][gpu]") {
    needDevice();
    const Workplace place;
    writeUsualBackward(place);
    writeLengths(place, "lengths.npy", {33, 0});
    writeNpy(place, "heads.npy", ElementType::f32, {6}, 4);
    writeNpy(place, "bias.npy", ElementType::f16, {2, 1, 17, 33}, 5);
    writeNpy(place, "dlse.npy", ElementType::f32, {2, 6, 17}, 6);
    Tensor mask{ElementType::u8, {17, 33}, std::vector<std::byte>(size_t{17} * 33)};
    for (size_t i = 0; i < mask.bytes.size(); ++i) {
        mask.bytes[i] = static_cast<std::byte>(i % 5);
    }
    place.write("mask.npy", npyOf(mask));
    Tensor blocks{ElementType::u8, {2, 3}, std::vector<std::byte>(6, std::byte{1})};
    blocks.bytes[1] = blocks.bytes[3] = std::byte{0};
    place.write("blocks.npy", npyOf(blocks));
    std::vector<int32_t> documents(33);
    for (size_t i = 0; i < documents.size(); ++i) {
        documents[i] = static_cast<int32_t>(i / 9);
    }
    writeLengths(place, "documents.npy", documents);
    for (const std::string flags :
         {"--causal --dlse dlse.npy --lengths lengths.npy --alibi",
          "--window 4,2 --alignment top-left --softcap 5 --scale 0.3 --mask mask.npy --dropout 0.25 --seed 7",
          "--documents documents.npy --window 9,-1 --first-keys 3 --alibi-slopes heads.npy",
          "--block-mask blocks.npy --mask-block 16 --dropout 0.5 --dropout-mask mask.npy --path scalar"}) {
        std::string line = call;
        checkDone(place, line.append(all).append(" ").append(flags));
        checkFile(place, "dq.npy", ElementType::f32, {2, 6, 17, 24});
        checkFile(place, "dk.npy", ElementType::f32, {2, 2, 33, 24});
        checkFile(place, "dv.npy", ElementType::f32, {2, 2, 33, 24});
    }
    checkDone(place, call + all + " --bias bias.npy --bias-factors heads.npy --sinks heads.npy --dbias dbias.npy" +
                         " --dsinks dsinks.npy --output-type f32");
    checkFile(place, "dbias.npy", ElementType::f32, {2, 1, 17, 33});
    checkFile(place, "dsinks.npy", ElementType::f32, {6});
}

TEST_CASE("backward takes packed sequences", "[program_backward][gpu]") {
    needDevice();
    const Workplace place;
    writeNpy(place, "q.npy", ElementType::f32, {17, 6, 24}, 1);
    writeNpy(place, "k.npy", ElementType::f32, {33, 2, 24}, 2);
    writeNpy(place, "v.npy", ElementType::f32, {33, 2, 8}, 3);
    writeNpy(place, "do.npy", ElementType::f32, {17, 6, 8}, 4);
    writeNpy(place, "dlse.npy", ElementType::f32, {6, 17}, 5);
    writeNpy(place, "bias.npy", ElementType::f32, {3, 1, 14, 13}, 6);
    writeLengths(place, "rows.npy", {0, 3, 3, 17});
    writeLengths(place, "keys.npy", {0, 9, 20, 33});
    checkDone(place, call + all + " --cu-seqlens-q rows.npy --cu-seqlens-k keys.npy --causal --dlse dlse.npy" +
                         " --bias bias.npy --dbias dbias.npy");
    checkFile(place, "dq.npy", ElementType::f32, {17, 6, 24});
    checkFile(place, "dk.npy", ElementType::f32, {33, 2, 24});
    checkFile(place, "dv.npy", ElementType::f32, {33, 2, 8});
    checkFile(place, "dbias.npy", ElementType::f32, {3, 1, 14, 13});
}

TEST_CASE("backward takes a limit for the scratch memory that saves work", "[program_backward][matrices][gpu]") {
    needDevice();
    const Workplace place;
    writeUsualBackward(place, ElementType::f16);
    const std::string line = call + all + " --path coopmat --scratch ";
    const ProgramResult none = place.run(line + "0");
    if (none.status != 0) {
        REQUIRE_THAT(none.err, ContainsSubstring("--path coopmat"));
        SKIP("path coopmat does not run here: " << none.err);
    }
    const ProgramResult some = place.run(line + "8 --verify");
    INFO(some.out << some.err);
    REQUIRE(some.status == 0);
    // A kernel more adds up what the scratch memory holds.
    CHECK_THAT(none.out, ContainsSubstring(", 4 steps"));
    CHECK_THAT(some.out, ContainsSubstring(", 5 steps"));
    CHECK_THAT(place.run(line + "much").err, ContainsSubstring("--scratch"));
}

TEST_CASE("backward writes the same bytes from o and lse of run, and only what is asked for",
          "[program_backward][gpu]") {
    needDevice();
    const Workplace place;
    writeUsualBackward(place, ElementType::f16);
    REQUIRE(place.run(call + all + " --causal").status == 0);
    const std::string dq = place.read("dq.npy");
    CHECK(loadNpy(place / "dq.npy").type == ElementType::f16);
    REQUIRE(place.run(usual + " --lse lse.npy --causal").status == 0);
    checkDone(place, call + " --causal --o o.npy --lse lse.npy --dq dq2.npy");
    CHECK((place.read("dq2.npy") == dq));
    checkDone(place, call + " --causal --dv dv2.npy");
    CHECK((place.read("dv2.npy") == place.read("dv.npy")));
    fs::remove(place / "dv2.npy");
    CHECK(place.files() == std::vector<std::string>{"dk.npy", "do.npy", "dq.npy", "dq2.npy", "dv.npy", "k.npy",
                                                    "lse.npy", "o.npy", "q.npy", "v.npy"});
}

TEST_CASE("the gradient of lse changes the gradients", "[program_backward][gpu]") {
    needDevice();
    const Workplace place;
    writeUsualBackward(place);
    writeNpy(place, "dlse.npy", ElementType::f32, {2, 6, 17}, 6);
    checkDone(place, call + " --dq dq.npy --dk dk.npy");
    checkDone(place, call + " --dlse dlse.npy --dq dq2.npy --dk dk2.npy");
    CHECK((place.read("dq.npy") != place.read("dq2.npy")));
    CHECK((place.read("dk.npy") != place.read("dk2.npy")));
}

TEST_CASE("gradients of bf16 go in and out through safetensors", "[program_backward][gpu]") {
    needDevice();
    const Workplace place;
    writeSafetensors(place, "in.safetensors", ElementType::bf16, {{1, 4, 9, 16}, {1, 2, 13, 16}, {1, 2, 13, 16}});
    REQUIRE(place.run("run --tensors in.safetensors -o o.safetensors --lse o.safetensors").status == 0);
    // Any tensor of the shape of o will do as its gradient.
    REQUIRE(place.run("run --tensors in.safetensors -o do.npy --output-type f16 --causal").status == 0);
    checkDone(place, "backward --tensors in.safetensors --do do.npy --o o.safetensors --lse o.safetensors"
                     " --dq g.safetensors --dk g.safetensors --dv g.safetensors");
    const std::vector<std::string> names = {"dq", "dk", "dv"};
    const std::vector<Tensor> tensors = loadSafetensors(place / "g.safetensors", names);
    CHECK(tensors[0].type == ElementType::bf16);
    CHECK(tensors[0].shape == Shape{1, 4, 9, 16});
    CHECK(tensors[2].shape == Shape{1, 2, 13, 16});
    for (const Tensor& tensor : tensors) {
        CHECK(std::any_of(tensor.bytes.begin(), tensor.bytes.end(), [](std::byte b) { return b != std::byte{0}; }));
    }
}

TEST_CASE("backward without rows or keys writes zeros", "[program_backward][gpu]") {
    needDevice();
    const Workplace place;
    writeNpy(place, "q.npy", ElementType::f32, {1, 2, 0, 8}, 1);
    writeNpy(place, "k.npy", ElementType::f32, {1, 2, 5, 8}, 2);
    writeNpy(place, "v.npy", ElementType::f32, {1, 2, 5, 8}, 3);
    writeNpy(place, "do.npy", ElementType::f32, {1, 2, 0, 8}, 4);
    checkDone(place, call + all);
    const Tensor dk = loadNpy(place / "dk.npy");
    CHECK(dk.shape == Shape{1, 2, 5, 8});
    CHECK(std::all_of(dk.bytes.begin(), dk.bytes.end(), [](std::byte b) { return b == std::byte{0}; }));
    CHECK(loadNpy(place / "dq.npy").shape == Shape{1, 2, 0, 8});
}

TEST_CASE("backward takes lse as it is given: a row of -infinity gives and takes nothing", "[program_backward][gpu]") {
    needDevice();
    const Workplace place;
    writeUsualBackward(place);
    REQUIRE(place.run(usual + " --lse lse.npy --causal").status == 0);
    // An lse of -infinity means that the row sees no key.
    Tensor lse = loadNpy(place / "lse.npy");
    const float none = -INFINITY;
    std::memcpy(lse.bytes.data(), &none, sizeof none);
    place.write("lse.npy", npyOf(lse));
    checkDone(place, call + " --causal --o o.npy --lse lse.npy --dq dq.npy");
    const Tensor dq = loadNpy(place / "dq.npy");
    for (size_t i = 0; i < 24; ++i) {
        CHECK(element(dq, i) == 0.0);
        CHECK(element(dq, 24 + i) != 0.0);
    }
}

TEST_CASE("backward refuses what does not fit by flag and file", "[program_backward]") {
    const Workplace place;
    writeUsualBackward(place);
    writeNpy(place, "short.npy", ElementType::f32, {2, 6, 16, 24}, 4);
    writeNpy(place, "lse.npy", ElementType::f32, {2, 6, 17}, 4);
    writeNpy(place, "lse16.npy", ElementType::f16, {2, 6, 17}, 4);
    writeNpy(place, "heads.npy", ElementType::f32, {6}, 4);
    writeLengths(place, "rows.npy", {1, 2});
    writeSafetensors(place, "all.safetensors", ElementType::f32, {{4, 8}, {5, 8}, {5, 8}});
    writeSafetensors(place, "bf16.safetensors", ElementType::bf16, {{4, 8}, {5, 8}, {5, 8}});
    writeNpy(place, "do48.npy", ElementType::f32, {4, 8}, 4);
    writeNpy(place, "wide.npy", ElementType::f32, {3, 300}, 1);
    const std::string noBackward = "backward --q q.npy --k k.npy --v v.npy";
    checkRefusals(
        place, {{noBackward + all, "--do|is missing"},
                {call, "--dq|are missing"},
                {noBackward + " --do short.npy" + all, "--do short.npy|[2, 6, 16, 24]|[2, 6, 17, 24]"},
                {noBackward + " --do rows.npy" + all, "--do rows.npy|i32"},
                {noBackward + " --do absent.npy" + all, "--do absent.npy|no such file"},
                {"backward --tensors all.safetensors --dq dq.npy", "--tensors all.safetensors|do"},
                {call + all + " --o q.npy", "--lse|is missing"},
                {call + all + " --lse lse.npy", "--o|is missing"},
                {call + all + " --o short.npy --lse lse.npy", "--o short.npy|the shape of o"},
                {call + all + " --o q.npy --lse lse16.npy", "--lse lse16.npy|float32"},
                {call + all + " --o q.npy --lse heads.npy", "--lse heads.npy|[2, 6, 17]"},
                {call + all + " --dlse heads.npy", "--dlse heads.npy|[2, 6, 17]"},
                {call + all + " --dbias dbias.npy", "--dbias dbias.npy|--bias"},
                {call + all + " --dsinks dsinks.npy", "--dsinks dsinks.npy|--sinks"},
                {call + " --dq do.npy", "--dq do.npy|input file of --do"},
                {call + " --dq q.npy", "--dq q.npy|input file of --q"},
                {call + " --dq g.npy --dv g.npy", "--dv g.npy|also the file of --dq"},
                {call + " --dq g.npy --dv ./g.npy", "--dv ./g.npy|also the file of --dq"},
                {call + " --dq dq.txt", "--dq dq.txt|.npy or .safetensors"},
                {call + " --dk absent/dk.npy", "--dk absent/dk.npy|no folder absent"},
                {"backward --tensors bf16.safetensors --do do48.npy --dv dv.npy", "--dv dv.npy|no bf16"},
                {call + all + " --path standard", "--path standard|backward"},
                {call + all + " --path decode", "--path decode|backward"},
                {call + all + " --probability-rows rows.npy", "--probability-rows"},
                {call + all + " --mask-block 16", "--block-mask|is missing"},
                {"backward --q wide.npy --k wide.npy --v wide.npy --do wide.npy --dq dq.npy", "--q wide.npy|300|256"}});
}

TEST_CASE("verify --backward checks random gradients of every mask", "[program_backward][gpu]") {
    needDevice();
    const Workplace place;
    for (const std::string flags :
         {"--causal", "--window 5,5 --random-lengths --seed 3 --kv-heads 1",
          "--path scalar --softcap 3 --type bf16 --sample-rows 5", "--value-dim 24 --alibi"}) {
        const ProgramResult result = place.run("verify --backward --heads 2 --rows 37 --keys 53 --dim 40 " + flags);
        INFO(flags << "\n" << result.out << result.err);
        CHECK(result.status == 0);
        CHECK_THAT(result.out, ContainsSubstring("\ndv ") && ContainsSubstring("right"));
    }
    checkRefusals(place, {{"verify --backward --path standard", "--backward|standard"},
                          {"verify --backward --page-size 16", "--backward|blockTable"},
                          {"verify --backward --kv-type q8_0", "--backward|block type"},
                          {"verify --backward --dim 300", "--backward|300|256"}});
}
