// SPDX-License-Identifier: MIT
//
// Tensors of files that the program reads and writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/program.hpp"
#include "tensors/tensor_file.hpp"

namespace vkf::test {

double element(const tools::Tensor& tensor, size_t index);

// The bytes of a file.
std::string npyOf(const tools::Tensor& tensor);

void writeNpy(const Workplace& place, const std::string& name, tools::ElementType type, const tools::Shape& shape,
              int seed);
void writeLengths(const Workplace& place, const std::string& name, const std::vector<int32_t>& lengths);
// q, k and v, of one type.
void writeSafetensors(const Workplace& place, const std::string& name, tools::ElementType type,
                      const std::vector<tools::Shape>& qkv);

// q.npy, k.npy and v.npy of one type: 6 query heads over 2 KV heads, 17 rows, 33 keys, D = 24.
void writeUsual(const Workplace& place, tools::ElementType type = tools::ElementType::f32);

// The call for these files.
inline const std::string usual = "run --q q.npy --k k.npy --v v.npy -o o.npy";

} // namespace vkf::test
