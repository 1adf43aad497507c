// SPDX-License-Identifier: MIT
//
// Plans of the backward pass. No device is needed.
#include <catch2/catch_test_macros.hpp>

#include <string>
#include <vector>

#include "planning/backward/backward_plan.hpp"
#include "reference/backward_cases.hpp"
#include "support/described_device.hpp"
#include "support/masks.hpp"

namespace {

using vkf::test::capsOf;
using vkf::test::problemOf;

VkfResult make(const vkf::Caps& caps, const VkfBackwardProblem& problem, vkf::BackwardPlan* plan, VkfMessage* message) {
    vkf::CheckedBackward checked{};
    const VkfResult result = vkf::checkBackward(&problem, &checked, message);
    return result == VKF_SUCCESS ? vkf::makeBackwardPlan({caps}, checked, plan, message) : result;
}

vkf::BackwardPlan made(const vkf::Caps& caps, const VkfBackwardProblem& problem) {
    vkf::BackwardPlan plan;
    VkfMessage message{};
    INFO(message.text);
    REQUIRE(make(caps, problem, &plan, &message) == VKF_SUCCESS);
    return plan;
}

std::vector<vkf::Kernel> kernelsOf(const vkf::BackwardPlan& plan) {
    std::vector<vkf::Kernel> kernels;
    for (const vkf::Phase& phase : plan.phases) {
        kernels.push_back(phase.variant.kernel);
    }
    return kernels;
}

} // namespace

TEST_CASE("a backward pass has the phases of the gradients that are wanted", "[planning]") {
    using vkf::Kernel;
    const vkf::Caps caps = capsOf(32, 49152, 1024);
    VkfProblem forward = problemOf({2, 4, 2, 512, 640, 64});
    vkf::enable(forward, VKF_USE_BIAS | VKF_USE_SINKS);
    forward.bias = vkf::test::broadcast(forward, VKF_TYPE_F32, false, true, true);
    const vkf::BackwardPlan all = made(caps, vkf::test::backwardOf(forward, vkf::test::allGradients(forward)));
    CHECK(kernelsOf(all) == std::vector{Kernel::writeTable, Kernel::backwardRows, Kernel::backwardScalar,
                                        Kernel::backwardScalar, Kernel::backwardScalar, Kernel::backwardSinks});
    // Only the first gradient has a barrier before it.
    const std::vector<bool> barriers = {true, false, true, false, false, false};
    for (size_t i = 0; i < barriers.size(); i++) {
        CHECK(all.phases[i].barrierBefore == barriers[i]);
    }
    const vkf::Phase& rows = all.phases[2];
    const vkf::Phase& keys = all.phases[3];
    const vkf::Phase& bias = all.phases[4];
    CHECK(rows.items == 2 * 4 * 512 / 64);
    CHECK(rows.variant.constants[VKF_ID_OWNER] == VKF_OWNS_ROWS);
    CHECK(keys.items == 2 * 2 * 640 / 64);
    CHECK(keys.variant.constants[VKF_ID_OWNER] == VKF_OWNS_KEYS);
    CHECK(keys.variant.constants[VKF_ID_WRITES_DK] == 1);
    CHECK(keys.variant.constants[VKF_ID_WRITES_DV] == 1);
    CHECK(bias.items == 4 * 512 / 64 * 640 / 64);
    CHECK(all.phases[5].items == 4);
    CHECK(all.scratch.bytes() >= uint64_t{2} * 4 * 512 * 8 + sizeof(vkf::shared::BackwardTable));

    const vkf::BackwardPlan values = made(caps, vkf::test::backwardOf(forward, VKF_GRADIENT_V));
    CHECK(kernelsOf(values) == std::vector{Kernel::writeTable, Kernel::backwardRows, Kernel::backwardScalar});
    CHECK(values.phases[2].variant.constants[VKF_ID_WRITES_DK] == 0);
    CHECK(values.rowTileText.empty());
    CHECK_FALSE(values.keyTileText.empty());
}

