// SPDX-License-Identifier: MIT
//
// The files of --compare: what bench/peers.py writes from the output of other programs, and what the benches read.
#include <cstdlib>
#include <filesystem>
#include <string>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "bench/comparisons.hpp"
#include "support/program.hpp"
#include "tensors/tensor_file.hpp"

using namespace vkf::test;
using namespace vkf::tools;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

// The samples are made up in the form of these programs.
const std::string pytorch = R"(9.8.7+cu000 Imaginary GPU 2 12345
matmul bf16 TF 1.5
copy TB/s 0.25
d128 n64 b3 h5 causal0 TFLOPs fwd flash=10 cudnn=20.5 eff=ERR | bwd flash=7 cudnn=8
d128 n64 b3 h5 causal1 TFLOPs fwd flash=4 | bwd
B1 256 512 flash=40us/53TF cudnn=ERR math=170us/12.5TF
fp32 4096 eff 3.5TF
decode 1 1024 flash=33.3us/126GB/s
)";

std::string ggmlLine(const std::string& changed = "", const std::string& time = "  200 runs -   10.00 us/run - ") {
    std::string parameters = "hsk=64,hsv=64,nh=2,nr23=[4,3],kv=100,nb=50,mask=0,sinks=0,max_bias=0.000000,"
                             "logit_softcap=0.000000,prec=f32,type_K=f16,type_V=f16,permute=[0,1,2,3]";
    if (!changed.empty()) {
        const size_t begin = parameters.find(changed.substr(0, changed.find('=') + 1));
        parameters.replace(begin, parameters.find(',', begin) - begin, changed);
    }
    return "  FLASH_ATTN_EXT(" + parameters + "):" + time + "1.00 GFLOP/run - \x1b[1;34m  1.00 TFLOPS\x1b[0m\n";
}

const std::string threeSources = "f32[64,50,8,3],f16[64,100,2,3],f16[64,100,2,3]";

std::string ggmlTensorLine(const std::string& sources = threeSources, const std::string& params = "0:1040187392,3:10") {
    return "  FLASH_ATTN_EXT(name=a_b,type=f32,ne=[64,8,50,3],op_params=[" + params + "],sources=" + sources +
           "):   200 runs -   10.00 us/run -  7 kB/run -  \x1b[1;34m 1.00 GB/s\x1b[0m\n";
}

class Converter {
public:
    Converter() {
        const char* named = std::getenv("VKFLASH_TEST_PYTHON");
        python_ = named != nullptr && *named != '\0' ? named : "python3";
        if (place_.runWords({python_, "--version"}).status != 0)
            SKIP("no Python");
    }

    ProgramResult run(const std::string& text, const std::vector<std::string>& flags = {}) const {
        place_.write("a.txt", text);
        std::vector<std::string> words = {python_, script(), (place_ / "a.txt").string(), "-o",
                                          (place_ / "a.json").string()};
        words.insert(words.end(), flags.begin(), flags.end());
        return place_.runWords(words);
    }

    std::string json(const std::string& text, const std::vector<std::string>& flags = {}) const {
        const ProgramResult result = run(text, flags);
        INFO(text << result.err);
        REQUIRE(result.status == 0);
        return place_.read("a.json");
    }

    Comparison comparison(const std::string& text) const { return parseComparison("a.json", json(text)); }

    // The results of a text besides one that is there in any case.
    size_t kept(const std::string& line) const { return comparison(ggmlLine() + line).results.size() - 1; }

    void checkError(const std::string& text, const std::string& words) const {
        const ProgramResult result = run(text);
        INFO(text);
        CHECK(result.status != 0);
        CHECK_THAT(result.err, ContainsSubstring(words) && !ContainsSubstring("Traceback"));
    }

private:
    static std::string script() {
        return (std::filesystem::path(VKFLASH_SAMPLES_DIR).parent_path() / "bench/peers.py").string();
    }

    Workplace place_;
    std::string python_;
};

std::string fileOf(const std::string& results) {
    return R"({"format": "F", "device": "G", "results": [)" + results + "]}";
}

// A result with one field replaced.
std::string resultWith(const std::string& field, const std::string& value) {
    Json result = {{"name", "flash"}, {"batch", 1},        {"queryHeads", 8}, {"kvHeads", 2},
                   {"queryRows", 1},  {"keys", 64},        {"headDim", 32},   {"type", "f16"},
                   {"causal", false}, {"backward", false}, {"teraflops", 2}};
    result[field] = Json::parse(value);
    return fileOf(result.dump());
}

void checkRefused(const std::string& text, const std::string& words) {
    INFO(text);
    CHECK_THROWS_MATCHES(parseComparison("a.json", text), FormatError, MessageMatches(ContainsSubstring(words)));
}

} // namespace

