// SPDX-License-Identifier: MIT
#include "tiles/tuning_file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <span>

#include "base/boundary.hpp"
#include "base/message.hpp"
#include "shared/attention_params.h"
#include "tiles/tuning/matrix_line.hpp"
#include "tiles/tuning/reader.hpp"

namespace vkf {
namespace {

constexpr std::string_view firstWords = "vkflash tuning ";
constexpr uint32_t knownVersion = 1;
constexpr size_t maxEntries = 4096;     // a plan looks at each
constexpr size_t maxMatrixLayouts = 64; // more than a device has shapes
constexpr uint32_t max32 = std::numeric_limits<uint32_t>::max();

constexpr std::array deviceFields = {TuningField{"vendor", 0, max32}, TuningField{"device", 0, max32},
                                     TuningField{"driver", 0, max32}};

constexpr std::array typeNames = {VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_BF16};

struct ClassField {
    enum { type, masked, headDim, valueDim, rows, keys, heads, count };
};
constexpr std::array<TuningField, ClassField::count> classFields = {{{"type", 0, 0},
                                                                     {"masked", 0, 0},
                                                                     {"headDim", 1, VKF_MAX_DIM},
                                                                     {"valueDim", 1, VKF_MAX_DIM},
                                                                     {"rows", 0, max32},
                                                                     {"keys", 0, max32},
                                                                     {"heads", 0, max32}}};

// The tile of each path: a table of its fields, and the members that take their numbers.
constexpr std::array scalarFields = {TuningField{"groups", 1, 1024},
                                     TuningField{"lanes", 4, 64},
                                     TuningField{"threadRows", 1, 16},
                                     TuningField{"threadKeys", 1, 16},
                                     TuningField{"chunkDim4", 1, 64},
                                     TuningField{"chunkKeys", 4, 1024},
                                     TuningField{"splits", 1, VKF_MAX_SPLITS, 1}};
constexpr std::array scalarMembers = {&TunedScalarTile::groups,     &TunedScalarTile::lanes,
                                      &TunedScalarTile::threadRows, &TunedScalarTile::threadKeys,
                                      &TunedScalarTile::chunkDim4,  &TunedScalarTile::chunkKeys,
                                      &TunedScalarTile::splits};
constexpr std::array coopmatFields = {TuningField{"subgroups", 1, 64}, TuningField{"rowTiles", 1, 4},
                                      TuningField{"keyTiles", 1, 8}, TuningField{"splits", 1, VKF_MAX_SPLITS}};
constexpr std::array coopmatMembers = {&TunedCoopmatTile::subgroups, &TunedCoopmatTile::rowMatrices,
                                       &TunedCoopmatTile::keyUnits, &TunedCoopmatTile::splits};

constexpr std::array backwardFields = {TuningField{"subgroups", 1, 64}, TuningField{"ownedTiles", 1, 4},
                                       TuningField{"steps", 1, 8}, TuningField{"stages", 1, 2},
                                       TuningField{"depthSubgroups", 1, 2}};
constexpr std::array backwardMembers = {&TunedBackwardTile::subgroups, &TunedBackwardTile::ownedMatrices,
                                        &TunedBackwardTile::steps, &TunedBackwardTile::stages,
                                        &TunedBackwardTile::depthSubgroups};

// The first word of an entry.
struct FirstWord {
    std::string_view word;
    VkfPath path;
    TunedKernel kernel;
};
constexpr std::array entryWords = {FirstWord{"scalar", VKF_PATH_SCALAR, TunedKernel::attention},
                                   FirstWord{"coopmat", VKF_PATH_COOPMAT, TunedKernel::attention},
                                   FirstWord{"coopmat-dq", VKF_PATH_COOPMAT, TunedKernel::dq},
                                   FirstWord{"coopmat-dk", VKF_PATH_COOPMAT, TunedKernel::dk},
                                   FirstWord{"coopmat-dv", VKF_PATH_COOPMAT, TunedKernel::dv},
                                   FirstWord{"coopmat-dk-dv", VKF_PATH_COOPMAT, TunedKernel::dkAndDv}};

constexpr size_t maxFields = ClassField::count + scalarFields.size();

bool readDevice(TuningReader& reader, std::string_view line, DeviceIdentity* device) {
    std::array<std::string_view, deviceFields.size()> values{};
    std::array<uint32_t, deviceFields.size()> numbers{};
    if (!reader.readFields(line, deviceFields, values)) {
        return false;
    }
    for (size_t i = 0; i < numbers.size(); i++) {
        if (!reader.readNumber(deviceFields[i], values[i], &numbers[i])) {
            return false;
        }
    }
    *device = {numbers[0], numbers[1], static_cast<VkDriverId>(numbers[2])};
    return true;
}

bool readClass(TuningReader& reader, std::span<const std::string_view> values, TuningEntry* entry) {
    const auto found = std::find_if(typeNames.begin(), typeNames.end(),
                                    [&](VkfType known) { return values[ClassField::type] == vkfTypeName(known); });
    if (found == typeNames.end()) {
        return reader.refuse("type=%s: takes f32, f16 or bf16", ShownText(values[ClassField::type]).text);
    }
    if (values[ClassField::masked] != "yes" && values[ClassField::masked] != "no") {
        return reader.refuse("masked=%s: takes yes or no", ShownText(values[ClassField::masked]).text);
    }
    entry->type = *found;
    entry->masked = values[ClassField::masked] == "yes";
    return reader.readRange(classFields[ClassField::headDim], values[ClassField::headDim], &entry->headDim) &&
           reader.readRange(classFields[ClassField::valueDim], values[ClassField::valueDim], &entry->valueDim) &&
           reader.readRange(classFields[ClassField::rows], values[ClassField::rows], &entry->rows) &&
           reader.readRange(classFields[ClassField::keys], values[ClassField::keys], &entry->keys) &&
           reader.readRange(classFields[ClassField::heads], values[ClassField::heads], &entry->heads);
}

// Refuses a tile that the kernels cannot use on any device.
bool checkScalarTile(TuningReader& reader, const TunedScalarTile& tile) {
    if (!std::has_single_bit(tile.lanes)) {
        return reader.refuse("lanes=%u: must be a power of two", tile.lanes);
    }
    const uint32_t keysOfLane = tile.chunkKeys / tile.lanes;
    if (tile.chunkKeys % tile.lanes != 0 || !std::has_single_bit(keysOfLane) || tile.threadKeys % keysOfLane != 0) {
        return reader.refuse("chunkKeys=%u: must be lanes times a power of two that divides threadKeys",
                             tile.chunkKeys);
    }
    return true;
}

bool checkBackwardTile(TuningReader& reader, const TunedBackwardTile& tile) {
    return tile.subgroups % tile.depthSubgroups == 0 ||
           reader.refuse("depthSubgroups=%u: must divide subgroups", tile.depthSubgroups);
}

template <typename Tile, size_t count>
bool readTile(TuningReader& reader, const std::array<TuningField, count>& fields,
              const std::array<uint32_t Tile::*, count>& members, std::span<const std::string_view> values,
              Tile* tile) {
    for (size_t i = 0; i < count; i++) {
        tile->*members[i] = fields[i].absent;
        if (!values[i].empty() && !reader.readNumber(fields[i], values[i], &(tile->*members[i]))) {
            return false;
        }
    }
    return true;
}

std::span<const TuningField> tileFieldsOf(const TuningEntry& entry) {
    if (entry.kernel != TunedKernel::attention) {
        return backwardFields;
    }
    return entry.path == VKF_PATH_SCALAR ? std::span<const TuningField>(scalarFields) : coopmatFields;
}

// Reads the rest of a line that starts with one of entryWords.
bool readEntry(TuningReader& reader, std::string_view line, TuningEntry* entry) {
    const std::span<const TuningField> tileFields = tileFieldsOf(*entry);
    std::array<TuningField, maxFields> fields{};
    std::array<std::string_view, maxFields> values{};
    std::copy(classFields.begin(), classFields.end(), fields.begin());
    std::copy(tileFields.begin(), tileFields.end(), fields.begin() + ClassField::count);
    const size_t count = ClassField::count + tileFields.size();
    const std::span<std::string_view> given(values.data(), count);
    if (!reader.readFields(line, {fields.data(), count}, given) || !readClass(reader, given, entry)) {
        return false;
    }
    const std::span<const std::string_view> ofTile = given.subspan(ClassField::count);
    if (entry->kernel != TunedKernel::attention) {
        return readTile(reader, backwardFields, backwardMembers, ofTile, &entry->backward) &&
               checkBackwardTile(reader, entry->backward);
    }
    if (entry->path == VKF_PATH_COOPMAT) {
        return readTile(reader, coopmatFields, coopmatMembers, ofTile, &entry->coopmat);
    }
    return readTile(reader, scalarFields, scalarMembers, ofTile, &entry->scalar) &&
           checkScalarTile(reader, entry->scalar);
}

VkfResult readVersion(std::string_view line, VkfMessage* message) {
    if (!line.starts_with(firstWords)) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "tuning, line 1: does not start with \"vkflash tuning\"");
    }
    const std::optional<uint32_t> version = tuningNumber(line.substr(firstWords.size()));
    if (version != knownVersion) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "tuning, line 1: version %s is not known; this library reads version %u",
                    ShownText(line.substr(firstWords.size())).text, knownVersion);
    }
    return VKF_SUCCESS;
}

