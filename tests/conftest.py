"""Options of the test run that shorten it: what is compiled is kept, and long tests start first."""

import os
from pathlib import Path

import pytest

LONG = ("test_packaging", "test_simulated", "test_faults", "test_audited", "test_dqn", "test_deep_backend")

# Programs of JAX are kept between runs and shared by processes, as heavytail's own kernels are.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path.home() / ".cache" / "heavytail-tests" / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than there are cores: some tests wait more than they compute."""
    return len(os.sched_getaffinity(0)) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let no worker wait for a long test at the end."""
    items.sort(key=lambda item: LONG.index(item.path.stem) if item.path.stem in LONG else len(LONG))