TEST_CASE("PyTorch's times are converted with their shapes", "[bench]") {
    const Comparison file = Converter().comparison(pytorch);
    CHECK(file.format == "PyTorch");
    CHECK(file.device == "Imaginary GPU 2");
    REQUIRE(file.results.size() == 9);
    const PeerShape full{3, 5, 5, 64, 64, 128, false, "f16"};
    CHECK(file.results[0].shape == full);
    CHECK(file.results[0].name == "flash");
    CHECK(file.results[0].file == "a.json");
    CHECK(file.results[0].teraflops == 10);
    CHECK(file.results[1].name == "cudnn");
    CHECK(file.results[1].teraflops == 20.5);
    PeerShape backward = full;
    backward.backward = true;
    CHECK(file.results[2].shape == backward);
    CHECK(file.results[2].name == "flash");
    CHECK(file.results[2].teraflops == 7);
    CHECK(file.results[3].name == "cudnn");
    CHECK(file.results[3].teraflops == 8);
    CHECK(countedOperations(backward) == 10.0 * 3 * 5 * 64 * 64 * 128);
    CHECK(file.results[4].shape.causal);
    CHECK_FALSE(file.results[4].shape.backward);
    CHECK(file.results[4].teraflops == 4);
    CHECK(file.results[5].shape == PeerShape{1, 8, 8, 512, 512, 256, false, "f16"});
    CHECK(file.results[5].teraflops == 53);
    CHECK(file.results[6].teraflops == 12.5);
    CHECK(file.results[7].shape == PeerShape{1, 16, 16, 4096, 4096, 128, false, "f32"});
    CHECK(file.results[8].shape == PeerShape{1, 32, 8, 1, 1024, 128, false, "f16"});
    CHECK(file.results[8].teraflops == Approx(4.0 * 32 * 1024 * 128 / 33.3e-6 * 1e-12));
    CHECK(file.results[8].seconds() == Approx(33.3e-6));
}

TEST_CASE("calls with narrower values, or with chosen keys, are not compared with others", "[bench]") {
    std::vector<Comparison> files(1);
    files[0].results.push_back({PeerShape{1, 8, 8, 64, 64, 128, false, "f16"}, "flash", "a.json", 10});
    auto problem = vkf::make<VkfProblem>();
    problem.batch = 1;
    problem.queryHeads = problem.kvHeads = 8;
    problem.queryRows = problem.keys = 64;
    problem.headDim = problem.valueDim = 128;
    problem.q = problem.k = problem.v = problem.o = vkf::dense(VKF_TYPE_F16);
    CHECK(peersOf(peerShapeOf(problem), files).size() == 1);
    CHECK(countedOperations(peerShapeOf(problem)) == 4.0 * 8 * 64 * 64 * 128);
    problem.valueDim = 64;
    CHECK(peersOf(peerShapeOf(problem), files).empty());
    CHECK(countedOperations(peerShapeOf(problem)) == 2.0 * 8 * 64 * 64 * (128 + 64));
    problem.valueDim = 0; // as headDim
    CHECK(peersOf(peerShapeOf(problem), files).size() == 1);
    problem.chosenKeys.count = 16;
    CHECK(peersOf(peerShapeOf(problem), files).empty());
}

TEST_CASE("ggml's times are converted with grouped heads, and other computations are left out", "[bench]") {
    const Converter converter;
    const Comparison file =
        converter.comparison("  Device description: Imaginary GPU\n" + ggmlLine() + ggmlLine("prec=def"));
    CHECK(file.format == "ggml");
    CHECK(file.device == "Imaginary GPU");
    REQUIRE(file.results.size() == 2);
    CHECK(file.results[0].shape == PeerShape{3, 8, 2, 50, 100, 64, false, "f16"});
    CHECK(file.results[0].teraflops == Approx(4.0 * 3 * 8 * 50 * 100 * 64 / 10e-6 * 1e-12));
    CHECK(file.results[0].name == "ggml");
    CHECK(file.results[1].name == "ggml-fp16");
    for (const char* changed :
         {"mask=1", "sinks=1", "max_bias=8.000000", "logit_softcap=10.000000", "hsv=32", "type_V=q8_0"}) {
        INFO(changed);
        CHECK(converter.kept(ggmlLine(changed)) == 0);
    }
    CHECK(converter.kept(ggmlLine("", " not supported [CPU]")) == 0);
    // A mask of few rows does not change the computation.
    std::string line = ggmlLine("mask=1");
    line.replace(line.find("nb=50"), 5, "nb=16");
    CHECK(converter.comparison(line).results.at(0).shape == PeerShape{3, 8, 2, 16, 100, 64, false, "f16"});
    line.replace(line.find("nb=16"), 5, "nb=17");
    CHECK(converter.kept(line) == 0);
}

