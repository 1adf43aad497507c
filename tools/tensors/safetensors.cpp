// SPDX-License-Identifier: MIT
#include "tensors/safetensors.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace vkf::tools {

namespace {

using Json = nlohmann::json;

constexpr uint64_t lengthBytes = 8;
constexpr uint64_t maxHeaderBytes = 100'000'000; // the limit of the format's own implementation
constexpr int maxDepth = 3;                      // header, entry, list

struct Dtype {
    std::string_view name;
    ElementType type;
};

constexpr std::array<Dtype, 5> dtypes = {{{"F32", ElementType::f32},
                                          {"F16", ElementType::f16},
                                          {"BF16", ElementType::bf16},
                                          {"I32", ElementType::i32},
                                          {"I64", ElementType::i64}}};

// Position of an entry in the data. The reader checks that entries cover all data once.
struct Extent {
    uint64_t begin;
    uint64_t end;
    std::string name;
};

// Names come from the file. This text has no control characters and a limited length.
std::string shown(std::string_view name) {
    std::string text(name.substr(0, 40));
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
    return fmt::format("'{}{}'", text, name.size() > 40 ? "..." : "");
}

// nlohmann::json keeps the last of two equal keys and has no limit for the depth. The callback refuses both.
Json parseHeader(std::string_view text) {
    std::vector<std::set<std::string>> keys(maxDepth + 1);
    const Json::parser_callback_t check = [&keys](int depth, Json::parse_event_t event, Json& parsed) {
        if (depth > maxDepth)
            throw FormatError(fmt::format("has a header nested deeper than {} levels", maxDepth));
        const auto level = static_cast<size_t>(depth);
        if (event == Json::parse_event_t::object_start && level < maxDepth)
            keys[level + 1].clear();
        if (event == Json::parse_event_t::key && !keys[level].insert(parsed.get<std::string>()).second)
            throw FormatError(fmt::format("has {} twice in its header", shown(parsed.get<std::string>())));
        return true;
    };
    try {
        Json header = Json::parse(text, check);
        if (!header.is_object())
            throw FormatError("has a header that is not a JSON object");
        return header;
    } catch (const Json::parse_error& error) {
        throw FormatError(
            fmt::format("has a header that is not valid JSON (at byte {} of {})", error.byte, text.size()));
    } catch (const Json::out_of_range&) {
        throw FormatError("has a number out of range in its header");
    }
}

std::vector<uint64_t> unsignedList(const Json& entry, const char* key, const std::string& name) {
    const auto found = entry.find(key);
    if (found == entry.end() || !found->is_array() ||
        !std::all_of(found->begin(), found->end(), [](const Json& value) { return value.is_number_unsigned(); }))
        throw FormatError(fmt::format("has no list of non-negative integers {} for tensor {}", key, shown(name)));
    return found->get<std::vector<uint64_t>>();
}

NamedTensor parseEntry(const std::string& name, const Json& entry, std::span<const std::byte> data,
                       std::vector<Extent>& extents) {
    if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string())
        throw FormatError(fmt::format("has no dtype for tensor {}", shown(name)));
    NamedTensor result{name, entry["dtype"].get<std::string>(), std::nullopt};
    TensorView view;
    view.shape = unsignedList(entry, "shape", name);
    if (view.shape.size() > maxRank)
        throw FormatError(fmt::format("has more than {} dimensions in tensor {}", maxRank, shown(name)));

    const std::vector<uint64_t> offsets = unsignedList(entry, "data_offsets", name);
    if (offsets.size() != 2 || offsets[0] > offsets[1])
        throw FormatError(fmt::format("has data_offsets that are not [begin, end] for tensor {}", shown(name)));
    if (offsets[1] > data.size())
        throw FormatError(fmt::format("is truncated: tensor {} ends at byte {} of the data, the file "
                                      "has {}",
                                      shown(name), offsets[1], data.size()));
    extents.push_back({offsets[0], offsets[1], name});

