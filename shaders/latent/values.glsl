// SPDX-License-Identifier: MIT
//
// Line 7 of the algorithm (attention_latent.comp): moves v to the shared memory of k.
//
// Needs: latent/stage.glsl, matrix/special_values.glsl (finiteHalves). Provides: fetchValues, placeValues.
#ifndef VKF_LATENT_VALUES_GLSL
#define VKF_LATENT_VALUES_GLSL

// Loads v into the registers of k. At that time k is in shared memory, and the next k is not on its way yet.
void fetchValues(const uint key_begin) {
    UNROLL for (uint i = 0; i < V_FETCHES; i++) {
        uint place = i * WORKGROUP_SIZE + thread;
        uint key = existingKey(key_begin + min(place / V_LOADS, TILE_KEYS - 1));
        uvec2 address = keyAddress(v_head, VKF_V, pageOf(item.batch, key), key);
        fetched[i] = fetchedWord(address, place % V_LOADS, TYPE_V);
    }
}

// `full`: every row sees all keys of the tile. In other tiles, values become zeros if they are infinite or NaN, or if
// their key does not exist. Where v is a view of k, its words are there already, and only a partial tile needs this
// function.
void placeValues(const uint key_begin, const bool full) {
    UNROLL for (uint i = 0; i < V_FETCHES; i++) {
        uint place = i * WORKGROUP_SIZE + thread;
        uint of_tile = min(place / V_LOADS, TILE_KEYS - 1);
        UNROLL for (uint load_word = 0; load_word < V_LOAD_WORDS; load_word++) {
            uint at = of_tile * STAGE_ROW + placeOfLoad(place % V_LOADS, load_word, TYPE_V);
            uvec4 word = wordOfLoad(fetched[i], load_word, TYPE_V);
            if (v_in_k && place < TILE_KEYS * V_LOADS) { // the others' word is one that another invocation replaces
                word = stage[at];
            }
            if (!full) {
                word = key_begin + of_tile < keys.y ? finiteHalves(word) : uvec4(0);
            }
            if (place < TILE_KEYS * V_LOADS) {
                stage[at] = word;
            }
        }
    }
}

#endif
