"""Compile functions that become part of others, without machine code of their own.

Numba optimises and emits every function it compiles, with all that is inlined into it, and wraps it twice for
callers in Python and C; also one that only ever becomes part of another. What lies ten calls deep is then
compiled ten times. A `Part` is typed and lowered, but optimised and emitted only with the entry that it ends
up in: less than half the time. If Python calls one, that is compiled then.

It reaches into numba's compiler, which has no option for this; tests compare all results with plain Python.
"""

# ruff: noqa: SLF001 - numba's compiler has no public names for these
from collections.abc import Callable
from typing import Any

from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher

NO_WRAPPERS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class Part(CPUDispatcher):
    """A function that is compiled into the compiled functions that call it."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], compile_alone: Any) -> None:
        super().__init__(function, {}, {"nopython": True, **options, **NO_WRAPPERS}, _PartCompiler)
        self._compile_alone = compile_alone

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function, compiled by itself."""
        return self._compile_alone(self.py_func, *args)(*args, **kwargs)


class _PartCompiler(Compiler):
    def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:
        _, _, flags, _ = rest
        flags.no_compile = True
        library = target.codegen().create_library("part")
        library.finalize = lambda: _link(library)
        # Numba has no types.
        super().__init__(typing, target, library, *rest)  # type: ignore[no-untyped-call]

    def _compile_core(self) -> Any:
        # Numba finds a function by its entry point, so each needs one of its own; no one calls it.
        result = super()._compile_core()._replace(entry_point=[].append)  # type: ignore[no-untyped-call]
        result.target_context.insert_user_function(result.entry_point, result.fndesc, [result.library])
        return result


def _link(library: Any) -> None:
    """Finish a library with what it calls linked in, neither optimised nor emitted."""
    for called in dict.fromkeys(library._linking_libraries):
        library._reload_init.update(called._reload_init)
        library._final_module.link_in(called._get_module_for_linking(), preserve=True)
    library._finalize_dynamic_globals()
    library._finalized = True


# What makes a part of the function that an overload returns, which numba compiles itself.
PART_OPTIONS: dict[str, Any] = {**NO_WRAPPERS, "pipeline_class": _PartCompiler}