TEST_CASE("steps of a backward pass keep to the limit", "[planning]") {
    const vkf::Caps caps = capsOf(32, 49152, 1024);
    VkfProblem forward = problemOf({1, 8, 2, 4096, 4096, 64});
    const VkfBackwardProblem problem = vkf::test::backwardOf(forward);
    CHECK(made(caps, problem).steps() == 4);
    forward.maxStepOperations = uint64_t{1} << 32;
    const vkf::BackwardPlan stepped = made(caps, problem);
    // A tile of 64 rows meets 4096 keys in three products of 64 columns; a tile of 64 keys meets the rows of four heads
    // in four.
    const uint64_t ofRows = uint64_t{2} * 64 * 4096 * 3 * 64;
    const uint64_t ofKeys = uint64_t{2} * 64 * 4096 * 4 * 4 * 64;
    CHECK(stepped.phases[2].itemsPerStep == (uint64_t{1} << 32) / ofRows);
    CHECK(stepped.phases[3].itemsPerStep == (uint64_t{1} << 32) / ofKeys);
    forward.maxStepOperations = 1;
    CHECK(made(caps, problem).phases[2].itemsPerStep == 1);
}

TEST_CASE("packed sequences list the tiles of rows and of keys", "[planning]") {
    using vkf::Kernel;
    const vkf::Caps caps = capsOf(32, 49152, 1024);
    VkfProblem forward = problemOf({5, 4, 2, 1000, 1500, 64});
    vkf::enable(forward, VKF_USE_CU_SEQLENS);
    const vkf::BackwardPlan plan = made(caps, vkf::test::backwardOf(forward));
    CHECK(kernelsOf(plan) == std::vector{Kernel::writeTable, Kernel::listSequences, Kernel::listSequences,
                                         Kernel::backwardRows, Kernel::backwardScalar, Kernel::backwardScalar});
    CHECK(plan.tileSequences.count == 1000 / plan.tileSequences.tileRows + 5);
    CHECK(plan.keyTileSequences.count == 1500 / plan.keyTileSequences.tileRows + 5);
    CHECK(plan.scratch.offset(vkf::ScratchRange::rowSequences) !=
          plan.scratch.offset(vkf::ScratchRange::keyTileSequences));
    CHECK(plan.phases[4].items == plan.tileSequences.count * 4);
    CHECK(plan.phases[5].items == plan.keyTileSequences.count * 2);
}

