"""What numba cannot say by itself of the memory of a GPU.

*Views*: the array that a lane sees of an array of all lanes, with shape and strides that the compiler knows.
It then writes a loop over six actions out, has no address to compute that it could compute beforehand, and
keeps in registers what is left. An ordinary view knows them only at run time, and a step takes half as many
instructions again. *Asking*: having a word brought nearer before it is needed
(`heavytail.kernels.array_ops`).
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from llvmlite import ir


class View(NamedTuple):
    """Where a lane's array lies in that of all lanes; in bytes."""

    shape: tuple[int | None, ...]  # None where it may grow: only the array itself knows
    strides: tuple[int, ...]
    lane: int  # from one lane to the next; 0 where all see the same
    axis: int  # which counts lanes


def as_global_pointer(builder: Any, pointer: Any) -> Any:
    """The same pointer, of which the compiler knows that it leads to the memory that all threads share, and to no other."""
    there = builder.addrspacecast(pointer, pointer.type.pointee.as_pointer(1))
    return builder.addrspacecast(there, pointer.type)


@cache
def view_intrinsic(view: View) -> Callable[[Any, int], Any]:
    """The kernel ``(array, i) -> array of lane i``, for a GPU."""
    types, extending, arrays = (_of_numba_cuda(name) for name in ("types", "extending", "np.arrayobj"))

    def look(typing_context: Any, array: Any, i: Any) -> Any:
        seen = types.Array(array.dtype, len(view.shape), "A" if view.lane else "C")

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            def number(n: int) -> Any:
                return context.get_constant(types.intp, n)

            whole, part = (
                arrays.make_array(array)(context, builder, arguments[0]),
                arrays.make_array(seen)(context, builder),
            )
            word: int = context.get_abi_sizeof(context.get_data_type(array.dtype))
            distance = builder.mul(
                context.cast(builder, arguments[1], i, types.intp), number(view.lane // word)
            )
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

        return seen(array, i), generate

    kernel: Callable[[Any, int], Any] = extending.intrinsic(look)
    return kernel


def prefetch_intrinsic() -> Callable[..., None]:
    """The kernel ``(table, h, s, a) -> None`` that has a word brought into the first cache, for a GPU."""
    types, extending, arrays = (_of_numba_cuda(name) for name in ("types", "extending", "np.arrayobj"))
    word, nothing = ir.IntType(64), ir.VoidType()

    def ask(typing_context: Any, table: Any, h: Any, s: Any, a: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = arrays.make_array(table)(context, builder, arguments[0])
            place = builder.ptrtoint(array.data, word)
            for axis, (index, kind) in enumerate(zip(arguments[1:], (h, s, a), strict=True)):
                distance = builder.mul(
                    context.cast(builder, index, kind, types.intp), builder.extract_value(array.strides, axis)
                )
                place = builder.add(place, distance)
            builder.asm(
                ir.FunctionType(nothing, [word]), "prefetch.global.L1 [$0];", "l", [place], side_effect=True
            )
            return context.get_dummy_value()

        return types.void(table, h, s, a), generate

    kernel: Callable[..., None] = extending.intrinsic(ask)
    return kernel


def _of_numba_cuda(name: str) -> Any:
    """A module that is there with numba-cuda only."""
    return import_module(f"numba.cuda.{name}")
