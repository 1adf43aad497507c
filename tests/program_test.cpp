// SPDX-License-Identifier: MIT
//
// The program's contract, seen from outside: status 0 only if what was asked for is written and right,
// else one line on stderr that names flag and file, and no file created or changed.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "npy.hpp"
#include "safetensors.hpp"
#include "support/program.hpp"
#include "support/program_checks.hpp"
#include "tensor_file.hpp"
#include "vkflash/reference.h"

namespace fs = std::filesystem;
using namespace vkf::test;
using namespace vkf::tools;
using Catch::Matchers::ContainsSubstring;

namespace {

VkfType typeOf(ElementType type) {
    return type == ElementType::f16 ? VKF_TYPE_F16 : type == ElementType::bf16 ? VKF_TYPE_BF16 : VKF_TYPE_F32;
}

Tensor makeTensor(ElementType type, const Shape& shape, int seed) {
    Tensor tensor{type, shape, std::vector<std::byte>(tensorBytes(shape, elementBytes(type)).value())};
    for (size_t i = 0; i < tensor.bytes.size() / elementBytes(type); ++i) {
        vkfStoreElement(typeOf(type), tensor.bytes.data(), i,
                        1.5 * std::sin(0.37 * static_cast<double>(i * 7 + 1) * seed));
    }
    return tensor;
}

std::string dataOf(const Tensor& tensor) {
    return {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()};
}

std::string npyOf(const Tensor& tensor) { return npyHeader(tensor.type, tensor.shape) + dataOf(tensor); }

void writeNpy(const Workplace& place, const std::string& name, ElementType type, const Shape& shape, int seed) {
    place.write(name, npyOf(makeTensor(type, shape, seed)));
}

void writeLengths(const Workplace& place, const std::string& name, const std::vector<int32_t>& lengths) {
    place.write(name, npyHeader(ElementType::i32, {lengths.size()}) +
                          std::string(reinterpret_cast<const char*>(lengths.data()), lengths.size() * 4));
}

void writeSafetensors(const Workplace& place, const std::string& name, ElementType type,
                      const std::vector<Shape>& qkv) {
    const std::vector<std::string> names = {"q", "k", "v"};
    std::vector<Tensor> tensors;
    std::vector<NamedView> views;
    std::string data;
    for (size_t i = 0; i < qkv.size(); ++i) {
        tensors.push_back(makeTensor(type, qkv[i], static_cast<int>(i) + 1));
        data += dataOf(tensors.back());
    }
    for (size_t i = 0; i < qkv.size(); ++i) {
        views.push_back({names[i], tensors[i].view()});
    }
    place.write(name, safetensorsHeader(views) + data);
}

// q.npy, k.npy and v.npy of one type: 6 query heads over 2 KV heads, 17 rows, 33 keys, D = 24.
void writeUsual(const Workplace& place, ElementType type = ElementType::f32) {
    writeNpy(place, "q.npy", type, {2, 6, 17, 24}, 1);
    writeNpy(place, "k.npy", type, {2, 2, 33, 24}, 2);
    writeNpy(place, "v.npy", type, {2, 2, 33, 24}, 3);
}

const std::string usual = "run --q q.npy --k k.npy --v v.npy -o o.npy";

Tensor readNpy(const Workplace& place, const std::string& name) { return loadNpy(place / name); }

double element(const Tensor& tensor, size_t index) {
    return vkfLoadElement(typeOf(tensor.type), tensor.bytes.data(), index);
}

} // namespace