// Reads the rest of a line that starts with one of entryWords. Drops the entry if it is about another device.
bool addEntry(TuningReader& reader, const FirstWord& first, std::string_view line, bool ofDevice, TuningData* data) {
    TuningEntry entry;
    entry.path = first.path;
    entry.kernel = first.kernel;
    if (!readEntry(reader, line, &entry)) {
        return false;
    }
    if (!ofDevice) {
        return true;
    }
    if (data->entries.size() == maxEntries) {
        return reader.refuse("more than %zu entries for one device", maxEntries);
    }
    data->entries.push_back(entry);
    return true;
}

// Reads the rest of a line that starts with "matrix". Drops a layout that kernels cannot use.
bool addMatrixLayout(TuningReader& reader, std::string_view line, bool ofDevice, TuningData* data) {
    VkfMatrixLayout layout;
    bool usable = false;
    if (!readMatrixLine(reader, line, &layout, &usable)) {
        return false;
    }
    if (!ofDevice || !usable) {
        return true;
    }
    if (data->matrixLayouts.size() == maxMatrixLayouts) {
        return reader.refuse("more than %zu element layouts for one device", maxMatrixLayouts);
    }
    data->matrixLayouts.push_back(layout);
    return true;
}

// Reads the lines after the first.
bool readLines(TuningReader& reader, const DeviceIdentity& device, TuningData* data) {
    std::optional<DeviceIdentity> section;
    while (std::optional<std::string_view> line = reader.nextLine()) {
        const std::string_view word = nextWord(&*line);
        if (word.empty()) {
            continue;
        }
        if (word == "device") {
            section.emplace();
            if (!readDevice(reader, *line, &*section)) {
                return false;
            }
            continue;
        }
        const bool isMatrix = word == "matrix";
        const auto known = std::find_if(entryWords.begin(), entryWords.end(),
                                        [word](const FirstWord& one) { return one.word == word; });
        if (known == entryWords.end() && !isMatrix) {
            return reader.refuse("starts with %s, not with device, matrix or the name of an entry",
                                 ShownText(word).text);
        }
        if (!section) {
            return reader.refuse("an entry stands before the first device line");
        }
        const bool ofDevice = *section == device;
        if (isMatrix ? !addMatrixLayout(reader, *line, ofDevice, data)
                     : !addEntry(reader, *known, *line, ofDevice, data)) {
            return false;
        }
    }
    return true;
}

