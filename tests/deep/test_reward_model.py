"""The robust model of the reward, alone: its errors under laws of noise, its units, what it believes."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import pytest

import heavytail as ht
from heavytail.deep import reward_model
from heavytail.deep.network import q_values
from heavytail.deep.replay import Transition
from heavytail.deep.reward_model import RewardModel, believed_outputs
from heavytail.deep.settings import REWARD_BATCH

N, UPDATES, START, SHOWN, SCALE = 20_000, 3000, 500, 2000, 5.0
Numbers = npt.NDArray[np.float64]


class Fitted(NamedTuple):
    """A model and what it predicts for the first transitions, and their mean rewards."""

    model: RewardModel
    predicted: Numbers
    mean: Numbers

    @property
    def errors(self) -> Numbers:
        return self.predicted - self.mean


def fit(states: Any, actions: Any, rewards: Any) -> tuple[RewardModel, jax.Array]:
    """Fit a model to rewards that come one by one."""

    def learn(model: RewardModel, k: jax.Array) -> tuple[RewardModel, None]:
        t = START + k * (N - START) // UPDATES
        renewed = reward_model.renew_units(model)[0]
        model = jax.tree.map(lambda new, old: jnp.where(k % 25 == 0, new, old), renewed, model)
        i = jax.random.randint(jax.random.fold_in(jax.random.key(1), k), (REWARD_BATCH,), 0, t)
        batch = Transition(states[i], states[i], rewards[i], i, actions[i], i)
        j = t - 1 - jnp.arange((N - START) // UPDATES)
        new = Transition(states[j], states[j], rewards[j], j, actions[j], j)
        model = reward_model.judge_predictions(model, believed_outputs(model, new), new.reward, k)
        output = believed_outputs(model, batch)
        model, _ = reward_model.predict_rewards(model, output, jnp.zeros(REWARD_BATCH), k, 1.0)
        return reward_model.learn_rewards(model, batch, k / UPDATES, k, t), None

    model = reward_model.init_reward_model(jax.random.key(0), 2, 3)
    model = jax.lax.fori_loop(0, START, lambda t, m: reward_model.see_reward(m, rewards[t], t), model)
    model, _ = jax.lax.scan(learn, model, jnp.arange(UPDATES))
    done = jnp.int32(UPDATES)
    shown = Transition(states[:SHOWN], states[:SHOWN], rewards[:SHOWN], actions, actions[:SHOWN], actions)
    output = believed_outputs(model, shown)
    return model, model.unit * reward_model.predict_rewards(model, output, jnp.zeros(SHOWN), done, 1.0)[1]


@pytest.fixture(scope="module")
def fits() -> dict[str, Fitted]:
    """Models of the same mean rewards with different noise, side by side in one program."""
    rng = np.random.default_rng(3)
    states, actions = rng.uniform(-1.0, 1.0, (N, 2)), rng.integers(3, size=N)
    mean = -1.0 + 0.5 * np.sin(2.0 * states[:, 0]) * (actions - 1)
    stable = mean + ht.laws.alpha_stable(1.1, scale=SCALE).sample(N, seed=4)
    cases = {
        "none": (mean, mean),
        "normal": (mean, mean + SCALE * rng.normal(size=N)),
        "stable": (mean, stable),
        "pareto": (mean, mean + SCALE * (rng.pareto(1.5, N) - 2.0)),
        "coin": (np.full(N, 0.2), rng.random(N) < 0.2),  # of which the median knows nothing
        "small": (2.0**-10 * mean, 2.0**-10 * stable),
        "large": (2.0**10 * mean, 2.0**10 * stable),
        "alike": (np.full(N, -1.0), stable - mean - 1.0),
        "zeros": (np.zeros(N), np.zeros(N)),
        "constant": (np.full(N, -1.0), np.full(N, -1.0)),
    }
    rewards = jnp.asarray(np.stack([rewards for _, rewards in cases.values()]), jnp.float32)
    fit_all = jax.jit(jax.vmap(fit, in_axes=(None, None, 0)))
    models, predicted = fit_all(jnp.asarray(states, jnp.float32), jnp.asarray(actions), rewards)
    return {
        name: Fitted(
            jax.tree.map(lambda leaf, i=i: np.asarray(leaf[i]), models),
            np.asarray(predicted[i], np.float64),
            case_mean[:SHOWN],
        )
        for i, (name, (case_mean, _)) in enumerate(cases.items())
    }


@pytest.mark.parametrize(
    ("noise", "error"),
    [("none", 0.06), ("normal", 1.2), ("stable", 1.4), ("pareto", 3.0), ("coin", 0.1), ("zeros", 1e-6)],
)
def test_the_mean_is_found_under_every_noise(noise: str, error: float, fits: dict[str, Fitted]) -> None:
    """Noises have scale 5, mean rewards differ by up to 1; Pareto's median is 7 below its mean."""
    assert np.sqrt(np.mean(fits[noise].errors ** 2)) < error


