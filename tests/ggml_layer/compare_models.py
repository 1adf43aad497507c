#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An unmodified llama.cpp answers the same prompts with and without the layer, on a model with random weights.

compare_models.py RUN LAYER_FOLDER RANDOM_MODEL GGML_ROOT VULKAN_ROOT LINKS

The log probabilities of all tokens must agree at each step: a random model can say the same token again and again,
whatever attention computes. They come from a server, because llama.cpp's other programs may lose the end of what they
print. Where the two most probable tokens are nearly equal, both texts may go on differently; the rest is not compared.
"""
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time

VOCABULARY = 259
CONTEXT = 512
PREDICTED = 16
PROMPT_BYTES = (1, 37, 256, 443)
START_SECONDS = 120
# By type of cache. Seen are 0.008, 0.009 and 0.03. The log probabilities of a step have a deviation of 2.
TOLERANCES = {"f16": 0.02, "q8_0": 0.02, "q4_0": 0.06}


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def ask(path, method, address, body=None):
    connection = Connection(path)
    connection.request(method, address, body and json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, json.loads(content)


def wait_until_ready(server, path):
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and server.poll() is None:
        try:
            if ask(path, "GET", "/health")[0] == http.client.OK:
                return
        except OSError:
            pass
        time.sleep(0.05)
    raise RuntimeError("the server did not start")


def steps_of(path, prompt):
    """The token that was chosen, and the log probabilities of all tokens, at each step."""
    status, answer = ask(path, "POST", "/completion", {
        "prompt": prompt, "n_predict": PREDICTED, "temperature": 0, "n_probs": VOCABULARY, "cache_prompt": False})
    if status != http.client.OK:
        raise RuntimeError(f"the server answers {answer}")
    return [(step["id"], {other["id"]: other["logprob"] for other in step["top_logprobs"]})
            for step in answer["completion_probabilities"]]


def answers(start, model, cache, prompts):
    """Starts a server, asks it each prompt, ends it. Returns the steps for each prompt, and the server's log."""
    # The path of a socket has at most 107 bytes, so the folder is not that of TMPDIR.
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, tempfile.TemporaryFile("w+", errors="replace") as log:
        path = os.path.join(folder, "llama.sock")
        server = subprocess.Popen(
            start + ["llama-server", "-m", model, "--host", path, "--ctx-size", str(CONTEXT), "--parallel", "1",
                     "--flash-attn", "on", "--n-gpu-layers", "99", "--no-warmup", "--cache-type-k", cache,
                     "--cache-type-v", cache],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        steps, error = [], None
        try:
            wait_until_ready(server, path)
            steps = [steps_of(path, prompt) for prompt in prompts]
        except (RuntimeError, OSError, http.client.HTTPException) as exception:
            error = exception
        server.send_signal(signal.SIGTERM)
        server.wait()
        log.seek(0)
        text = log.read()
    if error or server.returncode != 0:
        sys.exit(f"{text}\ncache {cache}: {error or f'the server ended with {server.returncode}'}")
    return steps, text


def difference(ours, theirs):
    """The largest difference of two log probabilities. Ends where the texts go on differently."""
    largest = 0
    for (our_token, our_step), (their_token, their_step) in zip(ours, theirs):
        if len(our_step) != VOCABULARY or our_step.keys() != their_step.keys():
            sys.exit(f"the server names {len(our_step)} and {len(their_step)} of {VOCABULARY} tokens")
        largest = max(largest, max(abs(our_step[token] - their_step[token]) for token in our_step))
        if our_token != their_token:
            break
    return largest


def main():
    run, layer, random_model, ggml_root, vulkan_root, links = sys.argv[1:]
    model = os.path.join(links, "model.gguf")
    subprocess.run([sys.executable, random_model, model], check=True)
    rng = random.Random(1)
    prompts = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz ,.", k=length)) for length in PROMPT_BYTES]
    roots = [ggml_root, vulkan_root, links]
    for cache, tolerance in TOLERANCES.items():
        theirs, _ = answers([run, "--vulkan", *roots], model, cache, prompts)
        ours, log = answers([run, "--vulkan", "--layer", layer, *roots], model, cache, prompts)
        if "attention calls replaced, 0 passed through" not in log:
            sys.exit(f"{log}\ncache {cache}: the layer did not replace all calls")
        worst = max(difference(*pair) for pair in zip(ours, theirs))
        print(f"cache {cache}: log probabilities differ by {worst:.4f} at most, {tolerance} is allowed", flush=True)
        if worst > tolerance:
            sys.exit(1)


if __name__ == "__main__":
    main()
