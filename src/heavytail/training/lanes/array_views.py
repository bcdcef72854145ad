"""Intrinsics for the memory of a GPU, which numba does not offer.

*Views*: the part of an array of all lanes that one lane sees, with shape and strides known at compile time.
The compiler then unrolls a loop over six actions, computes addresses beforehand and keeps the rest in
registers. An ordinary view knows shape and strides only at run time, and a step takes half as many
instructions again. *Prefetching*: a word is loaded into the cache before it is needed
(`heavytail.kernels.array_ops`).
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from llvmlite import ir

from heavytail.training.lanes.device import BLOCK

SHARED_MEMORY = 3  # the address space
SINK = "prefetched"  # the array of copies


class View(NamedTuple):
    """The place of a lane's array in the array of all lanes. Strides are in bytes."""

    shape: tuple[int | None, ...]  # None where it may grow: only the array itself knows it
    strides: tuple[int, ...]
    lane: int  # stride from one lane to the next; 0 where all see the same
    axis: int  # of the lanes


def as_global_pointer(builder: Any, pointer: Any) -> Any:
    """Return the same pointer, marked for the compiler as one into global memory."""
    marked = builder.addrspacecast(pointer, pointer.type.pointee.as_pointer(1))
    return builder.addrspacecast(marked, pointer.type)


@cache
def view_intrinsic(view: View) -> Callable[[Any, int], Any]:
    """Make the GPU kernel ``(array, i) -> array of lane i``."""
    types, extending, arrays = (_numba_cuda(name) for name in ("types", "extending", "np.arrayobj"))

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


def prefetch_intrinsic() -> Callable[..., None]:
    """Make the GPU kernel ``(table, cell) -> None`` that loads a word into the L1 cache.

    An asynchronous copy into shared memory passes through that cache, and nobody reads the copy. (PTX has an
    instruction ``prefetch.global.L1``, after which loads wait as long as without it, on an H200.)
    """
    types, extending, arrays = (_numba_cuda(name) for name in ("types", "extending", "np.arrayobj"))
    word, half, nothing = ir.IntType(64), ir.IntType(32), ir.VoidType()
    copies = ir.ArrayType(word, BLOCK)

    def prefetch_word(typing_context: Any, table: Any, cell: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = arrays.make_array(table)(context, builder, arguments[0])
            address = builder.ptrtoint(array.data, word)
            for axis, kind in enumerate(cell):
                index = builder.extract_value(arguments[1], axis)
                position = context.cast(builder, index, kind, types.intp)
                distance = builder.mul(position, builder.extract_value(array.strides, axis))
                address = builder.add(address, distance)
            sink = builder.module.globals.get(SINK)
            if sink is None:
                sink = ir.GlobalVariable(builder.module, copies, SINK, SHARED_MEMORY)
                sink.linkage, sink.initializer = "internal", ir.Constant(copies, ir.Undefined)
            size = context.get_abi_sizeof(context.get_data_type(table.dtype))
            copy = (
                "{ .reg .b32 own; mov.u32 own, %tid.x; mad.lo.u32 own, own, 8, $1;"
                f" cp.async.ca.shared.global [own], [$0], {size}; }}"
            )
            function = ir.FunctionType(nothing, [word, half])
            builder.asm(function, copy, "l,r", [address, builder.ptrtoint(sink, half)], side_effect=True)
            return context.get_dummy_value()

        return types.void(table, cell), generate

    kernel: Callable[..., None] = extending.intrinsic(prefetch_word)
    return kernel


def _numba_cuda(name: str) -> Any:
    """Import a module of numba-cuda, which need not be installed."""
    return import_module(f"numba.cuda.{name}")
