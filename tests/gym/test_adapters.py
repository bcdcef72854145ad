"""What all wrappers that filter rewards have in common, around single environments and vectors."""

import copy
import inspect
import json
import math
import pickle
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, VectorEnv

import heavytail as ht
from heavytail.agent_file import FORMAT
from heavytail.gym import AddRewardNoise, DenoiseReward, TruncateReward
from heavytail.gym.adapters import Visit
from heavytail.gym.ids import register_ids
from support.noisy_envs import HEAVY, noisy

register_ids()
GROWING: dict[str, Any] = {"epsilon": 0.05, "coefficient": 0.5}
WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "DenoiseReward": DenoiseReward,
    "TruncateReward": lambda env: TruncateReward(env, **GROWING),
    "hashed": lambda env: TruncateReward(env, **GROWING, counter="simhash", bits=8, hash_seed=3),
    "automatic": lambda env: TruncateReward(env, coefficient="auto", mode="clip", warm_up=120),
    "sign": lambda env: TruncateReward(env, mode="sign"),
}
each_wrapper = pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)


class Paying(gymnasium.Env[Any, Any]):
    """Observes anything, and pays what it is told to; the episode never ends."""

    def __init__(self, reward: float = 1.0, space: Any = None) -> None:
        self.observation_space = spaces.Discrete(3) if space is None else space
        self.action_space, self.reward = spaces.Discrete(3), reward

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        return self.observation_space.sample(), {}

    def step(self, action: int) -> Any:
        return self.observation_space.sample(), self.reward, False, False, {}


def noisy_vector(
    reset: str = "NextStep", mode: str = "sync", env_id: str = "CartPole-v1", n: int = 3, **options: Any
) -> Any:
    # A process with threads of other libraries is not to be forked.
    context = {"context": "spawn"} if mode == "async" else {}
    return gymnasium.make_vec(
        env_id,
        num_envs=n,
        vectorization_mode=mode,
        vector_kwargs={"autoreset_mode": AutoresetMode(reset), **context},
        wrappers=[lambda env: AddRewardNoise(env, HEAVY)],
        **options,
    )


def rollout(env: Any, n: int, seed: int) -> list[Any]:
    """All that happens, under random actions."""
    env.action_space.seed(seed)
    seen: list[Any] = [env.reset(seed=seed)]
    for _ in range(n):
        seen.append(env.step(env.action_space.sample()))
        if not isinstance(env, VectorEnv) and (seen[-1][2] or seen[-1][3]):
            seen.append(env.reset())
    return seen


# What a wrapper is


@each_wrapper
def test_a_wrapper_is_of_the_kind_of_what_it_wraps(wrap: Callable[[Any], Any]) -> None:
    single, vector = wrap(gymnasium.make("CartPole-v1")), wrap(gymnasium.make_vec("CartPole-v1"))
    public = TruncateReward if isinstance(single, TruncateReward) else DenoiseReward
    for env, kind, other in (
        (single, gymnasium.Env, VectorEnv),
        (vector, VectorEnv, gymnasium.Env),
    ):
        assert isinstance(env, kind)
        assert not isinstance(env, other)
        assert isinstance(env, public)
        assert type(env).__name__ == public.__name__
    assert type(wrap(gymnasium.make("CartPole-v1"))) is type(single)
    assert str(single).startswith(f"<{public.__name__}<")


def test_help_shows_the_arguments() -> None:
    assert list(inspect.signature(DenoiseReward).parameters) == ["env"]
    assert list(inspect.signature(TruncateReward).parameters)[:3] == ["env", "epsilon", "coefficient"]


def test_a_subclass_has_adapters_too() -> None:
    class Doubled(DenoiseReward):
        def step(self, action: Any) -> Any:
            observation, reward, *rest = super().step(action)
            return observation, 2.0 * reward, *rest

    env, envs = Doubled(Paying()), Doubled(gymnasium.vector.SyncVectorEnv([Paying] * 2))
    env.reset()
    envs.reset()
    assert env.step(0)[1] == 2.0
    assert envs.step(np.array([0, 0]))[1].tolist() == [2.0, 2.0]


@pytest.mark.parametrize("env", [3, "CartPole-v1", None])
def test_anything_else_is_one_line(env: Any) -> None:
    for make in (DenoiseReward, TruncateReward):
        with pytest.raises(
            ht.InputError, match=f"{make.__name__}: env is {env!r}; it must be a Gymnasium env"
        ) as caught:
            make(env)
        assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings(
    "ignore:.*is different from the unwrapped version:UserWarning"
)  # said of every wrapper
@each_wrapper
@pytest.mark.parametrize("env_id", ["heavytail/SixArms-v0", "FrozenLake-v1", "MountainCar-v0"])
def test_gymnasium_finds_nothing_to_complain_about(env_id: str, wrap: Callable[[Any], Any]) -> None:
    theirs = not env_id.startswith("heavytail")  # whose pictures need pygame
    bare = gymnasium.make(env_id).unwrapped
    check_env(wrap(bare), skip_render_check=theirs)
    check_env(wrap(AddRewardNoise(bare, HEAVY)), skip_render_check=theirs)


