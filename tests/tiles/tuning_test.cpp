// SPDX-License-Identifier: MIT
//
// Tuning data: what the library reads and refuses, which tiles it selects, and that results are right in any case.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <vkflash/tuning.h>
#include <vkflash/vkflash.hpp>

#include "kernels/backward/backward_runs.hpp"
#include "planning/backward/backward_plan.hpp"
#include "planning/plan.hpp"
#include "support/call.hpp"
#include "support/described_device.hpp"
#include "support/device.hpp"
#include "support/lacking.hpp"
#include "tiles/coopmat_tile.hpp"
#include "tiles/tuning_file.hpp"

namespace {

using Catch::Matchers::ContainsSubstring;
using vkf::test::matrixCaps;
using vkf::test::Outcome;
using vkf::test::problemOf;
using vkf::test::runCall;
using vkf::test::testDevice;

constexpr vkf::DeviceIdentity device = {0x10de, 0x2335, VK_DRIVER_ID_NVIDIA_PROPRIETARY};
const std::string head = "vkflash tuning 1\ndevice vendor=0x10de device=0x2335 driver=4\n";
const std::string anySize = " rows=0..4294967295 keys=0..4294967295 heads=0..4294967295 ";
const std::string scalarTile = "groups=8 lanes=16 threadRows=2 threadKeys=4 chunkDim4=8 chunkKeys=16";
const std::string scalar = "scalar type=f32 masked=no headDim=64 valueDim=1..256" + anySize + scalarTile;
const std::string matrix =
    "coopmat type=f16 masked=no headDim=64 valueDim=64" + anySize + "subgroups=2 rowTiles=1 keyTiles=3 splits=5";
const std::string backwardTile = "subgroups=6 ownedTiles=1 steps=3 stages=2 depthSubgroups=2";

// An entry for a kernel of the backward pass: dq, dk, dv or dk-dv.
std::string backwardEntry(const std::string& kernel, const std::string& tile = backwardTile) {
    return "coopmat-" + kernel + " type=f16 masked=no headDim=64 valueDim=64" + anySize + tile + "\n";
}

// The element layout of NVIDIA's driver.
const std::string elements = "0.1,0.8,8.0/0.2,0.4,1.0,2.0,4.0";
const std::string layoutLine = "matrix type=f16 rows=16 columns=16 depth=16 lanes=32 result=" + elements +
                               " left=" + elements + " right=1.0,8.0,0.8/2.0,4.0,0.1,0.2,0.4";

vkf::TuningData dataOf(const std::string& text) {
    vkf::TuningData data;
    VkfMessage message{};
    const VkfResult result = vkf::readTuning(text, device, &data, &message);
    INFO(text << "\n" << message.text);
    REQUIRE(result == VKF_SUCCESS);
    return data;
}

std::vector<vkf::TuningEntry> entriesOf(const std::string& text) { return dataOf(text).entries; }

// The text with its first occurrence of `from` replaced.
std::string with(std::string text, const std::string& from, const std::string& to) {
    const size_t place = text.find(from);
    REQUIRE(place != std::string::npos);
    return text.replace(place, from.size(), to);
}

// A described device and its tuning data.
struct Tuned {
    vkf::Caps caps;
    std::vector<vkf::TuningEntry> tuning;
};

vkf::AttentionPlan planOf(const Tuned& tuned, const VkfProblem& problem) {
    vkf::CheckedProblem checked{};
    REQUIRE(vkf::checkProblem(&problem, &checked, nullptr) == VKF_SUCCESS);
    vkf::AttentionPlan made;
    VkfMessage message{};
    const VkfResult result = vkf::makePlan({tuned.caps, tuned.tuning}, checked, &made, &message);
    INFO(message.text);
    REQUIRE(result == VKF_SUCCESS);
    return made;
}

vkf::BackwardPlan backwardPlan(const Tuned& tuned, const VkfProblem& forward,
                               VkfGradients gradients = VKF_GRADIENT_Q | VKF_GRADIENT_K | VKF_GRADIENT_V) {
    VkfBackwardProblem problem = vkf::test::backwardOf(forward, gradients);
    const auto typeOf = [&](VkfGradients bit, const VkfTensor& wanted) {
        return (gradients & bit) != 0 ? wanted.type : VKF_TYPE_F32;
    };
    problem.dq.type = typeOf(VKF_GRADIENT_Q, problem.dq);
    problem.dk.type = typeOf(VKF_GRADIENT_K, problem.dk);
    problem.dv.type = typeOf(VKF_GRADIENT_V, problem.dv);
    vkf::CheckedBackward checked{};
    REQUIRE(vkf::checkBackward(&problem, &checked, nullptr) == VKF_SUCCESS);
    vkf::BackwardPlan made;
    VkfMessage message{};
    const VkfResult result = vkf::makeBackwardPlan({tuned.caps, tuned.tuning}, checked, &made, &message);
    INFO(message.text);
    REQUIRE(result == VKF_SUCCESS);
    return made;
}

Tuned tunedBy(const std::string& text) {
    Tuned tuned = {matrixCaps(), entriesOf(text)};
    tuned.caps.driver = VK_DRIVER_ID_NVIDIA_PROPRIETARY;
    return tuned;
}

} // namespace

