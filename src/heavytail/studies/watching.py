"""Seeing a study go on: bars on a terminal, one JSON object per line for programs, or a word at the start and the end."""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from heavytail.studies.engines import Done
from heavytail.studies.plan import Part
from heavytail.studies.spec import Spec
from heavytail.studies.study import Stage, Watcher

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


@contextmanager
def watching(spec: Spec, *, as_json: bool) -> Iterator[Watcher]:
    """The watcher that fits where output goes."""
    if as_json:
        yield JsonWatcher()
    elif not sys.stdout.isatty():
        yield PlainWatcher()
    else:
        with _bars() as progress:
            yield BarWatcher(spec, progress)


class PlainWatcher(Watcher):
    """A line when a phase starts, and for what was found damaged."""

    def stage(self, stage: Stage) -> None:
        """What there is to do."""
        print(f"{stage.phase}: {len(stage.missing)} of {len(stage.parts)} parts to do", flush=True)  # noqa: T201 - this is its output

    def damage(self, part: str, what: str) -> None:
        """Which part, and that it is done again."""
        print(f"part {part} is {what}, and is done again", flush=True)  # noqa: T201 - this is its output


class JsonWatcher(Watcher):
    """An object per line: event, and what belongs to it."""

    def stage(self, stage: Stage) -> None:
        """A phase, its parts, and how many of them are to do."""
        self._say("stage", phase=stage.phase, parts=len(stage.parts), missing=len(stage.missing))

    def done(self, done: Done) -> None:
        """A part, its size and how long it took."""
        part = done.part
        steps = part.steps * len(part.replicates)
        self._say(
            "part", id=part.id, agent=part.agent, env=part.env, runs=len(part.replicates), steps=steps, seconds=done.seconds, host=done.host
        )

    def damage(self, part: str, what: str) -> None:
        """A part that is done again."""
        self._say("damage", id=part, what=what)

    def _say(self, event: str, **values: Any) -> None:
        print(json.dumps({"event": event, **values}), flush=True)  # noqa: T201 - this is its output


class BarWatcher(Watcher):
    """A bar for the phase and one per agent: steps done, steps a second, time left."""

    def __init__(self, spec: Spec, progress: "Progress") -> None:
        self.spec = spec
        self.progress = progress
        self.bars: dict[str, TaskID] = {}
        self.owner: dict[str, str] = {}
        self.phase, self.parts, self.parts_done = "", 0, 0

    def stage(self, stage: Stage) -> None:
        """Bars for what there is to do."""
        for bar in self.bars.values():
            self.progress.remove_task(bar)
        self.owner = {part.id: cell.agent for cell in reversed(stage.cells) for part in cell.parts}
        total, missing = Counter[str](), {part.id for part in stage.missing}
        kept = Counter[str]()
        for part in stage.parts:
            for name in ("", self.owner[part.id]):
                total[name] += _steps(part)
                kept[name] += _steps(part) if part.id not in missing else 0
        self.phase, self.parts, self.parts_done = stage.phase, len(stage.parts), len(stage.parts) - len(stage.missing)
        self.bars = {name: self._bar(name, total[name], kept[name]) for name in ["", *self.spec.agents] if total[name]}

    def _bar(self, name: str, total: int, kept: int) -> "TaskID":
        title = f"  {self.spec.agents[name].label}" if name else self._title()
        return self.progress.add_task(title, total=total, completed=kept, speed="")

    def _title(self) -> str:
        return f"[bold]{self.phase}[/], {self.parts_done} of {self.parts} parts"

    def done(self, done: Done) -> None:
        """Move on."""
        for name in ("", self.owner[done.part.id]):
            self.progress.update(self.bars[name], advance=_steps(done.part))
            task = next(task for task in self.progress.tasks if task.id == self.bars[name])
            self.progress.update(self.bars[name], speed=f"{task.speed / 1e6:,.1f} M steps/s" if task.speed else "")
        self.parts_done += 1
        self.progress.update(self.bars[""], description=self._title())

    def damage(self, part: str, what: str) -> None:
        """A line above the bars."""
        self.progress.console.print(f"part {part} is {what}, and is done again")


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
