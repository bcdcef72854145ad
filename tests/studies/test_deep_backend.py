"""Deep agents in studies: batches as parts, and a long part that goes on from where it was left."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import heavytail as ht
from heavytail.deep.curve import make_deep_curve
from heavytail.errors import InputError
from heavytail.studies import Study
from heavytail.studies.backends import backend, backend_of, deep
from heavytail.studies.backends.backend import WorkContext
from heavytail.studies.engines._parts import next_part
from heavytail.studies.engines.inline import InlineEngine
from heavytail.studies.plan import evaluation_cells, tuning_cells, unique_parts
from heavytail.studies.plan_checks import check_plan
from heavytail.studies.specs.reading import make_spec
from support.small_studies import Files, Notes, files, finished, small

TINY: dict[str, Any] = {"hidden": [8], "replay": 200, "start": 100, "batch": 16, "bits": 6, "discount": 0.9}


def raw_study(**changes: Any) -> dict[str, Any]:
    """Two agents on MountainCar, one with a grid; one part of tuning and one of evaluation, alike to XLA."""
    raw: dict[str, Any] = {
        "name": "deep",
        "steps": 1000,
        "seeds": 3,
        "checkpoints": 10,
        "tuning": {"seeds": 3, "share": 1.0},
        "envs": {"mountain_car": {"parameters": {"noise_scale": 5.0, "cap": 50}}},
        "agents": {
            "raw": {"agent": "heavy_dqn", "parameters": {**TINY, "transform": "none"}},
            "heavy": {"agent": "heavy_dqn", "parameters": TINY, "grid": {"coefficient": [0.015, 0.15]}},
        },
    }
    return {**copy.deepcopy(raw), **changes}


CHOICES = {"heavy": {"mountain_car": {"coefficient": 0.15}}}


# Plans


def test_runs_that_can_be_done_side_by_side_are_one_part() -> None:
    spec = make_spec(raw_study(tuning={"seeds": 2, "share": 0.5}))
    (tuning,), (evaluation,) = unique_parts(tuning_cells(spec)), unique_parts(evaluation_cells(spec, CHOICES))
    assert [(r.replicate, r.parameters["coefficient"]) for r in tuning.runs] == [
        (0, 0.015),
        (1, 0.015),
        (0, 0.15),
        (1, 0.15),
    ]
    assert [(r.replicate, r.parameters["transform"]) for r in evaluation.runs] == [
        (r, name) for name in ("none", "zero") for r in range(3)
    ]
    assert "coefficient" not in evaluation.parameters
    assert (tuning.parameters["total_steps"], evaluation.parameters["total_steps"]) == (500, 1000)
    cells = evaluation_cells(spec, CHOICES)
    assert [cell.share_in(evaluation) for cell in cells] == [0.5, 0.5]
    assert {run for cell in cells for run in cell.runs} == {run.id for run in evaluation.runs}
    assert cells[1].parameters()["coefficient"] == 0.15


def test_what_is_compiled_or_another_environment_is_another_part(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = raw_study()
    raw["envs"]["quiet"] = {"env": "mountain_car", "parameters": {"cap": 50}}
    raw["agents"]["squared"] = {"agent": "heavy_dqn", "parameters": {**TINY, "loss": "squared"}}
    raw["agents"]["heavy"].pop("grid")
    parts = unique_parts(evaluation_cells(make_spec(raw), {}))
    assert [
        (part.parameters["loss"], part.env_parameters.get("noise_scale"), len(part.runs)) for part in parts
    ] == [("huber", 5.0, 6), ("huber", None, 6), ("squared", 5.0, 3), ("squared", None, 3)]
    monkeypatch.setattr(deep.DeepBackend, "max_runs", 4)
    narrow = unique_parts(evaluation_cells(make_spec(raw), {}))
    assert sorted(len(part.runs) for part in narrow) == [2, 2, 3, 3, 4, 4]
    assert {run.id for part in narrow for run in part.runs} == {run.id for part in parts for run in part.runs}
    assert {part.id for part in narrow} & {part.id for part in parts} == {
        part.id for part in parts[2:]
    }  # a batch of another width is another part


def test_the_same_point_of_two_agents_is_run_once() -> None:
    raw = raw_study()
    raw["agents"]["heavy"].pop("grid")
    raw["agents"]["again"] = {"agent": "heavy_dqn", "parameters": {**TINY, "coefficient": 0.015}}
    cells = evaluation_cells(make_spec(raw), {})
    assert cells[1].runs == cells[2].runs
    assert [len(part.runs) for part in unique_parts(cells)] == [6]


def test_a_grid_of_one_point_needs_no_tuning() -> None:
    raw = raw_study()
    raw["agents"]["heavy"]["grid"] = {"coefficient": [0.05]}
    spec = make_spec(raw)
    assert tuning_cells(spec) == []
    assert evaluation_cells(spec, {})[1].parameters()["coefficient"] == 0.05


def test_each_kind_of_agent_runs_in_its_kind_of_environment() -> None:
    mixed = {**raw_study(episodes=20), "envs": {**raw_study()["envs"], "six_arms": {}}}
    mixed["agents"]["random"] = {}
    cells = evaluation_cells(make_spec(mixed), CHOICES)
    assert [(cell.agent, cell.env) for cell in cells] == [
        ("raw", "mountain_car"),
        ("heavy", "mountain_car"),
        ("random", "six_arms"),
    ]


def _at(raw: dict[str, Any], place: str, value: Any) -> dict[str, Any]:
    inside, keys = raw, place.split("/")
    for key in keys[:-1]:
        inside = inside[key]
    inside[keys[-1]] = value
    return raw


CLAIM = [
    {
        "claim": "x",
        "conditions": [{"test": "better", "agent": "heavy", "than": "raw", "metric": "final_regret"}],
    }
]


CAR, CANNOT = "envs/mountain_car/parameters", "tabular and cannot learn in mountain_car"
MISTAKES: list[tuple[str, Any, str]] = [
    (CAR, {"nose": 1}, "envs.mountain_car: mountain_car has no parameter 'nose'"),
    (CAR, {"noise_scale": -1}, "envs.mountain_car: heavy_dqn: noise_scale must be at least 0, got -1.0"),
    (CAR, {"cap": 0}, "envs.mountain_car: heavy_dqn: cap must be at least 1, got 0"),
    ("agents/raw/parameters", {"transfrom": "none"}, "agents.raw.parameters: there is no 'transfrom'; did"),
    ("agents/raw/parameters", {"noise_scale": 1.0}, "agents.raw.parameters: there is no 'noise_scale'"),
    ("agents/raw/parameters", {"transform": "cut"}, "agents.raw on mountain_car: heavy_dqn: transform is"),
    ("agents/heavy/grid", {"coefficient": [0.1, -1.0]}, "agents.heavy (coefficient = -1.0) on mountain_car"),
    ("agents/raw/envs", ["six_arms"], "agents.raw is deep and cannot learn in six_arms"),
    ("agents/random", {"envs": ["mountain_car"]}, f"agents.random is {CANNOT}"),
    ("tuning", {"share": 0.1}, "envs.mountain_car: runs of 100 steps in the tuning are too short to be"),
    ("agents/heavy/grid", {"coefficient": [0.1]}, "envs.mountain_car: runs of 450 steps in the evaluation"),
    ("claims", CLAIM, "claims.0.conditions.0.metric is 'final_regret', but the best policy of"),
]


@pytest.mark.parametrize(("place", "value", "said"), MISTAKES)
def test_mistakes_are_one_line_with_their_place(place: str, value: Any, said: str) -> None:
    raw = raw_study(episodes=10)
    raw["envs"]["six_arms"] = {}
    if "evaluation" in said:
        raw["steps"] = 450
    with pytest.raises(InputError) as caught:
        check_plan(make_spec(_at(raw, place, value)))
    assert str(caught.value).startswith(f"spec: {said}"), str(caught.value)
    assert "\n" not in str(caught.value)


# Runs


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Files]:
    """A study that nothing interrupted."""
    folder = tmp_path_factory.mktemp("deep")
    return Study(raw_study(), folder), finished(raw_study(), folder)


def test_curves_are_those_of_the_learner(whole: tuple[Study, Files]) -> None:
    study, _ = whole
    (part,) = unique_parts(study.cells())
    runs = [
        {**run.parameters, "seed": int(part.seed_for(run.replicate).generate_state(1)[0])}
        for run in part.runs
    ]
    varied = [{key: run[key] for key in ("seed", "transform", "coefficient")} for run in runs]
    learner = ht.deep.heavy_dqn(
        "mountain_car", runs=varied, noise_scale=5.0, cap=50, total_steps=1000, **TINY
    )
    curve, frame = learner.learn(checkpoints=10), study.curves()
    for i, run in enumerate(part.runs):
        rows = frame[frame["run"] == run.id]
        assert rows["at"].tolist() == list(range(100, 1001, 100))
        assert rows["mean_reward"].tolist() == curve.clean_return[i].tolist()
        assert rows["episodes"].tolist() == curve.episodes[i].tolist()
        assert rows["truncated"].tolist() == curve.truncated[i].tolist()
    assert frame["regret"].isna().all()
    assert frame.groupby("agent_key")["truncated"].max()["raw"] == 0
    assert study.choices()["heavy"]["mountain_car"]["coefficient"] in (0.015, 0.15)
    assert set(study.to_rliable()) == {"raw", "heavy"}


def test_replicates_differ_and_phases_do_not_share_seeds(whole: tuple[Study, Files]) -> None:
    (tuning,), (evaluation,) = (unique_parts(whole[0].cells(phase)) for phase in ("tuning", "evaluation"))
    seeds = [
        int(part.seed_for(r).generate_state(1)[0])
        for part in (tuning, evaluation)
        for r in sorted(set(part.replicates))
    ]
    assert len(set(seeds)) == 6


def test_files_are_the_same_in_other_processes(whole: tuple[Study, Files], tmp_path: Path) -> None:
    notes = Notes()
    Study(raw_study(), tmp_path).run("local", workers=2, listener=notes)
    assert files(tmp_path) == whole[1]
    assert len(notes.parts) == 2


def test_sidecars_say_what_computed_them(whole: tuple[Study, Files]) -> None:
    page = json.loads(next((whole[0].store.folder / "sidecars").iterdir()).read_text())
    assert page["jax"]
    assert page["device"] == "cpu"
    assert page["results_version"] == 1


class Interrupted(InlineEngine):
    """Gives up once a part is so far."""

    share = 0.55

    def run(self, parts: Any, resume_folder: Path) -> Iterator[Any]:
        def tell(share: float) -> None:
            if share > self.share:
                raise KeyboardInterrupt

        for part in parts:
            backend_of(part).run(part, WorkContext(tell, resume_folder / f"{part.id}.npz")).__next__()
            yield from ()


@pytest.fixture
def saved_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "SECONDS_BETWEEN_SAVES", 0.0)
    monkeypatch.setattr(backend, "MIN_WORK_PER_SAVE", 0.0)


@pytest.mark.usefixtures("saved_at_once")
def test_an_interrupted_part_goes_on_from_its_resume_file_and_ends_with_the_same_bytes(
    whole: tuple[Study, Files], tmp_path: Path
) -> None:
    study = Study(raw_study(), tmp_path)
    with pytest.raises(KeyboardInterrupt):
        study.run(Interrupted())
    (resume_file,) = study.store.resume_folder.iterdir()
    assert 0 < ht.deep.DeepLearner.load(resume_file).steps < 1000
    notes = Notes()
    Study(raw_study(), tmp_path).run("inline", listener=notes)
    assert notes.shares[0] > 0.5  # the tuning went on
    assert {
        name: content for name, content in files(tmp_path).items() if not name.startswith("resume/")
    } == whole[1]
    assert list(study.store.resume_folder.iterdir()) == []


@pytest.mark.usefixtures("saved_at_once")
def test_what_another_jax_began_is_begun_again(
    whole: tuple[Study, Files], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = Study(raw_study(), tmp_path)
    with pytest.raises(KeyboardInterrupt):
        study.run(Interrupted())
    monkeypatch.setattr(deep.DeepBackend, "made_with", lambda self: {"jax": "0.0", "device": "cpu"})
    notes = Notes()
    Study(raw_study(), tmp_path).run("inline", listener=notes)
    assert notes.shares[0] < 0.5
    assert files(tmp_path) == whole[1]


def left_in(folder: Path, raw: dict[str, Any]) -> Path:
    """Stop a study in its first part, and return its resume file."""
    with pytest.raises(KeyboardInterrupt):
        Study(raw, folder).run(Interrupted())
    (resume_file,) = (folder / "resume").iterdir()
    return resume_file


OTHERS: dict[str, dict[str, Any]] = {
    "seed": {"seed": 1},
    "environment": {"envs": {"mountain_car": {"parameters": {"noise_scale": 6.0, "cap": 50}}}},
}


def of_another_part(damage: str, part: str, folder: Path) -> bytes:
    return left_in(folder, raw_study(**OTHERS[damage])).read_bytes()


def under_a_false_name(damage: str, part: str, folder: Path) -> bytes:
    """Another part's file, with the id of this one."""
    path = left_in(folder, raw_study(**OTHERS[damage]))
    learner = ht.deep.DeepLearner.load(path)
    learner.note = part
    learner.save(path)
    return path.read_bytes()


