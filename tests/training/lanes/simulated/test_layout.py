"""Records in lanes: whatever records there are, each lane has its own, and no other's."""

from collections import namedtuple
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from heavytail.arrays import Floats, Ints
from heavytail.training.lanes.device import simulated, to_host
from heavytail.training.lanes.layout import (
    Deduplicated,
    IndexedArrays,
    SharedArray,
    compile_reader,
    in_lanes,
    lane_bytes,
    own_arrays,
    read_lane,
    reader_source,
    record_shape,
    with_arrays,
)
from support.examples import examples

DTYPES = (np.float64, np.int64, np.uint32, np.uint64, np.bool_)


class Field(NamedTuple):
    """What a field of made-up records holds."""

    kind: str  # "array", "fixed", "float", "int", "bool", or "record"
    dtype: Any = None
    shape: tuple[int, ...] = ()
    inside: tuple[Any, ...] = ()
    cls: Any = None


def class_of(fields: tuple[Field, ...]) -> type:
    names = [f"f{k}" for k in range(len(fields))]
    fixed = tuple(name for name, field in zip(names, fields, strict=True) if field.kind == "fixed")
    # Its fields are not known before.
    made_up = namedtuple("MadeUp", names)  # type: ignore[misc]  # noqa: PYI024
    return type("MadeUp", (made_up,), {"__slots__": (), "constant_fields": lambda self: fixed})


def record_fields(inside: Any) -> Any:
    return st.lists(inside, min_size=1, max_size=4).map(
        lambda fields: Field("record", inside=tuple(fields), cls=class_of(tuple(fields)))
    )


shapes = st.lists(st.integers(0, 3), min_size=1, max_size=4).map(tuple)
arrays = st.tuples(st.sampled_from(["array", "fixed"]), st.sampled_from(DTYPES), shapes).map(
    lambda said: Field(*said)
)
plain = st.sampled_from(["float", "int", "bool"]).map(Field)
kinds = record_fields(st.recursive(arrays | plain, record_fields, max_leaves=5))


def some(field: Field, rng: np.random.Generator) -> Any:
    """A value; one of few, so that records have some in common."""
    if field.kind == "record":
        return field.cls(*(some(each, rng) for each in field.inside))
    if field.shape:
        return np.random.default_rng(rng.integers(2)).integers(0, 2, field.shape).astype(field.dtype)
    number = int(rng.integers(2))
    return {"float": -float(number), "int": number, "bool": bool(number)}[field.kind]  # -0.0 is no 0.0


class Case(NamedTuple):
    kind: Field
    records: Deduplicated


@st.composite
def cases(draw: Any) -> Case:
    kind, rng = draw(kinds), np.random.default_rng(draw(st.integers(0, 999)))
    things = [some(kind, rng) for _ in range(draw(st.integers(1, 3)))]
    return Case(kind, Deduplicated(things, rng.integers(0, len(things), draw(st.integers(1, 5)))))


def bits(record: Any) -> Any:
    """All of a record: classes, types, shapes and bytes."""
    if hasattr(record, "_fields"):
        return type(record), *map(bits, record)
    array = np.asarray(record)
    return array.dtype.str, array.shape, array.tobytes()


def own(record: Any, kind: Field) -> list[Any]:
    """The arrays of a record that may be written."""
    pairs = list(zip(record, kind.inside, strict=True))
    inner = [array for value, field in pairs if field.kind == "record" for array in own(value, field)]
    return [value for value, field in pairs if field.kind == "array"] + inner


def test_it_is_the_simulator() -> None:
    assert simulated()


@given(cases())
@examples(60)
def test_each_lane_has_its_record(case: Case) -> None:
    things, which = case.records
    lanes = in_lanes(case.records)
    read = compile_reader(reader_source(lanes))
    for i, k in enumerate(which):
        assert bits(read_lane(lanes, i)) == bits(things[k])
        assert bits(read(lanes, i)) == bits(things[k])
        assert record_shape(read_lane(lanes, i)) == record_shape(things[0])


