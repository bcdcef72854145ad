"""Kernels as plain Python beside compiled code."""

import threading
import warnings

import numpy as np
import pytest

from heavytail.arrays import Floats
from heavytail.kernels.compiling import entry, kernel
from heavytail.kernels.interpreting import CALLS_BETWEEN_LOOKS, OvertakenError, interpret

seen: list[type] = []  # compiled code cannot append to it


@kernel
def _halved(x: float) -> float:
    return 0.5 * x


def _noting(x: float) -> float:
    seen.append(type(x))
    return _halved(x)


def _count(values: Floats) -> None:
    for _ in range(10 * CALLS_BETWEEN_LOOKS):
        values[0] = values[0] + _halved(2.0)


def test_kernels_of_what_is_interpreted_are_plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object) -> None:
        raise AssertionError("compiled")

    monkeypatch.setattr(_halved, "_compile_alone", refuse)
    assert interpret(_noting, 3.0) == 1.5
    assert seen == [float]
    with pytest.raises(AssertionError, match="compiled"):
        _halved(3.0)


def test_it_is_quiet_about_overflow() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert interpret(lambda: np.uint64(2**63) * np.uint64(2)) == 0


def test_it_ends_where_it_is_overtaken_and_is_compiled_again_afterwards() -> None:
    values, looks = np.zeros(1), iter([False, True])
    with pytest.raises(OvertakenError):
        interpret(_count, values, is_overtaken=lambda: next(looks))
    assert 0.0 < values[0] < 10 * CALLS_BETWEEN_LOOKS
    entry(_count)(values)
    assert values[0] > 10 * CALLS_BETWEEN_LOOKS


def test_other_threads_are_not_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    results: list[object] = []
    monkeypatch.setattr(_halved, "_compile_alone", lambda *given: lambda x: "compiled")

    def elsewhere() -> float:
        thread = threading.Thread(target=lambda: results.append(_halved(1.0)))
        thread.start()
        thread.join()
        return _halved(1.0)

    assert interpret(elsewhere) == 0.5
    assert results == ["compiled"]
