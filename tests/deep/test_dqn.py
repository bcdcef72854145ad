"""DQN in one compiled loop.

Environments against Gymnasium, batches against single runs, noise, transforms, learning.
"""

import math
from itertools import pairwise
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import heavytail as ht
from heavytail.deep.agents import heavy_dqn
from heavytail.deep.batch import compiled_periods
from heavytail.deep.dqn import DQN, exploration_rate, first_learning_period, to_uniform
from heavytail.deep.envs import find_environment
from heavytail.deep.network import q_values
from heavytail.deep.replay import unpack
from heavytail.deep.rewards import (
    NOISES,
    TRANSFORMS,
    reward_noise,
    transform_reward,
)
from heavytail.deep.settings import RunSettings
from heavytail.gym import reward_transforms
from support.small_deep import CAPPED, SMALL

RUN = RunSettings(seed=0, noise_scale=0.0, noise_alpha=1.1, learning_rate=1e-4, last_learning_rate=1e-5)
IDS = {
    "mountain_car": "MountainCar-v0",
    "cart_pole": "CartPole-v1",
    "acrobot": "Acrobot-v1",
    "pendulum": "Pendulum-v1",
}


def replayed(states: DQN) -> Any:
    """What the runs remember, as arrays of NumPy."""
    return jax.tree.map(np.asarray, unpack(states.replay))


def put(env: Any, state: Any) -> None:
    """Gymnasium's environment in a state of ours."""
    env.unwrapped.state = np.concatenate([np.atleast_1d(np.asarray(part, np.float64)) for part in state])


def as_theirs(env: Any, action: int) -> Any:
    """An action of ours as Gymnasium's environment wants it: one of three torques where it wants one."""
    torques = np.array([[-2.0], [0.0], [2.0]])
    return action if isinstance(env.action_space, gymnasium.spaces.Discrete) else torques[action]


@pytest.mark.parametrize("name", list(IDS))
def test_environments_follow_gymnasiums_step_by_step(name: str) -> None:
    """From a state, an action leads to the same state, reward and end, to the precision of float32."""
    ours, theirs = find_environment(name), gymnasium.make(IDS[name], max_episode_steps=10**6)
    assert getattr(theirs.action_space, "n", 3) == ours.n_actions
    rng, key = np.random.default_rng(3), jax.random.key(1)
    theirs.reset(seed=0)
    step = jax.jit(ours.step)
    state, ends = ours.reset(key), 0
    for t in range(1500):
        action = int(rng.integers(ours.n_actions)) if t % 7 else int(t // 70 % ours.n_actions)
        put(theirs, state)
        expected, reward, terminated, _, _ = theirs.step(as_theirs(theirs, action))
        state, own_reward, over = step(state, jnp.int32(action))
        np.testing.assert_allclose(np.asarray(ours.observe(state)), expected, rtol=2e-4, atol=2e-5)
        assert float(own_reward) == pytest.approx(reward, rel=1e-5, abs=1e-6)
        assert bool(over) == terminated
        if terminated:
            ends += 1
            key, again = jax.random.split(key)
            state = ours.reset(again)
            theirs.reset()
    assert ends > 0 or name != "cart_pole"


@pytest.mark.parametrize("name", list(IDS))
def test_episodes_start_as_gymnasiums_do(name: str) -> None:
    ours, theirs = find_environment(name), gymnasium.make(IDS[name])
    mine = np.asarray(
        jax.vmap(lambda k: ours.observe(ours.reset(k)))(jax.random.split(jax.random.key(0), 2000))
    )
    others = np.array([theirs.reset(seed=seed)[0] for seed in range(500)])
    for i in range(mine.shape[1]):
        if others[:, i].std() > 0:
            assert stats.ks_2samp(mine[:, i], others[:, i]).pvalue > 1e-4


@pytest.mark.parametrize(
    ("name", "law"),
    [
        ("alpha_stable", ht.laws.alpha_stable(1.5, scale=5.0)),
        ("student_t", ht.laws.student_t(1.5, scale=5.0)),
        ("pareto", ht.laws.pareto(1.5, loc=-15.0, scale=5.0)),  # less its mean, 3 times the scale
    ],
)
def test_noises_have_their_laws(name: str, law: ht.laws.Law) -> None:
    u, w = to_uniform(jax.random.bits(jax.random.key(6), (2, 100_000)))
    noise = jax.jit(NOISES[name])
    drawn = np.asarray(noise(u, w, jnp.float32(1.5), jnp.float32(5.0)), np.float64)
    assert stats.ks_2samp(drawn, law.sample(100_000, seed=3)).pvalue > 1e-3
    assert np.abs(drawn).max() > 1e3
    first, second = to_uniform(jnp.array([[0, 2**32 - 1], [0, 2**32 - 1]], jnp.uint32))
    corners = noise(first[:, None], second, jnp.float32(1.5), jnp.float32(5.0))
    assert np.isfinite(np.asarray(corners)).all()


@pytest.mark.parametrize("name", NOISES)
def test_noise_of_scale_0_is_none_also_where_a_draw_is_infinite(name: str) -> None:
    u, w = to_uniform(jnp.array([[0, 2**32 - 1, 2**32 - 1], [0, 0, 2**32 - 1]], jnp.uint32))
    alpha = jnp.float32(0.1)
    assert not np.isfinite(np.asarray(NOISES[name](u, w, alpha, jnp.float32(1.0)))).all()
    np.testing.assert_array_equal(reward_noise(name, u, w, alpha, jnp.float32(0.0)), 0.0)


def test_transforms_are_what_they_say() -> None:
    def one(name: str, reward: float, n: int) -> tuple[float, bool]:
        transform = TRANSFORMS[name](RUN._replace(clip=5.0))
        value, changed = transform_reward(jnp.float32(reward), jnp.int32(n), transform)
        expected, _, beyond = reward_transforms.transform_reward(transform, reward, n)
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


def test_gradients_are_those_of_plain_products() -> None:
    def plain(network: Any, x: Any) -> Any:
        for weights, bias in network[:-1]:
            x = jax.nn.relu(x @ weights + bias)
        return x @ network[-1][0] + network[-1][1]

    def numbers(*shape: int) -> Any:
        return rng.normal(size=shape).astype(np.float32)

    rng = np.random.default_rng(1)
    network = [(numbers(n, m), numbers(m)) for n, m in pairwise((3, 8, 7, 2))]
    x, goal = numbers(5, 3), numbers(5, 2)
    ours, theirs = (
        jax.jit(jax.grad(lambda n, f=f: jnp.sum((f(n, x) - goal) ** 2)))(network) for f in (q_values, plain)
    )
    for mine, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6)


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
        for mine, other in zip(
            jax.tree.leaves(alone.states.network), jax.tree.leaves(together.states.network), strict=True
        ):
            np.testing.assert_allclose(np.asarray(mine[0]), np.asarray(other[i]), rtol=1e-3, atol=1e-4)
        np.testing.assert_array_equal(replayed(alone.states).action[0], replayed(together.states).action[i])


