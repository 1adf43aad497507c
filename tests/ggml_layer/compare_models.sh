#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# compare_models.sh RUN LAYER_FOLDER RANDOM_MODEL GGML_ROOT VULKAN_ROOT LINKS
# An unmodified llama.cpp generates text from a model with random weights, with and without the layer. The tokens must
# be the same. Temperature 0 makes them depend on the logits alone.
set -euo pipefail
run=$1 layer=$2 random_model=$3
shift 3
roots=("$@") work=${*: -1}
model=$work/model.gguf
python3 "$random_model" "$model"

# complete CACHE_TYPE OPTIONS... : the text, and what llama.cpp and the layer log
complete() {
    local cache=$1
    shift
    "$run" "$@" "${roots[@]}" llama-completion -m "$model" --prompt "Attention is all you need" --n-predict 64 \
        --temp 0 --ctx-size 512 --flash-attn on --n-gpu-layers 99 --no-conversation --no-warmup \
        --cache-type-k "$cache" --cache-type-v "$cache" </dev/null
}

for cache in f16 q8_0 q4_0; do
    complete $cache --vulkan >"$work/without.txt" 2>"$work/without.log" || { cat "$work/without.log"; exit 1; }
    complete $cache --vulkan --layer "$layer" >"$work/with.txt" 2>"$work/with.log" || { cat "$work/with.log"; exit 1; }
    grep -E 'attention calls replaced, 0 passed through' "$work/with.log" ||
        { cat "$work/with.log"; echo "cache $cache: the layer did not replace all calls"; exit 1; }
    cmp "$work/without.txt" "$work/with.txt" || { echo "cache $cache: the tokens differ"; exit 1; }
    [ "$(wc -c <"$work/with.txt")" -gt 64 ] || { echo "cache $cache: too few tokens"; exit 1; }
    echo "cache $cache: the same $(wc -c <"$work/with.txt") bytes"
done
