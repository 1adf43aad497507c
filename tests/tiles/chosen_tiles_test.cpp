// SPDX-License-Identifier: MIT
//
// Which tiles the library chooses for a grid of problems on an H200. Tiles for other devices must not change them. No
// device is needed.
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <vkflash/vkflash.hpp>

#include "planning/plan.hpp"
#include "support/described_device.hpp"

namespace {

struct Size {
    const char* name;
    uint32_t batch;
    uint32_t queryHeads;
    uint32_t kvHeads;
    uint32_t rows;
    uint32_t keys;
};

constexpr std::array sizes = {
    Size{"prefill", 1, 16, 16, 4096, 4096},
    Size{"short", 1, 16, 16, 512, 512},
    Size{"few", 1, 32, 8, 16, 8192},
    Size{"decode", 1, 32, 8, 1, 16384},
};

vkf::Caps capsOfH200() {
    vkf::Caps caps = vkf::test::matrixCaps();
    caps.driver = VK_DRIVER_ID_NVIDIA_PROPRIETARY;
    caps.vendorId = 0x10de;
    caps.features |= VKF_FEATURE_BFLOAT16_MATRIX;
    caps.bf16Matrix = caps.f16Matrix;
    return caps;
}

VkfProblem problemOf(VkfPath path, VkfType type, uint32_t dim, const Size& size) {
    auto problem = vkf::make<VkfProblem>();
    problem.path = path;
    problem.batch = size.batch;
    problem.queryHeads = size.queryHeads;
    problem.kvHeads = dim > 256 ? 1 : size.kvHeads;
    problem.queryRows = size.rows;
    problem.keys = size.keys;
    problem.headDim = dim;
    problem.valueDim = dim > 256 ? 512 : dim;
    const bool blocks = type == VKF_TYPE_Q8_0;
    problem.q = problem.o = vkf::dense(blocks ? VKF_TYPE_F16 : type);
    problem.k = problem.v = vkf::dense(type);
    return problem;
}

std::vector<std::string> chosenTiles(const vkf::Caps& caps) {
    std::vector<std::string> lines;
    for (const VkfPath path :
         {VKF_PATH_AUTO, VKF_PATH_SCALAR, VKF_PATH_STANDARD, VKF_PATH_COOPMAT, VKF_PATH_DECODE, VKF_PATH_KEY_OUTER}) {
        for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_Q8_0}) {
            for (const uint32_t dim : {64U, 80U, 128U, 256U, 576U}) {
                for (const Size& size : sizes) {
                    for (const bool causal : {false, true}) {
                        VkfProblem problem = problemOf(path, type, dim, size);
                        vkf::enable(problem, VKF_USE_CAUSAL, causal);
                        vkf::CheckedProblem checked{};
                        vkf::AttentionPlan made;
                        if (vkf::checkProblem(&problem, &checked, nullptr) != VKF_SUCCESS ||
                            vkf::makePlan({caps}, checked, &made, nullptr) != VKF_SUCCESS) {
                            continue;
                        }
                        std::ostringstream line;
                        line << vkfPathName(path) << ' ' << vkfTypeName(type) << " D=" << dim << ' ' << size.name
                             << (causal != 0 ? " causal: " : ": ") << vkfPathName(made.path) << ' ' << made.tile.rows
                             << 'x' << made.tile.keys << ' ' << made.tileText;
                        lines.push_back(line.str());
                    }
                }
            }
        }
    }
    return lines;
}

} // namespace

TEST_CASE("the tiles for an H200 are those of the list", "[tiles]") {
    std::ifstream file("tests/golden/h200_tiles.txt");
    REQUIRE(file);
    std::vector<std::string> expected;
    for (std::string line; std::getline(file, line);) {
        expected.push_back(line);
    }
    const std::vector<std::string> chosen = chosenTiles(capsOfH200());
    CHECK(chosen.size() == expected.size());
    for (size_t i = 0; i < chosen.size() && i < expected.size(); i++) {
        CHECK(chosen[i] == expected[i]);
    }
}
