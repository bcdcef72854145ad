"""The engine `cuda`: runs in lanes of a GPU (`heavytail.training.lanes`), thousands at once.

Threads keep the GPU busy; meanwhile the main thread writes the results. A long batch of lanes saves its state
in a resume file, and continues from there. Work that cannot run in lanes, such as deep agents, is done by
processes afterwards, as in `LocalEngine`.
"""

import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, TypeAlias

from numba.core.errors import NumbaError

from heavytail.arrays import Floats
from heavytail.checks import Count
from heavytail.errors import InputError
from heavytail.kernels.verbs import counter_names
from heavytail.registry import register
from heavytail.studies.backends import backend_of
from heavytail.studies.backends.backend import (
    Failed,
    RunCurve,
    RunResult,
    read_state,
    take_up,
    throttled,
    write_state,
)
from heavytail.studies.engines import Event, Message, PartDone, PartProgress
from heavytail.studies.engines._cuda_batches import LaneBatch, lane_batches, split_batches
from heavytail.studies.engines.local import LocalEngine
from heavytail.studies.part import Part
from heavytail.studies.part_table import part_to_parquet
from heavytail.studies.specs.spec import env_kind
from heavytail.training.fused import FIRST_COUNTER, MEAN, REALISED
from heavytail.training.lanes.batch import Lanes, bytes_per_lane, lanes_that_fit
from heavytail.training.lanes.device import find_device, simulated

MAX_LANES = 65_536  # at once; the largest GPUs have registers for about as many threads
MAX_CONCURRENT_BATCHES = 16  # if they are small
SECONDS_BETWEEN_UPDATES = 0.5
PARTS_PER_UPDATE = 50  # batches of more parts report progress less often
RESUME_PREFIX = "batch-"  # of the names of resume files


class BatchDone(NamedTuple):
    """A finished batch of lanes."""

    batch: LaneBatch
    values: Floats  # [L, C, columns of `heavytail.training.fused`]
    errors: dict[int, str]
    seconds: float
    resume_file: Path


class BatchUnsupported(NamedTuple):
    """A batch that no kernel can be compiled for."""

    batch: LaneBatch
    reason: str


class EngineFailed(NamedTuple):
    """An error that ends the study."""

    error: BaseException


# from the threads to the study; None: all is done
Update: TypeAlias = BatchDone | BatchUnsupported | EngineFailed | PartProgress | Message | None
Send: TypeAlias = Callable[[Update], None]


@register("engine", "cuda")
def cuda(workers: Count | None = None, lanes: Count | None = None) -> "CudaEngine":
    """A GPU of this machine, with up to `lanes` runs at a time; `workers` processes do other work.

    Args:
        workers: processes for work that cannot run in lanes; by default one per core.
        lanes: runs at a time; by default 65,536, or as many as fit into its memory.
    """
    return CudaEngine(workers, lanes)


class CudaEngine:
    """A GPU of this machine."""

    def __init__(self, workers: int | None = None, lanes: int | None = None) -> None:
        self.device = find_device()
        self.max_lanes, self.processes = lanes or MAX_LANES, LocalEngine(workers)

    def run(self, parts: Sequence[Part], resume_folder: Path) -> Iterator[Event]:
        """Compute these parts."""
        left = {part.id: part for part in parts}
        tabular = [part for part in parts if env_kind(part.env) == "tabular"]
        if tabular:
            for event in self._in_lanes(tabular, resume_folder):
                yield event
                if isinstance(event, PartDone):
                    del left[event.part.id]
        if left:
            yield from self.processes.run(list(left.values()), resume_folder)

    def _in_lanes(self, parts: Sequence[Part], resume_folder: Path) -> Iterator[Event]:
        updates: queue.SimpleQueue[Update] = queue.SimpleQueue()
        stopped = threading.Event()
        results = {part.id: dict[int, RunResult]() for part in parts}
        thread = threading.Thread(
            target=self._work, args=(parts, resume_folder, updates.put, stopped), daemon=True
        )
        thread.start()
        try:
            while (update := updates.get()) is not None:
                if isinstance(update, EngineFailed):
                    raise update.error
                if isinstance(update, BatchDone):
                    yield from self._finished_parts(update, results)
                    update.resume_file.unlink(missing_ok=True)  # its parts are stored by now
                elif isinstance(update, BatchUnsupported):
                    agent = update.batch.lanes[0].part.agent
                    yield Message(f"{agent} cannot run in lanes and is left to processes: {update.reason}")
                else:
                    yield update
            # of interrupted batches with other lanes, or half written
            for pattern in (f"{RESUME_PREFIX}*.npz", f".{RESUME_PREFIX}*"):
                for left in resume_folder.glob(pattern):
                    left.unlink()
        finally:
            stopped.set()
            thread.join()

    def _work(self, parts: Sequence[Part], resume_folder: Path, send: Send, stopped: threading.Event) -> None:
        """Run batch after batch in a thread; small ones side by side, each in its own thread."""
        busy: dict[Future[None], float] = {}
        try:
            with ThreadPoolExecutor(1 if simulated() else MAX_CONCURRENT_BATCHES) as threads:
                for batch in lane_batches(parts, self.max_lanes):
                    for piece in self._fitting(batch, send):
                        _wait_for_room(busy, share := self._share(piece))
                        busy[threads.submit(_run_batch, piece, resume_folder, send, stopped)] = share
                        if stopped.is_set():
                            return
                _wait_for_room(busy, 1.0)
            send(None)
        except BaseException as error:  # noqa: BLE001 - the study's thread raises it again
            stopped.set()
            send(EngineFailed(error))

    def _share(self, batch: LaneBatch) -> float:
        """Return the share of the GPU that a batch takes: of its lanes or its memory, whichever is more."""
        return len(batch.lanes) / min(self.max_lanes, self._fit(batch))

    def _fit(self, batch: LaneBatch) -> int:
        return lanes_that_fit(self.device.free_bytes, batch.lanes[0].agent, len(batch.at))

    def _fitting(self, batch: LaneBatch, send: Send) -> list[LaneBatch]:
        """Split a batch into pieces that fit into memory."""
        each, n = bytes_per_lane(batch.lanes[0].agent, len(batch.at)), len(batch.lanes)
        pieces = list(split_batches(batch.lanes, self._fit(batch)))
        cut = f", in {len(pieces)} batches" if len(pieces) > 1 else ""
        memory = f"{each / 1e3:,.1f} kB each, {n * each / 1e6:,.0f} MB"
        send(Message(f"{batch}: {memory} on {self.device.name}{cut}"))
        return pieces

    def _finished_parts(
        self, done: BatchDone, results: dict[str, dict[int, RunResult]]
    ) -> Iterator[PartDone]:
        """Add the results of a batch, and yield the parts that are now complete."""
        seconds_per_lane = done.seconds / len(done.batch.lanes)
        about = {"host": os.uname().nodename, "device": self.device.name}
        for lane, result in zip(done.batch.lanes, _lane_results(done), strict=True):
            runs = results[lane.part.id]
            runs[lane.place] = result
            if len(runs) == len(lane.part.runs):
                ordered = [runs[k] for k in range(len(runs))]
                seconds = seconds_per_lane * len(runs)
                yield PartDone(lane.part, part_to_parquet(lane.part, ordered), seconds, about)
                runs.clear()


