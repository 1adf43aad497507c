# SPDX-License-Identifier: MIT
"""What all tests share. Without a device they are skipped, unless VKFLASH_TEST_DEVICE names one that must be there."""

import os

import numpy as np
import pytest

import vkflash


def pytest_sessionstart(session):
    wanted = os.environ.get("VKFLASH_TEST_DEVICE", "")
    try:
        names = [entry["name"] for entry in vkflash.devices() if entry["usable"]]
    except vkflash.Error:  # there is no Vulkan loader
        names = []
    if wanted and not any(wanted in name for name in names):
        pytest.exit(f"the device {wanted} is missing: there are {names}", returncode=1)
    if not names:
        pytest.exit("no Vulkan device: the tests are skipped", returncode=77)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def device():
    return vkflash.default_device()
