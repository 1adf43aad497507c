// SPDX-License-Identifier: MIT
#include "support/program_files.hpp"

#include <cmath>

#include "tensors/npy.hpp"
#include "tensors/safetensors.hpp"
#include "vkflash/reference.h"

namespace vkf::test {

using namespace tools;

namespace {

VkfType typeOf(ElementType type) {
    return type == ElementType::f16 ? VKF_TYPE_F16 : type == ElementType::bf16 ? VKF_TYPE_BF16 : VKF_TYPE_F32;
}

Tensor makeTensor(ElementType type, const Shape& shape, int seed) {
    Tensor tensor{type, shape, std::vector<std::byte>(tensorBytes(shape, elementBytes(type)).value())};
    for (size_t i = 0; i < tensor.bytes.size() / elementBytes(type); ++i) {
        vkfStoreElement(typeOf(type), tensor.bytes.data(), i,
                        1.5 * std::sin(0.37 * static_cast<double>(i * 7 + 1) * seed));
    }
    return tensor;
}

std::string dataOf(const Tensor& tensor) {
    return {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()};
}

} // namespace

double element(const Tensor& tensor, size_t index) {
    return vkfLoadElement(typeOf(tensor.type), tensor.bytes.data(), index);
}

std::string npyOf(const Tensor& tensor) { return npyHeader(tensor.type, tensor.shape) + dataOf(tensor); }

void writeNpy(const Workplace& place, const std::string& name, ElementType type, const Shape& shape, int seed) {
    place.write(name, npyOf(makeTensor(type, shape, seed)));
}

void writeLengths(const Workplace& place, const std::string& name, const std::vector<int32_t>& lengths) {
    place.write(name, npyHeader(ElementType::i32, {lengths.size()}) +
                          std::string(reinterpret_cast<const char*>(lengths.data()), lengths.size() * 4));
}

void writeSafetensors(const Workplace& place, const std::string& name, ElementType type,
                      const std::vector<Shape>& qkv) {
    const std::vector<std::string> names = {"q", "k", "v"};
    std::vector<Tensor> tensors;
    std::vector<NamedView> views;
    std::string data;
    for (size_t i = 0; i < qkv.size(); ++i) {
        tensors.push_back(makeTensor(type, qkv[i], static_cast<int>(i) + 1));
        data += dataOf(tensors.back());
    }
    for (size_t i = 0; i < qkv.size(); ++i) {
        views.push_back({names[i], tensors[i].view()});
    }
    place.write(name, safetensorsHeader(views) + data);
}

void writeUsual(const Workplace& place, ElementType type) {
    writeNpy(place, "q.npy", type, {2, 6, 17, 24}, 1);
    writeNpy(place, "k.npy", type, {2, 2, 33, 24}, 2);
    writeNpy(place, "v.npy", type, {2, 2, 33, 24}, 3);
}

} // namespace vkf::test
