// SPDX-License-Identifier: MIT
//
// One attention call under test. All bytes that must not matter are poisoned, guards surround every buffer, outputs are
// poisoned before the kernel runs, and a verdict follows.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <vkflash/host.hpp>
#include <vkflash/reference.h>

#include "support/guarded.hpp"

namespace vkf::test {

// A dense problem without optional features. The names are those of the formulas.
struct Shape {
    uint32_t B = 1;
    uint32_t H = 1;
    uint32_t Hkv = 1;
    uint32_t Nq = 1;
    uint32_t Nk = 1;
    uint32_t D = 64;
    uint32_t Dv = 0; // 0 = D
    VkfType type = VKF_TYPE_F32;
};
VkfProblem problemOf(const Shape& shape);

// Puts K and V into pages with this many rows. There are more pages than keys need.
inline void setPages(VkfProblem& problem, uint32_t pageSize, uint32_t unusedPages) {
    enable(problem, VKF_USE_BLOCK_TABLE);
    problem.paging.pageSize = pageSize;
    problem.paging.maxPages = (problem.keys + pageSize - 1) / pageSize + 1;
    problem.paging.pages = problem.batch * problem.paging.maxPages + unusedPages;
}

// Gives k and v of fp8 types scales: 0, 1 or kvHeads numbers each.
inline void setScales(VkfProblem& problem, uint32_t ofK, uint32_t ofV) {
    problem.k.scales = vkfBlockElements(problem.k.type) == 16 ? ofK : 0;
    problem.v.scales = vkfBlockElements(problem.v.type) == 16 ? ofV : 0;
    enable(problem, VKF_USE_KV_SCALES, problem.k.scales + problem.v.scales != 0);
}

// A problem in one line, for INFO and for finding a failing case again.
std::string describe(const VkfProblem& problem);

// Functions of the caller's own: their fp64 formulas, and the arrays that they read.
struct OwnFunctions {
    VkfReferenceFunctions reference{};
    std::vector<std::vector<std::byte>> arrays{};
};

struct Data {
    uint32_t seed = 1;
    double magnitude = 1.0;            // standard deviation of q, k and v
    std::vector<int32_t> keyLengths{}; // if the problem has them
    std::vector<int32_t> rowOffsets{}; // if the problem has them
    std::vector<int32_t> cuSeqlensQ{}; // of packed sequences
    std::vector<int32_t> cuSeqlensK{};
    double maskDensity = 0.5;        // share of keys that a boolean mask keeps, of dropout too
    uint32_t maskSquare = 0;         // not 0 = side of squares in which the mask drops all, keeps all, or is mixed
    uint32_t biasSquare = 0;         // not 0 = side of squares whose bias is 0, -infinity, a mix of both, or any number
    uint32_t documentKeys = 16;      // average number of neighbouring keys of one document
    double blockDensity = 0.5;       // share of open blocks, if the problem has a block mask
    bool poisonInvisibleKeys = true; // k and v rows that no query row sees become NaN
    bool absentPages = true;         // every second block table has entries that are not pages
    uint64_t oOffset = 0;            // elements between the guard and the first element
    const OwnFunctions* functions = nullptr; // of the problem's functions
    // The last change to the inputs.
    std::function<void(std::vector<std::byte>& q, std::vector<std::byte>& k, std::vector<std::byte>& v)> edit{};
};

// Turns the sequences into packed ones with these numbers of rows and keys. With paging the keys stay as they are.
void setPacked(VkfProblem& problem, Data& data, const std::vector<int32_t>& rows, const std::vector<int32_t>& keys);

// Inputs on the host. Gaps between rows hold NaN.
struct Inputs {
    std::vector<std::byte> q, k, v;
    std::vector<int32_t> keyLengths;
    std::vector<uint32_t> blockMask{};
    std::vector<int32_t> blockTable{}; // pages in any order; unused entries are not pages
    std::vector<float> sinks{};
    std::vector<float> alibiSlopes{};
    std::vector<std::byte> bias{};
    std::vector<float> biasFactors{};
    std::vector<std::byte> mask{};
    std::vector<int32_t> documentIds{};
    std::vector<int32_t> cuSeqlensQ{};
    std::vector<int32_t> cuSeqlensK{};
    std::vector<std::byte> dropoutMask{};
    std::vector<uint64_t> dropoutSeed{};    // one, if the problem wants it
    std::vector<int32_t> probabilityRows{}; // in any order, some repeated, some no row
    std::vector<int32_t> rowOffsets{};
    std::vector<float> kvScales{};
    std::vector<int32_t> chosenKeys{}; // random lists (support/lists/chosen_keys.hpp)
    const OwnFunctions* functions = nullptr;
    bool vInK = false; // v is at the address of k
    VkfReferenceInputs reference() const;
    // Makes v a view of k. The content of v is lost.
    void viewV() {
        v.clear();
        vInK = true;
    }
    // The page or sequence of a key, and its row there. The page of an absent key is no page.
    std::pair<uint64_t, uint64_t> placeOf(const VkfProblem& problem, uint64_t batch, uint64_t key) const;
};
Inputs makeInputs(const VkfProblem& problem, const Data& data);

// The inputs of a call in device memory, with guards around each.
struct DeviceInputs {
    DeviceInputs(host::Device& device, const Inputs& inputs);

