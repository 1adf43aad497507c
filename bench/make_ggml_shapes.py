#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes shapes of attention for `./dev ggml perf` and `./dev ggml time`.

    python3 bench/make_ggml_shapes.py perf >perf.txt     as test-backend-ops reads them: prefills without a mask, and caches
    python3 bench/make_ggml_shapes.py time >time.txt     as ggml_time reads them: causal masks

A line of test-backend-ops has the operation, the result's type and sizes, the parameters as 32-bit patterns, then type,
sizes and byte strides of each source, then a name.
"""
import struct
import sys

FLASH_ATTN_EXT = 74
F32_PRECISION = 10
F32, F16 = 0, 1
# name: (ggml's number, elements of a block, bytes of a block)
TYPES = {"f16": (1, 1, 2), "bf16": (30, 1, 2), "q8_0": (8, 32, 34), "q4_0": (2, 32, 18), "q4_1": (3, 32, 20),
         "q5_0": (6, 32, 22), "q5_1": (7, 32, 24), "iq4_nl": (20, 32, 18)}
FEW_TYPES = ["f16", "q8_0", "q4_0"]
# D: (Dv, query heads, KV heads) of caches
CACHES = {64: (64, 32, 8), 80: (80, 32, 8), 128: (128, 32, 8), 256: (256, 16, 4), 576: (512, 16, 1)}
PREFILL_WIDTH = 2048  # heads x D


def bits(value):
    return struct.unpack("<i", struct.pack("<f", value))[0]


def tensor(number, elements, size, *sizes):
    strides = [size, sizes[0] // elements * size]
    strides += [strides[1] * sizes[1], strides[1] * sizes[1] * sizes[2]]
    return [number, *sizes, *strides]


def perf_line(name, dim, value_dim, heads, kv_heads, rows, keys, kind, masked=False):
    sources = [tensor(F32, 1, 4, dim, rows, heads, 1), tensor(*TYPES[kind], dim, keys, kv_heads, 1),
               tensor(*TYPES[kind], value_dim, keys, kv_heads, 1)]
    if masked:
        sources.append(tensor(F16, 1, 2, keys, rows, 1, 1))
    parameters = [bits(dim ** -0.5), 0, 0, F32_PRECISION, 0]
    fields = [FLASH_ATTN_EXT, F32, value_dim, heads, rows, 1, len(parameters), *parameters, len(sources)]
    return " ".join(map(str, sum(sources, fields))) + " " + name


def types_of(dim, names=tuple(TYPES)):
    return [name for name in names if dim % TYPES[name][1] == 0]


def perf():
    for dim in (64, 128, 256):
        for rows in (512, 1024, 2048, 4096, 8192):
            heads = PREFILL_WIDTH // dim
            yield perf_line(f"prefill_d{dim}_n{rows}", dim, dim, heads, heads, rows, rows, "f16")
    for keys in (1024, 4096, 16384, 65536, 131072):
        yield perf_line(f"decode_{keys}_f16", 128, *CACHES[128], 1, keys, "f16")
    for keys in (16384, 65536):
        for kind in types_of(128)[1:]:
            yield perf_line(f"decode_{keys}_{kind}", 128, *CACHES[128], 1, keys, kind)
    for keys in (4096, 16384):
        yield perf_line(f"chunk512_{keys}_q8_0", 128, *CACHES[128], 512, keys, "q8_0")
    for dim, shape in CACHES.items():
        for kind in types_of(dim) if dim == 128 else types_of(dim, FEW_TYPES):
            for rows, keys in ((1, 16384), (4, 16384), (16, 16384), (512, 4096)):
                if dim != 128 or rows != 1:
                    name = f"cache_d{dim}_rows{rows}_keys{keys}_{kind}"
                    yield perf_line(name, dim, *shape, rows, keys, kind, masked=kind == "f16")


def time():
    yield "# name D Dv heads KV-heads rows keys type [v_in_k]"
    for dim in (64, 128, 256):
        heads = PREFILL_WIDTH // dim
        for rows in (512, 2048, 8192):
            yield f"causal_d{dim}_n{rows}_f16 {dim} {dim} {heads} {heads} {rows} {rows} f16"
    for dim, (value_dim, heads, kv_heads) in CACHES.items():
        for kind in types_of(dim) if dim == 128 else types_of(dim, FEW_TYPES):
            for rows, keys in ((1, 16384), (4, 16384), (16, 16384), (512, 4096)):
                view = " v_in_k" if dim == 576 else ""
                yield (f"cache_d{dim}_rows{rows}_keys{keys}_{kind}{'_view' if view else ''} "
                       f"{dim} {value_dim} {heads} {kv_heads} {rows} {keys} {kind}{view}")


def main():
    kinds = {"perf": perf, "time": time}
    if len(sys.argv) != 2 or sys.argv[1] not in kinds:
        sys.exit(f"usage: make_ggml_shapes.py {'|'.join(kinds)}")
    print("\n".join(kinds[sys.argv[1]]()))


if __name__ == "__main__":
    main()