@each_wrapper
def test_a_spec_makes_the_same_environment_again(wrap: Callable[[Any], Any]) -> None:
    env = wrap(noisy())
    assert env.spec.nondeterministic == (wrap is not WRAPPERS["sign"])
    assert not env.unwrapped.spec.nondeterministic
    expected = rollout(env, 100, seed=4)
    for spec in (env.spec, EnvSpec.from_json(env.spec.to_json())):
        again = gymnasium.make(spec)
        assert type(again) is type(env)
        np.testing.assert_equal(rollout(again, 100, seed=4), expected)


@pytest.mark.parametrize("wrap", [*WRAPPERS.values(), lambda env: AddRewardNoise(env, HEAVY)])
def test_the_info_of_the_environment_stays_its_own(wrap: Callable[[Any], Any]) -> None:
    info = {"lives": 3}

    class Lives(Paying):
        def step(self, action: int) -> Any:
            return 0, 1.0, False, False, info

    env = wrap(Lives())
    env.reset(seed=0)
    assert env.step(0)[4]["lives"] == 3
    assert info == {"lives": 3}


@each_wrapper
@pytest.mark.parametrize("make", [noisy, noisy_vector])
def test_a_copy_goes_on_as_the_original_would(make: Callable[[], Any], wrap: Callable[[Any], Any]) -> None:
    env = wrap(make())
    rollout(env, 50, seed=0)
    twins = [copy.deepcopy(env)]
    if make is noisy:  # a function that makes environments cannot be pickled
        twins.append(pickle.loads(pickle.dumps(env)))  # noqa: S301 - our own
    after = rollout(env, 50, seed=1)
    for twin in twins:
        assert type(twin) is type(env)
        np.testing.assert_equal(rollout(twin, 50, seed=1), after)


@each_wrapper
@pytest.mark.parametrize(
    "make", [Paying, lambda reward: gymnasium.vector.SyncVectorEnv([lambda: Paying(reward)])]
)
def test_steps_before_a_reset_and_rewards_that_are_no_numbers_are_errors(
    make: Callable[[float], Any], wrap: Callable[[Any], Any]
) -> None:
    env = wrap(make(math.nan))
    with pytest.raises(ResetNeeded, match="no episode has begun"):
        env.step(env.action_space.sample())
    env.reset()
    with pytest.raises(ht.InputError, match=r"^the reward of step 1 is nan; a reward must be a number$"):
        env.step(env.action_space.sample())
    assert env.state_dict()["steps"][0] == 0


# Vectors


@pytest.mark.parametrize(
    ("mode", "reset", "name"),
    [("async", "NextStep", "TruncateReward"), *product(["sync"], ["NextStep", "SameStep"], WRAPPERS)],
)
def test_a_vector_learns_from_all_its_environments_and_not_from_dummy_steps(
    mode: str, reset: str, name: str
) -> None:
    """Rewards are filtered in the order of the environments; the step that only resets is not a visit."""
    envs = WRAPPERS[name](noisy_vector(reset, mode, "heavytail/SixArms-v0", horizon=4))
    twin, keys = copy.deepcopy(envs._filter), ("raw_reward", *envs._filter.missing)
    states, _ = envs.reset(seed=20)
    over, steps = np.zeros(3, bool), 0
    for actions in np.random.default_rng(0).integers(6, size=(30, 3)):
        following, found, terminations, truncations, infos = envs.step(actions)
        columns = states, actions, infos["raw_reward"].tolist(), terminations
        visits = [
            Visit(*each) for each, resets in zip(zip(*columns, strict=True), over, strict=True) if not resets
        ]
        expected = twin.apply([visit._replace(code=twin.code(visit.code)) for visit in visits])
        for i, (reward, info) in zip(np.flatnonzero(~over), expected, strict=True):
            assert (found[i], {key: infos[key][i] for key in info}) == (reward, info)
        assert not found[over].any()
        assert all((infos[f"_{key}"] != over).all() for key in keys)
        steps += len(visits)
        over = (terminations | truncations) & (reset == "NextStep")
        states = following
    envs.close()
    assert envs.state_dict()["steps"][0] == steps == (90 if reset == "SameStep" else 72)
    np.testing.assert_equal(envs.state_dict(), twin.state_dict())


