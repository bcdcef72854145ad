"""Whoever does the work, the files are the same.

And workers need nothing but what a user would expect.
"""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from heavytail.errors import InputError
from heavytail.studies import Study, plan
from heavytail.studies.engines import PartDone, Result, make_engine
from heavytail.studies.engines._parts import Finished, largest_first, next_part, plugins_for, run_scheduled
from heavytail.studies.engines.inline import InlineEngine
from heavytail.studies.engines.local import LocalEngine
from heavytail.studies.part import Part
from heavytail.studies.plan import evaluation_cells
from heavytail.studies.specs.reading import make_spec
from support.processes import run
from support.small_studies import Files, Notes, files, finished, small

PLUGIN = Path(__file__).parents[1] / "support" / "plugin.py"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """The files of the small study, made inline, several parts for each agent and environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "STEPS_PER_PART", 1)
        found = finished(small(), tmp_path_factory.mktemp("whole"))
    assert len([name for name in found if name.startswith("parts/")]) == 4 * 2 + 4 * 3
    return found


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_files_are_the_same_for_any_number_of_workers(
    workers: int, whole: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "STEPS_PER_PART", 1)
    notes, study = Notes(), Study(small(), tmp_path)
    study.run("local", workers=workers, listener=notes)
    assert files(tmp_path) == whole
    assert [stage["phase"] for stage in notes.stages] == ["tuning", "evaluation"]
    assert sorted(notes.parts) == sorted(part.id for stage in study.stages() for part in stage.parts)


def test_files_are_the_same_when_every_part_is_done_alone(
    whole: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One part, then a stop; over and over, in the order of an engine that begins at the end."""
    monkeypatch.setattr(plan, "STEPS_PER_PART", 1)

    class OneBackwards(InlineEngine):
        def run(self, parts, resume_folder):  # type: ignore[no-untyped-def]
            yield from super().run(list(parts)[-1:], resume_folder)
            raise KeyboardInterrupt

    stops = 0
    while True:
        study = Study(small(), tmp_path)
        try:
            study.run(OneBackwards() if stops < 15 else "inline")
        except KeyboardInterrupt:
            stops += 1
        else:
            break
    assert stops == 15
    assert files(tmp_path) == whole


SCRIPT = """
import {module}
from heavytail.studies import Study
print("once")
raw = {{"name": "x", "episodes": 20, "seeds": 2, "envs": {{"six_arms": {{}}}}}}
raw["agents"] = {{"stubborn": {{"parameters": {{"action": 1}}}}}}
try:
    Study(raw, "out").run(workers=2)
except ValueError as error:
    print(error)
    Study(raw, "out").run("inline")
print(Study(raw, "out").curves()["error"].isna().sum())
"""


