// SPDX-License-Identifier: MIT
//
// Flags of the program for people with files: the order of dimensions, repeated runs, checks without a file, the cost
// of storing k and v in other types, and the help.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "support/program.hpp"
#include "support/program_checks.hpp"
#include "support/program_files.hpp"
#include "tensors/tensor_file.hpp"

using namespace vkf::test;
using namespace vkf::tools;
using Catch::Matchers::ContainsSubstring;

namespace {

// Swaps dimensions 1 and 2 of a tensor of four.
Tensor swapped(const Tensor& tensor) {
    const Shape& s = tensor.shape;
    Tensor result{tensor.type, {s[0], s[2], s[1], s[3]}, std::vector<std::byte>(tensor.bytes.size())};
    const size_t row = s[3] * elementBytes(tensor.type);
    for (size_t batch = 0; batch < s[0]; ++batch)
        for (size_t i = 0; i < s[1]; ++i)
            for (size_t j = 0; j < s[2]; ++j)
                std::memcpy(&result.bytes[((batch * s[2] + j) * s[1] + i) * row],
                            &tensor.bytes[((batch * s[1] + i) * s[2] + j) * row], row);
    return result;
}

// Writes NAMEt.npy with heads after rows for each NAME.npy.
void writeSwapped(const Workplace& place, const std::vector<std::string>& names) {
    for (const std::string& name : names)
        place.write(name + "t.npy", npyOf(swapped(loadNpy(place / (name + ".npy")))));
}

void checkEqual(const Workplace& place, const std::string& name) {
    const Tensor a = loadNpy(place / (name + ".npy"));
    const Tensor b = swapped(loadNpy(place / (name + "t.npy")));
    INFO(name);
    CHECK(a.shape == b.shape);
    CHECK((a.bytes == b.bytes));
}

// The number after the words.
double numberAfter(const std::string& text, const std::string& words) {
    const size_t at = text.find(words);
    REQUIRE(at != std::string::npos);
    return std::stod(text.substr(at + words.size()));
}

std::set<std::string> matchesOf(const std::string& text, const std::string& pattern) {
    const std::regex expression(pattern);
    std::set<std::string> found;
    for (std::sregex_iterator i(text.begin(), text.end(), expression), end; i != end; ++i)
        found.insert((*i)[1]);
    return found;
}

} // namespace

TEST_CASE("tensors with heads after rows give the same numbers in their own order", "[program][gpu]") {
    needDevice();
    const Workplace place;
    writeNpy(place, "q.npy", ElementType::f32, {2, 6, 17, 32}, 1);
    writeNpy(place, "k.npy", ElementType::f32, {2, 2, 33, 32}, 2);
    writeNpy(place, "v.npy", ElementType::f32, {2, 2, 33, 64}, 3);
    writeNpy(place, "do.npy", ElementType::f32, {2, 6, 17, 64}, 4);
    writeSwapped(place, {"q", "k", "v", "do"});
    for (const std::string flags : {"", "--kv-type q8_0", "--page-size 4"}) {
        const std::string rest = " --causal --precision fp32 --verify " + flags;
        REQUIRE(place.run("run --q q.npy --k k.npy --v v.npy -o o.npy --lse l.npy" + rest).status == 0);
        const ProgramResult other =
            place.run("run --q qt.npy --k kt.npy --v vt.npy -o ot.npy --lse lt.npy --layout bnhd" + rest);
        INFO(flags << "\n" << other.out << other.err);
        REQUIRE(other.status == 0);
        checkEqual(place, "o");
        CHECK(place.read("l.npy") == place.read("lt.npy"));
    }
    const std::string backward = " --path scalar --verify";
    REQUIRE(
        place.run("backward --q q.npy --k k.npy --v v.npy --do do.npy --dq dq.npy --dk dk.npy --dv dv.npy" + backward)
            .status == 0);
    const ProgramResult other = place.run("backward --q qt.npy --k kt.npy --v vt.npy --do dot.npy --dq dqt.npy "
                                          "--dk dkt.npy --dv dvt.npy --layout bnhd" +
                                          backward);
    INFO(other.out << other.err);
    REQUIRE(other.status == 0);
    for (const std::string name : {"dq", "dk", "dv"})
        checkEqual(place, name);
}

TEST_CASE("packed sequences of four dimensions take both orders", "[program][gpu]") {
    needDevice();
    const Workplace place;
    writeNpy(place, "q.npy", ElementType::f32, {1, 6, 17, 24}, 1);
    writeNpy(place, "k.npy", ElementType::f32, {1, 2, 33, 24}, 2);
    writeNpy(place, "v.npy", ElementType::f32, {1, 2, 33, 24}, 3);
    writeSwapped(place, {"q", "k", "v"});
    writeLengths(place, "rows.npy", {0, 3, 17});
    writeLengths(place, "keys.npy", {0, 9, 33});
    const std::string lengths = " --cu-seqlens-q rows.npy --cu-seqlens-k keys.npy --verify";
    REQUIRE(place.run(usual + lengths).status == 0);
    REQUIRE(place.run("run --q qt.npy --k kt.npy --v vt.npy -o ot.npy --layout bnhd" + lengths).status == 0);
    checkEqual(place, "o");
}

