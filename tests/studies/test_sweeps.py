"""Maps: every point of a fine grid, at full length.

Their plan, their runs, and the file that sums them up.
"""

import itertools
import json
import shutil
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heavytail as ht
from heavytail.errors import InputError
from heavytail.planning.reward_moments import reward_moments
from heavytail.studies import Study, plan
from heavytail.studies.backends.backend import RunCurve
from heavytail.studies.backends.tabular import TabularBackend
from heavytail.studies.part import Part
from heavytail.studies.plan import evaluation_cells, plan_sweeps, tuning_cells, unique_parts
from heavytail.studies.plan_checks import check_plan
from heavytail.studies.progress import BarListener
from heavytail.studies.specs.reading import make_spec
from heavytail.studies.store import SWEEPS, Store
from heavytail.studies.sweeps import from_table
from support.examples import examples
from support.small_studies import Notes, done, files, small, to_table

AXES: dict[str, list[Any]] = {
    "moment": [1.0, "true", 0.1],
    "reward_scale": [0.01, 0.001],
    "transition_scale": [1.0, 0.01],
}
STEPS_OF_FIVE_RUNS = 5 * 60 * 25  # of SixArms


def mapped(**changes: Any) -> dict[str, Any]:
    """A small study with a map of twelve points, four runs each, on two environments."""
    said = {
        "agent": "heavy_q_learning",
        "label": "a field",
        "parameters": {"epsilon": 0.05},
        "seeds": 4,
        "axes": AXES,
        **changes,
    }
    return small(agents={"random": {}}, maps={"field": said})


