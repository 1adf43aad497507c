// SPDX-License-Identifier: MIT
//
// Tuning data, element layouts and pipeline caches that were cut off or changed on their way through a file. The
// library refuses the text or takes it whole, and refuses a layout or finds a place for each element. What a cache
// holds changes no result.
#include <catch2/catch_test_macros.hpp>

#include <cstring>
#include <set>
#include <utility>

#include <vkflash/matrix_layout.h>
#include <vkflash/tuning.h>
#include <vkflash/vkflash.hpp>

#include "support/call.hpp"
#include "support/described_device.hpp"
#include "support/device.hpp"
#include "support/guarded.hpp"

using namespace vkf::test;

namespace {

std::string tuningText() {
    const vkf::host::DeviceSummary& device = testDevice().summary();
    std::string text = "vkflash tuning 1\n# measured here\ndevice vendor=" + std::to_string(device.vendorId) +
                       " device=" + std::to_string(device.deviceId) + " driver=" + std::to_string(device.driverId) +
                       "\n";
    text += "scalar type=f32 masked=no headDim=1..100 valueDim=64 rows=0..9 keys=0..4294967295 heads=0..9 "
            "groups=8 lanes=8 threadRows=4 threadKeys=4 chunkDim4=4 chunkKeys=8 splits=2\n";
    text += "coopmat type=f16 masked=yes headDim=64 valueDim=64 rows=0..9 keys=0..9 heads=0..9 "
            "subgroups=2 rowTiles=1 keyTiles=3 splits=5\n";
    const std::string elements = "0.1,0.8,8.0/0.2,0.4,1.0,2.0,4.0";
    return text + "matrix type=f16 rows=16 columns=16 depth=16 lanes=32 result=" + elements + " left=" + elements +
           " right=1.0,8.0,0.8/2.0,4.0,0.1,0.2,0.4\n";
}

// Whether each element of a matrix of rows x columns has a place of its own.
bool isPermutation(const VkfElementLayout& layout, uint32_t rows, uint32_t columns, uint32_t lanes) {
    std::set<std::pair<uint32_t, uint32_t>> places;
    for (uint32_t lane = 0; lane < lanes; lane++) {
        for (uint32_t element = 0; element < rows * columns / lanes; element++) {
            uint32_t row = 0;
            uint32_t column = 0;
            for (uint32_t bit = 0; bit < VKF_MATRIX_POSITION_BITS; bit++) {
                const uint32_t ofElement = element >> bit & 1U;
                const uint32_t ofLane = lane >> bit & 1U;
                row += ofElement * layout.elementBits[bit].row + ofLane * layout.laneBits[bit].row;
                column += ofElement * layout.elementBits[bit].column + ofLane * layout.laneBits[bit].column;
            }
            if (row < rows && column < columns) {
                places.emplace(row, column);
            }
        }
    }
    return places.size() == uint64_t{rows} * columns;
}

// Whether the library refuses the layout, or each element of its three matrices has a place.
bool isRefusedOrComplete(const VkfMatrixLayout& layout) {
    VkfMessage message{};
    const VkfResult result = vkfCheckMatrixLayout(&layout, &message);
    if (result != VKF_SUCCESS) {
        return (result == VKF_ERROR_INVALID_ARGUMENT || result == VKF_ERROR_UNSUPPORTED) && message.text[0] != '\0';
    }
    return isPermutation(layout.result, layout.rows, layout.columns, layout.lanes) &&
           isPermutation(layout.left, layout.rows, layout.depth, layout.lanes) &&
           isPermutation(layout.right, layout.depth, layout.columns, layout.lanes);
}

// Checks that a context takes the text exactly if vkfCheckTuning does, and that the text decides nothing if not.
void checkText(const std::string& text) {
    VkfMessage message{};
    const VkfResult result = vkfCheckTuning(text.data(), text.size(), &message);
    const bool refused = result == VKF_ERROR_INVALID_ARGUMENT || result == VKF_ERROR_UNSUPPORTED;
    bool passed =
        (result == VKF_SUCCESS || refused) && (!refused || std::strncmp(message.text, "tuning, line ", 13) == 0);
    VkfContextCreateInfo info = contextInfo(testDevice());
    info.tuning = text.data();
    info.tuningBytes = text.size();
    VkfContext context = nullptr;
    // Null means no tuning data, but vkfCheckTuning was asked about a text.
    passed = passed && (text.empty() || vkfCreateContext(&info, &context, nullptr) == result);
    passed = passed && (context == nullptr) == (text.empty() || result != VKF_SUCCESS);
    for (uint32_t i = 0; i < vkfGetTuningMatrixLayoutCount(context); i++) {
        VkfMatrixLayout layout{};
        passed = passed && vkfGetTuningMatrixLayout(context, i, &layout, nullptr) == VKF_SUCCESS &&
                 isRefusedOrComplete(layout);
    }
    vkfDestroyContext(context);
    if (!passed) {
        FAIL_CHECK("result " << result << ", " << message.text << "\n" << text);
    }
}

} // namespace

TEST_CASE("tuning data that is cut off anywhere is refused or taken whole", "[faults]") {
    const std::string text = tuningText();
    for (size_t length = 0; length <= text.size(); length++) {
        checkText(text.substr(0, length));
    }
    CHECK(vkfCheckTuning(text.data(), text.size(), nullptr) == VKF_SUCCESS);
}

TEST_CASE("tuning data with any byte changed is refused or taken whole", "[faults]") {
    const std::string text = tuningText();
    for (size_t i = 0; i < text.size(); i++) {
        for (const char changed : {'\0', '\n', ' ', '=', '9', '\x80', static_cast<char>(text[i] ^ 1)}) {
            std::string damaged = text;
            damaged[i] = changed;
            checkText(damaged);
        }
    }
}

