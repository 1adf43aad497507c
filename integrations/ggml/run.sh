#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh [--with-vulkan] GGML_ROOT VULKAN_ROOT LIBRARY PROGRAM ARGS...
# Starts a program of ggml, so that ggml loads LIBRARY, a backend, besides its CPU backend. The option adds ggml's own
# Vulkan backend.
#
#   GGML_ROOT     folder with lib/ of ggml; its libexec/ too if PROGRAM is test-backend-ops
#   VULKAN_ROOT   folder with lib/ and share/ of a Vulkan loader and a software driver; "" = those of this machine
#
# Roots of unpacked packages have a C library and a dynamic loader of their own, which start the program.
set -euo pipefail
shopt -s nullglob
names=cpu
if [ "$1" = --with-vulkan ]; then names="cpu vulkan"; shift; fi
ggml_root=$1 vulkan_root=$2 library=$(realpath "$3") program=$4
shift 4
if [ "$program" = test-backend-ops ]; then program=$(echo "$ggml_root"/libexec/*/ggml/test-backend-ops); fi
program=$(realpath "$program")

# ggml looks for backends in the current folder, after a folder of the system.
folder="${library%/*}/backends_${names// /_}"
mkdir -p "$folder"
for name in $names; do
    for backend in "$ggml_root"/lib/*/ggml/backends*/libggml-"$name"*.so; do
        [ -e "$folder/${backend##*/}" ] || ln -s "$backend" "$folder/" 2>/dev/null || true # another run was faster
    done
done

# The newest of the C libraries runs programs that were built for an older one.
path='' newest=0
start=()
for root in ${vulkan_root:+"$vulkan_root"} "$ggml_root"; do
    for loader in "$root"/lib/*/ld-linux*.so.*; do
        version=$("$loader" --version | sed -nE '1s/.* ([0-9.]+[0-9])\.?$/\1/p')
        if [ "$(printf '%s\n' "$newest" "$version" | sort -V | tail -n 1)" != "$newest" ]; then
            newest=$version path=${loader%/*}:$path
            start=("$loader")
        else
            path=$path${loader%/*}:
        fi
    done
done
if [ ${#start[@]} -ne 0 ]; then start+=(--library-path "${path%:}"); fi
if [ -n "$vulkan_root" ]; then
    export VK_DRIVER_FILES=$vulkan_root/share/vulkan/icd.d/lvp_icd.json
    export VK_LAYER_PATH=$vulkan_root/share/vulkan/explicit_layer.d
fi
cd "$folder"
GGML_BACKEND_PATH=$library exec "${start[@]}" "$program" "$@"