TEST_CASE("a backward pass takes matrices where the device has them", "[planning]") {
    using vkf::Kernel;
    vkf::Caps caps = vkf::test::matrixCaps();
    VkfProblem forward = problemOf({2, 4, 2, 512, 640, 64, 0, VKF_TYPE_F16});
    vkf::enable(forward, VKF_USE_BIAS | VKF_USE_SINKS);
    forward.bias = vkf::test::broadcast(forward, VKF_TYPE_F32, false, true, true);
    VkfBackwardProblem problem = vkf::test::backwardOf(forward, vkf::test::allGradients(forward));
    const vkf::BackwardPlan plan = made(caps, problem);
    CHECK(plan.path == VKF_PATH_COOPMAT);
    CHECK(plan.productType == VKF_TYPE_F16);
    CHECK(plan.inputAlignment == 16);
    CHECK(kernelsOf(plan) == std::vector{Kernel::writeTable, Kernel::backwardRows, Kernel::backwardCoopmat,
                                         Kernel::backwardCoopmat, Kernel::backwardScalar, Kernel::backwardSinks});
    CHECK(plan.phases[2].variant.subgroups);
    CHECK(plan.phases[2].variant.subgroupSize == 32);
    CHECK(plan.phases[2].variant.constants[VKF_ID_WRITES_DK] == 0);
    CHECK(plan.phases[3].variant.constants[VKF_ID_WRITES_DK] == 1);
    CHECK(plan.phases[3].variant.constants[VKF_ID_WRITES_DV] == 1);

    // Rows that are not whole words have no alignment to keep to, and another path by default.
    problem.dout.rowStride = 67;
    problem.dout.headStride = uint64_t{67} * 512;
    problem.dout.batchStride = uint64_t{67} * 512 * 4;
    CHECK(made(caps, problem).path == VKF_PATH_SCALAR);
    forward.path = VKF_PATH_COOPMAT;
    CHECK(made(caps, problem).inputAlignment == 1);
    forward.path = VKF_PATH_AUTO;
    // llvmpipe takes path coopmat where the caller asks for it, but not by default.
    caps.driver = VK_DRIVER_ID_MESA_LLVMPIPE;
    CHECK(made(caps, problem).path == VKF_PATH_SCALAR);
    forward.path = VKF_PATH_COOPMAT;
    CHECK(made(caps, problem).path == VKF_PATH_COOPMAT);

    vkf::BackwardPlan refused;
    VkfMessage message{};
    problem.dout = {};
    problem.dout.type = VKF_TYPE_BF16;
    CHECK(make(caps, problem, &refused, &message) == VKF_ERROR_UNSUPPORTED);
    CHECK(std::string(message.text) == "the backward pass on path coopmat: dout must be f32 or of the type of k and v");
    forward.path = VKF_PATH_AUTO;
    caps.driver = VK_DRIVER_ID_NVIDIA_PROPRIETARY;
    CHECK(made(caps, problem).path == VKF_PATH_SCALAR);
    problem.dout.type = VKF_TYPE_F32;
    CHECK(made(caps, problem).path == VKF_PATH_COOPMAT);
    forward.precision = VKF_PRECISION_FP32;
    CHECK(made(caps, problem).path == VKF_PATH_SCALAR);
    forward.precision = VKF_PRECISION_DEFAULT;
    // 16 KiB are too few for the matrices of wide heads.
    caps.maxSharedMemoryBytes = 16384;
    const VkfProblem wide = problemOf({2, 4, 2, 512, 640, 256, 0, VKF_TYPE_F16});
    CHECK(made(caps, vkf::test::backwardOf(wide)).path == VKF_PATH_SCALAR);
}

// dk and dv of packed sequences share the slots of the tiles of keys.
TEST_CASE("phases of dk and dv of packed sequences own the same keys", "[planning]") {
    vkf::Caps caps = vkf::test::matrixCaps();
    caps.f16Matrix = {{}, vkf::viaSharedMatrixLayout(32, 16, 16, 16)};
    VkfProblem forward = problemOf({5, 4, 2, 1000, 1500, 256, 0, VKF_TYPE_F16});
    vkf::enable(forward, VKF_USE_CU_SEQLENS);
    const vkf::BackwardPlan plan = made(caps, vkf::test::backwardOf(forward));
    for (const vkf::Phase& phase : plan.phases) {
        const bool ofKeys = phase.variant.constants[VKF_ID_OWNER] == VKF_OWNS_KEYS;
        if (phase.variant.kernel == vkf::Kernel::backwardCoopmat && ofKeys) {
            CHECK(phase.items == plan.keyTileSequences.count * 2);
        }
    }
}

TEST_CASE("a million-token causal backward pass is split into steps of the default budget", "[planning]") {
    for (const bool matrices : {false, true}) {
        VkfProblem forward = problemOf({1, 4, 2, 1U << 20, 1U << 20, 128, 0, VKF_TYPE_F16});
        forward.use |= VKF_USE_CAUSAL;
        forward.path = matrices ? VKF_PATH_COOPMAT : VKF_PATH_SCALAR;
        const vkf::BackwardPlan plan = made(vkf::test::matrixCaps(), vkf::test::backwardOf(forward));
        CHECK(plan.steps() > 300);
        const uint64_t states = uint64_t{4} * (1U << 20) * 2 * sizeof(float);
        CHECK(plan.scratch.bytes() >= states);
        CHECK(plan.scratch.bytes() < states + 4096);
    }
}

