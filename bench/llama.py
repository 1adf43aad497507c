#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares llama.cpp without and with the layer for ggml-vulkan, in files of `./dev llama bench -o FILE`.

    python3 bench/llama.py bench/results/h200-llama.json                   a table in Markdown
    python3 bench/llama.py bench/results/h200-llama.json -o llama.svg      the same, and a figure

A number is the median of the repetitions, in tokens a second. "Unsteady" is a row whose repetitions after the first
differ by more than a fifth: a short test after a pause may run at a low clock. Figures leave such rows out, and need
matplotlib (Debian: python3-matplotlib).
"""
import argparse
import json
import pathlib
import statistics
import sys

from plot import import_pyplot, write_figure


def parse_arguments():
    parser = argparse.ArgumentParser(description="Compares llama.cpp without and with the layer for ggml-vulkan.")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path, help="figure, .svg or .png")
    options = parser.parse_args()
    if options.output and options.output.suffix not in (".svg", ".png"):
        sys.exit(f"-o {options.output}: must end in .svg or .png")
    return options


def read_rows(files):
    rows = []
    for path in files:
        try:
            rows += json.loads(path.read_text())["rows"]
        except (OSError, ValueError, KeyError) as error:
            sys.exit(f"{path}: is no result of ./dev llama bench ({error})")
    return sorted(rows, key=lambda row: (row["model"], not row["test"].startswith("tg"), row["depth"], row["cache"]))


def rate(row, side):
    return statistics.median(row[side]["samples_ts"])


def ratio(row):
    return rate(row, "with") / rate(row, "without")


def is_steady(row):
    """The first repetition may wait for the driver, which compiles kernels."""
    later = [row[side]["samples_ts"][1:] for side in ("without", "with")]
    return all(max(samples) <= 1.2 * min(samples) for samples in later if samples)


def test_of(row):
    kind = "generation" if row["test"].startswith("tg") else f"prompt of {row['test'][2:]}"
    return f"{kind}, {row['depth']} tokens before"


def print_table(rows):
    print("| model | cache | test | without | with | ratio |\n| --- | --- | --- | --- | --- | --- |")
    for row in rows:
        print(f"| {row['model']} | {row['cache']} | {test_of(row)} | {rate(row, 'without'):.0f} | "
              f"{rate(row, 'with'):.0f} | {ratio(row):.2f}{'' if is_steady(row) else ', unsteady'} |")


def draw(rows, output):
    pyplot = import_pyplot()
    rows = [row for row in rows if is_steady(row)]
    figure, axis = pyplot.subplots(figsize=(8, 0.32 * len(rows) + 1))
    names = [f"{row['model']}, {row['cache']}: {test_of(row)}" for row in rows]
    bars = axis.barh(range(len(rows)), [ratio(row) for row in rows], color="0.75", edgecolor="black",
                     hatch=["///" if row["test"].startswith("tg") else "" for row in rows])
    for bar, row in zip(bars, rows):
        axis.text(max(bar.get_width(), 1) + 0.02, bar.get_y() + bar.get_height() / 2,
                  f"{ratio(row):.2f}  ({rate(row, 'without'):.0f} to {rate(row, 'with'):.0f})", va="center", fontsize=8)
    axis.axvline(1, color="black", linewidth=1)
    axis.set_yticks(range(len(rows)), names, fontsize=8)
    axis.invert_yaxis()
    axis.set_xlim(0, max(map(ratio, rows)) + 0.6)
    axis.set_xlabel(f"tokens a second with the layer / without ({rows[0]['with']['gpu_info']})")
    figure.tight_layout()
    write_figure(figure, output)


def main():
    options = parse_arguments()
    rows = read_rows(options.files)
    if not rows:
        sys.exit("no results")
    print_table(rows)
    if options.output:
        draw(rows, options.output)


if __name__ == "__main__":
    main()
