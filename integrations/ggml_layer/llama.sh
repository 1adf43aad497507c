# SPDX-License-Identifier: MIT
# Part of ./dev: runs llama.cpp and ggml's own tests with the layer of this folder. Uses what ../ggml/ggml.sh fetched.

llama_help() {
    cat <<'TEXT'
./dev llama PROGRAM ARGS...  start llama-cli, llama-completion, llama-server or llama-bench with the layer
./dev llama bench ARGS...    time llama.cpp without and with the layer, on models with random weights;
                             ./dev llama bench --help lists the flags
./dev llama test [FILTER]    run ggml's own cases of attention on ggml-vulkan with the layer; FILTER: a regular
                             expression for their parameters
./dev llama perf FILE        time the shapes of FILE, in the format of test-backend-ops, on ggml-vulkan without and with
                             the layer; bench/ggml.py reads the output
TEXT
}

llama() {
    local what=${1:-help} from=$PWD layer
    shift || true
    if [ "$what" = help ]; then llama_help; return; fi
    ensure_toolchain
    fetch_ggml || die "llama.cpp could not be fetched; set VKFLASH_GGML_ROOT to a folder with its bin/ and lib/"
    build vkflash_ggml_layer
    layer=$PWD/$build_dir/integrations/ggml_layer
    local start=("$PWD/integrations/ggml/run.sh" --vulkan) with=(--layer "$layer")
    local roots=("$ggml_root" "$(software_driver)" "$layer")
    local attention=(-b Vulkan0 -o FLASH_ATTN_EXT)
    cd "$caller_dir"
    case $what in
        bench)
            python3 "$from/integrations/ggml_layer/bench_llama.py" --layer "$layer" \
                --run "$(printf '%q ' "${start[@]}" "${roots[@]}")" "$@" ;;
        test)
            VKFLASH_GGML_LAYER=log "${start[@]}" "${with[@]}" "${roots[@]}" test-backend-ops test "${attention[@]}" \
                ${1:+-p "$1"} ;;
        perf)
            [ $# -eq 1 ] || die "llama perf takes one file"
            attention+=(--test-file "$(realpath "$1")")
            "${start[@]}" "${roots[@]}" test-backend-ops perf "${attention[@]}"
            # Under the layer the backend has the same name. bench/ggml.py calls ours vkflash.
            "${start[@]}" "${with[@]}" "${roots[@]}" test-backend-ops perf "${attention[@]}" |
                sed -E 's|^(Backend [0-9]+/[0-9]+: )Vulkan0|\1vkflash|' ;;
        llama-*) "${start[@]}" "${with[@]}" "${roots[@]}" "$what" "$@" ;;
        *) llama_help >&2; die "unknown command: llama $what" ;;
    esac
}
