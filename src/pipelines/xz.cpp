// SPDX-License-Identifier: MIT
//
// LZMA as "lzma-specification" of the LZMA SDK describes it, with that document's names. A damaged stream ends the
// decoder, and never makes it read or write outside of its memory.
#include "pipelines/xz.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace vkf {
namespace {

using Prob = uint16_t;
constexpr Prob even = 1024; // of 2048: both bits have the same probability

constexpr uint32_t states = 12;
constexpr uint32_t posStates = 16; // the most

// The bytes of the stream, zeros behind its end.
class Bytes {
public:
    explicit Bytes(std::span<const uint8_t> bytes) : bytes_(bytes) {}
    uint32_t next() { return at_ < bytes_.size() ? bytes_[at_++] : end(); }
    void skip(size_t count) {
        for (; count > 0; count--) {
            next();
        }
    }
    bool ended() const { return ended_; }

private:
    uint32_t end() {
        ended_ = true;
        return 0;
    }

    std::span<const uint8_t> bytes_;
    size_t at_ = 0;
    bool ended_ = false; // somebody read behind the end
};

class RangeDecoder {
public:
    explicit RangeDecoder(Bytes& bytes) : bytes_(bytes) {}

    void start() {
        bytes_.next(); // always 0
        range_ = UINT32_MAX;
        code_ = 0;
        for (int i = 0; i < 4; i++) {
            code_ = code_ << 8 | bytes_.next();
        }
    }
    uint32_t bit(Prob& prob) {
        normalize();
        const uint32_t bound = (range_ >> 11) * prob;
        if (code_ < bound) {
            range_ = bound;
            prob = static_cast<Prob>(prob + ((2048 - prob) >> 5));
            return 0;
        }
        range_ -= bound;
        code_ -= bound;
        prob = static_cast<Prob>(prob - (prob >> 5));
        return 1;
    }
    uint32_t directBits(uint32_t count) {
        uint32_t value = 0;
        for (; count > 0; count--) {
            normalize();
            range_ >>= 1;
            const uint32_t one = code_ >= range_ ? 1 : 0;
            code_ -= one * range_;
            value = value << 1 | one;
        }
        return value;
    }
    template <size_t count> uint32_t tree(std::array<Prob, count>& probs) {
        uint32_t node = 1;
        while (node < count) {
            node = node << 1 | bit(probs[node]);
        }
        return node - static_cast<uint32_t>(count);
    }
    // The lowest bit first.
    uint32_t reverseTree(Prob* probs, uint32_t bits) {
        uint32_t node = 1;
        uint32_t value = 0;
        for (uint32_t i = 0; i < bits; i++) {
            const uint32_t one = bit(probs[node]);
            node = node << 1 | one;
            value |= one << i;
        }
        return value;
    }

private:
    void normalize() {
        if (range_ < 1U << 24) {
            range_ <<= 8;
            code_ = code_ << 8 | bytes_.next();
        }
    }

    Bytes& bytes_;
    uint32_t range_ = 0;
    uint32_t code_ = 0;
};

template <size_t count> constexpr std::array<Prob, count> evenProbs() {
    std::array<Prob, count> probs{};
    probs.fill(even);
    return probs;
}

// Lengths of matches, without the shortest one.
struct LenDecoder {
    Prob choice = even;
    Prob choice2 = even;
    std::array<std::array<Prob, 8>, posStates> low;
    std::array<std::array<Prob, 8>, posStates> mid;
    std::array<Prob, 256> high = evenProbs<256>();

    LenDecoder() {
        low.fill(evenProbs<8>());
        mid.fill(evenProbs<8>());
    }
    uint32_t decode(RangeDecoder& range, uint32_t posState) {
        if (range.bit(choice) == 0) {
            return range.tree(low[posState]);
        }
        return range.bit(choice2) == 0 ? 8 + range.tree(mid[posState]) : 16 + range.tree(high);
    }
};

// All that a state reset makes new.
struct Model {
    uint32_t state = 0;
    std::array<uint32_t, 4> rep{};
    std::array<std::array<Prob, posStates>, states> isMatch;
    std::array<std::array<Prob, posStates>, states> isRep0Long;
    std::array<Prob, states> isRep = evenProbs<states>();
    std::array<Prob, states> isRepG0 = evenProbs<states>();
    std::array<Prob, states> isRepG1 = evenProbs<states>();
    std::array<Prob, states> isRepG2 = evenProbs<states>();
    std::array<std::array<Prob, 64>, 4> posSlot;
    std::array<Prob, 115> pos = evenProbs<115>();
    std::array<Prob, 16> align = evenProbs<16>();
    LenDecoder len;
    LenDecoder repLen;
    std::vector<Prob> literals;

    explicit Model(uint32_t literalBits) : literals(size_t{0x300} << literalBits, even) {
        isMatch.fill(evenProbs<posStates>());
        isRep0Long.fill(evenProbs<posStates>());
        posSlot.fill(evenProbs<64>());
    }
};

class Decoder {
public:
    Decoder(std::span<const uint8_t> stream, size_t bytes) : bytes_(stream), range_(bytes_), most_(bytes) {
        out_.reserve(bytes);
    }

