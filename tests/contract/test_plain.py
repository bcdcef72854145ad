"""Contracts tested as plain Python, in a process of their own: numba reads the switch when imported."""

from pathlib import Path

import pytest

from support.processes import run_tests

FILES = sorted(Path(__file__).with_name("plain").glob("test_*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_as_plain_python(file: Path) -> None:
    run_tests(file, NUMBA_DISABLE_JIT="1")


def test_there_are_some() -> None:
    assert {"test_lanes"} <= {file.stem for file in FILES}
