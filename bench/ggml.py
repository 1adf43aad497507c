#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares two backends of ggml in the output of `test-backend-ops perf --test-file`, or of ggml_time.

    python3 bench/ggml.py bench/results/h200-ggml.txt                      a table in Markdown, then the geometric mean
    python3 bench/ggml.py bench/results/h200-ggml.txt -o ggml.svg          the same, and a figure
    python3 bench/ggml.py FILE --theirs Vulkan1=ggml-vulkan                another backend, and its name in the table

A file holds one run or several. "Speedup" is the time of the other backend divided by our time.
Figures need matplotlib (Debian: python3-matplotlib).
"""
import argparse
import collections
import math
import pathlib
import re
import sys

from plot import import_pyplot, write_figure

BACKEND = re.compile(r"^Backend \d+/\d+: (\S+)")
CASE = re.compile(r"^\s*FLASH_ATTN_EXT\(name=([^,)]+).*?([\d.]+) us/run")
TIMED = re.compile(r"^\s+(\S+)\s+(\S+)\s+\d+ runs -\s+([\d.]+) us/run")  # a line of ggml_time
MARKERS = {1: "o", 4: "s", 16: "^", 512: "D"}


def parse_arguments():
    parser = argparse.ArgumentParser(description="Compares two backends of ggml.")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path, help="figure, .svg or .png")
    parser.add_argument("--ours", default="vkflash", help="our backend (default: vkflash)")
    parser.add_argument("--theirs", default="Vulkan0=ggml-vulkan",
                        help="the other backend, or BACKEND=SHOWN (default: Vulkan0=ggml-vulkan)")
    options = parser.parse_args()
    options.theirs, _, shown = options.theirs.partition("=")
    options.shown = shown or options.theirs
    if options.output and options.output.suffix not in (".svg", ".png"):
        sys.exit(f"-o {options.output}: must end in .svg or .png")
    return options


def read_times(files):
    """{shape: {backend: least microseconds}}, in the order of the files."""
    times = collections.defaultdict(dict)
    for path in files:
        backend = None
        try:
            lines = path.read_text().splitlines()
        except OSError as error:
            sys.exit(f"{path}: {error.strerror}")
        for line in lines:
            if found := BACKEND.match(line):
                backend = found[1]
            elif (found := CASE.match(line)) and backend:
                shape, time = found[1], float(found[2])
                times[shape][backend] = min(time, times[shape].get(backend, math.inf))
            elif found := TIMED.match(line):
                times[found[1]][found[2]] = float(found[3])
    return times


def print_table(rows, options):
    print(f"| shape | {options.shown}, us | {options.ours}, us | speedup |")
    print("| --- | --- | --- | --- |")
    for shape, theirs, ours in rows:
        print(f"| {shape} | {theirs:.4g} | {ours:.4g} | {theirs / ours:.2f} |")
    mean = math.exp(sum(math.log(theirs / ours) for _, theirs, ours in rows) / len(rows))
    least = min(rows, key=lambda row: row[1] / row[2])
    print(f"\n{len(rows)} shapes, geometric mean {mean:.2f}, least {least[1] / least[2]:.2f} ({least[0]})")


def group_of(shape):
    """The row of the figure, and the marker, of a shape."""
    rows = re.search(r"rows(\d+)|chunk(\d+)", shape)
    dim = re.search(r"d(\d+)_", shape)
    kind = re.search(r"(bf16|f16|q\d_\d|iq4_nl)", shape)
    count = int(rows[1] or rows[2]) if rows else 1 if shape.startswith("decode") else 512
    what = "prefill" if shape.startswith("prefill") else "causal" if shape.startswith("causal") else "cache"
    return f"{what}, D = {dim[1] if dim else 128}, {kind[1] if kind else 'f16'}", count


def draw(rows, options):
    pyplot = import_pyplot()
    groups = list(dict.fromkeys(group_of(shape)[0] for shape, _, _ in rows))
    figure, axis = pyplot.subplots(figsize=(8, 0.28 * len(groups) + 1.4))
    for count, marker in MARKERS.items():
        points = [(theirs / ours, groups.index(group_of(shape)[0])) for shape, theirs, ours in rows
                  if group_of(shape)[1] == count]
        if not points:
            continue
        label = "512 rows or more" if count == 512 else f"{count} row{'s' if count > 1 else ''}"
        axis.plot([x for x, _ in points], [y for _, y in points], linestyle="", marker=marker, markersize=5,
                  alpha=0.8, label=label)
    axis.axvline(1, color="black", linewidth=1)
    axis.set_xscale("log", base=2)
    axis.xaxis.set_major_formatter("{x:g}")
    axis.set_yticks(range(len(groups)), groups)
    axis.invert_yaxis()
    axis.set_xlabel(f"time of {options.shown} / time of {options.ours}")
    axis.grid(alpha=0.3)
    axis.legend(loc="best", fontsize="small")
    figure.tight_layout()
    write_figure(figure, options.output)


def main():
    options = parse_arguments()
    times = read_times(options.files)
    rows = [(shape, both[options.theirs], both[options.ours]) for shape, both in times.items()
            if options.theirs in both and options.ours in both]
    if not rows:
        sys.exit(f"no shape has times of both {options.theirs} and {options.ours}")
    print_table(rows, options)
    if options.output:
        draw(rows, options)


if __name__ == "__main__":
    main()
