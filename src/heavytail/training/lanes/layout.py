"""The layout of tens of thousands of records in GPU memory, and how a thread reads its own.

Neighbouring threads should read neighbouring words. So L numbers become an array [L], and L arrays [H, S, A]
become one array [H, S, A, L]. (Keeping the rows of each lane together would halve the traffic while lanes
are in different states, but each read would touch 32 lines of the L1 cache instead of a few: slower when
measured.) Arrays that never change (`heavytail.kernels.pools.constant_fields`) are mostly the same in many
lanes: each distinct one is stored once, and each lane has its index.

Lanes begin as copies of a few records: many differ only in their seed. So a record in lanes is made from the
unique records and the index of each lane's.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from heavytail.arrays import Ints, Record
from heavytail.kernels.compiling import kernel
from heavytail.kernels.pools import constant_fields, pool_fields
from heavytail.training.lanes.device import (
    DeviceArray,
    broadcast,
    numba_cuda,
    simulated,
    to_device,
    to_host,
)


class SharedArray(NamedTuple):
    """A constant array, the same for all lanes."""

    array: DeviceArray


class IndexedArrays(NamedTuple):
    """Constant arrays that differ between lanes, each stored once."""

    rows: DeviceArray  # [K, ...]
    which: DeviceArray  # [L] the row of each lane


class Deduplicated(NamedTuple):
    """Unique objects, and the index of each lane's."""

    unique: Sequence[Any]
    which: Ints  # [L]


def in_lanes(records: Deduplicated) -> Record:
    """Make the record of all lanes from records of one `record_shape`."""
    first, which = records.unique[0], records.which
    fields = []
    for k, name in enumerate(first._fields):
        values = [record[k] for record in records.unique]
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
        return few[0]  # a size or a choice: a constant of the kernel
    return broadcast(np.stack([np.asarray(value) for value in few]), index[which])


def _shared(values: Sequence[Any], which: Ints) -> SharedArray | IndexedArrays:
    few, index = _by_content(values)
    if len(few) == 1:
        return SharedArray(to_device(few[0]))
    return IndexedArrays(to_device(np.stack(few)), to_device(index[which].astype(np.int32)))


def _by_content(values: Sequence[Any]) -> Deduplicated:
    return deduplicate(values, [np.asarray(value).tobytes() for value in values])


def deduplicate(items: Sequence[Any], keys: Sequence[Hashable]) -> Deduplicated:
    """Keep the first item of each key.

    >>> deduplicate(["a", "A", "b"], [1, 1, 2])
    Deduplicated(unique=['a', 'b'], which=array([0, 0, 1]))
    """
    numbers: dict[Hashable, int] = {}
    which = np.array([numbers.setdefault(key, len(numbers)) for key in keys])
    return Deduplicated([items[i] for i in np.unique(which, return_index=True)[1]], which)


def record_shape(record: Record) -> tuple[Any, ...]:
    """Return a record's class and array shapes: records equal in both can share lanes."""
    shapes = (record_shape(value) if hasattr(value, "_fields") else np.shape(value) for value in record)
    return (type(record), *shapes)


def lane_bytes(record: Record) -> int:
    """Return the bytes that one lane needs for a record."""
    constant = constant_fields(record)
    own = [value for name, value in zip(record._fields, record, strict=True) if name not in constant]
    return sum(lane_bytes(value) if hasattr(value, "_fields") else np.asarray(value).nbytes for value in own)


# Copying lanes to and from the GPU


def own_arrays(prefix: str, record: Record) -> Iterator[tuple[str, DeviceArray]]:
    """Yield the arrays that each lane has its own copy of, with their paths."""
    for name, value in zip(record._fields, record, strict=True):
        if isinstance(value, (SharedArray, IndexedArrays, int)):
            continue
        path = f"{prefix}/{name}"
        yield from own_arrays(path, value) if hasattr(value, "_fields") else [(path, value)]


def with_arrays(prefix: str, record: Record, arrays: Mapping[str, DeviceArray]) -> Record:
    """Return the record with these arrays in place of the lanes' own."""
    fields = []
    for name, value in zip(record._fields, record, strict=True):
        path = f"{prefix}/{name}"
        if hasattr(value, "_fields") and not isinstance(value, (SharedArray, IndexedArrays)):
            fields.append(with_arrays(path, value, arrays))
        else:
            fields.append(arrays.get(path, value))
    return type(record)(*fields)


def pool_paths(prefix: str, record: Record) -> Iterator[str]:
    """Yield the paths of the arrays that may have grown."""
    yield from (f"{prefix}/{name}" for name in pool_fields(record))
    for name, value in zip(record._fields, record, strict=True):
        if hasattr(value, "_fields") and not isinstance(value, (SharedArray, IndexedArrays)):
            yield from pool_paths(f"{prefix}/{name}", value)


def on_host(record: Record) -> Record:
    """Copy the record of all lanes back to the host."""
    if hasattr(record, "_fields"):
        return type(record)(*map(on_host, record))
    return record if isinstance(record, int) else to_host(record)


def read_lane(record: Record, i: int) -> Record:
    """Copy the record of one lane back to the host; `compile_reader` reads it on the GPU."""
    if isinstance(record, SharedArray):
        return to_host(record.array)
    if isinstance(record, IndexedArrays):
        return to_host(record.rows)[to_host(record.which)[i]]
    if isinstance(record, int):
        return record
    if not hasattr(record, "_fields"):
        array = to_host(record)
        return array[..., i].copy() if array.ndim > 1 else array[i].item()
    return type(record)(*(read_lane(value, i) for value in record))


