"""Packed records: compiled code finds a record by its address, so that a call from Python is cheap.

Numba unpacks a record at each call, array by array, which takes microseconds: most of the time of a service
that asks for one action at a time. Here the record is written once into a buffer, as the struct that compiled
code sees; a call passes the buffer's address, and `unpack` reads the struct from there: about 100 ns.

A *packed entry* is compiled for one type of record and is called without inspecting the types of its
arguments. They are therefore of three kinds, checked on entry by Python's rules: `INDEX`, a whole number
(anything ``operator.index`` takes; `as_index` reads it, and numbers too large for 64 bits become the
largest), `REAL` (anything ``float`` takes, except text; `as_real` reads it) and `FLAG`, true or false. It
keeps the GIL, because handing it over takes longer than most calls.

The buffer must be packed again when the record is replaced, as happens when its pools grow.
"""

# Numba allows only the names of arguments, and passes them by position.
# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, disallow-untyped-calls=False
# ruff: noqa: ANN001, ANN202, PLW0108
import operator
from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np
from llvmlite import ir
from numba import typeof, types
from numba.core import cgutils
from numba.extending import NativeValue, intrinsic, models, overload, register_model, unbox

from heavytail.arrays import Record
from heavytail.kernels.compiling import KERNEL_OPTIONS, config, entry, entry_with_gil

ALIGNMENT = 64
_packing = Lock()
typed_intrinsic: Any = intrinsic  # numba supplies its first argument, the context


class PackedType(types.Type):
    """The type of the address of a record."""

    def __init__(self, record: types.Type) -> None:
        self.record = record
        super().__init__(name=f"Packed({record})")


class IndexType(types.Type):
    """The type of an argument that Python takes as an index."""


class RealType(types.Type):
    """The type of an argument that Python takes as a real number."""


INDEX, REAL, FLAG = IndexType("Index"), RealType("Real"), types.boolean
register_model(PackedType)(models.OpaqueModel)


@register_model(IndexType)
class _IndexModel(models.PrimitiveModel):
    def __init__(self, manager, kind) -> None:
        super().__init__(manager, kind, ir.IntType(64))


@register_model(RealType)
class _RealModel(models.PrimitiveModel):
    def __init__(self, manager, kind) -> None:
        super().__init__(manager, kind, ir.DoubleType())


@unbox(PackedType)
def _unbox_packed(kind, value, c):
    return NativeValue(c.pyapi.long_as_voidptr(value), is_error=c.pyapi.c_api_error())


@unbox(IndexType)
def _unbox_index(kind, value, c):
    signature = ir.FunctionType(ir.IntType(64), [c.pyapi.pyobj, c.pyapi.pyobj])
    function = cgutils.get_or_insert_function(c.builder.module, signature, "PyNumber_AsSsize_t")
    number = c.builder.call(function, [value, cgutils.get_null_value(c.pyapi.pyobj)])
    return NativeValue(number, is_error=c.pyapi.c_api_error())


@unbox(RealType)
def _unbox_real(kind, value, c):
    return NativeValue(c.pyapi.float_as_double(value), is_error=c.pyapi.c_api_error())


@typed_intrinsic
def _read_record(context, packed):
    def generate(context, builder, signature, arguments):
        struct = context.get_value_type(signature.return_type)
        return builder.load(builder.bitcast(arguments[0], struct.as_pointer()))

    return packed.record(packed), generate


@typed_intrinsic
def _write_record(context, record, address):
    def generate(context, builder, signature, arguments):
        value, place = arguments
        given = builder.icmp_unsigned("!=", place, place.type(0))
        with builder.if_then(given):
            builder.store(value, builder.inttoptr(place, value.type.as_pointer()))
        return place.type(context.get_abi_sizeof(value.type))

    return types.int64(record, address), generate


@typed_intrinsic
def _as_primitive(context, number):
    primitive = types.int64 if isinstance(number, IndexType) else types.float64
    return primitive(number), lambda context, builder, signature, arguments: arguments[0]


def _write(record: Record, address: int) -> int:
    """Write a record's struct to an address, unless the address is 0, and return its size."""
    size: int = _write_record(record, address)
    return size


class Packed:
    """A record in a buffer. An interpreted function takes it as it is, a compiled one its address.

    Attributes:
        record: the record; kept here, because the buffer points to its arrays.
    """

    def __init__(self, record: Record) -> None:
        self.record = record
        self._buffer = np.zeros(0, np.uint8)
        self._address: int | None = None  # until it is asked for

    @property
    def address(self) -> Any:
        """The argument with which to call a packed entry."""
        if config.DISABLE_JIT:
            return self
        if self._address is None:
            self._pack()
        return self._address

    def _pack(self) -> None:
        with _packing:  # two threads would have a buffer each
            if self._address is None:
                write = entry(_write, self.record)
                buffer = np.zeros(write(self.record, 0) + ALIGNMENT, np.uint8)
                address = -(-buffer.ctypes.data // ALIGNMENT) * ALIGNMENT
                write(self.record, address)
                # Last, because other threads read through the address as soon as it is set
                self._buffer, self._address = buffer, address

    def replace(self, record: Record) -> None:
        """Pack another record of the same type in its place."""
        self.record = record
        if self._address is not None:
            entry(_write, record)(record, self._address)

    def entry(self, function: Callable[..., Any], *kinds: types.Type) -> Callable[..., Any]:
        """Compile or load a function of this record's address and of arguments of these kinds."""
        if config.DISABLE_JIT:
            return entry(function, self.record)
        return entry_with_gil(function, self.record).compile((self.kind, *kinds))

    def is_ready(self, function: Callable[..., Any], *kinds: types.Type) -> bool:
        """Return whether `entry` would return at once or load kept code."""
        return config.DISABLE_JIT or entry_with_gil(function, self.record).is_ready((self.kind, *kinds))

    def compile_address(self) -> None:
        """Compile the function that writes the record into the buffer."""
        entry(_write, self.record).compile((typeof(self.record), types.int64))

    @property
    def kind(self) -> types.Type:
        """Numba's type of the record's address: the same for all records of the same fields."""
        return PackedType(typeof(self.record))

    def __reduce__(self) -> tuple[type, tuple[Record]]:
        """Send the record to another process, not its address."""
        return (Packed, (self.record,))


def unpack(packed: Packed) -> Record:
    """Return the record at an address."""
    return packed.record


def as_index(number: Any) -> int:
    """Return an argument of kind `INDEX` as a whole number."""
    limit = 2**63
    return min(max(operator.index(number), -limit), limit - 1)


def as_real(number: Any) -> float:
    """Return an argument of kind `REAL` as a float."""
    if not any(hasattr(type(number), name) for name in ("__float__", "__index__")):
        raise TypeError(f"must be real number, not {type(number).__name__}")
    return float(number)


@overload(unpack, jit_options=KERNEL_OPTIONS)
def _unpack(packed):
    return (lambda packed: _read_record(packed)) if isinstance(packed, PackedType) else None


@overload(as_index, jit_options=KERNEL_OPTIONS)
def _as_index(number):
    return (lambda number: _as_primitive(number)) if isinstance(number, IndexType) else None


@overload(as_real, jit_options=KERNEL_OPTIONS)
def _as_real(number):
    return (lambda number: _as_primitive(number)) if isinstance(number, RealType) else None


for _read, _compiled in ((unpack, _unpack), (as_index, _as_index), (as_real, _as_real)):
    vars(_read).update(compiled_parts=lambda classes, compiled=_compiled: [compiled])  # for the fingerprint
