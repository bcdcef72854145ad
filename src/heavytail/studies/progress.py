"""Listeners are told how a study goes on: bars on a terminal, plain lines, or JSON."""

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from heavytail.errors import printable
from heavytail.studies.engines import Message, PartDone, PartProgress
from heavytail.studies.part import Part, Phase
from heavytail.studies.plan import Cell, Sweep
from heavytail.studies.plan_checks import PhaseSize
from heavytail.studies.specs.spec import Spec
from heavytail.studies.store import Stage

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID


class ProgressListener:
    """A listener to the progress of a study; this one ignores it."""

    def on_plan(self, sizes: Sequence[PhaseSize]) -> None:
        """The study is about to begin; `sizes` are those of its phases, done or not."""

    def on_stage(self, stage: Stage) -> None:
        """A phase begins."""

    def on_progress(self, event: PartProgress) -> None:
        """A part is being computed."""

    def on_message(self, event: Message) -> None:
        """The engine has a line for the user."""

    def on_part_done(self, event: PartDone) -> None:
        """A part is done and stored."""

    def on_damage(self, part: str, what: str) -> None:
        """A stored part is damaged; it will be computed again."""


SECONDS_OF_SILENCE = 30
ALL = ""  # the bar of all agents together


@contextmanager
def choose_listener(spec: Spec, *, as_json: bool) -> Iterator[ProgressListener]:
    """The listener that fits where output goes."""
    if as_json:
        yield JsonListener()
    elif not sys.stdout.isatty():
        yield PlainListener()
    else:
        with make_bars() as progress:
            yield BarListener(spec, progress)


class PlainListener(ProgressListener):
    """A line for each phase and each damaged part, and now and then one that says how far it is."""

    def __init__(self) -> None:
        self.last_line = time.monotonic()
        self.phase: Phase = "tuning"
        self.parts, self.parts_done = 0, 0

    def on_plan(self, sizes: Sequence[PhaseSize]) -> None:
        """Print how much each phase is."""
        for size in sizes:
            _print(f"plan of the {size}")

    def on_stage(self, stage: Stage) -> None:
        """Print how many parts are missing."""
        self.phase, self.parts = stage.phase, len(stage.parts)
        self.parts_done = self.parts - len(stage.missing)
        _print(f"{stage.phase}: {len(stage.missing)} of {len(stage.parts)} parts to do")

    def on_part_done(self, event: PartDone) -> None:
        """Print how many parts are done, if there was no line for a while."""
        self.parts_done += 1
        self._print_now_and_then()

    def on_progress(self, event: PartProgress) -> None:
        """Print how far a part is, if there was no line for a while."""
        self._print_now_and_then(f", part {event.part}: {event.share:.0%}")

    def _print_now_and_then(self, more: str = "") -> None:
        if time.monotonic() - self.last_line > SECONDS_OF_SILENCE:
            self.last_line = time.monotonic()
            _print(f"{self.phase}: {self.parts_done} of {self.parts} parts done{more}")

    def on_message(self, event: Message) -> None:
        """Print what the engine says."""
        _print(event.words)

    def on_damage(self, part: str, what: str) -> None:
        """Print which part is damaged and computed again."""
        _print(describe_damage(part, what))


class JsonListener(ProgressListener):
    """A JSON object per line: the event and its fields."""

    def on_plan(self, sizes: Sequence[PhaseSize]) -> None:
        """How much each phase is."""
        self._print("plan", phases=[size._asdict() for size in sizes])

    def on_stage(self, stage: Stage) -> None:
        """A phase, its parts, and how many of them are missing."""
        self._print("stage", phase=stage.phase, parts=len(stage.parts), missing=len(stage.missing))

    def on_part_done(self, event: PartDone) -> None:
        """A part, its size and how long it took."""
        part = event.part
        runs, steps = len(part.replicates), _steps(part)
        self._print(
            "part",
            id=part.id,
            agent=part.agent,
            env=part.env,
            runs=runs,
            steps=steps,
            seconds=event.seconds,
            **event.about,
        )

    def on_progress(self, event: PartProgress) -> None:
        """A part, and the share of it that is done."""
        self._print("going", id=event.part, share=event.share)

    def on_message(self, event: Message) -> None:
        """Print what the engine says."""
        self._print("said", words=event.words)

    def on_damage(self, part: str, what: str) -> None:
        """A part that is computed again."""
        self._print("damage", id=part, what=what)

    def _print(self, event: str, **values: Any) -> None:
        _print(json.dumps({"event": event, **values}))