# Reading a lane in a thread. The thread sees its part of an array of all lanes as a *view* whose shape and
# strides are known at compile time: so the compiler unrolls a loop over six actions, computes addresses in
# advance and keeps the rest in registers. Ordinary views know both only at run time, and a step takes half
# as many instructions again.


class View(NamedTuple):
    """The place of a lane's array in the array of all lanes. Strides are in bytes."""

    shape: tuple[int | None, ...]  # None along an axis that may grow: only the array itself knows it
    strides: tuple[int, ...]
    lane: int  # stride from one lane to the next; 0 if all lanes share it
    axis: int  # of the lanes


def as_global_pointer(builder: Any, pointer: Any) -> Any:
    """Return the same pointer, marked for the compiler as pointing into global memory."""
    marked = builder.addrspacecast(pointer, pointer.type.pointee.as_pointer(1))
    return builder.addrspacecast(marked, pointer.type)


@cache
def view_intrinsic(view: View) -> Callable[[Any, int], Any]:
    """Make the GPU kernel ``(array, i) -> array of lane i``."""
    types, extending, arrays = (numba_cuda(name) for name in ("types", "extending", "np.arrayobj"))

    def get_view(typing_context: Any, array: Any, i: Any) -> Any:
        view_type = types.Array(array.dtype, len(view.shape), "A" if view.lane else "C")

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            def number(n: int) -> Any:
                return context.get_constant(types.intp, n)

            whole = arrays.make_array(array)(context, builder, arguments[0])
            part = arrays.make_array(view_type)(context, builder)
            word: int = context.get_abi_sizeof(context.get_data_type(array.dtype))
            index = context.cast(builder, arguments[1], i, types.intp)
            distance = builder.mul(index, number(view.lane // word))
            start = builder.gep(as_global_pointer(builder, whole.data), [distance])
            shape = [
                builder.extract_value(whole.shape, k) if n is None else number(n)
                for k, n in enumerate(view.shape)
            ]
            arrays.populate_array(
                part,
                data=start,
                shape=shape,
                strides=list(map(number, view.strides)),
                itemsize=number(word),
                meminfo=None,
            )
            return part._getvalue()  # noqa: SLF001 - so numba names it

        return view_type(array, i), generate

    kernel: Callable[[Any, int], Any] = extending.intrinsic(get_view)
    return kernel


class ReaderSource(NamedTuple):
    """The source of a kernel that reads a lane, and the classes and views it names."""

    text: str
    classes: tuple[type, ...]
    views: tuple[View, ...]


def reader_source(record: Record) -> ReaderSource:
    """Write the source of the kernel that reads a lane of this record.

    A kernel cannot loop over fields of different types, so each field is written out.
    """
    classes: list[type] = []
    views: list[View] = []
    text = f"def lane(record, i):\n    return {_expression(record, 'record', classes, views)}\n"
    return ReaderSource(text, tuple(classes), tuple(views))


def _expression(
    record: Record, path: str, classes: list[type], views: list[View], *, grows: bool = False
) -> str:
    if isinstance(record, SharedArray):
        return _view(f"{path}.array", "0", View(record.array.shape, record.array.strides, 0, 0), views)
    if isinstance(record, IndexedArrays):
        return _view(f"{path}.rows", f"{path}.which[i]", _view_along(record.rows, 0), views)
    if isinstance(record, int):
        return repr(record)
    if not hasattr(record, "_fields"):
        last = len(record.shape) - 1
        return _view(path, "i", _view_along(record, last, grows=grows), views) if last > 0 else f"{path}[i]"
    name, pools = f"class{len(classes)}", pool_fields(record)
    classes.append(type(record))
    fields = (
        _expression(value, f"{path}.{field}", classes, views, grows=field in pools)
        for field, value in zip(record._fields, record, strict=True)
    )
    return f"{name}({', '.join(fields)})"


def _view(path: str, i: str, view: View, views: list[View]) -> str:
    views.append(view)
    return f"view{len(views) - 1}({path}, {i})"


def _view_along(array: DeviceArray, axis: int, *, grows: bool = False) -> View:
    others = [k for k in range(len(array.shape)) if k != axis]
    shape = tuple(None if grows and k == 0 else array.shape[k] for k in others)  # pools grow along axis 0
    return View(shape, tuple(array.strides[k] for k in others), array.strides[axis], axis)


def compile_reader(source: ReaderSource) -> Callable[[Record, int], Record]:
    """Compile the kernel ``(record, i) -> record of lane i``."""
    make_view = _plain_view if simulated() else view_intrinsic
    names: dict[str, Any] = {f"class{k}": cls for k, cls in enumerate(source.classes)}
    names |= {f"view{k}": make_view(view) for k, view in enumerate(source.views)}
    exec(source.text, names)  # noqa: S102 - it consists of names of fields
    # The simulator is Python, and a kernel cannot return a view to Python.
    return names["lane"] if simulated() else kernel(names["lane"])


def _plain_view(view: View) -> Callable[[Any, int], Any]:
    return lambda array, i: array if array.ndim == len(view.shape) else np.moveaxis(array, view.axis, 0)[i]