// D = 128, 8 heads of 8192 keys, tiles of 128 keys: 512 workgroups, each with 2 MiB of ds.
TEST_CASE("a backward pass keeps ds of as many keys as scratch memory allows", "[planning]") {
    using vkf::Kernel;
    VkfProblem forward = problemOf({1, 8, 8, 8192, 8192, 128, 0, VKF_TYPE_F16});
    forward.path = VKF_PATH_COOPMAT;
    VkfBackwardProblem problem = vkf::test::backwardOf(forward);
    CHECK(made(vkf::test::matrixCaps(), problem).bandKeys() == 8192); // the default
    problem.maxScratchBytes = 1;
    const uint64_t without = made(vkf::test::matrixCaps(), problem).scratch.bytes();
    const struct {
        uint64_t mebibytes;
        uint32_t bandKeys;
        uint32_t rounds;
    } cases[] = {{200, 0, 1}, {600, 8192, 2}, {300, 16 * 128, 4}, {2000, 8192, 1}};
    for (const auto& one : cases) {
        INFO(one.mebibytes << " MiB");
        problem.maxScratchBytes = one.mebibytes << 20;
        const vkf::BackwardPlan plan = made(vkf::test::matrixCaps(), problem);
        CHECK(plan.bandKeys() == one.bandKeys);
        CHECK(plan.scratch.bytes() <= without + problem.maxScratchBytes + 1024);
        if (one.bandKeys == 0) {
            CHECK(plan.scratch.bytes() == without);
            continue;
        }
        CHECK(kernelsOf(plan) == std::vector{Kernel::writeTable, Kernel::backwardRows, Kernel::backwardCoopmat,
                                             Kernel::backwardSums, Kernel::backwardCoopmat});
        const vkf::Phase& store = plan.phases[2];
        const vkf::Phase& dq = plan.phases[3];
        const vkf::Phase& again = plan.phases[4];
        CHECK(store.rounds == one.rounds);
        const uint32_t heads = store.variant.constants[VKF_ID_BAND_HEADS];
        CHECK(store.items == one.rounds * heads * (one.bandKeys / 128));
        CHECK(dq.rounds == one.rounds);
        CHECK(dq.items == one.rounds * heads * 8192 / 128);
        CHECK(dq.interleaved);
        CHECK(again.variant.constants[VKF_ID_FALLBACK] == 1);
        CHECK(again.barrierBefore);
        CHECK_FALSE(again.interleaved);
    }
    // By default a pass has whole heads, if it has several.
    const struct {
        vkf::test::Shape shape;
        uint32_t bandKeys;
        uint32_t rounds;
    } shapes[] = {{{8, 16, 16, 2048, 2048, 128, 0, VKF_TYPE_F16}, 2048, 4},
                  {{2, 16, 16, 8192, 8192, 128, 0, VKF_TYPE_F16}, 8192, 4},
                  {{1, 16, 16, 16384, 16384, 128, 0, VKF_TYPE_F16}, 33 * 128, 8},
                  {{1, 8, 8, 16384, 16384, 256, 0, VKF_TYPE_F16}, 16 * 128, 8},
                  {{1, 136, 136, 1, 4, 72, 0, VKF_TYPE_F16}, 16, 1}};
    for (const auto& one : shapes) {
        VkfProblem some = problemOf(one.shape);
        some.path = VKF_PATH_COOPMAT;
        const vkf::BackwardPlan plan = made(vkf::test::matrixCaps(), vkf::test::backwardOf(some));
        CHECK(plan.bandKeys() == one.bandKeys);
        CHECK(plan.phases[2].rounds == one.rounds);
        CHECK(plan.scratch.bytes() < VKF_DEFAULT_BACKWARD_SCRATCH_BYTES + 10000000);
    }
    // Under a causal mask, two tiles of keys share about the rows of one. A window leaves out most rows.
    VkfProblem masked = problemOf({1, 16, 16, 16384, 16384, 128, 0, VKF_TYPE_F16});
    masked.path = VKF_PATH_COOPMAT;
    masked.use |= VKF_USE_CAUSAL;
    vkf::BackwardPlan ofMasked = made(vkf::test::matrixCaps(), vkf::test::backwardOf(masked));
    CHECK(ofMasked.bandKeys() == 16384);
    CHECK(ofMasked.phases[2].rounds == 4);
    CHECK(ofMasked.phases[2].variant.constants[VKF_ID_BAND_SHARED_ROWS] == 16384 + 128);
    masked.window = {1023, 0, 0};
    masked.use |= VKF_USE_WINDOW;
    ofMasked = made(vkf::test::matrixCaps(), vkf::test::backwardOf(masked));
    CHECK(ofMasked.bandKeys() == 16384);
    CHECK(ofMasked.phases[2].variant.constants[VKF_ID_BAND_SHARED_ROWS] == 2 * (1024 + 128));
    vkf::enable(masked, VKF_USE_CAUSAL, false);
    masked.window = {INT64_MAX, INT64_MAX, 0};
    masked.use |= VKF_USE_WINDOW;
    masked.queryRows = masked.keys = 2048;
    ofMasked = made(vkf::test::matrixCaps(), vkf::test::backwardOf(masked));
    CHECK(ofMasked.phases[2].variant.constants[VKF_ID_BAND_SHARED_ROWS] == 2 * 2048);
    // The shapes of backward_bands_test.cpp have several bands on an H200 too.
    for (const vkf::test::Shape& shape : {vkf::test::Shape{3, 4, 2, 20, 4500, 16, 24, VKF_TYPE_F16},
                                          vkf::test::Shape{3, 4, 2, 40, 4500, 136, 8, VKF_TYPE_F16}}) {
        VkfProblem many = problemOf(shape);
        many.path = VKF_PATH_COOPMAT;
        VkfBackwardProblem ofMany = vkf::test::backwardOf(many);
        ofMany.maxScratchBytes = uint64_t{1} << 30;
        ofMany.maxScratchBytes = made(vkf::test::matrixCaps(), ofMany).scratch.bytes() / 100 * 92;
        const uint32_t bandKeys = made(vkf::test::matrixCaps(), ofMany).bandKeys();
        CHECK(bandKeys > 0);
        CHECK(bandKeys < many.keys);
    }
    // Whatever the sizes are, the numbers do not overflow, and no search takes long.
    for (const vkf::test::Shape& shape : {vkf::test::Shape{4294967291U, 1, 1, 1, 1, 8, 0, VKF_TYPE_F16},
                                          vkf::test::Shape{1, 65535, 1, 60000, 4000000000U, 256, 0, VKF_TYPE_F16}}) {
        VkfProblem large = problemOf(shape);
        large.path = VKF_PATH_COOPMAT;
        VkfBackwardProblem ofLarge = vkf::test::backwardOf(large);
        ofLarge.maxScratchBytes = UINT64_MAX;
        vkf::BackwardPlan plan;
        VkfMessage message{};
        if (make(vkf::test::matrixCaps(), ofLarge, &plan, &message) == VKF_SUCCESS) {
            CHECK(plan.scratch.bytes() < uint64_t{1} << 40);
        }
    }
    // Without a limit, narrow heads and few workgroups store nothing.
    problem.maxScratchBytes = 0;
    for (const vkf::test::Shape& shape : {vkf::test::Shape{1, 8, 8, 8192, 8192, 64, 0, VKF_TYPE_F16},
                                          vkf::test::Shape{1, 8, 8, 8192, 2048, 128, 0, VKF_TYPE_F16}}) {
        VkfProblem few = problemOf(shape);
        few.path = VKF_PATH_COOPMAT;
        CHECK(made(vkf::test::matrixCaps(), vkf::test::backwardOf(few)).bandKeys() == 0);
    }
    // ds that only one kernel needs is not stored.
    problem.gradients = VKF_GRADIENT_K | VKF_GRADIENT_V;
    problem.dq = {};
    CHECK(made(vkf::test::matrixCaps(), problem).bandKeys() == 0);
    problem.gradients = VKF_GRADIENT_Q | VKF_GRADIENT_V;
    problem.dk = {};
    CHECK(made(vkf::test::matrixCaps(), problem).bandKeys() == 0);
}

