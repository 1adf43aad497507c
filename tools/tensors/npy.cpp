// SPDX-License-Identifier: MIT
#include "tensors/npy.hpp"

#include <array>
#include <charconv>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace vkf::tools {

namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr size_t versionOffset = magic.size();
constexpr size_t lengthOffset = versionOffset + 2;

struct Descriptor {
    std::string_view code; // without the byte order
    ElementType type;
};

constexpr std::array<Descriptor, 6> descriptors = {{{"f4", ElementType::f32},
                                                    {"f2", ElementType::f16},
                                                    {"i4", ElementType::i32},
                                                    {"i8", ElementType::i64},
                                                    {"u1", ElementType::u8},
                                                    {"b1", ElementType::boolean}}};

struct Header {
    std::optional<std::string_view> descr;
    std::optional<bool> fortranOrder;
    std::optional<Shape> shape;
};

// The header is a Python dict literal. This parser accepts only the literals that NumPy writes there: plain strings,
// True and False, tuples of non-negative integers.
class HeaderParser {
public:
    explicit HeaderParser(std::string_view text) : text_(text) {}

    Header parse() {
        Header header;
        expect('{');
        while (!accept('}')) {
            parseEntry(header);
            if (!accept(',')) {
                expect('}');
                break;
            }
        }
        skipSpace();
        if (position_ != text_.size())
            fail("goes on after the closing brace");
        return header;
    }

private:
    void parseEntry(Header& header) {
        const std::string_view key = parseString();
        expect(':');
        bool repeated = false;
        if (key == "descr") {
            repeated = header.descr.has_value();
            header.descr = parseDescr();
        } else if (key == "fortran_order") {
            repeated = header.fortranOrder.has_value();
            header.fortranOrder = parseBool();
        } else if (key == "shape") {
            repeated = header.shape.has_value();
            header.shape = parseShape();
        } else {
            fail("has an unknown key");
        }
        if (repeated)
            fail("has a key twice");
    }

    std::string_view parseDescr() {
        if (peek() == '[')
            throw FormatError("holds records (a structured array); save each field as an array of its own");
        return parseString();
    }

    std::string_view parseString() {
        const char quote = peek();
        if (quote != '\'' && quote != '"')
            fail("lacks a quoted string");
        const size_t begin = position_ + 1;
        const size_t end = text_.find(quote, begin);
        if (end == std::string_view::npos)
            fail("has a string that does not end");
        position_ = end + 1;
        return text_.substr(begin, end - begin);
    }

    bool parseBool() {
        for (const auto& [word, value] :
             {std::pair{std::string_view("True"), true}, std::pair{std::string_view("False"), false}}) {
            skipSpace();
            if (text_.substr(position_, word.size()) == word) {
                position_ += word.size();
                return value;
            }
        }
        fail("lacks True or False for fortran_order");
    }

    // Accepts "()", "(3,)", "(3, 4)" and "(3, 4, )". As in Python, "(3)" is not a tuple.
    Shape parseShape() {
        Shape shape;
        bool comma = true;
        expect('(');
        while (!accept(')')) {
            if (!comma)
                fail("has a shape that is not a tuple of integers");
            shape.push_back(parseExtent());
            if (shape.size() > maxRank)
                throw FormatError(fmt::format("has more than {} dimensions", maxRank));
            comma = accept(',');
        }
        if (shape.size() == 1 && !comma)
            fail("has a shape that is not a tuple of integers");
        return shape;
    }

    uint64_t parseExtent() {
        skipSpace();
        uint64_t value = 0;
        const char* begin = text_.data() + position_;
        const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
        if (error == std::errc::result_out_of_range)
            throw FormatError("has a dimension that does not fit 64 bits");
        if (error != std::errc())
            fail("has a shape that is not a tuple of non-negative integers");
        position_ += static_cast<size_t>(end - begin);
        // Python 2 wrote long integers as 3L.
        if (position_ < text_.size() && text_[position_] == 'L')
            ++position_;
        return value;
    }

    void skipSpace() {
        while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n' ||
                                            text_[position_] == '\t' || text_[position_] == '\r'))
            ++position_;
    }

    char peek() {
        skipSpace();
        return position_ < text_.size() ? text_[position_] : '\0';
    }

    bool accept(char wanted) {
        if (peek() != wanted)
            return false;
        ++position_;
        return true;
    }

    void expect(char wanted) {
        if (!accept(wanted))
            fail(fmt::format("lacks a '{}'", wanted));
    }

    [[noreturn]] void fail(std::string_view what) const {
        throw FormatError(
            fmt::format("has a malformed NumPy header: it {} (character {} of {})", what, position_, text_.size()));
    }

    std::string_view text_;
    size_t position_ = 0;
};

