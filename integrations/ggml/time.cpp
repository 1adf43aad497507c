// SPDX-License-Identifier: MIT
//
// ggml_time [FILE] [--device NAME]... [--runs-for SECONDS]
// Times attention with a causal mask on every device that ggml has loaded, through ggml's public interface alone, so
// that all backends run the same graphs. test-backend-ops perf has no such calls: the mask of its shapes is random, or
// absent. README.md beside this file has the format of FILE.
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "client.hpp"

namespace {

// ---- Shapes ---------------------------------------------------------------------------------------

struct Shape {
    std::string name;
    int64_t columns = 0;
    int64_t valueColumns = 0;
    int64_t heads = 0;
    int64_t kvHeads = 0;
    int64_t rows = 0;
    int64_t keys = 0;
    ggml_type type = GGML_TYPE_F16;
    bool vInK = false; // v is the first columns of k
};

ggml_type typeOf(const std::string& name) {
    for (int type = 0; type < GGML_TYPE_COUNT; type++) {
        const char* known = ggml_type_name(static_cast<ggml_type>(type));
        if (known != nullptr && name == known) {
            return static_cast<ggml_type>(type);
        }
    }
    throw std::runtime_error("ggml has no type " + name);
}

// The shapes of a file, or else a few that models have.
std::vector<Shape> shapesOf(std::istream& lines) {
    std::vector<Shape> shapes;
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line.substr(0, line.find('#')));
        Shape shape;
        std::string type;
        std::string view;
        if (!(words >> shape.name)) {
            continue;
        }
        if (!(words >> shape.columns >> shape.valueColumns >> shape.heads >> shape.kvHeads >> shape.rows >>
              shape.keys >> type)) {
            throw std::runtime_error("cannot read the line: " + line);
        }
        words >> view;
        shape.type = typeOf(type);
        shape.vInK = view == "v_in_k";
        shapes.push_back(shape);
    }
    return shapes;
}

constexpr const char* usualShapes = R"(
prefill_d64      64  64 32 32 8192 8192 f16
prefill_d80      80  80 32 32 8192 8192 f16
prefill_d128    128 128 16 16 8192 8192 f16
prefill_d256    256 256  8  8 8192 8192 f16
prefill_mla     576 512 16  1 8192 8192 f16 v_in_k
chunk_d64        64  64 32  8  512 8192 f16
chunk_d80        80  80 32  8  512 8192 f16
chunk_d128      128 128 32  8  512 8192 f16
chunk_d256      256 256 16  2  512 8192 f16
chunk_mla       576 512 16  1  512 8192 f16 v_in_k
rows16_d64       64  64 32  8   16 8192 f16
rows16_d80       80  80 32  8   16 8192 f16
rows16_d128     128 128 32  8   16 8192 f16
rows16_d256     256 256 16  2   16 8192 f16
rows16_mla      576 512 16  1   16 8192 f16 v_in_k
rows4_d64        64  64 32  8    4 8192 f16
rows4_d80        80  80 32  8    4 8192 f16
rows4_d128      128 128 32  8    4 8192 f16
rows4_d256      256 256 16  2    4 8192 f16
rows4_mla       576 512 16  1    4 8192 f16 v_in_k
chunk_bf16      128 128 32  8  512 8192 bf16
chunk_q8_0      128 128 32  8  512 8192 q8_0
chunk_q5_1      128 128 32  8  512 8192 q5_1
chunk_q5_0      128 128 32  8  512 8192 q5_0
chunk_q4_1      128 128 32  8  512 8192 q4_1
chunk_q4_0      128 128 32  8  512 8192 q4_0
chunk_iq4_nl    128 128 32  8  512 8192 iq4_nl
rows4_bf16      128 128 32  8    4 8192 bf16
rows4_q8_0      128 128 32  8    4 8192 q8_0
rows4_q5_1      128 128 32  8    4 8192 q5_1
rows4_q5_0      128 128 32  8    4 8192 q5_0
rows4_q4_1      128 128 32  8    4 8192 q4_1
rows4_q4_0      128 128 32  8    4 8192 q4_0
rows4_iq4_nl    128 128 32  8    4 8192 iq4_nl
)";

