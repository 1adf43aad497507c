# SPDX-License-Identifier: MIT
# Part of ./dev: runs programs of llama.cpp with the layer of this folder. Uses what ../ggml/ggml.sh fetched.

llama_help() {
    cat <<'TEXT'
./dev llama bench ARGS...    time llama.cpp without and with the layer, on models with random weights;
                             ./dev llama bench --help lists the flags
./dev llama PROGRAM ARGS...  start llama-cli, llama-completion, llama-server or llama-bench with the layer
TEXT
}

llama() {
    local what=${1:-help} layer=$build_dir/integrations/ggml_layer options=()
    shift || true
    if [ "$what" = help ]; then llama_help; return; fi
    ensure_toolchain
    fetch_ggml || die "llama.cpp could not be fetched; set VKFLASH_GGML_ROOT to a folder with its bin/ and lib/"
    build vkflash_ggml_layer
    local start=("$PWD/integrations/ggml/run.sh" --vulkan)
    local roots=("$ggml_root" "$(software_driver)" "$PWD/$layer")
    cd "$caller_dir"
    case $what in
        bench)
            python3 "$OLDPWD/integrations/ggml_layer/bench_llama.py" --layer "$OLDPWD/$layer" \
                --run "$(printf '%q ' "${start[@]}" "${roots[@]}")" "$@" ;;
        llama-*) "${start[@]}" --layer "$OLDPWD/$layer" "${roots[@]}" "$what" "$@" ;;
        *) llama_help >&2; die "unknown command: llama $what" ;;
    esac
}
