"""The engine `cuda`: the files of a study are those of any other engine, whatever happens to it."""

import io
import json
import os
import random
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from numba.core.errors import TypingError

from heavytail.errors import InputError
from heavytail.files import read_arrays, write_arrays
from heavytail.mdp.changing import changing_mdp
from heavytail.studies import Study, plan
from heavytail.studies.backends import backend, backend_of
from heavytail.studies.backends.backend import write_state
from heavytail.studies.engines import Event, PartDone, cuda
from heavytail.studies.engines._cuda_batches import LaneBatch, lane_batches, split_batches
from heavytail.studies.engines.cuda import CudaEngine
from heavytail.studies.engines.inline import InlineEngine
from heavytail.studies.engines.local import LocalEngine
from heavytail.studies.part import Part
from heavytail.studies.part_table import run_part
from heavytail.studies.plan import evaluation_cells, unique_parts
from heavytail.studies.specs.reading import make_spec
from heavytail.training.lanes import batch, cuda_kernels
from heavytail.training.lanes.batch import Lanes
from heavytail.training.lanes.device import Device
from support.processes import run
from support.small_studies import Files, Notes, files, finished, small

RUNS_PER_PART = 2


def study(**changes: Any) -> dict[str, Any]:
    """Tuning, evaluation and a map, on two environments; two runs in a part."""
    heavy = {"epsilon": 0.05, "transition_scale": 1e-3}
    raw: dict[str, Any] = {
        "agents": {
            "random": {},
            "heavy_q_learning": {
                "parameters": {**heavy, "moment": 1.0},
                "grid": {"reward_scale": [1e-5, 1e-3]},
            },
        },
        "maps": {
            "heavy_q_learning": {
                "parameters": heavy,
                "seeds": 3,
                "axes": {"moment": [0.3, 1.0], "reward_scale": [1e-5, 1e-3]},
            }
        },
    }
    return small(**{**raw, **changes})


@pytest.fixture(autouse=True)
def short_chunks_and_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "FIRST_CHUNK", 150)
    monkeypatch.setattr(batch, "next_chunk", lambda *known: 150)
    for name in ("STEPS_PER_PART", "SWEEP_STEPS_PER_PART"):
        monkeypatch.setattr(plan, name, RUNS_PER_PART * 60 * 25)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Files:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("STEPS_PER_PART", "SWEEP_STEPS_PER_PART"):
            patch.setattr(plan, name, RUNS_PER_PART * 60 * 25)
        folder = tmp_path_factory.mktemp("whole")
        Study(study(), folder).run("inline")
    return computed(folder)


@pytest.fixture
def saves_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "SECONDS_BETWEEN_SAVES", 0.0)
    monkeypatch.setattr(backend, "MIN_WORK_PER_SAVE", 0.0)