TEST_CASE("strides over 4 GiB of a backward pass are carried exactly", "[planning]") {
    VkfProblem forward = problemOf({2, 2, 2, 4, 4, 64, 0, VKF_TYPE_F16});
    VkfBackwardProblem problem = vkf::test::backwardOf(forward);
    const VkfTensor far = {VKF_TYPE_F16, 0, uint64_t{3} << 32, uint64_t{3} << 30, 64, {}}; // 24 GiB, 6 GiB
    forward.k = problem.dout = problem.dk = far;
    const vkf::BackwardPlan plan = made(capsOf(32, 49152, 1024), problem);
    const vkf::Phase& keys = plan.phases[3];
    const uint32_t shift = keys.variant.constants[VKF_ID_STRIDE_SHIFT];
    for (const int tensor : {VKF_K, VKF_DOUT}) {
        CHECK(uint64_t{keys.params.batch_stride[tensor]} << shift == uint64_t{6} << 32);
        CHECK(uint64_t{keys.params.head_stride[tensor]} << shift == uint64_t{6} << 30);
    }
    CHECK(plan.table.dk.batch_stride == uint64_t{6} << 32);
    CHECK(plan.table.dk.head_stride == uint64_t{6} << 30);
}

TEST_CASE("a device that cannot do a backward pass says why", "[planning]") {
    vkf::Caps caps = capsOf(32, 49152, 1024);
    vkf::BackwardPlan plan;
    VkfMessage message{};
    VkfProblem forward = problemOf({1, 1, 1, 8, 8, 64});
    VkfBackwardProblem problem = vkf::test::backwardOf(forward);
    caps.features &= ~VkfFeatures{VKF_FEATURE_STORAGE_16BIT};
    CHECK(make(caps, problem, &plan, &message) == VKF_SUCCESS);
    problem.dk.type = VKF_TYPE_BF16;
    CHECK(make(caps, problem, &plan, &message) == VKF_ERROR_UNSUPPORTED);
    CHECK(std::string(message.text).find("tensors of other types than f32 need storageBuffer16BitAccess") == 0);
    caps = capsOf(32, 2048, 1024);
    CHECK(make(caps, problem, &plan, &message) == VKF_ERROR_UNSUPPORTED);
    CHECK(std::string(message.text) == "the backward pass of headDim 64 and valueDim 64 needs more than the device's "
                                       "2048 bytes of shared memory");
    problem.dk.type = VKF_TYPE_F32;
    forward.k.rowStride = uint64_t{1} << 30;
    forward.k.headStride = forward.k.batchStride = 64;
    caps = capsOf(32, 49152, 1024);
    CHECK(make(caps, problem, &plan, &message) == VKF_ERROR_UNSUPPORTED);
    CHECK(std::string(message.text) == "the row stride of k is 4294967296 bytes; it must be at most 4294967295");
    forward.k = {};
    problem.dout.rowStride = uint64_t{1} << 30;
    problem.dout.headStride = problem.dout.batchStride = 64;
    CHECK(make(caps, problem, &plan, &message) == VKF_ERROR_UNSUPPORTED);
    CHECK(std::string(message.text) == "the row stride of dout is 4294967296 bytes; it must be at most 4294967295");
    // Outputs have strides of 64 bits.
    problem.dout = {};
    problem.dq.rowStride = uint64_t{1} << 40;
    problem.dq.headStride = problem.dq.batchStride = uint64_t{1} << 50;
    CHECK(make(caps, problem, &plan, &message) == VKF_SUCCESS);
    CHECK(plan.table.dq.row_stride == uint64_t{1} << 42);
}
