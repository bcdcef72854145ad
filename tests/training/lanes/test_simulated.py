"""Runs in lanes, under numba's simulator.

It must be switched on before numba is imported, so these tests run in processes of their own.
"""

from pathlib import Path

import pytest

from support.processes import run_tests

FILES = sorted(Path(__file__).with_name("simulated").glob("test_*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_in_the_simulator(file: Path) -> None:
    run_tests(file, NUMBA_ENABLE_CUDASIM="1")


def test_there_are_some() -> None:
    assert {"test_layout", "test_batch", "test_engine"} <= {file.stem for file in FILES}
