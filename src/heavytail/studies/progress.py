"""The progress of a study: events that JSON can hold, and three listeners that show them.

`Study.run` calls its listener with a dictionary for every event:

    plan      the study is about to begin; `phases` are the sizes of its phases, done or not
    stage     a phase begins: how many parts it has and lacks, and by agent its label, steps, and steps done
    going     the share of a part done so far; `work` are the steps of the whole part by agent
    part      a part is done and stored: what it is, where and how fast it was computed, and its `work`
    said      a line for the user
    damage    a stored part is damaged, and will be computed again
"""

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from heavytail.errors import printable
from heavytail.studies.engines import PartDone
from heavytail.studies.part import Part, Phase
from heavytail.studies.plan import Cell, Sweep
from heavytail.studies.plan_checks import PhaseSize
from heavytail.studies.specs.spec import Spec
from heavytail.studies.store import Stage

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

Listener: TypeAlias = Callable[[dict[str, Any]], object]
Steps: TypeAlias = Mapping[str, int]  # by agent or, in their phase, by sweep
SECONDS_OF_SILENCE = 30
ALL = ""  # the bar of all agents together


# Events


def stage_event(spec: Spec, stage: Stage, steps: Mapping[str, Steps]) -> dict[str, Any]:
    """Make the event that a phase begins; `steps` are those of each part."""
    missing = {part.id for part in stage.missing}
    total, done = Counter[str](), Counter[str]()
    for part, by_agent in steps.items():
        total.update(by_agent)
        done.update({} if part in missing else by_agent)
    labels = label_agents(spec, stage.phase)
    agents = {
        key: {"label": label, "steps": total[key], "done": done[key]}
        for key, label in labels.items()
        if total[key]
    }
    parts, lacks = len(stage.parts), len(stage.missing)
    return {"event": "stage", "phase": stage.phase, "parts": parts, "missing": lacks, "agents": agents}


def part_event(done: PartDone, work: Steps) -> dict[str, Any]:
    """Make the event that a part is done and stored."""
    part, _, seconds, about = done
    what = {"id": part.id, "agent": part.agent, "env": part.env, "runs": len(part.replicates)}
    speed = {"steps": part.steps * len(part.replicates), "seconds": seconds, **about}
    return {"event": "part", **what, **speed, "work": dict(work)}


def label_agents(spec: Spec, phase: Phase) -> dict[str, str]:
    """Return the labels of agents or, in their phase, of sweeps, by key."""
    labelled = spec.maps if phase == "map" else spec.agents
    return {key: each.label for key, each in labelled.items()}


def steps_by_agent(stage: Stage) -> dict[str, Steps]:
    """Return the steps of each part by agent; a run shared by two agents counts for the first."""
    sweeps = [cell for cell in stage.cells if isinstance(cell, Sweep)]
    if sweeps:
        return {
            part.id: {sweep.agent: part.steps * len(part.replicates)}
            for sweep in sweeps
            for part in sweep.parts
        }
    owner = {run: cell.agent for cell in reversed(stage.cells) if isinstance(cell, Cell) for run in cell.runs}
    return {part.id: _steps_of_owners(part, owner) for part in stage.parts}


def _steps_of_owners(part: Part, owner: Mapping[str, str]) -> Steps:
    runs = Counter(owner[run.id] for run in part.runs)
    return {agent: part.steps * n for agent, n in runs.items()}


# Listeners


@contextmanager
def choose_listener(*, as_json: bool) -> Iterator[Listener]:
    """Choose the listener that suits the output: a terminal, a file or JSON."""
    if as_json:
        yield lambda event: _print(json.dumps(event))
    elif not sys.stdout.isatty():
        yield PlainListener()
    else:
        with make_bars() as progress:
            yield BarListener(progress)