    // The bindings of all inputs of a problem. Inputs may have arrays that the problem lacks: tests compare a call with
    // an array to one without it.
    VkfBindings bindings(const VkfProblem& problem) const;

    Guarded q, k, v, keyLengths, blockTable, blockMask, sinks, alibiSlopes, bias, mask, documentIds, cuSeqlensQ,
        cuSeqlensK, dropoutMask, dropoutSeed, probabilityRows, biasFactors, rowOffsets, kvScales, chosenKeys;
    std::vector<Guarded> functionArrays;
    bool vInK;
};

struct Outcome {
    VkfVerdict verdict{};
    VkfPlanInfo plan{};
    std::vector<std::byte> o; // the tensor's span, gaps included
    std::vector<float> lse;
    std::vector<float> probabilities;
    VkfProbabilitiesVerdict probabilitiesVerdict{}; // passed without probabilities
    bool gapsIntact = false;                        // bytes of o's span between rows still hold the poison
    bool guardsIntact = false; // bytes before and after o, lse, probabilities and scratch still hold the poison
    bool passed() const {
        return verdict.passed != 0 && probabilitiesVerdict.passed != 0 && gapsIntact && guardsIntact;
    }
    std::string text() const;
};

// Plans and runs the problem on the device, and compares it with the fp64 reference. Throws host::Error if the library
// refuses. A device without 16-bit storage computes the problem as `fitted` (support/lacking.hpp) changes it; with
// given inputs, the test case is skipped instead.
Outcome runCall(host::Device& device, const VkfProblem& problem, const Data& data = {});
Outcome runCall(host::Device& device, const VkfProblem& problem, const Inputs& inputs, uint64_t oOffset = 0);
// Like runCall, but without a verdict, for inputs that the reference refuses.
Outcome runUnjudged(host::Device& device, const VkfProblem& problem, const Inputs& inputs, uint64_t oOffset = 0);

// Random words for the problem's block mask. Bits without a block are random too.
std::vector<uint32_t> randomBlockMask(const VkfProblem& problem, double density, uint32_t seed);
// True if a block of the block mask is open.
bool isOpenBlock(const VkfProblem& problem, const std::vector<uint32_t>& blockMask, uint64_t batch, uint64_t head,
                 uint64_t rowBlock, uint64_t keyBlock);

// True if a boolean mask keeps the key, or if it is off.
bool isUnmaskedTile(const VkfBroadcastArray& mask, const std::vector<std::byte>& bytes, uint64_t batch, uint64_t head,
                    uint64_t row, uint64_t key);

// True if all bytes between the rows of a tensor hold the poison. `bytes` is the tensor's span.
bool gapsIntact(const VkfTensorLayout& layout, const std::vector<std::byte>& bytes);

} // namespace vkf::test