// Multiplications and additions of the pairs that the mask leaves.
double operationsOf(const Shape& s) {
    const double pairs =
        static_cast<double>(s.rows) * (static_cast<double>(s.keys) - static_cast<double>(s.rows - 1) / 2);
    return 2 * pairs * static_cast<double>(s.heads * (s.columns + s.valueColumns));
}

// ---- Graphs ---------------------------------------------------------------------------------------

using vkf::ggml::BackendHandle;
using vkf::ggml::BufferHandle;
using vkf::ggml::ContextHandle;
using vkf::ggml::errorOf;

constexpr size_t maxNodes = 4096; // of a graph

// What all backends compute: contents of the tensors, made once for each shape.
struct Inputs {
    std::vector<float> q;
    std::vector<uint8_t> k, v;
    std::vector<ggml_fp16_t> mask;
};

std::vector<float> randomNumbers(std::mt19937& random, int64_t count) {
    std::vector<float> numbers(static_cast<size_t>(count));
    for (float& number : numbers) {
        number = static_cast<float>(random()) * 0x1p-31F - 1; // [-1, 1]
    }
    return numbers;
}

std::vector<uint8_t> randomRows(std::mt19937& random, ggml_type type, int64_t columns, int64_t rows) {
    const std::vector<float> numbers = randomNumbers(random, columns * rows);
    std::vector<uint8_t> bytes(ggml_row_size(type, columns) * static_cast<size_t>(rows));
    if (type == GGML_TYPE_F32) {
        std::copy_n(reinterpret_cast<const uint8_t*>(numbers.data()), bytes.size(), bytes.begin());
    } else {
        ggml_quantize_chunk(type, numbers.data(), bytes.data(), 0, rows, columns, nullptr);
    }
    return bytes;
}

// Row i sees the keys up to i + keys - rows: the rows are the last ones of the cache.
std::vector<ggml_fp16_t> causalMask(const Shape& s) {
    const ggml_fp16_t closed = ggml_fp32_to_fp16(-std::numeric_limits<float>::infinity());
    std::vector<ggml_fp16_t> mask(static_cast<size_t>(s.rows * s.keys), closed);
    for (int64_t i = 0; i < s.rows; i++) {
        std::fill_n(mask.begin() + i * s.keys, std::max<int64_t>(i + s.keys - s.rows + 1, 0), ggml_fp16_t{0});
    }
    return mask;
}

Inputs inputsOf(const Shape& s) {
    std::mt19937 random(1);
    Inputs inputs;
    inputs.q = randomNumbers(random, s.columns * s.rows * s.heads);
    inputs.k = randomRows(random, s.type, s.columns, s.keys * s.kvHeads);
    if (!s.vInK) {
        inputs.v = randomRows(random, s.type, s.valueColumns, s.keys * s.kvHeads);
    }
    inputs.mask = causalMask(s);
    return inputs;
}

class Graph {
public:
    explicit Graph(const Shape& s) {
        context_.reset(
            ggml_init({ggml_tensor_overhead() * 16 + ggml_graph_overhead_custom(maxNodes, false), nullptr, true}));
        ggml_context* in = context_.get();
        q_ = ggml_new_tensor_3d(in, GGML_TYPE_F32, s.columns, s.rows, s.heads);
        k_ = ggml_new_tensor_3d(in, s.type, s.columns, s.keys, s.kvHeads);
        v_ = s.vInK ? ggml_view_3d(in, k_, s.valueColumns, s.keys, s.kvHeads, k_->nb[1], k_->nb[2], 0)
                    : ggml_new_tensor_3d(in, s.type, s.valueColumns, s.keys, s.kvHeads);
        mask_ = ggml_new_tensor_2d(in, GGML_TYPE_F16, s.keys, s.rows);
        const float scale = 1 / std::sqrt(static_cast<float>(s.columns));
        out_ = ggml_flash_attn_ext(in, q_, k_, v_, mask_, scale, 0, 0);
        graph_ = ggml_new_graph_custom(in, maxNodes, false);
        ggml_build_forward_expand(graph_, out_);
    }

    bool runsOn(ggml_backend_t backend) const { return ggml_backend_supports_op(backend, out_); }

