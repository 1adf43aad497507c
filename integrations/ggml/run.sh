#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh [OPTION...] GGML_ROOT VULKAN_ROOT LINKS PROGRAM ARGS...
# Starts a program of ggml or llama.cpp, with ggml's CPU backend.
#
#   --vulkan            also with ggml's own Vulkan backend
#   --backend LIBRARY   also with this backend
#   --layer FOLDER      ggml's own Vulkan backend runs with our layer, whose manifest is in FOLDER
#
#   GGML_ROOT     folder with lib/ of ggml; its libexec/ or bin/ too if PROGRAM is a name without a folder
#   VULKAN_ROOT   folder with lib/ and share/ of a Vulkan loader and a software driver; "" = those of this machine
#   LINKS         folder in which the script makes folders of links to backends
#
# Roots of unpacked packages have a C library and a dynamic loader of their own, which start the program.
set -euo pipefail
shopt -s nullglob
names=cpu layers=
while [[ $1 = --* ]]; do
    case $1 in
        --vulkan) names="cpu vulkan" ;;
        --backend) export GGML_BACKEND_PATH; GGML_BACKEND_PATH=$(realpath "$2"); shift ;;
        --layer) layers=$(realpath "$2"); shift ;;
        *) echo "run.sh: unknown option $1" >&2; exit 2 ;;
    esac
    shift
done
ggml_root=$1 vulkan_root=$2 links=$(realpath "$3") program=$4
shift 4
if [[ $program != */* ]]; then program=$(echo "$ggml_root"/libexec/*/ggml/"$program" "$ggml_root"/bin/"$program"); fi
for candidate in $program; do [ ! -e "$candidate" ] || program=$candidate; done
program=$(realpath "$program")

# ggml looks for backends in the folder of the running file, which is the dynamic loader of a root, and in the current
# folder. The program itself starts in the caller's folder, where the loader of a root can be copied to the links.
folder="$links/backends_${names// /_}"
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
for own in "$ggml_root"/lib/*/llama; do path=$path$own:; done
if [ ${#start[@]} -ne 0 ]; then
    own="$folder/${start[0]##*/}"
    if ! cmp -s "${start[0]}" "$own"; then cp "${start[0]}" "$own.$$" && mv -f "$own.$$" "$own"; fi
    start=("$own" --library-path "${path%:}")
else
    cd "$folder"
fi
if [ -n "$vulkan_root" ]; then
    export VK_DRIVER_FILES=$vulkan_root/share/vulkan/icd.d/lvp_icd.json
    export VK_LAYER_PATH=${VK_LAYER_PATH:+$VK_LAYER_PATH:}$vulkan_root/share/vulkan/explicit_layer.d
    export GGML_VK_VISIBLE_DEVICES=0 # ggml-vulkan takes a device that is a CPU only if it is named
fi
if [ -n "$layers" ]; then
    export VK_LAYER_PATH=$layers${VK_LAYER_PATH:+:$VK_LAYER_PATH}
    export VK_INSTANCE_LAYERS=VK_LAYER_VKFLASH_ggml${VK_INSTANCE_LAYERS:+:$VK_INSTANCE_LAYERS}
fi
exec "${start[@]}" "$program" "$@"