def without_a_checkpoint(damage: str, part: str, folder: Path) -> bytes:
    path = left_in(folder, raw_study())
    learner = ht.deep.DeepLearner.load(path)
    learner._rows.pop()
    learner.curve = make_deep_curve(learner.curve.steps[:-1].tolist(), learner._rows, 6)
    learner.save(path)
    return path.read_bytes()


@pytest.mark.usefixtures("saved_at_once")
@pytest.mark.parametrize(
    ("damage", "make"),
    [
        ("empty", lambda damage, part, folder: b""),
        ("garbage", lambda damage, part, folder: b"no file"),
        ("cut", lambda damage, part, folder: left_in(folder, raw_study()).read_bytes()[:5000]),
        ("environment", of_another_part),
        ("checkpoints", without_a_checkpoint),
        *((damage, under_a_false_name) for damage in OTHERS),
    ],
)
def test_a_resume_file_that_cannot_be_used_is_set_aside_and_its_part_begins_again(
    damage: str, make: Any, whole: tuple[Study, Files], tmp_path: Path
) -> None:
    study = Study(raw_study(), tmp_path / "study")
    (part,) = unique_parts(tuning_cells(study.spec))
    resume_file = study.store.resume_folder / f"{part.id}.npz"
    content = make(damage, part.id, tmp_path / "other")
    resume_file.parent.mkdir(parents=True)
    resume_file.write_bytes(content)
    notes = Notes()
    study.run("inline", listener=notes)
    (words,) = notes.words
    assert words.startswith(str(resume_file))
    assert words.endswith(f"it was set aside as {part.id}.npz.damaged, and its work begins again")
    assert "\n" not in words
    (aside,) = study.store.resume_folder.iterdir()
    assert aside.read_bytes() == content
    aside.unlink()
    assert files(study.store.folder) == whole[1]


