// SPDX-License-Identifier: MIT
//
// Reads the output of other programs. The samples are made up in the form of these programs.
#include <string>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "bench/peers/peer_results.hpp"
#include "tensors/tensor_file.hpp"

using namespace vkf::tools;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

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

void checkError(const std::string& text, const std::string& words) {
    INFO(text);
    CHECK_THROWS_MATCHES(parsePeerResults(text), FormatError, MessageMatches(ContainsSubstring(words)));
}

} // namespace

TEST_CASE("PyTorch's times are read with their shapes", "[files]") {
    const PeerFile file = parsePeerResults(pytorch);
    CHECK(file.format == "PyTorch");
    CHECK(file.device == "Imaginary GPU 2");
    REQUIRE(file.results.size() == 9);
    const PeerShape full{3, 5, 5, 64, 64, 128, false, "f16"};
    CHECK(file.results[0].shape == full);
    CHECK(file.results[0].name == "flash");
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
}

TEST_CASE("ggml's times are read with grouped heads and the operations of the shape", "[files]") {
    const PeerFile file = parsePeerResults("  Device description: Imaginary GPU\n" + ggmlLine() + ggmlLine("prec=def"));
    CHECK(file.format == "ggml");
    CHECK(file.device == "Imaginary GPU");
    REQUIRE(file.results.size() == 2);
    CHECK(file.results[0].shape == PeerShape{3, 8, 2, 50, 100, 64, false, "f16"});
    CHECK(file.results[0].teraflops == Approx(4.0 * 3 * 8 * 50 * 100 * 64 / 10e-6 * 1e-12));
    CHECK(file.results[0].name == "ggml");
    CHECK(file.results[1].name == "ggml-fp16");
}

TEST_CASE("ggml's times of other computations are ignored", "[files]") {
    for (const char* changed :
         {"mask=1", "sinks=1", "max_bias=8.000000", "logit_softcap=10.000000", "hsv=32", "type_V=q8_0"}) {
        INFO(changed);
        CHECK(parsePeerResults(ggmlLine() + ggmlLine(changed)).results.size() == 1);
    }
    CHECK(parsePeerResults(ggmlLine() + ggmlLine("", " not supported [CPU]")).results.size() == 1);
}

TEST_CASE("a mask tensor of few rows does not change the computation", "[files]") {
    std::string line = ggmlLine("mask=1");
    line.replace(line.find("nb=50"), 5, "nb=16");
    CHECK(parsePeerResults(line).results.at(0).shape == PeerShape{3, 8, 2, 16, 100, 64, false, "f16"});
    line.replace(line.find("nb=16"), 5, "nb=17");
    CHECK(parsePeerResults(ggmlLine() + line).results.size() == 1);
}

TEST_CASE("ggml's rows of a test file are read with the sizes of the tensors", "[files]") {
    const PeerFile file =
        parsePeerResults(ggmlTensorLine() + ggmlTensorLine(threeSources, "0:1") + ggmlTensorLine(threeSources, ""));
    CHECK(file.format == "ggml");
    REQUIRE(file.results.size() == 3);
    CHECK(file.results[0].shape == PeerShape{3, 8, 2, 50, 100, 64, false, "f16"});
    CHECK(file.results[0].teraflops == Approx(4.0 * 3 * 8 * 50 * 100 * 64 / 10e-6 * 1e-12));
    CHECK(file.results[0].name == "ggml");
    CHECK(file.results[1].name == "ggml-fp16");
    CHECK(file.results[2].name == "ggml-fp16");
    CHECK(parsePeerResults(ggmlTensorLine("f32[64,50,8,3],q8_0[64,100,2,3],q8_0[64,100,2,3]")).results.at(0).shape ==
          PeerShape{3, 8, 2, 50, 100, 64, false, "q8_0"});
    const std::string gaps = "f32[64,50,8,3],f16[64,100,2,3]nb[2,256,25600,51200],f16[64,100,2,3]";
    CHECK(parsePeerResults(ggmlTensorLine(gaps)).results.at(0).shape == PeerShape{3, 8, 2, 50, 100, 64, false, "f16"});
}

