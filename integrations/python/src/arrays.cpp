// SPDX-License-Identifier: MIT
#include "arrays.hpp"

#include <array>
#include <cstdint>
#include <vector>

#include <nanobind/ndarray.h>

#include "errors.hpp"

namespace vkf::python {
namespace {

constexpr nb::dlpack::dtype bf16{static_cast<uint8_t>(nb::dlpack::dtype_code::Bfloat), 16, 1};
// NumPy has no bf16 of its own. Its bits are in this type.
constexpr nb::dlpack::dtype bits16{static_cast<uint8_t>(nb::dlpack::dtype_code::UInt), 16, 1};

using CpuArray = nb::ndarray<nb::ro, nb::device::cpu>;

// An array of NumPy on the memory of `source`, and whether its elements are the bits of bf16.
nb::tuple fromDlpack(const nb::object& source) {
    CpuArray from;
    if (!nb::try_cast(source, from)) {
        refuse("the array is not in the memory of the CPU, or does not support DLPack");
    }
    const bool isBf16 = from.dtype() == bf16;
    std::vector<size_t> shape(from.ndim());
    std::vector<int64_t> strides(from.ndim());
    for (size_t i = 0; i < from.ndim(); i++) {
        shape[i] = from.shape(i);
        strides[i] = from.stride(i);
    }
    // What `source` exports may be a copy, which lives as long as its export.
    const nb::capsule owner(new CpuArray(from), [](void* array) noexcept { delete static_cast<CpuArray*>(array); });
    nb::ndarray<nb::numpy, nb::ro> to(from.data(), from.ndim(), shape.data(), owner, strides.data(),
                                      isBf16 ? bits16 : from.dtype(), nb::device::cpu::value, 0);
    return nb::make_tuple(to, isBf16);
}

// An object with DLPack whose elements are bf16, on the memory of an array of bits.
nb::object bf16ToDlpack(const nb::ndarray<uint16_t, nb::c_contig, nb::device::cpu>& bits, nb::object owner) {
    std::vector<size_t> shape(bits.ndim());
    for (size_t i = 0; i < bits.ndim(); i++) {
        shape[i] = bits.shape(i);
    }
    return nb::cast(nb::ndarray<nb::array_api>(bits.data(), bits.ndim(), shape.data(), owner, nullptr, bf16,
                                               nb::device::cpu::value, 0));
}

} // namespace

void defineArrays(nb::module_& module) {
    module.def("from_dlpack", fromDlpack, nb::arg("source"));
    module.def(
        "bf16_to_dlpack",
        [](nb::object bits) {
            return bf16ToDlpack(nb::cast<nb::ndarray<uint16_t, nb::c_contig, nb::device::cpu>>(bits), bits);
        },
        nb::arg("bits"));
}

} // namespace vkf::python