TEST_CASE("tuning data is read as it was written", "[tuning]") {
    const std::vector<vkf::TuningEntry> entries =
        entriesOf(head + "# a remark\n\n  " + scalar + " # another\r\n" + matrix);
    REQUIRE(entries.size() == 2);
    CHECK(entries[0].path == VKF_PATH_SCALAR);
    CHECK(entries[0].type == VKF_TYPE_F32);
    CHECK_FALSE(entries[0].masked);
    CHECK(entries[0].headDim.least == 64);
    CHECK(entries[0].headDim.most == 64);
    CHECK(entries[0].valueDim.most == 256);
    CHECK(entries[0].rows.most == 4294967295U);
    CHECK(vkf::tileText(entries[0].scalar) == scalarTile);
    CHECK(entries[1].path == VKF_PATH_COOPMAT);
    CHECK(vkf::tileText(entries[1].coopmat) == "subgroups=2 rowTiles=1 keyTiles=3 splits=5");
    CHECK(entriesOf("vkflash tuning 1").empty());
    const std::vector<vkf::TuningEntry> backward =
        entriesOf(head + backwardEntry("dq") + backwardEntry("dk") + backwardEntry("dv") + backwardEntry("dk-dv"));
    REQUIRE(backward.size() == 4);
    CHECK(backward[0].kernel == vkf::TunedKernel::dq);
    CHECK(backward[3].kernel == vkf::TunedKernel::dkAndDv);
    for (const vkf::TuningEntry& entry : backward) {
        CHECK(entry.path == VKF_PATH_COOPMAT);
        CHECK(vkf::tileText(entry.backward) == backwardTile);
    }
    // Fields may have any order.
    CHECK(entriesOf(head + with(with(scalar, "type=f32 ", ""), "masked=no", "masked=yes type=bf16"))[0].masked);
}

TEST_CASE("element layouts of tuning data are read as they were written, and are not entries", "[tuning]") {
    const vkf::TuningData data = dataOf(head + layoutLine + "\n" + scalar + "\n" + with(layoutLine, "=f16", "=bf16"));
    CHECK(data.entries.size() == 1);
    REQUIRE(data.matrixLayouts.size() == 2);
    const VkfMatrixLayout expected =
        vkf::test::applicationLayout(VKF_TYPE_F16, vkf::knownMatrixLayout(VK_DRIVER_ID_NVIDIA_PROPRIETARY, 32, 16, 16));
    CHECK(std::memcmp(&data.matrixLayouts[0], &expected, sizeof expected) == 0);
    CHECK(data.matrixLayouts[1].type == VKF_TYPE_BF16);
    // Layouts of other devices, and those that kernels cannot use, are left out.
    CHECK(dataOf(with(head, "0x2335", "0x2336") + layoutLine).matrixLayouts.empty());
    CHECK(dataOf(head + with(layoutLine, "left=0.1,0.8", "left=0.8,0.1")).matrixLayouts.empty());
}