TEST_CASE("every malformed file is refused by its flag and name", "[program]") {
    const Workplace place;
    writeUsual(place);
    const std::string good = place.read("q.npy");
    const auto variant = [&good](const std::string& from, const std::string& to) {
        std::string text = good;
        text.replace(text.find(from), from.size(), to);
        return text;
    };
    place.write("empty.npy", "");
    place.write("text.npy", "1 2 3");
    place.write("truncated.npy", good.substr(0, good.size() - 1));
    place.write("oversized.npy", good + "x");
    place.write("fortran.npy", variant("False, ", "True,  "));
    place.write("big.npy", variant("'<f4'", "'>f4'"));
    place.write("integers.npy", variant("'<f4'", "'<i4'"));
    place.write("double.npy", variant("'<f4'", "'<f8'"));
    place.write("overflow.npy", npyHeader(ElementType::f32, {4294967296, 4294967296}));
    place.write("header.npy", "\x93NUMPY\x02" + std::string(1, '\0') + "\xff\xff\xff\xff{}");
    place.write("bad.safetensors", "\xff\xff\xff\xff\xff\xff\xff\xff{}");
    fs::create_directory(place / "folder.npy");

    std::vector<Refusal> tests;
    const std::vector<std::pair<std::string, std::string>> files = {{"absent", "no such file"},
                                                                    {"empty", "is empty"},
                                                                    {"text", "not a NumPy"},
                                                                    {"truncated", "is truncated"},
                                                                    {"oversized", "is oversized"},
                                                                    {"fortran", "Fortran order"},
                                                                    {"big", "big-endian"},
                                                                    {"integers", "i32"},
                                                                    {"double", "'<f8'"},
                                                                    {"overflow", "does not fit 64 bits"},
                                                                    {"header", "header length of 4294967295"},
                                                                    {"folder", "is a directory"}};
    for (const auto& [name, words] : files) {
        tests.push_back({fmt::format("run --q {}.npy --k k.npy --v v.npy -o o.npy", name),
                         fmt::format("--q {}.npy|{}", name, words)});
        tests.push_back({fmt::format("run --q q.npy --k k.npy --v {}.npy -o o.npy", name),
                         fmt::format("--v {}.npy|{}", name, words)});
    }
    tests.push_back({"run --tensors bad.safetensors -o o.npy", "--tensors bad.safetensors|the limit is 100000000"});
    tests.push_back({"run --tensors absent.safetensors -o o.npy", "--tensors absent.safetensors|no such file"});
    tests.push_back({"run --q bad.safetensors --k k.npy --v v.npy -o o.npy", "--q bad.safetensors|goes to --tensors"});
    tests.push_back({usual + " --lengths q.npy", "--lengths q.npy|lengths are int32 or int64"});
    checkRefusals(place, tests);
}