@pytest.fixture
def resumed(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How far lanes were that went on from a drawer."""
    shares, go_on = list[float](), Lanes.restore

    def noted(lanes: Lanes, arrays: Any) -> None:
        go_on(lanes, arrays)
        shares.append(lanes.share())

    monkeypatch.setattr(Lanes, "restore", noted)
    return shares


def parts_for(**changes: Any) -> list[Part]:
    """The parts of a study of one agent, three runs each in two environments if nothing else is said."""
    return unique_parts(evaluation_cells(make_spec(small(agents={"random": {}}, **changes)), {}))


def computed(folder: Path) -> Files:
    """What a study has computed, without the page that sums up its maps.

    That says by whom, and how long it took.
    """
    found = files(folder)
    assert found.pop("maps.parquet")
    return found


def resume_folder(folder: Path) -> list[Path]:
    return [path for path in (folder / "resume").iterdir() if path.is_file()]


# The same files


@pytest.mark.parametrize("lanes", [None, 3])
def test_the_files_are_those_of_any_engine(lanes: int | None, whole: Files, tmp_path: Path) -> None:
    hears, mine = Notes(), Study(study(), tmp_path)
    mine.run("cuda", lanes=lanes, listener=hears)
    assert computed(tmp_path) == whole
    assert sorted(hears.parts) == sorted(part.id for stage in mine.stages() for part in stage.parts)
    assert [stage["phase"] for stage in hears.stages] == ["tuning", "evaluation", "map"]
    assert not resume_folder(tmp_path)


def test_so_they_are_where_regret_is_by_gaps(tmp_path: Path) -> None:
    spec = small(regret="gaps", agents={"random": {}})
    for engine in ("inline", "cuda"):
        Study(spec, tmp_path / engine).run(engine)
    assert files(tmp_path / "cuda") == files(tmp_path / "inline")


def test_a_line_says_how_much_memory_it_takes_before_it_starts(tmp_path: Path) -> None:
    hears = Notes()
    Study(study(maps={}, tuning={"seeds": 3}), tmp_path).run("cuda", listener=hears)
    first = hears.words[0]
    assert re.fullmatch(
        r"heavy_q_learning on six_arms, 6 lanes: \d+\.\d kB each, 0 MB on numba's simulator", first
    )
    assert next(k for k, words in enumerate(hears.words) if "steps in" in words) > 0
    assert sum("kB each" in words for words in hears.words) == 6  # two batches of tuning, four of evaluation


def test_where_memory_is_short_there_are_more_batches(
    whole: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda, "find_device", lambda: Device("a small one", 100_000))
    hears, begun, begin = Notes(), list[str](), LaneBatch.begin

    def noted(lane_batch: LaneBatch) -> Lanes:
        begun.append(str(lane_batch))
        return begin(lane_batch)

    monkeypatch.setattr(LaneBatch, "begin", noted)
    Study(study(), tmp_path).run("cuda", listener=hears)
    assert computed(tmp_path) == whole
    assert any(
        re.fullmatch(r"heavy_q_learning on six_arms, 12 lanes: .* on a small one, in 3 batches", words)
        for words in hears.words
    )
    assert begun[-4:] == ["heavy_q_learning on six_arms, 4 lanes"] * 3 + [
        "heavy_q_learning on double_chain, 12 lanes"
    ]


def test_a_run_that_fails_is_recorded_as_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One reward is no number; the file says so in the same words."""
    (part,) = parts_for(envs={"double_chain": {}}, seeds=2)
    (mdp,) = backend_of(part).mdp.mdps  # type: ignore[attr-defined]
    broken = np.where(mdp.laws.parameters[:, :1] > 0, np.nan, mdp.laws.parameters)
    monkeypatch.setattr(
        backend_of(part), "mdp", changing_mdp([mdp._replace(laws=mdp.laws._replace(parameters=broken))], [])
    )
    expected = run_part(part)
    events = list(CudaEngine().run([part], tmp_path))
    (done,) = (event for event in events if isinstance(event, PartDone))
    assert done.content == expected
    assert all(error.startswith("InputError: the reward of step ") for error in errors_in(done.content))
    assert done.about["device"] == "numba's simulator"


def errors_in(content: bytes) -> list[str]:
    found: list[str] = pq.read_table(io.BytesIO(content))["error"].to_pylist()
    assert found
    return found


# Batches


def lanes_in(parts: Sequence[Part]) -> list[Any]:
    return [lane for lane_batch in lane_batches(parts, 10**6) for lane in lane_batch.lanes]


@pytest.mark.parametrize("most", [1, 2, 3, 4, 5, 100])
def test_batches_hold_every_run_once_and_whole_parts_where_they_can(most: int) -> None:
    parts = parts_for(seeds=7)
    batches = list(lane_batches(parts, most))
    assert sorted(lane.run.id for lane_batch in batches for lane in lane_batch.lanes) == sorted(
        run.id for part in parts for run in part.runs
    )
    assert all(1 <= len(lane_batch.lanes) <= most for lane_batch in batches)
    cut = [
        part
        for part in parts
        if sum(any(lane.part is part for lane in lane_batch.lanes) for lane_batch in batches) > 1
    ]
    assert cut == [part for part in parts if len(part.runs) > most]
    assert all(
        len({(lane.part.env, lane.part.units) for lane in lane_batch.lanes}) == 1 for lane_batch in batches
    )
    for lane_batch in batches:
        replicates = [lane.run.replicate for lane in lane_batch.lanes]
        assert replicates == sorted(replicates)


def test_environments_of_one_shape_go_together(tmp_path: Path) -> None:
    """Lanes differ in numbers of their environment too.

    Here in the law of rewards, and their agents in the moment bound.
    """
    laws = {
        "stable": {},
        "student": {"law": "student_t", "df": 1.5},
        "moved": {"law": "pareto", "alpha": 1.5},
    }
    envs = {key: {"env": "double_chain", "parameters": parameters} for key, parameters in laws.items()}
    spec = small(
        envs=envs,
        agents={
            "heavy_q_learning": {"parameters": {"epsilon": 0.05, "moment": "true", "transition_scale": 1e-3}}
        },
    )
    hears = Notes()
    Study(spec, tmp_path / "lanes").run("cuda", listener=hears)
    Study(spec, tmp_path / "alone").run("inline")
    assert files(tmp_path / "lanes") == files(tmp_path / "alone")
    assert sum("kB each" in words for words in hears.words) == 1


def test_what_is_left_of_a_study_makes_the_batches_that_were_left() -> None:
    """So that a drawer is found again."""
    parts = parts_for(seeds=8)
    first, *others = split_batches(lanes_in(parts[:4]), 4)
    done = {lane.part.id for lane in first.lanes}
    assert (
        list(split_batches(lanes_in([part for part in parts[:4] if part.id not in done]), 4)) == others != []
    )


# Interrupted


class Stops:
    """Ctrl-C while the n-th line is read."""

    def __init__(self, n: int) -> None:
        self.left = n

    def __call__(self, event: dict[str, Any]) -> None:
        self.left -= event["event"] in ("said", "part")
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.usefixtures("saves_always")
@pytest.mark.parametrize("lanes", [None, 3])
def test_interrupted_it_goes_on_and_ends_with_the_same_files(
    lanes: int | None, whole: Files, tmp_path: Path
) -> None:
    stops = 0
    for n in (1, 3, 4, 5, 7, 2, 6):
        try:
            Study(study(), tmp_path).run("cuda", lanes=lanes, listener=Stops(n))
        except KeyboardInterrupt:
            stops += 1
    assert stops >= 5
    Study(study(), tmp_path).run("cuda", lanes=lanes)
    assert computed(tmp_path) == whole
    assert not resume_folder(tmp_path)


@pytest.mark.usefixtures("saves_always")
def test_a_batch_goes_on_from_its_resume_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, resumed: list[float]
) -> None:
    expected = finished(ONE_BATCH, tmp_path / "whole")
    left_after_three_chunks(ONE_BATCH, tmp_path / "cuda", monkeypatch)
    assert resumed == []
    Study(ONE_BATCH, tmp_path / "cuda").run("cuda")
    assert resumed == [pytest.approx(3 * 150 / (60 * 25))]
    assert files(tmp_path / "cuda") == expected
    assert not resume_folder(tmp_path / "cuda")