    void load(ggml_backend_t backend, const Inputs& inputs) {
        memory_.reset(ggml_backend_alloc_ctx_tensors(context_.get(), backend));
        if (!memory_) {
            throw std::runtime_error("no memory for the tensors");
        }
        ggml_backend_tensor_set(q_, inputs.q.data(), 0, ggml_nbytes(q_));
        ggml_backend_tensor_set(k_, inputs.k.data(), 0, ggml_nbytes(k_));
        if (!inputs.v.empty()) {
            ggml_backend_tensor_set(v_, inputs.v.data(), 0, ggml_nbytes(v_));
        }
        ggml_backend_tensor_set(mask_, inputs.mask.data(), 0, ggml_nbytes(mask_));
    }

    // Seconds of the whole graph, as the program sees them.
    double compute(ggml_backend_t backend) const {
        const int64_t start = ggml_time_us();
        if (ggml_backend_graph_compute(backend, graph_) != GGML_STATUS_SUCCESS) {
            throw std::runtime_error("the backend failed");
        }
        return static_cast<double>(ggml_time_us() - start) * 1e-6;
    }

    // Lets the graph have the same node this many times.
    void repeat(size_t runs) const {
        for (size_t run = 1; run < std::min(runs, maxNodes - static_cast<size_t>(1)); run++) {
            ggml_graph_add_node(graph_, out_);
        }
    }
    // Besides views, which cost nothing.
    int runs() const {
        int count = 0;
        for (int i = 0; i < ggml_graph_n_nodes(graph_); i++) {
            count += ggml_graph_node(graph_, i) == out_ ? 1 : 0;
        }
        return count;
    }

    std::vector<float> result() const {
        std::vector<float> numbers(static_cast<size_t>(ggml_nelements(out_)));
        ggml_backend_tensor_get(out_, numbers.data(), 0, ggml_nbytes(out_));
        return numbers;
    }

private:
    ContextHandle context_;
    ggml_tensor *q_, *k_, *v_, *mask_, *out_;
    ggml_cgraph* graph_;
    BufferHandle memory_;
};

// ---- Measurements ---------------------------------------------------------------------------------

// The most operations for which the CPU backend computes the expected result.
constexpr double maxChecked = 2e10;
// The error that ggml's own tests accept.
constexpr double bound = 5e-4;

struct Options {
    std::vector<Shape> shapes;
    std::vector<std::string> devices; // empty: all but the CPU
    double seconds = 1;
};

bool asked(const Options& options, ggml_backend_dev_t device) {
    const std::string name = ggml_backend_dev_name(device);
    if (options.devices.empty()) {
        return ggml_backend_dev_type(device) != GGML_BACKEND_DEVICE_TYPE_CPU;
    }
    return std::find(options.devices.begin(), options.devices.end(), name) != options.devices.end();
}

// What the CPU backend computes; empty if that would take too long.
std::vector<float> expectedOf(const Shape& shape, const Inputs& inputs) {
    if (operationsOf(shape) > maxChecked) {
        return {};
    }
    const BackendHandle cpu(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr));
    Graph graph(shape);
    if (!cpu || !graph.runsOn(cpu.get())) {
        return {};
    }
    graph.load(cpu.get(), inputs);
    graph.compute(cpu.get());
    return graph.result();
}

// A shape on one backend.
class Measurement {
public:
    Measurement(ggml_backend_t backend, const Shape& shape, const Inputs& inputs)
        : backend_(backend), graph_(shape), supported_(graph_.runsOn(backend)) {
        if (supported_) {
            graph_.load(backend, inputs);
            graph_.compute(backend); // compiles
        }
    }

    bool supported() const { return supported_; }

    // The error of the result; 0 if nothing is expected. Call it before prepare().
    double error(const std::vector<float>& expected) const {
        return expected.empty() ? 0 : errorOf(graph_.result(), expected);
    }

    // Makes the graph so long that it takes about `seconds`.
    void prepare(double seconds) {
        const double once = graph_.compute(backend_);
        graph_.repeat(static_cast<size_t>(std::clamp(seconds / once, 1.0, double{maxNodes})));
    }

    double compute() const { return graph_.compute(backend_); }
    void add() { times_.push_back(compute()); }

