"""Compile kernels, and keep their machine code on disk.

This is the one file that imports ``njit``. A *kernel* is a small function that is always inlined into its
caller; an *entry* is a function that Python calls, compiled for the classes of the records it is given and
kept on disk. A kernel that Python calls is an entry too.

Numba decides whether a kept entry is still good by looking at the entry's own file. That is not enough here:
the loop lives in one file and the agent inlined into it in another, so an edited agent would be served from
the old machine code. So entries are kept in a folder named by a fingerprint of every piece of code that can
end up inside: the entry, the kernels it names, the kernels those name, the methods of the records' classes,
and the constants that any of them reads; and of the compiler itself. The fingerprint is taken from the code
objects that are loaded, not from the files: a file edited while a process runs cannot mislabel what that
process compiled, and an edited comment recompiles nothing.

Where several processes need the same entry at once, one compiles it and the others wait and load it.

The folder is ``$HEAVYTAIL_CACHE_DIR``, or ``heavytail`` in the user's cache folder. It holds machine code and
is readable by its owner alone. Who can write to it decides what this process runs, so that one that others
can write to is not used. A folder that no process has used for a month is removed.
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
from contextlib import contextmanager, nullcontext, suppress
from enum import Enum
from functools import cache, partial, wraps
from hashlib import sha256
from multiprocessing import parent_process
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
import numpy as np
from numba import njit

from heavytail._startup import gc_paused, skip_blas_probe
from heavytail.kernels import _part_compiler, _quick_compiler
from heavytail.kernels._kept_code import KeptCode
from heavytail.kernels._part_compiler import Part
from heavytail.kernels._quick_compiler import QuickCompiler
from heavytail.kernels.interpreting import interpret

skip_blas_probe()
config: Any = numba.config  # its names are made at run time
log = logging.getLogger("heavytail")
P = ParamSpec("P")
R = TypeVar("R")

FINGERPRINT = "[0-9a-f]{20}"
KEEP_UNUSED_SECONDS = 30 * 24 * 3600
SECONDS_OF_SILENCE = 1.0
# Without numba's runtime ("nrt") a kernel that allocates does not compile, and no reference is counted: a
# step takes 20 ns instead of 128.
ENTRY_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
KERNEL_OPTIONS: dict[str, Any] = {**ENTRY_OPTIONS, "forceinline": True}
SUBROUTINE_OPTIONS: dict[str, Any] = {**ENTRY_OPTIONS, "forceinline": False}  # a caller's True is inherited


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a small function that is always inlined into its caller."""
    return _part(function, KERNEL_OPTIONS)


