"""Machine code on disk, as numba writes it, in a folder that the fingerprint of the code names.

Numba's own cache asks whether the file of the function was touched since, and hashes what a closure holds: a
checkout elsewhere compiles everything again, and a function that closes over a kernel in every process. The
fingerprint answers for both.
"""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile


class KeptCode(FunctionCache):
    """The compiled forms of one function, one for each signature and processor."""

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self._name, self._py_func, self._cache_path = repr(function), function, str(folder)
        self._impl: Any = _CompiledForms(function, folder)
        self._cache_file: Any = IndexDataCacheFile(  # type: ignore[no-untyped-call]
            str(folder), "code", source_stamp=None
        )
        self.enable()  # type: ignore[no-untyped-call]

    def holds(self, signature: Any, codegen: Any) -> bool:
        """Tell whether a compiled form is there."""
        index = self._cache_file._load_index()  # noqa: SLF001 - numba's, as all this is
        return self._index_key(signature, codegen) in index

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return sig, codegen.magic_tuple()


class _CompiledForms(CompileResultCacheImpl):
    """What numba writes of a compiled form; where, it need not find out."""

    def __init__(self, function: Any, folder: Path) -> None:
        code = function.__code__
        self._lineno: int = code.co_firstlineno
        self._locator: Any = SimpleNamespace(
            _py_file=code.co_filename, ensure_cache_path=lambda: folder.mkdir(mode=0o700, exist_ok=True)
        )
