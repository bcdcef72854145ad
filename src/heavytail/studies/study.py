"""`Study`: a spec and its folder, with what one does to them: run, look, report."""

import platform
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from heavytail.errors import InputError
from heavytail.studies.engines import Engine, Message, PartProgress, make_engine
from heavytail.studies.plan import Cell, Part, Phase, Sweep, evaluation_cells, tuning_cells, unique_parts
from heavytail.studies.plan_checks import check_plan
from heavytail.studies.progress import ProgressListener, Stage
from heavytail.studies.provenance import _code, _versions
from heavytail.studies.specs.reading import make_spec, read_spec
from heavytail.studies.specs.spec import Spec, canonical
from heavytail.studies.store import Store
from heavytail.studies.sweeps.plan import plan_sweeps

if TYPE_CHECKING:
    import pandas as pd

    from heavytail.arrays import Floats
    from heavytail.report.report import CompanionStudy
    from heavytail.studies.sweeps.summary import Summary

Curved: TypeAlias = Literal["tuning", "evaluation"]  # phases whose curves are looked at one by one


class Study:
    """A study: a spec, and the folder in which its results are kept.

    >>> import heavytail as ht, tempfile
    >>> spec = {"name": "small", "episodes": 50, "seeds": 2, "envs": {"six_arms": {}}, "agents": {"random": {}, "q_learning": {}}}
    >>> study = ht.Study(spec, tempfile.mkdtemp())
    >>> study.run(engine="inline")
    >>> study.curves()["agent_key"].unique().tolist()
    ['random', 'q_learning']
    """

    def __init__(self, spec: Spec | Mapping[str, Any], folder: str | Path | None = None) -> None:
        self.spec = spec if isinstance(spec, Spec) else make_spec(spec)
        self.store = Store(folder or Path("results") / self.spec.name)
        self.where = "spec"
        self.command: list[str] = []  # with which it is run, if that is known
        self._chosen: dict[str, dict[str, dict[str, Any]]] | None = None

    @classmethod
    def from_toml(cls, path: str | Path, folder: str | Path | None = None, *, quick: bool = False) -> "Study":
        """The study that a file describes; `quick`: with the changes of its table [quick]."""
        study = cls(read_spec(path, quick=quick), folder)
        study.where = str(path)
        study.command = ["heavytail", "run", str(path), *(["--quick"] if quick else [])]
        return study

    @classmethod
    def open(cls, folder: str | Path) -> "Study":
        """A study that was started before."""
        study = cls(Store(folder).spec(), folder)
        study.command = ["heavytail", "resume", str(folder)]
        return study

    def run(
        self,
        engine: str | Engine = "local",
        *,
        workers: int | None = None,
        address: str | None = None,
        lanes: int | None = None,
        watcher: ProgressListener | None = None,
    ) -> None:
        """Do what is not done yet.

        What was done before, here or elsewhere, is kept; an interruption loses the parts that were under way,
        of long ones the last minute.

        Args:
            engine: "local", "ray", "cuda", "inline", or an engine of your own.
            workers: how many at a time; all cores if left out.
            address: of a Ray cluster.
            lanes: runs at a time on a GPU; 65,536 if left out, or as many as fit its memory.
            watcher: is told how it goes.
        """
        check_plan(self.spec, self.where)
        who, chosen = (
            watcher or ProgressListener(),
            make_engine(engine, workers=workers, address=address, lanes=lanes),
        )
        self._prepare()
        self._chosen = None
        with self.store.locked():
            for stage in self._stages():
                for part, what in stage.damaged.items():
                    who.damage(part, what)
                who.stage(stage)
                for event in chosen.run(stage.missing, self.store.resume_folder):
                    if isinstance(event, PartProgress):
                        who.going(event)
                        continue
                    if isinstance(event, Message):
                        who.said(event)
                        continue
                    self.store.write(
                        event.part,
                        event.content,
                        {"seconds": event.seconds, **event.about, **_versions(event.part)},
                    )
                    who.done(event)
            self._sum_up(engine)

    def _prepare(self) -> None:
        """The folder of this study, or an error that says why it cannot be."""
        if not self.store.exists():
            self.store.create(self.spec, {"started_on": platform.node(), **_code()})
            return
        about, spec = self.store.about(), self.spec.model_dump(mode="json")
        difference = differences(
            result_relevant(self.store.spec().model_dump(mode="json")), result_relevant(spec)
        )
        if difference:
            raise InputError(
                f"{self.store.folder} holds another study: {'; '.join(difference[:3])}{' and more' if len(difference) > 3 else ''}."
                " Nothing was started; choose another folder with --out, or go on with the old one by: heavytail resume"
            )
        if (
            about["spec"] != spec
        ):  # words, claims and statistics may change at any time: no result depends on them
            self.store.write_json("study.json", {**about, "spec": spec})

    def _stages(self) -> Iterator[Stage]:
        """Tuning, then evaluation at what it chose, then maps."""
        if tuning := tuning_cells(self.spec):
            yield self._stage("tuning", tuning)
        yield self._stage("evaluation", evaluation_cells(self.spec, self.choices()))
        yield from self._map_stages()

    def _map_stages(self) -> Iterator[Stage]:
        """Maps, if there are any; nothing of them is missing where they are summed up."""
        if self.sheets:
            summed_up = self._summary() is not None
            yield (
                Stage("map", self.sheets, unique_parts(self.sheets), [], {})
                if summed_up
                else self._stage("map", self.sheets)
            )

    def _stage(self, phase: Phase, cells: list[Cell] | list[Sweep]) -> Stage:
        parts = unique_parts(cells)
        trouble = {part.id: what for part in parts if (what := self.store.trouble(part))}
        damaged = {name: what for name, what in trouble.items() if what not in ("missing", "unfinished")}
        return Stage(phase, cells, parts, [part for part in parts if part.id in trouble], damaged)

    # Maps

    @cached_property
    def sheets(self) -> list[Sweep]:
        """Every map in every environment, with its parts."""
        return plan_sweeps(self.spec)

    def maps(self) -> "Summary":
        """All maps, summed up, a row for every point in every environment.

        From their file if it is there, else from their parts.
        """
        if not self.spec.maps:
            raise InputError(
                f"the study {self.spec.name} has no maps; a table [maps.KEY] in its spec says what they are"
            )
        return self._summary() or self._new_summary("")

    def _summary(self) -> "Summary | None":
        """What the file of the maps holds, if it was made from what the plan says."""
        from heavytail.studies.sweeps.summary import NAME, from_file, sweep_digest

        content = self.store.read_file(NAME)
        return None if content is None else from_file(content, sweep_digest(self.sheets))

    def _new_summary(self, command: str) -> "Summary":
        from heavytail.studies.sweeps.final_values import COLUMNS
        from heavytail.studies.sweeps.summary import summed_up

        sidecars = self.store.sidecars(self._whole("map", self.sheets))
        return summed_up(
            self.sheets, lambda sheet: self.store.columns(sheet.parts, COLUMNS), command, sidecars
        )

    def _sum_up(self, engine: str | Engine) -> None:
        """Write the file of the maps, if it is not there."""
        if not self.sheets or self._summary():
            return
        from heavytail.studies.sweeps.summary import NAME, as_file, sweep_digest

        name = engine if isinstance(engine, str) else type(engine).__name__
        command = shlex.join([*self.command, "--engine", name]) if self.command else ""
        self.store.write_file(NAME, as_file(self._new_summary(command), sweep_digest(self.sheets)))

    # What came out

    def choices(self) -> dict[str, dict[str, dict[str, Any]]]:
        """The chosen point of every grid, once tuning is done."""
        from heavytail.studies.tuning import choose

        if self._chosen is None:
            self._chosen = choose(self.scores())
        return self._chosen

    def scores(self) -> list[Any]:
        """How every point of every grid did on the tuning seeds."""
        from heavytail.studies.tuning import scores

        cells = tuning_cells(self.spec)
        return scores(cells, self.store.table(self._whole("tuning", cells))) if cells else []

    def stages(self) -> list[Stage]:
        """Where it stands; evaluation is only known when tuning is done."""
        found: list[Stage] = []
        if tuning := tuning_cells(self.spec):
            found.append(self._stage("tuning", tuning))
            if found[0].missing:
                return found
        try:
            cells = evaluation_cells(self.spec, self.choices())
        except InputError:  # every run of a grid failed: nothing was chosen, and there is no evaluation
            return found
        return [*found, self._stage("evaluation", cells), *self._map_stages()]

    def cells(self, phase: Curved = "evaluation") -> list[Cell]:
        """Agents and environments with their parts."""
        return tuning_cells(self.spec) if phase == "tuning" else evaluation_cells(self.spec, self.choices())

    def curves(self, phase: Curved = "evaluation") -> "pd.DataFrame":
        """All curves as one DataFrame, a row per checkpoint.

        `agent_key` and `env_key` are the spec's, and counters are columns.
        """
        import pandas as pd

        from heavytail.studies.parts import to_frame

        cells = self.cells(phase)
        frame = to_frame(self.store.table(self._whole(phase, cells)))
        keys = pd.DataFrame(
            [
                {"run": run, "agent_key": cell.agent, "env_key": cell.env, "point": canonical(cell.point)}
                for cell in cells
                for run in cell.runs
            ]
        )
        return keys.merge(frame, on="run", how="inner")

    def to_rliable(self) -> "dict[str, Floats]":
        """Scores as rliable takes them.

        For each agent an array [run, environment] of rewards in the last tenth of the run, as a share of the
        optimum.

        Where nobody knows the optimum, as with deep agents, a score is the reward itself: the mean clean
        return per episode.
        """
        from heavytail.studies.results import score_matrices

        return score_matrices(self.curves(), list(self.spec.envs))

    def report(
        self, path: str | Path | None = None, command: str = "", beside: "Sequence[CompanionStudy]" = ()
    ) -> Path:
        """Write the report, a page with everything in it; FOLDER/report.html if no path is given.

        Args:
            path: of the page.
            command: with which it can be done again, shown in the page.
            beside: other studies that are shown in the same page.
        """
        from heavytail.report.report import write_report

        return write_report(self, path or self.store.folder / "report.html", command=command, beside=beside)

    def failures(self) -> "pd.DataFrame":
        """Runs that raised, with their error; of a map the first at each point."""
        import pandas as pd

        done = {stage.phase for stage in self.stages() if not stage.missing}
        phases: list[Curved] = ["tuning", "evaluation"]
        every = pd.concat(
            [pd.DataFrame({"error": []}), *(self.curves(phase) for phase in phases if phase in done)]
        )
        lost = every[every["error"].notna()]
        return pd.concat([lost, self.maps().failures()]) if "map" in done else lost

    def _whole(self, phase: Phase, cells: list[Cell] | list[Sweep]) -> list[Part]:
        stage = self._stage(phase, cells)
        if stage.missing:
            done, every = len(stage.parts) - len(stage.missing), len(stage.parts)
            raise InputError(
                f"{self.store.folder}: {done} of {every} parts of the {phase} are done; go on with:"
                f" heavytail resume {self.store.folder}"
            )
        return stage.parts


def result_relevant(spec: Mapping[str, Any]) -> dict[str, Any]:
    """What of a spec results depend on.

    Not its words, claims, statistics and bounds, nor how environments are grouped.
    """
    words = {"title", "description", "claims", "statistics", "quick", "families", "plugins"}
    work = {key: value for key, value in spec.items() if key not in words}
    inside = {"label", "setting", "bounds", "family", "at"}
    for table in ("envs", "agents", "maps"):
        work[table] = {
            name: {k: v for k, v in each.items() if k not in inside}
            for name, each in spec.get(table, {}).items()
        }
    return work


def differences(old: Any, new: Any, where: str = "") -> list[str]:
    """What differs between two specs, in words."""
    if isinstance(old, dict) and isinstance(new, dict):
        keys = dict.fromkeys([*old, *new])
        return [
            line
            for key in keys
            for line in differences(old.get(key), new.get(key), f"{where}.{key}" if where else key)
        ]
    return [] if old == new else [f"{where} was {_short(old)} and is {_short(new)}"]


def _short(value: Any) -> str:
    text = "not there" if value is None else canonical(value)
    return text if len(text) <= 60 else text[:57] + "..."
