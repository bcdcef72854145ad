"""Parts on a GPU: all their runs in lanes (`heavytail.lanes`), tens of thousands at once.

Threads keep the GPU busy; meanwhile this one makes files of what has come out. A wave of lanes that takes
long keeps what it has come to in a drawer, and goes on from there. What is no work for lanes, such as deep
agents, is done by processes afterwards, as `LocalEngine` does it.
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
from heavytail.files import read_arrays, write_arrays
from heavytail.kernels.verbs import counter_names
from heavytail.registry import register
from heavytail.studies.backends.backend import Failed, RunCurve, RunResult, throttled
from heavytail.studies.engines import Event, Message, PartDone, PartProgress
from heavytail.studies.engines._cuda_batches import LaneBatch, lane_batches, split_batches
from heavytail.studies.engines.local import SECONDS_BETWEEN_NEWS, LocalEngine
from heavytail.studies.parts import part_to_parquet
from heavytail.studies.plan import Part
from heavytail.studies.specs.spec import env_kind
from heavytail.training.fused import FIRST_COUNTER, MEAN, REALISED
from heavytail.training.lanes.batch import Lanes, bytes_per_lane, lanes_that_fit
from heavytail.training.lanes.device import find_device, simulated

MAX_LANES = 65_536  # at once; the largest GPUs have registers for about as many threads
WAVES_SIDE_BY_SIDE = 16  # where they are small
MANY_PARTS = 50
DRAWER = "wave-"  # how names of drawers begin


class BatchDone(NamedTuple):
    """A wave, and what became of its lanes."""

    wave: LaneBatch
    values: Floats  # [L, C, columns of `heavytail.training.fused`]
    errors: dict[int, str]
    seconds: float
    resume_file: Path


class BatchUnsupported(NamedTuple):
    """A wave that no kernel can be made for."""

    wave: LaneBatch
    why: str


class EngineFailed(NamedTuple):
    """The end of everything."""

    error: BaseException


News: TypeAlias = (
    BatchDone | BatchUnsupported | EngineFailed | PartProgress | Message | None
)  # None: all is done
Tell: TypeAlias = Callable[[News], None]


@register("engine", "cuda")
def cuda(workers: Count | None = None, lanes: Count | None = None) -> "CudaEngine":
    """A GPU of this machine, so many `lanes` at a time; `workers` processes do what lanes cannot."""
    return CudaEngine(workers, lanes)


class CudaEngine:
    """A GPU of this machine."""

    def __init__(self, workers: int | None = None, lanes: int | None = None) -> None:
        self.device = find_device()
        self.most, self.workers = lanes or MAX_LANES, workers or len(os.sched_getaffinity(0))

    def run(self, parts: Sequence[Part], resume_folder: Path) -> Iterator[Event]:
        """Do these parts."""
        left = {part.id: part for part in parts}
        tabular = [part for part in parts if env_kind(part.env) == "tabular"]
        if tabular:
            for event in self._in_lanes(tabular, resume_folder):
                yield event
                if isinstance(event, PartDone):
                    del left[event.part.id]
        if left:
            yield from LocalEngine(self.workers).run(list(left.values()), resume_folder)

    def _in_lanes(self, parts: Sequence[Part], resume_folder: Path) -> Iterator[Event]:
        news: queue.SimpleQueue[News] = queue.SimpleQueue()
        stopped = threading.Event()
        found = {part.id: dict[int, RunResult]() for part in parts}
        thread = threading.Thread(
            target=self._work, args=(parts, resume_folder, news.put, stopped), daemon=True
        )
        thread.start()
        try:
            while (said := news.get()) is not None:
                if isinstance(said, EngineFailed):
                    raise said.error
                if isinstance(said, BatchDone):
                    yield from self._done(said, found)
                    said.resume_file.unlink(missing_ok=True)  # its parts are kept by now
                elif isinstance(said, BatchUnsupported):
                    yield Message(
                        f"{said.wave.lanes[0].part.agent} cannot run in lanes and is left to"
                        f" processes: {said.why}"
                    )
                else:
                    yield said
            for left in resume_folder.glob(
                f"*{DRAWER}*"
            ):  # of waves that were interrupted and had other lanes, or half written
                left.unlink()
        finally:
            stopped.set()
            thread.join()

    def _work(self, parts: Sequence[Part], resume_folder: Path, tell: Tell, stopped: threading.Event) -> None:
        """What the thread does: wave after wave; small ones side by side, each with a thread of its own."""
        busy: dict[Future[None], float] = {}
        try:
            with ThreadPoolExecutor(1 if simulated() else WAVES_SIDE_BY_SIDE) as threads:
                for wave in lane_batches(parts, self.most):
                    for piece in self._fitting(wave, tell):
                        _wait_for_room(busy, share := self._share(piece))
                        busy[threads.submit(_run_wave, piece, resume_folder, tell, stopped)] = share
                        if stopped.is_set():
                            return
                _wait_for_room(busy, 1.0)
            tell(None)
        except BaseException as error:  # noqa: BLE001 - it is raised again where it can be seen
            stopped.set()
            tell(EngineFailed(error))

    def _share(self, wave: LaneBatch) -> float:
        """How much of the GPU a wave takes: of its lanes or of its memory, whichever is more."""
        return len(wave.lanes) / min(self.most, self._fit(wave))

    def _fit(self, wave: LaneBatch) -> int:
        return lanes_that_fit(self.device.free_bytes, wave.lanes[0].agent, len(wave.at))

    def _fitting(self, wave: LaneBatch, tell: Tell) -> list[LaneBatch]:
        """The wave in pieces that fit the memory."""
        each, n = bytes_per_lane(wave.lanes[0].agent, len(wave.at)), len(wave.lanes)
        pieces = list(split_batches(wave.lanes, self._fit(wave)))
        cut = f", in {len(pieces)} waves" if len(pieces) > 1 else ""
        tell(
            Message(f"{wave}: {each / 1e3:,.1f} kB each, {n * each / 1e6:,.0f} MB on {self.device.name}{cut}")
        )
        return pieces

    def _done(self, ended: BatchDone, waiting: dict[str, dict[int, RunResult]]) -> Iterator[Event]:
        """The parts of which no run is missing any more."""
        share = ended.seconds / len(ended.wave.lanes)
        for lane, outcome in zip(ended.wave.lanes, _outcomes(ended), strict=True):
            found = waiting[lane.part.id]
            found[lane.place] = outcome
            if len(found) == len(lane.part.runs):
                ordered = [found[k] for k in range(len(found))]
                about = {"host": os.uname().nodename, "device": self.device.name}
                yield PartDone(lane.part, part_to_parquet(lane.part, ordered), share * len(found), about)
                found.clear()


def _wait_for_room(busy: "dict[Future[None], float]", share: float) -> None:
    """Wait until waves that are under way leave such a share of the GPU.

    What is submitted counts, though it may not have its memory yet.
    """
    while busy and sum(busy.values()) + share > 1.0:
        for future in wait(busy, return_when=FIRST_COMPLETED).done:
            del busy[future]
            future.result()


def _run_wave(wave: LaneBatch, resume_folder: Path, tell: Tell, stopped: threading.Event) -> None:
    """A wave from where it was left to its end."""
    digest = sha256("".join(lane.run.id for lane in wave.lanes).encode()).hexdigest()[:20]
    resume_file, started = resume_folder / f"{DRAWER}{digest}.npz", time.perf_counter()
    resume_folder.mkdir(parents=True, exist_ok=True)
    lanes = wave.begin()
    if resume_file.exists():
        try:
            lanes.restore(read_arrays(resume_file, "drawer of a study"))
        except InputError as error:
            raise InputError(f"{resume_file}: {error}") from None
    say = _sayer(wave, lanes, tell)

    def save() -> None:
        write_arrays(resume_file, lanes.arrays())

    save_if_due = throttled(save)

    def on_chunk() -> None:
        if stopped.is_set():
            save()
            raise _Stopped
        say()
        save_if_due()

    try:
        lanes.run(on_chunk)
    except _Stopped:
        return
    except NumbaError as error:
        tell(
            BatchUnsupported(
                wave, next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
            )
        )
        return
    seconds, steps = time.perf_counter() - started, lanes.steps()
    tell(Message(f"{wave}: {steps:.3g} steps in {seconds:,.1f} s, {steps / seconds:.2g} a second"))
    tell(BatchDone(wave, lanes.values(), lanes.errors(), seconds, resume_file))


def _sayer(wave: LaneBatch, lanes: Lanes, tell: Tell) -> Callable[[], None]:
    """What tells now and then how far a wave is; the more parts it has, the less often."""
    parts = {lane.part.id for lane in wave.lanes}
    pause = SECONDS_BETWEEN_NEWS * (1 + len(parts) // MANY_PARTS)
    told = time.monotonic()

    def say() -> None:
        nonlocal told
        if time.monotonic() - told > pause:
            told, share = time.monotonic(), lanes.share()
            for part in parts:
                tell(PartProgress(part, share))

    return say


class _Stopped(Exception):  # noqa: N818 - no error
    """Nobody wants the rest."""


def _outcomes(ended: BatchDone) -> Iterator[RunResult]:
    """What became of each lane."""
    names, at = counter_names(ended.wave.lanes[0].agent), ended.wave.at
    mdp = {id(lane.part.backend): lane.part.backend for lane in ended.wave.lanes}
    best = {key: backend.best(at) for key, backend in mdp.items()}
    for i, (lane, values) in enumerate(zip(ended.wave.lanes, ended.values, strict=True)):
        if i in ended.errors:
            yield Failed(f"{InputError.__name__}: {ended.errors[i]}")
            continue
        counters = {name: values[:, FIRST_COUNTER + k] for k, name in enumerate(names)}
        yield RunCurve(
            at, values[:, MEAN], values[:, REALISED], best[id(lane.part.backend)] - values[:, MEAN], counters
        )