TEST_CASE("--repeat shows the time of warm runs beside the first", "[program][gpu]") {
    needDevice();
    const Workplace place;
    writeUsual(place);
    writeNpy(place, "do.npy", ElementType::f32, {2, 6, 17, 24}, 4);
    CHECK_THAT(place.run(usual).out, ContainsSubstring("(first run)\n"));
    CHECK_THAT(place.run(usual + " --repeat 3").out,
               ContainsSubstring("(first run), ") && ContainsSubstring(" ms warm (median of 3 runs)\n"));
    CHECK_THAT(place.run("backward --q q.npy --k k.npy --v v.npy --do do.npy --dq dq.npy --repeat 2").out,
               ContainsSubstring(" ms warm (median of 2 runs)\n"));
}

TEST_CASE("--verify needs no file for the result", "[program][gpu]") {
    needDevice();
    const Workplace place;
    writeUsual(place);
    const std::vector<std::string> files = place.files();
    const ProgramResult result = place.run("run --q q.npy --k k.npy --v v.npy --causal --verify");
    INFO(result.err);
    CHECK(result.status == 0);
    CHECK_THAT(result.out, ContainsSubstring("bound"));
    CHECK(place.files() == files);
}

TEST_CASE("--verify says what it costs to store k and v in another type", "[program][gpu]") {
    needDevice();
    const Workplace place;
    for (const std::string name : {"q", "k", "v"})
        writeNpy(place, name + ".npy", ElementType::f32, {1, 2, 40, 32}, name[0]);
    CHECK_THAT(place.run(usual + " --verify").out, !ContainsSubstring("stored"));
    const std::string exact = place.run(usual + " --verify --kv-type q8_0").out;
    const std::string coarse = place.run(usual + " --verify --kv-type q4_0").out;
    CHECK_THAT(coarse, ContainsSubstring("(q4_0, q4_0 instead of f32, f32)"));
    const double error = numberAfter(coarse, "o       error ");
    CHECK(numberAfter(coarse, "stored  error ") > 100 * error);
    CHECK(numberAfter(coarse, "stored  error ") > 2 * numberAfter(exact, "stored  error "));
}

TEST_CASE("plan describes the backward pass, and all of a plan in JSON", "[program][gpu]") {
    needDevice();
    const Workplace place;
    const std::string shape = "plan --heads 4 --kv-heads 2 --rows 100 --dim 64 --type f32 --causal";
    CHECK_THAT(place.run(shape + " --backward").out,
               ContainsSubstring("backward pass") && ContainsSubstring("of dq") && ContainsSubstring("of dk, dv"));
    const auto backward = nlohmann::json::parse(place.run(shape + " --backward --path scalar --json").out);
    CHECK(backward["path"] == "scalar");
    CHECK(backward["problem"]["queryRows"] == 100);
    CHECK(backward["operations"].get<double>() > 0);
    for (const char* field : {"rowTile", "keyTile", "bandKeys", "inputAlignment", "scratchAlignment", "minimumBytes"})
        CHECK(backward.contains(field));
    const auto forward = nlohmann::json::parse(place.run(shape + " --json").out);
    CHECK(forward["problem"]["causal"] == true);
    CHECK(forward["kvSplits"] >= 1);
    CHECK(forward["inputAlignment"] >= 4);
}

TEST_CASE("help is short, has an example, and explains every flag on request", "[program]") {
    const Workplace place;
    for (const std::string command : {"run", "backward", "plan", "verify", "soak", "demo", "tune", "bench", "report",
                                      "info", "bench prefill", "compile"}) {
        INFO(command);
        const std::string help = place.run(command + " --help").out;
        CHECK_THAT(help, ContainsSubstring("\nUsage:   vkflash " + command) &&
                             ContainsSubstring("\nExample: vkflash " + command));
        CHECK(std::count(help.begin(), help.end(), '\n') <= 75);
        for (size_t begin = 0; begin < help.size(); begin = help.find('\n', begin) + 1)
            CHECK(help.find('\n', begin) - begin <= 120);
    }
    const std::string help = place.run("run --help").out;
    CHECK_THAT(help, ContainsSubstring("\nFiles\n") && ContainsSubstring("\nMasks and scores\n") &&
                         ContainsSubstring("--window LEFT,RIGHT") &&
                         ContainsSubstring("\nDevice (see --help-all): --device --validation --quirk --tuning\n"));
    CHECK_THAT(place.run("run --help-all").out,
               ContainsSubstring("\nDevice\n") && ContainsSubstring("lockstep-subgroups"));
}

TEST_CASE("help, messages and documents list the same quirks", "[program]") {
    const Workplace place;
    const std::string help = place.run("run --help-all").out;
    const std::string text = help.substr(help.find("--quirk"), help.find("--tuning") - help.find("--quirk"));
    const std::set<std::string> names = matchesOf(text.substr(text.find(':')), "([a-z0-9]+(?:-[a-z0-9]+)*)");
    CHECK(names.size() >= 6);
    std::string all;
    for (const std::string& name : names)
        all += "|" + name;
    checkRefusal(place, {"demo --quirk rubble", "--quirk rubble" + all});
    std::ifstream file(std::filesystem::path(VKFLASH_SAMPLES_DIR).parent_path() / "docs/program.md");
    const std::string document{std::istreambuf_iterator<char>(file), {}};
    const size_t row = document.find("| `--quirk LIST`");
    REQUIRE(row != std::string::npos);
    CHECK(matchesOf(document.substr(row + 16, document.find('\n', row) - row - 16), "`([^`]+)`") == names);
}
