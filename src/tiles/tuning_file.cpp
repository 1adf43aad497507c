// SPDX-License-Identifier: MIT
#include "tiles/tuning_file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdarg>
#include <cstdio>
#include <limits>
#include <optional>
#include <span>

#include "base/boundary.hpp"
#include "base/message.hpp"
#include "shared/attention_params.h"

namespace vkf {
namespace {

constexpr std::string_view firstWords = "vkflash tuning ";
constexpr uint32_t knownVersion = 1;
constexpr size_t mostEntries = 4096; // a plan looks at each
constexpr uint32_t most32 = std::numeric_limits<uint32_t>::max();

// The name of a field and the range of its numbers.
struct Field {
    std::string_view name;
    uint32_t least;
    uint32_t most;
    uint32_t absent = 0; // the number of a line without the field; 0 = the field is required
};

constexpr std::array deviceFields = {Field{"vendor", 0, most32}, Field{"device", 0, most32},
                                     Field{"driver", 0, most32}};

constexpr std::array typeNames = {VKF_TYPE_F32, VKF_TYPE_F16, VKF_TYPE_BF16};

enum ClassField { type, masked, headDim, valueDim, rows, keys, heads, classFieldCount };
constexpr std::array<Field, classFieldCount> classFields = {{{"type", 0, 0},
                                                             {"masked", 0, 0},
                                                             {"headDim", 1, VKF_MAX_DIM},
                                                             {"valueDim", 1, VKF_MAX_DIM},
                                                             {"rows", 0, most32},
                                                             {"keys", 0, most32},
                                                             {"heads", 0, most32}}};

// The tile of each path: a table of its fields, and the members that take their numbers.
constexpr std::array scalarFields = {Field{"groups", 1, 1024},
                                     Field{"lanes", 4, 64},
                                     Field{"threadRows", 1, 16},
                                     Field{"threadKeys", 1, 16},
                                     Field{"chunkDim4", 1, 64},
                                     Field{"chunkKeys", 4, 1024},
                                     Field{"splits", 1, VKF_MAX_SPLITS, 1}};
constexpr std::array scalarMembers = {&TunedScalarTile::groups,     &TunedScalarTile::lanes,
                                      &TunedScalarTile::threadRows, &TunedScalarTile::threadKeys,
                                      &TunedScalarTile::chunkDim4,  &TunedScalarTile::chunkKeys,
                                      &TunedScalarTile::splits};
constexpr std::array coopmatFields = {Field{"subgroups", 1, 64}, Field{"rowTiles", 1, 4}, Field{"keyTiles", 1, 8},
                                      Field{"splits", 1, VKF_MAX_SPLITS}};
constexpr std::array coopmatMembers = {&TunedCoopmatTile::subgroups, &TunedCoopmatTile::rowTiles,
                                       &TunedCoopmatTile::keyTiles, &TunedCoopmatTile::splits};

constexpr std::array gradientFields = {Field{"subgroups", 1, 64}, Field{"ownedTiles", 1, 4}, Field{"steps", 1, 8},
                                       Field{"stages", 1, 2}, Field{"depthSubgroups", 1, 2}};
constexpr std::array gradientMembers = {&TunedGradientTile::subgroups, &TunedGradientTile::ownedTiles,
                                        &TunedGradientTile::steps, &TunedGradientTile::stages,
                                        &TunedGradientTile::depthSubgroups};

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

constexpr size_t mostFields = classFieldCount + scalarFields.size();

std::string_view withoutEnds(std::string_view text) {
    constexpr std::string_view blanks = " \t\r";
    const size_t first = text.find_first_not_of(blanks);
    return first == std::string_view::npos ? std::string_view{}
                                           : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// Removes the part before the next separator from the front of a text, and returns it.
std::string_view cut(std::string_view* text, std::string_view separators) {
    const size_t end = std::min(text->find_first_of(separators), text->size());
    const std::string_view part = text->substr(0, end);
    text->remove_prefix(std::min(end + 1, text->size()));
    return part;
}

std::string_view nextWord(std::string_view* line) {
    *line = withoutEnds(*line);
    return cut(line, " \t");
}

// A piece of the text for a message: short, and printable whatever it holds.
struct Shown {
    explicit Shown(std::string_view piece) {
        const size_t length = std::min(piece.size(), sizeof text - 1);
        std::transform(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(length), text,
                       [](char c) { return c >= ' ' && c <= '~' ? c : '?'; });
    }
    char text[33]{};
};

std::optional<uint32_t> numberOf(std::string_view text) {
    const bool hexadecimal = text.starts_with("0x");
    text.remove_prefix(hexadecimal ? 2 : 0);
    uint32_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number, hexadecimal ? 16 : 10);
    return error == std::errc() && rest == end ? std::optional(number) : std::nullopt;
}

// Knows the line that is being read, so that every refusal names it.
class Reader {
public:
    Reader(std::string_view text, VkfMessage* message) : rest_(text), message_(message) {}

