# SPDX-License-Identifier: MIT
# Part of ./dev: finds or fetches ggml, and runs it with the backend of this folder. Changes nothing of the system.

# Packages of the newer Debian that third_party/toolchain.sh names: ggml with its tests, its own Vulkan backend, and the
# programs of llama.cpp.
readonly ggml_packages=libggml0,libggml-dev,libggml0-backend-vulkan,llama.cpp-tools

ggml_help() {
    cat <<'TEXT'
./dev ggml support          which of ggml's own cases of attention the backend supports, and why not the others
./dev ggml test [FILTER]    run these cases against ggml's CPU backend; FILTER: a regular expression for their parameters
./dev ggml perf [FILE]      measure the backend and ggml-vulkan; FILE: shapes, in the format of test-backend-ops
./dev ggml time [FILE]      measure both on calls with causal masks; integrations/ggml/README.md has the format

Further arguments go to the program.
TEXT
}

# Sets ggml_root to the folder with ggml's include/ and lib/: VKFLASH_GGML_ROOT, or what was fetched before. Leaves it
# empty if there is neither. Sets ggml_options to CMake's options for it.
find_ggml() {
    ggml_cache=$(cache_folder ggml- "$vulkan_suite $ggml_packages")
    ggml_root=${VKFLASH_GGML_ROOT:-}
    ggml_options=()
    if [ -z "$ggml_root" ] && [ -d "$ggml_cache" ]; then ggml_root=$ggml_cache/root/usr; fi
    if [ -n "$ggml_root" ]; then ggml_options=(-DVKFLASH_GGML=ON "-DVKFLASH_GGML_ROOT=$ggml_root"); fi
}

# Fetches ggml if there is none. Fails if it cannot be fetched.
fetch_ggml() {
    find_ggml
    [ -z "$ggml_root" ] || return 0
    fetch_packages "$ggml_cache" "$vulkan_suite" "$ggml_packages" "ggml and llama.cpp (about 45 MB)" || return 1
    find_ggml
}

# Prints the folder of the software driver; "" if this machine has a GPU, or its own loader and driver.
software_driver() {
    if [ -d "$toolchain_root/vulkan/usr" ] && ! has_gpu; then echo "$toolchain_root/vulkan/usr"; fi
}

# run_ggml [--vulkan] PROGRAM ARGS...
run_ggml() {
    local option=()
    if [ "$1" = --vulkan ]; then option=("$1"); shift; fi
    integrations/ggml/run.sh "${option[@]}" --backend "$build_dir/integrations/ggml/libggml-vkflash.so" "$ggml_root" \
        "$(software_driver)" "$build_dir/integrations/ggml" "$@"
}

# Runs ggml's cases; on the software driver with validation layers. test-backend-ops itself ignores their messages.
test_ggml() {
    local log=$build_dir/ggml_test.log status=0
    if [ -n "$(software_driver)" ]; then export VKFLASH_GGML_VALIDATION=1; fi
    run_ggml test-backend-ops test -b vkflash "$@" 2>"$log" || status=$?
    cat "$log" >&2
    if grep -q 'vkflash: validation: ' "$log"; then die "the validation layers have messages"; fi
    return "$status"
}

ggml() {
    local what=${1:-help} arguments=(-o FLASH_ATTN_EXT) file=
    shift || true
    if [ "$what" = help ]; then ggml_help; return; fi
    ensure_toolchain
    fetch_ggml || die "ggml could not be fetched; set VKFLASH_GGML_ROOT to a folder with its include/ and lib/"
    if [ $# -ne 0 ] && [[ $1 != -* ]]; then
        case $what in
            test) arguments+=(-p "$1") ;;
            perf) arguments+=(--test-file "$(cd "$caller_dir" && realpath "$1")") ;;
            time) file=$(cd "$caller_dir" && realpath "$1") ;;
            *) ggml_help >&2; die "ggml $what takes no $1" ;;
        esac
        shift
    fi
    case $what in
        support)
            build ggml_vkflash
            VKFLASH_GGML_REFUSALS=all run_ggml test-backend-ops support -b vkflash "${arguments[@]}" "$@" ;;
        test)
            build ggml_vkflash
            test_ggml "${arguments[@]}" "$@" ;;
        perf)
            build ggml_vkflash
            run_ggml --vulkan test-backend-ops perf "${arguments[@]}" "$@" ;;
        time)
            build ggml_vkflash ggml_time
            run_ggml --vulkan "$build_dir/bin/ggml_time" ${file:+"$file"} "$@" ;;
        *) ggml_help >&2; die "unknown command: ggml $what" ;;
    esac
}
