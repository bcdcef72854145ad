"""gymnax's environments for deep agents: ``make test-interop``."""

from pathlib import Path
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import heavytail as ht
from heavytail.deep.envs import find_environment

SMALL: dict[str, Any] = {"total_steps": 400, "hidden": (16, 16), "replay": 300, "start": 100}
OURS = {"CartPole-v1": "cart_pole", "MountainCar-v0": "mountain_car"}


@pytest.mark.parametrize("name", list(OURS))
def test_it_follows_gymnasium_and_ours_step_by_step(name: str) -> None:
    theirs, ours = find_environment(f"gymnax/{name}"), find_environment(OURS[name])
    assert find_environment(f"gymnax/{name}") is theirs
    assert (theirs.n_actions, len(theirs.low)) == (ours.n_actions, len(ours.low))
    gym: Any = gymnasium.make(name, max_episode_steps=10**6)
    gym.reset(seed=0)
    rng, key = np.random.default_rng(1), jax.random.key(2)
    step, own_step, ends = jax.jit(theirs.step), jax.jit(ours.step), 0
    state = theirs.reset(key)
    for t in range(600):
        action = int(rng.integers(ours.n_actions)) if t % 3 else 1
        own = type(ours.reset(key))(*jnp.asarray(theirs.observe(state)))
        gym.unwrapped.state = np.asarray(theirs.observe(state), np.float64)
        state, reward, terminated = step(state, jnp.int32(action))
        moved, own_reward, own_end = own_step(own, jnp.int32(action))
        expected, gym_reward, gym_end, _, _ = gym.step(action)
        np.testing.assert_allclose(np.asarray(theirs.observe(state)), expected, rtol=2e-4, atol=2e-5)
        np.testing.assert_allclose(
            np.asarray(theirs.observe(state)), np.asarray(ours.observe(moved)), rtol=2e-4, atol=2e-5
        )
        assert float(reward) == float(own_reward) == gym_reward
        assert bool(terminated) == bool(own_end) == gym_end
        if terminated:
            ends += 1
            key, again = jax.random.split(key)
            state = theirs.reset(again)
            gym.reset()
    assert ends > 5 or name != "CartPole-v1"


@pytest.mark.parametrize("agent", ["robust_dqn", "heavy_dqn", "qr_dqn"])
def test_a_short_training_runs_and_resumes(agent: str, tmp_path: Path) -> None:
    parameters: dict[str, Any] = {"runs": [{"seed": 5}, {"seed": 7}], **SMALL}  # two that let the pole fall
    once, first = (getattr(ht.deep, agent)("gymnax/CartPole-v1", **parameters) for _ in range(2))
    curve = once.learn(checkpoints=4)
    assert once.settings.cap == 500
    assert (curve.episodes[:, -1] > 3).all()
    assert (
        400 - curve.clean_return[:, -1] < 200
    ).all()  # a reward of 1 for each step of the episodes that ended
    first.learn(200)
    first.save(tmp_path / "deep.npz")
    second = ht.deep.DeepLearner.load(tmp_path / "deep.npz")
    second.learn()
    for mine, other in zip(jax.tree.leaves(once.states), jax.tree.leaves(second.states), strict=True):
        np.testing.assert_array_equal(np.asarray(mine), np.asarray(other))


def test_the_cap_is_ours_and_gymnaxs_own_limit_plays_no_part() -> None:
    """Seed 1 does not reach the flag."""
    curve = ht.deep.heavy_dqn("gymnax/MountainCar-v0", cap=250, seed=1, **SMALL).learn(at=[250, 300, 400])
    assert curve.episodes.tolist() == [[1, 1, 1]]
    assert curve.clean_return.tolist() == [[-250.0] * 3]
    assert ht.deep.complete_parameters("gymnax/MountainCar-v0")["cap"] == 200


def test_mistakes_are_one_line() -> None:
    with pytest.raises(
        ht.InputError, match="gymnax has no environment 'CartPole'; did you mean 'CartPole-v1'"
    ):
        ht.deep.heavy_dqn("gymnax/CartPole")
    with pytest.raises(
        ht.InputError,
        match="gymnax/Pendulum-v1 has observations Box and actions Box; they must be Box and Discrete",
    ):
        ht.deep.heavy_dqn("gymnax/Pendulum-v1")
