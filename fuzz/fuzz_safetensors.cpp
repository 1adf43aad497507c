// SPDX-License-Identifier: MIT
//
// Reads any bytes as a .safetensors file. The reader must refuse them with one line of text, or return tensors that are
// inside the file and survive writing and reading.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tensors/safetensors.hpp"

using namespace vkf::tools;

namespace {

void require(bool condition) {
    if (!condition)
        std::abort();
}

void requireRoundTrip(const std::vector<NamedTensor>& tensors) {
    std::vector<NamedView> views;
    for (const NamedTensor& entry : tensors)
        if (entry.tensor)
            views.push_back({entry.name, *entry.tensor});
    std::string written = safetensorsHeader(views);
    for (const NamedView& view : views)
        written.append(reinterpret_cast<const char*>(view.tensor.data.data()), view.tensor.data.size());
    const std::vector<NamedTensor> again = parseSafetensors(std::as_bytes(std::span(written)));
    require(again.size() == views.size());
    for (const NamedView& view : views) {
        const TensorView& tensor = findTensor(again, view.name);
        require(tensor.type == view.tensor.type && tensor.shape == view.tensor.shape);
        require(tensor.data.size() == view.tensor.data.size());
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::span<const std::byte> file = std::as_bytes(std::span(data, size));
    try {
        const std::vector<NamedTensor> tensors = parseSafetensors(file);
        for (const NamedTensor& entry : tensors)
            if (entry.tensor)
                require(tensorBytes(entry.tensor->shape, elementBytes(entry.tensor->type)) ==
                        entry.tensor->data.size());
        requireRoundTrip(tensors);
    } catch (const FormatError& error) {
        require(std::strlen(error.what()) > 0);
        require(std::strchr(error.what(), '\n') == nullptr);
    }
    return 0;
}