    void print(const Shape& shape) {
        std::sort(times_.begin(), times_.end());
        const double median = times_[times_.size() / 2] / graph_.runs();
        std::printf(" %6zu runs - %10.2f us/run - %8.2f GFLOP/run - %8.2f TFLOPS - ",
                    times_.size() * static_cast<size_t>(graph_.runs()), median * 1e6, operationsOf(shape) * 1e-9,
                    operationsOf(shape) / median * 1e-12);
    }

private:
    ggml_backend_t backend_;
    Graph graph_;
    bool supported_;
    std::vector<double> times_; // of whole graphs
};

constexpr int graphsInTime = 10; // of one backend

// Measures the backends in turns, so that a change of the device's clock meets all of them alike. They first compute
// for half of the time unmeasured, because the clock of an idle device is low. Returns whether the results are right,
// as far as they were checked.
bool measure(const std::vector<BackendHandle>& backends, const Shape& shape, const Options& options) {
    const Inputs inputs = inputsOf(shape);
    const std::vector<float> expected = expectedOf(shape, inputs);
    std::vector<Measurement> all;
    std::vector<double> errors;
    for (const BackendHandle& backend : backends) {
        Measurement& one = all.emplace_back(backend.get(), shape, inputs);
        errors.push_back(one.supported() ? one.error(expected) : 0);
    }
    const auto eachTurn = [&all](const auto& turn) {
        for (Measurement& one : all) {
            if (one.supported()) {
                turn(one);
            }
        }
    };
    eachTurn([&](Measurement& one) { one.prepare(options.seconds / graphsInTime); });
    for (int i = 0; i < graphsInTime / 2; i++) {
        eachTurn([](const Measurement& one) { one.compute(); });
    }
    for (int i = 0; i < graphsInTime; i++) {
        eachTurn([](Measurement& one) { one.add(); });
    }
    bool right = true;
    for (size_t i = 0; i < all.size(); i++) {
        std::printf("  %-28s %-8s", shape.name.c_str(), ggml_backend_name(backends[i].get()));
        if (!all[i].supported()) {
            std::printf(" not supported\n");
            continue;
        }
        all[i].print(shape);
        const bool good = errors[i] <= bound; // also false for NaN
        right = right && good;
        if (expected.empty()) {
            std::printf("not checked\n");
        } else {
            std::printf("error %.1e %s\n", errors[i], good ? "right" : "WRONG");
        }
    }
    std::fflush(stdout);
    return right;
}

Options parse(int argc, char** argv) {
    Options options;
    std::istringstream usual(usualShapes);
    options.shapes = shapesOf(usual);
    for (int i = 1; i < argc; i++) {
        const std::string_view word = argv[i];
        if (word == "--device" && i + 1 < argc) {
            options.devices.emplace_back(argv[++i]);
        } else if (word == "--runs-for" && i + 1 < argc) {
            options.seconds = std::strtod(argv[++i], nullptr);
        } else if (word.starts_with("-")) {
            throw std::runtime_error("usage: ggml_time [FILE] [--device NAME]... [--runs-for SECONDS]");
        } else {
            std::ifstream file(argv[i]);
            if (!file) {
                throw std::runtime_error(std::string("cannot read ") + argv[i]);
            }
            options.shapes = shapesOf(file);
        }
    }
    return options;
}

bool run(const Options& options) {
    ggml_backend_load_all();
    ggml_time_init();
    std::vector<BackendHandle> backends;
    for (size_t i = 0; i < ggml_backend_dev_count(); i++) {
        ggml_backend_dev_t device = ggml_backend_dev_get(i);
        if (asked(options, device)) {
            backends.emplace_back(ggml_backend_dev_init(device, nullptr));
            std::printf("%s: %s\n", ggml_backend_dev_name(device), ggml_backend_dev_description(device));
        }
    }
    if (backends.empty()) {
        throw std::runtime_error("no device to measure");
    }
    std::printf("ggml %s. Causal masks; operations count visible pairs; medians.\n", ggml_version());
    bool right = true;
    for (const Shape& shape : options.shapes) {
        right = measure(backends, shape, options) && right;
    }
    return right;
}

} // namespace

int main(int argc, char** argv) {
    try {
        return run(parse(argc, argv)) ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "ggml_time: %s\n", error.what());
        return 2;
    }
}
