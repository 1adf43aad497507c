#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times llama.cpp without and with the layer, and prints tokens a second and their ratio.

    bench_llama.py --run "words that start a program of llama.cpp" --layer FOLDER [-o results.json]

Both sides run in turn, in the same minutes on the same device. A number is the median of the repetitions. The first one
may wait for the driver, which compiles kernels for a new shape.
The models have random weights: one of the shape of an 8B Llama, and one with heads of 256 columns.
"""
import argparse
import datetime
import itertools
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LAYER = "VK_LAYER_VKFLASH_ggml"
# Options of random_model.py.
MODELS = {
    "8B": "--embedding 4096 --feed-forward 14336 --heads 32 --kv-heads 8 --head-dim 128 --vocabulary 32000",
    "D=256": "--embedding 4096 --feed-forward 14336 --heads 16 --kv-heads 8 --head-dim 256 --vocabulary 32000",
}
REPETITIONS = 5
# What a row keeps of llama-bench's results: no paths of the machine.
KEPT = ("samples_ts", "n_prompt", "n_gen", "n_depth", "n_batch", "n_ubatch", "type_k", "type_v", "gpu_info",
        "build_number", "test_time")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", default="", help="words before the name of the program; default: none")
    parser.add_argument("--layer", required=True, help="folder with the layer's manifest")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--layers", type=int, default=16, help="layers of the models")
    parser.add_argument("--caches", default="f16,q8_0,q4_0")
    parser.add_argument("--tests", default=",".join(f"{depth}:pp512+pp4096+tg64" for depth in (0, 16384, 65536)),
                        help="DEPTH:TEST+TEST,...: tokens that the cache holds before, and the tests: pp and the number "
                        "of tokens of a prompt, tg and the number of tokens that are generated; default: %(default)s")
    parser.add_argument("--commit", help="commit hash to record with the results; default: of the current tree")
    parser.add_argument("-o", "--output", help="file for the results, as JSON")
    options = parser.parse_args()
    if not re.fullmatch(r"\d+:(pp|tg)\d+(\+(pp|tg)\d+)*(,\d+:(pp|tg)\d+(\+(pp|tg)\d+)*)*", options.tests):
        parser.error(f"--tests {options.tests}: looks like 0:pp512+tg64,16384:tg64")
    return options


def environment(options, with_layer):
    """For the program. The words of --run may set the same variables for themselves."""
    changed = dict(os.environ)
    if with_layer:
        changed["VK_LAYER_PATH"] = ":".join(filter(None, [options.layer, changed.get("VK_LAYER_PATH")]))
        changed["VK_INSTANCE_LAYERS"] = LAYER
        changed["VKFLASH_GGML_LAYER"] = "log"
    return changed


def run_bench(options, model, cache, tests, with_layer):
    """Returns llama-bench's results for the tests at one depth, and what the layer said."""
    depth, _, names = tests.partition(":")
    tokens = {kind: [name[2:] for name in names.split("+") if name.startswith(kind)] for kind in ("pp", "tg")}
    command = shlex.split(options.run) + [
        "llama-bench", "-m", model, "-p", ",".join(tokens["pp"]) or "0", "-n", ",".join(tokens["tg"]) or "0", "-d",
        depth, "-ctk", cache, "-ctv", cache, "-fa", "1", "-ngl", "99", "-r", str(REPETITIONS), "-o", "jsonl"]
    done = subprocess.run(command, env=environment(options, with_layer), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)} failed:\n{done.stderr[-2000:]}")
    said = [line for line in done.stderr.splitlines() if line.startswith("vkflash ggml layer")]
    if with_layer and not any(re.search(r"\b[1-9]\d* attention calls replaced, 0 passed", line) for line in said):
        sys.exit("the layer was not loaded, or did not replace all calls:\n" + "\n".join(said))
    results = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return [{key: result[key] for key in KEPT} for result in results], said


def test_name(result):
    return f"pp{result['n_prompt']}" if result["n_prompt"] else f"tg{result['n_gen']}"


def tokens_a_second(result):
    return statistics.median(result["samples_ts"])


def commit():
    done = subprocess.run(["git", "-C", HERE, "rev-parse", "--short", "HEAD"], capture_output=True, text=True,
                          check=False)
    return done.stdout.strip() or "unknown"


def write(options, rows):
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            json.dump({"date": datetime.date.today().isoformat(), "commit": options.commit or commit(),
                       "command": f"bench_llama.py --models {options.models} --layers {options.layers} "
                       f"--caches {options.caches} --tests {options.tests}", "rows": rows}, file, indent=1)


def main():
    options = parse_arguments()
    rows = []
    print("| model | cache | depth | test | without | with | ratio |\n| --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models.split(","):
            model = os.path.join(folder, "model.gguf")
            subprocess.run([sys.executable, os.path.join(HERE, "random_model.py"), model, "--layers",
                            str(options.layers)] + MODELS[name].split(), check=True)
            for cache, tests in itertools.product(options.caches.split(","), options.tests.split(",")):
                without, _ = run_bench(options, model, cache, tests, False)
                with_layer, said = run_bench(options, model, cache, tests, True)
                for before, after in zip(without, with_layer):
                    ratio = tokens_a_second(after) / tokens_a_second(before)
                    rows.append({"model": name, "layers": options.layers, "cache": cache, "depth": before["n_depth"],
                                 "test": test_name(before), "without": before, "with": after, "ratio": ratio,
                                 "layer": said})
                    print(f"| {name} | {cache} | {before['n_depth']} | {test_name(before)} | "
                          f"{tokens_a_second(before):.1f} | {tokens_a_second(after):.1f} | {ratio:.2f} |", flush=True)
                write(options, rows) # what is measured stays


if __name__ == "__main__":
    main()
