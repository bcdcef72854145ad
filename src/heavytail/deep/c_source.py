"""C of a JAX function of a few numbers, for kernels that call it.

Arrays are taken apart: each of their numbers is a variable of its own. What only moves numbers (slices,
stacks and the like) JAX does itself, on the places of the variables, so that no C is written for it.

A function in C takes a pointer for each argument, and then for each result, to 32-bit words: the numbers of
its leaves one after the other. All results are known before any is written, so they may lie where arguments
do. Around it there must be `as_int(float)`, `as_float(int)` and the functions of C's <math.h>.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

Names = npt.NDArray[np.object_]  # an array of C expressions, each a name or a number
C_TYPES = MappingProxyType({"float32": "float", "int32": "int", "uint32": "unsigned", "bool": "bool"})

# One number from others; {0} is the first of them
ELEMENTWISE: Mapping[str, str] = MappingProxyType(
    {
        **{name: f"{{0}} {sign} {{1}}" for name, sign in (("add", "+"), ("sub", "-"), ("mul", "*"))},
        **{name: f"{{0}} {sign} {{1}}" for name, sign in (("eq", "=="), ("ne", "!="), ("lt", "<"))},
        **{name: f"{{0}} {sign} {{1}}" for name, sign in (("le", "<="), ("gt", ">"), ("ge", ">="))},
        **{name: f"{{0}} {sign} {{1}}" for name, sign in (("and", "&"), ("or", "|"), ("xor", "^"))},
        "shift_left": "{0} << {1}",
        "shift_right_arithmetic": "(int){0} >> {1}",
        "shift_right_logical": "(unsigned){0} >> {1}",
        **{name: f"{name}f({{0}})" for name in ("sin", "cos", "tan", "tanh", "exp", "log", "log1p", "sqrt")},
        **{name: f"{name}f({{0}})" for name in ("expm1", "floor", "ceil", "asin", "acos", "atan")},
        "pow": "powf({0}, {1})",
        "atan2": "atan2f({0}, {1})",
        "neg": "-{0}",
        "square": "{0} * {0}",
        "sign": "{0} != {0} ? {0} : ({0} > 0) - ({0} < 0)",
        "max": "{0} > {1} || {0} != {0} ? {0} : {1}",
        "min": "{0} < {1} || {0} != {0} ? {0} : {1}",
        "clamp": "{1} > {2} || {0} > {2} ? {2} : {1} < {0} ? {0} : {1}",
        "is_finite": "{0} - {0} == 0",
    }
)
_BITCASTS = MappingProxyType(
    {
        **{(whole, "float32"): "as_int({0})" for whole in ("int32", "uint32")},
        **{("float32", whole): "as_float({0})" for whole in ("int32", "uint32")},
    }
)
REDUCED = MappingProxyType(
    {"reduce_sum": "add", "reduce_max": "max", "reduce_min": "min", "reduce_and": "and", "reduce_or": "or"}
)
MOVING = frozenset(
    [
        "broadcast_in_dim",
        "concatenate",
        "copy",
        "expand_dims",
        "reshape",
        "rev",
        "slice",
        "split",
        "squeeze",
        "stack",
        "stop_gradient",
        "transpose",
        "unstack",
    ]
)
CALLS = frozenset(("closed_call", "custom_jvp_call", "custom_vjp_call", "jit", "pjit"))


class NoSourceError(Exception):
    """A function does what is not known how to say in C."""


def c_function(name: str, function: Callable[..., tuple[Any, ...]], *examples: Any) -> str:
    """Write a function in C.

    Args:
        name: in C.
        function: of arrays, or trees of them; it returns a tuple of such.
        *examples: arguments, of which only shapes and types count.

    Raises:
        NoSourceError: if it cannot be written.

    >>> print(c_function("twice", lambda x: (2 * x,), np.int32(3)))
    INLINE void twice(const int *in0, int *out0) {
        const int v0 = in0[0];
        const int v1 = 2 * v0;
        out0[0] = v1;
    }
    """
    closed, shapes = jax.make_jaxpr(function, return_shape=True)(*examples)
    lines = _Lines()
    arguments = [x for i, example in enumerate(examples) for x in lines.read(f"in{i}", example)]
    results = lines.run(closed.jaxpr, closed.consts, arguments)
    pointers = [f"const int *in{i}" for i in range(len(examples))]
    for i, result in enumerate(shapes):
        leaves = jax.tree.leaves(result)
        lines.write(f"out{i}", results[: len(leaves)], leaves)
        results = results[len(leaves) :]
        pointers.append(f"int *out{i}")
    body = "\n".join(f"    {line}" for line in lines.written)
    return f"INLINE void {name}({', '.join(pointers)}) {{\n{body}\n}}"


class _Lines:
    """The lines of a function so far."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self._variables = 0

    def assign(self, dtype: Any, expression: str) -> str:
        """Write a line that gives a new variable this value, and return its name."""
        name = f"v{self._variables}"
        self._variables += 1
        self.written.append(f"const {_c_type(dtype)} {name} = {expression};")
        return name

    def read(self, pointer: str, example: Any) -> Iterator[Names]:
        """Read the leaves of an argument."""
        place = 0
        for leaf in jax.tree.leaves(example):
            words = [f"{pointer}[{place + k}]" for k in range(int(np.prod(leaf.shape)))]
            is_float = leaf.dtype == jnp.float32
            names = [self.assign(leaf.dtype, f"as_float({word})" if is_float else word) for word in words]
            yield _names(names).reshape(leaf.shape)
            place += len(words)

    def write(self, pointer: str, results: Sequence[Names], leaves: Sequence[Any]) -> None:
        """Write the leaves of a result."""
        place = 0
        for names, leaf in zip(results, leaves, strict=True):
            for name in names.flat:
                value = f"as_int({name})" if leaf.dtype == jnp.float32 else name
                self.written.append(f"{pointer}[{place}] = {value};")
                place += 1

    def run(self, jaxpr: Any, constants: Sequence[Any], arguments: Sequence[Names]) -> list[Names]:
        """Write what a jaxpr does, and return its results."""
        known = dict(zip(jaxpr.invars, arguments, strict=True))
        known |= zip(jaxpr.constvars, map(_constants, constants), strict=True)

        def value(atom: Any) -> Names:
            is_literal = hasattr(atom, "val")
            return _constants(np.asarray(atom.val, atom.aval.dtype)) if is_literal else known[atom]

        for equation in jaxpr.eqns:
            inputs = [value(x) for x in equation.invars]
            known |= zip(equation.outvars, self._apply(equation, inputs), strict=True)
        return [value(x) for x in jaxpr.outvars]

    def _apply(self, equation: Any, inputs: Sequence[Names]) -> list[Names]:
        name = equation.primitive.name
        if not equation.outvars:
            raise NoSourceError(f"no C is known for JAX's {name}, which has no result")
        if (expression := _expression(equation)) is not None:
            return [self._each(equation.outvars[0].aval.dtype, expression, inputs)]
        handlers: dict[str, Callable[[Any, Sequence[Names]], list[Names]]] = {
            **dict.fromkeys(CALLS, self._called),
            **dict.fromkeys(MOVING, _moved),
            **dict.fromkeys(REDUCED, self._reduced),
            "argmax": self._argmax,
            "dot_general": self._product,
            "iota": lambda equation, _: [_constants(equation.primitive.bind(**equation.params))],
        }
        if name not in handlers:
            raise NoSourceError(f"no C is known for JAX's {name}")
        return handlers[name](equation, inputs)

    def _called(self, equation: Any, inputs: Sequence[Names]) -> list[Names]:
        parameters = equation.params.values()
        closed = next(p for p in parameters if hasattr(p, "jaxpr") and hasattr(p, "consts"))
        return self.run(closed.jaxpr, closed.consts, inputs)

    def _each(self, dtype: Any, expression: str, inputs: Sequence[Names]) -> Names:
        shape = np.broadcast_shapes(*(x.shape for x in inputs))
        columns = zip(*(np.broadcast_to(x, shape).flat for x in inputs), strict=True)
        return _names([self.assign(dtype, expression.format(*numbers)) for numbers in columns]).reshape(shape)

    def _reduced(self, equation: Any, inputs: Sequence[Names]) -> list[Names]:
        (x,), expression = inputs, ELEMENTWISE[REDUCED[equation.primitive.name]]
        for axis in sorted(equation.params["axes"], reverse=True):
            x = self._fold(equation.outvars[0].aval.dtype, expression, np.moveaxis(x, axis, 0))
        return [x]

    def _fold(self, dtype: Any, expression: str, parts: Names) -> Names:
        if not len(parts):
            raise NoSourceError("no C is known for sums of nothing")
        return reduce(lambda x, y: self._each(dtype, expression, (x, y)), map(_names, parts))

    def _argmax(self, equation: Any, inputs: Sequence[Names]) -> list[Names]:
        (x,), (axis,), dtype = inputs, equation.params["axes"], equation.invars[0].aval.dtype
        first, *others = map(_names, np.moveaxis(x, axis, 0))
        best, place = first, _names(np.full(first.shape, "0"))
        for k, other in enumerate(others, 1):
            # As JAX has it, the first one that is no number is the largest
            larger = self._each(bool, "({1} > {0} || {1} != {1}) && {0} == {0}", (best, other))
            place = self._each(jnp.int32, f"{{0}} ? {k} : {{1}}", (larger, place))
            best = self._each(dtype, "{0} ? {2} : {1}", (larger, best, other))
        return [place]

    def _product(self, equation: Any, inputs: Sequence[Names]) -> list[Names]:
        (left, right), batch = equation.params["dimension_numbers"]
        if any(batch) or len(left) != 1:
            raise NoSourceError("no C is known for products of more than matrices")
        x, y = np.moveaxis(inputs[0], left[0], 0), np.moveaxis(inputs[1], right[0], 0)
        x = x.reshape(*x.shape, *[1] * (y.ndim - 1))
        y = y.reshape(len(y), *[1] * (x.ndim - y.ndim), *y.shape[1:])
        dtype = equation.outvars[0].aval.dtype
        return [self._fold(dtype, ELEMENTWISE["add"], self._each(dtype, ELEMENTWISE["mul"], (x, y)))]


