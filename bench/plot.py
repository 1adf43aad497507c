#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the results of `vkflash bench prefill` as SVG: TFLOP/s over N, a column for each head dimension, a row for
the causal mask and one for none; our paths as lines, what they were compared with as dashed lines.

    python3 bench/plot.py                          bench/results/*.json: the newest of each shape and path on the
                                                   device of the newest report
    python3 bench/plot.py a.json b.json -o a.svg --type f16 --batch many

Needs matplotlib (Debian: python3-matplotlib).
"""
import argparse
import collections
import json
import pathlib
import sys

RESULTS = pathlib.Path(__file__).parent / "results"


def arguments():
    parser = argparse.ArgumentParser(description="Draws the results of vkflash bench prefill as SVG.")
    parser.add_argument("files", nargs="*", type=pathlib.Path, help="reports (default: bench/results/*.json)")
    parser.add_argument("-o", "--output", type=pathlib.Path, default="prefill.svg", help="default: prefill.svg")
    parser.add_argument("--type", default="f16", help="f16, f32 or bf16 (default: f16)")
    parser.add_argument("--batch", choices=["many", "one"], default="many",
                        help="many: as many sequences as make the report's tokens (default); one: one sequence")
    return parser.parse_args()


def reports(files):
    """The prefill reports among the files, oldest first. A file that is named must be one."""
    found = []
    for path in files or sorted(RESULTS.glob("*.json")):
        try:
            report = json.loads(path.read_text())
        except (OSError, ValueError) as error:
            sys.exit(f"{path}: {error}")
        if isinstance(report, dict) and report.get("bench") == "prefill":
            found.append(report)
        elif files:
            sys.exit(f"{path}: is no report of vkflash bench prefill")
    if not found:
        sys.exit("there is no report of vkflash bench prefill; make one with --json")
    found.sort(key=lambda report: report["date"])
    return [report for report in found if report["device"] == found[-1]["device"]]


def lines(found, element_type, batch):
    """{(causal, D): {label: {N: TFLOP/s}}}, later reports over earlier ones."""
    panels = collections.defaultdict(lambda: collections.defaultdict(dict))
    for report in found:
        for result in report["results"]:
            rows = result["queryRows"]
            sequences = max(report["tokens"] // rows, 1) if batch == "many" else 1
            if result["type"] != element_type or result["batch"] != sequences:
                continue
            panel = panels[result["causal"], result["headDim"]]
            panel["vkflash " + result["path"]][rows] = result["teraflops"]
            for peer in result["peers"]:
                panel[peer["name"]][rows] = peer["teraflops"]
    return panels


def style(label, labels):
    """Ours solid and strong, others dashed and thin; a label has the same colour in every panel."""
    colour = f"C{labels.index(label) % 10}"
    if label.startswith("vkflash "):
        return {"color": colour, "marker": "o", "linewidth": 2}
    return {"color": colour, "marker": ".", "linewidth": 1, "linestyle": "--"}


def draw(panels, title, output):
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "vkflash"  # the same figure gives the same file
    from matplotlib import pyplot

    rows = sorted({causal for causal, _ in panels})
    columns = sorted({dim for _, dim in panels})
    labels = sorted({label for panel in panels.values() for label in panel},
                    key=lambda label: (not label.startswith("vkflash "), label))
    figure, axes = pyplot.subplots(len(rows), len(columns), squeeze=False, sharex=True,
                                   figsize=(4 * len(columns), 3.2 * len(rows) + 0.8))
    for (causal, dim), panel in panels.items():
        axis = axes[rows.index(causal)][columns.index(dim)]
        for label in labels:
            points = sorted(panel[label].items()) if label in panel else []
            axis.plot([n for n, _ in points], [value for _, value in points], label=label, **style(label, labels))
        axis.set_title(f"D = {dim}, {'causal' if causal else 'not causal'}")
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_formatter("{x:.0f}")
        axis.set_ylim(bottom=0)
        axis.set_xlabel("N, rows and keys")
        axis.set_ylabel("TFLOP/s")
        axis.grid(alpha=0.3)
    figure.suptitle(title)
    handles, names = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="lower center", ncol=min(len(names), 6))
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.savefig(output, format="svg", metadata={"Date": None})


def main():
    options = arguments()
    found = reports(options.files)
    panels = lines(found, options.type, options.batch)
    if not panels:
        sys.exit(f"no result of type {options.type} with {options.batch} sequences in these reports")
    newest = found[-1]
    sequences = "one sequence" if options.batch == "one" else f"{newest['tokens']} rows in all"
    draw(panels, f"{newest['device']}, {newest['driver']}, {options.type}, {sequences}", options.output)
    print(options.output)


if __name__ == "__main__":
    main()
