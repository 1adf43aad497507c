// SPDX-License-Identifier: MIT
#include "graph.hpp"

#include <cstdint>
#include <cstdio>
#include <limits>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string_view>

namespace vkf::test {
namespace {

// What ggml logged. Its log has one receiver.
struct Log {
    std::mutex mutex;
    std::string text;
    bool kept = false; // by a LogLines
    int validationMessages = 0;
};
Log& theLog() {
    static Log log;
    return log;
}

void receive(ggml_log_level /*level*/, const char* text, void* /*userData*/) {
    Log& log = theLog();
    const std::lock_guard lock(log.mutex);
    const bool validation = std::string_view(text).find("validation: ") != std::string_view::npos;
    log.validationMessages += validation ? 1 : 0;
    if (log.kept) {
        log.text += text;
    }
    if (!log.kept || validation) {
        std::fputs(text, stderr);
    }
}

std::vector<float> randomNumbers(std::mt19937& random, int64_t count) {
    std::uniform_real_distribution<float> distribution(-1, 1);
    std::vector<float> numbers(static_cast<size_t>(count));
    for (float& number : numbers) {
        number = distribution(random);
    }
    return numbers;
}

void write(ggml_tensor* tensor, const std::vector<float>& numbers) {
    std::vector<uint8_t> bytes(ggml_nbytes(tensor));
    const int64_t rows = ggml_nrows(tensor);
    if (tensor->type == GGML_TYPE_F32) {
        ggml_backend_tensor_set(tensor, numbers.data(), 0, bytes.size());
        return;
    }
    ggml_quantize_chunk(tensor->type, numbers.data(), bytes.data(), 0, rows, tensor->ne[0], nullptr);
    ggml_backend_tensor_set(tensor, bytes.data(), 0, bytes.size());
}

void fillTensor(ggml_tensor* tensor, std::mt19937& random) {
    if (tensor != nullptr && !ggml_is_empty(tensor)) {
        write(tensor, randomNumbers(random, ggml_nelements(tensor)));
    }
}

// Every third key is masked.
void fillMask(ggml_tensor* mask, std::mt19937& random) {
    std::vector<float> numbers = randomNumbers(random, ggml_nelements(mask));
    for (size_t e = 0; e < numbers.size(); e += 3) {
        numbers[e] = -std::numeric_limits<float>::infinity();
    }
    std::vector<ggml_fp16_t> halves(numbers.size());
    ggml_fp32_to_fp16_row(numbers.data(), halves.data(), static_cast<int64_t>(numbers.size()));
    ggml_backend_tensor_set(mask, halves.data(), 0, ggml_nbytes(mask));
}

// Room for tensors and graphs without their contents: for the largest graph of a test.
size_t contextBytes() { return 4096 * ggml_tensor_overhead() + 4 * ggml_graph_overhead_custom(4096, false); }

} // namespace

ggml_backend_dev_t deviceOf(const char* name) {
    static const bool loaded = [] {
        ggml_log_set(receive, nullptr);
        ggml_backend_load_all();
        return true;
    }();
    ggml_backend_dev_t device = loaded ? ggml_backend_dev_by_name(name) : nullptr;
    if (device == nullptr) {
        throw std::runtime_error(std::string("ggml has no device ") + name);
    }
    return device;
}

BackendHandle newBackend(const char* name) { return BackendHandle(ggml_backend_dev_init(deviceOf(name), nullptr)); }

LogLines::LogLines() {
    const std::lock_guard lock(theLog().mutex);
    theLog().text.clear();
    theLog().kept = true;
}

LogLines::~LogLines() {
    const std::lock_guard lock(theLog().mutex);
    theLog().kept = false;
}

std::string LogLines::text() const { // NOLINT(readability-convert-member-functions-to-static): as long as it lives
    const std::lock_guard lock(theLog().mutex);
    return theLog().text;
}

int validationMessages() {
    const std::lock_guard lock(theLog().mutex);
    return theLog().validationMessages;
}

Graph::Graph(const Call& c) {
    context.reset(ggml_init({contextBytes(), nullptr, true}));
    ggml_context* in = context.get();
    q = ggml_new_tensor_4d(in, GGML_TYPE_F32, c.columns, c.rows, c.heads, c.sequences);
    k = ggml_new_tensor_4d(in, c.kType, c.columns, c.keys, c.kvHeads, c.sequences);
    v = ggml_new_tensor_4d(in, c.vType, c.valueColumns, c.keys, c.kvHeads, c.sequences);
    if (c.mask) {
        mask = ggml_new_tensor_4d(in, GGML_TYPE_F16, c.keys, c.maskRows != 0 ? c.maskRows : c.rows, c.maskHeads,
                                  c.maskSequences);
    }
    out = ggml_flash_attn_ext(in, q, k, v, mask, c.scale, c.maxBias, c.softcap);
    if (c.sinks) {
        sinks = ggml_new_tensor_1d(in, GGML_TYPE_F32, c.heads);
        ggml_flash_attn_ext_add_sinks(out, sinks);
    }
    graph = ggml_new_graph(in);
    ggml_build_forward_expand(graph, out);
}

void Graph::allocate(ggml_backend_t backend) {
    memory.reset(ggml_backend_alloc_ctx_tensors(context.get(), backend));
    if (!memory) {
        throw std::runtime_error("no memory for tensors");
    }
}

void Graph::fill(unsigned seed) const {
    std::mt19937 random(seed);
    fillTensor(q, random);
    fillTensor(k, random);
    fillTensor(v, random);
    if (mask != nullptr && !ggml_is_empty(mask)) {
        fillMask(mask, random);
    }
    fillTensor(sinks, random);
}

std::vector<float> Graph::result() const {
    std::vector<float> numbers(static_cast<size_t>(ggml_nelements(out)));
    ggml_backend_tensor_get(out, numbers.data(), 0, ggml_nbytes(out));
    return numbers;
}

std::vector<float> computeOn(ggml_backend_t backend, const Call& call, unsigned seed) {
    Graph graph(call);
    graph.allocate(backend);
    graph.fill(seed);
    if (ggml_backend_graph_compute(backend, graph.graph) != GGML_STATUS_SUCCESS) {
        throw std::runtime_error(std::string(ggml_backend_name(backend)) + " failed to compute");
    }
    return graph.result();
}

} // namespace vkf::test