@each_wrapper
@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "FrozenLake-v1"])
def test_a_vector_of_one_is_the_single_environment(env_id: str, wrap: Callable[[Any], Any]) -> None:
    envs, single = wrap(gymnasium.make_vec(env_id, num_envs=1)), wrap(gymnasium.make(env_id))
    envs.reset(seed=3)
    single.reset(seed=3)
    envs.action_space.seed(0)
    over = False
    for _ in range(400):
        actions = envs.action_space.sample()
        _, (reward,), (terminated,), (truncated,), infos = envs.step(actions)
        if over:
            single.reset()
            over = False
            continue
        _, *expected, info = single.step(actions[0])
        assert [reward, terminated, truncated] == expected
        assert all(infos[key][0] == info[key] for key in envs._filter.missing)
        over = terminated or truncated
    np.testing.assert_equal(envs.state_dict(), single.state_dict())


def test_a_vector_that_resets_some_of_its_environments_by_hand() -> None:
    vector = gymnasium.make_vec(
        "heavytail/SixArms-v0",
        num_envs=2,
        vectorization_mode="sync",
        horizon=2,
        vector_kwargs={"autoreset_mode": AutoresetMode.DISABLED},
    )
    envs = TruncateReward(vector, **GROWING)
    envs.reset(seed=0)
    envs.step(np.array([0, 0]))
    *_, truncations, _ = envs.step(np.array([0, 0]))
    assert truncations.all()
    envs.reset(options={"reset_mask": np.array([True, True])})
    *_, infos = envs.step(np.array([1, 1]))
    assert infos["_raw_reward"].all()
    assert envs.counter is not None
    assert sum(envs.counter.counts.values()) == 6


BOX = spaces.Box(-1.0, 1.0, (2, 2))


@pytest.mark.parametrize(
    "space",
    [
        BOX,
        spaces.Dict({"a": BOX, "b": spaces.Discrete(2)}),
        spaces.Tuple([spaces.Discrete(2), BOX]),
        spaces.MultiBinary(2),
        spaces.Text(2),
    ],
    ids=str,
)
def test_vectors_of_observations_of_every_kind(space: Any) -> None:
    for wrap in (DenoiseReward, TruncateReward):
        envs = wrap(gymnasium.vector.SyncVectorEnv([lambda: Paying(space=space)] * 3))
        envs.reset(seed=0)
        envs.step(envs.action_space.sample())
        assert envs.state_dict()["steps"][0] == 3


# Saving


@each_wrapper
@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "FrozenLake-v1"])
@pytest.mark.parametrize(
    "make", [noisy, lambda env_id: noisy_vector(env_id=env_id)], ids=["single", "vector"]
)
def test_an_interrupted_run_goes_on_from_its_file(
    make: Callable[[str], Any], env_id: str, wrap: Callable[[Any], Any], tmp_path: Path
) -> None:
    env, file = wrap(make(env_id)), tmp_path / "rewards.npz"
    rollout(env, 100, seed=1)
    env.save(file)
    again = wrap(make(env_id))
    again.reset()
    again.load(file)
    made: Any = ht.load(file, make(env_id))
    rest = rollout(env, 100, seed=2)
    for other in (again, made):
        assert type(other) is type(env)
        np.testing.assert_equal(rollout(other, 100, seed=2), rest)
        np.testing.assert_equal(other.state_dict(), env.state_dict())
    assert list(tmp_path.iterdir()) == [file]
    with np.load(file, allow_pickle=False) as arrays:
        metadata = json.loads(arrays["heavytail.json"].tobytes())
    assert metadata == {"wrapper": type(env).__name__, "options": env._filter.options, "format": FORMAT}


@each_wrapper
def test_what_was_saved_stays_as_it_was(wrap: Callable[[Any], Any]) -> None:
    env, others = wrap(noisy()), [wrap(noisy()), wrap(noisy())]
    rollout(env, 50, seed=0)
    state = env.state_dict()
    kept = copy.deepcopy(state)
    for each in (env, *others):
        each.load_state_dict(state)
        rollout(each, 50, seed=1)
    np.testing.assert_equal(state, kept)
    np.testing.assert_equal(others[1].state_dict(), env.state_dict())


def test_the_state_of_one_environment_goes_into_a_vector_and_back(tmp_path: Path) -> None:
    single = DenoiseReward(noisy())
    rollout(single, 50, seed=0)
    single.save(tmp_path / "rewards.npz")
    vector: Any = ht.load(tmp_path / "rewards.npz", noisy_vector())
    np.testing.assert_equal(vector.state_dict(), single.state_dict())
    assert isinstance(vector, VectorEnv)


def test_the_state_of_another_wrapper_is_called_so(tmp_path: Path) -> None:
    env = DenoiseReward(noisy())
    env.save(tmp_path / "rewards.npz")
    with pytest.raises(ht.InputError, match="it is the state of 'DenoiseReward', not of TruncateReward"):
        TruncateReward(noisy()).load(tmp_path / "rewards.npz")


def test_a_wrapper_without_steps_is_saved_too(tmp_path: Path) -> None:
    DenoiseReward(noisy()).save(tmp_path / "rewards.npz")
    again: Any = ht.load(tmp_path / "rewards.npz", noisy())
    assert again.cells == 1