def run_script(text: str, folder: Path) -> list[str]:
    """What a script prints, line by line, started as anyone starts it."""
    (folder / "script.py").write_text(text)
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = run("script.py", cwd=folder, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip().split("\n")


def test_a_script_needs_no_guard_and_its_modules_are_found(tmp_path: Path) -> None:
    """An agent of a module that it imports: no ``if __name__ == "__main__"``, no entry point."""
    (tmp_path / "mine.py").write_text(PLUGIN.read_text())
    assert run_script(SCRIPT.format(module="mine"), tmp_path) == ["once", "40"]


def test_a_temporary_folder_may_have_a_long_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Longer than that of a socket, by which processes are asked for."""
    (tmp_path / "mine.py").write_text(PLUGIN.read_text())
    far = tmp_path / ("far" * 30)
    far.mkdir()
    monkeypatch.setenv("TMPDIR", str(far))
    assert run_script(SCRIPT.format(module="mine"), tmp_path) == ["once", "40"]


def test_what_is_registered_in_the_script_itself_is_sent_elsewhere(tmp_path: Path) -> None:
    first, message, rows = run_script(PLUGIN.read_text() + SCRIPT.format(module="os"), tmp_path)
    assert message == (
        "the agent 'stubborn' is registered in the script itself, where other processes cannot find it; "
        "put it into a module that the script imports, or use engine='inline'"
    )
    assert (first, rows) == ("once", "40")


def test_an_engine_by_its_name() -> None:
    assert isinstance(make_engine("inline"), InlineEngine)
    local = make_engine("local", workers=3)
    assert isinstance(local, LocalEngine)
    assert local.workers == 3
    assert make_engine(local) is local
    assert LocalEngine().workers >= 1
    for engine, workers, address, message in (
        ("locl", None, None, "there is no engine 'locl'; did you mean 'local'?"),
        ("local", 0, None, "local: workers must be at least 1, got 0"),
        ("local", None, "x:1", "local has no parameter 'address'; choose from: workers"),
    ):
        with pytest.raises(InputError) as caught:
            make_engine(engine, workers=workers, address=address)
        assert str(caught.value) == message


def parts_for(*agents: str) -> list[Part]:
    spec = make_spec(small(seeds=2, envs={"six_arms": {}}, agents={agent: {} for agent in agents}))
    return [part for cell in evaluation_cells(spec, {}) for part in cell.parts]


def test_what_needs_compiling_is_compiled_by_one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "STEPS_PER_PART", 1)
    a1, a2, b1, b2 = parts_for("random", "q_learning")
    assert a1.combination == a2.combination != b1.combination
    assert next_part([a1, a2, b1, b2], set(), []) == a1
    assert next_part([a2, b1, b2], set(), [a1]) == b1
    assert next_part([a2, b2], set(), [a1, b1]) == a2  # nothing else is left: it waits for what a1 compiles
    assert next_part([a2, b2], {a1.combination}, [a1, b1]) == a2
    assert next_part([], set(), []) is None


def test_large_parts_come_first_and_else_the_order_of_the_plan_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "STEPS_PER_PART", 2 * 60 * 25)  # two runs of 60 episodes of 25 steps
    spec = make_spec(small(seeds=3, envs={"six_arms": {}}, agents={"random": {}, "q_learning": {}}))
    two, one, two_more, one_more = (part for cell in evaluation_cells(spec, {}) for part in cell.parts)
    assert [len(part.runs) for part in (two, one, two_more, one_more)] == [2, 1, 2, 1]
    assert largest_first([one, two, one_more, two_more]) == [two, two_more, one, one_more]


def nothing(handle: str) -> Finished:
    return Finished(handle, Result(b"", 0.0, {}))


def schedule(parts: list[Part], begun: list[str], limit: int = 100) -> Iterator[str]:
    """The ids of parts that two workers have done, one after the other; they begin no more than the limit."""

    def submit(part: Part) -> str:
        if len(begun) == limit:
            raise RuntimeError("no more")
        begun.append(part.id)
        return part.id

    for event in run_scheduled(parts, 2, submit, lambda busy: [nothing(busy[0])]):
        assert isinstance(event, PartDone)
        yield event.part.id


def test_a_worker_has_its_next_part_before_the_last_one_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "STEPS_PER_PART", 1)
    begun: list[str] = []
    assert [len(begun) for _ in schedule(parts_for("random", "q_learning"), begun)] == [3, 4, 4, 4]


def test_a_part_that_is_done_is_kept_also_if_the_next_cannot_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "STEPS_PER_PART", 1)
    begun: list[str] = []
    done = schedule(parts_for("random", "q_learning"), begun, limit=2)
    assert next(done) == begun[0]
    with pytest.raises(RuntimeError, match="no more"):
        next(done)


def test_workers_are_started_without_losing_the_script_or_its_signals(tmp_path: Path) -> None:
    main, handler = sys.modules["__main__"], signal.getsignal(signal.SIGINT)
    list(LocalEngine(1).run(parts_for("random"), tmp_path))
    assert sys.modules["__main__"] is main
    assert signal.getsignal(signal.SIGINT) is handler
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


TALKS = """
import logging, os

from heavytail.registry import register
from mine import Stubborn

@register("agent", "talker")
def talker(problem, *, action: int = 0):
    '''It logs what it sees of two variables, in each process that builds it.'''
    logging.getLogger("heavytail.talker").info("variables: %s %s", os.getenv("ONLY"), os.getenv("GONE"))
    return Stubborn(action)
"""
HEARS = """
import os
import mine, talks
from heavytail.studies import Study, plan

def hear(event):
    if event["event"] == "said":
        print(event["words"])

plan.STEPS_PER_PART = 1  # a part is a run
raw = {"name": "x", "episodes": 20, "seeds": 6, "envs": {"six_arms": {}}, "agents": {"talker": {}}}
for name, value in (("first", "1"), ("second", "2")):
    os.environ["ONLY"] = value
    Study(raw, name).run(workers=2, listener=hear)
    os.environ.pop("GONE", None)
"""


def test_a_study_hears_once_what_its_workers_log_and_they_have_its_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each study: workers are forked from a process that may be older than a variable."""
    (tmp_path / "mine.py").write_text(PLUGIN.read_text())
    (tmp_path / "talks.py").write_text(TALKS)
    monkeypatch.setenv("GONE", "yes")
    assert run_script(HEARS, tmp_path) == ["variables: 1 yes", "variables: 2 None"]


def test_own_modules_are_not_imported_twice() -> None:
    assert not any(module.startswith("heavytail.") for module in plugins_for(parts_for("random")))
