"""`Study`: a spec and its folder, with what one does to them: run, look, report."""

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from heavytail.studies.engines import Message, PartDone, PartProgress
from heavytail.studies.plan import Cell, Part, Phase, Sweep
from heavytail.studies.specs.spec import Spec

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Stage(NamedTuple):
    """A phase of a study: its cells, and the parts that are still to do."""

    phase: Phase
    cells: list[Cell] | list[Sweep]
    parts: list[Part]
    missing: list[Part]
    damaged: dict[str, str]  # part id -> what is wrong


class ProgressListener:
    """Sees a study go on; this one says nothing."""

    def on_stage(self, stage: Stage) -> None:
        """A phase begins."""

    def on_progress(self, event: PartProgress) -> None:
        """A part is being done."""

    def on_message(self, event: Message) -> None:
        """The engine says what it is about to do."""

    def on_part_done(self, event: PartDone) -> None:
        """A part is done and kept."""

    def on_damage(self, part: str, what: str) -> None:
        """A part was there and is not as it was; it will be done again."""


SECONDS_OF_SILENCE = 30
ALL = ""  # the bar of all agents together


@contextmanager
def choose_listener(spec: Spec, *, as_json: bool) -> Iterator[ProgressListener]:
    """The watcher that fits where output goes."""
    if as_json:
        yield JsonListener()
    elif not sys.stdout.isatty():
        yield PlainListener()
    else:
        with _bars() as progress:
            yield BarListener(spec, progress)


class PlainListener(ProgressListener):
    """A line when a phase starts, for what was found damaged, and now and then for a part that takes long."""

    def __init__(self) -> None:
        self.spoke = time.monotonic()

    def on_stage(self, stage: Stage) -> None:
        """What there is to do."""
        print(f"{stage.phase}: {len(stage.missing)} of {len(stage.parts)} parts to do", flush=True)  # noqa: T201 - this is its output

    def on_progress(self, event: PartProgress) -> None:
        """How far a part is, if nothing was said for a while."""
        if time.monotonic() - self.spoke > SECONDS_OF_SILENCE:
            self.spoke = time.monotonic()
            print(f"part {event.part}: {event.share:.0%}", flush=True)  # noqa: T201 - this is its output

    def on_message(self, event: Message) -> None:
        """What the engine says."""
        print(event.words, flush=True)  # noqa: T201 - this is its output

    def on_damage(self, part: str, what: str) -> None:
        """Which part, and that it is done again."""
        print(f"part {part} is {what}, and is done again", flush=True)  # noqa: T201 - this is its output


class JsonListener(ProgressListener):
    """An object per line: event, and what belongs to it."""

    def on_stage(self, stage: Stage) -> None:
        """A phase, its parts, and how many of them are to do."""
        self._say("stage", phase=stage.phase, parts=len(stage.parts), missing=len(stage.missing))

    def on_part_done(self, event: PartDone) -> None:
        """A part, its size and how long it took."""
        part = event.part
        runs, steps = len(part.replicates), _steps(part)
        self._say(
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
        self._say("going", id=event.part, share=event.share)

    def on_message(self, event: Message) -> None:
        """What the engine says."""
        self._say("said", words=event.words)

    def on_damage(self, part: str, what: str) -> None:
        """A part that is done again."""
        self._say("damage", id=part, what=what)

    def _say(self, event: str, **values: Any) -> None:
        print(json.dumps({"event": event, **values}), flush=True)  # noqa: T201 - this is its output


class BarListener(ProgressListener):
    """A bar for the phase and one per agent: steps done, steps a second, time left."""

    def __init__(self, spec: Spec, progress: "Progress") -> None:
        self.spec = spec
        self.progress = progress
        self.bars: dict[str, TaskID] = {}
        self.steps: dict[str, Counter[str]] = {}  # part -> agent -> its steps there
        self.shares: dict[str, float] = {}  # of parts that are being done
        self.phase, self.parts, self.parts_done = "", 0, 0

    def on_stage(self, stage: Stage) -> None:
        """Bars for what there is to do."""
        for bar in self.bars.values():
            self.progress.remove_task(bar)
        self.steps = _steps_by_agent(stage)
        missing = {part.id for part in stage.missing}
        total = sum(self.steps.values(), Counter[str]())
        kept = sum((steps for part, steps in self.steps.items() if part not in missing), Counter[str]())
        self.phase, self.parts, self.parts_done = (
            stage.phase,
            len(stage.parts),
            len(stage.parts) - len(stage.missing),
        )
        self.bars = {
            name: self._bar(name, total[name], kept[name]) for name in [ALL, *self._labels()] if total[name]
        }

    def _bar(self, name: str, total: int, kept: int) -> "TaskID":
        title = self._title() if name == ALL else f"  {self._labels()[name]}"
        return self.progress.add_task(title, total=total, completed=kept, speed="")

    def _labels(self) -> dict[str, str]:
        """What the phase runs, by key."""
        return {
            key: said.label
            for key, said in (self.spec.maps if self.phase == "map" else self.spec.agents).items()
        }

    def _title(self) -> str:
        return f"[bold]{self.phase}[/], {self.parts_done} of {self.parts} parts"

    def on_progress(self, event: PartProgress) -> None:
        """Move on within a part."""
        self._to(event.part, event.share)

    def on_part_done(self, event: PartDone) -> None:
        """Move on."""
        self._to(event.part.id, 1.0)
        self.parts_done += 1
        self.progress.update(self.bars[ALL], description=self._title())

    def _to(self, part: str, share: float) -> None:
        further = share - self.shares.get(part, 0.0)
        self.shares[part] = share
        for name, steps in self.steps[part].items():
            self.progress.update(self.bars[name], advance=further * steps)
            task = next(task for task in self.progress.tasks if task.id == self.bars[name])
            self.progress.update(
                self.bars[name], speed=f"{task.speed / 1e6:,.3g} M steps/s" if task.speed else ""
            )

    def on_message(self, event: Message) -> None:
        """A line above the bars."""
        self.progress.console.print(event.words)

    def on_damage(self, part: str, what: str) -> None:
        """A line above the bars."""
        self.progress.console.print(f"part {part} is {what}, and is done again")


def _steps_by_agent(stage: Stage) -> dict[str, Counter[str]]:
    """The steps of each part, of all its runs and of each agent's.

    A run that two agents share counts for the first.
    """
    sheets = [cell for cell in stage.cells if isinstance(cell, Sweep)]
    if sheets:
        return {
            part.id: Counter({ALL: _steps(part), sheet.agent: _steps(part)})
            for sheet in sheets
            for part in sheet.parts
        }
    owner = {run: cell.agent for cell in reversed(stage.cells) if isinstance(cell, Cell) for run in cell.runs}
    return {part.id: _by_agent(part, owner) for part in stage.parts}


def _by_agent(part: Part, owner: Mapping[str, str]) -> Counter[str]:
    return Counter({ALL: _steps(part)}) + sum(
        (Counter({owner[run.id]: part.steps}) for run in part.runs), Counter[str]()
    )


def _steps(part: Part) -> int:
    return part.steps * len(part.replicates)


def _bars() -> "Progress":
    from rich import progress

    return progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TextColumn("{task.fields[speed]}"),
        progress.TimeRemainingColumn(),
        progress.TimeElapsedColumn(),
    )