def _expression(equation: Any) -> str | None:
    """Return how each number of the result follows from one of each argument, if it does."""
    name, parameters = equation.primitive.name, equation.params
    dtypes = [str(x.aval.dtype) for x in (equation.outvars[0], *equation.invars)]
    if name == "integer_pow" and parameters["y"] > 0:
        return " * ".join(["{0}"] * parameters["y"])
    by_type = {
        "abs": "fabsf({0})" if dtypes[0] == "float32" else "{0} < 0 ? -{0} : {0}",
        "bitcast_convert_type": _BITCASTS.get((dtypes[0], dtypes[-1]), "{0}"),
        "convert_element_type": "{0} != 0" if dtypes[0] == "bool" else f"({_c_type(dtypes[0])}){{0}}",
        "not": "!{0}" if dtypes[0] == "bool" else "~{0}",
        # XLA divides by 0, too, if what comes of it is not needed
        "div": "{0} / {1}" if dtypes[0] == "float32" else "{1} ? {0} / {1} : -1",
        "rem": "fmodf({0}, {1})" if dtypes[0] == "float32" else "{1} ? {0} % {1} : {0}",
    }
    if name == "select_n":
        cases = len(equation.invars) - 1
        return "".join(f"{{0}} == {k} ? {{{k + 1}}} : " for k in range(cases - 1)) + f"{{{cases}}}"
    return by_type.get(name, ELEMENTWISE.get(name))