    std::string decode() {
        constexpr uint32_t streamHeader = 12;
        bytes_.skip(streamHeader);
        bytes_.skip((bytes_.next() + 1) * 4 - 1); // the header of the block
        while (out_.size() < most_ && chunk()) {
        }
        return out_.size() < most_ ? std::string() : out_.substr(0, most_);
    }

private:
    // One chunk of LZMA2. Returns false after the last one, and if the stream is damaged.
    bool chunk() {
        const uint32_t control = bytes_.next();
        if (control == 0 || (control > 2 && control < 0x80)) {
            return false;
        }
        uint32_t size = bytes_.next() << 8;
        size |= bytes_.next();
        if (control <= 2) { // stored
            for (size_t end = out_.size() + size + 1; out_.size() < end && !bytes_.ended();) {
                out_ += static_cast<char>(bytes_.next());
            }
            return !bytes_.ended();
        }
        size |= (control & 0x1f) << 16;
        bytes_.skip(2); // the packed size
        const uint32_t reset = control >> 5 & 3;
        if (reset >= 2 && !setProperties(bytes_.next())) {
            return false;
        }
        if (reset >= 1) {
            model_ = Model(lc_ + lp_);
        }
        range_.start();
        return symbols(out_.size() + size + 1);
    }

    bool setProperties(uint32_t properties) {
        lc_ = properties % 9;
        lp_ = properties / 9 % 5;
        pb_ = properties / 45;
        return lc_ + lp_ <= 4 && pb_ <= 4;
    }

    // Decodes until `end` bytes are out.
    bool symbols(size_t end) {
        Model& m = model_;
        while (out_.size() < end) {
            const uint32_t posState = static_cast<uint32_t>(out_.size()) & ((1U << pb_) - 1);
            if (range_.bit(m.isMatch[m.state][posState]) == 0) {
                if (!literal()) {
                    return false;
                }
                continue;
            }
            const uint32_t length = range_.bit(m.isRep[m.state]) != 0 ? repeated(posState) : matched(posState);
            if (bytes_.ended() || m.rep[0] >= out_.size() || length > end - out_.size()) {
                return false;
            }
            for (uint32_t i = 0; i < length; i++) {
                out_ += before(m.rep[0]);
            }
        }
        return true;
    }

    char before(uint32_t distance) const { return out_[out_.size() - distance - 1]; }

    bool literal() {
        Model& m = model_;
        if (bytes_.ended() || (m.state >= 7 && m.rep[0] >= out_.size())) {
            return false;
        }
        const uint32_t previous = out_.empty() ? 0 : static_cast<uint8_t>(out_.back());
        const size_t context = ((out_.size() & ((1U << lp_) - 1)) << lc_) + (previous >> (8 - lc_));
        Prob* probs = &m.literals[0x300 * context];
        uint32_t symbol = 1;
        if (m.state >= 7) { // after a match: the byte that would go on with it is unlikely
            uint32_t match = static_cast<uint8_t>(before(m.rep[0]));
            while (symbol < 0x100) {
                const uint32_t expected = match >> 7 & 1;
                match <<= 1;
                const uint32_t one = range_.bit(probs[((1 + expected) << 8) + symbol]);
                symbol = symbol << 1 | one;
                if (one != expected) {
                    break;
                }
            }
        }
        while (symbol < 0x100) {
            symbol = symbol << 1 | range_.bit(probs[symbol]);
        }
        out_ += static_cast<char>(symbol & 0xff);
        m.state = m.state < 4 ? 0 : m.state < 10 ? m.state - 3 : m.state - 6;
        return true;
    }

    // A match at one of the last four distances, which moves to the front. Returns its length.
    uint32_t repeated(uint32_t posState) {
        Model& m = model_;
        if (range_.bit(m.isRepG0[m.state]) == 0) {
            if (range_.bit(m.isRep0Long[m.state][posState]) == 0) {
                m.state = m.state < 7 ? 9 : 11;
                return 1;
            }
        } else {
            const size_t which = range_.bit(m.isRepG1[m.state]) == 0 ? 1 : range_.bit(m.isRepG2[m.state]) == 0 ? 2 : 3;
            std::rotate(m.rep.begin(), m.rep.begin() + static_cast<std::ptrdiff_t>(which),
                        m.rep.begin() + static_cast<std::ptrdiff_t>(which) + 1);
        }
        m.state = m.state < 7 ? 8 : 11;
        return 2 + m.repLen.decode(range_, posState);
    }

    // A match at a new distance. Returns its length.
    uint32_t matched(uint32_t posState) {
        Model& m = model_;
        std::rotate(m.rep.begin(), m.rep.begin() + 3, m.rep.end());
        const uint32_t length = m.len.decode(range_, posState);
        m.state = m.state < 7 ? 7 : 10;
        const uint32_t slot = range_.tree(m.posSlot[std::min(length, 3U)]);
        uint32_t distance = slot;
        if (slot >= 4) {
            const uint32_t bits = (slot >> 1) - 1;
            distance = (2 | (slot & 1)) << bits;
            if (slot < 14) {
                distance += range_.reverseTree(&m.pos[distance - slot], bits);
            } else {
                distance += range_.directBits(bits - 4) << 4;
                distance += range_.reverseTree(m.align.data(), 4);
            }
        }
        m.rep[0] = distance;
        return 2 + length;
    }

    Bytes bytes_;
    RangeDecoder range_;
    size_t most_;
    std::string out_;
    uint32_t lc_ = 0; // bits of the byte before that choose the probabilities of a literal
    uint32_t lp_ = 0; // bits of the position that do
    uint32_t pb_ = 0; // bits of the position that choose other probabilities
    Model model_{0};
};

} // namespace

std::string unpackXz(std::span<const uint8_t> stream, size_t bytes) { return Decoder(stream, bytes).decode(); }

} // namespace vkf
