// SPDX-License-Identifier: MIT
#include "bench/peers/peer_results.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "tensors/tensor_file.hpp"

namespace vkf::tools {

namespace {

// Thrown where a line does not go on as expected. `expected` is for the message.
struct Unexpected {
    std::string expected;
};

// Reads one line from left to right. Throws Unexpected at text that does not fit.
class Scanner {
public:
    explicit Scanner(std::string_view line) : rest_(line) {}

    bool accept(std::string_view text) {
        if (!rest_.starts_with(text))
            return false;
        rest_.remove_prefix(text.size());
        return true;
    }

    void expect(std::string_view text) {
        if (!accept(text))
            throw Unexpected{fmt::format("\"{}\"", text)};
    }

    template <typename Number> Number number(const char* what) {
        Number value{};
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
        if (error != std::errc() || !(value >= 0))
            throw Unexpected{what};
        rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
        return value;
    }

    double positive(const char* what) {
        const auto value = number<double>(what);
        if (!(value > 0) || !std::isfinite(value))
            throw Unexpected{what};
        return value;
    }

    // The text up to one of the characters, or up to the end.
    std::string_view until(std::string_view stops) {
        const std::string_view word = rest_.substr(0, rest_.find_first_of(stops));
        rest_.remove_prefix(word.size());
        return word;
    }

