"""Packed records: the same record seen from Python and from compiled code, and arguments that are checked."""

import copy
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pytest

from heavytail.arrays import Floats, Ints
from heavytail.kernels.compiling import entry
from heavytail.kernels.packed import FLAG, INDEX, REAL, Packed, as_index, as_real, unpack
from support.processes import send


class Inner(NamedTuple):
    weights: Floats  # [2, 3]
    scale: float


class Outer(NamedTuple):
    inner: Inner
    total: Ints  # [1]
    wide: bool


def _outer() -> Outer:
    return Outer(Inner(np.arange(6.0).reshape(2, 3), 0.5), np.zeros(1, np.int64), wide=True)


def _add(packed: Any, i: Any, x: Any, negative: bool) -> float:
    outer = unpack(packed)
    outer.total[0] += as_index(i)
    outer.inner.weights[1, 2] += -as_real(x) if negative else as_real(x)
    return float(outer.inner.weights[1, 2] * outer.inner.scale) if outer.wide else 0.0


def test_compiled_code_reads_and_writes_the_arrays_of_the_record() -> None:
    packed = Packed(_outer())
    add = packed.entry(_add, INDEX, REAL, FLAG)
    assert add(packed.address, 3, 1.5, False) == 3.25
    assert add(packed.address, np.uint8(4), np.float32(0.5), True) == 3.0
    assert packed.record.total[0] == 7
    assert packed.record.inner.weights[1, 2] == 6.0


def test_another_record_takes_its_place_at_the_same_address() -> None:
    packed = Packed(_outer())
    add, address, other = packed.entry(_add, INDEX, REAL, FLAG), packed.address, _outer()
    packed.replace(other)
    add(address, 1, 0.0, False)
    assert packed.address == address
    assert other.total[0] == 1


def test_a_record_that_could_not_be_packed_has_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled code would read what is not there."""
    packed = Packed(_outer())

    def interrupted(*given: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("heavytail.kernels.packed.entry", interrupted)
        with pytest.raises(KeyboardInterrupt):
            _ = packed.address
    assert packed.entry(_add, INDEX, REAL, FLAG)(packed.address, 3, 1.5, False) == 3.25


def test_threads_that_ask_at_once_have_one_address(monkeypatch: pytest.MonkeyPatch) -> None:
    packed, write = Packed(_outer()), entry

    def slow(*given: Any) -> Any:
        time.sleep(0.05)
        return write(*given)

    monkeypatch.setattr("heavytail.kernels.packed.entry", slow)
    with ThreadPoolExecutor(4) as pool:
        addresses = set(pool.map(lambda _: packed.address, range(4)))
    assert addresses == {packed.address}
    assert packed.entry(_add, INDEX, REAL, FLAG)(packed.address, 3, 1.5, False) == 3.25


@pytest.mark.parametrize("clone", [copy.deepcopy, send])
def test_a_copy_has_a_record_and_an_address_of_its_own(clone: Any) -> None:
    packed = Packed(_outer())
    twin = clone(packed)
    assert twin.address != packed.address
    twin.entry(_add, INDEX, REAL, FLAG)(twin.address, 1, 0.0, False)
    assert (twin.record.total[0], packed.record.total[0]) == (1, 0)


@pytest.mark.parametrize(
    ("index", "real"),
    [
        *((bad, 0.0) for bad in ("3", 1.5, None, [1], b"1")),
        *((0, bad) for bad in ("3", None, [1.0], b"1", bytearray(b"1"), 1j)),
    ],
)
def test_only_what_python_takes_as_an_index_and_as_a_real_number_is_one(index: Any, real: Any) -> None:
    packed = Packed(_outer())
    with pytest.raises(TypeError):
        packed.entry(_add, INDEX, REAL, FLAG)(packed.address, index, real, False)
    with pytest.raises(TypeError):
        _ = as_index(index), as_real(real)
    assert packed.record.total[0] == 0


@pytest.mark.parametrize(("number", "taken"), [(2**100, 2**63 - 1), (-(2**100), -(2**63))])
def test_a_whole_number_beyond_64_bits_is_the_outermost(number: int, taken: int) -> None:
    packed = Packed(_outer())
    packed.entry(_add, INDEX, REAL, FLAG)(packed.address, number, 0.0, False)
    assert packed.record.total[0] == taken == as_index(number)
