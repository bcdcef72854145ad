"""Studies of MDPs that are given as objects: the same ids everywhere, kept in the folder, packed with it."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import heavytail as ht
from heavytail.mdp.mdp_file import digest_mdp
from heavytail.registry import registered
from heavytail.studies import Study
from heavytail.studies.specs.given_mdps import to_bytes
from heavytail.studies.specs.reading import make_spec
from support.processes import python
from support.small_studies import files, small

AGENTS: dict[str, Any] = {"random": {}, "q_learning": {"grid": {"transition_scale": [0.01, 0.1]}}}


def mine() -> ht.MDP:
    """An MDP that no builder of heavytail's makes."""
    heavy = ht.laws.empirical(np.random.default_rng(0).pareto(1.5, 50))
    ways = [[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]]
    return ht.mdp_from_arrays(ways, laws=[[0.0, 0.3], [heavy, 0.1]], horizon=4)


def raw(**envs: Any) -> dict[str, Any]:
    return small(envs=envs or {"mine": mine()}, agents=AGENTS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("given") / "study"
    Study(raw(), where).run("inline")
    return where


def test_it_is_named_by_its_content_and_in_no_list() -> None:
    name = make_spec(raw()).envs["mine"].env
    assert name == f"mdp:{digest_mdp(mine())}"
    assert make_spec(raw(other={"env": mine(), "label": "Mine"})).envs["other"].env == name
    assert name not in [entry.name for entry in registered("env")]


def test_every_run_is_that_of_an_agent_in_it(folder: Path) -> None:
    study = Study.open(folder)
    (cell,) = (cell for cell in study.evaluation_cells if cell.agent == "random")
    seed = cell.parts[0].seed_for(0)
    curve = ht.make_agent(mine(), "random", seed=seed).learn(episodes=60, checkpoints=10)
    rows = study.curves().query("agent_key == 'random' and replicate == 0")
    assert rows["mean_reward"].tolist() == curve.mean_reward.tolist()


def test_another_process_resumes_reports_and_packs_it(folder: Path, tmp_path: Path) -> None:
    """The folder is all that it has; parts that are gone come back byte for byte, from its own processes."""
    again = tmp_path / "again"
    shutil.copytree(folder, again)
    shutil.rmtree(again / "parts")
    script = f"""
    from heavytail.studies import Study
    study = Study.open({str(again)!r})
    study.run("local", workers=1)
    study.report()
    print(study.pack())
    """
    packed = Path(python(script, folder=tmp_path).splitlines()[-1])
    old, new = files(folder), files(again)
    assert {name: new[name] for name in old} == old
    script = f"""
    from heavytail.studies import Study
    print(len(Study.open({str(packed)!r}).curves()))
    """
    assert int(python(script, folder=tmp_path)) == len(Study.open(folder).curves())


def test_a_worker_elsewhere_needs_no_folder(folder: Path, tmp_path: Path) -> None:
    """As on a cluster: the MDP travels beside the part."""
    (cell,) = (cell for cell in Study.open(folder).evaluation_cells if cell.agent == "random")
    (tmp_path / "mdp").write_bytes(to_bytes(cell.parts[0].env))
    (tmp_path / "part").write_text(cell.parts[0].model_dump_json())
    script = """
    from pathlib import Path
    from heavytail.studies.engines._parts import Task, run_part_in_worker
    content, *_ = run_part_in_worker(Task(Path("part").read_text(), mdp=Path("mdp").read_bytes()))
    Path("content").write_bytes(content)
    """
    python(script, folder=tmp_path)
    assert (tmp_path / "content").read_bytes() == files(folder)[f"parts/{cell.parts[0].id}.parquet"]


def test_another_mdp_is_another_study(folder: Path) -> None:
    other = mine()._replace(horizon=5)
    with pytest.raises(ht.InputError, match=r"holds another study: envs\.mine\.env was"):
        Study(raw(mine=other), folder).run("inline")


def test_a_missing_or_altered_mdp_is_one_line_elsewhere_and_mended_here(folder: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    shutil.copytree(folder, again)
    (path,) = (again / "mdps").iterdir()
    script = f"""
    import heavytail as ht
    from heavytail.studies import Study
    try:
        Study.open({str(again)!r})
    except ht.InputError as error:
        print(error)
    """
    path.unlink()
    assert "cannot be read, an MDP of the study: No such file" in python(script, folder=tmp_path)
    ht.make_mdp("two_state").save(path)
    assert "holds another MDP than its name says" in python(script, folder=tmp_path)
    Study(raw(), again).run("inline")
    assert files(again) == files(folder)


def test_gymnasium_environments_changing_mdps_and_files_are_taken(tmp_path: Path) -> None:
    changing = ht.changing_mdp([mine(), mine()], at=[5])
    mine().save(tmp_path / "mine.npz")
    spec = make_spec(
        raw(
            lake=gymnasium.make("FrozenLake-v1"),
            own=gymnasium.make("heavytail/SixArms-v0"),
            changing=changing,
            file={"env": str(tmp_path / "mine.npz")},
        )
    )
    names = {key: env.env for key, env in spec.envs.items()}
    assert names["file"] == f"mdp:{digest_mdp(mine())}"
    assert names["own"] == f"mdp:{digest_mdp(ht.make_mdp('six_arms'))}"
    assert len(set(names.values())) == 4
    toml = tmp_path / "spec.toml"
    toml.write_text('name = "x"\nepisodes = 10\n[envs.mine]\nenv = "mine.npz"\n[agents.random]\n')
    assert Study.from_toml(toml).spec.envs["mine"].env == names["file"]  # beside the spec, wherever one is


def noisy() -> Any:
    return ht.gym.AddRewardNoise(gymnasium.make("FrozenLake-v1"), ht.laws.normal())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gymnasium.make("CartPole-v1"), "spec: envs.mine: CartPoleEnv shows no table P"),
        (noisy, "spec: envs.mine: AddRewardNoise is a wrapper, and may change what FrozenLakeEnv does"),
        (object, "spec: envs.mine: this is a object; it must be an MDP"),
        (lambda: mine()._replace(horizon=0, ends=np.ones(5, np.bool_)), "a continuing problem ends"),
        (lambda: {"env": mine(), "parameters": {"horizon": 3}}, "has no parameter 'horizon'"),
        (lambda: {"env": "nowhere.npz"}, "nowhere.npz cannot be read"),
        (lambda: {"env": "mdp:" + "0" * 20}, "there is no environment 'mdp:000"),
        (lambda: {"env": "mdp:../../secret"}, "there is no environment 'mdp:../../secret'"),
    ],
)
def test_what_is_no_mdp_is_one_line(make: Callable[[], Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ht.InputError) as caught:
        Study(raw(mine=make()), tmp_path).check()
    assert message in str(caught.value)
