// SPDX-License-Identifier: MIT
//
// The safetensors format. A file has the length of the header (64 bits), the header in JSON {"q": {"dtype": "BF16",
// "shape": [..], "data_offsets": [begin, end]}, ..}, and the data.
// The specification requires that the tensors cover the data without gap or overlap.
#pragma once

#include "tensors/tensor_file.hpp"

namespace vkf::tools {

struct NamedTensor {
    std::string name;
    std::string dtype; // as in the file
    // Empty if dtype is not F32, F16, BF16, I32 or I64. The program does not use such tensors.
    std::optional<TensorView> tensor;
};

// The tensors in the bytes of a whole file, in the order of their names. Throws FormatError with one sentence about the
// problem.
std::vector<NamedTensor> parseSafetensors(std::span<const std::byte> file);

// Throws FormatError if the tensor is absent or has a type that cannot be used.
const TensorView& findTensor(std::span<const NamedTensor> tensors, const std::string& name);

struct NamedView {
    std::string name;
    TensorView tensor;
};

// The bytes of a file before the data. The data of the tensors follows in their order.
std::string safetensorsHeader(std::span<const NamedView> tensors);

} // namespace vkf::tools
