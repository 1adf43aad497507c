// SPDX-License-Identifier: MIT
//
// Attention through ggml's public interface, on the backend vkflash and on ggml's own CPU backend.
#pragma once

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>

#include <array>
#include <string>
#include <vector>

#include "client.hpp"

namespace vkf::test {

using vkf::ggml::BackendHandle;
using vkf::ggml::BufferHandle;
using vkf::ggml::ContextHandle;
using vkf::ggml::errorOf;

// Loads all backends of ggml, once, and returns the device of a name.
ggml_backend_dev_t deviceOf(const char* name);
BackendHandle newBackend(const char* name);

// Lines that ggml logs, from the construction on. They do not go to stderr in the meantime.
class LogLines {
public:
    LogLines();
    ~LogLines();
    LogLines(const LogLines&) = delete;
    LogLines& operator=(const LogLines&) = delete;
    std::string text() const;
    bool has(const std::string& part) const { return text().find(part) != std::string::npos; }
};

// Validation messages so far.
int validationMessages();

// What a call looks like. Its tensors have random contents, which depend on the seed alone.
struct Call {
    int64_t columns = 64;
    int64_t valueColumns = 64;
    int64_t rows = 3;
    int64_t keys = 40;
    int64_t heads = 4;
    int64_t kvHeads = 2;
    int64_t sequences = 1;
    ggml_type kType = GGML_TYPE_F16;
    ggml_type vType = GGML_TYPE_F16;
    bool mask = false;
    int64_t maskRows = 0; // more than `rows`: padded
    int64_t maskHeads = 1;
    int64_t maskSequences = 1;
    bool sinks = false;
    float scale = 0.125F;
    float maxBias = 0;
    float softcap = 0;
};

// A context without memory, a node of attention in it, and the node's sources.
struct Graph {
    ContextHandle context;
    ggml_tensor* q = nullptr;
    ggml_tensor* k = nullptr;
    ggml_tensor* v = nullptr;
    ggml_tensor* mask = nullptr;
    ggml_tensor* sinks = nullptr;
    ggml_tensor* out = nullptr;
    ggml_cgraph* graph = nullptr;
    BufferHandle memory;

    explicit Graph(const Call& call);
    // Gives all tensors memory of a backend, and fills the sources.
    void allocate(ggml_backend_t backend);
    void fill(unsigned seed = 1) const;
    std::vector<float> result() const;
};

// Computes a call on a backend.
std::vector<float> computeOn(ggml_backend_t backend, const Call& call, unsigned seed = 1);

} // namespace vkf::test
