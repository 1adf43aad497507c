// SPDX-License-Identifier: MIT
//
// The program's refusals from outside: one line on stderr with flag and file, and no file created or changed.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include "support/program.hpp"
#include "support/program_checks.hpp"
#include "support/program_files.hpp"
#include "tensors/npy.hpp"
#include "tensors/tensor_file.hpp"

namespace fs = std::filesystem;
using namespace vkf::test;
using namespace vkf::tools;

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
    place.write("archive.npy", "PK\x03\x04 of NumPy");
    place.write("archive.npz", "PK\x03\x04 of NumPy");
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
                                                                    {"double", "float64|astype('float32')"},
                                                                    {"archive", "zip archive|unzip"},
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
    tests.push_back({"run --tensors archive.npz -o o.npy", "--tensors archive.npz|zip archive|.npy files"});
    tests.push_back({"run --q bad.safetensors --k k.npy --v v.npy -o o.npy", "--q bad.safetensors|goes to --tensors"});
    tests.push_back({usual + " --lengths q.npy", "--lengths q.npy|lengths are int32 or int64"});
    checkRefusals(place, tests);
}

TEST_CASE("tensors that do not fit each other are refused with both shapes", "[program]") {
    const Workplace place;
    writeUsual(place);
    writeNpy(place, "rank1.npy", ElementType::f32, {5}, 1);
    writeNpy(place, "six.npy", ElementType::f32, {6}, 1);
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
         {"run --layout bnhd --q q.npy --k keys.npy --v v.npy -o o.npy",
          "--v v.npy|[2, 2, 33, 24]|--k keys.npy|33 and 32 heads"},
         {usual + " --lengths three.npy", "--lengths three.npy|[3]|[2]"},
         {usual + " --lengths over.npy", "--lengths over.npy|length 34 of sequence 1|33 rows of --k k.npy"},
         {usual + " --row-offsets three.npy", "--row-offsets three.npy|[3]|[2]"},
         {usual + " --lengths under.npy", "--lengths under.npy|length -1 of sequence 0"},
         {usual + " --sinks rank1.npy", "--sinks rank1.npy|[5]|[6]"},
         {usual + " --alibi-slopes three.npy", "--alibi-slopes three.npy|i32|float32"},
         {usual + " --bias-factors rank1.npy", "--bias-factors rank1.npy|[5]|[6]"},
         {usual + " --bias-factors six.npy", "--bias-factors six.npy|--bias"},
         {usual + " --bias rank2.npy", "--bias rank2.npy|[33, 24]|[2, 6, 17, 33]"},
         {usual + " --mask over.npy", "--mask over.npy|[2]|[2, 6, 17, 33]"},
         {usual + " --mask-keys last", "--mask-keys last|needs a --mask"},
         {usual + " --mask over.npy --mask-keys first", "--mask-keys first|all, last"},
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
        place,
        {{"", "subcommand"},
         {"frobnicate", "frobnicate|info, run, backward, plan"},
         {"run --frobnicate", "--frobnicate: `vkflash run` has no such flag; see vkflash run --help"},
         {"runn", "runn|did you mean run?"},
         {"bench preffil", "preffil|did you mean prefill?|decode"},
         {"run --causl", "--causl|did you mean --causal?"},
         {"run --tesnors=a", "--tesnors|did you mean --tensors?"},
         {"bench prefill --tokns 3", "--tokns|`vkflash bench prefill`|did you mean --tokens?"},
         {usual + " --layout bhdn", "--layout bhdn|bhnd, bnhd"},
         {"plan --backward --path decode", "--backward|decode"},
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
         {usual + " --causal --window 5,2", "--window 5,2|0 or -1"},
         {usual + " --window 5,1,1", "--window 5,1,1|LEFT,RIGHT"},
         {usual + " --window 99999999999999999999,0", "--window 99999999999999999999,0"},
         {usual + " --causal sideways", "--causal sideways|bottom-right, top-left"},
         {usual + " --causal top-left --alignment bottom-right", "--alignment bottom-right|--causal top-left"},
         {usual + " --path fast", "--path fast|scalar"},
         {usual + " --row-positions 1,0", "--row-positions 1,0|F,STRIDE"},
         {usual + " --key-positions -3", "--key-positions -3|F,STRIDE"},
         {usual + " --causal top-left --row-positions 3", "alignment is top-left|VKF_USE_POSITIONS"},
         {usual + " --precision half", "--precision half|fp32"},
         {usual + " --kv-type q6", "--kv-type q6|f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, iq4_nl, e4m3, e5m2"},
         {usual + " --v-type q8_0", "dim of v is 24|multiple of 32"},
         {usual + " --page-size 1073741824", "paging.pageSize 1073741824|1073676288"},
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
    std::error_code noLinks; // not every system lets every user make symbolic links
    fs::create_symlink("q.npy", place / "link.npy", noLinks);
    fs::create_hard_link(place / "q.npy", place / "hard.npy");
    writeLengths(place, "rows.npy", {3, 1});
    const std::string inputs = "run --q q.npy --k k.npy --v v.npy -o ";
    checkRefusals(
        place,
        {{inputs + "o.txt", "-o o.txt|.npy or .safetensors"},
         {inputs + "folder.npy", "-o folder.npy|is a directory"},
         {inputs + "absent/o.npy", "-o absent/o.npy|no folder absent"},
         {inputs + "q.npy", "-o q.npy|input file of --q"},
         {inputs + "./k.npy", "-o ./k.npy|input file of --k"},
         {inputs + "hard.npy", "-o hard.npy|input file of --q"},
         {inputs + "o.npy --lse o.npy", "--lse o.npy|-o"},
         {inputs + "o.npy --lse v.npy", "--lse v.npy|input file of --v"},
         {inputs + "o.npy --lse lse.csv", "--lse lse.csv|.npy or .safetensors"},
         {inputs + "o.npy --probabilities o.npy", "--probabilities o.npy|-o"},
         {inputs + "o.npy --lse w.npy --probabilities w.npy", "--probabilities w.npy|--lse"},
         {inputs + "o.npy --probability-rows rows.npy", "--probability-rows rows.npy|needs --probabilities"},
         {inputs + "o.npy --probabilities w.npy --probability-rows q.npy", "--probability-rows q.npy|int32 or int64"},
         {inputs + "o.npy --probabilities rows.npy --probability-rows rows.npy",
          "--probabilities rows.npy|input file of --probability-rows"},
         {inputs + "o.npy --output-type bf16", "-o o.npy|no bf16"},
         {"run --tensors all.safetensors -o o.npy", "-o o.npy|no bf16"}});
    if (!noLinks) {
        checkRefusal(place, {inputs + "link.npy", "-o link.npy|input file of --q"});
    }
}

TEST_CASE("a file is found and named in messages by its name in UTF-8", "[program]") {
    const Workplace place;
    place.write("\xe6\xb3\xa8.npy", "");
    checkRefusals(place, {{"run --q \xe6\xb3\xa8.npy --k k --v v -o o.npy", "--q \xe6\xb3\xa8.npy|is empty"}});
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

TEST_CASE("an unknown device is refused with the requested name", "[program][gpu]") {
    needDevice();
    const Workplace place;
    writeUsual(place);
    checkRefusal(place, {usual + " --device no-such-device", "--device no-such-device"}, 1);
    checkRefusal(place, {usual + " --device 99", "--device 99"}, 1);
}
