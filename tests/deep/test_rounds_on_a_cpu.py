"""The kernel of rounds, with a coroutine for each of a cluster's 8,192 threads, against JAX.

Factors of products have 24 bits here, so that it is closer to JAX than on a GPU, where `tests/gpu` runs it.
"""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from heavytail.deep import fused_rounds
from heavytail.deep.agents import heavy_dqn
from heavytail.deep.batch import run_periods
from heavytail.deep.dqn import DQN, updates_per_period
from heavytail.deep.fused_rounds import make_kernel
from support.rounds_on_a_cpu import call_on_a_cpu

PERIODS = 2
SMALL: dict[str, Any] = {"replay": 70, "start": 64, "cap": 30, "bits": 4, "total_steps": 2_000}
NOISE: dict[str, Any] = {"noise_scale": 5.0, "noise_alpha": 1.5}


def by_kernel_and_by_jax(
    folder: Path, monkeypatch: pytest.MonkeyPatch, env: str, seeds: tuple[int, ...], **parameters: Any
) -> tuple[list[DQN], DQN, DQN]:
    """The runs after some periods by the kernel, in an order of its threads for each seed; by JAX; before."""
    learner = heavy_dqn(env, **SMALL, **NOISE, **parameters)
    shared = (learner.env, learner.settings)
    first = SMALL["start"] // learner.settings.target_every
    start = run_periods(*shared, False, learner.runs, learner.states, jnp.int32(0), jnp.int32(first))
    expected = run_periods(*shared, True, learner.runs, start, jnp.int32(first), jnp.int32(first + PERIODS))
    kernel, found = make_kernel(*shared, learner.runs), []
    monkeypatch.setattr(fused_rounds, "MAX_ROUNDS", PERIODS * updates_per_period(shared[1]))
    for seed in seeds:
        monkeypatch.setattr(fused_rounds, "call_kernel", call_on_a_cpu(folder, seed))
        found.append(
            fused_rounds._run_at_once(
                *shared, kernel, learner.runs, start, jnp.int32(first), jnp.int32(PERIODS)
            )
        )
    return found, expected, start


def check_runs(found: DQN, expected: DQN, start: DQN) -> None:
    """Networks are within a 100,000th of the way they have gone; steps and visits are the same."""
    learnt = (jax.tree.leaves((s.network, s.target, s.adam)) for s in (found, expected, start))
    for mine, other, before in zip(*learnt, strict=True):
        assert jnp.linalg.norm(mine - other) <= 1e-5 * jnp.linalg.norm(other - before)
        assert not np.array_equal(other, before)
    for mine, other in zip(found.totals, expected.totals, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-6)
    np.testing.assert_array_equal(found.counts, expected.counts)
    np.testing.assert_array_equal(found.episode_steps, expected.episode_steps)
    rows, others = (np.asarray(states.replay) for states in (found, expected))
    np.testing.assert_allclose(rows[..., :-3].view(np.float32), others[..., :-3].view(np.float32), 1e-5, 1e-6)
    np.testing.assert_array_equal(rows[..., -3:], others[..., -3:])


def test_it_makes_the_rounds_of_jax_in_any_order_of_its_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, expected, start = by_kernel_and_by_jax(
        tmp_path, monkeypatch, "mountain_car", (1, 2), target_every=4, learning_rate=1e-3, coefficient=20.0
    )
    check_runs(found[0], expected, start)
    for one, other in zip(*map(jax.tree.leaves, found), strict=True):
        np.testing.assert_array_equal(one, other)


def test_it_makes_several_runs_of_more_observations_and_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [{"seed": seed, "learning_rate": 1e-3} for seed in range(2)]
    found, expected, start = by_kernel_and_by_jax(
        tmp_path, monkeypatch, "acrobot", (3,), loss="squared", update_every=4, target_every=4, runs=runs
    )
    check_runs(found[0], expected, start)
