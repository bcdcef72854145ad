"""`Study`: a spec and the place of its results, with methods to run, read, report and pack them."""

import platform
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from heavytail.arrays import Floats
from heavytail.errors import InputError
from heavytail.studies.engines import (
    Engine,
    EngineName,
    Event,
    Message,
    PartDone,
    PartProgress,
    make_engine,
)
from heavytail.studies.packed import open_store, pack_study, require_study
from heavytail.studies.part_table import to_frame
from heavytail.studies.plan import Cell, Sweep, evaluation_cells, plan_sweeps, tuning_cells
from heavytail.studies.plan_checks import PhaseSize, check_plan, plan_sizes
from heavytail.studies.progress import Listener, Steps, part_event, stage_event, steps_by_agent
from heavytail.studies.provenance import code_versions, part_versions
from heavytail.studies.results import score_matrices
from heavytail.studies.specs.checks import require_same_results
from heavytail.studies.specs.reading import make_spec, read_spec
from heavytail.studies.specs.spec import Spec, canonical
from heavytail.studies.store import Stage, Store, find_stage, finished_parts
from heavytail.studies.sweeps import (
    Summary,
    find_sweep_stage,
    make_summary,
    read_summary,
    to_table,
    write_summary,
)
from heavytail.studies.tuning import ChoiceReview, GridScore, choose, review_choices, score_cells

if TYPE_CHECKING:
    import pandas as pd


CurvePhase: TypeAlias = Literal["tuning", "evaluation"]  # phases that have curves of single runs
CURVE_PHASES: tuple[CurvePhase, ...] = ("tuning", "evaluation")