TEST_CASE("tensors that do not fit each other are refused with both shapes", "[program]") {
    const Workplace place;
    writeUsual(place);
    writeNpy(place, "rank1.npy", ElementType::f32, {5}, 1);
    writeNpy(place, "rank5.npy", ElementType::f32, {1, 1, 1, 2, 3}, 1);
    writeNpy(place, "rank2.npy", ElementType::f32, {33, 24}, 1);
    writeNpy(place, "batch.npy", ElementType::f32, {3, 2, 33, 24}, 1);
    writeNpy(place, "heads.npy", ElementType::f32, {2, 4, 33, 24}, 1);
    writeNpy(place, "keys.npy", ElementType::f32, {2, 2, 32, 24}, 1);
    writeNpy(place, "dim.npy", ElementType::f32, {2, 2, 33, 23}, 1);
    writeNpy(place, "no_heads.npy", ElementType::f32, {2, 0, 33, 24}, 1);
    writeNpy(place, "no_dim.npy", ElementType::f32, {2, 2, 33, 0}, 1);
    writeNpy(place, "wide.npy", ElementType::f32, {3, 600}, 1);
    writeLengths(place, "three.npy", {1, 2, 3});
    writeLengths(place, "over.npy", {33, 34});
    writeNpy(place, "qp.npy", ElementType::f32, {4, 6, 24}, 1);
    writeNpy(place, "kp.npy", ElementType::f32, {5, 2, 24}, 2);
    writeLengths(place, "rows.npy", {0, 3, 4});
    writeLengths(place, "short.npy", {0, 3, 4});
    writeLengths(place, "keys1.npy", {0, 0, 5});
    writeLengths(place, "keys2.npy", {0, 5});
    const std::string packed = "run --q qp.npy --k kp.npy --v kp.npy -o o.npy";
    writeLengths(place, "under.npy", {-1, 3});
    checkRefusals(
        place,
        {{"run --q rank1.npy --k k.npy --v v.npy -o o.npy", "--q rank1.npy|[5]|[B, H, N, D]"},
         {"run --q rank5.npy --k k.npy --v v.npy -o o.npy", "--q rank5.npy|[1, 1, 1, 2, 3]"},
         {"run --q q.npy --k rank2.npy --v v.npy -o o.npy", "--k rank2.npy|[33, 24]|--q q.npy|[2, 6, 17, 24]"},
         {"run --q q.npy --k batch.npy --v batch.npy -o o.npy", "--k batch.npy|3 and 2 sequences"},
         {"run --q q.npy --k k.npy --v keys.npy -o o.npy", "--v keys.npy|--k k.npy|32 and 33 rows"},
         {"run --q q.npy --k k.npy --v heads.npy -o o.npy", "--v heads.npy|4 and 2 heads"},
         {"run --q q.npy --k dim.npy --v v.npy -o o.npy", "--k dim.npy|23 and 24 head dimensions"},
         {"run --q q.npy --k heads.npy --v heads.npy -o o.npy", "--q q.npy|6 query heads|4 KV heads of --k heads.npy"},
         {"run --q q.npy --k no_heads.npy --v no_heads.npy -o o.npy", "--q q.npy|0 KV heads"},
         {"run --q q.npy --k k.npy --v no_dim.npy -o o.npy", "--v no_dim.npy|at least 1"},
         {"run --q wide.npy --k wide.npy --v wide.npy -o o.npy", "--q wide.npy|600|576"},
         {usual + " --lengths three.npy", "--lengths three.npy|[3]|[2]"},
         {usual + " --lengths over.npy", "--lengths over.npy|length 34 of sequence 1|33 rows of --k k.npy"},
         {usual + " --lengths under.npy", "--lengths under.npy|length -1 of sequence 0"},
         {usual + " --sinks rank1.npy", "--sinks rank1.npy|[5]|[6]"},
         {usual + " --alibi-slopes three.npy", "--alibi-slopes three.npy|i32|float32"},
         {usual + " --bias rank2.npy", "--bias rank2.npy|[33, 24]|[2, 6, 17, 33]"},
         {usual + " --mask over.npy", "--mask over.npy|[2]|[2, 6, 17, 33]"},
         {usual + " --dropout-mask over.npy", "--dropout-mask over.npy|[2]|[2, 6, 17, 33]"},
         {usual + " --documents over.npy", "--documents over.npy|[2]|[2, 33] or [33]"},
         {usual + " --documents dim.npy", "--documents dim.npy|f32|int32 or int64"},
         {usual + " --cu-seqlens-q over.npy", "--cu-seqlens-k|is missing"},
         {usual + " --cu-seqlens-q over.npy --cu-seqlens-k over.npy", "--q q.npy|[2, 6, 17, 24]|[1, H, rows, D]"},
         {packed + " --cu-seqlens-q over.npy --cu-seqlens-k three.npy", "--cu-seqlens-q over.npy|element 0 is 33"},
         {packed + " --cu-seqlens-q rows.npy --cu-seqlens-k short.npy", "--cu-seqlens-k short.npy|ends at 4|5 rows"},
         {packed + " --cu-seqlens-q rows.npy --cu-seqlens-k keys2.npy", "--cu-seqlens-k keys2.npy|2|3"},
         {packed + " --cu-seqlens-q rows.npy --cu-seqlens-k keys1.npy --page-size 16", "--cu-seqlens-q rows.npy|pages"},
         {packed + " --cu-seqlens-q rows.npy --cu-seqlens-k keys1.npy --path standard", "--path standard|packed"},
         {usual + " --first-keys 3", "--first-keys 3|needs a --window"}});
}

TEST_CASE("flags that make no sense are refused by name", "[program]") {
    const Workplace place;
    writeUsual(place);
    writeSafetensors(place, "all.safetensors", ElementType::bf16, {{4, 8}, {5, 8}, {5, 8}});
    checkRefusals(
        place, {{"", "subcommand"},
                {"frobnicate", "frobnicate|info, run, plan"},
                {"run --frobnicate", "--frobnicate"},
                {"run --q q.npy --k k.npy --v v.npy", "-o"},
                {"run --q q.npy --k k.npy -o o.npy", "--v"},
                {"run -o o.npy", "--q"},
                {"run --tensors all.safetensors --q q.npy -o o.npy", "--tensors all.safetensors|--q"},
                {usual + " --scale nan", "--scale nan|finite"},
                {usual + " --scale inf", "--scale inf|finite"},
                {usual + " --scale 0", "--scale 0|zero"},
                {usual + " --scale 1x", "--scale 1x|finite"},
                {usual + " --softcap -1", "--softcap -1|at least 0"},
                {usual + " --softcap nan", "--softcap nan"},
                {usual + " --dropout 1", "--dropout 1|less than 1"},
                {usual + " --dropout -0.5", "--dropout -0.5|at least 0"},
                {usual + " --dropout half", "--dropout half|finite"},
                {usual + " --window 5", "--window 5|LEFT,RIGHT"},
                {usual + " --window 5,-2", "--window 5,-2|LEFT,RIGHT"},
                {usual + " --window 5,1,1", "--window 5,1,1|LEFT,RIGHT"},
                {usual + " --window 99999999999999999999,0", "--window 99999999999999999999,0"},
                {usual + " --causal sideways", "--causal sideways|bottom-right, top-left"},
                {usual + " --causal top-left --alignment bottom-right", "--alignment bottom-right|--causal top-left"},
                {usual + " --path fast", "--path fast|scalar"},
                {usual + " --precision half", "--precision half|fp32"},
                {usual + " --kv-type q6", "--kv-type q6|f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1"},
                {usual + " --v-type q8_0", "dim 24 of v is not a multiple of 32"},
                {usual + " --page-size 3", "paging.pageSize is 3|power of two"},
                {usual + " --page-size 4 --path standard", "--path standard|paging"},
                {usual + " --output-type f64", "--output-type f64|f32, f16, bf16"},
                {"plan --rows -1", "--rows"},
                {"plan --rows 99999999999", "--rows"},
                {"plan --heads 6 --kv-heads 4", "6|4"},
                {"plan --dim 600", "600|576"},
                {"plan --dim 300 --path scalar", "300|256|scalar"},
                {"verify --type f64", "--type f64"}});
}