def test_two_seeds_differ_in_everything_and_two_periods_too() -> None:
    learner = heavy_dqn(
        "cart_pole", runs=[{"seed": 1}, {"seed": 2}, {"seed": 3}], noise_scale=1.0, transform="none", **SMALL
    )
    first = [np.asarray(leaf) for leaf in jax.tree.leaves(learner.states.network) if leaf.ndim == 3]
    assert all(not np.array_equal(weights[0], weights[1]) for weights in first)
    assert not np.array_equal(
        np.asarray(learner.states.projection[0]), np.asarray(learner.states.projection[1])
    )
    learner.learn(100, checkpoints=1)
    one, two, _ = (jax.tree.map(lambda leaf, i=i: leaf[i, :100], replayed(learner.states)) for i in range(3))
    assert not np.array_equal(one.action, two.action)
    assert not np.array_equal(one.reward, two.reward)
    assert not np.array_equal(one.observation[0], two.observation[0])  # and so in where they start
    assert not np.array_equal(one.reward[:50], one.reward[50:])
    assert not np.array_equal(one.action[:50], one.action[50:])


def test_nothing_is_compiled_anew_for_another_number_of_steps() -> None:
    learner = heavy_dqn("cart_pole", **SMALL)
    learner.learn(150)
    before = compiled_periods()._cache_size()  # type: ignore[attr-defined]  # a method of what jax.jit returns
    for steps in (50, 150, 200):
        learner.learn(steps)
    assert compiled_periods()._cache_size() == before  # type: ignore[attr-defined]


def test_learning_begins_with_the_period_after_start() -> None:
    learner = heavy_dqn("cart_pole", **SMALL)
    assert [first_learning_period(learner.settings._replace(start=start)) for start in (100, 101, 150)] == [
        2,
        3,
        3,
    ]
    first = np.asarray(learner.states.network[0][0])
    learner.learn(100)
    np.testing.assert_array_equal(np.asarray(learner.states.network[0][0]), first)
    learner.learn(50)
    assert not np.array_equal(np.asarray(learner.states.network[0][0]), first)
    np.testing.assert_array_equal(np.asarray(learner.states.target[0][0]), first)


def test_rewards_may_be_transformed_when_replayed() -> None:
    learner = heavy_dqn("mountain_car", noise_scale=5.0, **CAPPED)
    curve = learner.learn()
    assert np.abs(replayed(learner.states).reward).max() > 10  # raw rewards are kept
    assert all(np.isfinite(np.asarray(leaf)).all() for leaf in jax.tree.leaves(learner.states.network))
    assert 0 < curve.truncated_share[0, -1] <= 1


def test_exploration_ends_after_its_share() -> None:
    settings = heavy_dqn("cart_pole", **SMALL).settings
    values = [float(exploration_rate(settings, jnp.int32(t))) for t in (0, 30, 60, 600)]
    assert values == pytest.approx([1.0, 0.505, 0.01, 0.01])


def test_the_cap_ends_an_episode_and_is_no_end_of_values() -> None:
    learner = heavy_dqn("mountain_car", **CAPPED)
    curve = learner.learn(600, checkpoints=1)
    assert curve.episodes.tolist() == [[20]]
    assert curve.clean_return.tolist() == [[-600.0]]
    assert not replayed(learner.states).terminated.any()


def test_light_tailed_cart_pole_is_solved() -> None:
    """At least two of four seeds hold the pole for 195 steps on average, in one of the last three tenths."""
    learner = heavy_dqn(
        "cart_pole",
        runs=[{"seed": s, "transform": "none"} for s in range(4)],
        total_steps=20_000,
        hidden=(32, 32),
        replay=20_000,
        target_every=200,
        learning_rate=1e-3,
        last_learning_rate=1e-4,
    )
    curve = learner.learn(checkpoints=10)
    assert np.sum(np.nanmax(curve.mean_return[:, -3:], axis=1) > 195) >= 2