def test_a_failure_is_a_row_and_not_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: Any, part: Any, context: Any) -> Any:
        raise FloatingPointError("no\nluck")

    monkeypatch.setattr(deep.DeepBackend, "_learn", fails)
    raw = raw_study()
    raw["agents"]["heavy"].pop("grid")
    study = Study(raw, tmp_path)
    study.run("inline")
    assert study.failures()["error"].tolist() == ["FloatingPointError: no"] * 6


# Engines


def test_a_gpu_does_one_part_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = raw_study(episodes=20)
    raw["envs"]["six_arms"] = {}
    raw["agents"] = {"raw": raw["agents"]["raw"], "random": {}}
    batch, table = unique_parts(evaluation_cells(make_spec(raw), {}))
    monkeypatch.setattr(deep, "gpu_there", lambda: False)
    assert next_part([batch], set(), [table]) == batch
    monkeypatch.setattr(deep, "gpu_there", lambda: True)
    assert next_part([batch], set(), [table]) is None
    assert next_part([table], set(), [batch]) is None
    assert next_part([batch, table], set(), []) == batch
    assert next_part([batch], set(), [table], one_machine=False) == batch


def test_progress_inside_a_part_is_told(tmp_path: Path) -> None:
    notes = Notes()
    Study(raw_study(seeds=6, agents={"raw": raw_study()["agents"]["raw"]}), tmp_path).run(
        "local", workers=1, listener=notes
    )
    assert np.all(np.diff(notes.shares) > 0)
    assert notes.shares[-1] == 1.0


