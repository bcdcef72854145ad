"""Numba's compiler without what kernels do not need.

Most of the time of a compilation is numba's own Python, and much of it finds out again what was found before:
which function is meant by a sum of two floats is asked hundreds of times while one entry is compiled, of a
dozen templates each. Here it is asked once. Passes over functions that cannot change them are left out.

It reaches into numba's compiler, which has no option for this; tests compare all results with plain Python.
"""

# Numba has no types.
# mypy: disallow-untyped-calls=False
from functools import cache
from types import CodeType
from typing import Any

from numba.core.compiler import Compiler
from numba.core.typed_passes import NopythonRewrites
from numba.core.types import Type
from numba.core.typing.context import Context
from numba.core.untyped_passes import InlineClosureLikes


class QuickCompiler(Compiler):
    """What compiles kernels and entries."""

    def __init__(self, typing: Any, *rest: Any) -> None:
        super().__init__(_remembering(typing), *rest)

    def define_pipelines(self) -> list[Any]:
        """Leave out the passes for array expressions, which allocate, and for functions inside this one."""
        unneeded: set[type] = {NopythonRewrites}
        constants = self.state.func_id.code.co_consts
        if not any(isinstance(constant, CodeType) for constant in constants):
            unneeded.add(InlineClosureLikes)
        return [_without(unneeded, pipeline) for pipeline in super().define_pipelines()]


def _without(unneeded: set[type], pipeline: Any) -> Any:
    pipeline.passes = [step for step in pipeline.passes if step[0] not in unneeded]
    return pipeline


class _RememberingContext(Context):
    """Numba's typing context, which finds out only once in a compilation what a call means.

    Not longer: when the next one begins, other code may have been compiled with other options.
    """

    def __init__(self, context: Any) -> None:
        self.__dict__ = context.__dict__

    def resolve_function_type(self, function: Any, arguments: Any, keywords: Any) -> Any:
        """Return the signature of a call."""
        resolve = super().resolve_function_type
        if keywords or not all(isinstance(argument, Type) for argument in arguments):  # or an index itself
            return resolve(function, arguments, keywords)
        outermost: Any = self.callstack[len(self.callstack) - 1]  # numba counts from the innermost
        known = vars(outermost).setdefault("known_calls", {})
        call = function, tuple(arguments)
        if call not in known:
            known[call] = resolve(function, arguments, keywords)
        return known[call]


@cache
def _remembering(context: Any) -> Any:
    return _RememberingContext(context)
