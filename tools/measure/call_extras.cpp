// SPDX-License-Identifier: MIT
#include "measure/call_extras.hpp"

#include <algorithm>

namespace vkf::tools {

namespace {

template <typename Element> host::Buffer uploaded(host::Device& device, const std::vector<Element>& elements) {
    const uint64_t bytes = elements.size() * sizeof(Element);
    host::Buffer buffer = device.createBuffer(bytes);
    device.upload(buffer, elements.data(), bytes);
    return buffer;
}

} // namespace

void CallExtras::addTo(host::HostTensors& tensors) const {
    tensors.sinks = sinks.data();
    tensors.bias = bias.data();
    tensors.mask = mask.data();
    tensors.documentIds = documents.data();
    tensors.cuSeqlensQ = tensors.cuSeqlensK = starts.data();
    std::transform(functionArrays.begin(), functionArrays.end(), tensors.functionArrays.begin(),
                   [](const std::vector<std::byte>& array) {
                       return host::HostArray{array.data(), array.size()};
                   });
}

ExtraBuffers::ExtraBuffers(host::Device& device, const CallExtras& extras)
    : sinks_(uploaded(device, extras.sinks)), bias_(uploaded(device, extras.bias)),
      mask_(uploaded(device, extras.mask)), documents_(uploaded(device, extras.documents)),
      starts_(uploaded(device, extras.starts)) {
    for (const std::vector<std::byte>& array : extras.functionArrays)
        functionArrays_.push_back(uploaded(device, array));
}

void ExtraBuffers::addTo(VkfBindings& bindings) const {
    bindings.sinks = sinks_.binding();
    bindings.bias = bias_.binding();
    bindings.mask = mask_.binding();
    bindings.documentIds = documents_.binding();
    bindings.cuSeqlensQ = bindings.cuSeqlensK = starts_.binding();
    for (size_t i = 0; i < functionArrays_.size(); ++i)
        bindings.functionArrays[i] = functionArrays_[i].binding();
}

} // namespace vkf::tools
