"""Kernels that are others on a GPU: loads that do not wait, divisions and roots that ask nothing.

*Loads* (`heavytail.kernels.async_loads`) are asynchronous copies into shared memory, ``cp.async`` in PTX.
(PTX has instructions to prefetch into a cache too. After ``prefetch.global.L1`` loads wait as long as without
it, on an H200; after a copy that nobody reads they wait for the second cache.)

*Quotients and roots* (`heavytail.kernels.elementary`): a division is an approximate reciprocal, two steps of
Newton's and a correction, and then a branch for operands that are too large or too small for that; a square
root is an approximate inverse of it, a step of third order and a correction. These are the same without the
branch, at which a warp waits some thirty cycles.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from heavytail.kernels.async_loads import SLOTS
from heavytail.training.lanes.device import BLOCK, numba_cuda

SHARED_MEMORY = 3  # the address space
WORD, HALF, REAL, NOTHING = ir.IntType(64), ir.IntType(32), ir.DoubleType(), ir.VoidType()
COPIES = "asked_for"  # [SLOTS, BLOCK] words
REGISTERS = {"double": ("f64", "d"), "float": ("f32", "f"), "i32": ("b32", "r"), "i64": ("b64", "l")}
WAIT = "cp.async.wait_all;"
DIVIDE = """{ .reg .f64 r, e, n; .reg .b32 low, high;
rcp.approx.ftz.f64 r, $2; mov.b64 {low, high}, r; mov.b64 r, {1, high}; neg.f64 n, $2;
fma.rn.f64 e, n, r, 0d3FF0000000000000; fma.rn.f64 e, e, e, e; fma.rn.f64 r, r, e, r;
fma.rn.f64 e, n, r, 0d3FF0000000000000; fma.rn.f64 r, r, e, r;
mul.rn.f64 e, $1, r; fma.rn.f64 n, n, e, $1; fma.rn.f64 $0, r, n, e; }""".replace("\n", " ")
ROOT = """{ .reg .f64 r, e, c, n; rsqrt.approx.ftz.f64 r, $1;
mul.rn.f64 e, r, r; neg.f64 e, e; fma.rn.f64 e, $1, e, 0d3FF0000000000000;
fma.rn.f64 c, e, 0d3FD8000000000000, 0d3FE0000000000000; mul.rn.f64 e, r, e; fma.rn.f64 r, c, e, r;
mul.rn.f64 e, $1, r; mul.rn.f64 r, r, 0d3FE0000000000000;
neg.f64 n, e; fma.rn.f64 n, n, e, $1; fma.rn.f64 $0, n, r, e; }""".replace("\n", " ")


def start_load_intrinsic() -> Callable[..., Any]:
    """Make the GPU kernel ``(table, cell, slot) -> 0`` that begins to copy table[cell]."""
    types, extending, arrays = (numba_cuda(name) for name in ("types", "extending", "np.arrayobj"))

    def start(typing_context: Any, table: Any, cell: Any, slot: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = arrays.make_array(table)(context, builder, arguments[0])
            address = builder.ptrtoint(array.data, WORD)
            for axis, kind in enumerate(cell):
                index = builder.extract_value(arguments[1], axis)
                position = context.cast(builder, index, kind, types.intp)
                distance = builder.mul(position, builder.extract_value(array.strides, axis))
                address = builder.add(address, distance)
            kind = context.get_data_type(table.dtype)
            copy = f"cp.async.ca.shared.global [$1], [$0], {context.get_abi_sizeof(kind)};"
            own = _address_of_copy(builder, context.cast(builder, arguments[2], slot, types.uint32))
            builder.asm(ir.FunctionType(NOTHING, [WORD, HALF]), copy, "l,r", [address, own], side_effect=True)
            return ir.Constant(kind, 0 if isinstance(kind, ir.IntType) else 0.0)

        return table.dtype(table, cell, slot), generate

    return _intrinsic(extending, start)


def wait_for_loads_intrinsic() -> Callable[..., Any]:
    """Make the GPU kernel ``() -> None`` that waits until all copies are made."""
    types, extending = (numba_cuda(name) for name in ("types", "extending"))

    def wait(typing_context: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            builder.asm(ir.FunctionType(NOTHING, []), WAIT, "~{memory}", [], side_effect=True)
            return context.get_dummy_value()

        return types.void(), generate

    return _intrinsic(extending, wait)


def loaded_intrinsic() -> Callable[..., Any]:
    """Make the GPU kernel ``(table, asked, slot) -> number`` that reads a copy."""
    types, extending = (numba_cuda(name) for name in ("types", "extending"))

    def take(typing_context: Any, table: Any, asked: Any, slot: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            own = _address_of_copy(builder, context.cast(builder, arguments[2], slot, types.uint32))
            kind = context.get_data_type(table.dtype)
            width, register = REGISTERS[str(kind)]
            read = f"ld.shared.{width} $0, [$1];"
            return builder.asm(ir.FunctionType(kind, [HALF]), read, f"={register},r", [own], side_effect=True)

        return table.dtype(table, asked, slot), generate

    return _intrinsic(extending, take)


def quotient_intrinsic() -> Callable[..., Any]:
    """Make the GPU kernel ``(x, y) -> x / y``, for operands that are in range."""
    types, extending = (numba_cuda(name) for name in ("types", "extending"))

    def divide(typing_context: Any, x: Any, y: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.asm(ir.FunctionType(REAL, [REAL, REAL]), DIVIDE, "=d,d,d", list(arguments), False)

        return types.float64(types.float64, types.float64), generate

    return _intrinsic(extending, divide)


def root_intrinsic() -> Callable[..., Any]:
    """Make the GPU kernel ``(x) -> sqrt(x)``, for an operand that is in range."""
    types, extending = (numba_cuda(name) for name in ("types", "extending"))

    def take_root(typing_context: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.asm(ir.FunctionType(REAL, [REAL]), ROOT, "=d,d", list(arguments), False)

        return types.float64(types.float64), generate

    return _intrinsic(extending, take_root)


def _address_of_copy(builder: Any, slot: Any) -> Any:
    """Compute the address of a thread's own copy."""
    kind = ir.ArrayType(WORD, SLOTS * BLOCK)
    copies = builder.module.globals.get(COPIES)
    if copies is None:
        copies = ir.GlobalVariable(builder.module, kind, COPIES, SHARED_MEMORY)
        copies.linkage, copies.initializer = "linkonce_odr", ir.Constant(kind, ir.Undefined)  # one for all
    read = ir.FunctionType(HALF, [])
    thread = builder.call(builder.module.declare_intrinsic("llvm.nvvm.read.ptx.sreg.tid.x", (), read), [])
    place = builder.add(builder.mul(slot, ir.Constant(HALF, BLOCK)), thread)
    return builder.add(builder.ptrtoint(copies, HALF), builder.mul(place, ir.Constant(HALF, WORD.width // 8)))


def _intrinsic(extending: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    made: Callable[..., Any] = extending.intrinsic(function)
    return made
