"""Rounds in one kernel on a GPU of compute capability 9.0 against XLA's; `make test-gpu` runs this."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import heavytail as ht
from heavytail.deep.batch import run_periods
from heavytail.deep.cuda_kernel import is_hopper
from heavytail.deep.dqn import DQN
from heavytail.deep.envs import environment_names
from heavytail.deep.fused_rounds import run_fused_periods
from heavytail.deep.learner import DeepLearner

pytestmark = pytest.mark.skipif(
    not is_hopper(jax.devices()[0]), reason="needs a GPU of compute capability 9.0"
)
ACTING, LEARNING = 10, 12  # periods before updates, and with them
FUSED, BY_XLA = (jax.jit(f, static_argnums=(0, 1, 2)) for f in (run_fused_periods, run_periods))


def make(env: str, **parameters: Any) -> DeepLearner:
    runs = [{"seed": seed, "learning_rate": 1e-3} for seed in range(10)]
    given = {"replay": 1_000, "noise_scale": 5.0, "noise_alpha": 1.5, "cap": 200, "runs": runs, **parameters}
    return ht.deep.heavy_dqn(env, **given)


def begun(learner: DeepLearner) -> DQN:
    """The runs when updates begin."""
    periods = (jnp.int32(0), jnp.int32(ACTING))
    return BY_XLA(learner.env, learner.settings, False, learner.runs, learner.states, *periods)


def distances(found: DQN, expected: DQN, start: DQN) -> list[float]:
    """How far networks are from what they should be, beside how far they have moved; for each layer."""
    layers = (jax.tree.leaves(states.network) for states in (found, expected, start))
    return [float(jnp.linalg.norm(f - e) / jnp.linalg.norm(e - s)) for f, e, s in zip(*layers, strict=True)]


@pytest.mark.parametrize("loss", ["huber", "squared"])
@pytest.mark.parametrize("env", environment_names())
def test_a_period_is_as_exact_as_xlas(env: str, loss: str) -> None:
    """25 updates, beside XLA's products of 24 bits: no farther than its of 10; the same steps and visits."""
    learner = make(env, loss=loss)
    start, periods = begun(learner), (jnp.int32(ACTING), jnp.int32(ACTING + 1))
    arguments = (learner.runs, start, *periods)
    with jax.default_matmul_precision("highest"):
        exact = jax.jit(run_periods, static_argnums=(0, 1, 2))(
            learner.env, learner.settings, True, *arguments
        )
    rough = BY_XLA(learner.env, learner.settings, True, *arguments)
    found = FUSED(learner.env, learner.settings, learner.kernel, *arguments)
    for mine, xlas in zip(distances(found, exact, start), distances(rough, exact, start), strict=True):
        assert mine < 1.3 * xlas + 0.005
    np.testing.assert_array_equal(found.counts, exact.counts)
    np.testing.assert_array_equal(found.adam.count, exact.adam.count)
    for mine, other in zip(found.totals, exact.totals, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-5)
    rows, others = (np.asarray(states.replay) for states in (found, exact))
    np.testing.assert_allclose(rows[..., :-3].view(np.float32), others[..., :-3].view(np.float32), 1e-3, 1e-5)
    np.testing.assert_array_equal(rows[..., -3:], others[..., -3:])


def test_pieces_and_single_runs_are_the_same_bits(tmp_path: Path) -> None:
    at_once, pieces = make("mountain_car"), make("mountain_car")
    at_once.learn(50 * (ACTING + 21), checkpoints=1)
    pieces.learn(50 * (ACTING + 1), checkpoints=1)
    pieces.save(tmp_path / "runs.ht")
    pieces = ht.load(tmp_path / "runs.ht")
    pieces.learn(50 * 20, checkpoints=1)
    alone = make("mountain_car", runs=[{"seed": 3, "learning_rate": 1e-3}])
    alone.learn(50 * (ACTING + 21), checkpoints=1)
    for a, b, c in zip(*(jax.tree.leaves(x.states) for x in (at_once, pieces, alone)), strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a[3:4], c)


def test_few_codes_and_a_small_replay_lose_no_visit() -> None:
    """Steps of one round in the same cell count one after the other, and old rows give way to new ones."""
    for every in (1, 4):
        learner = make("mountain_car", bits=1, update_every=every, target_every=48, start=480, replay=70)
        learner.learn(48 * (ACTING + LEARNING), checkpoints=1)
        visits = np.asarray(learner.states.counts).sum(axis=(1, 2))
        assert (visits == 48 * (ACTING + LEARNING)).all()
