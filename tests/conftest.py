"""What all tests share: the same examples in every run, kept programs and bytecode, long tests first."""

import os
import secrets
import sys
from pathlib import Path

import pytest
from hypothesis import settings

import support.examples  # noqa: F401 - it registers the profiles

settings.load_profile("same")  # the default would be another one where CI is set

LONG = ("test_hostile_files", "test_packaging", "test_simulated", "test_faults", "test_paper")

# A program of JAX takes seconds to compile and milliseconds to load. They are kept between runs, beside
# heavytail's own machine code, and all processes of a run share them.
KEPT = os.environ.get("HEAVYTAIL_CACHE_DIR") or Path.home() / ".cache" / "heavytail"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(KEPT) / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

# Ray would keep a secret in the home folder, which a test must not write, and perhaps cannot.
os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))

# So is bytecode, whatever the environment says: without it pytest rewrites every test file in every process,
# and each process that a test starts compiles heavytail's source.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def pytest_xdist_auto_num_workers() -> int:
    """Count one more than there are cores, since many a test waits for a process or for code to compile."""
    return len(os.sched_getaffinity(0)) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: LONG.index(item.path.stem) if item.path.stem in LONG else len(LONG))