    // Returns the next line without its comment and blanks, or nullopt at the end.
    std::optional<std::string_view> nextLine() {
        if (rest_.empty()) {
            return std::nullopt;
        }
        line_++;
        std::string_view line = cut(&rest_, "\n");
        return withoutEnds(cut(&line, "#"));
    }

    // Returns false.
    bool refuse(const char* format, ...) VKF_PRINTF_FORMAT(2, 3) {
        VkfMessage detail{};
        std::va_list arguments;
        va_start(arguments, format);
        std::vsnprintf(detail.text, sizeof detail.text, format, arguments);
        va_end(arguments);
        fail(message_, VKF_ERROR_INVALID_ARGUMENT, "tuning, line %zu: %s", line_, detail.text);
        return false;
    }

    // Reads the values of a line's fields, in the order of the table.
    bool readFields(std::string_view line, std::span<const Field> fields, std::span<std::string_view> values) {
        for (std::string_view word = nextWord(&line); !word.empty(); word = nextWord(&line)) {
            std::string_view value = word;
            const std::string_view name = cut(&value, "=");
            const auto field =
                std::find_if(fields.begin(), fields.end(), [name](const Field& known) { return known.name == name; });
            if (field == fields.end()) {
                return refuse("%s is not a field here", Shown(name).text);
            }
            std::string_view& place = values[static_cast<size_t>(field - fields.begin())];
            if (!place.empty()) {
                return refuse("%s is given twice", Shown(name).text);
            }
            if (value.empty()) {
                return refuse("%s has no value", Shown(name).text);
            }
            place = value;
        }
        for (size_t i = 0; i < fields.size(); i++) {
            if (values[i].empty() && fields[i].absent == 0) {
                return refuse("%s is missing", Shown(fields[i].name).text);
            }
        }
        return true;
    }

    bool readNumber(const Field& field, std::string_view text, uint32_t* number) {
        const std::optional<uint32_t> read = numberOf(text);
        if (!read || *read < field.least || *read > field.most) {
            return refuse("%s=%s: takes a whole number from %u to %u", Shown(field.name).text, Shown(text).text,
                          field.least, field.most);
        }
        *number = *read;
        return true;
    }

