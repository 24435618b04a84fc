"""Keeps the tests off the user's Hugging Face account and cache; the settings are read when the library is imported."""

import os
import tempfile

import pytest

_home = tempfile.TemporaryDirectory(prefix="orpipe-tests-", ignore_cleanup_errors=True)


def pytest_configure(config: pytest.Config) -> None:
    os.environ.pop("HF_TOKEN", None)
    os.environ |= {
        "HF_HOME": _home.name, "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }


def pytest_unconfigure(config: pytest.Config) -> None:
    _home.cleanup()