def test_a_mixed_study_runs_and_reports(tmp_path: Path) -> None:
    raw = small(steps=1000, seeds=6)
    raw["envs"] = {"six_arms": {}, **raw_study()["envs"]}
    raw["agents"] = {"random": {}, "raw": raw_study()["agents"]["raw"]}
    study = Study(raw, tmp_path)
    study.run("inline")
    assert "mountain_car" in study.report().read_text()


def test_a_model_of_the_reward_is_studied_by_name_and_its_beliefs_are_shown(tmp_path: Path) -> None:
    tiny = {name: value for name, value in TINY.items() if name != "bits"}
    raw = raw_study(
        agents={"robust": {"agent": "robust_dqn", "parameters": tiny}, "raw": raw_study()["agents"]["raw"]},
        families={"car": {"env": "mountain_car", "parameters": {"cap": 50}, "vary": {"noise_scale": [0, 5]}}},
        claims=[
            {
                "claim": "It is no worse.",
                "conditions": [{"test": "no_worse", "agent": "robust", "than": "raw", "margin": 0.05}],
            }
        ],
    )
    raw["seeds"] = 6  # a batch of six, as in other tests
    study = Study(raw, tmp_path)
    study.run("inline")
    assert study.failures().empty
    frame = study.curves()
    believed = frame[frame["agent_key"] == "robust"]
    assert (believed["residual_scale"] >= 0).all()
    assert believed["truncated"].isna().all()
    page = study.report().read_text()
    for words in ("Predicted reward", "Scale of residuals", "Outliers", "Clean return against noise_scale"):
        assert words in page