TEST_CASE("an output that cannot be written is refused before the work", "[program]") {
    const Workplace place;
    writeUsual(place);
    writeSafetensors(place, "all.safetensors", ElementType::bf16, {{4, 8}, {5, 8}, {5, 8}});
    fs::create_directory(place / "folder.npy");
    fs::create_symlink("q.npy", place / "link.npy");
    fs::create_hard_link(place / "q.npy", place / "hard.npy");
    writeLengths(place, "rows.npy", {3, 1});
    const std::string inputs = "run --q q.npy --k k.npy --v v.npy -o ";
    checkRefusals(place, {{inputs + "o.txt", "-o o.txt|.npy or .safetensors"},
                          {inputs + "folder.npy", "-o folder.npy|is a directory"},
                          {inputs + "absent/o.npy", "-o absent/o.npy|no folder absent"},
                          {inputs + "q.npy", "-o q.npy|input file of --q"},
                          {inputs + "./k.npy", "-o ./k.npy|input file of --k"},
                          {inputs + "link.npy", "-o link.npy|input file of --q"},
                          {inputs + "hard.npy", "-o hard.npy|input file of --q"},
                          {inputs + "o.npy --lse o.npy", "--lse o.npy|-o"},
                          {inputs + "o.npy --lse v.npy", "--lse v.npy|input file of --v"},
                          {inputs + "o.npy --lse lse.csv", "--lse lse.csv|.npy or .safetensors"},
                          {inputs + "o.npy --weights o.npy", "--weights o.npy|-o"},
                          {inputs + "o.npy --lse w.npy --weights w.npy", "--weights w.npy|--lse"},
                          {inputs + "o.npy --weight-rows rows.npy", "--weight-rows rows.npy|needs --weights"},
                          {inputs + "o.npy --weights w.npy --weight-rows q.npy", "--weight-rows q.npy|int32 or int64"},
                          {inputs + "o.npy --weights rows.npy --weight-rows rows.npy",
                           "--weights rows.npy|input file of --weight-rows"},
                          {inputs + "o.npy --output-type bf16", "-o o.npy|no bf16"},
                          {"run --tensors all.safetensors -o o.npy", "-o o.npy|no bf16"}});
}

TEST_CASE("a refused call leaves an existing output as it was", "[program]") {
    const Workplace place;
    writeUsual(place);
    place.write("o.npy", "precious");
    checkRefusals(place, {{usual + " --scale nan", "--scale nan"}, {usual + " --lengths absent.npy", "absent.npy"}});
    CHECK(place.read("o.npy") == "precious");
}

TEST_CASE("a message stays one line whatever the file's name holds", "[program]") {
    const Workplace place;
    const ProgramResult result =
        place.run(std::vector<std::string>{"run", "--q", "a\nb.npy", "--k", "k", "--v", "v", "-o", "o.npy"});
    CHECK(result.status == 2);
    CHECK(isOneLine(result.err));
}