TEST_CASE("ggml's rows of a test file with other computations are ignored", "[files]") {
    const auto kept = [](const std::string& line) { return parsePeerResults(ggmlLine() + line).results.size() - 1; };
    CHECK(kept(ggmlTensorLine(threeSources, "0:1,1:1090519040,3:10")) == 0); // ALiBi
    CHECK(kept(ggmlTensorLine(threeSources, "0:1,2:1092616192,3:10")) == 0); // softcap
    CHECK(kept(ggmlTensorLine(threeSources + ",f16[100,64,1,1]")) == 0);     // a mask
    CHECK(kept(ggmlTensorLine("f32[64,50,8,3],f16[64,100,2,3],f16[32,100,2,3]")) == 0);
    CHECK(kept(ggmlTensorLine("f32[64,50,8,3],f16[64,100,2,3],f32[64,100,2,3]")) == 0);
    const std::string sixteen = "f32[64,16,8,3],f16[64,100,2,3],f16[64,100,2,3]";
    CHECK(kept(ggmlTensorLine(sixteen + ",f16[100,16,1,1]")) == 1);
    CHECK(kept(ggmlTensorLine(sixteen + ",f16[100,16,1,1],f32[8,1,1,1]")) == 0); // sinks
}

TEST_CASE("line ends of other systems and a missing last one change nothing", "[files]") {
    CHECK(parsePeerResults("x Y 1\r\nfp32 64 eff 3.5TF\r\n").results.size() == 1);
    CHECK(parsePeerResults("x Y 1\r\nfp32 64 eff 3.5TF\r\n").device == "Y");
    CHECK(parsePeerResults("fp32 64 eff 3.5TF").results.size() == 1);
}

TEST_CASE("malformed lines of peers are refused by number and by what is missing", "[files]") {
    checkError("", "holds no time");
    checkError("hello\n\nworld\n", "holds no time");
    checkError("x\nd128 n64 b3 causal0 TFLOPs fwd flash=1\n", "line 2: \" h\" is expected");
    checkError("d128 n0 b3 h5 causal0 TFLOPs fwd flash=1", "line 1: a number of rows");
    checkError("d128 n99999999999 b3 h5 causal0 TFLOPs fwd flash=1", "a number of rows");
    checkError("d128 n64 b3 h5 causal0 TFLOPs fwd flash", "\"=\" is expected");
    checkError("d128 n64 b3 h5 causal0 TFLOPs fwd flash=", "a number of TFLOP/s");
    checkError("d128 n64 b3 h5 causal0 TFLOPs fwd flash=nan", "a number of TFLOP/s");
    checkError("d128 n64 b3 h5 causal0 TFLOPs fwd flash=-1", "a number of TFLOP/s");
    checkError("d128 n64 b3 h5 causal0 TFLOPs fwd flash=0", "a number of TFLOP/s");
    checkError("d128 n64 b3 h5 causal0 TFLOPs fwd flash=1 | fwd flash=2", "\" bwd\" is expected");
    checkError("d128 n64 b3 h5 causal0 TFLOPs fwd flash=1 | bwd flash=fast", "a number of TFLOP/s");
    checkError("B1 100 512 flash=1us/1TF", "divides 2048");
    checkError("B1 128 512 flash=40us", "\"us/\"");
    checkError("decode 1 flash=3us/1GB/s", "a number of keys");
    checkError("decode 1 64 flash=3us", "\"us/\"");
    checkError("fp32 4096 eff fast", "a number of TFLOP/s");
    checkError("FLASH_ATTN_EXT(hsk=64", "\")\"");
    checkError("FLASH_ATTN_EXT(hsk=64): 2 runs - 1.0 us/run - ", "the parameter mask");
    checkError(ggmlLine("", " 200 runs - soon"), "a time in us");
    checkError(ggmlLine("kv=many"), "a whole number");
    checkError(ggmlTensorLine("f32[64,50,8,3],f16[64,100,2,3]"), "three sources");
    checkError(ggmlTensorLine("f32[64,50,8],f16[64,100,2,3],f16[64,100,2,3]"), "\",\"");
    checkError(ggmlTensorLine("f32[64,0,8,3],f16[64,100,2,3],f16[64,100,2,3]"), "four sizes");
    checkError(ggmlTensorLine("f32"), "\"[\"");
    checkError(ggmlTensorLine(threeSources, "0"), "\":\"");
    checkError(ggmlTensorLine(threeSources, "0:many"), "a number in op_params");
    std::string longLine(100000, 'd');
    longLine += "\nd1";
    checkError(longLine, "\" n\"");
}
