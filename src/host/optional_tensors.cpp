// SPDX-License-Identifier: MIT
#include "host/optional_tensors.hpp"

namespace vkf::host {
namespace {

using T = HostTensors;

template <auto field> const void* from(const T& tensors) { return tensors.*field; }
template <auto field> void* to(const T& tensors) { return tensors.*field; }

#define VKF_INPUT_ROW(NAME, member) {VKF_ARRAY_##NAME, #member, &VkfBindings::member, from<&T::member>, nullptr},
#define VKF_OUTPUT_ROW(NAME, member) {VKF_ARRAY_##NAME, #member, &VkfBindings::member, nullptr, to<&T::member>},
constexpr OptionalTensor rows[] = {VKF_FOR_EACH_OPTIONAL_INPUT(VKF_INPUT_ROW)
                                       VKF_FOR_EACH_OPTIONAL_OUTPUT(VKF_OUTPUT_ROW)};
#undef VKF_INPUT_ROW
#undef VKF_OUTPUT_ROW

} // namespace

std::span<const OptionalTensor> optionalTensors() { return rows; }

} // namespace vkf::host