TEST_CASE("an unknown device is refused by what was asked for", "[program][gpu]") {
    needDevice();
    const Workplace place;
    writeUsual(place);
    checkRefusal(place, {usual + " --device no-such-device", "--device no-such-device"}, 1);
    checkRefusal(place, {usual + " --device 99", "--device 99"}, 1);
}

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
        {usual + " --lse lse.npy", ElementType::f32, whole},
        {usual + " --causal", ElementType::f32, whole},
        {usual + " --causal top-left", ElementType::f32, whole},
        {usual + " --window 4,2", ElementType::f32, whole},
        {usual + " --window -1,2 --alignment top-left", ElementType::f32, whole},
        {usual + " --lengths lengths.npy --lse lse.npy", ElementType::f32, whole},
        {usual + " --softcap 5 --scale 0.3", ElementType::f32, whole},
        {usual + " --alibi --sinks heads.npy --lse lse.npy", ElementType::f32, whole},
        {usual + " --bias bias.npy --mask mask.npy --lse lse.npy", ElementType::f32, whole},
        {usual + " --documents documents.npy --window 9,-1 --first-keys 3", ElementType::f32, whole},
        {usual + " --dropout 0.25 --seed 18446744073709551615 --lse lse.npy", ElementType::f32, whole},
        {usual + " --dropout 0.5 --dropout-mask mask.npy --path standard", ElementType::f32, whole},
        {usual + " --alibi-slopes heads.npy --causal", ElementType::f32, whole},
        {usual + " --path scalar --precision fp32", ElementType::f32, whole},
        {usual + " --path standard", ElementType::f32, whole},
        {usual + " --output-type f16", ElementType::f16, whole},
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
        const Tensor o = readNpy(place, "o.npy");
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
    const Tensor o = readNpy(place, "o.npy");
    const Tensor lse = readNpy(place, "lse.npy");
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
        place.run(usual + " --path standard --causal --lse lse.npy --weights weights.npy --verify");
    INFO(result.out << result.err);
    REQUIRE(result.status == 0);
    CHECK_THAT(result.out, ContainsSubstring("\nweights error "));
    const Tensor weights = readNpy(place, "weights.npy");
    REQUIRE(weights.shape == Shape{2, 6, 17, 33});
    CHECK(weights.type == ElementType::f32);
    for (size_t row = 0; row < size_t{2} * 6 * 17; row++) {
        double sum = 0;
        for (size_t key = 0; key < 33; key++) {
            sum += element(weights, row * 33 + key);
        }
        CHECK(std::abs(sum - 1.0) < 1e-5);
        CHECK((element(weights, row * 33 + 32) != 0.0) == (row % 17 == 16)); // the last row alone sees the last key
    }
    CHECK(fs::exists(place / "lse.npy"));
}

TEST_CASE("run writes the probabilities of chosen rows on any path", "[program][gpu]") {
    needDevice();
    const Workplace place;
    writeUsual(place);
    writeLengths(place, "rows.npy", {16, 2, -1, 16, 17});
    for (const std::string path : {"scalar", "standard", "key_outer"}) {
        const ProgramResult result = place.run(
            fmt::format("{} --path {} --causal --weights weights.npy --weight-rows rows.npy --verify", usual, path));
        INFO(result.out << result.err);
        REQUIRE(result.status == 0);
        CHECK_THAT(result.out, ContainsSubstring("\nweights error "));
        const Tensor weights = readNpy(place, "weights.npy");
        REQUIRE(weights.shape == Shape{2, 6, 5, 33});
        for (size_t row = 0; row < size_t{2} * 6 * 5; row++) {
            double sum = 0;
            for (size_t key = 0; key < 33; key++) {
                sum += element(weights, row * 33 + key);
            }
            const bool exists = row % 5 != 2 && row % 5 != 4;
            CHECK(std::abs(sum - (exists ? 1.0 : 0.0)) < 1e-5);
            CHECK((element(weights, row * 33 + 32) != 0.0) == (row % 5 % 3 == 0)); // row 16 alone sees the last key
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
    CHECK(readNpy(place, "o.npy").shape == Shape{1, 2, 0, 8});
    CHECK(readNpy(place, "lse.npy").shape == Shape{1, 2, 0});
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
    const Tensor o = readNpy(place, "o.npy");
    CHECK(std::all_of(o.bytes.begin(), o.bytes.end(), [](std::byte b) { return b == std::byte{0}; }));
    CHECK(element(readNpy(place, "lse.npy"), 0) == -INFINITY);
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
    const ProgramResult result = place.run("info", {.closedPipe = true});
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
        // Where path coopmat runs, info says with which matrices.
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
    run("--precision fp32"); // in plain arithmetic, as pages are
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

TEST_CASE("demo checks its results and compares with the unfused way", "[program][gpu]") {
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
