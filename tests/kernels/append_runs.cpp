// SPDX-License-Identifier: MIT
#include "kernels/append_runs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <catch2/catch_test_macros.hpp>

#include "support/lacking.hpp"

namespace vkf::test {
namespace {

AppendResults emptyResults(const AppendLayouts& layout, const AppendInputs& inputs, std::byte fill) {
    AppendResults results;
    results.k.assign(bytesOf(layout.k), fill);
    results.v.assign(bytesOf(layout.v), fill);
    results.rotatedQ.assign(bytesOf(layout.rotatedQ), fill);
    results.newLengths.resize(inputs.lengths.size());
    results.lengths = inputs.lengths;
    return results;
}

// Steps of a block type from the smallest element that it can have to the largest.
double stepsOf(VkfType type) {
    switch (type) {
    case VKF_TYPE_Q4_0:
        return 16;
    case VKF_TYPE_Q4_1:
        return 15;
    case VKF_TYPE_Q5_0:
        return 32;
    case VKF_TYPE_Q5_1:
        return 31;
    case VKF_TYPE_IQ4_NL: // the widest steps are 24 of 240
        return 10;
    default: // q8_0
        return 254;
    }
}

// Tolerance for an element of a rotated tensor. Angles are right to 1e-7. Two products and their sum may round. In
// units of the largest element of a row this makes 4e-7. A step of the type comes on top. For a block type it is one
// code, and one more, because the scale may round the other way.
double toleranceOf(VkfType type, double reference, double largest) {
    switch (type) {
    case VKF_TYPE_F16:
        return 4e-7 * largest + 0x1p-10 * std::abs(reference) + 0x1p-24;
    case VKF_TYPE_BF16:
        return 4e-7 * largest + 0x1p-7 * std::abs(reference);
    case VKF_TYPE_F32:
        return 4e-7 * largest;
    case VKF_TYPE_F8_E4M3:
        return 0x1p-3 * std::abs(reference) + 0x1p-9;
    case VKF_TYPE_F8_E5M2:
        return 0x1p-2 * std::abs(reference) + 0x1p-16;
    default:
        return 2 * largest / stepsOf(type) * 1.01 + 0x1p-10 * std::abs(reference);
    }
}

struct Comparison {
    uint64_t written = 0; // bytes
    uint64_t strays = 0;  // bytes that the reference leaves alone and the device does not
    uint64_t unequal = 0; // bytes that differ, except where both are NaN
    uint64_t far = 0;     // elements out of tolerance
};

// True if byte i is in elements that are both NaN. Devices choose the bits of a NaN.
bool isNan(VkfType type, const Bytes& a, const Bytes& b, uint64_t i) {
    const size_t bytes = vkfTypeBytes(type);
    return bytes != 0 && std::isnan(vkfLoadElement(type, a.data(), i / bytes)) &&
           std::isnan(vkfLoadElement(type, b.data(), i / bytes));
}

// A byte is written if two references with different fills agree on it.
Comparison compare(const VkfTensorLayout& layout, const Bytes& device, const Bytes& ofOnes, const Bytes& ofZeros,
                   double largest) {
    Comparison result;
    const uint32_t block = vkfBlockElements(layout.type);
    const uint64_t blockBytes = vkfStoredBytes(layout.type, block);
    for (uint64_t i = 0; i < device.size(); i++) {
        const bool isWritten = ofOnes[i] == ofZeros[i];
        result.written += isWritten ? 1 : 0;
        result.strays += !isWritten && device[i] != std::byte{0xff} ? 1 : 0;
        const bool differs = isWritten && device[i] != ofOnes[i];
        result.unequal += differs && !isNan(layout.type, device, ofOnes, i) ? 1 : 0;
        if (isWritten && i % blockBytes == 0) {
            for (uint64_t e = i / blockBytes * block; e < (i / blockBytes + 1) * block; e++) {
                const double exact = vkfLoadElement(layout.type, ofOnes.data(), e);
                const double value = vkfLoadElement(layout.type, device.data(), e);
                result.far += std::abs(value - exact) <= toleranceOf(layout.type, exact, largest) ? 0 : 1;
            }
        }
    }
    return result;
}

// The largest length of a rotated pair, for tolerances.
constexpr double magnitude = 8.0;

constexpr VkfType cacheTypes[] = {VKF_TYPE_F32,    VKF_TYPE_F16,     VKF_TYPE_BF16,   VKF_TYPE_Q8_0,
                                  VKF_TYPE_Q4_0,   VKF_TYPE_Q4_1,    VKF_TYPE_Q5_0,   VKF_TYPE_Q5_1,
                                  VKF_TYPE_IQ4_NL, VKF_TYPE_F8_E4M3, VKF_TYPE_F8_E5M2};

// Elements of every kind, with NaN in the gaps. Tensors that are rotated get moderate values.
Bytes randomTensor(const VkfTensorLayout& layout, bool tame, std::mt19937_64& random) {
    Bytes bytes(bytesOf(layout), std::byte{0xff});
    std::uniform_real_distribution<double> uniform(-5.0, 5.0); // the two of a pair are together at most 7.1 long
    constexpr double wild[] = {0.0,    -0.0, 65504.0, 65519.9,      65520.0,      -1e30, 1.0 + 0x1p-11, 1.0 + 0x3p-11,
                               6.1e-5, 3e-8, -4.5e-8, 1.0 + 0x1p-8, 1.0 + 0x3p-8, 2.5,   -0.5};
    for (uint64_t b = 0; b < layout.batch; b++) {
        for (uint64_t h = 0; h < layout.heads; h++) {
            for (uint64_t row = 0; row < layout.rows; row++) {
                const uint64_t first = b * layout.batchStride + h * layout.headStride + row * layout.rowStride;
                for (uint64_t d = 0; d < layout.dim; d++) {
                    double x = uniform(random);
                    if (!tame && random() % 8 == 0) {
                        x = wild[random() % std::size(wild)];
                    } else if (!tame && random() % 400 == 0) {
                        x = random() % 2 == 0 ? std::numeric_limits<double>::infinity()
                                              : std::numeric_limits<double>::quiet_NaN();
                    }
                    vkfStoreElement(layout.type, bytes.data(), first + d, x);
                }
            }
        }
    }
    return bytes;
}

// Pages in random order. No page occurs twice. Some entries are not pages.
std::vector<int32_t> randomTable(const VkfAppendProblem& p, std::mt19937_64& random) {
    std::vector<int32_t> pages(p.paging.pages);
    std::iota(pages.begin(), pages.end(), 0);
    std::shuffle(pages.begin(), pages.end(), random);
    std::vector<int32_t> table(uint64_t{p.batch} * p.paging.maxPages);
    for (size_t i = 0; i < table.size(); i++) {
        const int32_t none[] = {-1, static_cast<int32_t>(p.paging.pages), std::numeric_limits<int32_t>::max(),
                                std::numeric_limits<int32_t>::min()};
        table[i] = i < pages.size() && random() % 8 != 0 ? pages[i] : none[random() % std::size(none)];
    }
    return table;
}

} // namespace

VkfAppendProblem appendOf(const AppendShape& shape) {
    auto problem = vkf::make<VkfAppendProblem>();
    problem.batch = shape.batch;
    problem.kvHeads = shape.kvHeads;
    problem.rows = shape.rows;
    problem.keys = shape.keys;
    problem.headDim = shape.headDim;
    problem.use = VKF_USE_NEW_LENGTHS;
    return problem;
}

VkfAppendProblem fittedAppend(const VkfAppendProblem& problem) {
    VkfAppendProblem made = problem;
    if (wantsFp32(testDevice(),
                  {made.newK.type, made.newV.type, made.k.type, made.v.type, made.q.type, made.rotatedQ.type})) {
        for (VkfTensor* tensor : {&made.newK, &made.newV, &made.k, &made.v, &made.q, &made.rotatedQ}) {
            tensor->type = VKF_TYPE_F32;
            tensor->scales = 0; // only fp8 types have them
        }
        vkf::enable(made, VKF_USE_KV_SCALES, false);
    }
    return made;
}

AppendLayouts layoutsOf(const VkfAppendProblem& problem) {
    return {layoutOf(problem, VKF_APPEND_NEW_K), layoutOf(problem, VKF_APPEND_NEW_V),
            layoutOf(problem, VKF_APPEND_K),     layoutOf(problem, VKF_APPEND_V),
            layoutOf(problem, VKF_APPEND_Q),     layoutOf(problem, VKF_APPEND_ROTATED_Q)};
}

uint64_t bytesOf(const VkfTensorLayout& layout) { return vkfStoredBytes(layout.type, layout.elements); }

AppendInputs randomInputs(const VkfAppendProblem& p, std::mt19937_64& random) {
    const AppendLayouts layout = layoutsOf(p);
    AppendInputs inputs;
    inputs.newK = randomTensor(layout.newK, p.rotary.pairs != VKF_ROTARY_OFF, random);
    inputs.newV = randomTensor(layout.newV, false, random);
    inputs.q = randomTensor(layout.q, true, random);
    const auto keys = static_cast<int32_t>(p.keys);
    for (uint32_t b = 0; b < p.batch; b++) {
        const int32_t choices[] = {0,
                                   keys,
                                   keys - 1,
                                   static_cast<int32_t>(random() % (p.keys + 1)),
                                   -3,
                                   keys + 7,
                                   std::max(0, keys - static_cast<int32_t>(p.rows))};
        inputs.lengths.push_back(choices[random() % std::size(choices)]);
    }
    if (vkf::has(p, VKF_USE_BLOCK_TABLE)) {
        inputs.blockTable = randomTable(p, random);
    }
    if (vkf::has(p, VKF_USE_ROTARY_POSITIONS)) {
        const uint32_t sequences = vkf::has(p, VKF_USE_CU_SEQLENS) ? 1 : p.batch;
        for (uint64_t i = 0; i < uint64_t{sequences} * p.rows; i++) {
            const int32_t choices[] = {static_cast<int32_t>(random() % 100), static_cast<int32_t>(random() % 100000),
                                       -static_cast<int32_t>(random() % 9)};
            inputs.rotaryPositions.push_back(choices[random() % std::size(choices)]);
        }
    }
    std::uniform_real_distribution<float> scale(0.2F, 1.7F);
    for (uint32_t i = 0; i < p.k.scales + p.v.scales; i++) {
        inputs.kvScales.push_back(scale(random));
    }
    if (p.rotary.tableRows != 0) {
        const uint32_t pairs = (p.rotary.dim != 0 ? p.rotary.dim : p.headDim) / 2;
        std::uniform_real_distribution<float> angle(0.0F, 6.0F);
        for (uint64_t i = 0; i < uint64_t{p.rotary.tableRows} * pairs; i++) {
            const float a = angle(random);
            inputs.cos.push_back(std::cos(a));
            inputs.sin.push_back(std::sin(a));
        }
    }
    return inputs;
}

VkfAppendProblem randomAppend(uint32_t seed, std::mt19937_64& random) {
    const auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
    VkfAppendProblem p = appendOf({1 + below(4), 1 + below(3), 1 + below(9), 1 + below(40), 1 + below(140)});
    p.valueDim = below(2) != 0 ? 1 + below(140) : 0;
    p.k.type = cacheTypes[seed % std::size(cacheTypes)];
    p.v.type = cacheTypes[seed / std::size(cacheTypes) % std::size(cacheTypes)];
    if (vkfBlockElements(p.k.type) > 1 || vkfBlockElements(p.v.type) > 1) {
        p.headDim = 32 * (1 + below(4));
        p.valueDim = 32 * below(4);
    }
    p.newK.type = storedTypes[below(3)];
    p.newV.type = storedTypes[below(3)];
    const uint32_t valueDim = p.valueDim != 0 ? p.valueDim : p.headDim;
    if (below(2) != 0) {
        p.newK = vkf::rowsFirst(p.newK.type, p.rows, p.kvHeads, p.headDim + below(3));
        p.newV = vkf::rowsFirst(p.newV.type, p.rows, p.kvHeads, valueDim);
    }
    if (below(2) != 0) {
        vkf::enable(p, VKF_USE_BLOCK_TABLE);
        p.paging.pageSize = 1 + below(40);
        p.paging.maxPages = (p.keys - 1) / p.paging.pageSize + 1 + below(3);
        p.paging.pages = 1 + below(p.batch * p.paging.maxPages + 3);
    }
    if (below(2) != 0) { // [batch or page, rows, heads, dim]
        const uint32_t rows = vkf::has(p, VKF_USE_BLOCK_TABLE) ? p.paging.pageSize : p.keys;
        p.k = vkf::rowsFirst(p.k.type, rows, p.kvHeads, p.headDim);
        p.v = vkf::rowsFirst(p.v.type, rows, p.kvHeads, valueDim + 32 * below(2));
    }
    const auto scalesOf = [&](const VkfTensor& tensor) {
        const uint32_t choices[] = {0, 1, p.kvHeads};
        return vkfBlockElements(tensor.type) == 16 ? choices[below(3)] : 0;
    };
    p.k.scales = scalesOf(p.k);
    p.v.scales = scalesOf(p.v);
    vkf::enable(p, VKF_USE_KV_SCALES, p.k.scales + p.v.scales != 0);
    if (p.headDim > 1 && below(3) != 0) {
        p.rotary.pairs = below(2) != 0 ? VKF_ROTARY_HALVES : VKF_ROTARY_INTERLEAVED;
        p.rotary.dim = p.headDim % 2 != 0 || below(2) != 0 ? 2 * (1 + below(p.headDim / 2)) : 0;
        p.rotary.base = below(2) != 0 ? 500000.0F : 0.0F;
        p.rotary.tableRows = below(3) == 0 ? 1 + below(p.keys + 9) : 0;
        p.queryHeads = below(6);
        vkf::enable(p, VKF_USE_QUERIES, p.queryHeads != 0);
        vkf::enable(p, VKF_USE_ROTARY_TABLES, p.rotary.tableRows != 0);
        vkf::enable(p, VKF_USE_ROTARY_POSITIONS, seed % 3 == 1);
        if (p.queryHeads != 0) {
            p.q = p.rotatedQ = vkf::dense(storedTypes[below(3)]);
        }
    }
    return p;
}

std::string describe(const VkfAppendProblem& p) {
    return std::to_string(p.batch) + "x" + std::to_string(p.kvHeads) + "x" + std::to_string(p.rows) + " rows of " +
           std::to_string(p.headDim) + "/" + std::to_string(p.valueDim) + " into " + std::to_string(p.keys) + ", " +
           vkfTypeName(p.newK.type) + " to " + vkfTypeName(p.k.type) + ", " + vkfTypeName(p.newV.type) + " to " +
           vkfTypeName(p.v.type) + ", pages of " +
           std::to_string(vkf::has(p, VKF_USE_BLOCK_TABLE) ? p.paging.pageSize : 0) + ", pairs " +
           std::to_string(p.rotary.pairs) + " of " + std::to_string(p.rotary.dim) + ", table of " +
           std::to_string(p.rotary.tableRows) +
           (vkf::has(p, VKF_USE_ROTARY_POSITIONS) ? ", positions of the caller" : "");
}

AppendResults runReference(const VkfAppendProblem& problem, const AppendInputs& inputs, std::byte fill) {
    AppendResults results = emptyResults(layoutsOf(problem), inputs, fill);
    auto buffers = vkf::make<VkfAppendBuffers>();
    buffers.newK = inputs.newK.data();
    buffers.newV = inputs.newV.data();
    buffers.k = results.k.data();
    buffers.v = results.v.data();
    buffers.lengths = inputs.lengths.data();
    buffers.newLengths = results.newLengths.data();
    buffers.blockTable = inputs.blockTable.data();
    buffers.q = inputs.q.data();
    buffers.rotatedQ = results.rotatedQ.data();
    buffers.cos = inputs.cos.data();
    buffers.sin = inputs.sin.data();
    buffers.cuSeqlens = inputs.cuSeqlens.data();
    buffers.rotaryPositions = inputs.rotaryPositions.data();
    buffers.kvScales = inputs.kvScales.data();
    VkfMessage message{};
    const VkfResult result = vkfReferenceAppend(&problem, &buffers, &message);
    INFO(message.text);
    REQUIRE(result == VKF_SUCCESS);
    return results;
}

AppendResults runDevice(const VkfAppendProblem& problem, const AppendInputs& inputs, QueryPlace place) {
    const AppendLayouts layout = layoutsOf(problem);
    const Filled newK(inputs.newK), newV(inputs.newV), q(inputs.q), lengths(bytesOf(inputs.lengths)),
        blockTable(bytesOf(inputs.blockTable)), cos(bytesOf(inputs.cos)), sin(bytesOf(inputs.sin)),
        cuSeqlens(bytesOf(inputs.cuSeqlens)), rotaryPositions(bytesOf(inputs.rotaryPositions)),
        kvScales(bytesOf(inputs.kvScales));
    const Filled k(bytesOf(layout.k)), v(bytesOf(layout.v)), rotatedQ(bytesOf(layout.rotatedQ)),
        newLengths(inputs.lengths.size() * sizeof(int32_t));

    vkf::Append append;
    VkfMessage message{};
    const VkfResult created = vkfCreateAppend(testDevice().context(), &problem, append.put(), &message);
    INFO(message.text);
    REQUIRE(created == VKF_SUCCESS);
    auto bindings = vkf::make<VkfAppendBindings>();
    bindings.newK = newK.binding();
    bindings.newV = newV.binding();
    bindings.k = k.binding();
    bindings.v = v.binding();
    bindings.lengths = lengths.binding();
    bindings.newLengths = newLengths.binding();
    bindings.blockTable = blockTable.binding();
    bindings.q = q.binding();
    bindings.rotatedQ = place == QueryPlace::inPlace ? q.binding() : rotatedQ.binding();
    bindings.cos = cos.binding();
    bindings.sin = sin.binding();
    bindings.cuSeqlens = cuSeqlens.binding();
    bindings.rotaryPositions = rotaryPositions.binding();
    bindings.kvScales = kvScales.binding();
    testDevice().submit([&](VkCommandBuffer commandBuffer) {
        const VkfResult recorded = vkfCmdAppend(commandBuffer, append.get(), &bindings, &message);
        INFO(message.text);
        REQUIRE(recorded == VKF_SUCCESS);
    });
    AppendResults results = emptyResults(layout, inputs, std::byte{});
    k.read(results.k, results.guardsIntact);
    v.read(results.v, results.guardsIntact);
    (place == QueryPlace::inPlace ? q : rotatedQ).read(results.rotatedQ, results.guardsIntact);
    lengths.read(results.lengths, results.guardsIntact);
    newLengths.read(results.newLengths, results.guardsIntact);
    return results;
}

void check(const VkfAppendProblem& p, const AppendInputs& inputs, const AppendResults& device) {
    const AppendLayouts layout = layoutsOf(p);
    const AppendResults ones = runReference(p, inputs, std::byte{0xff});
    const AppendResults zeros = runReference(p, inputs, std::byte{0x00});
    const Comparison k = compare(layout.k, device.k, ones.k, zeros.k, magnitude);
    const Comparison v = compare(layout.v, device.v, ones.v, zeros.v, magnitude);
    const Comparison q = compare(layout.rotatedQ, device.rotatedQ, ones.rotatedQ, zeros.rotatedQ, magnitude);
    CHECK(k.strays == 0);
    CHECK(v.strays == 0);
    CHECK(q.strays == 0);
    CHECK(v.unequal == 0);
    if (p.rotary.pairs == VKF_ROTARY_OFF) {
        CHECK(k.unequal == 0);
    } else {
        CHECK(k.far == 0);
        CHECK(q.far == 0);
    }
    CHECK(device.newLengths == ones.newLengths);
    CHECK(device.lengths == inputs.lengths);
    CHECK(device.guardsIntact);
}

} // namespace vkf::test