def test_skewed_noise_is_seen_and_its_mean_added(fits: dict[str, Fitted]) -> None:
    model = fits["pareto"].model
    assert model.threshold > 5.0 * model.residual_scale
    assert abs(np.mean(fits["pareto"].errors)) < 1.5
    assert model.scale * reward_model.correction(model) > 0.0


def test_symmetric_noise_is_left_to_the_median(fits: dict[str, Fitted]) -> None:
    model = fits["stable"].model
    assert model.threshold == model.residual_scale
    assert reward_model.correction(model) == 0.0


def test_rewards_times_a_power_of_two_give_the_same_bits_times_it(fits: dict[str, Fitted]) -> None:
    for name, power in (("small", -10), ("large", 10)):
        np.testing.assert_array_equal(fits[name].predicted, 2.0**power * fits["stable"].predicted)
        np.testing.assert_array_equal(fits[name].model.unit, 2.0**power * fits["stable"].model.unit)


def test_predictions_are_shrunk_to_what_new_rewards_confirm(fits: dict[str, Fitted]) -> None:
    confirmed = {name: float(reward_model.shrinkage(fit.model)) for name, fit in fits.items()}
    assert confirmed["none"] > 0.95
    assert confirmed["alike"] < 0.3
    assert np.std(fits["alike"].predicted) < 0.3


def test_beliefs_are_the_mean_the_residuals_and_the_outliers(fits: dict[str, Fitted]) -> None:
    mean, scale, outliers = map(float, reward_model.beliefs(fits["stable"].model))
    assert mean == pytest.approx(-1.0, abs=0.5)
    assert scale == pytest.approx(SCALE, rel=0.1)  # half of the noise is within its scale, nearly
    assert outliers == pytest.approx(0.05, abs=0.015)
    assert float(reward_model.beliefs(fits["normal"].model)[2]) < 1e-3


def test_the_unit_is_the_size_of_predicted_rewards(fits: dict[str, Fitted]) -> None:
    for name in ("none", "stable", "constant"):
        size = np.sqrt(np.mean(fits[name].predicted ** 2))
        assert float(fits[name].model.unit) == pytest.approx(size, rel=0.15)


def test_values_are_between_those_of_the_least_and_the_largest_reward_for_ever(
    fits: dict[str, Fitted],
) -> None:
    for name, low, high in (("constant", -100.0, 0.0), ("zeros", 0.0, 0.0), ("coin", 0.0, 100.0)):
        bounds = [float(end) for end in reward_model.value_bounds(fits[name].model, 0.99, 1.0)]
        assert bounds == pytest.approx([low, high], abs=25.0 if name == "coin" else 0.5)
    assert all(np.isfinite(end) for end in reward_model.value_bounds(fits["stable"].model, 1.0, 200.0))


def test_units_are_renewed_and_predictions_stay(fits: dict[str, Fitted]) -> None:
    model: RewardModel = jax.tree.map(jnp.asarray, fits["none"].model)
    renewed, factor = jax.jit(reward_model.renew_units)(model._replace(distance=60.0 * model.scale))
    assert renewed.scale > 5.0 * model.scale
    x = jnp.ones((4, 2))
    now, before = (m.scale * q_values(m.average, x) for m in (renewed, model))
    np.testing.assert_allclose(np.asarray(now), np.asarray(before), rtol=1e-5)
    assert float(renewed.unit * factor) == pytest.approx(float(model.unit), rel=1e-5)
