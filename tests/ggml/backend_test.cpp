// SPDX-License-Identifier: MIT
//
// The backend for ggml: what ggml's own tests leave out. They never hand a backend a wrong buffer, or an empty tensor.
#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <cstring>
#include <limits>
#include <thread>

#include "graph.hpp"

namespace {

using namespace vkf::test;

constexpr const char* name = "vkflash";

// The error that ggml's own tests accept.
constexpr double bound = 5e-4;

double errorAgainstCpu(const Call& call) {
    const BackendHandle ours = newBackend(name);
    const BackendHandle theirs = newBackend("CPU");
    return errorOf(computeOn(ours.get(), call), computeOn(theirs.get(), call));
}

bool supports(const Graph& graph) { return ggml_backend_dev_supports_op(deviceOf(name), graph.out); }

} // namespace

TEST_CASE("the device is an accelerator with memory of its own", "[ggml]") {
    ggml_backend_dev_t device = deviceOf(name);
    ggml_backend_dev_props properties{};
    ggml_backend_dev_get_props(device, &properties);
    CHECK(properties.type == GGML_BACKEND_DEVICE_TYPE_ACCEL);
    CHECK(properties.memory_total > 0);
    CHECK(properties.memory_free <= properties.memory_total);
    CHECK_FALSE(properties.caps.async);
    ggml_backend_buffer_type_t type = ggml_backend_dev_buffer_type(device);
    CHECK(ggml_backend_dev_supports_buft(device, type));
    CHECK_FALSE(ggml_backend_dev_supports_buft(device, ggml_backend_dev_buffer_type(deviceOf("CPU"))));
    CHECK_FALSE(ggml_backend_buft_is_host(type));
}

TEST_CASE("calls that ggml's own tests lack give what the CPU backend gives", "[ggml]") {
    Call call;
    SECTION("mask with more rows than q") {
        call.mask = true;
        call.maskRows = 64;
    }
    SECTION("mask for each head") {
        call.mask = true;
        call.maskHeads = call.heads;
    }
    SECTION("a mask that heads and sequences repeat modulo 2") {
        call.mask = true;
        call.heads = 6;
        call.maskHeads = 2;
        call.sequences = 4;
        call.maskSequences = 2;
    }
    SECTION("max_bias with a number of heads that is not a power of two") {
        call.heads = 6;
        call.mask = true;
        call.maxBias = 5;
    }
    SECTION("everything at once, two sequences") {
        call.sequences = 2;
        call.mask = call.sinks = true;
        call.maxBias = 8;
        call.softcap = 4;
    }
    SECTION("a scale of 0") { call.scale = 0; }
    SECTION("a negative scale") { call.scale = -0.5F; }
    SECTION("types of k and v differ") {
        call.kType = GGML_TYPE_Q8_0;
        call.vType = GGML_TYPE_Q4_1;
    }
    CHECK(errorAgainstCpu(call) < bound);
}

TEST_CASE("a view of tensors in larger tensors is used in place", "[ggml]") {
    std::vector<std::vector<float>> results;
    for (const char* backendName : {name, "CPU"}) {
        const BackendHandle backend = newBackend(backendName);
        Graph graph({.rows = 8, .keys = 64, .kvHeads = 4});
        ggml_context* in = graph.context.get();
        // rows 16 to 55 of k and v; the columns of v are a part of k's
        ggml_tensor* k = ggml_view_4d(in, graph.k, 64, 40, 4, 1, graph.k->nb[1], graph.k->nb[2], graph.k->nb[3],
                                      16 * graph.k->nb[1]);
        ggml_tensor* v = ggml_view_4d(in, graph.k, 32, 40, 4, 1, graph.k->nb[1], graph.k->nb[2], graph.k->nb[3],
                                      16 * graph.k->nb[1] + 16 * graph.k->nb[0]);
        // rows and heads of q change places
        ggml_tensor* q = ggml_permute(in, ggml_reshape_4d(in, graph.q, 64, 4, 8, 1), 0, 2, 1, 3);
        graph.out = ggml_flash_attn_ext(in, q, k, v, nullptr, 0.125F, 0, 0);
        graph.graph = ggml_new_graph(in);
        ggml_build_forward_expand(graph.graph, graph.out);
        graph.allocate(backend.get());
        graph.fill();
        REQUIRE(ggml_backend_graph_compute(backend.get(), graph.graph) == GGML_STATUS_SUCCESS);
        results.push_back(graph.result());
    }
    CHECK(errorOf(results[0], results[1]) < bound);
}