def subroutine(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a larger function that is called, not inlined, so that two callers share its code."""
    return _part(function, SUBROUTINE_OPTIONS)


def _part(function: Callable[P, R], options: dict[str, Any]) -> Callable[P, R]:
    if config.DISABLE_JIT:
        return function
    return cast("Callable[P, R]", Part(function, options, entry))


def entry(function: Callable[P, R], *records: Any) -> Callable[P, R]:
    """Compile `function` for the classes of `records`, or load it from the disk."""
    return _entry(function, record_classes(*records), nogil=True)


def entry_with_gil(function: Callable[P, R], *records: Any) -> Callable[P, R]:
    """Do as `entry` does, for a function so short that it keeps the GIL, which takes time to hand over."""
    return _entry(function, record_classes(*records), nogil=False)


@cache
def _entry(function: Callable[P, R], classes: tuple[type, ...], *, nogil: bool) -> Callable[P, R]:
    if config.DISABLE_JIT:
        return partial(interpret, function)
    compiled: Any = njit(**{**ENTRY_OPTIONS, "nogil": nogil}, pipeline_class=QuickCompiler)(function)
    keepable = function.__module__ in sys.modules and all(map(_importable, classes))
    folder = _kept_folder(fingerprint(function, classes)) if keepable else None
    if folder is not None:
        compiled._cache = KeptCode(function, folder)  # noqa: SLF001 - numba takes no cache of ours
    compiled.compile = _one_process_at_a_time(compiled.compile, folder)
    return cast("Callable[P, R]", compiled)


def record_classes(*records: Any) -> tuple[type, ...]:
    """List the classes of the records and of the records nested in them, each once, in the order met."""
    classes: dict[type, None] = {}
    waiting = list(reversed(records))
    while waiting:
        record = waiting.pop()
        if isinstance(record, tuple) and hasattr(record, "_fields"):
            classes[type(record)] = None
            waiting.extend(reversed(record))
    return tuple(classes)


def _importable(cls: type) -> bool:
    """Tell whether another process finds this class under its name; if not, its code cannot be kept."""
    module = sys.modules.get(cls.__module__)
    return cls.__module__ != "__main__" and getattr(module, cls.__qualname__, None) is cls


# The folder


def cache_root() -> Path:
    """Return where compiled code is kept: ``$HEAVYTAIL_CACHE_DIR``, or a folder in the user's cache."""
    if given := os.environ.get("HEAVYTAIL_CACHE_DIR"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "heavytail"


def _kept_folder(name: str) -> Path | None:
    root = cache_root()
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


@cache  # once in a process: numba forgets what was warned of
def _warn_that_nothing_is_kept(reason: str) -> None:
    message = f"compiled code is not kept: {reason}"
    warnings.warn(f"{message}; set HEAVYTAIL_CACHE_DIR to a folder of your own, of mode 700", stacklevel=3)


def _others_can_write(folder: Path) -> bool:
    found = folder.stat()
    return found.st_uid != os.geteuid() or bool(found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def _remove_unused(root: Path) -> None:
    oldest = time.time() - KEEP_UNUSED_SECONDS
    for folder in root.iterdir():
        # By name, since a user may have chosen a folder that holds other things.
        ours = folder.is_dir() and re.fullmatch(FINGERPRINT, folder.name)
        if ours and folder.stat().st_mtime < oldest:
            shutil.rmtree(folder, ignore_errors=True)


def _one_process_at_a_time(compile_or_load: Callable[P, R], folder: Path | None) -> Callable[P, R]:
    """While one process compiles, others that need the same code wait, and then load it from the disk.

    Without a folder each compiles for itself.
    """

    @wraps(compile_or_load)
    def in_turn(*args: P.args, **kwargs: P.kwargs) -> R:
        locked = nullcontext() if folder is None else _locked(folder)
        with _said_if_long(folder), locked, gc_paused():  # collecting takes a tenth of compiling
            return compile_or_load(*args, **kwargs)

    return in_turn


@contextmanager
def _said_if_long(folder: Path | None) -> Iterator[None]:
    """Say that this process compiles, or waits for one that does, if it takes a while; once will do."""
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
    level = logging.INFO if is_worker else logging.WARNING  # of many workers, who asks hears it
    log.log(level, "heavytail: compiling, some seconds for each agent; %s", where)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # it was removed: nothing to share
        yield
        return
    try:
        with suppress(OSError):  # not every network disk knows locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_UN)  # a child forked meanwhile would keep it locked after closing
        os.close(handle)


# The fingerprint


def fingerprint(function: Callable[..., Any], classes: tuple[type, ...] = ()) -> str:
    """Name the machine code that `function` would become with records of these classes."""
    options = (ENTRY_OPTIONS, KERNEL_OPTIONS, SUBROUTINE_OPTIONS)
    lines = [*map(repr, options), *map(_describe_value, classes), *COMPILER]
    if config.BOUNDSCHECK:  # NUMBA_BOUNDSCHECK=1: an index out of range is an error, in other code
        lines.append("bounds are checked")
    seen: set[int] = set()
    waiting: list[Any] = [function]
    while waiting:
        item = waiting.pop()
        source = getattr(item, "py_func", getattr(item, "_defn", item))  # of a kernel, of an intrinsic
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
    return sha256("\n".join(lines).encode()).hexdigest()[:20]


def _is_code(value: Any) -> bool:
    if any(hasattr(value, name) for name in ("py_func", "_defn", "compiled_parts")):
        return True
    package = (getattr(value, "__module__", None) or "").partition(".")[0]
    return isinstance(value, types.FunctionType) and package not in ("numpy", "numba", "scipy")


def _describe_code(code: types.CodeType) -> Iterator[str]:
    constants = [c for c in code.co_consts if not isinstance(c, types.CodeType)]
    names = f"{code.co_names} {code.co_varnames} {code.co_freevars}"
    yield f"{code.co_qualname} {code.co_code.hex()} {constants!r} {names}"
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _describe_code(inner)


def _describe_module(module: types.ModuleType) -> list[str]:
    loader: Any = module.__loader__
    return list(_describe_code(loader.get_code(module.__name__)))


COMPILER = [*_describe_module(_part_compiler), *_describe_module(_quick_compiler)]  # as it is loaded


def _names_read(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield what a function names outside itself: globals, attributes of modules, variables of closures."""
    names = _all_names(function.__code__)
    for name in names:
        if name in function.__globals__:
            yield from _unfolded(name, function.__globals__[name], names, set())
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, cell.cell_contents
    yield "defaults", function.__defaults__


def _unfolded(name: str, value: Any, names: list[str], seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Yield a value; of a module, what is named of it and of modules in it (``package.module.CONSTANT``)."""
    if not isinstance(value, types.ModuleType):
        yield name, value
    elif id(value) not in seen:
        seen.add(id(value))
        for attribute in names:
            if hasattr(value, attribute):
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