def _wait_for_room(busy: "dict[Future[None], float]", share: float) -> None:
    """Wait until running batches leave this share of the GPU.

    Submitted batches count, though they may not have their memory yet.
    """
    while busy and sum(busy.values()) + share > 1.0:
        for future in wait(busy, return_when=FIRST_COMPLETED).done:
            del busy[future]
            future.result()


def _run_batch(batch: LaneBatch, resume_folder: Path, send: Send, stopped: threading.Event) -> None:
    """Run a batch to its end, from where it was left."""
    # the ids of runs are digests of all that their results depend on
    owner = sha256("".join(lane.run.id for lane in batch.lanes).encode()).hexdigest()
    resume_file, started = resume_folder / f"{RESUME_PREFIX}{owner[:20]}.npz", time.perf_counter()
    resume_folder.mkdir(parents=True, exist_ok=True)
    lanes = batch.begin()

    def load(path: Path) -> None:
        arrays = read_state(path, owner)
        try:
            lanes.restore(arrays)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    take_up(resume_file, load, lambda words: send(Message(words)))
    report_progress = _progress_reporter(batch, lanes, send)

    def save() -> None:
        write_state(resume_file, owner, lanes.arrays())

    save_if_due = throttled(save)

    def on_chunk() -> None:
        if stopped.is_set():
            save()
            raise _Stopped
        report_progress()
        save_if_due()

    try:
        lanes.run(on_chunk)
    except _Stopped:
        return
    except NumbaError as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        send(BatchUnsupported(batch, lines[0] if lines else type(error).__name__))
        return
    seconds, steps = time.perf_counter() - started, lanes.steps()
    send(Message(f"{batch}: {steps:.3g} steps in {seconds:,.1f} s, {steps / seconds:.2g} a second"))
    send(BatchDone(batch, lanes.values(), lanes.errors(), seconds, resume_file))


def _progress_reporter(batch: LaneBatch, lanes: Lanes, send: Send) -> Callable[[], None]:
    """Make a function that reports the progress of a batch now and then, less often if it has many parts."""
    parts = {lane.part.id for lane in batch.lanes}
    pause = SECONDS_BETWEEN_UPDATES * (1 + len(parts) // PARTS_PER_UPDATE)
    reported = time.monotonic()

    def report_progress() -> None:
        nonlocal reported
        if time.monotonic() - reported > pause:
            reported, share = time.monotonic(), lanes.share()
            for part in parts:
                send(PartProgress(part, share))

    return report_progress


class _Stopped(Exception):  # noqa: N818 - not an error
    """The study has ended, or was interrupted."""


def _lane_results(done: BatchDone) -> Iterator[RunResult]:
    """Yield the result of each lane."""
    names, at = counter_names(done.batch.lanes[0].agent), done.batch.at
    parts = {lane.part.environment: lane.part for lane in done.batch.lanes}
    best = {key: backend_of(part).best(at) for key, part in parts.items()}
    for i, (lane, values) in enumerate(zip(done.batch.lanes, done.values, strict=True)):
        if i in done.errors:
            yield Failed(f"{InputError.__name__}: {done.errors[i]}")
            continue
        mean, realised = values[:, MEAN], values[:, REALISED]
        counters = {name: values[:, FIRST_COUNTER + k] for k, name in enumerate(names)}
        yield RunCurve(at, mean, realised, best[lane.part.environment] - mean, counters)
