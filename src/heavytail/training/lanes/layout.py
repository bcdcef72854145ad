"""Records in lanes.

How tens of thousands of records of one kind lie in the memory of a GPU, and how a thread finds its own.

Neighbouring threads should read neighbouring words. So what were L numbers is an array [L], and what were L
arrays [H, S, A] is one array [H, S, A, L]. (To keep the rows of each lane together halves the traffic while
lanes are in different states, but asks the first cache for 32 lines at each read instead of a few: slower,
measured.) Arrays that never change (`heavytail.kernels.pools.constant_fields`) are mostly the same in many
lanes: each of them is there once, and a lane knows which is its own.

Lanes begin as copies of a few records: many differ in their seed alone. So a record in lanes is made of the
few different ones and, lane by lane, which.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from heavytail.arrays import Ints, Record
from heavytail.files import Arrays
from heavytail.kernels.compiling import kernel
from heavytail.kernels.pools import constant_fields, pool_fields
from heavytail.training.lanes.array_views import View, view_intrinsic
from heavytail.training.lanes.device import DeviceArray, broadcast, simulated, to_device, to_host


class SharedArray(NamedTuple):
    """An array that nobody writes, the same for all lanes."""

    array: DeviceArray


class IndexedArrays(NamedTuple):
    """Arrays that nobody writes, each of them once."""

    rows: DeviceArray  # [K, ...]
    which: DeviceArray  # [L]


class Deduplicated(NamedTuple):
    """Things, each of them once, and which of them each lane has."""

    things: Sequence[Any]
    which: Ints  # [L]


def in_lanes(records: Deduplicated) -> Record:
    """A record of all lanes. All must be of one kind and shape (`shape_of`)."""
    first, which = records.things[0], records.which
    fields = []
    for k, name in enumerate(first._fields):
        values = [record[k] for record in records.things]
        if hasattr(values[0], "_fields"):
            fields.append(in_lanes(Deduplicated(values, which)))
        elif name in constant_fields(first) and np.ndim(values[0]):
            fields.append(_shared(values, which))
        else:
            fields.append(_own(values, which))
    return type(first)(*fields)


def _own(values: Sequence[Any], which: Ints) -> DeviceArray:
    few, index = _by_content(values)
    if len(few) == 1 and isinstance(few[0], int):
        return few[0]  # a size or a choice: kernels know it
    return broadcast(np.stack([np.asarray(value) for value in few]), index[which])


def _shared(values: Sequence[Any], which: Ints) -> SharedArray | IndexedArrays:
    few, index = _by_content(values)
    return (
        SharedArray(to_device(few[0]))
        if len(few) == 1
        else IndexedArrays(to_device(np.stack(few)), to_device(index[which].astype(np.int32)))
    )


def _by_content(values: Sequence[Any]) -> Deduplicated:
    return deduplicate(values, [np.asarray(value).tobytes() for value in values])


def deduplicate(things: Sequence[Any], keys: Sequence[Hashable]) -> Deduplicated:
    """Each thing once, by its key.

    >>> deduplicate(["a", "A", "b"], [1, 1, 2])
    Different(things=['a', 'b'], which=array([0, 0, 1]))
    """
    places: dict[Hashable, int] = {}
    which = np.array([places.setdefault(key, len(places)) for key in keys])
    return Deduplicated([things[i] for i in np.unique(which, return_index=True)[1]], which)


def shape_of(record: Record) -> tuple[Any, ...]:
    """The class of a record and the shapes of its arrays: records of one shape can lie in lanes together."""
    shapes = (shape_of(value) if hasattr(value, "_fields") else np.shape(value) for value in record)
    return (type(record), *shapes)


def lane_bytes(record: Record) -> int:
    """The memory of one lane."""
    own = [
        value
        for name, value in zip(record._fields, record, strict=True)
        if name not in constant_fields(record)
    ]
    return sum(lane_bytes(value) if hasattr(value, "_fields") else np.asarray(value).nbytes for value in own)


# Back and forth


def own_arrays(prefix: str, record: Record) -> Iterator[tuple[str, DeviceArray]]:
    """What lanes have of their own, under the path that leads there."""
    for name, value in zip(record._fields, record, strict=True):
        if isinstance(value, (SharedArray, IndexedArrays, int)):
            continue
        path = f"{prefix}/{name}"
        yield from own_arrays(path, value) if hasattr(value, "_fields") else [(path, value)]


def with_arrays(prefix: str, record: Record, arrays: Arrays) -> Record:
    """The record with these arrays for what lanes have of their own."""
    fields = []
    for name, value in zip(record._fields, record, strict=True):
        path = f"{prefix}/{name}"
        if hasattr(value, "_fields") and not isinstance(value, (SharedArray, IndexedArrays)):
            fields.append(with_arrays(path, value, arrays))
        else:
            fields.append(to_device(arrays[path]) if path in arrays else value)
    return type(record)(*fields)


def lane_of(record: Record, i: int) -> Record:
    """The record of one lane, copied back: the plain twin of `compile_reader`."""
    if isinstance(record, SharedArray):
        return to_host(record.array)
    if isinstance(record, IndexedArrays):
        return to_host(record.rows)[to_host(record.which)[i]]
    if isinstance(record, int):
        return record
    if not hasattr(record, "_fields"):
        array = to_host(record)
        return array[..., i].copy() if array.ndim > 1 else array[i].item()
    return type(record)(*(lane_of(value, i) for value in record))


# How a thread finds its own


class ReaderSource(NamedTuple):
    """The text of a kernel that reads a lane, and what it names."""

    text: str
    classes: tuple[type, ...]
    views: tuple[View, ...]


def reader_source(record: Record) -> ReaderSource:
    """How lanes are read that lie as in this record.

    A kernel cannot loop over fields of different types, so it is written out.
    """
    classes: list[type] = []
    views: list[View] = []
    text = f"def lane(record, i):\n    return {_reading(record, 'record', classes, views)}\n"
    return ReaderSource(text, tuple(classes), tuple(views))


def _reading(
    record: Record, path: str, classes: list[type], views: list[View], *, grows: bool = False
) -> str:
    if isinstance(record, SharedArray):
        return _seen(f"{path}.array", "0", View(record.array.shape, record.array.strides, 0, 0), views)
    if isinstance(record, IndexedArrays):
        return _seen(f"{path}.rows", f"{path}.which[i]", _along(record.rows, 0), views)
    if isinstance(record, int):
        return repr(record)
    if not hasattr(record, "_fields"):
        return (
            _seen(path, "i", _along(record, len(record.shape) - 1, grows=grows), views)
            if len(record.shape) > 1
            else f"{path}[i]"
        )
    name, pools = f"class{len(classes)}", pool_fields(record)
    classes.append(type(record))
    fields = (
        _reading(value, f"{path}.{field}", classes, views, grows=field in pools)
        for field, value in zip(record._fields, record, strict=True)
    )
    return f"{name}({', '.join(fields)})"


def _seen(path: str, i: str, view: View, views: list[View]) -> str:
    views.append(view)
    return f"view{len(views) - 1}({path}, {i})"


def _along(array: DeviceArray, axis: int, *, grows: bool = False) -> View:
    others = [k for k in range(len(array.shape)) if k != axis]
    shape = tuple(
        None if grows and k == 0 else array.shape[k] for k in others
    )  # pools grow along their first axis
    return View(shape, tuple(array.strides[k] for k in others), array.strides[axis], axis)


def compile_reader(how: ReaderSource) -> Callable[[Record, int], Record]:
    """The kernel ``(record, i) -> record of lane i``."""
    names: dict[str, Any] = {f"class{k}": cls for k, cls in enumerate(how.classes)}
    names |= {
        f"view{k}": _plain_view(view) if simulated() else view_intrinsic(view)
        for k, view in enumerate(how.views)
    }
    exec(how.text, names)  # noqa: S102 - it consists of names of fields
    return (
        names["lane"] if simulated() else kernel(names["lane"])
    )  # the simulator is Python, and Python cannot be given a view by a kernel


def _plain_view(view: View) -> Callable[[Any, int], Any]:
    return lambda array, i: array if array.ndim == len(view.shape) else np.moveaxis(array, view.axis, 0)[i]