TEST_CASE("ggml's rows of a test file are converted with the sizes of the tensors", "[bench]") {
    const Converter converter;
    const Comparison file =
        converter.comparison(ggmlTensorLine() + ggmlTensorLine(threeSources, "0:1") + ggmlTensorLine(threeSources, ""));
    REQUIRE(file.results.size() == 3);
    CHECK(file.results[0].shape == PeerShape{3, 8, 2, 50, 100, 64, false, "f16"});
    CHECK(file.results[0].teraflops == Approx(4.0 * 3 * 8 * 50 * 100 * 64 / 10e-6 * 1e-12));
    CHECK(file.results[0].name == "ggml");
    CHECK(file.results[1].name == "ggml-fp16");
    CHECK(file.results[2].name == "ggml-fp16");
    const auto shapeOf = [&](const std::string& sources) {
        return converter.comparison(ggmlTensorLine(sources)).results.at(0).shape;
    };
    CHECK(shapeOf("f32[64,50,8,3],q8_0[64,100,2,3],q8_0[64,100,2,3]") ==
          PeerShape{3, 8, 2, 50, 100, 64, false, "q8_0"});
    CHECK(shapeOf("f32[64,50,8,3],f16[64,100,2,3]nb[2,256,25600,51200],f16[64,100,2,3]") ==
          PeerShape{3, 8, 2, 50, 100, 64, false, "f16"});
    CHECK(converter.kept(ggmlTensorLine(threeSources, "0:1,1:1090519040,3:10")) == 0); // ALiBi
    CHECK(converter.kept(ggmlTensorLine(threeSources, "0:1,2:1092616192,3:10")) == 0); // softcap
    CHECK(converter.kept(ggmlTensorLine(threeSources + ",f16[100,64,1,1]")) == 0);     // a mask
    CHECK(converter.kept(ggmlTensorLine("f32[64,50,8,3],f16[64,100,2,3],f16[32,100,2,3]")) == 0);
    CHECK(converter.kept(ggmlTensorLine("f32[64,50,8,3],f16[64,100,2,3],f32[64,100,2,3]")) == 0);
    const std::string sixteen = "f32[64,16,8,3],f16[64,100,2,3],f16[64,100,2,3]";
    CHECK(converter.kept(ggmlTensorLine(sixteen + ",f16[100,16,1,1]")) == 1);
    CHECK(converter.kept(ggmlTensorLine(sixteen + ",f16[100,16,1,1],f32[8,1,1,1]")) == 0); // sinks
}

TEST_CASE("peers.py records the facts of the run and refuses malformed lines in one line", "[bench]") {
    const Converter converter;
    const Json facts = Json::parse(converter.json("x Y 1\r\nfp32 64 eff 3.5TF\r\n", {"--driver", "Driver 1.2"}));
    CHECK(facts["device"] == "Y");
    CHECK(facts["driver"] == "Driver 1.2");
    CHECK(facts["commit"] == "unknown");
    converter.checkError("", "holds no time");
    converter.checkError("hello\n\nworld\n", "holds no time");
    converter.checkError("x\nd128 n64 b3 causal0 TFLOPs fwd flash=1\n", "line 2: d, n, b, h");
    converter.checkError("d128 n64 b3 h5 causal0 TFLOPs fwd flash", "NAME=TIME");
    converter.checkError("d128 n64 b3 h5 causal0 TFLOPs fwd flash=1 | bwd flash=fast", "a number of TFLOP/s");
    converter.checkError("B1 100 512 flash=1us/1TF", "divides 2048");
    converter.checkError("B1 128 512 flash=40us", "a time in us");
    converter.checkError("decode 1 flash=3us/1GB/s", "numbers of sequences and keys");
    converter.checkError("fp32 4096 eff fast", "TFLOP/s");
    converter.checkError("FLASH_ATTN_EXT(hsk=64", "a list of parameters");
    converter.checkError("FLASH_ATTN_EXT(hsk=64,nb=1): 2 runs - 1.0 us/run - ", "the parameter 'mask'");
    converter.checkError(ggmlLine("", " 200 runs - soon"), "a time in us");
    converter.checkError(ggmlTensorLine("f32[64,50,8,3],f16[64,100,2,3]"), "three sources");
}

TEST_CASE("the benches refuse a file of --compare with the number of the result and its field", "[bench]") {
    CHECK(parseComparison("a.json", resultWith("microseconds", "10")).results[0].seconds() == Approx(10e-6));
    CHECK(parseComparison("a.json", resultWith("name", "\"x\"")).results[0].teraflops == 2);
    for (const char* none : {"", "d128 n64", "[]", "{}", R"({"results": []})", R"({"results": 1})"})
        checkRefused(none, "holds no times; bench/peers.py");
    checkRefused(R"({"results": [{}]})", "\"format\" must be a string");
    checkRefused(fileOf("{}"), "result 1: \"batch\" must be a whole number from 1 to 4294967295");
    for (const char* wrong : {"0", "-1", "1.5", "4294967296", "\"1\"", "null"})
        checkRefused(resultWith("keys", wrong), "result 1: \"keys\" must be a whole number");
    for (const char* wrong : {"0", "-1", "\"1\""}) {
        checkRefused(resultWith("teraflops", wrong), "\"teraflops\" must be a number above 0");
        checkRefused(resultWith("microseconds", wrong), "\"microseconds\" must be a number above 0");
    }
    checkRefused(resultWith("causal", "1"), "\"causal\" must be true or false");
    checkRefused(resultWith("type", "1"), "\"type\" must be a string");
}
