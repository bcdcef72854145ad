"""Compile functions that become part of others, without machine code of their own.

Numba optimises and emits every function it compiles, with all that is inlined into it, and wraps it twice for
callers in Python and C; also one that only ever becomes part of another. What lies ten calls deep is then
compiled ten times. A `Part` is typed and lowered, but optimised and emitted only with the entry that it ends
up in: less than half the time. If Python calls one, that is compiled then.

It reaches into numba's compiler, which has no option for this; tests compare all results with plain Python.
"""

# Numba has no types, and no public names for these.
# mypy: disallow-untyped-calls=False
# ruff: noqa: SLF001
from collections.abc import Callable
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.errors import TypingError
from numba.core.registry import CPUDispatcher
from numba.core.types import unliteral

from heavytail.kernels._quick_compiler import QuickCompiler
from heavytail.kernels.interpreting import interpreter

NO_WRAPPERS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class Part(CPUDispatcher):
    """A function that is compiled into the compiled functions that call it."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], compile_alone: Any) -> None:
        super().__init__(function, {}, {"nopython": True, **options, **NO_WRAPPERS}, _PartCompiler)
        self._compile_alone = compile_alone

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function, compiled by itself; or as plain Python, where its caller is interpreted."""
        if interpreter.is_overtaken is not None:
            return interpreter.call(self.py_func, *args, **kwargs)
        return self._compile_alone(self.py_func, *args)(*args, **kwargs)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Type a call with a number in the source code as one with any: it is not compiled for each."""
        try:
            return super().get_call_template([unliteral(argument) for argument in args], kws)
        except TypingError:  # the number decides what the types are
            return super().get_call_template(args, kws)


class _PartCompiler(QuickCompiler):
    def __init__(self, typing: Any, target: Any, _: Any, *rest: Any) -> None:
        *_, flags, _ = rest
        flags.no_compile = True
        super().__init__(typing, target, _PartLibrary(target.codegen(), "part"), *rest)

    def _compile_core(self) -> Any:
        # Numba finds a function by its entry point, so each needs one of its own; no one calls it.
        result = super()._compile_core()._replace(entry_point=[].append)
        libraries = result.library.with_all_called()
        result.target_context.insert_user_function(result.entry_point, result.fndesc, libraries)
        return result


class _PartLibrary(JITCodeLibrary):
    """Code for LLVM of which no machine code is made; what it calls is linked where that is done."""

    def _optimize_functions(self, module: Any) -> None:
        """Do as numba does, for what is defined here: it does so for each name of a function, too."""
        module.data_layout = self._codegen._data_layout
        passes, builder = self._codegen._function_pass_manager()
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def finalize(self) -> None:
        for function in self.get_defined_functions():
            function.linkage = "linkonce_odr"  # or numba would do so in a copy
        self._finalized = True

    def with_all_called(self) -> list[Any]:
        """List this library and those of all that it calls, and they call, each once."""
        return list(dict.fromkeys([self, *self._linking_libraries]))


# What makes a part of the function that an overload returns, which numba compiles itself.
PART_OPTIONS: dict[str, Any] = {**NO_WRAPPERS, "pipeline_class": _PartCompiler}