TEST_CASE("tuning data of other devices is checked and ignored", "[tuning]") {
    for (const auto& [from, to] : {std::pair{"0x10de", "0x10df"}, std::pair{"0x2335", "9014"}, std::pair{"=4", "=5"}}) {
        const std::string other = with(head, from, to);
        CHECK(entriesOf(other + scalar).empty());
        CHECK(entriesOf(fmt::format("{}{}\ndevice device=0x2335 vendor=4318 driver=4\n{}", other, scalar, matrix))
                  .size() == 1);
        vkf::TuningData data;
        CHECK(vkf::readTuning(other + "scalar", device, &data, nullptr) == VKF_ERROR_INVALID_ARGUMENT);
    }
}

TEST_CASE("tuning data that is not well formed is refused by line and field", "[tuning]") {
    struct Refused {
        std::string text;
        const char* words;
    };
    const auto entry = [](const std::string& from, const std::string& to) { return head + with(scalar, from, to); };
    const auto layout = [](const std::string& from, const std::string& to) {
        return head + with(layoutLine, from, to);
    };
    const Refused table[] = {
        {"", "line 1: does not start with \"vkflash tuning\""},
        {std::string(300, '\xff'), "line 1: does not start"},
        {"\n" + head, "line 1: does not start"},
        {"vkflash tuning x", "version x is not known; this library reads version 1"},
        {"vkflash tuning 1\n" + scalar, "line 2: an entry stands before the first device line"},
        {"vkflash tuning 1\ndevice vendor=1 device=2", "line 2: driver is missing"},
        {"vkflash tuning 1\ndevice vendor=1 device=2 driver=-1", "line 2: driver=-1: takes a whole number from 0"},
        {head + "decode type=f16", "line 3: starts with decode, not with device, matrix or the name of an entry"},
        {head + "scalar-dq type=f16", "line 3: starts with scalar-dq, not with device"},
        {head + with(backwardEntry("dq"), " steps=3", ""), "line 3: steps is missing"},
        {head + with(backwardEntry("dq"), "steps=3", "steps=9"), "line 3: steps=9: takes a whole number from 1 to 8"},
        {head + with(backwardEntry("dv"), "stages=2", "stages=3"),
         "line 3: stages=3: takes a whole number from 1 to 2"},
        {head + with(backwardEntry("dk"), "stages=2", "splits=2 stages=2"), "line 3: splits is not a field here"},
        {head + with(backwardEntry("dk-dv"), "subgroups=6", "subgroups=5"),
         "line 3: depthSubgroups=2: must divide subgroups"},
        {head + "\n\n\x01\x02", "line 5: starts with ??"},
        {entry("type=f32", "type=f64"), "line 3: type=f64: takes f32, f16 or bf16"},
        {entry("type=f32", "type"), "line 3: type has no value"},
        {entry("type=f32", ""), "line 3: type is missing"},
        {entry("masked=no", "masked=0"), "line 3: masked=0: takes yes or no"},
        {entry("headDim=64", "headDim=64 headDim=64"), "line 3: headDim is given twice"},
        {entry("headDim=64", "headDim=257"), "headDim=257: takes a whole number from 1 to 256"},
        {entry("headDim=64", "headDim=64..63"), "headDim=64..63: the range is empty"},
        {entry("headDim=64", "headDim=64.."), "headDim=: takes a whole number"},
        {entry("headDim=64", "headDim=64x"), "headDim=64x: takes a whole number"},
        {entry("rows=0..4294967295", "rows=0..4294967296"), "rows=4294967296: takes a whole number"},
        {entry("groups=8", "groups=0"), "groups=0: takes a whole number from 1 to 1024"},
        {entry("groups=8", "subgroups=8"), "line 3: subgroups is not a field here"},
        {entry("lanes=16", "lanes=12"), "lanes=12: must be a power of two"},
        {entry("lanes=16", "lanes=2"), "lanes=2: takes a whole number from 4 to 64"},
        {entry("chunkKeys=16", "chunkKeys=24"), "chunkKeys=24: must be lanes times a power of two"},
        {entry("chunkKeys=16", "chunkKeys=128"), "chunkKeys=128: must be lanes times a power of two that divides"},
        {entry("threadKeys=4", "threadKeys=17"), "threadKeys=17: takes a whole number from 1 to 16"},
        {entry("groups=8", "splits=0 groups=8"), "splits=0: takes a whole number from 1 to 1024"},
        {entry("groups=8", "splits= groups=8"), "splits has no value"},
        {head + with(matrix, " splits=5", ""), "splits is missing"},
        {head + with(matrix, "splits=5", "splits=1025"), "splits=1025: takes a whole number from 1 to 1024"},
        {head + with(matrix, "rowTiles=1", "rowTiles=0"), "rowTiles=0: takes a whole number from 1 to 4"},
        {"vkflash tuning 1\n" + layoutLine, "line 2: an entry stands before the first device line"},
        {layout("type=f16", "type=f32"), "line 3: type=f32: takes f16 or bf16"},
        {layout("rows=16", "rows=0"), "line 3: rows=0: takes a whole number from 1 to 256"},
        {layout("lanes=32", ""), "line 3: lanes is missing"},
        {layout(" right=1.0,8.0,0.8/2.0,4.0,0.1,0.2,0.4", ""), "line 3: right is missing"},
        {layout(",8.0/", "/"), "line 3: result: not a permutation"},
        {layout("0.4,1.0,2.0,4.0 left", "0.4,1.0,2.0 left"), "line 3: result: not a permutation"},
        {layout("/0.2,0.4,1.0,2.0,4.0 left", " left"), "line 3: result: not a permutation"},
        {layout("right=1.0", "right=2.0"), "line 3: right: not a permutation"},
        {layout("right=1.0", "right=1"), "line 3: right=: takes a whole number from 0 to 256"},
        {layout("right=1.0", "right=1.x"), "line 3: right=x: takes a whole number from 0 to 256"},
        {layout("right=1.0", "right=,1.0"), "line 3: right=: takes a whole number from 0 to 256"},
        {layout("right=1.0", "right=1.0,0.0,0.0,0.0,0.0,0.0,0.0"), "line 3: right: more than 8 bits"},
        {with(head, "0x2335", "0x2336") + with(layoutLine, "right=1.0", "right=2.0"), "right: not a permutation"},
    };
    for (const Refused& refused : table) {
        INFO(refused.text);
        VkfMessage message{};
        vkf::TuningData data;
        data.entries.resize(3);
        data.matrixLayouts.resize(2);
        const VkfResult result = vkf::readTuning(refused.text, device, &data, &message);
        CHECK(result == (refused.text == "vkflash tuning x" ? VKF_ERROR_UNSUPPORTED : VKF_ERROR_INVALID_ARGUMENT));
        CHECK(data.entries.size() == 3);
        CHECK(data.matrixLayouts.size() == 2);
        CHECK_THAT(std::string(message.text), ContainsSubstring(refused.words));
        CHECK(vkfCheckTuning(refused.text.data(), refused.text.size(), nullptr) == result);
    }
    VkfMessage message{};
    vkf::TuningData data;
    CHECK(vkf::readTuning("vkflash tuning 2", device, &data, &message) == VKF_ERROR_UNSUPPORTED);
    std::string many = head;
    for (int i = 0; i < 4097; i++) {
        many += scalar + "\n";
    }
    CHECK(vkf::readTuning(many, device, &data, &message) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(std::string(message.text), ContainsSubstring("line 4099: more than 4096 entries"));
    CHECK(vkfCheckTuning(nullptr, 0, &message) == VKF_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("the first entry about a problem that fits the device decides about its tile", "[tuning]") {
    const VkfProblem problem = problemOf({1, 16, 16, 4096, 4096, 64});
    const Tuned tunedDevice = tunedBy(head + scalar);
    const vkf::AttentionPlan tuned = planOf(tunedDevice, problem);
    CHECK(tuned.tuned);
    CHECK(tuned.tileText == scalarTile);
    CHECK(tuned.tile.rows == 16);
    CHECK_FALSE(planOf(tunedBy("vkflash tuning 1"), problem).tuned);

    const auto takesEntry = [&](const std::string& entries, const VkfProblem& p) {
        return planOf(tunedBy(head + entries), p).tuned;
    };
    const std::pair<const char*, const char*> others[] = {
        {"type=f32", "type=f16"},
        {"masked=no", "masked=yes"},
        {"headDim=64", "headDim=65..128"},
        {"valueDim=1..256", "valueDim=63"},
        {"rows=0..4294967295", "rows=0..4095"},
        {"keys=0..4294967295", "keys=4097..5000"},
        {"heads=0..4294967295", "heads=17"},
    };
    for (const auto& [from, to] : others) {
        INFO(to);
        CHECK_FALSE(takesEntry(with(scalar, from, to), problem));
        const std::string both = fmt::format("{}{}\n{}", head, with(scalar, from, to), scalar);
        CHECK(planOf(tunedBy(both), problem).tileText == scalarTile);
    }
    VkfProblem causal = problem;
    causal.use |= VKF_USE_CAUSAL;
    CHECK_FALSE(takesEntry(scalar, causal));
    CHECK(takesEntry(with(scalar, "masked=no", "masked=yes"), causal));
    // Keys are the keys that a row may see.
    causal.use |= VKF_USE_WINDOW;
    causal.window.left = 99;
    CHECK(takesEntry(with(with(scalar, "masked=no", "masked=yes"), "keys=0..4294967295", "keys=100"), causal));
    VkfProblem mixed = problem;
    mixed.o.type = VKF_TYPE_F16;
    CHECK_FALSE(takesEntry(scalar, mixed));
    VkfProblem standard = problem;
    standard.path = VKF_PATH_STANDARD;
    CHECK_FALSE(takesEntry(scalar, standard));
    CHECK_FALSE(planOf(tunedDevice, standard).tuned);
}

TEST_CASE("entries of the backward pass decide about the tiles of its kernels", "[tuning]") {
    VkfProblem problem = problemOf({1, 16, 16, 4096, 4096, 64, 0, VKF_TYPE_F16});
    const vkf::BackwardPlan builtIn = backwardPlan(tunedBy(head + matrix), problem);
    CHECK_FALSE(builtIn.tuned);
    const vkf::BackwardPlan rows = backwardPlan(tunedBy(head + backwardEntry("dq")), problem);
    CHECK(rows.tuned);
    CHECK(rows.rowTileText == backwardTile);
    CHECK(rows.keyTileText == builtIn.keyTileText);
    const vkf::BackwardPlan keys = backwardPlan(tunedBy(head + backwardEntry("dk-dv")), problem);
    CHECK(keys.tuned);
    CHECK(keys.rowTileText == builtIn.rowTileText);
    CHECK(keys.keyTileText == backwardTile);
    // Entries of both kernels divide what the library would put into one kernel.
    const std::string one = "subgroups=2 ownedTiles=1 steps=1 stages=1 depthSubgroups=1";
    const Tuned both = tunedBy(head + backwardEntry("dk") + backwardEntry("dv", one));
    CHECK(backwardPlan(both, problem).keyTileText == backwardTile + "; " + one);
    CHECK(backwardPlan(tunedBy(head + backwardEntry("dk")), problem).keyTileText == builtIn.keyTileText);
    CHECK(backwardPlan(both, problem, VKF_GRADIENT_K).keyTileText == backwardTile);
    CHECK(backwardPlan(both, problem, VKF_GRADIENT_V).keyTileText == one);
    // Another class, and a tile that does not fit.
    for (const auto& [from, to] : {std::pair{"type=f16", "type=bf16"}, std::pair{"headDim=64", "headDim=63"},
                                   std::pair{"masked=no", "masked=yes"}, std::pair{"subgroups=6", "subgroups=34"},
                                   std::pair{"ownedTiles=1", "ownedTiles=4"}, std::pair{"steps=3", "steps=8"}}) {
        INFO(to);
        CHECK_FALSE(backwardPlan(tunedBy(head + with(backwardEntry("dk-dv"), from, to)), problem).tuned);
    }
    // The forward pass has its own entries.
    CHECK_FALSE(planOf(tunedBy(head + backwardEntry("dq")), problem).tuned);
    // Packed sequences have one list of tile sequences, so both kernels own the same keys.
    vkf::enable(problem, VKF_USE_CU_SEQLENS);
    CHECK(backwardPlan(both, problem).keyTileText == backwardTile + "; " + backwardTile);
}

TEST_CASE("an entry whose tile does not fit the device is passed over", "[tuning]") {
    const VkfProblem problem = problemOf({1, 16, 16, 4096, 4096, 64});
    const auto tuned = [&](const std::string& from, const std::string& to) {
        return planOf(tunedBy(head + with(scalar, from, to)), problem).tuned;
    };
    CHECK(tuned("lanes=16", "lanes=16"));
    CHECK_FALSE(tuned("groups=8", "groups=7"));   // not a multiple of the subgroup size 32
    CHECK_FALSE(tuned("groups=8", "groups=128")); // 2048 invocations
    CHECK_FALSE(tuned("groups=8 lanes=16 threadRows=2", "groups=64 lanes=16 threadRows=16")); // shared memory
    CHECK_FALSE(tuned("threadRows=2 threadKeys=4", "threadRows=16 threadKeys=16"));           // registers
    CHECK_FALSE(tuned("lanes=16 threadRows=2 threadKeys=4 chunkDim4=8 chunkKeys=16",
                      "lanes=64 threadRows=2 threadKeys=4 chunkDim4=8 chunkKeys=64")); // lanes span two subgroups
    VkfProblem halves = problemOf({1, 16, 16, 4096, 4096, 64, 0, VKF_TYPE_F16});
    CHECK(planOf(tunedBy(head + matrix), halves).tuned);
    CHECK_FALSE(planOf(tunedBy(head + with(matrix, "subgroups=2", "subgroups=33")), halves).tuned);
    Tuned small = tunedBy(head + matrix);
    small.caps.maxSharedMemoryBytes = 8192;
    CHECK_FALSE(planOf(small, halves).tuned);
}

TEST_CASE("an entry of path scalar may say splits, which a device without a merge passes over", "[tuning]") {
    VkfProblem problem = problemOf({1, 16, 16, 4096, 4096, 64});
    problem.path = VKF_PATH_SCALAR;
    const std::string split = with(scalar, "groups=8", "splits=6 groups=8");
    Tuned tunedDevice = tunedBy(head + split);
    CHECK(vkf::tileText(tunedDevice.tuning[0].scalar) == scalarTile + " splits=6");
    CHECK(planOf(tunedDevice, problem).splits == 6);
    CHECK(planOf(tunedDevice, problem).tileText == scalarTile + " splits=6");
    problem.kvSplits = 2;
    CHECK(planOf(tunedDevice, problem).splits == 2);
    problem.kvSplits = 0;
    CHECK(planOf(tunedBy(head + with(scalar, "groups=8", "splits=1 groups=8")), problem).tileText == scalarTile);
    tunedDevice.caps.features &= ~VkfFeatures{VKF_FEATURE_STORAGE_16BIT};
    CHECK_FALSE(planOf(tunedDevice, problem).tuned);
    const VkfProblem long30 = problemOf({1, 1, 1, VKF_MAX_ROWS, 16, 64});
    CHECK_FALSE(planOf(tunedBy(head + split), long30).tuned);
    CHECK(planOf(tunedBy(head + scalar), long30).tuned);
}

TEST_CASE("an entry decides about splits, unless the problem does or they would be too many", "[tuning]") {
    const Tuned tunedDevice = tunedBy(head + matrix);
    VkfProblem problem = problemOf({1, 16, 16, 4096, 4096, 64, 0, VKF_TYPE_F16});
    CHECK(planOf(tunedDevice, problem).splits == 5);
    CHECK(planOf(tunedDevice, problem).tile.keys == 48);
    problem.path = VKF_PATH_COOPMAT;
    problem.kvSplits = 2;
    CHECK(planOf(tunedDevice, problem).splits == 2);
    CHECK(planOf(tunedDevice, problem).tuned);
    CHECK(planOf(tunedDevice, problem).tileText == "subgroups=2 rowTiles=1 keyTiles=3 splits=2");
    // Nearly 2^30 rows: five splits of each row are more than 32 bits can count. The entry is not taken, and nothing is
    // refused.
    const VkfProblem long30 = problemOf({1, 1, 1, VKF_MAX_ROWS, 16, 64, 0, VKF_TYPE_F16});
    CHECK_FALSE(planOf(tunedDevice, long30).tuned);
}

// ---- On a device -----------------------------------------------------------------------------------------------

namespace {

// Lanes of a tile of path scalar. They must lie in one subgroup.
uint32_t oddLanes() { return std::min(8U, testDevice().summary().subgroupSize); }

// Key splits of a tile of path scalar with masks. They need 16-bit storage.
uint32_t oddSplits() { return vkf::test::lacksStorage16(testDevice()) ? 1 : 4; }

// Tiles that nobody would choose. One class of head dimensions has none.
std::string oddTiles() {
    const std::string dims = " headDim=1..100 valueDim=1..100";
    std::string text;
    for (const char* type : {"f32", "f16"}) {
        for (const char* masked : {"no", "yes"}) {
            text += fmt::format("scalar type={} masked={}{}{}groups=12 lanes={} threadRows=3 threadKeys=5 chunkDim4=3 "
                                "chunkKeys={}{}\n",
                                type, masked, dims, anySize, oddLanes(), oddLanes(),
                                masked[0] == 'y' ? fmt::format(" splits={}", oddSplits()) : "");
        }
    }
    for (const char* masked : {"no", "yes"}) {
        text += fmt::format("coopmat type=f16 masked={}{}{}subgroups=3 rowTiles=3 keyTiles=5 splits=3\n", masked, dims,
                            anySize);
    }
    return text;
}

} // namespace

TEST_CASE("results are right with tiles that nobody would choose", "[library]") {
    vkf::host::DeviceOptions options;
    options.tuning = vkf::test::tuningHead(testDevice()) + oddTiles();
    vkf::host::Device tuned = vkf::test::openTestDevice(options);
    CHECK(vkfGetTuningEntryCount(tuned.context()) == 6);
    CHECK(vkfGetTuningEntryCount(testDevice().context()) == 0);
    CHECK(vkfGetTuningEntryCount(nullptr) == 0);
    for (const VkfPath path : {VKF_PATH_SCALAR, VKF_PATH_COOPMAT}) {
        for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_F16}) {
            for (const bool causal : {false, true}) {
                for (const auto& [rows, keys, dim] : {std::tuple{117U, 211U, 72U}, std::tuple{37U, 38U, 63U}}) {
                    VkfProblem problem = problemOf({2, 2, 1, rows, keys, dim, 0, type});
                    problem.path = path;
                    vkf::enable(problem, VKF_USE_CAUSAL, causal);
                    vkf::enable(problem, VKF_USE_LSE);
                    if (path == VKF_PATH_COOPMAT &&
                        (type == VKF_TYPE_F32 || vkfCheckSupport(tuned.context(), &problem, nullptr) != VKF_SUCCESS)) {
                        continue;
                    }
                    const Outcome outcome = runCall(tuned, problem);
                    INFO(outcome.text());
                    CHECK(outcome.passed());
                    CHECK(outcome.plan.tuned == 1);
                    CHECK(outcome.plan.kvSplits == (path == VKF_PATH_COOPMAT ? 3 : causal ? oddSplits() : 1));
                    CHECK_THAT(std::string(outcome.plan.description), ContainsSubstring(", tuned"));
                    CHECK_THAT(std::string(outcome.plan.tile),
                               ContainsSubstring(path == VKF_PATH_COOPMAT
                                                     ? "subgroups=3 rowTiles=3"
                                                     : fmt::format("groups=12 lanes={}", oddLanes())));
                }
            }
        }
    }
    const Outcome other = runCall(tuned, problemOf({1, 2, 1, 30, 40, 128}));
    CHECK(other.passed());
    CHECK(other.plan.tuned == 0);
}

TEST_CASE("gradients are right with tiles that nobody would choose", "[library]") {
    std::string entries;
    for (const char* masked : {"no", "yes"}) {
        for (const auto& [kernel, tile] :
             {std::pair{"dq", "subgroups=3 ownedTiles=2 steps=3 stages=2 depthSubgroups=1"},
              std::pair{"dk", "subgroups=6 ownedTiles=1 steps=3 stages=1 depthSubgroups=2"},
              std::pair{"dv", "subgroups=5 ownedTiles=2 steps=5 stages=1 depthSubgroups=1"}}) {
            entries += fmt::format("coopmat-{} type=f16 masked={} headDim=1..100 valueDim=1..100{}{}\n", kernel, masked,
                                   anySize, tile);
        }
    }
    vkf::host::DeviceOptions options;
    options.tuning = vkf::test::tuningHead(testDevice()) + entries;
    vkf::host::Device tuned = vkf::test::openTestDevice(options);
    CHECK(vkfGetTuningEntryCount(tuned.context()) == 6);
    for (const bool causal : {false, true}) { // compilers are slow with such tiles
        VkfProblem forward = causal ? problemOf({2, 2, 1, 117, 211, 32, 0, VKF_TYPE_F16})
                                    : problemOf({2, 2, 1, 37, 38, 23, 0, VKF_TYPE_F16});
        forward.path = VKF_PATH_COOPMAT;
        vkf::enable(forward, VKF_USE_CAUSAL, causal);
        const VkfBackwardProblem problem =
            vkf::test::backwardOf(forward, VKF_GRADIENT_Q | VKF_GRADIENT_K | VKF_GRADIENT_V);
        if (vkfCheckBackwardSupport(tuned.context(), &problem, nullptr) != VKF_SUCCESS) {
            SKIP("the device has no cooperative matrices");
        }
        const vkf::test::BackwardOutcome outcome = runBackward(
            tuned, problem, vkf::test::makeInputs(forward, vkf::test::Data{}), vkf::test::makeBackwardInputs(problem));
        INFO(outcome.text());
        CHECK(outcome.passed());
        CHECK(outcome.info.tuned == 1);
        CHECK_THAT(std::string(outcome.info.description), ContainsSubstring(", tuned"));
        CHECK(std::string(outcome.info.rowTile) == "subgroups=3 ownedTiles=2 steps=3 stages=2 depthSubgroups=1");
        CHECK(std::string(outcome.info.keyTile) ==
              "subgroups=6 ownedTiles=1 steps=3 stages=1 depthSubgroups=2; subgroups=5 ownedTiles=2 steps=5 "
              "stages=1 depthSubgroups=1");
    }
}

TEST_CASE("a context takes tuning data or is not created", "[library]") {
    const vkf::host::Device& opened = testDevice();
    auto info = vkf::test::contextInfo(opened);
    const auto create = [&](const char* text, size_t bytes, VkfMessage* message) {
        info.tuning = text;
        info.tuningBytes = bytes;
        VkfContext context = nullptr;
        const VkfResult result = vkfCreateContext(&info, &context, message);
        CHECK((context != nullptr) == (result == VKF_SUCCESS));
        vkfDestroyContext(context);
        return result;
    };
    VkfMessage message{};
    const std::string good = vkf::test::tuningHead(opened) + oddTiles();
    CHECK(create(good.data(), good.size(), &message) == VKF_SUCCESS);
    CHECK(create(good.data(), good.size() - 2, &message) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(std::string(message.text), ContainsSubstring("tuning, line 8: splits has no value"));
    CHECK(create("\x7f"
                 "ELF",
                 4, &message) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(create(nullptr, 7, &message) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(std::string(message.text), ContainsSubstring("tuningBytes is 7"));
    CHECK(create("garbage", 0, &message) == VKF_SUCCESS);
    CHECK(create("vkflash tuning 2\n", 17, &message) == VKF_ERROR_UNSUPPORTED);
    info.structSize = offsetof(VkfContextCreateInfo, tuningBytes);
    CHECK(create(nullptr, 0, &message) == VKF_ERROR_STRUCT_SIZE);
}