@given(cases(), st.integers(0, 4))
@examples(60)
def test_what_one_lane_writes_no_other_sees_and_it_can_be_put_back(case: Case, lane: int) -> None:
    things, which = case.records
    lanes, writer = in_lanes(case.records), lane % len(which)
    kept = {path: to_host(held).copy() for path, held in own_arrays("x", lanes)}
    mine = compile_reader(reader_source(lanes))(lanes, writer)
    for array in own(mine, case.kind):
        array[...] = 1 - array
    for i, k in enumerate(which):
        changed = any(array.size for array in own(things[0], case.kind)) and i == writer
        assert (bits(read_lane(lanes, i)) != bits(things[k])) == changed
    assert bits(read_lane(lanes, writer)) == bits(mine)
    back = with_arrays("x", lanes, kept)
    assert [bits(read_lane(back, i)) for i in range(len(which))] == [bits(things[k]) for k in which]


def known_to_all(record: Any) -> int:
    """The bytes of the whole numbers that are the same in all lanes: they are part of the kernel."""
    if isinstance(record, (SharedArray, IndexedArrays)):
        return 0
    return sum(
        np.asarray(value).nbytes if isinstance(value, int) else known_to_all(value)
        for value in record
        if _counts(value)
    )


def _counts(value: Any) -> bool:
    return isinstance(value, int) or hasattr(value, "_fields")


@given(cases())
@examples(60)
def test_the_memory_of_a_lane_is_what_it_takes(case: Case) -> None:
    lanes = in_lanes(case.records)
    held = sum(to_host(array).nbytes for _, array in own_arrays("x", lanes))
    assert held + known_to_all(lanes) * len(case.records.which) == lane_bytes(case.records.unique[0]) * len(
        case.records.which
    )


class Kept(NamedTuple):
    fixed_table: Floats
    kept: Floats
    used: Ints

    def constant_fields(self) -> tuple[str, ...]:
        return ("fixed_table",)

    def pools(self) -> tuple[str, ...]:
        return ("kept",)


def test_constant_arrays_are_stored_once() -> None:
    one, two, three = (Kept(np.full(3, x), np.zeros((2, 2)), np.zeros(1, np.int64)) for x in (1.0, 2.0, 1.0))
    alike = in_lanes(Deduplicated([one, three], np.array([0, 1, 0])))
    assert isinstance(alike.fixed_table, SharedArray)
    mixed = in_lanes(Deduplicated([one, two, three], np.array([2, 1, 0, 1])))
    assert isinstance(mixed.fixed_table, IndexedArrays)
    assert to_host(mixed.fixed_table.rows).tolist() == [[1.0] * 3, [2.0] * 3]
    assert to_host(mixed.fixed_table.which).tolist() == [0, 1, 0, 1]
    assert mixed.kept.shape == (2, 2, 4)
    assert dict(own_arrays("x", mixed)).keys() == {"x/kept", "x/used"}


def test_neighbouring_lanes_are_neighbours_in_memory() -> None:
    lanes = in_lanes(
        Deduplicated([Kept(np.ones(3), np.zeros((2, 2)), np.zeros(1, np.int64))], np.zeros(8, np.int64))
    )
    places = [compile_reader(reader_source(lanes))(lanes, i).kept.ctypes.data for i in range(8)]
    assert {after - before for before, after in pairwise(places)} == {8}


def test_a_larger_pool_needs_no_other_kernel_and_another_size_does() -> None:
    def how(room: int, table: int) -> Any:
        record = Kept(np.ones(table), np.zeros((room, 2)), np.zeros(1, np.int64))
        return reader_source(in_lanes(Deduplicated([record], np.zeros(4, np.int64))))

    assert how(2, 3) == how(4, 3)
    assert how(2, 3) != how(2, 4)
