// SPDX-License-Identifier: MIT
//
// The producer: a warpgroup that copies tiles of k and v to shared memory. It fills slot after slot, with k and v in
// turns. Keys past the last one and columns past the last one become zeros.
//
// Infinity and NaN in v need care in partial tiles: a row that does not see their key has probability zero, and zero
// times them would be NaN. The producer replaces them by zeros there. At the end it tells the consumers, which then add
// to o what these values add to it (output.hpp).
#ifndef VKF_WGMMA_PRODUCER_HPP
#define VKF_WGMMA_PRODUCER_HPP

#include "wgmma/instructions.hpp"
#include "wgmma/item.hpp"
#include "wgmma/tile.hpp"

namespace vkf::wgmma {

// Replaces infinity and NaN by zeros among eight 16-bit numbers. To find them, adds one to each exponent: an exponent
// of all ones carries into the sign bit. Returns whether there were any.
template <bool BF16> VKF_DEVICE bool dropSpecialHalves(Word& word) {
    constexpr uint32_t exponents = BF16 ? 0x7f807f80u : 0x7c007c00u;
    constexpr uint32_t lowest = BF16 ? 0x00800080u : 0x04000400u;
    uint32_t seen = 0;
    VKF_UNROLL for (uint32_t i = 0; i < 4; i++) {
        const uint32_t carried = ((word.x[i] & exponents) + lowest) & 0x80008000u;
        word.x[i] &= ~((carried >> 15) * 0xffffu);
        seen |= carried;
    }
    return seen != 0;
}

// Replaces them in a word of shared memory, and sets `seen` if there were any.
template <bool BF16> VKF_DEVICE void dropSpecialHalvesAt(const uint32_t address, bool& seen) {
    Word word = loadShared(address);
    if (dropSpecialHalves<BF16>(word)) {
        storeShared(address, word);
        seen = true;
    }
}

// The thread's words of k or v of the item's KV head.
struct Source {
    Address first;       // the word of key 0, or of row 0 of page 0 with pages
    uint32_t row_stride; // bytes
    uint32_t bytes;      // 16, or 0 if the columns of the words do not exist
};

template <typename K>
VKF_DEVICE Source sourceOf(const Call call, const Item& item, const Share<K> share, const Uint tensor) {
    const Address base = tensor == VKF_K ? call.params.k : call.params.v;
    const Uint dim = tensor == VKF_K ? call.constants.head_dim : call.constants.value_dim;
    const Address head = keyHeadAddress(call, base, tensor, item);
    return {head + share.word * 16, call.params.row_stride[tensor], share.word * 8 < dim ? 16u : 0u};
}

template <typename K, bool PAGED> struct Producer {
    const Call call;
    const Walk walk;
    const uint32_t keys; // of the sequence
    const uint32_t shared_memory;
    const Share<K> share;
    const Source k, v;
    const Address table; // pages: the entries of the sequence
    KeyPlace place = {}; // pages: of the key that this thread looks up for the next copy
    bool saw_special_values = false;

    // Fills are numbered: 2 i is the tile of k at position i of the walk, 2 i + 1 is the tile of v.
    VKF_DEVICE const Source source(const uint32_t fill) const { return fill % 2 == 0 ? k : v; }

    VKF_DEVICE uint32_t firstKey(const uint32_t fill) const {
        return tileAt(walk, walk.step + fill / 2) * K::KEYS + share.key;
    }

    VKF_DEVICE bool mayHideValues(const uint32_t fill) const {
        return fill % 2 == 1 && walk.step + fill / 2 >= fullTiles(walk);
    }

    VKF_DEVICE uint32_t slotAddress(const uint32_t slot) const { return shared_memory + slot * K::SLOT_BYTES; }

    VKF_DEVICE void announce(const uint32_t slot) const {
        publishSharedWrites();
        VKF_UNROLL for (uint32_t consumer = 0; consumer < K::CONSUMERS; consumer++) {
            arriveAt(K::full(slot, consumer), K::FULL_THREADS);
        }
    }

    // Pages: starts to look up the keys of a tile.
    VKF_DEVICE void lookUp(const uint32_t position) {
        const uint32_t key = tileAt(walk, position) * K::KEYS + LookUps<K>::keyOf(threadNumber());
        place = placeOf(call, table, min(key, keys - 1));
    }

    // Pages: the words from row 0 of page 0 to the key that this thread has looked up. After v come the keys of the
    // next tile.
    VKF_DEVICE uint32_t wordsToKey(const uint32_t fill) {
        const uint32_t words = wordsTo(call, fill % 2 == 0 ? VKF_K : VKF_V, place);
        const uint32_t position = walk.step + fill / 2 + 1;
        if (fill % 2 == 1 && position < walk.step_end) {
            lookUp(position);
        }
        return words;
    }

    // Calls take(i, address, bytes) for each word of a tile. Fills come in their order.
    template <typename Take> VKF_DEVICE void forEachWord(const uint32_t fill, const Take take) {
        const Source from = source(fill);
        const uint32_t key = firstKey(fill);
        const auto bytes = [&](const uint32_t i) { return key + i * Share<K>::KEY_STEP < keys ? from.bytes : 0; };
        if constexpr (PAGED) {
            const uint32_t words = wordsToKey(fill);
            VKF_UNROLL for (uint32_t i = 0; i < Share<K>::WORDS; i++) {
                const uint32_t to_key = shuffleFrom(words, LookUps<K>::laneOf(threadNumber(), i));
                take(i, from.first + Address{to_key} * 16, bytes(i));
            }
        } else {
            Address address = from.first + Address{key} * from.row_stride;
            VKF_UNROLL for (uint32_t i = 0; i < Share<K>::WORDS; i++) {
                take(i, address, bytes(i));
                address += Address{from.row_stride} * Share<K>::KEY_STEP;
            }
        }
    }

    // Starts to copy a tile.
    VKF_DEVICE void copy(const uint32_t fill, const uint32_t slot) {
        const uint32_t to = slotAddress(slot);
        forEachWord(fill, [&](const uint32_t i, const Address address, const uint32_t bytes) {
            copyWord(to + share.offset(i), address, bytes);
        });
        endCopyGroup();
    }

    // Tells the consumers that a tile has arrived.
    VKF_DEVICE void announceCopy(const uint32_t fill, const uint32_t slot) {
        if (mayHideValues(fill)) {
            VKF_UNROLL for (uint32_t i = 0; i < Share<K>::WORDS; i++) {
                dropSpecialHalvesAt<K::BF16>(slotAddress(slot) + share.offset(i), saw_special_values);
            }
        }
        announce(slot);
    }

    // Waits until the consumers have read the fill that the slot had before `fill`.
    VKF_DEVICE void waitForSlot(const uint32_t fill, const uint32_t slot) const {
        if (fill >= K::SLOTS) {
            waitAt(K::empty(slot), K::EMPTY_THREADS);
        }
    }

    // Copies with cp.async. One tile is announced while the next one is in flight.
    VKF_DEVICE void copyAll(const uint32_t fills) {
        uint32_t slot = 0;
        uint32_t last_slot = 0;
        VKF_KEEP_LOOP for (uint32_t fill = 0; fill < fills; fill++) {
            waitForSlot(fill, slot);
            copy(fill, slot);
            if (fill != 0) {
                waitForCopies<1>();
                announceCopy(fill - 1, last_slot);
            }
            last_slot = slot;
            slot = nextSlot<K>(slot);
        }
        waitForCopies<0>();
        announceCopy(fills - 1, last_slot);
    }

    // Announces the first fills, from FILL on. All are in flight.
    template <uint32_t FILL> VKF_DEVICE void announceFirst(const uint32_t fills) {
        if constexpr (FILL < K::SLOTS) {
            if (FILL < fills) {
                waitForCopies<K::SLOTS - 1 - FILL>();
                announceCopy(FILL, FILL);
                announceFirst<FILL + 1>(fills);
            }
        }
    }

    // Copies the first fills with cp.async, and the others through registers. The next tile is in flight to them while
    // all slots are full.
    VKF_DEVICE void copyAllThroughRegisters(const uint32_t fills) {
        VKF_KEEP_LOOP for (uint32_t fill = 0; fill < K::SLOTS; fill++) {
            if (fill < fills) {
                copy(fill, fill);
            } else {
                endCopyGroup(); // an empty one, because announceFirst counts groups
            }
        }
        Word words[Share<K>::WORDS];
        if (K::SLOTS < fills) {
            fetch(words, K::SLOTS);
        }
        announceFirst<0>(fills);
        uint32_t slot = 0;
        VKF_KEEP_LOOP for (uint32_t fill = K::SLOTS; fill < fills; fill++) {
            waitForSlot(fill, slot);
            const bool finite = mayHideValues(fill);
            VKF_UNROLL for (uint32_t i = 0; i < Share<K>::WORDS; i++) {
                if (finite && dropSpecialHalves<K::BF16>(words[i])) {
                    saw_special_values = true;
                }
                storeShared(slotAddress(slot) + share.offset(i), words[i]);
            }
            announce(slot);
            if (fill + 1 < fills) {
                fetch(words, fill + 1);
            }
            slot = nextSlot<K>(slot);
        }
    }

    // Waits until the consumers have read the last fills. So each arrival at a barrier has its wait.
    VKF_DEVICE void drain(const uint32_t fills) const {
        VKF_KEEP_LOOP for (uint32_t fill = fills < K::SLOTS ? 0 : fills - K::SLOTS; fill < fills; fill++) {
            waitAt(K::empty(fill % K::SLOTS), K::EMPTY_THREADS);
        }
    }

    VKF_DEVICE void fetch(Word (&words)[Share<K>::WORDS], const uint32_t fill) {
        forEachWord(fill, [&](const uint32_t i, const Address address, const uint32_t bytes) {
            words[i] = loadWordIf(bytes != 0, address);
        });
    }

    // Tells each consumer whether special values became zeros.
    VKF_DEVICE void tellConsumers() const {
        const bool special = anyAt(K::PRODUCER, WARPGROUP, saw_special_values);
        const uint32_t consumer = uniform(threadNumber() / 32);
        if (consumer < K::CONSUMERS) {
            anyAt(K::flag(consumer), K::FLAG_THREADS, special);
        }
    }
};

// Whether the producer tells the consumers about special values at the end.
VKF_DEVICE bool hasPartialTiles(const Walk& walk) { return walk.step_end > max(walk.step, fullTiles(walk)); }

template <typename K, bool PAGED>
VKF_DEVICE void produceTiles(const Call call, const Item& item, const Walk& walk, const uint32_t shared_memory) {
    const Share<K> share = shareOf<K>(threadNumber());
    Producer<K, PAGED> producer{call,
                                walk,
                                item.keys,
                                shared_memory,
                                share,
                                sourceOf<K>(call, item, share, VKF_K),
                                sourceOf<K>(call, item, share, VKF_V),
                                PAGED ? tableOf(call, item) : 0};
    const uint32_t fills = 2 * (walk.step_end - walk.step);
    if constexpr (PAGED) {
        producer.lookUp(walk.step);
    }
    if constexpr (K::FETCHES_AHEAD) {
        producer.copyAllThroughRegisters(fills);
    } else {
        producer.copyAll(fills);
    }
    producer.drain(fills);
    if (hasPartialTiles(walk)) {
        producer.tellConsumers();
    }
}

template <typename K>
VKF_DEVICE void produce(const Call call, const Item& item, const Walk& walk, const uint32_t shared_memory) {
    if (walk.step == walk.step_end) {
        return;
    }
    if (hasPages(call)) {
        produceTiles<K, true>(call, item, walk, shared_memory);
    } else {
        produceTiles<K, false>(call, item, walk, shared_memory);
    }
}

} // namespace vkf::wgmma

#endif
