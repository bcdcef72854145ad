"""The fuzzer's child process: it tries inputs one after the other, within the limits that must hold."""

import faulthandler
import json
import os
import resource
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from fuzz.driver import Job
from heavytail.errors import InputError
from heavytail.kernels.compiling import cache_root

MAX_BYTES = 2 * 2**30  # that inputs may take, beyond what was there before the first
MAX_LINE = 2000  # characters of a message; a path may be long
CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


def main(job: Job, folder: Path, out: int) -> None:
    """Try the inputs of a job, and report each to the parent."""
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def report(**message: Any) -> None:
        os.write(out, json.dumps(message).encode() + b"\n")

    work = folder / "files"
    work.mkdir(exist_ok=True)
    try_one = import_module(f"fuzz.targets.{job.target}").start(work)
    before = _begin_peak()
    outside = _watch_writes(work)
    _limit_memory()
    for index in range(job.first, job.until):
        report(**{"try": index})
        rng = np.random.default_rng([job.seed, crc32(job.target.encode()), index])
        outcome = _try(try_one, rng)
        if fault := outcome.fault or _first(outside):
            report(fault=fault)
        else:
            report(refused=outcome.is_refused, bytes=_status("VmHWM") - before)
    report(end=True)


class Outcome(NamedTuple):
    """How an input ended: with one line, with an answer, or with a fault."""

    is_refused: bool = False
    fault: str = ""


def _try(try_one: Callable[[np.random.Generator], None], rng: np.random.Generator) -> Outcome:
    try:
        try_one(rng)
    except InputError as error:
        line = str(error)
        if "\n" in line or len(line) > MAX_LINE:
            return Outcome(fault=f"a message of {len(line)} characters: {line[:300]!r}")
        return Outcome(is_refused=True)
    except Exception:  # noqa: BLE001 - that is what is looked for
        return Outcome(fault=traceback.format_exc())
    return Outcome()


def _limit_memory() -> None:
    limit = _status("VmSize") + MAX_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _begin_peak() -> int:
    """Measure the peak of memory from now on; return the bytes that are in use."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def _status(name: str) -> int:
    """Return what Linux says of this process's memory, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def _watch_writes(folder: Path) -> list[str]:
    """Collect from now on what is written outside of a folder; compiled code is kept elsewhere."""
    sys.dont_write_bytecode = True
    found: list[str] = []
    kept = os.environ.get("JAX_COMPILATION_CACHE_DIR", "/dev/null")
    allowed = tuple(map(str, (folder.resolve(), cache_root().resolve(), kept, "/dev/null")))

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in CHANGES or (event == "open" and arguments[2] & WRITING):
            # A link may lead outside; what it is followed to may not
            for path in arguments[event == "os.symlink" : 2]:
                if isinstance(path, (str, bytes, os.PathLike)):
                    where = _place(os.fsdecode(path), is_followed=event in ("open", "os.truncate"))
                    if not where.startswith(allowed) and os.sep in os.fsdecode(path):
                        found.append(f"{event} outside of the folder: {where}")

    sys.addaudithook(hook)
    return found


def _place(path: str, *, is_followed: bool) -> str:
    """Resolve a path; its last link only if it is followed, rather than removed or replaced."""
    return os.path.realpath(path) if is_followed else str(Path(path).parent.resolve() / Path(path).name)


def _first(found: list[str]) -> str:
    text = found[0] if found else ""
    found.clear()
    return text


if __name__ == "__main__":
    main(Job(*json.loads(sys.argv[1])), Path(sys.argv[2]), int(sys.argv[3]))