    const auto* const known =
        std::find_if(dtypes.begin(), dtypes.end(), [&](const Dtype& dtype) { return dtype.name == result.dtype; });
    if (known == dtypes.end())
        return result;
    view.type = known->type;
    view.data = data.subspan(offsets[0], offsets[1] - offsets[0]);
    const std::optional<uint64_t> bytes = tensorBytes(view.shape, elementBytes(view.type));
    if (!bytes)
        throw FormatError(fmt::format("has shape {} for tensor {}, whose size does not fit 64 bits",
                                      shapeText(view.shape), shown(name)));
    if (*bytes != view.data.size())
        throw FormatError(fmt::format("has {} bytes for tensor {}, shape {} of {} needs {}", view.data.size(),
                                      shown(name), shapeText(view.shape), elementName(view.type), *bytes));
    result.tensor = std::move(view);
    return result;
}

void checkCoverage(std::vector<Extent> extents, uint64_t dataBytes) {
    std::sort(extents.begin(), extents.end(),
              [](const Extent& a, const Extent& b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
    uint64_t covered = 0;
    for (const Extent& extent : extents) {
        if (extent.begin != covered)
            throw FormatError(fmt::format("has {} in its data before tensor {}",
                                          extent.begin < covered ? "an overlap" : "a gap", shown(extent.name)));
        covered = extent.end;
    }
    if (covered != dataBytes)
        throw FormatError(
            fmt::format("is oversized: its tensors need {} bytes of data, the file has {}", covered, dataBytes));
}

} // namespace

std::vector<NamedTensor> parseSafetensors(std::span<const std::byte> file) {
    if (file.empty())
        throw FormatError("is empty");
    if (file.size() < lengthBytes)
        throw FormatError(fmt::format("is truncated inside the first {} bytes", lengthBytes));
    uint64_t length = 0;
    std::memcpy(&length, file.data(), sizeof(length));
    if (length > maxHeaderBytes)
        throw FormatError(fmt::format("has a header length of {}, the limit is {} (is it a safetensors "
                                      "file?)",
                                      length, maxHeaderBytes));
    if (length > file.size() - lengthBytes)
        throw FormatError(fmt::format("is truncated: its header length of {} reaches past the end of "
                                      "the file ({} bytes)",
                                      length, file.size()));
    const Json header = parseHeader({reinterpret_cast<const char*>(file.data()) + lengthBytes, length});

    const std::span<const std::byte> data = file.subspan(lengthBytes + length);
    std::vector<NamedTensor> tensors;
    std::vector<Extent> extents;
    for (const auto& [name, entry] : header.items())
        if (name != "__metadata__")
            tensors.push_back(parseEntry(name, entry, data, extents));
    checkCoverage(std::move(extents), data.size());
    return tensors;
}

const TensorView& findTensor(std::span<const NamedTensor> tensors, const std::string& name) {
    const auto found =
        std::find_if(tensors.begin(), tensors.end(), [&](const NamedTensor& entry) { return entry.name == name; });
    if (found == tensors.end())
        throw FormatError(fmt::format("has no tensor named '{}'", name));
    if (!found->tensor)
        throw FormatError(fmt::format("holds tensor '{}' as {}; F32, F16 and BF16 can be read{}", name,
                                      shown(found->dtype),
                                      found->dtype == "F64" ? " (in PyTorch, tensor.float() converts it)" : ""));
    return *found->tensor;
}

std::string safetensorsHeader(std::span<const NamedView> tensors) {
    Json header = Json::object();
    uint64_t offset = 0;
    for (const NamedView& entry : tensors) {
        const auto* const dtype = std::find_if(dtypes.begin(), dtypes.end(),
                                               [&](const Dtype& known) { return known.type == entry.tensor.type; });
        const uint64_t end = offset + entry.tensor.data.size();
        header[entry.name] = {
            {"dtype", std::string(dtype->name)}, {"shape", entry.tensor.shape}, {"data_offsets", {offset, end}}};
        offset = end;
    }
    std::string text = header.dump();
    text.append((8 - text.size() % 8) % 8, ' '); // aligns the data for every type
    const uint64_t length = text.size();
    std::string bytes(sizeof(length), '\0');
    std::memcpy(bytes.data(), &length, sizeof(length));
    return bytes + text;
}

} // namespace vkf::tools
