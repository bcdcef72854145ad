"""The same agent in Gymnasium environments, driven step by step."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces

import heavytail as ht
from heavytail.agent_file import read_agent_file, write_agent_file
from heavytail.deep.agents import heavy_dqn, robust_dqn
from heavytail.deep.dqn import draw_period
from heavytail.deep.envs import find_environment
from heavytail.deep.learner import DeepLearner
from heavytail.deep.replay import unpack
from heavytail.gym import AddRewardNoise
from support.small_deep import CAPPED, SHARED, SMALL


class Twin(gymnasium.Env[Any, Any]):
    """A compiled environment as one of Gymnasium's.

    Its episodes start where those of a compiled run do.
    """

    def __init__(self, name: str, cap: int, first_action: int, like: DeepLearner) -> None:
        self.compiled, self.cap, self.like = find_environment(name), cap, like
        self.moves = jax.jit(self.compiled.step)
        self.action_space = spaces.Discrete(self.compiled.n_actions, start=first_action)
        self.observation_space = spaces.Box(
            np.array(self.compiled.low, np.float32), np.array(self.compiled.high, np.float32)
        )
        self.steps, self.in_episode, self.state, self.first = 0, 0, None, first_action

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.state, self.in_episode = self.beginning(), 0
        return np.asarray(self.compiled.observe(self.state)), {}

    def beginning(self) -> Any:
        run, settings = jax.tree.map(lambda leaf: leaf[0], self.like.runs), self.like.settings
        if self.steps == 0:
            return self.compiled.reset(jax.random.split(jax.random.fold_in(run.key, 0), 3)[2])
        period, step = divmod(self.steps - 1, settings.target_every)
        randomness, _ = draw_period(self.compiled, settings, run, jnp.int32(period))
        return jax.tree.map(lambda leaf: leaf[divmod(step, settings.update_every)], randomness.reset_state)

    def step(self, action: Any) -> Any:
        self.state, reward, terminated = self.moves(self.state, jnp.int32(action - self.first))
        self.steps, self.in_episode = self.steps + 1, self.in_episode + 1
        return (
            np.asarray(self.compiled.observe(self.state)),
            float(reward),
            bool(terminated),
            self.in_episode >= self.cap,
            {},
        )


@pytest.mark.parametrize(
    ("make", "small", "name", "cap", "first_action", "cap_of_ours"),
    [
        (heavy_dqn, SMALL, "cart_pole", 500, 0, 500),
        (heavy_dqn, CAPPED, "mountain_car", 30, 5, 500),
        (heavy_dqn, CAPPED, "mountain_car", 500, 0, 30),
        (robust_dqn, SHARED, "pendulum", 500, 0, 200),
    ],
)
def test_a_twin_of_a_compiled_environment_gives_the_same_run(
    make: Callable[..., DeepLearner],
    small: dict[str, Any],
    name: str,
    cap: int,
    first_action: int,
    cap_of_ours: int,
) -> None:
    """The same actions, rewards and totals, whether the environment's limit ends episodes or the cap."""
    given = {**small, "seed": 7, "noise_scale": 2.0}
    compiled = make(name, **{**given, "cap": min(cap, cap_of_ours)})
    env = find_environment(name)
    driven = make(
        Twin(name, cap, first_action, like=compiled),
        low=env.low,
        high=env.high,
        **{**given, "cap": cap_of_ours},
    )
    curves = [learner.learn(checkpoints=4) for learner in (compiled, driven)]
    kept = [jax.tree.map(np.asarray, unpack(learner.states.replay)) for learner in (compiled, driven)]
    for part in ("action", "terminated", "code"):
        np.testing.assert_array_equal(*(getattr(replay, part) for replay in kept))
    for part in ("observation", "next_observation", "reward"):
        one, two = (getattr(replay, part) for replay in kept)
        np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-5)
    for part in ("steps", "episodes", "truncated"):
        np.testing.assert_array_equal(*(getattr(curve, part) for curve in curves))
    np.testing.assert_allclose(curves[0].clean_return, curves[1].clean_return, rtol=1e-5)
    np.testing.assert_array_equal(np.asarray(compiled.states.counts), np.asarray(driven.states.counts))
    assert curves[0].episodes[0, -1] >= 3
    for mine, other in zip(
        jax.tree.leaves(compiled.states.network), jax.tree.leaves(driven.states.network), strict=True
    ):
        np.testing.assert_allclose(np.asarray(mine), np.asarray(other), rtol=1e-3, atol=1e-4)


def test_a_time_limit_is_the_cap_also_where_no_id_made_the_environment() -> None:
    limited = gymnasium.wrappers.TimeLimit(gymnasium.make("CartPole-v1").unwrapped, 30)
    assert heavy_dqn(limited, **SMALL).settings.cap == 30