TEST_CASE("nodes wait for the nodes before them", "[ggml]") {
    constexpr int nodes = 100; // more than one submission
    const BackendHandle backend = newBackend(name);
    Graph graph({.rows = 4, .keys = 32, .heads = 4, .kvHeads = 4});
    for (int i = 1; i < nodes; i++) { // each takes the result of the last as q
        ggml_tensor* q = ggml_permute(graph.context.get(), graph.out, 0, 2, 1, 3);
        graph.out = ggml_flash_attn_ext(graph.context.get(), q, graph.k, graph.v, nullptr, 3, 0, 0);
    }
    ggml_cgraph* chain = ggml_new_graph(graph.context.get());
    ggml_build_forward_expand(chain, graph.out);
    graph.allocate(backend.get());
    graph.fill();
    // Small differences grow from node to node, so that the results of single nodes must have the same bits.
    for (int i = 0; i < ggml_graph_n_nodes(chain); i++) {
        ggml_cgraph* single = ggml_new_graph_custom(graph.context.get(), 1, false);
        ggml_graph_add_node(single, ggml_graph_node(chain, i));
        REQUIRE(ggml_backend_graph_compute(backend.get(), single) == GGML_STATUS_SUCCESS);
    }
    const std::vector<float> expected = graph.result();
    ggml_backend_tensor_memset(graph.out, 0, 0, ggml_nbytes(graph.out));
    REQUIRE(ggml_backend_graph_compute(backend.get(), chain) == GGML_STATUS_SUCCESS);
    CHECK(graph.result() == expected);
}

TEST_CASE("a tensor in a buffer of another backend makes the graph fail", "[ggml]") {
    const LogLines lines;
    const BackendHandle ours = newBackend(name);
    const BackendHandle cpu = newBackend("CPU");
    Graph graph(Call{});
    graph.allocate(cpu.get());
    graph.fill();
    CHECK(ggml_backend_graph_compute(ours.get(), graph.graph) == GGML_STATUS_FAILED);
    CHECK(lines.has("q lies in a buffer of CPU"));
    CHECK(errorAgainstCpu(Call{}) < bound); // the device works as before
}

TEST_CASE("a tensor without memory, or outside of its buffer, makes the graph fail", "[ggml]") {
    const LogLines lines;
    const BackendHandle backend = newBackend(name);
    Graph graph(Call{});
    CHECK(ggml_backend_graph_compute(backend.get(), graph.graph) == GGML_STATUS_FAILED);
    CHECK(lines.has("q has no memory"));
    graph.allocate(backend.get());
    graph.fill();
    char* const base = static_cast<char*>(ggml_backend_buffer_get_base(graph.memory.get()));
    const size_t size = ggml_backend_buffer_get_size(graph.memory.get());
    void* const k = graph.k->data;
    graph.k->data = base + size + 4096;
    CHECK(ggml_backend_graph_compute(backend.get(), graph.graph) == GGML_STATUS_FAILED);
    CHECK(lines.has("k lies outside of its buffer"));
    graph.k->data = base + size - 256; // it begins inside
    CHECK(ggml_backend_graph_compute(backend.get(), graph.graph) == GGML_STATUS_FAILED);
    CHECK(lines.has("k needs 10240 bytes; its binding has 256"));
    graph.k->data = k;
    CHECK(ggml_backend_graph_compute(backend.get(), graph.graph) == GGML_STATUS_SUCCESS);
}

TEST_CASE("empty tensors are accepted", "[ggml]") {
    const BackendHandle backend = newBackend(name);
    CHECK(computeOn(backend.get(), {.rows = 0}).empty());
    CHECK(computeOn(backend.get(), {.heads = 0}).empty());
    SECTION("no keys: every row is 0") {
        const Call call{.keys = 0};
        const std::vector<float> zeros(static_cast<size_t>(call.valueColumns * call.rows * call.heads));
        CHECK(computeOn(backend.get(), call) == zeros);
    }
}

