import json
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import heavytail as ht
from heavytail.agent_file import FORMAT, METADATA
from heavytail.errors import InputError
from heavytail.gym import TruncateReward
from support.small_deep import SMALL


def lake() -> Any:
    return gymnasium.make("FrozenLake-v1")


def test_learners_are_loaded(tmp_path: Path) -> None:
    path = tmp_path / "agent.npz"
    learner = ht.make_agent(ht.make_mdp("six_arms"), "q_learning", seed=3)
    learner.learn(10)
    learner.save(path)
    loaded = ht.load(path)
    assert isinstance(loaded, ht.Learner)
    np.testing.assert_array_equal(loaded.learn(10).realised_reward, learner.learn(10).realised_reward)
    in_gym = ht.make_agent(lake(), "random", horizon=5, seed=0)
    in_gym.save(path)
    assert isinstance(ht.load(path, lake()), ht.Learner)
    assert ht.Learner.load(path).predict(0) in range(4)


def test_deep_runs_are_loaded(tmp_path: Path) -> None:
    ht.deep.heavy_dqn("cart_pole", **SMALL).save(tmp_path / "deep.npz")
    assert isinstance(ht.load(tmp_path / "deep.npz"), ht.deep.DeepLearner)


def test_wrappers_are_made_again_around_their_environment(tmp_path: Path) -> None:
    path = tmp_path / "counts.npz"
    for env, bare in (
        (TruncateReward(lake()), lake()),
        (
            TruncateReward(gymnasium.make_vec("FrozenLake-v1", 2)),
            gymnasium.make_vec("FrozenLake-v1", 2),
        ),
    ):
        env.save(path)
        assert type(ht.load(path, bare)) is type(env)
    with pytest.raises(InputError, match="is the state of TruncateReward; give its environment"):
        ht.load(path)


def test_studies_are_opened_from_their_folder_and_packed(tmp_path: Path) -> None:
    spec = {"name": "s", "steps": 20, "seeds": 1, "envs": {"two_state": {}}, "agents": {"random": {}}}
    study = ht.Study(spec, tmp_path / "s")
    study.run(engine="inline")
    packed = study.pack()
    for path in (tmp_path / "s", packed, str(packed)):
        loaded = ht.load(path)
        assert isinstance(loaded, ht.Study)
        assert len(loaded.curves()) == len(study.curves())
        assert repr(loaded) == f"Study('s', {str(path)!r})"
    with pytest.raises(InputError, match="is a study, which has its own environments; leave env out"):
        ht.load(packed, lake())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a valid file of heavytail"),
        (b"hello", "is not a valid file of heavytail"),
        (b"PAR1hello", "."),
        ({"format": FORMAT}, "is not a file that this version of heavytail knows"),
        ({"format": 99, "agent": "random"}, "has format 99"),
        ({"format": FORMAT, "wrapper": "os"}, "is of 'os', which is not heavytail's"),
        ({"format": FORMAT, "wrapper": ["MDPEnv"]}, "which is not heavytail's"),
        ({"format": FORMAT, "wrapper": "MDPEnv"}, "which is not heavytail's"),
        ({"format": FORMAT, "wrapper": "TruncateReward"}, "cannot be used: KeyError: 'options'"),
        ({"format": FORMAT, "wrapper": "TruncateReward", "options": 3}, "cannot be used: TypeError"),
        ({"format": FORMAT, "agent": "random"}, "cannot be used"),
        (None, "is not a file of heavytail: it has no description"),
    ],
)
def test_anything_else_is_one_line(content: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        arrays: dict[str, Any] = {"x": np.zeros(1)}
        if content is not None:
            arrays[METADATA] = np.frombuffer(json.dumps(content).encode(), np.uint8)
        with path.open("wb") as out:
            np.savez(out, **arrays)
    with pytest.raises(InputError, match=message) as caught:
        ht.load(path, lake() if "options" in message or "TypeError" in message else None)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("path", ["nothing.npz", "x" * 5000, "a\x00b"])
def test_a_path_that_leads_nowhere_is_one_line(path: str) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        ht.load(path)


def test_a_folder_that_is_no_study_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        ht.load(tmp_path)