def test_it_learns_to_hold_cart_poles_pole() -> None:
    """Random actions hold it for about 22 steps; the best tenth is several times that."""
    learner = heavy_dqn(
        gymnasium.make("CartPole-v1"),
        total_steps=8000,
        hidden=(64, 64),
        replay=8000,
        target_every=100,
        learning_rate=1e-3,
        last_learning_rate=1e-4,
        transform="none",
        seed=1,
    )
    curve = learner.learn(checkpoints=10)
    assert curve.mean_return[0, 0] < 40
    assert np.nanmax(curve.mean_return) > 80


def test_wrapped_environments_tell_the_clean_return() -> None:
    noisy = AddRewardNoise(gymnasium.make("MountainCar-v0"), "alpha_stable", alpha=1.1, scale=5.0)
    learner = heavy_dqn(noisy, transform="none", **CAPPED)
    curve = learner.learn(200, checkpoints=1)
    assert (curve.episodes.tolist(), curve.clean_return.tolist()) == ([[6]], [[-180.0]])
    assert np.abs(np.asarray(unpack(learner.states.replay).reward[0, :200]) + 1.0).max() > 5


def test_a_saved_run_goes_on_with_a_new_episode(tmp_path: Path) -> None:
    learner = heavy_dqn(gymnasium.make("CartPole-v1"), **SMALL)
    learner.learn(200)
    learner.save(tmp_path / "driven.npz")
    again = DeepLearner.load(tmp_path / "driven.npz", env=gymnasium.make("CartPole-v1"))
    for mine, other in zip(jax.tree.leaves(learner.states), jax.tree.leaves(again.states), strict=True):
        np.testing.assert_array_equal(np.asarray(mine), np.asarray(other))
    again.learn()
    assert repr(again) == "DeepLearner('CartPole-v1', runs=1, steps=600 of 600)"
    assert again.curve.steps[-1] == 600
    with pytest.raises(
        ht.InputError, match="its runs saw 4 numbers in an observation, those of MountainCar-v0 have 2"
    ):
        DeepLearner.load(tmp_path / "driven.npz", env=gymnasium.make("MountainCar-v0"))


def test_without_its_environment_a_loaded_run_predicts_and_does_not_learn(tmp_path: Path) -> None:
    env = gymnasium.make("CartPole-v1")
    env.action_space = gymnasium.spaces.Discrete(2, start=3)
    learner = heavy_dqn(env, **SMALL)
    learner.save(tmp_path / "driven.npz")
    alone = ht.deep.DeepLearner.load(tmp_path / "driven.npz")
    assert repr(alone) == "DeepLearner('CartPole-v1', runs=1, steps=0 of 600)"
    for x in np.random.default_rng(0).normal(size=(20, 4)):
        assert alone.predict(x) == learner.predict(x) >= 3
    with pytest.raises(ht.InputError, match=r"can only predict; to learn, load it with one: ht\.load"):
        alone.learn()
    file = read_agent_file(tmp_path / "driven.npz")
    altered: Any
    for altered in (
        None,
        [],
        {},
        {"n_actions": 0, "first_action": 0},
        {"n_actions": 10**9, "first_action": 0},
    ):
        file.metadata["spaces"] = altered
        write_agent_file(tmp_path / "altered.npz", file)
        with pytest.raises(ht.InputError, match="cannot be used"):
            ht.load(tmp_path / "altered.npz")
    del file.metadata["spaces"]
    write_agent_file(tmp_path / "older.npz", file)
    with pytest.raises(ht.InputError, match=r"there is no compiled environment 'CartPole-v1'; .*load.*env="):
        ht.load(tmp_path / "older.npz")


class Strange(gymnasium.Env[Any, Any]):
    def __init__(self, observations: Any, actions: Any) -> None:
        self.observation_space, self.action_space = observations, actions


BOX, TWO = spaces.Box(-1.0, 1.0, (3,)), spaces.Discrete(2)


@pytest.mark.parametrize(
    ("env", "parameters", "message"),
    [
        (Strange(TWO, TWO), {"cap": 5}, r"observations are Discrete\(2\); they must be a Box"),
        (Strange(BOX, BOX), {"cap": 5}, r"actions are Box\(.*\); they must be Discrete"),
        (Strange(BOX, TWO), {}, "the environment has no step limit; .* such as cap=500"),
        (Strange(BOX, TWO), {"cap": 5, "low": [0.0, 0.0]}, "low must be 3 numbers or one, got 2"),
        (Strange(BOX, TWO), {"cap": 5, "low": 2.0}, "low must nowhere be above high"),
        (Strange(BOX, TWO), {"cap": 5, "runs": [{"seed": 1}, {"seed": 2}]}, "can have one run, got 2"),
        (3, {"cap": 5}, "env is 3; it must be the name of a compiled environment, or a gymnasium.Env"),
    ],
)
def test_mistakes_are_one_line(env: Any, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ht.InputError, match=message) as caught:
        heavy_dqn(env, **parameters)
    assert "\n" not in str(caught.value)
