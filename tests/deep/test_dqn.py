"""DQN in one compiled loop: environments against Gymnasium, batches against single runs, files, noise, transforms, learning."""

import math
from pathlib import Path
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import heavytail as ht
from heavytail.deep.dqn import exploration
from heavytail.deep.learner import ENVIRONMENTS, TRANSFORMS, heavy_dqn
from heavytail.deep.rewards import hash_code, stable_noise, transformed
from heavytail.reward_transforms import transform_one

IDS = {"mountain_car": "MountainCar-v0", "cart_pole": "CartPole-v1", "acrobot": "Acrobot-v1"}
SMALL: dict[str, Any] = {"total_steps": 600, "hidden": (16, 16), "replay": 300, "start": 100, "bits": 8}


def put(env: Any, state: Any) -> None:
    """Gymnasium's environment in a state of ours."""
    env.unwrapped.state = np.concatenate([np.atleast_1d(np.asarray(part, np.float64)) for part in state])


@pytest.mark.parametrize("name", list(IDS))
def test_environments_follow_gymnasiums_step_by_step(name: str) -> None:
    """From the same state, the same action leads to the same state, reward and end, to the precision of float32."""
    ours, theirs = ENVIRONMENTS[name], gymnasium.make(IDS[name], max_episode_steps=10**6)
    assert theirs.action_space.n == ours.n_actions  # type: ignore[attr-defined]
    rng, key = np.random.default_rng(3), jax.random.key(1)
    theirs.reset(seed=0)
    step = jax.jit(ours.step)
    state, ends = ours.reset(key), 0
    for t in range(1500):
        action = int(rng.integers(ours.n_actions)) if t % 7 else int(t // 70 % ours.n_actions)
        put(theirs, state)
        expected, reward, terminated, _, _ = theirs.step(action)
        state, found, over = step(state, jnp.int32(action))
        np.testing.assert_allclose(np.asarray(ours.observe(state)), expected, rtol=2e-4, atol=2e-5)
        assert float(found) == reward
        assert bool(over) == terminated
        if terminated:
            ends += 1
            key, again = jax.random.split(key)
            state = ours.reset(again)
            theirs.reset()
    assert ends > 0 or name != "cart_pole"


@pytest.mark.parametrize("name", list(IDS))
def test_episodes_start_as_gymnasiums_do(name: str) -> None:
    ours, theirs = ENVIRONMENTS[name], gymnasium.make(IDS[name])
    mine = np.asarray(jax.vmap(lambda k: ours.observe(ours.reset(k)))(jax.random.split(jax.random.key(0), 2000)))
    others = np.array([theirs.reset(seed=seed)[0] for seed in range(500)])
    for i in range(mine.shape[1]):
        if others[:, i].std() > 0:
            assert stats.ks_2samp(mine[:, i], others[:, i]).pvalue > 1e-4


def test_the_noise_has_its_law() -> None:
    keys = jax.random.split(jax.random.key(5), 100_000)
    drawn = np.asarray(jax.vmap(lambda k: stable_noise(k, jnp.float32(1.1), jnp.float32(5.0)))(keys), np.float64)
    assert np.isfinite(drawn).all()
    law = ht.laws.alpha_stable(1.1, scale=5.0).sample(100_000, seed=3)
    assert stats.ks_2samp(drawn, law).pvalue > 1e-3
    assert np.abs(drawn).max() > 1e4


def test_transforms_are_what_they_say() -> None:
    def one(name: str, reward: float, n: int) -> tuple[float, bool]:
        transform = TRANSFORMS[name]({"coefficient": 0.015, "epsilon": 0.05, "clip": 5.0})
        value, changed = transformed(jnp.float32(reward), jnp.int32(n), transform)
        expected, _, beyond = transform_one(transform, reward, n)
        assert (float(value), bool(changed)) == (pytest.approx(expected, rel=1e-6), beyond)  # type: ignore[comparison-overlap]
        return float(value), bool(changed)

    bound = (0.015 * 1000) ** (1 / 1.05)
    assert bound == pytest.approx(13.2, abs=0.05)
    assert one("none", 1e9, 1) == (1e9, False)
    assert one("clip", -7.0, 1) == (-5.0, True)
    assert one("sign", -7.0, 1) == (-1.0, True)
    assert one("zero", 13.0, 1000) == (13.0, False)
    assert one("zero", -14.0, 1000) == (0.0, True)
    assert one("truncate_clip", -14.0, 1000)[0] == pytest.approx(-bound, rel=1e-5)
    assert one("zero", -1.0, 66) == (0.0, True)
    assert one("zero", -1.0, 67) == (-1.0, False)  # the reading: a reward of -1 counts from the 67th visit on
    assert math.isinf(one("none", math.inf, 1)[0])
    assert one("zero", math.inf, 10**6) == (0.0, True)


def test_hash_codes_are_the_signs_of_projections() -> None:
    rng = np.random.default_rng(0)
    projection, x = rng.normal(size=(16, 3)).astype(np.float32), rng.uniform(-1, 1, (50, 2)).astype(np.float32)
    expected = ((np.c_[x, np.ones(50)] @ projection.T > 0) * 2 ** np.arange(16)).sum(axis=1)
    np.testing.assert_array_equal(np.asarray(jax.vmap(lambda o: hash_code(jnp.asarray(projection), o))(jnp.asarray(x))), expected)


def test_a_run_of_a_batch_is_that_run_alone() -> None:
    runs: list[dict[str, Any]] = [
        {"seed": 1, "transform": "none"},
        {"seed": 2, "coefficient": 0.5, "noise_scale": 3.0},
        {"seed": 2, "learning_rate": 1e-3},
    ]
    together = heavy_dqn("cart_pole", runs=runs, **SMALL)
    together.learn(checkpoints=3)
    for i, run in enumerate(runs):
        alone = heavy_dqn("cart_pole", **run, **SMALL)
        alone.learn(checkpoints=3)
        for mine, other in zip(jax.tree.leaves(alone.states.network), jax.tree.leaves(together.states.network), strict=True):
            np.testing.assert_allclose(np.asarray(mine[0]), np.asarray(other[i]), rtol=1e-3, atol=1e-4)
        np.testing.assert_array_equal(np.asarray(alone.states.replay.action[0]), np.asarray(together.states.replay.action[i]))


def test_two_seeds_differ_in_everything() -> None:
    learner = heavy_dqn("mountain_car", runs=[{"seed": 1}, {"seed": 2}], noise_scale=1.0, **SMALL)
    first = [np.asarray(leaf) for leaf in jax.tree.leaves(learner.states.network) if leaf.ndim == 3]
    assert all(not np.array_equal(weights[0], weights[1]) for weights in first)
    assert not np.array_equal(np.asarray(learner.states.projection[0]), np.asarray(learner.states.projection[1]))
    learner.learn(100, checkpoints=1)
    replay = learner.states.replay
    assert not np.array_equal(np.asarray(replay.action[0, :100]), np.asarray(replay.action[1, :100]))
    assert not np.array_equal(np.asarray(replay.reward[0, :100]), np.asarray(replay.reward[1, :100]))


def test_interrupted_and_resumed_is_uninterrupted_bit_for_bit(tmp_path: Path) -> None:
    parameters: dict[str, Any] = {"runs": [{"seed": 3}, {"seed": 4}], "noise_scale": 5.0, **SMALL}
    once, first = heavy_dqn("acrobot", **parameters), heavy_dqn("acrobot", **parameters)
    once.learn()
    first.learn(246)
    first.save(tmp_path / "deep.npz")
    second = ht.deep.DeepLearner.load(tmp_path / "deep.npz")
    assert repr(second) == "DeepLearner('acrobot', runs=2, steps=246 of 600)"
    second.learn()
    for mine, other in zip(once.states, second.states, strict=True):
        for left, right in zip(jax.tree.leaves(mine), jax.tree.leaves(other), strict=True):
            same = jax.random.key_data if jnp.issubdtype(left.dtype, jax.dtypes.prng_key) else np.asarray
            np.testing.assert_array_equal(same(left), same(right))
    assert once.predict(np.zeros(6), run=1) == second.predict(np.zeros(6), run=1)


def test_ctrl_c_loses_nothing() -> None:
    once, stopped = (heavy_dqn("cart_pole", seed=5, **SMALL) for _ in range(2))
    once.learn()

    def stop(steps: int) -> None:
        if steps >= 300:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped.learn(checkpoints=6, between=stop)
    assert stopped.curve is not None
    stopped.learn()
    np.testing.assert_array_equal(np.asarray(once.states.replay.reward), np.asarray(stopped.states.replay.reward))


def test_rewards_may_be_transformed_when_replayed() -> None:
    learner = heavy_dqn("mountain_car", transform_at="replay", noise_scale=5.0, **SMALL)
    learner.learn()
    assert np.abs(np.asarray(learner.states.replay.reward)).max() > 10  # raw rewards are kept
    assert all(np.isfinite(np.asarray(leaf)).all() for leaf in jax.tree.leaves(learner.states.network))
    assert 0 < learner.curve.truncated[0, -1] <= 1  # type: ignore[union-attr]


def test_exploration_ends_after_its_share() -> None:
    settings = heavy_dqn("cart_pole", **SMALL).settings
    values = [float(exploration(settings, jnp.int32(t))) for t in (0, 30, 60, 600)]
    assert values == pytest.approx([1.0, 0.505, 0.01, 0.01])


def test_the_cap_ends_an_episode_and_is_no_end_of_values() -> None:
    learner = heavy_dqn("mountain_car", cap=20, **SMALL)
    learner.learn(400, checkpoints=1)
    assert int(learner.states.totals.episodes[0]) == 20
    assert float(learner.states.totals.clean_return[0]) == -400.0
    assert not np.asarray(learner.states.replay.terminated).any()


def test_light_tailed_cart_pole_is_solved() -> None:
    """Four seeds, the best of the last three tenths: at least two hold the pole for 195 steps on average, the classical mark."""
    learner = heavy_dqn(
        "cart_pole", total_steps=40_000, hidden=(64, 64), replay=40_000, target_every=200, learning_rate=5e-4, last_learning_rate=5e-5,
        runs=[{"seed": s, "transform": "none"} for s in range(4)],
    )  # fmt: skip
    curve = learner.learn(checkpoints=10)
    assert np.sum(np.nanmax(curve.clean_return[:, -3:], axis=1) > 195) >= 2


def test_mistakes_are_one_line() -> None:
    for parameters, message in (
        ({"env": "pendulum"}, "there is no compiled environment 'pendulum'; choose from"),
        ({"loss": "hubr"}, "loss is 'hubr'; did you mean 'huber'"),
        ({"transform": "zer"}, "transform is 'zer'; did you mean 'zero'"),
        ({"coeficient": 1.0}, "no parameter 'coeficient'; did you mean 'coefficient'"),
        ({"noise_scale": math.nan}, "noise_scale is nan; it must be a number"),
    ):
        with pytest.raises(ht.InputError, match=message):
            heavy_dqn(**parameters)
    learner = heavy_dqn("cart_pole", **SMALL)
    with pytest.raises(ht.InputError, match="steps is 7; it must be a multiple of 2"):
        learner.learn(7)
    with pytest.raises(ht.InputError, match="has 4 numbers"):
        learner.predict([0.0])
