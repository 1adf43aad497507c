// SPDX-License-Identifier: MIT
//
// The safetensors format: the length of the header (64 bits), the header in JSON {"q": {"dtype":
// "BF16", "shape": [..], "data_offsets": [begin, end]}, ..}, the data. As its specification asks, the
// tensors must cover the data without gap or overlap.
#ifndef VKFLASH_TOOLS_SAFETENSORS_HPP
#define VKFLASH_TOOLS_SAFETENSORS_HPP

#include "tensors/tensor_file.hpp"

namespace vkf::tools {

struct NamedTensor {
    std::string name;
    std::string dtype; // as in the file
    // Empty if dtype is none of F32, F16, BF16, I32, I64: another program's business.
    std::optional<TensorView> tensor;
};

// The tensors of a whole file's bytes, in the order of their names. FormatError says what is wrong in
// one sentence.
std::vector<NamedTensor> parseSafetensors(std::span<const std::byte> file);

// FormatError if the tensor is absent or of a type that cannot be used.
const TensorView& findTensor(std::span<const NamedTensor> tensors, const std::string& name);

struct NamedView {
    std::string name;
    TensorView tensor;
};

// The bytes of a file that precede the data of the tensors, which follows in their order.
std::string safetensorsHeader(std::span<const NamedView> tensors);

} // namespace vkf::tools

#endif