void addField(std::string_view name, uint32_t number, std::string* text) {
    *text += text->empty() ? "" : " ";
    *text += name;
    *text += "=" + std::to_string(number);
}

template <typename Tile, size_t count>
std::string textOf(const std::array<TuningField, count>& fields, const std::array<uint32_t Tile::*, count>& members,
                   const Tile& tile) {
    std::string text;
    for (size_t i = 0; i < count; i++) {
        if (tile.*members[i] != fields[i].absent) {
            addField(fields[i].name, tile.*members[i], &text);
        }
    }
    return text;
}

} // namespace

std::string tileText(std::initializer_list<std::pair<const char*, uint32_t>> numbers) {
    std::string text;
    for (const auto& [name, number] : numbers) {
        addField(name, number, &text);
    }
    return text;
}

std::string tileText(const TunedScalarTile& tile) { return textOf(scalarFields, scalarMembers, tile); }
std::string tileText(const TunedCoopmatTile& tile) { return textOf(coopmatFields, coopmatMembers, tile); }
std::string tileText(const TunedBackwardTile& tile) { return textOf(backwardFields, backwardMembers, tile); }

VkfResult readTuning(std::string_view text, const DeviceIdentity& device, TuningData* data, VkfMessage* message) {
    TuningReader reader(text, message);
    if (const VkfResult result = readVersion(reader.nextLine().value_or(""), message); result != VKF_SUCCESS) {
        return result;
    }
    TuningData read;
    if (!readLines(reader, device, &read)) {
        return VKF_ERROR_INVALID_ARGUMENT;
    }
    *data = std::move(read);
    return VKF_SUCCESS;
}

} // namespace vkf

VkfResult vkfCheckTuning(const char* tuning, size_t tuningBytes, VkfMessage* message) {
    return vkf::guarded(message, [&] {
        if (tuning == nullptr) {
            return vkf::fail(message, VKF_ERROR_INVALID_ARGUMENT, "tuning is null");
        }
        vkf::TuningData data;
        return vkf::readTuning({tuning, tuningBytes}, {}, &data, message);
    });
}
