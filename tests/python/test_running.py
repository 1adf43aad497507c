# SPDX-License-Identifier: MIT
"""Threads, Ctrl-C, memory, and the examples in docstrings."""

import doctest
import importlib.util
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import vkflash
from arrays import tensors
from vkflash import _attention, _backward, _cache, _device, _merge, _problem, _pytorch_call


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_threads_share_a_device(rng):
    calls = [tensors(rng, rows=rows) for rows in (5, 9, 17, 33)]
    expected = [vkflash.attention(*call) for call in calls]
    wrong = []

    def work(call, right):
        for _ in range(20):
            if not np.array_equal(vkflash.attention(*call), right):
                wrong.append(right.shape)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(calls, expected)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_other_threads_run_while_the_device_works(rng):
    q, k, v = tensors(rng, batch=1, heads=4, kv_heads=4, rows=1024, keys=1024, dim=32)
    vkflash.attention(q[:, :, :1], k[:, :, :1], v[:, :, :1])
    done = threading.Event()
    worker = threading.Thread(target=lambda: (vkflash.attention(q, k, v, path="scalar"), done.set()))
    worker.start()
    ticks = 0
    while not done.is_set():
        time.sleep(0.001)
        ticks += 1
    worker.join()
    assert ticks > 10


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this system")
def test_ctrl_c_ends_a_long_call(rng, monkeypatch):
    problem_of = _problem.problem_of

    def in_many_steps(terms):
        problem = problem_of(terms)
        problem.max_step_operations = 10**7
        return problem

    monkeypatch.setattr(_problem, "problem_of", in_many_steps)
    q, k, v = tensors(rng, batch=1, heads=4, kv_heads=4, rows=4096, keys=4096, dim=32)
    device = vkflash.Device()
    assert vkflash.plan(q, k, v, path="scalar", device=device).steps > 50
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            vkflash.attention(q, k, v, path="scalar", device=device)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    few = [x[:, :, :8] for x in (q, k, v)]
    assert vkflash.attention(*few, device=device).shape == few[0].shape


def test_the_same_call_takes_no_more_memory(rng, device):
    q, k, v = tensors(rng, batch=1)
    on_device = [device.array(x) for x in (q, k, v)]

    def call(number):
        o, lse = vkflash.attention(q, k, v, causal=True, return_lse=True)
        with pytest.raises(vkflash.Error):
            vkflash.attention(q, k, v, softcap=-1)
        if number % 10 == 0:
            vkflash.attention(*on_device, causal=True, return_lse=True)
            vkflash.attention_backward(o, q, k, v, o, lse, causal=True)

    for number in range(50):
        call(number)
    bytes_in_use, resident = device.bytes_in_use, resident_bytes()
    for number in range(1000):
        call(number)
    assert device.bytes_in_use == bytes_in_use
    assert resident_bytes() - resident < 8 << 20


def test_memory_goes_back_to_the_driver():
    device = vkflash.Device()
    x = device.array(np.zeros(1 << 20, np.float32))
    assert device.bytes_in_use >= 4 << 20
    del x
    device.free_memory()
    assert device.bytes_in_use == 0


def test_large_results_leave_their_memory_to_later_ones(device):
    x = device.array(np.arange(1 << 18, dtype=np.float32))
    first, second = x.numpy(), x.numpy()
    place, part = first.ctypes.data, first[5:7].view(np.uint32)
    del first
    assert x.numpy().ctypes.data != place  # a view is left
    assert part[0] == np.float32(5).view(np.uint32)
    del part
    assert x.numpy().ctypes.data == place
    inner = second.base[8:12]  # a part of the block is no block
    del second
    assert np.array_equal(inner.view(np.float32), [2])
    del inner
    device.free_memory()
    assert np.array_equal(x.numpy(), np.arange(1 << 18))


def test_the_comparison_with_pytorch_measures_calls(rng, device):
    path = pathlib.Path(__file__).parents[2] / "bench/python/compare_with_torch.py"
    spec = importlib.util.spec_from_file_location("compare_with_torch", path)
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    q, k, v = (device.array(x) for x in tensors(rng))
    o, run = bench.prepared(device, q, k, v)
    run()
    assert np.array_equal(o.numpy(), vkflash.attention(q, k, v).numpy())


def test_a_program_ends_with_arrays_alive():
    code = "import numpy as np, vkflash; x = vkflash.default_device().array(np.zeros(4, np.float32)); print(x.shape)"
    program = os.environ.get("VKFLASH_PYTHON_COMMAND", sys.executable)
    result = subprocess.run([program, "-c", code], capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, "(4,)\n", "")


@pytest.mark.skipif(os.environ.get("VKFLASH_TEST_VALIDATION") != "1", reason="no validation layer")
def test_validation_layers_have_no_messages(rng):
    device = vkflash.Device(validation=True)
    q, k, v = tensors(rng)
    o, lse = vkflash.attention(q, k, v, return_lse=True, device=device)
    vkflash.attention_backward(o, q, k, v, o, lse, device=device)
    vkflash.merge([(o, lse), (o, lse)], device=device)
    cache = vkflash.Cache(2, 2, 16, 32, type="q8_0", page_size=8, rotary="halves", device=device)
    cache.decode(q, *(x[:, :, :9] for x in (k, v)))
    assert device.validation_messages == 0


@pytest.mark.parametrize("module", [vkflash, _attention, _backward, _cache, _device, _merge, _pytorch_call])
def test_examples_of_docstrings(module):
    result = doctest.testmod(module, extraglobs={"vkflash": vkflash, "np": np},
                             optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    assert result.failed == 0