TEST_CASE("an element layout that is cut off or has any byte changed is refused, or has a place for each element",
          "[faults]") {
    const VkfMatrixLayout whole =
        applicationLayout(VKF_TYPE_F16, vkf::knownMatrixLayout(VK_DRIVER_ID_NVIDIA_PROPRIETARY, 32, 16, 16));
    REQUIRE(vkfCheckMatrixLayout(&whole, nullptr) == VKF_SUCCESS);
    REQUIRE(isRefusedOrComplete(whole));
    uint32_t accepted = 0;
    for (size_t byte = 0; byte < sizeof whole; byte++) {
        VkfMatrixLayout damaged{};
        std::memcpy(&damaged, &whole, byte);
        CHECK(isRefusedOrComplete(damaged));
        for (uint32_t value = 0; value < 256; value++) {
            damaged = whole;
            std::memset(reinterpret_cast<std::byte*>(&damaged) + byte, static_cast<int>(value), 1);
            if (!isRefusedOrComplete(damaged)) {
                FAIL_CHECK("byte " << byte << " is " << value);
            }
            accepted += vkfCheckMatrixLayout(&damaged, nullptr) == VKF_SUCCESS ? 1 : 0;
        }
    }
    CHECK(accepted >= sizeof whole); // each byte once, with its own value
}

namespace {

// A pipeline cache of the test device.
class Cache {
public:
    explicit Cache(const std::string& data) {
        VkPipelineCacheCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
        info.initialDataSize = data.size();
        info.pInitialData = data.data();
        if (load<PFN_vkCreatePipelineCache>("vkCreatePipelineCache")(device(), &info, nullptr, &cache_) != VK_SUCCESS) {
            cache_ = VK_NULL_HANDLE; // a driver may refuse such data; a context needs no cache
        }
    }
    ~Cache() { load<PFN_vkDestroyPipelineCache>("vkDestroyPipelineCache")(device(), cache_, nullptr); }
    Cache(const Cache&) = delete;
    Cache& operator=(const Cache&) = delete;

    VkPipelineCache handle() const { return cache_; }
    std::string data() const {
        const auto get = load<PFN_vkGetPipelineCacheData>("vkGetPipelineCacheData");
        size_t bytes = 0;
        REQUIRE(get(device(), cache_, &bytes, nullptr) == VK_SUCCESS);
        std::string data(bytes, '\0');
        REQUIRE(get(device(), cache_, &bytes, data.data()) == VK_SUCCESS);
        return data.substr(0, bytes);
    }

private:
    static VkDevice device() { return testDevice().handle(); }
    template <typename Function> static Function load(const char* name) {
        return reinterpret_cast<Function>(testDevice().getInstanceProcAddr()(testDevice().instance(), name));
    }

    VkPipelineCache cache_ = VK_NULL_HANDLE;
};

// The result of a call whose pipelines went through the cache.
std::vector<float> resultWith(const Cache& cache) {
    vkf::host::Device& device = testDevice();
    VkfContextCreateInfo info = contextInfo(device);
    info.pipelineCache = cache.handle();
    vkf::Context context;
    VkfMessage message{};
    VkfProblem problem = problemOf({.Nq = 2, .Nk = 2, .D = 4});
    vkf::Plan plan;
    REQUIRE(vkfCreateContext(&info, context.put(), &message) == VKF_SUCCESS);
    REQUIRE(vkfCreatePlan(context.get(), &problem, plan.put(), &message) == VKF_SUCCESS);
    const Guarded in = uploaded(device, std::vector<float>{0.1F, 0.2F, 0.3F, 0.4F, 0.5F, 0.6F, 0.7F, 0.8F});
    const Guarded o(device, 8 * sizeof(float));
    const Guarded lse(device, 2 * sizeof(float));
    auto bindings = vkf::make<VkfBindings>();
    bindings.q = bindings.k = bindings.v = in.binding();
    bindings.o = o.binding();
    bindings.lse = lse.binding();
    VkfResult recorded = VKF_ERROR_VULKAN;
    device.submit(
        [&](VkCommandBuffer commands) { recorded = vkfCmdAttention(commands, plan.get(), &bindings, &message); });
    REQUIRE(recorded == VKF_SUCCESS);
    std::vector<float> result(8);
    device.download(result.data(), o.buffer, o.bytes, o.offset);
    return result;
}

} // namespace

TEST_CASE("a pipeline cache of damaged data changes no result", "[faults]") {
    const Cache empty("");
    const std::vector<float> expected = resultWith(empty);
    const std::string data = empty.data();
    REQUIRE(data.size() >= sizeof(VkPipelineCacheHeaderVersionOne));
    CHECK(resultWith(Cache(data)) == expected);
    for (const size_t length : {size_t{1}, size_t{16}, size_t{31}, data.size() - 1}) {
        INFO("the first " << length << " of " << data.size() << " bytes");
        CHECK(resultWith(Cache(data.substr(0, length))) == expected);
    }
    // A driver checks the header. Nothing obliges it to check what comes after.
    for (const size_t byte : {0U, 4U, 8U, 12U, 16U}) {
        INFO("byte " << byte);
        std::string damaged = data;
        damaged[byte] = static_cast<char>(~damaged[byte]);
        CHECK(resultWith(Cache(damaged)) == expected);
    }
    CHECK(resultWith(Cache(std::string(4096, '\xff'))) == expected);
}
