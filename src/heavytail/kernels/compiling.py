"""Compile kernels, and keep their machine code on disk.

This is the one file that imports ``njit``. A *kernel* is a small function that is always inlined into its
caller; an *entry* is a function that Python calls, compiled for the classes of the records it is given and
kept on disk. A kernel that Python calls runs as plain Python.

Numba decides whether a kept entry is still good by looking at the entry's own file. That is not enough here:
the loop lives in one file and the agent inlined into it in another, so an edited agent would be served from
the old machine code. So entries are kept in a folder named by a fingerprint of every piece of code that can
end up inside: the entry, the kernels it names, the kernels those name, the methods of the records' classes,
and the constants that any of them reads; and of the compiler and the processor. The fingerprint is taken from
the loaded code objects, not from the files: a file edited while a process runs cannot mislabel what that
process compiled, and an edited comment recompiles nothing.

If several processes need the same entry at once, one compiles it and the others wait and load it. Code that
cannot be loaded is compiled again.

The folder is ``$HEAVYTAIL_CACHE_DIR``, or ``heavytail`` in the user's cache folder. It holds machine code and
is readable only by its owner. Anyone who can write to it controls what this process runs, so a folder that
others can write to is not used. A folder that no process has used for a month is removed.
"""

import fcntl
import logging
import os
import re
import shutil
import stat
import sys
import threading
import time
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from functools import cache
from hashlib import sha256
from multiprocessing import parent_process
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np
from numba import njit
from numba.core.errors import NumbaError
from numba.extending import register_jitable

from heavytail.guards import gc_paused

config: Any = numba.config  # its names are made at run time
log = logging.getLogger("heavytail")
P = ParamSpec("P")
R = TypeVar("R")

