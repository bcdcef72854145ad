"""Codes and counts on the device are those of `heavytail.gym.observation_codes`."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces

from heavytail.deep.agents import heavy_dqn
from heavytail.deep.envs import Environment, scale_observation
from heavytail.deep.replay import unpack
from heavytail.deep.rewards import hash_code
from heavytail.gym.observation_codes import SimHash, make_projection, simhash_signs
from heavytail.gym.visit_counts import VisitCounter

BITS = 16


def bounded(low: tuple[float, ...], high: tuple[float, ...]) -> Environment:
    return Environment(
        name="bounded",
        n_actions=2,
        low=low,
        high=high,
        max_episode_steps=None,
        reset=jnp.asarray,
        step=lambda state, action: (state, state, state),
        observe=jnp.asarray,
    )


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ((-1.0, -1.0), (1.0, 1.0)),
        ((-1.2, -0.07), (0.6, 0.07)),
        ((-4.8, -np.inf, -0.4, -np.inf), (4.8, np.inf, 0.4, np.inf)),
        ((0.0, 5.0, -3.4e38), (np.inf, 5.0, 3.4e38)),
    ],
)
def test_codes_of_observations_are_numpys(low: tuple[float, ...], high: tuple[float, ...]) -> None:
    """Bounded, without bounds, beyond their bounds and constant.

    No projection of these 3000 is so near 0 that 32 bits would see it elsewhere.
    """
    rng = np.random.default_rng(2)
    draws = rng.normal(size=(BITS, len(low) + 1)).astype(np.float32)
    spread = np.where(
        np.isfinite(np.subtract(high, low)) & (np.subtract(high, low) < 1e10),
        1.5 * np.maximum(np.abs(low), np.abs(high)),
        4.0,
    )
    seen = (rng.uniform(-1, 1, (3000, len(low))) * spread).astype(np.float32)
    signs = simhash_signs(
        make_projection(draws.astype(np.float64), np.array(low), np.array(high)), seen.astype(np.float64)
    )
    expected = (signs * 2 ** np.arange(BITS)).sum(axis=1)
    codes = jax.jit(
        jax.vmap(lambda x: hash_code(jnp.asarray(draws), scale_observation(bounded(low, high), x)))
    )(jnp.asarray(seen))
    np.testing.assert_array_equal(np.asarray(codes), expected)
    assert len(set(expected.tolist())) > 20


def test_counts_of_a_run_are_numpys() -> None:
    """The visits that a run remembers, counted again."""
    learner = heavy_dqn("cart_pole", total_steps=2000, hidden=(8,), replay=2000, start=2000, bits=BITS)
    learner.learn(checkpoints=1)
    hashed = SimHash(spaces.Box(-1.0, 1.0, (4,)), BITS)
    ends = np.full(4, -1.0), np.full(4, 1.0)
    hashed.projection = make_projection(np.asarray(learner.states.projection[0], np.float64), *ends)
    counter, kept = (
        VisitCounter(hashed, int),
        jax.tree.map(lambda leaf: np.asarray(leaf)[0], unpack(learner.states.replay)),
    )
    for observation, action in zip(kept.observation, kept.action, strict=True):
        counter.visit(counter.code(observation), action)
    table = np.asarray(learner.states.counts[0])
    assert {(int(c), int(a)): int(table[c, a]) for c, a in np.argwhere(table)} == counter.counts
    assert table.sum() == 2000
    assert table.max() > 20


def test_scaling_goes_from_the_low_end_to_the_high_one() -> None:
    box = gymnasium.make("MountainCar-v0").observation_space
    assert isinstance(box, spaces.Box)
    env = bounded(tuple(box.low.tolist()), tuple(box.high.tolist()))
    for end, expected in ((box.low, -1.0), (box.high, 1.0)):
        np.testing.assert_allclose(np.asarray(scale_observation(env, jnp.asarray(end))), expected, rtol=1e-6)
