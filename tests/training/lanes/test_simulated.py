"""Runs in lanes, under numba's simulator.

It must be switched on before numba is imported, so these tests run in processes of their own.
"""

import os
import re
from pathlib import Path

import pytest

from support.processes import run

FILES = sorted(Path(__file__).with_name("simulated").glob("test_*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_in_the_simulator(file: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    options = ["-q", "-n", "0", "--color", "no", "-p", "no:cacheprovider"]
    done = run("-m", "pytest", *options, str(file), env={**environment, "NUMBA_ENABLE_CUDASIM": "1"})
    last = (done.stdout.strip().splitlines() or [""])[-1]
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.fullmatch(r"\d+ passed in .*", last), done.stdout + done.stderr  # none was skipped


def test_there_are_some() -> None:
    assert {"test_layout", "test_batch", "test_engine"} <= {file.stem for file in FILES}
