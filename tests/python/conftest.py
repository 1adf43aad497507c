# SPDX-License-Identifier: MIT
"""What all tests share. Without a device they are skipped, unless VKFLASH_TEST_DEVICE names one that must be there."""

import os

import numpy as np
import pytest

import vkflash


def pytest_sessionstart(session):
    try:
        vkflash.set_default_device(vkflash.Device(os.environ.get("VKFLASH_TEST_DEVICE", "")))
    except vkflash.Error as error:
        if "VKFLASH_TEST_DEVICE" in os.environ:
            pytest.exit(str(error), returncode=1)
        pytest.exit(f"the tests are skipped: {error}", returncode=77)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def device():
    return vkflash.default_device()
