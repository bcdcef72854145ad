"""Verbs: one name for many kernels, the right one chosen while compiling.

`generic` makes a verb whose kernel is chosen by the *class* of its first argument: ``act(agent, ...)`` runs
the method that ``@act.method(QLearning)`` registered. In Python the class is looked up at each call; in
compiled code it is read from the record's type, so nothing is left to choose at run time, and verbs compose:
an agent's method calls the verbs of the estimator inside it.

`switch` makes a verb whose kernel is chosen by a *number* at run time, for things that are data rather than
types, such as reward laws.
"""

import inspect
import math
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast

from numba import types
from numba.extending import overload

from heavytail.kernels.compiling import KERNEL_OPTIONS, kernel

F = TypeVar("F", bound=Callable[..., Any])


class Verb(Protocol):
    """A verb, as `generic` returns it."""

    __name__: str
    parameters: tuple[str, ...]
    methods: dict[type, Callable[..., Any]]

    def __call__(self, record: Any, /, *arguments: Any) -> Any:
        """Run the kernel of the record's class."""

    def method(self, cls: type) -> Callable[[F], F]:
        """Register the decorated function as this verb's kernel for records of class `cls`."""

    def compiled_parts(self, classes: tuple[type, ...]) -> list[Callable[..., Any]]:
        """List the kernels that calls with records of these classes may reach."""


def generic(*, optional: bool = False) -> Callable[[Callable[..., Any]], Verb]:
    """Make the decorated function a verb.

    If it is optional, its own body serves the classes that have no method.

    >>> from typing import NamedTuple
    >>> class Dice(NamedTuple):
    ...     sides: int
    >>> @generic()
    ... def expected(record):
    ...     "The mean."
    >>> @expected.method(Dice)
    ... def expected(record):
    ...     return 0.5 * (1 + record.sides)
    """

    def make(stub: Callable[..., Any]) -> Verb:
        methods: dict[Any, Callable[..., Any]] = {}
        parameters = tuple(inspect.signature(stub).parameters)
        default: Any = kernel(stub) if optional else None

        def call(record: Any, *arguments: Any) -> Any:
            chosen = methods.get(type(record), default)
            if chosen is None:
                name, cls = verb.__name__, type(record).__name__
                raise TypeError(f"{name}: no method for {cls}; write one under @{name}.method")
            return chosen(record, *arguments)

        def method(cls: type) -> Callable[[F], F]:
            def register(function: F) -> F:
                _check_method(verb, cls, function)
                methods[cls] = kernel(function)
                return function

            return register

        def compiled_parts(classes: tuple[type, ...]) -> list[Callable[..., Any]]:
            chosen = [methods[cls] for cls in classes if cls in methods]
            return [choose, *chosen] if default is None else [choose, *chosen, default]

        @overload(call, jit_options=KERNEL_OPTIONS, strict=False)
        # Numba allows names only.
        def choose(record, *arguments):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN202
            return methods.get(getattr(record, "instance_class", None), default)

        verb = cast("Verb", call)
        attributes = {"parameters": parameters, "methods": methods, "method": method}
        vars(call).update(attributes, compiled_parts=compiled_parts)
        _take_name(call, stub)
        return verb

    return make


def _check_method(verb: Verb, cls: type, function: Callable[..., Any]) -> None:
    given = tuple(inspect.signature(function).parameters)
    if given != verb.parameters:
        raise TypeError(
            f"{verb.__name__} of {cls.__name__}: parameters are {given}, they must be {verb.parameters}"
        )
    if cls in verb.methods:
        raise TypeError(f"{verb.__name__} of {cls.__name__} is already registered")


class Switch(Protocol):
    """A switch, as `switch` returns it."""

    cases: dict[int, Callable[..., Any]]

    def __call__(self, code: int, /, *arguments: Any) -> Any:
        """Run the kernel of this number."""

    def case(self, code: int) -> Callable[[F], F]:
        """Register the decorated function as the kernel for this number."""


def switch(stub: Callable[..., Any]) -> Switch:
    """Make `stub` a verb chosen by its first argument, a number; an unknown number gives NaN.

    All cases must be registered before the first call: compiled code holds the cases known when it was
    compiled.
    """
    cases: dict[int, Callable[..., Any]] = {}
    sealed: list[Callable[..., Any]] = []

    def chain() -> Callable[..., Any]:
        if not sealed:
            sealed.append(kernel(_choose_among(cases, inspect.signature(stub))))
        return sealed[0]

    def call(code: int, *arguments: Any) -> Any:
        return chain()(code, *arguments)

    def case(code: int) -> Callable[[F], F]:
        def register(function: F) -> F:
            if code in cases:
                raise TypeError(f"{stub.__name__}: case {code} is already registered")
            if sealed:
                raise TypeError(
                    f"{stub.__name__}: register {function.__name__} before the first run, it is"
                    " compiled into all of them"
                )
            cases[code] = kernel(function)
            return function

        return register

    @overload(call, jit_options=KERNEL_OPTIONS, strict=False)
    # Numba wants names only.
    def choose(code, *arguments):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN202
        return chain() if isinstance(code, types.Integer) else None

    vars(call).update(cases=cases, case=case, compiled_parts=lambda classes: [choose, chain()])
    _take_name(call, stub)
    return cast("Switch", call)


def _take_name(call: Callable[..., Any], stub: Callable[..., Any]) -> None:
    for attribute in ("__name__", "__qualname__", "__doc__", "__module__"):
        setattr(call, attribute, getattr(stub, attribute))


def _choose_among(cases: dict[int, Callable[..., Any]], signature: inspect.Signature) -> Callable[..., Any]:
    """Write one function that runs any of the cases: it compiles much faster than one per case."""
    code, *others = signature.parameters
    arguments = ", ".join(others)
    lines = [f"def choose({code}, {arguments}):"]
    # A CPU searches; a GPU tests one after the other, and the last law is stable, the paper's.
    for number in sorted(cases, reverse=True):
        lines += [f"    if {code} == {number}:", f"        return case_{number}({arguments})"]
    lines.append("    return nan")
    names: dict[str, Any] = {"__name__": __name__, "nan": math.nan}
    names |= {f"case_{number}": case for number, case in cases.items()}
    exec("\n".join(lines), names)  # noqa: S102 - of these lines
    chosen: Callable[..., Any] = names["choose"]
    return chosen
