from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from annotated_types import Gt, Le
from hypothesis import given
from hypothesis import strategies as st

from heavytail import checks
from heavytail.checks import (
    as_bools,
    as_count,
    as_floats,
    as_ints,
    cast_value,
    max_memory,
    require_memory,
)
from heavytail.errors import InputError, short_repr


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53))
def test_any_finite_number_becomes_the_same_float(value: float) -> None:
    for form in (value, np.float64(value)):
        cast = cast_value(form, float, "x")
        assert type(cast) is float
        assert cast == value


@given(st.integers(-(2**53), 2**53))
def test_whole_numbers_stay_whole_also_as_floats(value: int) -> None:
    for form in (value, float(value), np.int64(value)):
        cast = cast_value(form, int, "x")
        assert type(cast) is int
        assert cast == value


@given(
    st.none()
    | st.booleans()
    | st.text()
    | st.floats()
    | st.integers()
    | st.lists(st.integers())
    | st.binary()
)
def test_anything_else_is_an_input_error_or_fits(value: Any) -> None:
    """Whatever is given: a value of the right type, or one line."""
    for hint, kind in (
        (Annotated[float, Gt(0), Le(1)], float),
        (int, int),
        (bool, bool),
        (Literal["a", "b"], str),
        (float | None, (float, type(None))),
    ):
        try:
            assert isinstance(cast_value(value, hint, "x"), kind)
        except InputError as error:
            assert "\n" not in str(error)  # noqa: PT017 - either outcome is right


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: as_floats("x", [[1], [2, 3]]), "x must be a regular array of numbers, got [[1], [2, 3]]"),
        (lambda: as_ints("x", [0.5]), "x must be whole numbers, got [0.5]"),
        (lambda: as_count("x", 0), "x must be a whole number, at least 1, got 0"),
        (lambda: as_bools("x", [2], 1), "x must be 1 booleans, got [2]"),
        (lambda: as_bools("x", np.zeros(30), 1), "x must be 1 booleans, got array([0., 0., "),
    ],
)
def test_arrays_that_do_not_fit_are_refused_in_one_line(call: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_value_in_a_message_is_short_and_on_one_line() -> None:
    assert short_repr(np.eye(2)) == "array([[1., 0.], [0., 1.]])"
    assert len(short_repr("x" * 1000)) == 60
    assert short_repr(10**10_000) == "a int too large to show"


# Memory


def test_what_does_not_fit_is_one_line_with_the_numbers() -> None:
    require_memory("a small table", 1000)
    with pytest.raises(InputError) as caught:
        require_memory("a large table", 10**400)
    assert str(caught.value).startswith("a large table would take 1e+282 EB of memory; there is ")


def test_a_limit_of_the_process_or_of_its_container_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    machine = max_memory()
    monkeypatch.setattr(checks, "CGROUP_LIMIT", tmp_path / "memory.max")
    (tmp_path / "memory.max").write_text("1000000\n")
    assert max_memory() == 1_000_000
    (tmp_path / "memory.max").write_text("max\n")
    assert max_memory() >= machine
    monkeypatch.setattr("resource.getrlimit", lambda which: (5000, 5000))
    assert max_memory() == 5000


def test_memory_that_runs_out_in_a_builder_is_one_line() -> None:
    def build(size: int) -> object:
        return np.zeros(size)

    with pytest.raises(InputError, match=r"^big does not fit in memory: Unable to allocate 7\.11 PiB"):
        checks.checked_builder("big", build)(10**15)