TEST_CASE("what vkflash cannot do is refused with a reason", "[ggml]") {
    const LogLines lines;
    const BackendHandle backend = newBackend(name);
    std::string reason;
    const auto refuses = [&](Graph& graph) {
        const bool refused = !supports(graph);
        graph.allocate(backend.get()); // a caller that computes all the same gets an error
        return refused && ggml_backend_graph_compute(backend.get(), graph.graph) == GGML_STATUS_FAILED &&
               lines.has(reason);
    };
    SECTION("a type") {
        reason = "k has type q4_K, which vkflash does not have";
        Graph graph({.columns = 256, .kType = GGML_TYPE_Q4_K});
        CHECK(refuses(graph));
    }
    SECTION("k and v with different numbers of heads") {
        reason = "v has another number of heads than k";
        Graph graph(Call{});
        graph.out->src[2] = ggml_new_tensor_4d(graph.context.get(), GGML_TYPE_F16, 64, 40, 1, 1);
        CHECK(refuses(graph));
    }
    SECTION("a mask with more heads than q") {
        reason = "mask has more heads or sequences than q";
        Graph graph({.mask = true});
        graph.out->src[3] = ggml_new_tensor_4d(graph.context.get(), GGML_TYPE_F16, 40, 3, 8, 1);
        CHECK(refuses(graph));
    }
    SECTION("a view at an odd address") {
        reason = "k is a view that does not begin at a multiple of 16 bytes";
        Graph graph({.kvHeads = 4});
        ggml_tensor* wide = ggml_new_tensor_4d(graph.context.get(), GGML_TYPE_F16, 128, 40, 4, 1);
        graph.out->src[1] =
            ggml_view_4d(graph.context.get(), wide, 64, 40, 4, 1, wide->nb[1], wide->nb[2], wide->nb[3], 2);
        CHECK(refuses(graph));
    }
    SECTION("a limit of the library") {
        reason = "headDim";
        Graph graph({.columns = 4096});
        CHECK(refuses(graph));
    }
}

TEST_CASE("other operations are left to other backends", "[ggml]") {
    const LogLines lines;
    const BackendHandle backend = newBackend(name);
    Graph graph(Call{});
    ggml_tensor* product = ggml_mul_mat(graph.context.get(), graph.k, graph.q);
    CHECK_FALSE(ggml_backend_dev_supports_op(deviceOf(name), product));
    graph.graph = ggml_new_graph(graph.context.get());
    ggml_build_forward_expand(graph.graph, product);
    graph.allocate(backend.get());
    CHECK(ggml_backend_graph_compute(backend.get(), graph.graph) == GGML_STATUS_FAILED);
    CHECK(lines.has("cannot compute a node MUL_MAT"));
}

TEST_CASE("a node without the flag COMPUTE is left alone", "[ggml]") {
    const BackendHandle backend = newBackend(name);
    Graph graph(Call{});
    graph.allocate(backend.get());
    graph.fill();
    ggml_backend_tensor_memset(graph.out, 0x3f, 0, ggml_nbytes(graph.out));
    const std::vector<float> before = graph.result();
    graph.out->flags &= ~GGML_TENSOR_FLAG_COMPUTE;
    CHECK(ggml_backend_graph_compute(backend.get(), graph.graph) == GGML_STATUS_SUCCESS);
    CHECK(graph.result() == before);
}

TEST_CASE("an allocation that fails gives no buffer", "[ggml]") {
    const LogLines lines;
    ggml_backend_buffer_type_t type = ggml_backend_dev_buffer_type(deviceOf(name));
    CHECK(ggml_backend_buft_alloc_buffer(type, std::numeric_limits<size_t>::max() / 2) == nullptr);
    CHECK(lines.has("allocate: "));
    CHECK(ggml_backend_buft_alloc_buffer(type, std::numeric_limits<size_t>::max()) == nullptr);
    const BufferHandle empty(ggml_backend_buft_alloc_buffer(type, 0));
    CHECK(ggml_backend_buffer_get_size(empty.get()) == 0);
}