FINGERPRINT = "[0-9a-f]{20}"
KEEP_UNUSED_SECONDS = 30 * 24 * 3600
SECONDS_OF_SILENCE = 1.0
# Without numba's runtime ("nrt") a kernel that allocates does not compile, and no reference is counted: a
# step takes 20 ns instead of 128. Rewrites are of array expressions, which allocate.
ENTRY_OPTIONS: Any = {"error_model": "numpy", "_nrt": False, "no_rewrites": True}
PART_OPTIONS: Any = {
    **ENTRY_OPTIONS,
    "nogil": True,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
KERNEL_OPTIONS: Any = {**PART_OPTIONS, "forceinline": True}
SUBROUTINE_OPTIONS: Any = {**PART_OPTIONS, "forceinline": False}  # a caller's True is inherited


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Let compiled code call a small function, which is always inlined there."""
    return _part(function, KERNEL_OPTIONS)


def subroutine(function: Callable[P, R]) -> Callable[P, R]:
    """Let compiled code call a larger function, not inlined, so that two callers share its code."""
    return _part(function, SUBROUTINE_OPTIONS)


def _part(function: Callable[P, R], options: dict[str, Any]) -> Callable[P, R]:
    if not config.DISABLE_JIT:
        register_jitable(**options)(function)
    return function


def interpret(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a function and its kernels as plain Python; integers wrap and floats overflow silently."""
    with np.errstate(all="ignore"):
        return function(*args, **kwargs)


class Entry:
    """A function that Python calls, compiled on the first call or loaded from its folder.

    Attributes:
        dispatcher: numba's dispatcher, which holds the compiled signatures.
        folder: where its machine code is kept, or None.
    """

    def __init__(self, function: Callable[..., Any], folder: Path | None, *, nogil: bool) -> None:
        self._function, self._nogil = function, nogil
        self.folder = folder
        self.dispatcher = self._new_dispatcher()

    def _new_dispatcher(self) -> Any:
        options = {**ENTRY_OPTIONS, "nogil": self._nogil}
        if self.folder is None:
            return njit(**options)(self._function)
        with _decorating:  # numba reads the folder when a function is decorated
            before, config.CACHE_DIR = config.CACHE_DIR, str(self.folder)
            try:
                return njit(cache=True, **options)(self._function)
            finally:
                config.CACHE_DIR = before

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function."""
        if config.DISABLE_JIT:
            return interpret(self._function, *arguments)
        if not self.dispatcher.signatures:
            self.compile(tuple(map(numba.typeof, arguments)))
        return self.dispatcher(*arguments)

    def is_ready(self, signature: tuple[Any, ...]) -> bool:
        """Return whether nothing needs compiling: the code is loaded or on disk."""
        kept = self.folder is not None and any(self.folder.glob("*/*.nbi"))
        return kept or signature in self.dispatcher.overloads

    def compile(self, signature: tuple[Any, ...]) -> Callable[..., Any]:
        """Compile it for arguments of these types, or load it; return a function for Python to call.

        While one process compiles, others that need the same code wait, then load it from disk.
        """
        with _said_if_long(self.folder), _locked(self.folder), gc_paused():  # saves a tenth of the time
            try:
                return self._compile(signature)
            except NumbaError:
                raise
            except Exception:
                if self.folder is None:
                    raise
                self._forget()
                return self._compile(signature)

    def _compile(self, signature: tuple[Any, ...]) -> Callable[..., Any]:
        try:
            compiled: Callable[..., Any] = self.dispatcher.compile(signature)
        except OSError as error:  # it could not be written
            if signature not in self.dispatcher.overloads:
                raise
            _warn_that_nothing_is_kept(f"{cache_root()} cannot be written ({error.strerror})")
            compiled = self.dispatcher.compile(signature)
        return compiled

    def _forget(self) -> None:
        """Discard the kept code, because it cannot be loaded."""
        for kept in self.folder.iterdir() if self.folder else ():
            shutil.rmtree(kept, ignore_errors=True)
        self.dispatcher = self._new_dispatcher()


_decorating = threading.Lock()


def entry(function: Callable[..., Any], *records: Any) -> Entry:
    """Compile `function` for the classes of `records`, or load it from the disk."""
    return _entry(function, record_classes(*records), nogil=True)


def entry_with_gil(function: Callable[..., Any], *records: Any) -> Entry:
    """Do as `entry` does, but keep the GIL: for short functions, releasing it costs too much."""
    return _entry(function, record_classes(*records), nogil=False)


@cache
def _entry(function: Callable[..., Any], classes: tuple[type, ...], *, nogil: bool) -> Entry:
    source = Path(function.__code__.co_filename)
    keepable = not config.DISABLE_JIT and function.__module__ in sys.modules and source.is_file()
    folder = None
    if keepable and all(map(_importable, classes)):
        found = source.stat()  # numba checks it too: it ignores code from a file of another time
        stamp = f"{fingerprint(function, classes)} {source} {found.st_mtime_ns} {found.st_size}"
        folder = _kept_folder(_digest(stamp))
    return Entry(function, folder, nogil=nogil)


def record_classes(*records: Any) -> tuple[type, ...]:
    """List the distinct classes of the records and those nested in them, in order of appearance."""
    classes: dict[type, None] = {}
    waiting = list(reversed(records))
    while waiting:
        record = waiting.pop()
        if isinstance(record, tuple) and hasattr(record, "_fields"):
            classes[type(record)] = None
            waiting.extend(reversed(record))
    return tuple(classes)


def _importable(cls: type) -> bool:
    """Return whether other processes can import this class by name; if not, its code is not kept."""
    module = sys.modules.get(cls.__module__)
    return cls.__module__ != "__main__" and getattr(module, cls.__qualname__, None) is cls


# The folder


def cache_root() -> Path:
    """Return where compiled code is kept: ``$HEAVYTAIL_CACHE_DIR``, or a folder in the user's cache."""
    if given := os.environ.get("HEAVYTAIL_CACHE_DIR"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "heavytail"


def _kept_folder(name: str) -> Path | None:
    try:
        root = cache_root()
    except RuntimeError:  # of Path.home
        _warn_that_nothing_is_kept("HOME is not set, and nothing is known of this user")
        return None
    folder = root / name
    try:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not _others_can_write(root):
            if not folder.is_dir():
                _remove_unused(root)
                folder.mkdir(exist_ok=True, mode=0o700)
            os.utime(folder)
            if not _others_can_write(folder):
                return folder
        reason = f"others can write to {root}, and so decide what runs here"
    except OSError as error:
        reason = f"{root} cannot be written ({error.strerror})"
    _warn_that_nothing_is_kept(reason)
    return None


@cache  # once per process: numba resets the registry of warnings
def _warn_that_nothing_is_kept(reason: str) -> None:
    message = f"compiled code is not kept: {reason}"
    warnings.warn(f"{message}; set HEAVYTAIL_CACHE_DIR to a folder of your own, of mode 700", stacklevel=3)


def _others_can_write(folder: Path) -> bool:
    found = folder.stat()
    return found.st_uid != os.geteuid() or bool(found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def _remove_unused(root: Path) -> None:
    oldest = time.time() - KEEP_UNUSED_SECONDS
    for folder in root.iterdir():
        # Match by name, since the user's folder may hold other things.
        ours = folder.is_dir() and re.fullmatch(FINGERPRINT, folder.name)
        if ours and folder.stat().st_mtime < oldest:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _said_if_long(folder: Path | None) -> Iterator[None]:
    """Log once that this process is compiling, or waiting for one that is, if that takes a while."""
    timer = threading.Timer(SECONDS_OF_SILENCE, _say_that_it_compiles, [folder is not None])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@cache
def _say_that_it_compiles(kept: bool) -> None:
    where = f"kept for next time in {cache_root()}" if kept else "not kept, so in every process anew"
    is_worker = parent_process() is not None
    level = logging.INFO if is_worker else logging.WARNING  # many workers would repeat it
    log.log(level, "heavytail: compiling, a few seconds for each agent; %s", where)


@contextmanager
def _locked(folder: Path | None) -> Iterator[None]:
    try:
        handle = os.open(folder or "", os.O_RDONLY)
    except OSError:  # no folder, or it was removed: nothing to share
        yield
        return
    try:
        with suppress(OSError):  # not every network disk supports locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_UN)  # a child forked meanwhile would keep it locked after closing
        os.close(handle)


# The fingerprint


def fingerprint(function: Callable[..., Any], classes: tuple[type, ...] = ()) -> str:
    """Return a name for the machine code of `function` with records of these classes."""
    lines = [*_compiler(), *map(_describe_value, classes)]
    seen: set[int] = set()
    waiting: list[Any] = [function]
    while waiting:
        item = waiting.pop()
        source = getattr(item, "__wrapped__", item)  # of an intrinsic
        if id(source) in seen:
            continue
        seen.add(id(source))
        if parts := getattr(source, "compiled_parts", None):
            waiting.extend(parts(classes))
        elif isinstance(source, types.FunctionType):
            lines.extend(_describe_code(source.__code__))
            for name, value in _names_read(source):
                if _is_code(value):
                    waiting.append(value)
                else:
                    lines.append(f"{source.__module__}.{name} = {_describe_value(value)}")
    return _digest("\n".join(lines))


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:20]


@cache
def _compiler() -> list[str]:
    """Describe the compiler, its options and the processor."""
    versions = sys.version, numba.__version__, llvmlite.__version__
    processor = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    # NUMBA_BOUNDSCHECK=1 compiles different code, in which an index out of range is an error
    settings = bool(config.BOUNDSCHECK), ENTRY_OPTIONS, KERNEL_OPTIONS, SUBROUTINE_OPTIONS
    return list(map(repr, (*versions, *processor, *settings)))


def _is_code(value: Any) -> bool:
    if any(hasattr(value, name) for name in ("__wrapped__", "compiled_parts")):
        return True
    return isinstance(value, types.FunctionType) and not _is_library(value.__module__ or "")


def _is_library(module: str) -> bool:
    return module.partition(".")[0] in ("numpy", "numba", "scipy")


def _describe_code(code: types.CodeType) -> Iterator[str]:
    constants = [c for c in code.co_consts if not isinstance(c, types.CodeType)]
    names = f"{code.co_names} {code.co_varnames} {code.co_freevars}"
    yield f"{code.co_qualname} {code.co_code.hex()} {constants!r} {names}"
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _describe_code(inner)


def _names_read(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the outside names a function uses: globals, attributes of modules, closure variables."""
    names = _all_names(function.__code__)
    for name in names:
        if name in function.__globals__:
            yield from _unfolded(name, function.__globals__[name], names, set())
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, cell.cell_contents
    yield "defaults", function.__defaults__


def _unfolded(name: str, value: Any, names: list[str], seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Yield a value; for a module, the named values in it and its modules (``package.module.CONSTANT``)."""
    if not isinstance(value, types.ModuleType):
        yield name, value
    elif id(value) not in seen:
        seen.add(id(value))
        for attribute in names:
            # Our modules may import names lazily; NumPy warns about names it no longer has
            if attribute in vars(value) or (not _is_library(value.__name__) and hasattr(value, attribute)):
                yield from _unfolded(f"{name}.{attribute}", getattr(value, attribute), names, seen)


def _all_names(code: types.CodeType) -> list[str]:
    inner = [_all_names(c) for c in code.co_consts if isinstance(c, types.CodeType)]
    return list(dict.fromkeys([*code.co_names, *(name for names in inner for name in names)]))


def _describe_value(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, (tuple, list)):
        return f"{type(value).__qualname__}({', '.join(map(_describe_value, value))})"
    if isinstance(value, type) and issubclass(value, Enum):
        return repr(list(value))
    if isinstance(value, (bool, int, float, complex, str, bytes, np.generic, Enum, type(None))):
        return repr(value)
    name = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__qualname__)}"
    return name + str(getattr(value, "_fields", ""))
