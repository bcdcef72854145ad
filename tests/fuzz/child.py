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
from typing import Any
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
    outside = _watch_writes(work)
    _limit_memory()
    for index in range(job.first, job.until):
        report(**{"try": index})
        rng = np.random.default_rng([job.seed, crc32(job.target.encode()), index])
        if fault := _try(try_one, rng) or _first(outside):
            report(fault=fault)
    report(end=True)


def _try(try_one: Callable[[np.random.Generator], None], rng: np.random.Generator) -> str:
    """Try an input; return what is wrong with the answer, nothing if it is one line or none."""
    try:
        try_one(rng)
    except InputError as error:
        line = str(error)
        if "\n" in line or len(line) > MAX_LINE:
            return f"a message of {len(line)} characters: {line[:300]!r}"
    except Exception:  # noqa: BLE001 - that is what is looked for
        return traceback.format_exc()
    return ""


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MAX_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


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
                    where = os.path.realpath(os.fsdecode(path))
                    if not where.startswith(allowed) and os.sep in os.fsdecode(path):
                        found.append(f"{event} outside of the folder: {where}")

    sys.addaudithook(hook)
    return found


def _first(found: list[str]) -> str:
    text = found[0] if found else ""
    found.clear()
    return text


if __name__ == "__main__":
    main(Job(*json.loads(sys.argv[1])), Path(sys.argv[2]), int(sys.argv[3]))