    void skipSpaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }
    bool atEnd() const { return rest_.empty(); }

private:
    std::string_view rest_;
};

uint32_t positiveWhole(Scanner& line, const char* what) {
    const auto value = line.number<uint32_t>(what);
    if (value == 0)
        throw Unexpected{what};
    return value;
}

PeerShape squareShape(uint32_t batch, uint32_t heads, uint32_t rows, uint32_t dim) {
    PeerShape shape;
    shape.batch = batch;
    shape.queryHeads = shape.kvHeads = heads;
    shape.queryRows = shape.keys = rows;
    shape.headDim = dim;
    return shape;
}

// Reads "flash=281" or "flash=40us/53TF" up to the end or a "|". Returns true at a "|". "flash=ERR" marks a kernel that
// refused the shape.
bool readKernels(Scanner& line, const PeerShape& shape, bool withTime, PeerFile& file) {
    for (line.skipSpaces(); !line.atEnd(); line.skipSpaces()) {
        if (line.accept("|"))
            return true;
        const std::string name(line.until("= |"));
        line.expect("=");
        if (line.accept("ERR"))
            continue;
        double teraflops = line.positive(withTime ? "a time in us" : "a number of TFLOP/s");
        if (withTime) {
            line.expect("us/");
            teraflops = line.positive("a number of TFLOP/s");
            line.expect("TF");
        }
        file.results.push_back({shape, name, teraflops});
    }
    return false;
}

// Reads "d128 n512 b32 h16 causal0 TFLOPs fwd flash=281 | bwd flash=164".
void readBatched(Scanner& line, PeerFile& file) {
    const uint32_t dim = positiveWhole(line, "a head dimension");
    line.expect(" n");
    const uint32_t rows = positiveWhole(line, "a number of rows");
    line.expect(" b");
    const uint32_t batch = positiveWhole(line, "a number of sequences");
    line.expect(" h");
    PeerShape shape = squareShape(batch, positiveWhole(line, "a number of heads"), rows, dim);
    line.expect(" causal");
    shape.causal = line.number<uint32_t>("0 or 1") != 0;
    line.expect(" TFLOPs fwd");
    if (!readKernels(line, shape, false, file))
        return;
    line.expect(" bwd");
    shape.backward = true;
    readKernels(line, shape, false, file);
}

// Reads "B1 128 512 ...": one sequence, heads x D = 2048.
void readOneSequence(Scanner& line, PeerFile& file) {
    const uint32_t dim = positiveWhole(line, "a head dimension");
    line.expect(" ");
    const uint32_t rows = positiveWhole(line, "a number of rows");
    if (2048 % dim != 0)
        throw Unexpected{"a head dimension that divides 2048"};
    readKernels(line, squareShape(1, 2048 / dim, rows, dim), true, file);
}

// Reads "fp32 4096 eff 44.9TF": 16 heads, D = 128.
void readFp32(Scanner& line, PeerFile& file) {
    PeerShape shape = squareShape(1, 16, positiveWhole(line, "a number of rows"), 128);
    shape.type = "f32";
    line.skipSpaces();
    const std::string name(line.until(" "));
    line.skipSpaces();
    file.results.push_back({shape, name, line.positive("a number of TFLOP/s")});
    line.expect("TF");
}

// Reads "decode 1 4096 flash=36.1us/464GB/s ...": number of sequences, number of keys. One row, 32 heads over 8 KV
// heads, D = 128.
void readDecode(Scanner& line, PeerFile& file) {
    PeerShape shape;
    shape.batch = positiveWhole(line, "a number of sequences");
    line.expect(" ");
    shape.keys = positiveWhole(line, "a number of keys");
    shape.queryHeads = 32;
    shape.kvHeads = 8;
    shape.queryRows = 1;
    shape.headDim = 128;
    for (line.skipSpaces(); !line.atEnd(); line.skipSpaces()) {
        const std::string name(line.until("= "));
        line.expect("=");
        if (line.accept("ERR"))
            continue;
        const double microseconds = line.positive("a time in us");
        line.expect("us/");
        line.positive("a number of GB/s");
        line.expect("GB/s");
        file.results.push_back({shape, name, countedOperations(shape) / microseconds * 1e-6});
    }
}

using Parameters = std::map<std::string, std::string, std::less<>>;

// Reads "hsk=128,hsv=128,nr23=[4,1],...)" with its closing bracket. The list of sources holds commas and is the last.
Parameters readParameters(Scanner& line) {
    Parameters parameters;
    do {
        const std::string name(line.until("=,)"));
        line.expect("=");
        std::string value;
        if (name == "sources") {
            value = line.until(")");
        } else if (line.accept("[")) {
            value = line.until("]");
            line.expect("]");
        } else {
            value = line.until(",)");
        }
        parameters[name] = value;
    } while (line.accept(","));
    line.expect(")");
    return parameters;
}

const std::string& parameter(const Parameters& parameters, std::string_view name) {
    const auto found = parameters.find(name);
    if (found == parameters.end())
        throw Unexpected{fmt::format("the parameter {}", name)};
    return found->second;
}

uint32_t wholeParameter(const Parameters& parameters, std::string_view name) {
    Scanner value(parameter(parameters, name));
    return positiveWhole(value, "a whole number");
}

// Up to this many rows, a mask tensor does not count: the benchmark's mask hides nothing and costs next to nothing.
constexpr uint32_t mostMaskedRows = 16;

// A row of either form.
struct GgmlRow {
    PeerShape shape;
    bool plain = false;    // attention without optional inputs
    bool fp32Sums = false; // ggml accumulates in fp32, like all paths here; with another precision it need not
};

// ---- Rows of the program's own list. They name each parameter. ---------------------------------------

// True for attention without optional inputs. A row with a mask tensor does not count: the mask is not a causal flag,
// and its content is unknown here.
bool isPlain(const Parameters& parameters) {
    const auto isZero = [&](const char* name) {
        Scanner value(parameter(parameters, name));
        return value.number<double>("a number") == 0;
    };
    return (isZero("mask") || wholeParameter(parameters, "nb") <= mostMaskedRows) && isZero("sinks") &&
           isZero("max_bias") && isZero("logit_softcap") &&
           parameter(parameters, "hsk") == parameter(parameters, "hsv") &&
           parameter(parameters, "type_K") == parameter(parameters, "type_V");
}

GgmlRow namedRow(const Parameters& parameters) {
    GgmlRow row;
    row.plain = isPlain(parameters);
    if (!row.plain)
        return row;
    Scanner repeats(parameter(parameters, "nr23"));
    const uint32_t group = positiveWhole(repeats, "two numbers in nr23");
    repeats.expect(",");
    row.shape.batch = positiveWhole(repeats, "two numbers in nr23");
    row.shape.kvHeads = wholeParameter(parameters, "nh");
    row.shape.queryHeads = row.shape.kvHeads * group;
    row.shape.queryRows = wholeParameter(parameters, "nb");
    row.shape.keys = wholeParameter(parameters, "kv");
    row.shape.headDim = wholeParameter(parameters, "hsk");
    row.shape.type = parameter(parameters, "type_K");
    row.fp32Sums = parameter(parameters, "prec") == "f32";
    return row;
}

// ---- Rows of a test file. They name the tensors and not their meaning. ------------------------------

struct GgmlTensor {
    std::string type;
    std::array<uint32_t, 4> size{}; // the innermost dimension first
};

// Reads "f32[64,512,32,1],f16[64,512,32,1]nb[2,256,131072,4194304],...". The strides follow where rows have gaps.
std::vector<GgmlTensor> ggmlSources(const Parameters& parameters) {
    Scanner list(parameter(parameters, "sources"));
    std::vector<GgmlTensor> sources;
    do {
        GgmlTensor tensor;
        tensor.type = list.until("[,");
        for (size_t i = 0; i < tensor.size.size(); ++i) {
            list.expect(i == 0 ? "[" : ",");
            tensor.size[i] = positiveWhole(list, "four sizes of a source");
        }
        list.expect("]");
        if (list.accept("nb[")) {
            list.until("]");
            list.expect("]");
        }
        sources.push_back(std::move(tensor));
    } while (list.accept(","));
    if (sources.size() < 3)
        throw Unexpected{"three sources"};
    return sources;
}

// Reads "0:1040187392,3:10" and returns the bits of one parameter of the operation. Absent ones are 0.
uint32_t operationParameter(const Parameters& parameters, uint32_t index) {
    Scanner list(parameter(parameters, "op_params"));
    while (!list.atEnd()) {
        const auto found = list.number<uint32_t>("a number in op_params");
        list.expect(":");
        const auto bits = list.number<int64_t>("a number in op_params");
        if (found == index)
            return static_cast<uint32_t>(bits);
        list.accept(",");
    }
    return 0;
}

// Parameters of FLASH_ATTN_EXT by their index.
constexpr uint32_t ggmlMaxBias = 1;
constexpr uint32_t ggmlSoftcap = 2;
constexpr uint32_t ggmlPrecision = 3;
constexpr uint32_t ggmlPrecisionF32 = 10;

GgmlRow tensorRow(const Parameters& parameters) {
    const std::vector<GgmlTensor> sources = ggmlSources(parameters);
    const GgmlTensor& q = sources[0];
    const GgmlTensor& k = sources[1];
    const GgmlTensor& v = sources[2];
    GgmlRow row;
    row.shape.headDim = q.size[0];
    row.shape.queryRows = q.size[1];
    row.shape.queryHeads = q.size[2];
    row.shape.batch = q.size[3];
    row.shape.keys = k.size[1];
    row.shape.kvHeads = k.size[2];
    row.shape.type = k.type;
    // A fourth source is the mask, a fifth one holds the sinks.
    const bool masked = sources.size() == 4 && q.size[1] > mostMaskedRows;
    row.plain = sources.size() <= 4 && !masked && k.type == v.type && k.size == v.size &&
                operationParameter(parameters, ggmlMaxBias) == 0 && operationParameter(parameters, ggmlSoftcap) == 0;
    row.fp32Sums = operationParameter(parameters, ggmlPrecision) == ggmlPrecisionF32;
    return row;
}

// Reads "hsk=...): 43475 runs - 23.02 us/run - ..."
void readGgml(Scanner& line, PeerFile& file) {
    const Parameters parameters = readParameters(line);
    line.expect(":");
    line.skipSpaces();
    if (line.accept("not supported"))
        return;
    line.number<uint64_t>("a number of runs");
    line.expect(" runs -");
    line.skipSpaces();
    const double microseconds = line.positive("a time in us");
    line.expect(" us/run");
    const GgmlRow row = parameters.contains("sources") ? tensorRow(parameters) : namedRow(parameters);
    if (!row.plain)
        return;
    file.results.push_back(
        {row.shape, row.fp32Sums ? "ggml" : "ggml-fp16", countedOperations(row.shape) / microseconds * 1e-6});
}

struct Kind {
    const char* format;
    const char* begin;
    void (*read)(Scanner& line, PeerFile& file);
};

constexpr Kind kinds[] = {{"PyTorch", "d", readBatched},
                          {"PyTorch", "B1 ", readOneSequence},
                          {"PyTorch", "fp32 ", readFp32},
                          {"PyTorch", "decode ", readDecode},
                          {"ggml", "FLASH_ATTN_EXT(", readGgml}};

bool startsKind(const Kind& kind, std::string_view line) {
    const std::string_view begin(kind.begin);
    // Accepts "d128 ...", but not "decode ..." or "device ...".
    const bool digitFollows = line.size() > begin.size() && line[begin.size()] >= '0' && line[begin.size()] <= '9';
    return line.starts_with(begin) && (begin != "d" || digitFollows);
}

void readLine(std::string_view text, PeerFile& file) {
    for (const Kind& kind : kinds) {
        if (!startsKind(kind, text))
            continue;
        Scanner line(text);
        line.expect(kind.begin);
        kind.read(line, file);
        file.format = kind.format;
        return;
    }
    Scanner line(text);
    if (line.accept("Device description: "))
        file.device = line.until("\r");
}

// The device in the first line of PyTorch's output: "2.11.0+cu130 NVIDIA H200 91900".
std::string deviceOfPyTorch(std::string_view text) {
    const std::string_view line = text.substr(0, text.find_first_of("\r\n"));
    const size_t first = line.find(' ');
    const size_t last = line.rfind(' ');
    return first < last && last != std::string_view::npos ? std::string(line.substr(first + 1, last - first - 1)) : "";
}

} // namespace

double countedOperations(const PeerShape& shape) {
    return 4.0 * shape.batch * shape.queryHeads * shape.queryRows * shape.keys * shape.headDim *
           (shape.causal ? 0.5 : 1.0) * (shape.backward ? 2.5 : 1.0);
}

PeerFile parsePeerResults(std::string_view text) {
    PeerFile file;
    size_t number = 0;
    for (std::string_view rest = text; !rest.empty();) {
        const size_t end = std::min(rest.find('\n'), rest.size());
        std::string_view line = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        ++number;
        line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
        while (!line.empty() && (line.back() == '\r' || line.back() == ' '))
            line.remove_suffix(1);
        try {
            readLine(line, file);
        } catch (const Unexpected& error) {
            throw FormatError(
                fmt::format("line {}: {} is expected in \"{}\"", number, error.expected, line.substr(0, 120)));
        }
    }
    if (file.results.empty())
        throw FormatError("holds no time of bench/pytorch.py (PyTorch) or of test-backend-ops perf (ggml)");
    if (file.device.empty() && file.format == kinds[0].format)
        file.device = deviceOfPyTorch(text);
    return file;
}

} // namespace vkf::tools