def _moved(equation: Any, inputs: Sequence[Names]) -> list[Names]:
    """Let JAX move the places of names instead of the names."""
    names = np.concatenate([x.reshape(-1) for x in inputs])
    starts = np.cumsum([0, *(x.size for x in inputs)])
    places = [jnp.arange(i, i + x.size).reshape(x.shape) for i, x in zip(starts, inputs, strict=False)]
    moved = equation.primitive.bind(*places, **equation.params)
    return [_names(names[np.asarray(x)]) for x in (moved if equation.primitive.multiple_results else [moved])]


def _names(names: Any) -> Names:
    return np.asarray(names, dtype=np.object_)


def _constants(value: Any) -> Names:
    array = np.asarray(value)
    return _names([_literal(number) for number in array.flat]).reshape(array.shape)


def _literal(number: Any) -> str:
    if number.dtype == np.float32:
        if not np.isfinite(number):
            return f"as_float({number.view(np.int32)})"
        return f"({float(number).hex()}f)" if np.signbit(number) else f"{float(number).hex()}f"
    return f"{int(number)}" if number >= 0 else f"({int(number)})"


def _c_type(dtype: Any) -> str:
    try:
        return C_TYPES[jnp.dtype(dtype).name]
    except (KeyError, TypeError):  # keys of random numbers are of no type of NumPy
        raise NoSourceError(f"no C is known for numbers of type {dtype}") from None
