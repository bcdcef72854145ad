"""The fuzzer's parent process: it starts children on the inputs of targets, and watches them.

A child says which input it tries; one that dies or stays silent has met a fault, and another child goes on
with the next input.
"""

import json
import os
import pkgutil
import select
import signal
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Self

import fuzz.targets

MAX_SECONDS = 5.0  # for an input; of processor time while it computes, since the machine may be busy
START_SECONDS = 600.0  # for what all inputs share, which may have to be compiled
MAX_FAULTS = 10  # of a job, which then ends
TESTS = Path(__file__).parents[1]


class Job(NamedTuple):
    """Some inputs of a target."""

    target: str
    seed: int
    first: int
    until: int


class Fault(NamedTuple):
    """What went wrong with an input."""

    job: Job
    number: int
    what: str

    def __str__(self) -> str:
        again = f"python -m fuzz {self.job.target} --seed {self.job.seed} --first {self.number} --inputs 1"
        return f"{self.job.target}, input {self.number}: {self.what}\n  again: {again}"


class Tally(NamedTuple):
    """What became of inputs of a target."""

    target: str
    faults: list[Fault]
    answered: int = 0
    refused: int = 0
    peak: int = 0  # most bytes that they took, beyond what was there before the first

    @property
    def tried(self) -> int:
        """How many they were."""
        return self.answered + self.refused + len(self.faults)

    def add(self, other: "Tally") -> "Tally":
        """Count two together."""
        return Tally(
            self.target,
            self.faults + other.faults,
            self.answered + other.answered,
            self.refused + other.refused,
            max(self.peak, other.peak),
        )


def target_names() -> list[str]:
    """List the targets: the modules of their folder."""
    return sorted(module.name for module in pkgutil.iter_modules(fuzz.targets.__path__))


def run_targets(names: Sequence[str], given: Namespace, folder: Path) -> list[Tally]:
    """Run the targets side by side in `given.workers` processes, and return what became of their inputs."""
    shares = {name: import_module(f"fuzz.targets.{name}").SHARE for name in names}
    deadline = time.monotonic() + given.seconds
    jobs = [
        job
        for name, share in shares.items()
        for job in _cut(name, given, max(1, round(given.inputs * share / sum(shares.values()))))
    ]
    jobs.sort(key=lambda job: job.until - job.first)  # if time runs out, it does for the longest
    with ThreadPoolExecutor(given.workers) as pool:
        found = list(pool.map(lambda job: _run_job(job, folder, deadline), jobs))
    return [reduce(Tally.add, (tally for tally in found if tally.target == name)) for name in names]


def _cut(name: str, given: Namespace, inputs: int) -> Iterator[Job]:
    """Cut the inputs of a target into jobs of about the same length."""
    length = max(1, -(-given.inputs // given.workers))
    for first in range(given.first, given.first + inputs, length):
        yield Job(name, given.seed, first, min(first + length, given.first + inputs))


def _run_job(job: Job, folder: Path, deadline: float) -> Tally:
    tally = Tally(job.target, [])
    next_index, started = job.first, time.monotonic()
    while next_index < job.until and len(tally.faults) < MAX_FAULTS and time.monotonic() < deadline:
        with Child(job._replace(first=next_index), folder) as child:
            next_index = child.watch(len(tally.faults), deadline)
        tally = tally.add(child.tally)
    seconds = time.monotonic() - started
    done = f"{tally.tried:,} of {job.until - job.first:,} inputs in {seconds:,.0f} s"
    print(f"{job.target}: {done}, {len(tally.faults)} faults", flush=True)  # noqa: T201 - a script
    return tally


def _status_fields(folder: Path) -> list[str]:
    """Read what Linux says of a process or a thread, from its state on."""
    return (folder / "stat").read_text().rpartition(")")[2].split()


def _runs(thread: Path) -> bool:
    try:
        return _status_fields(thread)[0] == "R"
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return False


class Child:
    """A process that tries the inputs of a job."""

    def __init__(self, job: Job, folder: Path) -> None:
        self.job = job
        self.folder = folder / f"{job.target}-{job.first}"
        self.folder.mkdir(exist_ok=True)
        self.tally = Tally(job.target, [])
        self._buffer = b""

    def __enter__(self) -> Self:
        self._read, write = os.pipe()
        self._errors = (self.folder / "stderr").open("w+b")
        arguments = [json.dumps(self.job), str(self.folder), str(write)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fuzz.child", *arguments],
            cwd=TESTS,
            pass_fds=[write],
            stderr=self._errors,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])},
        )
        os.close(write)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._read)
        self._errors.close()

    def watch(self, earlier_faults: int, deadline: float) -> int:
        """Follow the child to its end, counting; return the number of the next input to try."""
        index, patience, before = self.job.first - 1, START_SECONDS, 0.0
        while True:
            message = self._receive(min(patience, max(deadline - time.monotonic(), 0.0)))
            if message is None:
                if time.monotonic() >= deadline:
                    return index
                computes, seconds = self._activity()
                if patience == MAX_SECONDS and computes and seconds - before < MAX_SECONDS:
                    continue
                self._note(index, f"no answer for {patience:g} s")
                return self._after(index)
            match message:
                case {"try": int(number)}:
                    index, patience, before = number, MAX_SECONDS, self._activity()[1]
                case {"fault": str(text)}:
                    self._note(index, text)
                    if earlier_faults + len(self.tally.faults) >= MAX_FAULTS:
                        return index + 1
                case {"refused": bool(is_refused), "bytes": int(peak)}:
                    self._count(answered=not is_refused, refused=is_refused, peak=peak)
                case {"end": True}:
                    return self.job.until
                case _:
                    self._note(index, self._death())
                    return self._after(index)

    def _after(self, index: int) -> int:
        """Return the next input; there is none where not even the first was reached."""
        return index + 1 if index >= self.job.first else self.job.until

    def _note(self, index: int, what: str) -> None:
        self.tally.faults.append(Fault(self.job, index, what))

    def _count(self, **numbers: int) -> None:
        self.tally = self.tally.add(Tally(self.job.target, [], **numbers))

    def _activity(self) -> tuple[bool, float]:
        """Return whether the child computes, or would if it had a core, and for how long it has."""
        folder = Path(f"/proc/{self.process.pid}")
        fields = _status_fields(folder)
        seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return any(map(_runs, folder.glob("task/*"))), seconds

    def _receive(self, seconds: float) -> dict[str, Any] | None:
        """Wait for the next message; None if there is none in time, an empty one if the child is dead."""
        stop = time.monotonic() + seconds
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(stop - time.monotonic(), 0.0))
            if not ready:
                return None
            received = os.read(self._read, 65536)
            if not received:
                return {}
            self._buffer += received
        line, _, self._buffer = self._buffer.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    def _death(self) -> str:
        code = self.process.wait()
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace")[-2000:]
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return f"the process died: {name}\n{said}"