    bool readRange(const Field& field, std::string_view text, Range* range) {
        const size_t dots = text.find("..");
        const std::string_view most = dots == std::string_view::npos ? text : text.substr(dots + 2);
        if (!readNumber(field, text.substr(0, dots), &range->least) || !readNumber(field, most, &range->most)) {
            return false;
        }
        return range->least <= range->most ||
               refuse("%s=%s: the range is empty", Shown(field.name).text, Shown(text).text);
    }

private:
    std::string_view rest_;
    VkfMessage* message_;
    size_t line_ = 0;
};

bool readDevice(Reader& reader, std::string_view line, DeviceIdentity* device) {
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

bool readClass(Reader& reader, std::span<const std::string_view> values, TuningEntry* entry) {
    const auto found = std::find_if(typeNames.begin(), typeNames.end(),
                                    [&](VkfType known) { return values[type] == vkfTypeName(known); });
    if (found == typeNames.end()) {
        return reader.refuse("type=%s: takes f32, f16 or bf16", Shown(values[type]).text);
    }
    if (values[masked] != "yes" && values[masked] != "no") {
        return reader.refuse("masked=%s: takes yes or no", Shown(values[masked]).text);
    }
    entry->type = *found;
    entry->masked = values[masked] == "yes";
    return reader.readRange(classFields[headDim], values[headDim], &entry->headDim) &&
           reader.readRange(classFields[valueDim], values[valueDim], &entry->valueDim) &&
           reader.readRange(classFields[rows], values[rows], &entry->rows) &&
           reader.readRange(classFields[keys], values[keys], &entry->keys) &&
           reader.readRange(classFields[heads], values[heads], &entry->heads);
}

// Refuses a tile that the kernels cannot use on any device.
bool checkScalarTile(Reader& reader, const TunedScalarTile& tile) {
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

bool checkGradientTile(Reader& reader, const TunedGradientTile& tile) {
    return tile.subgroups % tile.depthSubgroups == 0 ||
           reader.refuse("depthSubgroups=%u: must divide subgroups", tile.depthSubgroups);
}

template <typename Tile, size_t count>
bool readTile(Reader& reader, const std::array<Field, count>& fields,
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

std::span<const Field> tileFieldsOf(const TuningEntry& entry) {
    if (entry.kernel != TunedKernel::attention) {
        return gradientFields;
    }
    return entry.path == VKF_PATH_SCALAR ? std::span<const Field>(scalarFields) : coopmatFields;
}

// Reads the rest of a line that starts with one of entryWords.
bool readEntry(Reader& reader, std::string_view line, TuningEntry* entry) {
    const std::span<const Field> tileFields = tileFieldsOf(*entry);
    std::array<Field, mostFields> fields{};
    std::array<std::string_view, mostFields> values{};
    std::copy(classFields.begin(), classFields.end(), fields.begin());
    std::copy(tileFields.begin(), tileFields.end(), fields.begin() + classFieldCount);
    const size_t count = classFieldCount + tileFields.size();
    const std::span<std::string_view> given(values.data(), count);
    if (!reader.readFields(line, {fields.data(), count}, given) || !readClass(reader, given, entry)) {
        return false;
    }
    const std::span<const std::string_view> ofTile = given.subspan(classFieldCount);
    if (entry->kernel != TunedKernel::attention) {
        return readTile(reader, gradientFields, gradientMembers, ofTile, &entry->gradient) &&
               checkGradientTile(reader, entry->gradient);
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
    const std::optional<uint32_t> version = numberOf(line.substr(firstWords.size()));
    if (version != knownVersion) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "tuning, line 1: version %s is not known; this library reads version %u",
                    Shown(line.substr(firstWords.size())).text, knownVersion);
    }
    return VKF_SUCCESS;
}

// Reads the lines after the first.
bool readLines(Reader& reader, const DeviceIdentity& device, std::vector<TuningEntry>* entries) {
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
        const auto known = std::find_if(entryWords.begin(), entryWords.end(),
                                        [word](const FirstWord& one) { return one.word == word; });
        if (known == entryWords.end()) {
            return reader.refuse("starts with %s, not with device or the name of an entry", Shown(word).text);
        }
        TuningEntry entry;
        entry.path = known->path;
        entry.kernel = known->kernel;
        if (!section) {
            return reader.refuse("an entry stands before the first device line");
        }
        if (!readEntry(reader, *line, &entry)) {
            return false;
        }
        if (*section != device) {
            continue;
        }
        if (entries->size() == mostEntries) {
            return reader.refuse("more than %zu entries for one device", mostEntries);
        }
        entries->push_back(entry);
    }
    return true;
}

void addField(std::string_view name, uint32_t number, std::string* text) {
    *text += text->empty() ? "" : " ";
    *text += name;
    *text += "=" + std::to_string(number);
}

template <typename Tile, size_t count>
std::string textOf(const std::array<Field, count>& fields, const std::array<uint32_t Tile::*, count>& members,
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
std::string tileText(const TunedGradientTile& tile) { return textOf(gradientFields, gradientMembers, tile); }

VkfResult readTuning(std::string_view text, const DeviceIdentity& device, std::vector<TuningEntry>* entries,
                     VkfMessage* message) {
    Reader reader(text, message);
    if (const VkfResult result = readVersion(reader.nextLine().value_or(""), message); result != VKF_SUCCESS) {
        return result;
    }
    std::vector<TuningEntry> read;
    if (!readLines(reader, device, &read)) {
        return VKF_ERROR_INVALID_ARGUMENT;
    }
    *entries = std::move(read);
    return VKF_SUCCESS;
}

} // namespace vkf

VkfResult vkfCheckTuning(const char* tuning, size_t tuningBytes, VkfMessage* message) {
    return vkf::guarded(message, [&] {
        if (tuning == nullptr) {
            return vkf::fail(message, VKF_ERROR_INVALID_ARGUMENT, "tuning is null");
        }
        std::vector<vkf::TuningEntry> entries;
        return vkf::readTuning({tuning, tuningBytes}, {}, &entries, message);
    });
}
