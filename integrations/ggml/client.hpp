// SPDX-License-Identifier: MIT
//
// For programs that use ggml's public interface: handles that own its objects, and the error by which ggml judges.
#pragma once

#include <ggml-backend.h>
#include <ggml.h>

#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

namespace vkf::ggml {

template <auto function> struct Caller {
    template <typename Object> void operator()(Object* object) const { function(object); }
};
using BackendHandle = std::unique_ptr<ggml_backend, Caller<ggml_backend_free>>;
using BufferHandle = std::unique_ptr<ggml_backend_buffer, Caller<ggml_backend_buffer_free>>;
using ContextHandle = std::unique_ptr<ggml_context, Caller<ggml_free>>;

// The normalized mean squared error by which ggml's own tests judge. They accept up to 5e-4.
inline double errorOf(const std::vector<float>& result, const std::vector<float>& expected) {
    double difference = 0;
    double square = 0;
    for (std::size_t i = 0; i < expected.size(); i++) {
        const double off = double{result[i]} - expected[i];
        difference += off * off;
        square += double{expected[i]} * expected[i];
    }
    return result.size() == expected.size() ? difference / square : std::numeric_limits<double>::infinity();
}

} // namespace vkf::ggml