class Study:
    """A study: a spec, and the folder or packed file with its results.

    >>> import heavytail as ht, tempfile
    >>> spec = {"name": "small", "episodes": 50, "seeds": 2}
    >>> spec |= {"envs": {"six_arms": {}}, "agents": {"random": {}, "q_learning": {}}}
    >>> study = ht.Study(spec, tempfile.mkdtemp())
    >>> study.run(engine="inline")
    >>> study.curves()["agent_key"].unique().tolist()
    ['random', 'q_learning']

    An environment may also be an object: any MDP, or a Gymnasium environment that has one. The folder keeps
    it, so that the study can be resumed and reported from there like any other.

    >>> mine = ht.mdp_from_arrays([[[1.0], [1.0]]], laws=[[0.0, ht.laws.pareto(1.5)]], horizon=1)
    >>> study = ht.Study({**spec, "envs": {"mine": mine}}, tempfile.mkdtemp())
    """

    def __init__(self, spec: Spec | Mapping[str, Any], folder: str | Path | None = None) -> None:
        self.spec = spec if isinstance(spec, Spec) else make_spec(spec)
        self.store = Store(folder or Path("results") / self.spec.name)
        self.where = "spec"
        self.command: list[str] = []  # that runs it, if known

    def __repr__(self) -> str:
        return f"Study({self.spec.name!r}, {str(self.store.folder)!r})"

    @classmethod
    def from_toml(cls, path: str | Path, folder: str | Path | None = None, *, quick: bool = False) -> "Study":
        """Read a study from its spec file; `quick` applies the changes of its table [quick]."""
        study = cls(read_spec(path, quick=quick), folder)
        study.where = str(path)
        study.command = ["heavytail", "run", str(path), *(["--quick"] if quick else [])]
        return study

    @classmethod
    def open(cls, path: str | Path, spec: Spec | None = None) -> "Study":
        """Open a study that was started before.

        Args:
            path: its folder, or its packed file.
            spec: a spec whose words, claims and statistics replace the study's.
        """
        store = open_store(path)
        study = cls(spec or store.spec(), path)
        study.store = store
        study.command = ["heavytail", "resume", str(path)]
        return study

    def run(
        self,
        engine: EngineName | Engine = "local",
        *,
        workers: int | None = None,
        address: str | None = None,
        lanes: int | None = None,
        reuse: Sequence[str | Path] = (),
        listener: Listener = lambda event: None,
    ) -> None:
        """Compute what is missing.

        Earlier results, from here or elsewhere, are kept; an interruption loses the parts in progress, or the
        last minute of long ones.

        Args:
            engine: "local", "ray", "cuda", "inline", a plugin's, or your own engine.
            workers: the number of parts at a time; by default one per core.
            address: the address of a Ray cluster.
            lanes: runs at a time on a GPU; by default 65,536, or as many as fit into its memory.
            reuse: other studies, folders or packed, from which parts in common are copied.
            listener: a function called with every event (`heavytail.studies.progress`).
        """
        self.store.require_writable()
        sizes = self.check()
        made = make_engine(engine, workers=workers, address=address, lanes=lanes)
        others = [require_study(path) for path in reuse]
        listener({"event": "plan", "phases": [size._asdict() for size in sizes]})
        self._prepare()
        self._forget_results()
        with self.store.lock():
            for planned in self._stages():
                stage = self._adopt(planned, others)
                for part, problem in stage.damaged.items():
                    listener({"event": "damage", "id": part, "what": problem})
                steps = steps_by_agent(stage)
                listener(stage_event(self.spec, stage, steps))
                for event in made.run(stage.missing, self.store.resume_folder):
                    self._handle(event, listener, steps)
                if stage.phase == "tuning" and stage.missing:
                    self._remark_on_choices(listener)
            if self.sweeps:
                write_summary(self.store, self.sweeps, self._command_with(engine))

    def _command_with(self, engine: str | Engine) -> str:
        """Return the command that runs it, for readers of the results; empty if unknown."""
        name = engine if isinstance(engine, str) else type(engine).__name__
        return shlex.join([*self.command, "--engine", name]) if self.command else ""

    def _adopt(self, stage: Stage, others: Sequence[Store]) -> Stage:
        """Copy parts that are missing here from other studies that have them."""
        missing = [
            part for part in stage.missing if not any(self.store.adopt(part, other) for other in others)
        ]
        ids = {part.id for part in missing}
        return stage._replace(
            missing=missing, damaged={part: what for part, what in stage.damaged.items() if part in ids}
        )

    def _handle(self, event: Event, listener: Listener, steps: Mapping[str, Steps]) -> None:
        """Keep a part that is done, and tell the listener."""
        match event:
            case PartProgress(part, share):
                listener({"event": "going", "id": part, "share": share, "work": dict(steps[part])})
            case Message(words):
                listener({"event": "said", "words": words})
            case PartDone(part, content, seconds, about):
                self.store.write(part, content, {"seconds": seconds, **about, **part_versions(part)})
                listener(part_event(event, steps[part.id]))

    def _remark_on_choices(self, listener: Listener) -> None:
        for review in self.choice_reviews():
            for remark in review.remarks():
                words = f"tuning of {review.agent} on {review.env}: {remark}"
                listener({"event": "said", "words": words})

    def _prepare(self) -> None:
        """Make the folder of this study, or raise an error that says why that is impossible."""
        if not self.store.exists():
            self.store.create(self.spec, {"started_on": platform.node(), **code_versions()})
            return
        metadata, spec = self.store.metadata(), self.spec.model_dump(mode="json")
        if metadata["spec"] != spec:
            require_same_results(self.store.spec(), self.spec, self.store.folder)
            self.store.write_json("study.json", {**metadata, "spec": spec})
        self.store.keep_mdps(self.spec)

    # The plan

    def check(self) -> list[PhaseSize]:
        """Check the spec as `run` does, and count the runs of each phase; nothing is computed."""
        sizes = plan_sizes(self.spec, self.where)
        check_plan(self.spec, self.where)
        return sizes

    @cached_property
    def _counted_spec(self) -> Spec:
        """The spec, after checking that its plan fits into memory."""
        plan_sizes(self.spec, self.where)
        return self.spec

    @cached_property
    def tuning_cells(self) -> list[Cell]:
        """Every point of every grid in every environment, with its parts."""
        return tuning_cells(self._counted_spec)

    @cached_property
    def evaluation_cells(self) -> list[Cell]:
        """Every agent at its chosen point in every environment, with its parts; tuning must be done."""
        return evaluation_cells(self._counted_spec, self.choices())

    @cached_property
    def sweeps(self) -> list[Sweep]:
        """Every sweep in every environment, with its parts."""
        return plan_sweeps(self._counted_spec)

    def cells(self, phase: CurvePhase = "evaluation") -> list[Cell]:
        """Agents and environments with their parts."""
        return self.tuning_cells if phase == "tuning" else self.evaluation_cells

    def _forget_results(self) -> None:
        """Forget choices, which follow from results that a run may replace."""
        for name in ("_scores", "_choices", "evaluation_cells"):
            self.__dict__.pop(name, None)

    def _stages(self) -> Iterator[Stage]:
        """Yield tuning, then evaluation at the chosen points, then sweeps."""
        if self.tuning_cells:
            yield find_stage(self.store, "tuning", self.tuning_cells)
        yield find_stage(self.store, "evaluation", self.evaluation_cells)
        if self.sweeps:
            yield find_sweep_stage(self.store, self.sweeps)

    def stages(self) -> list[Stage]:
        """List the phases so far; evaluation is only known when tuning is done."""
        planned, stages = self._stages(), list[Stage]()
        if self.tuning_cells:
            stages.append(next(planned))
            if stages[0].missing:
                return stages
        try:
            _ = self.evaluation_cells
        except InputError:  # every run of a grid failed: nothing was chosen, and there is no evaluation
            return stages
        return [*stages, *planned]

    # Sweeps

    def maps(self) -> Summary:
        """Return the summary of all sweeps, a row for every point in every environment.

        It is read from its file if there is one, else made from the parts.
        """
        if not self.spec.maps:
            raise InputError(
                f"the study {self.spec.name} has no maps; a table [maps.KEY] in its spec defines them"
            )
        return read_summary(self.store, self.sweeps) or make_summary(self.store, self.sweeps)

    # Results

    def choices(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Return the chosen point of every grid: agent -> environment -> point; tuning must be done."""
        return self._choices

    def scores(self) -> list[GridScore]:
        """Return the score of every point of every grid on the tuning seeds."""
        return self._scores

    def choice_reviews(self) -> list[ChoiceReview]:
        """Review each choice: whether other seeds would change it, edges of grids, groups of runs."""
        return review_choices(self.spec, self.scores(), self.choices())

    @cached_property
    def _choices(self) -> dict[str, dict[str, dict[str, Any]]]:
        return choose(self.scores())

    @cached_property
    def _scores(self) -> list[GridScore]:
        cells = self.tuning_cells
        return (
            score_cells(cells, self.store.table(finished_parts(self.store, "tuning", cells))) if cells else []
        )

    def curves(self, phase: CurvePhase = "evaluation") -> "pd.DataFrame":
        """Return all curves as one DataFrame, a row per checkpoint.

        `agent_key` and `env_key` are the spec's keys, and counters are columns.
        """
        import pandas as pd

        cells = self.cells(phase)
        frame = to_frame(self.store.table(finished_parts(self.store, phase, cells)))
        keys = pd.DataFrame(
            [
                {"run": run, "agent_key": cell.agent, "env_key": cell.env, "point": canonical(cell.point)}
                for cell in cells
                for run in cell.runs
            ]
        )
        return keys.merge(frame, on="run", how="inner")

    def failures(self) -> "pd.DataFrame":
        """Return runs that raised, with their error; for a sweep the first at each point."""
        import pandas as pd

        done = {stage.phase for stage in self.stages() if not stage.missing}
        curves = [self.curves(phase) for phase in CURVE_PHASES if phase in done]
        tables = [rows[rows["error"].notna()] for rows in curves]
        tables += [self.maps().failures()] if "map" in done else []
        # Beside a table without rows whole numbers would become floats
        return pd.concat(
            [rows for rows in tables if len(rows)] or tables[:1] or [pd.DataFrame({"error": []})]
        )

    def to_rliable(self) -> dict[str, Floats]:
        """Return scores in rliable's format: for each agent an array [run, environment].

        A score is the mean reward in the last tenth of the run, as a share of the optimum. If the optimum is
        unknown, as with deep agents, it is the reward itself: the mean clean return per episode.
        """
        return score_matrices(self.curves(), list(self.spec.envs))

    def report(self, path: str | Path | None = None, command: str = "") -> Path:
        """Write the report, a self-contained page.

        Args:
            path: the path of the page; by default FOLDER/report.html, or results/NAME/report.html for a
                packed study.
            command: the command that reproduces it, shown in the page.
        """
        from heavytail.report.report import write_report  # a convenience, as DataFrame.plot is

        return write_report(self, path or self.store.report_path(self.spec.name), command=command)

    def tables(self) -> "dict[str, pd.DataFrame]":
        """Return the tables of the report as DataFrames: results, curves, claims, tests and tuning.

        ``heavytail export FOLDER`` writes them as CSV or LaTeX.
        """
        from heavytail.report.export import make_tables  # a convenience, as `report` is

        return make_tables(self)

    def pack(self, path: str | Path | None = None) -> Path:
        """Write the finished study into one Parquet file (`heavytail.studies.packed`).

        Args:
            path: the path of the file; by default FOLDER.parquet, beside the folder.
        """
        folder = self.store.folder
        target = Path(path) if path else folder.with_name(f"{folder.resolve().name}.parquet")
        require_same_results(self.store.spec(), self.spec, self.store.folder)
        metadata = {**self.store.metadata(), "spec": self.spec.model_dump(mode="json")}
        parts = [
            part for phase in CURVE_PHASES for part in finished_parts(self.store, phase, self.cells(phase))
        ]
        sweeps = to_table(self.maps(), self.sweeps) if self.sweeps else None
        pack_study(self.store, metadata, parts, sweeps, target)
        return target