ONE_BATCH = small(envs={"six_arms": {}}, agents={"random": {}})


def left_after_three_chunks(raw: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stop a study of one batch early, and return its resume file."""
    saves: list[Path] = []

    def third_is_the_last(resume_file: Path, owner: str, arrays: Any) -> None:
        write_state(resume_file, owner, arrays)
        saves.append(resume_file)
        if len(saves) == 3:
            raise InputError("the disk is on fire")

    with monkeypatch.context() as patch:
        patch.setattr(cuda, "write_state", third_is_the_last)
        with pytest.raises(InputError, match="the disk is on fire"):
            Study(raw, folder).run("cuda")
    assert resume_folder(folder) == saves[:1]
    return saves[0]


@pytest.mark.usefixtures("saves_always")
@pytest.mark.parametrize("damage", ["cut", "of other runs", "other arrays"])
def test_a_resume_file_that_cannot_be_used_is_set_aside_and_its_batch_begins_again(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, resumed: list[float]
) -> None:
    expected = finished(ONE_BATCH, tmp_path / "whole")
    path = left_after_three_chunks(ONE_BATCH, tmp_path / "cuda", monkeypatch)
    content, arrays = path.read_bytes(), read_arrays(path, "file")
    if damage == "of other runs":
        other = left_after_three_chunks({**ONE_BATCH, "seed": 1}, tmp_path / "other", monkeypatch)
        content = other.read_bytes()
    elif damage == "other arrays":
        arrays.popitem()
        write_arrays(path, arrays)
        content = path.read_bytes()
    damaged = content[: len(content) // 2] if damage == "cut" else content
    path.write_bytes(damaged)
    hears = Notes()
    Study(ONE_BATCH, tmp_path / "cuda").run("cuda", listener=hears)
    assert resumed == []
    (words,) = (words for words in hears.words if "set aside" in words)
    assert words.startswith(str(path))
    assert "\n" not in words
    (aside,) = resume_folder(tmp_path / "cuda")
    assert aside.name in words
    assert aside.read_bytes() == damaged
    aside.unlink()
    assert files(tmp_path / "cuda") == expected


KILLED = """
import json, os, signal, sys
from heavytail.studies import Study, plan
from heavytail.studies.backends import backend, backend_of
from heavytail.studies.engines import cuda
from heavytail.training.lanes import batch

plan.STEPS_PER_PART = plan.SWEEP_STEPS_PER_PART = 3000
backend.SECONDS_BETWEEN_SAVES = backend.MIN_WORK_PER_SAVE = 0.0
batch.FIRST_CHUNK, batch.next_chunk = 150, lambda *known: 150
raw, folder, moments = json.loads(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])

def dies_at(n):
    seen, sync = 0, os.fsync
    def counting(handle):
        nonlocal seen
        seen += 1
        if seen == n:
            os.kill(os.getpid(), signal.SIGKILL)
        sync(handle)
    os.fsync = counting
    Study(raw, folder).run("cuda")

for n in moments:
    if not (pid := os.fork()):
        dies_at(n)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), *os.listdir(folder + "/resume"))