def describe(event: Mapping[str, Any]) -> list[str]:
    """Return the lines that every listener prints for an event."""
    match event:
        case {"event": "plan", "phases": phases}:
            return [f"plan of the {PhaseSize(**size)}" for size in phases]
        case {"event": "said", "words": words}:
            return [words]
        case {"event": "damage", "id": part, "what": what}:
            return [f"part {part} is {what}, and is done again"]
    return []


class PlainListener:
    """A listener that prints lines; for parts, only a summary now and then."""

    def __init__(self) -> None:
        self.last_line = time.monotonic()
        self.phase, self.parts, self.done = "", 0, 0

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Print the lines of an event."""
        for line in describe(event):
            _print(line)
        match event:
            case {"event": "stage", "phase": phase, "parts": parts, "missing": missing}:
                self.phase, self.parts, self.done = phase, parts, parts - missing
                _print(f"{phase}: {missing} of {parts} parts to do")
            case {"event": "part"}:
                self.done += 1
                self._print_now_and_then()
            case {"event": "going", "id": part, "share": share}:
                self._print_now_and_then(f", part {part}: {share:.0%}")

    def _print_now_and_then(self, more: str = "") -> None:
        if time.monotonic() - self.last_line > SECONDS_OF_SILENCE:
            self.last_line = time.monotonic()
            _print(f"{self.phase}: {self.done} of {self.parts} parts done{more}")


def _print(line: str) -> None:
    print(printable(line), flush=True)  # noqa: T201 - this is the output of listeners


class BarListener:
    """A listener with a bar for the phase and one per agent: steps done, steps a second, time left."""

    def __init__(self, progress: "Progress") -> None:
        self.progress = progress
        self.bars: dict[str, TaskID] = {}
        self.shares: dict[str, float] = {}  # of parts that are being done
        self.phase, self.parts, self.done = "", 0, 0

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Print lines above the bars, and advance them."""
        for line in describe(event):
            self.progress.console.print(printable(line), markup=False, highlight=False)
        match event:
            case {"event": "stage", "phase": phase, "parts": parts, "missing": missing, "agents": agents}:
                self.phase, self.parts, self.done = phase, parts, parts - missing
                self._make_bars(agents)
            case {"event": "going", "id": part, "share": share, "work": work}:
                self._advance(part, share, work)
            case {"event": "part", "id": part, "work": work}:
                self.done += 1
                self._advance(part, 1.0, work)
                self.progress.update(self.bars[ALL], description=self._title())

    def _make_bars(self, agents: Mapping[str, Mapping[str, Any]]) -> None:
        for bar in self.bars.values():
            self.progress.remove_task(bar)
        total, done = (sum(agent[name] for agent in agents.values()) for name in ("steps", "done"))
        rows = {ALL: (self._title(), total, done)} | {
            key: (f"  {printable(agent['label'])}", agent["steps"], agent["done"])
            for key, agent in agents.items()
        }
        self.bars = {
            key: self.progress.add_task(title, total=total, completed=done, speed="")
            for key, (title, total, done) in rows.items()
        }

    def _title(self) -> str:
        return f"{self.phase}, {self.done} of {self.parts} parts"

    def _advance(self, part: str, share: float, work: Steps) -> None:
        gained = share - self.shares.get(part, 0.0)
        self.shares[part] = share
        for key, n in {ALL: sum(work.values()), **work}.items():
            bar = self.bars[key]
            self.progress.update(bar, advance=gained * n)
            speed = next(task.speed for task in self.progress.tasks if task.id == bar)
            self.progress.update(bar, speed=f"{speed / 1e6:,.3g} M steps/s" if speed else "")


def make_bars(console: "Console | None" = None) -> "Progress":
    """Make the bars that `BarListener` fills, by default on the standard output."""
    from rich import progress

    return progress.Progress(
        progress.TextColumn("{task.description}", markup=False),  # labels come from outside
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TextColumn("{task.fields[speed]}"),
        progress.TimeRemainingColumn(),
        progress.TimeElapsedColumn(),
        console=console,
    )