@pytest.fixture(autouse=True)
def five_runs_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the runs of a point are in two parts, and a part has runs of two points."""
    monkeypatch.setattr(plan, "SWEEP_STEPS_PER_PART", STEPS_OF_FIVE_RUNS)


def parts(raw: dict[str, Any]) -> list[Part]:
    return unique_parts(plan_sweeps(make_spec(raw)))


# The plan


@given(
    moments=st.lists(st.floats(0.01, 100.0), min_size=1, max_size=4, unique=True),
    scales=st.lists(st.floats(0.01, 1.0), min_size=1, max_size=4, unique=True),
    seeds=st.integers(1, 5),
    most=st.integers(1, 9),
)
@examples(40)
def test_every_point_has_every_seed_once_and_parts_are_bounded(
    moments: list[float], scales: list[float], seeds: int, most: int
) -> None:
    raw = mapped(axes={"moment": moments, "reward_scale": scales}, seeds=seeds, envs=["six_arms"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "MAX_SWEEP_RUNS", most)
        patch.setattr(plan, "SWEEP_STEPS_PER_PART", 10**9)
        (sheet,) = plan_sweeps(make_spec(raw))
    found = [
        (run.parameters["moment"], run.parameters["reward_scale"], run.replicate)
        for part in sheet.parts
        for run in part.runs
    ]
    assert found == list(itertools.product(sorted(moments), sorted(scales), range(seeds)))
    assert all(len(part.replicates) == most for part in sheet.parts[:-1])
    assert 1 <= len(sheet.parts[-1].replicates) <= most


def test_a_map_leaves_the_rest_of_the_study_as_it_was() -> None:
    with_map, without = make_spec(mapped()), make_spec({**mapped(), "maps": {}})
    assert tuning_cells(with_map) == tuning_cells(without)
    assert [cell.parts for cell in evaluation_cells(with_map, {})] == [
        cell.parts for cell in evaluation_cells(without, {})
    ]


def test_the_order_of_axes_and_values_means_nothing_to_the_work() -> None:
    turned = {name: values[::-1] for name, values in reversed(AXES.items())}
    assert [part.id for part in parts(mapped())] == [part.id for part in parts(mapped(axes=turned))]


def test_a_map_has_seeds_of_its_own() -> None:
    spec = make_spec(
        small(
            seeds=50,
            tuning={"seeds": 50},
            maps={"q_learning": {"seeds": 50, "axes": {"delta": [0.1], "transition_scale": [0.1]}}},
        )
    )
    choices = {"q_learning": {env: {"transition_scale": 0.01} for env in spec.envs}}
    every = [
        tuning_cells(spec)[0].parts,
        evaluation_cells(spec, choices)[0].parts,
        plan_sweeps(spec)[0].parts,
    ]
    states = {
        tuple(part.seed_for(r).generate_state(4).tolist())
        for phase in every
        for part in phase
        for r in part.replicates
    }
    assert len(states) == 150


def test_the_true_moment_has_its_place_among_the_others_in_each_environment() -> None:
    six, chain = plan_sweeps(make_spec(mapped()))
    for sheet, env in ((six, "six_arms"), (chain, "double_chain")):
        true = float(reward_moments(ht.make_mdp(env), 1.05).max())
        assert sheet.axes == {
            "moment": (0.1, 1.0, true),
            "reward_scale": (0.001, 0.01),
            "transition_scale": (0.01, 1.0),
        }


def test_two_ways_to_say_the_same_point_are_a_mistake() -> None:
    true = float(reward_moments(ht.make_mdp("six_arms"), 1.05).max())
    with pytest.raises(
        InputError,
        match=r"^spec: maps\.field on six_arms: axes\.moment comes to 14\.2\d* twice; leave one of them out$",
    ):
        check_plan(make_spec(mapped(axes={**AXES, "moment": [true, "true"]})))


def test_a_plan_of_a_large_map_builds_few_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    built = create_autospec(TabularBackend.counter_names, side_effect=TabularBackend.counter_names)
    resolved = create_autospec(
        TabularBackend.resolve_parameters, side_effect=TabularBackend.resolve_parameters
    )
    monkeypatch.setattr(TabularBackend, "counter_names", built)
    monkeypatch.setattr(TabularBackend, "resolve_parameters", resolved)
    axis = np.geomspace(0.001, 1.0, 20).tolist()
    spec = make_spec(
        mapped(axes={"moment": axis, "reward_scale": axis, "transition_scale": axis}, envs=["six_arms"])
    )
    check_plan(spec)
    assert sum(len(part.replicates) for part in plan_sweeps(spec)[0].parts) == 4 * 20**3
    assert built.call_count < 100
    assert resolved.call_count < 300


# Its runs


def test_a_run_of_a_map_is_the_run_that_stands_alone() -> None:
    """Beside runs of other points, and as the only one of a part without variants.

    The same id, the same numbers.
    """
    part = parts(mapped())[0]
    assert len({run.parameters["transition_scale"] for run in part.runs}) == 2
    rows = pd.DataFrame(to_table(part).to_pylist())
    for run in part.runs:
        alone = part.changed(replicates=(run.replicate,), variants=(), parameters=run.parameters)
        assert alone.id == run.id
        expected = pd.DataFrame(to_table(alone).to_pylist())
        pd.testing.assert_frame_equal(rows[rows["run"] == run.id].reset_index(drop=True), expected)


# The file


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "SWEEP_STEPS_PER_PART", STEPS_OF_FIVE_RUNS)
        return done(mapped(), tmp_path_factory.mktemp("mapped")).store.folder


def naive(frame: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """The slow, obvious way, from the parts as pandas reads them."""
    rows = []
    frame = frame[(frame["phase"] == "map") & frame["error"].isna()]
    points = pd.DataFrame(
        [{name: json.loads(text)[name] for name in names} for text in frame["parameters"]], index=frame.index
    )
    for key, group in frame.join(points).groupby(["env", *names]):
        runs = [run.sort_values("at") for _, run in group.groupby("run")]
        backend = TabularBackend(str(key[0]), {})
        total, ninth = backend.best(np.array([60, 54]))
        shares = [
            (run["mean_reward"].iloc[-1] - run["mean_reward"].iloc[-2]) / (total - ninth) for run in runs
        ]
        regret = [run["regret"].iloc[-1] for run in runs]
        counters = {
            f"counter_{name}": np.median([dict(run["counters"].iloc[-1])[name] for run in runs])
            for name in ("truncated", "cells_visited")
        }
        median = np.median(regret)
        found = {
            "regret_median": median,
            "regret_share": median / total,
            "last_tenth": np.median(shares),
            "best": total,
            **counters,
        }
        rows.append({**dict(zip(["env", *names], key, strict=True)), **found, "done": len(runs)})
    return pd.DataFrame(rows).set_index(["env", *names]).sort_index()


def assert_summed_up(study: Study) -> pd.DataFrame:
    found, names = study.maps().table.to_pandas(), sorted(AXES)
    assert len(found) == 2 * 12
    expected = naive(pd.read_parquet(study.store.parts), names)
    same = found[found["failures"] < found["runs"]].set_index(["env", *names]).sort_index()
    assert (same["runs"] - same["failures"]).tolist() == expected.pop("done").tolist()
    pd.testing.assert_frame_equal(same[expected.columns], expected, rtol=1e-12)
    return found


def test_a_map_is_summed_up_point_by_point(whole: Path) -> None:
    found = assert_summed_up(Study.open(whole))
    assert (found["failures"] == 0).all()
    ordered = found[["regret_q10", "regret_q25", "regret_median", "regret_q75", "regret_q90"]].to_numpy()
    assert (np.diff(ordered, axis=1) >= 0).all()
    assert len(np.unique(ordered[:, 2])) > 6  # points differ


def test_runs_that_failed_are_counted_and_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = TabularBackend._run

    def sometimes(self: TabularBackend, part: Part, one: Any) -> RunCurve:
        if (
            part.phase == "map"
            and one.parameters["moment"] == 1.0
            and (one.replicate == 2 or one.parameters["reward_scale"] == 0.01)
        ):
            raise ValueError("no\nluck")
        return run(self, part, one)

    monkeypatch.setattr(TabularBackend, "_run", sometimes)
    study = done(mapped(), tmp_path)
    found = assert_summed_up(study)
    assert found["failures"].value_counts().to_dict() == {0: 16, 1: 4, 4: 4}
    lost = found[found["failures"] == 4]
    assert lost["regret_median"].isna().all()
    assert lost["last_tenth"].isna().all()
    failures = study.failures()
    assert set(failures["error"]) == {"ValueError: no"}
    assert sorted(failures["replicate"]) == [0] * 4 + [2] * 4
    assert set(failures["agent_key"]) == {"field"}
    assert "ValueError: no" in study.report().read_text(encoding="utf-8")


def without_parts(whole: Path, folder: Path) -> Path:
    """A study as it is published: all but the parts of its map."""
    shutil.copytree(whole, folder)
    for part in unique_parts(Study.open(folder).sweeps):
        (folder / "parts" / f"{part.id}.parquet").unlink()
        (folder / "sidecars" / f"{part.id}.json").unlink()
    return folder


def test_with_its_file_a_map_needs_no_parts(whole: Path, tmp_path: Path) -> None:
    folder = without_parts(whole, tmp_path / "published")
    study, notes = Study.open(folder), Notes()
    assert [(stage.phase, len(stage.missing)) for stage in study.stages()] == [("evaluation", 0), ("map", 0)]
    study.run("inline", listener=notes)
    assert notes.parts == []
    assert study.maps().table.equals(Study.open(whole).maps().table)
    assert study.failures().empty
    assert "Where it works" in study.report().read_text(encoding="utf-8")


def test_a_file_with_an_altered_byte_is_no_file_or_the_same(whole: Path, tmp_path: Path) -> None:
    study, altered_folder = Study.open(whole), tmp_path
    content = (whole / SWEEPS).read_bytes()
    read = []
    for place in range(0, len(content), 37):
        altered = bytearray(content)
        altered[place] ^= 0b10
        (altered_folder / SWEEPS).write_bytes(altered)
        table = Store(altered_folder).read_sweeps()
        read.append(None if table is None else from_table(table, study.sweeps))
    assert all(each is None or each.table.equals(study.maps().table) for each in read)
    assert sum(each is None for each in read) > len(read) / 4  # much of such a small file is names


@pytest.mark.parametrize("damage", ["cut", "of another plan", "no Parquet", "not ours"])
def test_a_file_that_does_not_fit_is_no_file(
    whole: Path, tmp_path: Path, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = without_parts(whole, tmp_path / "published")
    path = folder / SWEEPS
    if damage == "cut":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    elif damage == "of another plan":
        monkeypatch.setattr(plan, "SWEEP_STEPS_PER_PART", 2 * STEPS_OF_FIVE_RUNS)
    elif damage == "no Parquet":
        path.write_text("maps")
    else:
        pq.write_table(pq.read_table(path).replace_schema_metadata({}), path)
    stage = Study.open(folder).stages()[-1]
    assert (stage.phase, len(stage.missing)) == ("map", len(stage.parts))
    with pytest.raises(
        InputError,
        match=f"^{folder}: 0 of {len(stage.parts)} parts of the map are done; continue with: heavytail",
    ):
        Study.open(folder).maps()


def test_it_says_where_it_comes_from(tmp_path: Path) -> None:
    path = tmp_path / "spec.toml"
    path.write_text(
        'name = "m"\nepisodes = 10\nenvs.six_arms = {}\nagents.random = {}\n'
        "maps.q_learning = { seeds = 2, axes = { delta = [0.1, 0.2], transition_scale = [0.1] } }\n"
    )
    Study.from_toml(path, tmp_path / "m", quick=True).run("inline")
    summary = Study.open(tmp_path / "m").maps()
    assert summary.command == f"heavytail run {path} --quick --engine inline"
    (page,) = summary.sidecars
    assert page["parts"] == len(Study.open(tmp_path / "m").sweeps[0].parts)
    assert page["seconds"] > 0
    assert "host" in page
    assert "part" not in page


# A study with a map


class StoppedError(Exception):
    """Somebody pressed Ctrl-C."""


class StopsAfter(Notes):
    """Interrupts a study after so many parts."""

    def __init__(self, parts: int) -> None:
        super().__init__()
        self.left = parts

    def __call__(self, event: dict[str, Any]) -> None:
        super().__call__(event)
        if len(self.parts) == self.left:
            raise StoppedError


def test_an_interrupted_map_goes_on_where_it_was(whole: Path, tmp_path: Path) -> None:
    stops, notes = StopsAfter(6), Notes()
    with pytest.raises(StoppedError):
        Study(mapped(), tmp_path).run("inline", listener=stops)
    assert not (tmp_path / SWEEPS).exists()
    Study.open(tmp_path).run("inline", listener=notes)
    assert not set(stops.parts) & set(notes.parts)
    stages = {stage["phase"]: stage["missing"] for stage in notes.stages}
    assert stages == {"evaluation": 0, "map": len(parts(mapped())) - 4}

    def results(folder: Path) -> dict[str, bytes]:
        return {name: content for name, content in files(folder).items() if name.startswith("parts/")}

    assert results(tmp_path) == results(whole)
    assert Study.open(tmp_path).maps().table.equals(Study.open(whole).maps().table)


def test_the_work_of_a_map_may_not_change_and_its_words_may(whole: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(whole, tmp_path / "copy")
    notes = Notes()
    Study(mapped(label="another"), folder).run("inline", listener=notes)
    assert notes.parts == []
    assert Study.open(folder).spec.maps["field"].label == "another"
    with pytest.raises(InputError, match=r"holds another study: maps\.field\.seeds was 4 and is 5\."):
        Study(mapped(seeds=5), folder).run("inline")


def test_a_study_without_maps_has_none(tmp_path: Path) -> None:
    study = done(small(agents={"random": {}}), tmp_path)
    assert [stage.phase for stage in study.stages()] == ["evaluation"]
    assert not (tmp_path / SWEEPS).exists()
    with pytest.raises(InputError, match=r"^the study small has no maps; "):
        study.maps()


def test_bars_know_maps(tmp_path: Path) -> None:
    from rich.progress import Progress

    study = Study(mapped(), tmp_path)
    with Progress(disable=True) as progress:
        watcher = BarListener(progress)
        study.run("inline", listener=watcher)
        tasks = {task.description: task for task in progress.tasks}
    n, steps = len(parts(mapped())), sum(part.steps * len(part.replicates) for part in parts(mapped()))
    assert set(tasks) == {f"map, {n} of {n} parts", "  a field"}
    assert all(task.completed == pytest.approx(task.total) == pytest.approx(steps) for task in tasks.values())
