// SPDX-License-Identifier: MIT
#include "problems.hpp"

#include <cstring>

#include <vkflash/problem.hpp>

namespace vkf::python {
namespace {

namespace nb = nanobind;

// {name: value} of an enumeration, for values from 0 on whose text is not `unknown`. A prefix of the names goes.
template <typename Text> nb::dict namesOf(const Text& textOf, const char* unknown, size_t prefix = 0) {
    nb::dict names;
    for (int32_t value = 0; value < 32; value++) {
        const char* text = textOf(value);
        if (std::strcmp(text, unknown) != 0) {
            names[text + prefix] = value;
        }
    }
    return names;
}

nb::dict useBits() {
    nb::dict bits;
    for (const auto& [name, bit] :
         namesOf([](int32_t i) { return vkfUseString(static_cast<VkfUseBits>(1U << static_cast<uint32_t>(i))); },
                 "unknown bit", std::strlen("VKF_USE_"))) {
        bits[name] = 1U << nb::cast<uint32_t>(bit);
    }
    return bits;
}

void defineParts(nb::module_& module) {
    nb::class_<VkfTensor>(module, "Tensor")
        .def("__init__",
             [](VkfTensor* tensor, int32_t type, uint64_t batchStride, uint64_t headStride, uint64_t rowStride) {
                 *tensor = VkfTensor{};
                 tensor->type = static_cast<VkfType>(type);
                 tensor->batchStride = batchStride;
                 tensor->headStride = headStride;
                 tensor->rowStride = rowStride;
             });
    nb::class_<VkfBroadcastArray>(module, "BroadcastArray")
        .def("__init__",
             [](VkfBroadcastArray* array, int32_t type, uint64_t batchStride, uint64_t headStride, uint64_t rowStride) {
                 *array = VkfBroadcastArray{};
                 array->type = static_cast<VkfType>(type);
                 array->batchStride = batchStride;
                 array->headStride = headStride;
                 array->rowStride = rowStride;
             });
    nb::class_<VkfChosenKeys>(module, "ChosenKeys")
        .def("__init__",
             [](VkfChosenKeys* lists, uint32_t count, uint64_t batchStride, uint64_t headStride, uint64_t rowStride) {
                 *lists = VkfChosenKeys{};
                 lists->count = count;
                 lists->batchStride = batchStride;
                 lists->headStride = headStride;
                 lists->rowStride = rowStride;
             });
    nb::class_<VkfWindow>(module, "Window")
        .def("__init__", [](VkfWindow* window, int64_t left, int64_t right, uint32_t firstKeys) {
            *window = VkfWindow{};
            window->left = left;
            window->right = right;
            window->firstKeys = firstKeys;
        });
    nb::class_<VkfPaging>(module, "Paging")
        .def("__init__", [](VkfPaging* paging, uint32_t pageSize, uint32_t maxPages, uint32_t pages) {
            *paging = VkfPaging{};
            paging->pageSize = pageSize;
            paging->maxPages = maxPages;
            paging->pages = pages;
        });
    nb::class_<VkfDropout>(module, "Dropout")
        .def("__init__", [](VkfDropout* dropout, float probability, uint64_t seed) {
            *dropout = VkfDropout{};
            dropout->probability = probability;
            dropout->seed = seed;
        });
    nb::class_<VkfRotary>(module, "Rotary")
        .def("__init__", [](VkfRotary* rotary, int32_t pairs, uint32_t dim, float base) {
            *rotary = VkfRotary{};
            rotary->pairs = static_cast<VkfRotaryPairs>(pairs);
            rotary->dim = dim;
            rotary->base = base;
        });
}

// A field of an enumeration, which is a number in Python.
template <typename Struct, typename Enum>
void defineNumber(nb::class_<Struct>& type, const char* name, Enum Struct::*field) {
    type.def_prop_rw(
        name, [field](const Struct& value) { return static_cast<int32_t>(value.*field); },
        [field](Struct& value, int32_t number) { value.*field = static_cast<Enum>(number); });
}

template <typename Struct> nb::class_<Struct> defineStruct(nb::module_& module, const char* name) {
    return nb::class_<Struct>(module, name).def("__init__", [](Struct* value) { *value = make<Struct>(); });
}

void defineProblem(nb::module_& module) {
    auto problem = defineStruct<VkfProblem>(module, "Problem");
    defineNumber(problem, "path", &VkfProblem::path);
    defineNumber(problem, "precision", &VkfProblem::precision);
    defineNumber(problem, "alignment", &VkfProblem::alignment);
    problem.def_rw("use", &VkfProblem::use)
        .def_rw("batch", &VkfProblem::batch)
        .def_rw("query_heads", &VkfProblem::queryHeads)
        .def_rw("kv_heads", &VkfProblem::kvHeads)
        .def_rw("query_rows", &VkfProblem::queryRows)
        .def_rw("keys", &VkfProblem::keys)
        .def_rw("head_dim", &VkfProblem::headDim)
        .def_rw("value_dim", &VkfProblem::valueDim)
        .def_rw("q", &VkfProblem::q)
        .def_rw("k", &VkfProblem::k)
        .def_rw("v", &VkfProblem::v)
        .def_rw("o", &VkfProblem::o)
        .def_rw("scale", &VkfProblem::scale)
        .def_rw("softcap", &VkfProblem::softcap)
        .def_rw("window", &VkfProblem::window)
        .def_rw("longest_rows", &VkfProblem::longestRows)
        .def_rw("longest_keys", &VkfProblem::longestKeys)
        .def_rw("bias", &VkfProblem::bias)
        .def_rw("mask", &VkfProblem::mask)
        .def_rw("chosen_keys", &VkfProblem::chosenKeys)
        .def_rw("paging", &VkfProblem::paging)
        .def_rw("dropout", &VkfProblem::dropout)
        .def_rw("max_step_operations", &VkfProblem::maxStepOperations);
}

void defineBackward(nb::module_& module) {
    defineStruct<VkfBackwardProblem>(module, "BackwardProblem")
        .def_rw("use", &VkfBackwardProblem::use)
        .def_rw("dout", &VkfBackwardProblem::dout)
        .def_rw("dq", &VkfBackwardProblem::dq)
        .def_rw("dk", &VkfBackwardProblem::dk)
        .def_rw("dv", &VkfBackwardProblem::dv);
}

void defineMerge(nb::module_& module) {
    defineStruct<VkfMergeProblem>(module, "MergeProblem")
        .def_rw("partials", &VkfMergeProblem::partials)
        .def_rw("batch", &VkfMergeProblem::batch)
        .def_rw("heads", &VkfMergeProblem::heads)
        .def_rw("rows", &VkfMergeProblem::rows)
        .def_rw("dim", &VkfMergeProblem::dim)
        .def_rw("use", &VkfMergeProblem::use)
        .def_rw("partial", &VkfMergeProblem::partial)
        .def_rw("o", &VkfMergeProblem::o);
}

void defineAppend(nb::module_& module) {
    defineStruct<VkfAppendProblem>(module, "AppendProblem")
        .def_rw("batch", &VkfAppendProblem::batch)
        .def_rw("kv_heads", &VkfAppendProblem::kvHeads)
        .def_rw("rows", &VkfAppendProblem::rows)
        .def_rw("keys", &VkfAppendProblem::keys)
        .def_rw("head_dim", &VkfAppendProblem::headDim)
        .def_rw("value_dim", &VkfAppendProblem::valueDim)
        .def_rw("query_heads", &VkfAppendProblem::queryHeads)
        .def_rw("use", &VkfAppendProblem::use)
        .def_rw("new_k", &VkfAppendProblem::newK)
        .def_rw("new_v", &VkfAppendProblem::newV)
        .def_rw("k", &VkfAppendProblem::k)
        .def_rw("v", &VkfAppendProblem::v)
        .def_rw("q", &VkfAppendProblem::q)
        .def_rw("rotated_q", &VkfAppendProblem::rotatedQ)
        .def_rw("paging", &VkfAppendProblem::paging)
        .def_rw("rotary", &VkfAppendProblem::rotary);
}

} // namespace

void defineProblems(nb::module_& module) {
    module.attr("types") = namesOf([](int32_t i) { return vkfTypeName(static_cast<VkfType>(i)); }, "unknown type");
    module.attr("paths") = namesOf([](int32_t i) { return vkfPathName(static_cast<VkfPath>(i)); }, "unknown path");
    module.attr("alignments") =
        namesOf([](int32_t i) { return vkfAlignmentString(static_cast<VkfAlignment>(i)); }, "unknown alignment");
    module.attr("precisions") =
        namesOf([](int32_t i) { return vkfPrecisionString(static_cast<VkfPrecision>(i)); }, "unknown precision");
    module.attr("rotary_pairs") =
        namesOf([](int32_t i) { return vkfRotaryPairsString(static_cast<VkfRotaryPairs>(i)); }, "unknown pairs");
    module.attr("uses") = useBits();
    module.def("stored_bytes",
               [](int32_t type, uint64_t elements) { return vkfStoredBytes(static_cast<VkfType>(type), elements); });
    module.def("block_elements", [](int32_t type) { return vkfBlockElements(static_cast<VkfType>(type)); });
    defineParts(module);
    defineProblem(module);
    defineBackward(module);
    defineMerge(module);
    defineAppend(module);
}

} // namespace vkf::python