"""


def test_killed_at_random_moments_it_ends_with_the_same_files(whole: Files, tmp_path: Path) -> None:
    """Each time before a file is whole, of a part or of a drawer."""
    chance = random.Random(4)  # noqa: S311 - nothing secret
    moments = [chance.randint(4, 30) for _ in range(6)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = run("-c", KILLED, json.dumps(study()), str(tmp_path), json.dumps(moments), env=environment)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [status for status, *_ in lines] == [str(-signal.SIGKILL)] * len(moments)
    left = [name for _, *names in lines for name in names]
    assert any(name.startswith("batch-") for name in left)
    assert any(name.startswith(".batch-") for name in left)  # half written
    Study(study(), tmp_path).run("cuda")
    assert computed(tmp_path) == whole
    assert not resume_folder(tmp_path)


# What is no work for lanes


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The parts that were left to processes; they are done here."""
    left: list[str] = []

    def here(local: LocalEngine, parts: Sequence[Part], folder: Path) -> Iterator[Event]:
        left.extend(part.id for part in parts)
        yield from InlineEngine().run(parts, folder)

    monkeypatch.setattr(LocalEngine, "run", here)
    return left


def test_an_agent_for_which_there_is_no_kernel_is_left_to_processes(
    whole: Files, tmp_path: Path, processes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make = cuda_kernels.lanes_kernel

    def picky(agents: Any, *others: Any) -> Any:
        if type(agents).__name__ != "Random":
            raise TypingError("\nno kernel for this\nand a long story")
        return make(agents, *others)

    monkeypatch.setattr(cuda_kernels, "lanes_kernel", picky)
    hears, mine = Notes(), Study(study(), tmp_path)
    mine.run("cuda", listener=hears)
    assert computed(tmp_path) == whole
    ours = {part.id for stage in mine.stages() for part in stage.parts if part.agent == "random"}
    assert ours
    assert set(processes) == {part.id for stage in mine.stages() for part in stage.parts} - ours
    assert "heavy_q_learning cannot run in lanes and is left to processes: no kernel for this" in hears.words


def test_a_part_that_cannot_begin_is_left_to_processes(tmp_path: Path, processes: list[str]) -> None:
    """There a run that cannot be built becomes a row with its error, and the others go on."""
    good, other = parts_for(seeds=2)
    bad = other.changed(variants=({}, {"no_such": 1}))
    done = {
        event.part.id: event.content
        for event in CudaEngine().run([good, bad], tmp_path)
        if isinstance(event, PartDone)
    }
    assert done == {part.id: run_part(part) for part in (good, bad)}
    assert processes == [bad.id]


def test_deep_agents_are_left_to_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lanes are done first; whoever does the others is asked for them, and for nothing else."""
    tabular, another = parts_for(seeds=2)
    deep = another.changed(env="mountain_car")
    asked: list[Part] = []
    monkeypatch.setattr(LocalEngine, "run", lambda local, parts, folder: iter([asked.extend(parts)][:0]))  # type: ignore[func-returns-value]
    events = list(CudaEngine().run([deep, tabular], tmp_path))
    assert [event.part for event in events if isinstance(event, PartDone)] == [tabular]
    assert asked == [deep]


def test_an_error_in_a_batch_ends_the_study_with_its_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_memory(lane_batch: LaneBatch) -> Lanes:
        raise InputError("the GPU has too little memory left for these lanes")

    monkeypatch.setattr(LaneBatch, "begin", no_memory)
    with pytest.raises(InputError, match="too little memory"):
        Study(study(), tmp_path).run("cuda")


# The share of a GPU that batches take


def test_batches_wait_until_there_is_room_for_their_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half the lanes, but most of the memory.

    Two of them do not fit, though none of the two has its memory yet.
    """
    engine = CudaEngine(lanes=100)
    monkeypatch.setattr(engine, "_fit", lambda lane_batch: 60)
    (lane_batch, *_) = lane_batches(parts_for(seeds=50), 50)
    assert engine._share(lane_batch) == len(lane_batch.lanes) / 60
    monkeypatch.setattr(engine, "_fit", lambda lane_batch: 1000)
    assert engine._share(lane_batch) == len(lane_batch.lanes) / 100
    waited: list[float] = []
    monkeypatch.setattr(cuda, "wait", _ends_one(waited))
    busy: dict[Any, float] = {_Over(): 0.5, _Over(): 0.3}
    cuda._wait_for_room(busy, 0.2)
    assert waited == []
    cuda._wait_for_room(busy, 0.6)
    assert waited == [0.8]
    cuda._wait_for_room(busy, 1.0)
    assert not busy


class _Over:
    def result(self) -> None:
        pass


def _ends_one(waited: list[float]) -> Callable[..., Any]:
    def wait(busy: dict[Any, float], **how: Any) -> Any:
        waited.append(sum(busy.values()))
        return type("Waited", (), {"done": [next(iter(busy))]})

    return wait
