// SPDX-License-Identifier: MIT
#include "storage.hpp"

#include <algorithm>
#include <string>

#include <nanobind/stl/shared_ptr.h>

#include "errors.hpp"

namespace vkf::python {
namespace {

uint64_t roundedToWords(uint64_t bytes) { return (bytes + 3) / 4 * 4; }

// A view of an object with the buffer protocol.
class HostView {
public:
    HostView(nb::handle array, int flags) {
        if (PyObject_GetBuffer(array.ptr(), &view_, flags) != 0) {
            throw nb::python_error();
        }
    }
    ~HostView() { PyBuffer_Release(&view_); }
    HostView(const HostView&) = delete;
    HostView& operator=(const HostView&) = delete;

    void* data() const noexcept { return view_.buf; }
    // Bytes from the first element to one past the last.
    uint64_t span() const {
        uint64_t bytes = static_cast<uint64_t>(view_.itemsize);
        for (int i = 0; i < view_.ndim; i++) {
            if (view_.shape[i] == 0) {
                return 0;
            }
            if (view_.strides[i] < 0) {
                refuse("an array with negative strides cannot be uploaded");
            }
            bytes += static_cast<uint64_t>(view_.shape[i] - 1) * static_cast<uint64_t>(view_.strides[i]);
        }
        return bytes;
    }
    uint64_t bytes() const noexcept { return static_cast<uint64_t>(view_.len); }

private:
    Py_buffer view_{};
};

} // namespace

Storage::Storage(std::shared_ptr<Device> device, uint64_t bytes) : device_(std::move(device)), bytes_(bytes) {
    buffer_ = device_->use(
        [&] { return device_->pool().take(device_->host(), std::max<uint64_t>(roundedToWords(bytes), 4)); });
}

Storage::~Storage() { device_->pool().give(std::move(buffer_)); }

void Storage::requireRange(uint64_t offset, uint64_t bytes) const {
    if (offset > bytes_ || bytes > bytes_ - offset) {
        refuse("bytes " + std::to_string(offset) + " to " + std::to_string(offset + bytes) + " are not within the " +
               std::to_string(bytes_) + " bytes of the device array");
    }
}

VkfBinding Storage::binding(uint64_t offset) const {
    requireRange(offset, 0);
    VkfBinding binding = buffer_.binding();
    binding.offset = offset;
    // Kernels read masks in words, and the buffer of the pool may be larger than the array.
    binding.size = roundedToWords(bytes_) - offset;
    return binding;
}

void Storage::upload(nb::handle array, uint64_t offset) {
    const HostView view(array, PyBUF_STRIDES);
    const uint64_t bytes = view.span();
    requireRange(offset, bytes);
    device_->use([&] { device_->host().upload(buffer_, view.data(), bytes, offset); });
}

void Storage::download(nb::handle array, uint64_t offset) {
    const HostView view(array, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
    requireRange(offset, view.bytes());
    device_->use([&] { device_->host().download(view.data(), buffer_, view.bytes(), offset); });
}

void Storage::copyFrom(const Storage& from, uint64_t fromOffset, uint64_t offset, uint64_t bytes) {
    if (from.device_ != device_) {
        refuse("the two arrays are on different devices");
    }
    from.requireRange(fromOffset, bytes);
    requireRange(offset, bytes);
    VkBufferCopy range{};
    range.srcOffset = fromOffset;
    range.dstOffset = offset;
    range.size = bytes;
    device_->use([&] { device_->copy(range, from.buffer_, buffer_); });
}

void defineStorage(nb::module_& module) {
    nb::class_<Storage>(module, "Storage")
        .def(nb::init<std::shared_ptr<Device>, uint64_t>(), nb::arg("device"), nb::arg("bytes"))
        .def_prop_ro("bytes", &Storage::bytes)
        .def("upload", &Storage::upload, nb::arg("array"), nb::arg("offset") = 0)
        .def("download", &Storage::download, nb::arg("array"), nb::arg("offset") = 0)
        .def("copy_from", &Storage::copyFrom, nb::arg("source"), nb::arg("source_offset"), nb::arg("offset"),
             nb::arg("bytes"));
}

} // namespace vkf::python
