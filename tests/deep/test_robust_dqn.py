"""DQN with a robust model of the reward, and by quantiles, as agents: batches, files, units, learning."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import heavytail as ht
from heavytail.deep.envs import find_environment
from heavytail.deep.network import best_quantiles, middle_mean, quantile_loss
from heavytail.deep.replay import unpack
from heavytail.registry import register
from support.registry_copy import copy_registry
from support.small_deep import SHARED, same

RUNS: list[dict[str, Any]] = [{"seed": 3, "noise_scale": 5.0}, {"seed": 4}]


def test_a_run_of_a_batch_is_that_run_alone() -> None:
    together = ht.deep.robust_dqn("pendulum", runs=RUNS, **SHARED)  # compiled above
    alone = ht.deep.robust_dqn("pendulum", **RUNS[1], **SHARED)
    both = [learner.learn(checkpoints=3).beliefs for learner in (together, alone)]
    np.testing.assert_array_equal(
        unpack(together.states.replay).action[1], unpack(alone.states.replay).action[0]
    )
    batch, single = (belief.predicted_reward for belief in both if belief is not None)
    np.testing.assert_allclose(batch[1], single[0], rtol=1e-3)


def test_rewards_times_a_power_of_two_give_the_same_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise is all that is paid, so that its scale is that of rewards; 2^10 is about a thousand."""
    cart_pole = find_environment("cart_pole")

    def step(state: Any, action: jax.Array) -> tuple[Any, jax.Array, jax.Array]:
        moved, reward, terminated = cart_pole.step(state, action)
        return moved, 0.0 * reward, terminated

    copy_registry(monkeypatch)
    register("deep_env", "unpaid")(lambda: cart_pole._replace(name="unpaid", step=step))
    scales = [5.0 * 2.0**power for power in (0, -10, 10)]
    learner = ht.deep.robust_dqn(
        "unpaid", runs=[{"seed": 1, "noise_scale": each} for each in scales], **SHARED
    )
    learner.learn(checkpoints=1)
    kept = jax.tree.map(np.asarray, unpack(learner.states.replay))
    for i in (1, 2):
        for part in ("action", "observation", "terminated"):
            np.testing.assert_array_equal(getattr(kept, part)[i], getattr(kept, part)[0])
        np.testing.assert_array_equal(kept.reward[i] / scales[i], kept.reward[0] / scales[0])
        same(*(jax.tree.map(lambda leaf, k=k: leaf[k], learner.states.network) for k in (i, 0)))
    model = learner.states.model
    assert model is not None
    assert (np.asarray(model.unit) / scales == float(model.unit[0]) / scales[0]).all()


def test_it_learns_under_noise_that_is_twenty_times_the_reward() -> None:
    """Random actions hold the pole for about 22 steps; the median of three seeds is several times that."""
    learner = ht.deep.robust_dqn(
        "cart_pole",
        runs=[{"seed": seed} for seed in range(3)],
        noise_scale=20.0,
        total_steps=6000,
        hidden=(64, 64),
        replay=6000,
        learning_rate=1e-3,
        last_learning_rate=1e-4,
    )
    curve = learner.learn(checkpoints=6)
    assert np.median(curve.mean_return[:, -1]) > 60
    assert curve.beliefs is not None
    assert curve.beliefs.residual_scale[:, -1] == pytest.approx(20.0, rel=0.2)


def test_quantiles_minimise_their_loss() -> None:
    """The gradient at the true quantiles of uniform goals is nearly 0, and large elsewhere."""
    goals, levels = (100.0 * (np.arange(n, dtype=np.float32) + 0.5)[None] / n for n in (400, 8))
    gradient = jax.jit(jax.grad(quantile_loss))
    assert np.abs(np.asarray(gradient(levels, goals))).max() < 0.01
    assert np.asarray(gradient(levels + 10.0, goals)).min() > 0.05


def test_outer_quantiles_do_not_count() -> None:
    split = jnp.array([[[0.0, 1.0, 1.0, 1e9], [-1e9, 2.0, 2.0, 3.0]]])  # [state, action, quantile]
    assert middle_mean(split).tolist() == [[1.0, 2.0]]
    assert best_quantiles(split).tolist() == [[-1e9, 2.0, 2.0, 3.0]]