// The header's text, and the data after it.
struct Parts {
    std::string_view header;
    std::span<const std::byte> data;
};

Parts split(std::span<const std::byte> file) {
    const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
    if (text.empty())
        throw FormatError("is empty");
    if (text.substr(0, magic.size()) != magic.substr(0, text.size()))
        throw FormatError("is not a NumPy .npy file (its first bytes are not \\x93NUMPY)");
    if (text.size() < lengthOffset)
        throw FormatError(fmt::format("is truncated inside the first {} bytes", lengthOffset));

    const unsigned major = static_cast<unsigned char>(text[versionOffset]);
    const unsigned minor = static_cast<unsigned char>(text[versionOffset + 1]);
    if (major < 1 || major > 3 || minor != 0)
        throw FormatError(
            fmt::format("has NumPy format version {}.{}; versions 1.0, 2.0 and 3.0 are known", major, minor));

    const size_t lengthBytes = major == 1 ? 2 : 4;
    const size_t headerOffset = lengthOffset + lengthBytes;
    if (text.size() < headerOffset)
        throw FormatError(fmt::format("is truncated inside the first {} bytes", headerOffset));
    size_t length = 0;
    for (size_t i = 0; i < lengthBytes; ++i)
        length |= static_cast<size_t>(static_cast<unsigned char>(text[lengthOffset + i])) << (8 * i);
    if (length > text.size() - headerOffset)
        throw FormatError(fmt::format("is truncated: its header length of {} reaches past the end of "
                                      "the file ({} bytes)",
                                      length, text.size()));
    return {text.substr(headerOffset, length), file.subspan(headerOffset + length)};
}

ElementType elementTypeOf(std::string_view descr) {
    if (!descr.empty() && descr[0] == '>')
        throw FormatError(fmt::format("is big-endian ('{}'); save it as little-endian", descr));
    if (descr == "<f8" || descr == "=f8")
        throw FormatError("holds float64; save it as float32: numpy.save(name, array.astype('float32'))");
    // Types of one byte have no byte order. NumPy writes '|' for them.
    for (const Descriptor& known : descriptors)
        if (descr.size() > 1 && descr.substr(1) == known.code &&
            (descr[0] == '<' || descr[0] == '=' || (descr[0] == '|' && elementBytes(known.type) == 1)))
            return known.type;
    throw FormatError(fmt::format("holds elements of type '{}'; float32 and float16 can be read (int32 "
                                  "and int64 for lengths, bool and uint8 for block masks, bf16 from .safetensors)",
                                  descr.substr(0, 40)));
}

} // namespace

TensorView parseNpy(std::span<const std::byte> file) {
    const Parts parts = split(file);
    const Header header = HeaderParser(parts.header).parse();
    if (!header.descr || !header.fortranOrder || !header.shape)
        throw FormatError("has a malformed NumPy header: it lacks one of descr, fortran_order, shape");

    TensorView tensor;
    tensor.type = elementTypeOf(*header.descr);
    tensor.shape = *header.shape;
    // Both orders are equal for arrays of one dimension or none. NumPy marks such arrays as either.
    if (*header.fortranOrder && tensor.shape.size() > 1)
        throw FormatError("is in Fortran order; save it in C order (numpy.ascontiguousarray)");

    const std::optional<uint64_t> bytes = tensorBytes(tensor.shape, elementBytes(tensor.type));
    if (!bytes)
        throw FormatError(fmt::format("has shape {}, whose size does not fit 64 bits", shapeText(tensor.shape)));
    if (parts.data.size() < *bytes)
        throw FormatError(fmt::format("is truncated: shape {} needs {} bytes of data, the file has {}",
                                      shapeText(tensor.shape), *bytes, parts.data.size()));
    if (parts.data.size() > *bytes)
        throw FormatError(fmt::format("is oversized: shape {} needs {} bytes of data, the file has {}",
                                      shapeText(tensor.shape), *bytes, parts.data.size()));
    tensor.data = parts.data;
    return tensor;
}

std::string npyHeader(ElementType type, const Shape& shape) {
    std::string_view code;
    for (const Descriptor& known : descriptors)
        if (known.type == type)
            code = known.code;
    if (code.empty())
        throw FormatError(fmt::format("cannot hold {}: NumPy has no such type", elementName(type)));

    std::string header =
        fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}",
                    elementBytes(type) == 1 ? '|' : '<', code, fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
    // The format requires that the data start at a multiple of 64 bytes and that the header end with a newline.
    const size_t preamble = lengthOffset + 2;
    const size_t unpadded = preamble + header.size() + 1;
    header.append((64 - unpadded % 64) % 64, ' ');
    header.push_back('\n');

    std::string bytes(magic);
    bytes += {'\1', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
    return bytes + header;
}

} // namespace vkf::tools