TEST_CASE("a part of a tensor is filled, written and read", "[ggml]") {
    const BackendHandle backend = newBackend(name);
    Graph graph(Call{});
    graph.allocate(backend.get());
    ggml_backend_buffer_clear(graph.memory.get(), 1);
    std::vector<uint8_t> expected(ggml_nbytes(graph.q), 1);
    for (const auto& [offset, bytes] : {std::pair{1, 1}, {5, 2}, {9, 10}, {40, 8}, {61, 7}, {80, 1}}) {
        ggml_backend_tensor_memset(graph.q, static_cast<uint8_t>(offset), static_cast<size_t>(offset),
                                   static_cast<size_t>(bytes));
        std::memset(&expected[static_cast<size_t>(offset)], offset, static_cast<size_t>(bytes));
    }
    expected[101] = 7;
    ggml_backend_tensor_set(graph.q, &expected[101], 101, 1);
    std::vector<uint8_t> read(expected.size());
    ggml_backend_tensor_get(graph.q, read.data(), 0, read.size());
    CHECK(read == expected);
    uint8_t one = 0;
    ggml_backend_tensor_get(graph.q, &one, 101, 1);
    CHECK(one == 7);
}

TEST_CASE("a graph has more shapes than the cache of plans holds", "[ggml]") {
    constexpr int64_t shapes = 300;
    std::vector<std::vector<float>> results;
    for (const char* backendName : {name, "CPU"}) {
        const BackendHandle backend = newBackend(backendName);
        Graph graph({.columns = 32, .valueColumns = 32, .rows = 1, .keys = shapes, .kvHeads = 4, .mask = true});
        ggml_context* in = graph.context.get();
        graph.graph = ggml_new_graph_custom(in, 4096, false);
        std::vector<ggml_tensor*> outs;
        for (int64_t keys = 1; keys <= shapes; keys++) {
            const auto firstKeys = [&](const ggml_tensor* all) {
                return ggml_view_4d(in, const_cast<ggml_tensor*>(all), 32, keys, 4, 1, all->nb[1], all->nb[2],
                                    all->nb[3], 0);
            };
            ggml_tensor* mask =
                ggml_view_4d(in, graph.mask, keys, 1, 1, 1, graph.mask->nb[1], graph.mask->nb[2], graph.mask->nb[3], 0);
            // The factors of max_bias lie in memory that goes with a plan.
            outs.push_back(ggml_flash_attn_ext(in, graph.q, firstKeys(graph.k), firstKeys(graph.v), mask, 1, 8, 0));
            ggml_build_forward_expand(graph.graph, outs.back());
        }
        graph.allocate(backend.get());
        graph.fill();
        REQUIRE(ggml_backend_graph_compute(backend.get(), graph.graph) == GGML_STATUS_SUCCESS);
        results.emplace_back();
        for (ggml_tensor* out : outs) {
            graph.out = out;
            const std::vector<float> result = graph.result();
            results.back().insert(results.back().end(), result.begin(), result.end());
        }
    }
    CHECK(errorOf(results[0], results[1]) < bound);
}

TEST_CASE("other threads move data and compute at the same time", "[ggml]") {
    const Call call{.rows = 20, .keys = 200, .mask = true, .sinks = true};
    const BackendHandle backend = newBackend(name);
    const std::vector<float> expected = computeOn(backend.get(), call);
    std::atomic<bool> done = false;
    std::atomic<int> wrong = 0;
    std::thread mover([&] {
        Graph graph(call);
        graph.allocate(backend.get());
        std::vector<uint8_t> sent(ggml_nbytes(graph.k));
        std::vector<uint8_t> read(sent.size());
        for (uint8_t turn = 0; !done; turn++) {
            std::fill(sent.begin(), sent.end(), turn);
            ggml_backend_tensor_set(graph.k, sent.data(), 0, sent.size());
            ggml_backend_tensor_get(graph.k, read.data(), 0, read.size());
            wrong += read != sent ? 1 : 0;
        }
    });
    std::thread other([&] {
        const BackendHandle second = newBackend(name);
        while (!done) {
            wrong += computeOn(second.get(), call) != expected ? 1 : 0;
        }
    });
    int differences = 0;
    for (int turn = 0; turn < 20; turn++) {
        differences += computeOn(backend.get(), call) != expected ? 1 : 0;
    }
    done = true;
    mover.join();
    other.join();
    CHECK(differences == 0);
    CHECK(wrong == 0);
}
