// SPDX-License-Identifier: MIT
#include "pipelines/variant.hpp"

namespace vkf {

std::string shaderName(const Variant& variant) {
    std::string name = traitsOf(variant.kernel).name;
    if (variant.viaShared) {
        name += "_via_shared";
    }
    if (variant.subgroups) {
        name += "_subgroups";
    }
    if (variant.storage16) {
        name += "_storage16";
    }
    return name;
}

} // namespace vkf
