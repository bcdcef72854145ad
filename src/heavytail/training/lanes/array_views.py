"""Views: the part of an array of all lanes that one lane sees, with shape and strides known at compile time.

The compiler then unrolls a loop over six actions, computes addresses beforehand and keeps the rest in
registers. An ordinary view knows shape and strides only at run time, and a step takes half as many
instructions again.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from heavytail.training.lanes.device import numba_cuda


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
