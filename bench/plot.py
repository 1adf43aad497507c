#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws reports that the benches of vkflash wrote with --json. The output's extension selects SVG or PNG.

    python3 bench/plot.py                            prefill: bench/results/*.json, the newest result of each shape and
                                                     path, on the device of the newest report
    python3 bench/plot.py backward backward.json -o backward.svg   the same of the backward pass
    python3 bench/plot.py a.json b.json -o a.svg --type f16 --batch many
    python3 bench/plot.py study study.json -o study.svg            time and memory over N; reports of `bench` work too
    python3 bench/plot.py roofline study.json -o roofline.png      TFLOP/s over operations per byte
    python3 bench/plot.py ledger study.json -o ledger.svg          predicted bytes, bytes of the plan's kernels, GB/s

Every line has its own marker and dash, and every bar has a hatch. No figure needs its colours.
Needs matplotlib (Debian: python3-matplotlib).
"""
import argparse
import collections
import json
import math
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
MARKERS = "os^DvPX*"
DASHES = ["-", "--", "-.", ":"]
HATCHES = ["", "///", "...", "xxx", "\\\\\\", "++"]
PATHS = ["standard", "key_outer", "scalar", "coopmat"] # the order of the study
# What may differ between two results of one type, path, mask, length and D. Each such difference is a line of its own.
SERIES = {"kvType": "k, v", "vType": "v", "queryHeads": "heads", "kvHeads": "KV heads", "keys": "keys",
          "valueDim": "Dv", "precision": "precision", "pageSize": "pages of", "window": "window", "softcap": "softcap",
          "alibi": "ALiBi", "maskBlock": "blocks of", "blockDensity": "open blocks"}


def parse_arguments():
    parser = argparse.ArgumentParser(description="Draws reports of vkflash bench.")
    parser.add_argument("files", nargs="*", help=f"one of {', '.join(FIGURES)} (default: prefill), then reports "
                                                 "(default: bench/results/*.json)")
    parser.add_argument("-o", "--output", type=pathlib.Path, help=".svg or .png (default: the figure's name and .svg)")
    parser.add_argument("--type", help="f16, f32 or bf16 (default: f16 for prefill, else all)")
    parser.add_argument("--dim", type=int, help="this head dimension alone")
    parser.add_argument("--batch", choices=["many", "one"], default="many",
                        help="prefill: as many sequences as make the report's tokens (default), or one sequence")
    parser.add_argument("--names", default="", help="prefill: names of other implementations in the legend, as a list "
                                                    "of NAME=SHOWN, for example ggml=ggml-vulkan")
    parser.add_argument("--peak", type=float, help="roofline: the device's TFLOP/s (default: of bench/devices.json)")
    parser.add_argument("--bandwidth", type=float, help="roofline: its GB/s (default: of bench/devices.json)")
    options = parser.parse_args()
    options.figure = options.files.pop(0) if options.files and options.files[0] in FIGURES else "prefill"
    options.output = options.output or pathlib.Path(options.figure + ".svg")
    if options.output.suffix not in (".svg", ".png"):
        sys.exit(f"-o {options.output}: must end in .svg or .png")
    pairs = [entry.split("=", 1) for entry in options.names.split(",") if entry]
    if not all(len(pair) == 2 and all(pair) for pair in pairs):
        sys.exit(f"--names {options.names}: takes a list of NAME=SHOWN")
    options.names = dict(pairs)
    for name in ("peak", "bandwidth"):
        value = getattr(options, name)
        if value is not None and not (math.isfinite(value) and value > 0):
            sys.exit(f"--{name} {value}: must be above 0")
    return options


def load_reports(files, benches):
    """Reports of these benches among the files, oldest first. Exits if a named file is no such report."""
    found = []
    for path in [pathlib.Path(file) for file in files] or sorted((HERE / "results").glob("*.json")):
        try:
            report = json.loads(path.read_text())
        except (OSError, ValueError) as error:
            sys.exit(f"{path}: {error}")
        if isinstance(report, dict) and report.get("bench") in benches:
            found.append(report)
        elif files:
            sys.exit(f"{path}: is no report of vkflash bench {' or '.join(benches)}")
    if not found:
        sys.exit(f"there is no report of vkflash bench {' or '.join(benches)}; make one with --json")
    found.sort(key=lambda report: report["date"])
    for report in found:
        name_series(report)
    return [report for report in found if report["device"] == found[-1]["device"]]


def name_series(report):
    """Gives each result of a report its "series": the path, and the fields in which results of one point differ."""
    first, differing = {}, set()
    for result in report["results"]:
        point = tuple(result.get(field) for field in ("type", "path", "causal", "batch", "headDim", "queryRows"))
        other = first.setdefault(point, result)
        differing |= {field for field in SERIES if result.get(field) != other.get(field)}
    for result in report["results"]:
        extras = [f", {SERIES[field]} {result[field]}" for field in SERIES if field in differing and field in result]
        result["series"] = result["path"] + "".join(extras)


def import_pyplot():
    try:
        import matplotlib
    except ImportError:
        sys.exit("matplotlib is needed (Debian: python3-matplotlib)")
    matplotlib.use("agg")
    matplotlib.rcParams["svg.hashsalt"] = "vkflash"  # the same figure gives the same file
    from matplotlib import pyplot
    return pyplot


def write_figure(figure, output):
    """Writes SVG or PNG. In the SVG each path is one line, so that a changed point changes one line."""
    svg = output.suffix == ".svg"
    figure.savefig(output, dpi=160, metadata={"Date": None} if svg else {"Software": None})
    if svg:
        output.write_text(re.sub(r' *\n(?=[A-Za-z] |z|")', " ", output.read_text()))


def line_style(label, labels):
    """Style of a line, equal in every panel. Lines of other implementations are thin."""
    index = labels.index(label)
    ours = label.startswith("vkflash ") or path_of(label) in PATHS
    return {"color": f"C{index % 10}", "marker": MARKERS[index % len(MARKERS)],
            "linestyle": DASHES[index % len(DASHES)], "linewidth": 2 if ours else 1, "markersize": 6 if ours else 4}


def path_of(series):
    return series.split(",")[0]


def sort_paths(labels):
    places = {path: place for place, path in enumerate(PATHS)}
    return sorted(labels, key=lambda label: (places.get(path_of(label), len(PATHS)), label))


def count_axis(axis, rows):
    axis.set_xscale("log", base=2)
    axis.set_xticks(sorted(rows))
    axis.set_xticks([], minor=True)
    axis.set_xticklabels([f"{n // 1024}K" if n % 1024 == 0 else str(n) for n in sorted(rows)])
    axis.set_xlabel("N, rows and keys")


def save(figure, handles, title, output):
    """Saves the figure with a legend below it. The legend has each name once."""
    figure.suptitle(title, fontsize="medium")
    names = {}
    for name, handle in handles:
        names.setdefault(name, handle)
    figure.legend(list(names.values()), list(names), loc="lower center", ncol=min(len(names), 6))
    figure.tight_layout(rect=(0, 0.35 / figure.get_figheight(), 1, 1))
    write_figure(figure, output)


def legend_entries(axes):
    for axis in axes.flat:
        handles, names = axis.get_legend_handles_labels()
        yield from zip(names, handles)


def device_title(report, rest):
    return f"{report['device']}, {report['driver']}, {rest}"


# ---- prefill ---------------------------------------------------------------------------------------


# A result whose clock was below this share of the highest one is about the clock, not about the kernel.
LEAST_CLOCK = 0.9


def prefill_panels(found, element_type, options):
    """{(causal, D): {label: {N: TFLOP/s}}}, without results at a low clock. Later reports replace earlier ones."""
    panels = collections.defaultdict(lambda: collections.defaultdict(dict))
    for report in found:
        least_clock = LEAST_CLOCK * max((result.get("clock_mhz") or 0 for result in report["results"]), default=0)
        for result in report["results"]:
            rows = result["queryRows"]
            sequences = max(report["tokens"] // rows, 1) if options.batch == "many" else 1
            if result["type"] != element_type or result["batch"] != sequences:
                continue
            if options.dim not in (None, result["headDim"]):
                continue
            panel = panels[result["causal"], result["headDim"]]
            if (result.get("clock_mhz") or least_clock) >= least_clock:
                panel["vkflash " + result["series"]][rows] = result["teraflops"]
            for peer in result["peers"]:
                panel[options.names.get(peer["name"], peer["name"])][rows] = peer["teraflops"]
    return panels


def draw_prefill(found, options):
    element_type = options.type or "f16"
    panels = prefill_panels(found, element_type, options)
    if not panels:
        sys.exit(f"no result of type {element_type} with {options.batch} sequences in these reports")
    pyplot = import_pyplot()
    rows = sorted({causal for causal, _ in panels})
    columns = sorted({dim for _, dim in panels})
    labels = sorted({label for panel in panels.values() for label in panel},
                    key=lambda label: (not label.startswith("vkflash "), label))
    figure, axes = pyplot.subplots(len(rows), len(columns), squeeze=False,
                                   figsize=(4 * len(columns), 3.2 * len(rows) + 0.8))
    for (causal, dim), panel in panels.items():
        axis = axes[rows.index(causal)][columns.index(dim)]
        for label in [label for label in labels if label in panel]:
            points = sorted(panel[label].items())
            axis.plot([n for n, _ in points], [value for _, value in points], label=label, **line_style(label, labels))
        axis.set_title(f"D = {dim}, {'causal' if causal else 'not causal'}")
        count_axis(axis, {n for line in panel.values() for n in line})
        axis.set_ylim(bottom=0)
        axis.set_ylabel("TFLOP/s")
        axis.grid(alpha=0.3)
    newest = found[-1]
    sequences = "one sequence" if options.batch == "one" else f"{newest['tokens']} rows in all"
    save(figure, legend_entries(axes), device_title(newest, f"{element_type}, {sequences}"), options.output)


# ---- study -----------------------------------------------------------------------------------------


def study_panels(found, options, needed):
    """{(type, D): {path: {N: result}}}, only results that are not causal and have the fields. Later reports replace
    earlier ones."""
    panels = collections.defaultdict(lambda: collections.defaultdict(dict))
    for report in found:
        for result in report["results"]:
            if options.type not in (None, result["type"]) or options.dim not in (None, result["headDim"]):
                continue
            if not result["causal"] and all(field in result for field in needed):
                panels[result["type"], result["headDim"]][result["series"]][result["queryRows"]] = result
    if not panels:
        sys.exit(f"no result with {', '.join(needed)} of this type and head dimension in these reports")
    return dict(sorted(panels.items()))


def shape_of(panels):
    result = next(iter(next(iter(next(iter(panels.values())).values())).values()))
    return f"B = {result['batch']}, {result['queryHeads']} head{'s' if result['queryHeads'] != 1 else ''}"


def memory_of(result):
    return result.get("peakBytes", result["tensorBytes"] + result["scratchBytes"])


def draw_study(found, options):
    panels = study_panels(found, options, ["medianSeconds", "tensorBytes", "scratchBytes"])
    pyplot = import_pyplot()
    labels = sort_paths({path for panel in panels.values() for path in panel})
    figure, axes = pyplot.subplots(2, len(panels), squeeze=False, figsize=(3.8 * max(len(panels), 2), 7))
    for column, ((element_type, dim), panel) in enumerate(panels.items()):
        lengths = {n for line in panel.values() for n in line}
        for axis, value, name in [(axes[0][column], lambda r: r["medianSeconds"] * 1e3, "time, ms"),
                                  (axes[1][column], lambda r: memory_of(r) / 2**20, "tensors and scratch, MiB")]:
            for path in [path for path in labels if path in panel]:
                points = sorted(panel[path].items())
                axis.plot([n for n, _ in points], [value(result) for _, result in points], label=path,
                          **line_style(path, labels))
            axis.set_yscale("log")
            axis.set_title(f"{element_type}, D = {dim}")
            axis.set_ylabel(name)
            axis.grid(alpha=0.3)
            count_axis(axis, lengths)
    save(figure, legend_entries(axes), device_title(found[-1], shape_of(panels)), options.output)


def limits_of(device, element_type, options):
    """Operations and bytes a second of the device."""
    known = json.loads((HERE / "devices.json").read_text()).get(device, {})
    operations = options.peak * 1e12 if options.peak else known.get("operationsPerSecond", {}).get(element_type)
    bandwidth = options.bandwidth * 1e9 if options.bandwidth else known.get("bytesPerSecond")
    if not operations or not bandwidth:
        sys.exit(f"the limits of {device} for {element_type} are not in bench/devices.json: give --peak and --bandwidth")
    return operations, bandwidth


def draw_roofline(found, options):
    panels = study_panels(found, options, ["predictedBytes", "operations", "teraflops"])
    limits = {key: limits_of(found[-1]["device"], key[0], options) for key in panels}
    pyplot = import_pyplot()
    labels = sort_paths({path for panel in panels.values() for path in panel})
    figure, axes = pyplot.subplots(1, len(panels), squeeze=False, figsize=(4.2 * max(len(panels), 2), 4.4))
    for axis, ((element_type, dim), panel) in zip(axes[0], panels.items()):
        operations, bandwidth = limits[element_type, dim]
        lines = {path: sorted((r["operations"] / r["predictedBytes"], r["teraflops"], n) for n, r in line.items())
                 for path, line in panel.items()}
        intensities = [point[0] for line in lines.values() for point in line] + [operations / bandwidth]
        roof = [min(intensities) / 2, operations / bandwidth, max(intensities) * 2]
        axis.plot(roof, [min(operations, bandwidth * x) * 1e-12 for x in roof], color="black", linewidth=1.5,
                  label="limit of the device")
        for path in [path for path in labels if path in lines]:
            points = sorted(lines[path], key=lambda point: point[2])
            style = line_style(path, labels)
            axis.plot([point[0] for point in points], [point[1] for point in points], label=path, **style)
            for point in {points[0], points[-1]}:
                axis.annotate(f"N = {point[2]}", point[:2], textcoords="offset points", xytext=(6, -4), fontsize=7)
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_title(f"{element_type}, D = {dim}")
        axis.set_xlabel("operations per predicted byte")
        axis.set_ylabel("TFLOP/s")
        axis.grid(alpha=0.3)
    save(figure, legend_entries(axes), device_title(found[-1], shape_of(panels)), options.output)


def draw_ledger(found, options):
    panels = study_panels(found, options, ["predictedBytes", "medianSeconds"])
    pyplot = import_pyplot()
    labels = sort_paths({path for panel in panels.values() for path in panel})
    figure, axes = pyplot.subplots(len(panels), 1, squeeze=False, figsize=(9, 2.9 * len(panels) + 0.8))
    width = 0.8 / len(labels)
    for axis, ((element_type, dim), panel) in zip(axes[:, 0], panels.items()):
        lengths = sorted({n for line in panel.values() for n in line})
        for number, path in enumerate(labels):
            if path not in panel:
                continue
            line = panel[path]
            places = [lengths.index(n) + (number - (len(labels) - 1) / 2) * width for n in line]
            bars = axis.bar(places, [result["predictedBytes"] / 2**20 for result in line.values()], width * 0.94,
                            label=path, color=f"C{number}", hatch=HATCHES[number % len(HATCHES)], edgecolor="white")
            planned = [result.get("planBytes", math.nan) / 2**20 for result in line.values()]
            axis.plot(places, planned, color="black", linestyle="", marker="_", markersize=9, markeredgewidth=2,
                      label="asked for by the kernels")
            axis.bar_label(bars, [f"{r['predictedBytes'] / r['medianSeconds'] * 1e-9:.3g}" for r in line.values()],
                           rotation=90, padding=3, fontsize=7)
        axis.set_yscale("log")
        axis.margins(y=0.3)
        axis.set_xticks(range(len(lengths)))
        axis.set_xticklabels([str(n) for n in lengths])
        axis.set_xlabel("N, rows and keys")
        axis.set_ylabel("predicted MiB")
        axis.set_title(f"{element_type}, D = {dim}; on the bars: GB/s that the measured time implies", fontsize="medium")
    save(figure, legend_entries(axes), device_title(found[-1], shape_of(panels)), options.output)


FIGURES = {"prefill": (draw_prefill, ["prefill"]), "backward": (draw_prefill, ["backward"]),
           "study": (draw_study, ["study", "grid"]), "roofline": (draw_roofline, ["study"]),
           "ledger": (draw_ledger, ["study"])}


def main():
    options = parse_arguments()
    draw, benches = FIGURES[options.figure]
    found = load_reports(options.files, benches)
    try:
        draw(found, options)
    except (KeyError, TypeError, AttributeError) as error:
        sys.exit(f"a report is not what vkflash writes: {error!r}")
    except OSError as error:
        sys.exit(f"-o {options.output}: {error.strerror}")
    print(options.output)


if __name__ == "__main__":
    main()
