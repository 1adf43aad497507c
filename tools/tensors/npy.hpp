// SPDX-License-Identifier: MIT
//
// NumPy's .npy format, versions 1.0, 2.0 and 3.0: magic, version, header length, a Python dict
// literal {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, data. Read are little-endian C-order
// arrays of the types in ElementType except bf16, which NumPy does not have; written is version 1.0.
#ifndef VKFLASH_TOOLS_NPY_HPP
#define VKFLASH_TOOLS_NPY_HPP

#include "tensors/tensor_file.hpp"

namespace vkf::tools {

// The array in a whole file's bytes. FormatError says what is wrong in one sentence.
TensorView parseNpy(std::span<const std::byte> file);

// The bytes of a file that precede the data, which follows as it is. Not for bf16.
std::string npyHeader(ElementType type, const Shape& shape);

} // namespace vkf::tools

#endif
