// SPDX-License-Identifier: MIT
//
// Reads any bytes as a .npy file. The reader must refuse them with a text, or return an array that is inside the file
// and survives writing and reading.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tensors/npy.hpp"

using namespace vkf::tools;

namespace {

void require(bool condition) {
    if (!condition)
        std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::span<const std::byte> file = std::as_bytes(std::span(data, size));
    try {
        const TensorView tensor = parseNpy(file);
        require(tensorBytes(tensor.shape, elementBytes(tensor.type)) == tensor.data.size());
        require(tensor.data.empty() ||
                (tensor.data.data() >= file.data() && tensor.data.data() + tensor.data.size() <= file.data() + size));
        std::string written = npyHeader(tensor.type, tensor.shape);
        written.append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size());
        const TensorView again = parseNpy(std::as_bytes(std::span(written)));
        require(again.type == tensor.type && again.shape == tensor.shape);
        require(again.data.size() == tensor.data.size());
    } catch (const FormatError& error) {
        require(std::strlen(error.what()) > 0);
    }
    return 0;
}