def _print(line: str) -> None:
    print(printable(line), flush=True)  # noqa: T201 - this is the output of listeners


class BarListener(ProgressListener):
    """A bar for the phase and one per agent: steps done, steps a second, time left."""

    def __init__(self, spec: Spec, progress: "Progress") -> None:
        self.spec = spec
        self.progress = progress
        self.bars: dict[str, TaskID] = {}
        self.steps: dict[str, Counter[str]] = {}  # part -> agent -> its steps there
        self.shares: dict[str, float] = {}  # of parts that are being done
        self.phase: Phase = "tuning"
        self.parts, self.parts_done = 0, 0

    def on_plan(self, sizes: Sequence[PhaseSize]) -> None:
        """A line for each phase above the bars."""
        for size in sizes:
            self._print(f"plan of the {size}")

    def on_stage(self, stage: Stage) -> None:
        """Make bars for the phase."""
        for bar in self.bars.values():
            self.progress.remove_task(bar)
        self.steps = steps_by_agent(stage)
        missing = {part.id for part in stage.missing}
        total = sum(self.steps.values(), Counter[str]())
        kept = sum((steps for part, steps in self.steps.items() if part not in missing), Counter[str]())
        self.phase, self.parts = stage.phase, len(stage.parts)
        self.parts_done = self.parts - len(stage.missing)
        names = [name for name in (ALL, *label_agents(self.spec, self.phase)) if total[name]]
        self.bars = {name: self._bar(name, total[name], kept[name]) for name in names}

    def _bar(self, name: str, total: int, kept: int) -> "TaskID":
        title = self._title() if name == ALL else f"  {printable(label_agents(self.spec, self.phase)[name])}"
        return self.progress.add_task(title, total=total, completed=kept, speed="")

    def _title(self) -> str:
        return f"{self.phase}, {self.parts_done} of {self.parts} parts"

    def on_progress(self, event: PartProgress) -> None:
        """Advance the bars within a part."""
        self._advance(event.part, event.share)

    def on_part_done(self, event: PartDone) -> None:
        """Advance the bars to the end of a part."""
        self._advance(event.part.id, 1.0)
        self.parts_done += 1
        self.progress.update(self.bars[ALL], description=self._title())

    def _advance(self, part: str, share: float) -> None:
        gained = share - self.shares.get(part, 0.0)
        self.shares[part] = share
        for name, steps in self.steps[part].items():
            self.progress.update(self.bars[name], advance=gained * steps)
            task = next(task for task in self.progress.tasks if task.id == self.bars[name])
            speed = f"{task.speed / 1e6:,.3g} M steps/s" if task.speed else ""
            self.progress.update(self.bars[name], speed=speed)

    def on_message(self, event: Message) -> None:
        """A line above the bars."""
        self._print(event.words)

    def on_damage(self, part: str, what: str) -> None:
        """A line above the bars."""
        self._print(describe_damage(part, what))

    def _print(self, line: str) -> None:
        self.progress.console.print(printable(line), markup=False, highlight=False)


def describe_damage(part: str, what: str) -> str:
    """Say what becomes of a damaged part."""
    return f"part {part} is {what}, and is done again"


def label_agents(spec: Spec, phase: Phase) -> dict[str, str]:
    """The labels of agents or, in their phase, of sweeps, by key."""
    if phase == "map":
        return {key: sweep.label for key, sweep in spec.maps.items()}
    return {key: agent.label for key, agent in spec.agents.items()}


def steps_by_agent(stage: Stage) -> dict[str, Counter[str]]:
    """The steps of each part: of all its runs, and of each agent's.

    A run that two agents share counts for the first.
    """
    sweeps = [cell for cell in stage.cells if isinstance(cell, Sweep)]
    if sweeps:
        return {
            part.id: Counter({ALL: _steps(part), sweep.agent: _steps(part)})
            for sweep in sweeps
            for part in sweep.parts
        }
    owner = {run: cell.agent for cell in reversed(stage.cells) if isinstance(cell, Cell) for run in cell.runs}
    return {part.id: _by_agent(part, owner) for part in stage.parts}


def _by_agent(part: Part, owner: Mapping[str, str]) -> Counter[str]:
    return Counter({ALL: _steps(part)}) + sum(
        (Counter({owner[run.id]: part.steps}) for run in part.runs), Counter[str]()
    )


def _steps(part: Part) -> int:
    return part.steps * len(part.replicates)


def make_bars(console: "Console | None" = None) -> "Progress":
    """Make the bars that `BarListener` fills, on the standard output if no console is given."""
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
