// SPDX-License-Identifier: MIT
//
// NumPy's .npy format, versions 1.0, 2.0 and 3.0. A file has magic, version, header length, a Python dict literal
// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, and data.
// Reads little-endian C-order arrays of the types in ElementType except bf16, which NumPy does not have. Writes version
// 1.0.
#pragma once

#include "tensors/tensor_file.hpp"

namespace vkf::tools {

// The array in the bytes of a whole file. Throws FormatError with one sentence about the problem.
TensorView parseNpy(std::span<const std::byte> file);

// The bytes of a file before the data. The data follows unchanged. Does not support bf16.
std::string npyHeader(ElementType type, const Shape& shape);

} // namespace vkf::tools
