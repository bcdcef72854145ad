"""A page that shows a study while it runs: ``FOLDER/watch.html``, which a browser opens from the disk.

It is a listener to progress. The page loads itself again every few seconds; there is no server. It is written
at most every few seconds, and waits long enough that writing takes a small share of the time. What it shows
of parts that are done it reads from the store, a few at a time, so that it knows those of an earlier run too.
It never stops a study: what goes wrong with it is said in a line, and the study goes on without it.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from heavytail.arrays import Floats
from heavytail.errors import one_line, show_duration
from heavytail.report.number_format import short_number
from heavytail.report.page import load_templates
from heavytail.report.report_data import assign_agent_styles
from heavytail.studies.engines import Message, PartDone, PartProgress
from heavytail.studies.parts import to_frame
from heavytail.studies.plan import Cell, Part
from heavytail.studies.plan_size import PhaseSize
from heavytail.studies.progress import ALL, ProgressListener, describe_damage, label_agents, steps_by_agent
from heavytail.studies.results import gather_runs, reward_rates
from heavytail.studies.stages import Stage
from heavytail.studies.store import Store
from heavytail.studies.study import Study

PAGE = "watch.html"
EVERY = 2.0  # seconds between two pages, at least
SHARE = 0.03  # of the time that writing pages may take, but for the first page
READING = 0.2  # seconds of reading parts for one page
RELOAD = 3  # seconds after which the page loads itself again
MAX_FAILURES = 20  # in the page; the report has all
PANEL = (300.0, 110.0)  # the inside of a small figure


class Watch(ProgressListener):
    """Writes the page, and tells another listener everything too."""

    def __init__(self, study: Study, then: ProgressListener, again: str, page: Store | None = None) -> None:
        """Watch a study.

        Args:
            study: which.
            then: the other listener.
            again: the command that continues it after an interruption.
            page: the folder of the page; that of the study if left out.
        """
        self.spec, self.store, self.then, self.again = study.spec, study.store, then, again
        self.page = page or study.store
        self.sizes: Sequence[PhaseSize] = ()
        self.stage: Stage | None = None
        self.began, self.next_page = time.monotonic(), 0.0
        self.steps: dict[str, Counter[str]] = {}  # part -> agent -> its steps there
        self.shares: dict[str, float] = {}  # part -> how much of it is done
        self.kept: set[str] = set()  # parts that were done before this run
        self.unread: list[Part] = []
        # environment -> agent -> [checkpoint] of its runs
        self.rates: dict[str, dict[str, list[Floats]]] = {}
        self.failures: list[str] = []
        self.words: list[str] = []
        self.broken = False

    def on_plan(self, sizes: Sequence[PhaseSize]) -> None:
        """Remember how much is to come."""
        self.sizes = sizes
        self.then.on_message(Message(f"to watch it, open {self.page.folder / PAGE} in a browser"))
        self.then.on_plan(sizes)

    def on_stage(self, stage: Stage) -> None:
        """Begin a phase."""
        missing = {part.id for part in stage.missing}
        self.stage, self.began, self.steps = stage, time.monotonic(), steps_by_agent(stage)
        self.kept = {part.id for part in stage.parts} - missing
        self.shares = dict.fromkeys(self.kept, 1.0)
        self.unread = [part for part in stage.parts if part.id in self.kept]
        self.then.on_stage(stage)
        self.write("running", at_once=True)

    def on_progress(self, event: PartProgress) -> None:
        """Remember how far a part is."""
        self.shares[event.part] = event.share
        self.then.on_progress(event)
        self.write("running")

    def on_part_done(self, event: PartDone) -> None:
        """Remember a part, to be read when there is time."""
        self.shares[event.part.id] = 1.0
        self.unread.append(event.part)
        self.then.on_part_done(event)
        self.write("running")

    def on_message(self, event: Message) -> None:
        """Show what the engine says."""
        self.words.append(event.words)
        self.then.on_message(event)

    def on_damage(self, part: str, what: str) -> None:
        """Show that a part is done again."""
        self.words.append(describe_damage(part, what))
        self.then.on_damage(part, what)

    def write(self, state: str, *, at_once: bool = False, report: str = "") -> None:
        """Write the page, if it is time.

        Args:
            state: "running", "stopped" or "finished".
            at_once: whether it is time in any case.
            report: the page that follows it, beside it.
        """
        begin, spent = time.monotonic(), time.thread_time()
        if self.stage is None or self.broken or (begin < self.next_page and not at_once):
            return  # before its first phase the study may be another process's
        try:
            self._read_parts(begin + READING)
            self.page.write_file(PAGE, self._render(state, report).encode())
        except Exception as error:  # noqa: BLE001 - whatever it is, it is no reason to stop a study
            self.broken = True
            self.then.on_message(Message(f"{PAGE} is not written any more: {one_line(error)}"))
        cost = time.thread_time() - spent if self.next_page else 0.0  # the first loads templates and readers
        self.next_page = time.monotonic() + max(EVERY, cost / SHARE)

    def _read_parts(self, until: float) -> None:
        """Read parts that are done, until the time is over."""
        stage = self.stage
        if stage is None or stage.phase == "map":
            return
        cells = {run: cell for cell in stage.cells if isinstance(cell, Cell) for run in cell.runs}
        while self.unread and time.monotonic() < until:
            frame = to_frame(self.store.table([self.unread.pop()]))
            for run, rows in frame.groupby("run", sort=False):
                cell, error = cells[str(run)], rows["error"].iloc[0]
                if isinstance(error, str):
                    self.failures.append(f"{cell.agent} on {cell.env}: {error}")
                elif stage.phase == "evaluation":
                    of_env = self.rates.setdefault(cell.env, {})
                    of_env.setdefault(cell.agent, []).append(reward_rates(gather_runs(rows))[0])

    def _render(self, state: str, report: str) -> str:
        return (
            load_templates()
            .get_template("watch.html.j2")
            .render(
                title=self.spec.title or self.spec.name,
                state=state,
                report=report,
                again=self.again,
                written=time.time(),
                reload=RELOAD,
                left=self._describe_time_left(),
                phases=list(self._list_phases()),
                bars=list(self._list_bars()),
                panels=list(self._list_panels()),
                legend=[(style, self.spec.agents[key].label) for key, style in self._styles().items()],
                failed=len(self.failures),
                failures=self.failures[:MAX_FAILURES],
                words=self.words[-5:],
            )
        )

    def _done(self, name: str = ALL, *, here: bool = False) -> float:
        """Steps done in this phase, of all agents or of one; `here`: in this run only."""
        shares = {part: share for part, share in self.shares.items() if not (here and part in self.kept)}
        return sum(share * self.steps[part][name] for part, share in shares.items())

    def _total(self, name: str = ALL) -> int:
        return sum(steps[name] for steps in self.steps.values())

    def _describe_time_left(self) -> str:
        """The time that is left at the speed so far, of this phase and of those to come; empty if unknown."""
        here, spent = self._done(here=True), time.monotonic() - self.began
        if not here or self.stage is None:
            return ""
        phases = [size.phase for size in self.sizes]
        later = self.sizes[phases.index(self.stage.phase) + 1 :] if self.stage.phase in phases else ()
        left = self._total() - self._done() + sum(size.steps for size in later)
        return show_duration(left * spent / here)

    def _list_phases(self) -> Iterator[str]:
        """Each phase in words."""
        now = self.stage.phase if self.stage else ""
        words = "done"
        for size in self.sizes:
            if size.phase == now and self.stage:
                done = sum(share >= 1.0 for share in self.shares.values())
                yield f"{now}: {done:,} of {len(self.stage.parts):,} parts"
                words = "to come"
            else:
                yield f"{size.phase}: {words}"

    def _list_bars(self) -> Iterator[tuple[str, float]]:
        """What is done of all, and of each agent's."""
        labels = {ALL: "all"} | (label_agents(self.spec, self.stage.phase) if self.stage else {})
        for name, label in labels.items():
            if total := self._total(name):
                yield label, self._done(name) / total

    def _styles(self) -> dict[str, Any]:
        drawn = {agent for by_agent in self.rates.values() for agent in by_agent}
        return {key: style for key, style in assign_agent_styles(self.spec).items() if key in drawn}

    def _list_panels(self) -> Iterator["WatchPanel"]:
        styles = self._styles()
        for env, by_agent in self.rates.items():
            medians = {agent: np.median(np.stack(curves), axis=0) for agent, curves in by_agent.items()}
            known = np.concatenate([curve[np.isfinite(curve)] for curve in medians.values()])
            if len(known):
                low, high = float(known.min()), float(known.max())
                runs = sum(map(len, by_agent.values()))
                lines = [(styles[agent], _to_points(curve, low, high)) for agent, curve in medians.items()]
                label = self.spec.envs[env].label
                yield WatchPanel(label, runs, short_number(low), short_number(high), lines)


class WatchPanel(NamedTuple):
    """The curves of an environment so far: reward per unit, median over the seeds that are done."""

    label: str
    runs: int
    low: str
    high: str
    lines: list[tuple[Any, str]]  # the style of an agent, and the points of its line


def _to_points(curve: Floats, low: float, high: float) -> str:
    """The points of a line in an SVG.

    >>> _to_points(np.array([0.0, np.nan, 1.0]), 0.0, 1.0)
    '0.0,110.0 300.0,0.0'
    """
    width, height = PANEL
    x = np.linspace(0.0, width, len(curve))
    y = height * (1.0 - (curve - low) / ((high - low) or 1.0))
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True) if np.isfinite(b))
