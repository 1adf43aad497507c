// SPDX-License-Identifier: MIT
//
// Reads the times of other implementations from the output of their own programs:
//   PyTorch   bench/pytorch.py:
//             "d128 n512 b32 h16 causal0 TFLOPs fwd flash=281 cudnn=466 | bwd flash=164",
//             "B1 128 512 flash=40us/53TF", "fp32 4096 eff 44.9TF", "decode 1 4096 flash=36.1us/464GB/s"
//   ggml      test-backend-ops perf -o FLASH_ATTN_EXT: "FLASH_ATTN_EXT(hsk=128,...): 7 runs - 9.5 us/run - ..."
//             with --test-file: "FLASH_ATTN_EXT(name=a,...,sources=f32[64,512,32,1],...): 7 runs - 9.5 us/run - ..."
// The reader ignores lines of other kinds. A line that begins like one of these and goes on differently is an error.
#ifndef VKFLASH_TOOLS_PEER_RESULTS_HPP
#define VKFLASH_TOOLS_PEER_RESULTS_HPP

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vkf::tools {

// Two times are compared only if all these fields are equal.
struct PeerShape {
    uint32_t batch = 1;
    uint32_t queryHeads = 0;
    uint32_t kvHeads = 0;
    uint32_t queryRows = 0;
    uint32_t keys = 0;
    uint32_t headDim = 0;
    bool causal = false;
    std::string type = "f16"; // type of k and v
    bool backward = false;    // the backward pass alone

    bool operator==(const PeerShape&) const = default;
};

// 4 B H N K D operations, half of them if causal. 2.5 times as many for the backward pass.
double countedOperations(const PeerShape& shape);

struct PeerResult {
    PeerShape shape;
    std::string name; // "flash", "cudnn", "ggml", ...
    double teraflops = 0;
};

struct PeerFile {
    std::string_view format; // "PyTorch" or "ggml"
    std::string device;
    std::vector<PeerResult> results;
};

// `text` is the text of a whole file. Throws FormatError (tensor_file.hpp) if a line is malformed or if the text has no
// result. Its one sentence names the line and the problem.
PeerFile parsePeerResults(std::string_view text);

} // namespace vkf::tools

#endif
