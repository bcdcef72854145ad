"""A robust model of the mean reward, learnt from replay, whose predictions replace rewards in targets.

Romoff et al. (2018) predict rewards to reduce variance; here the regression is made for heavy tails, and has
no number to choose. All of it is equivariant: multiplying rewards by a power of two multiplies the results by
it, bit for bit.

A small network predicts the reward of each action in units of `scale` around `offset`, which follow from the
running median of rewards and a running quantile of their distances from it. It is trained with Huber's loss,
whose threshold is learnt. As long as nothing indicates that the noise is skewed, the threshold is the median
absolute residual: the regression is then nearly one of medians, which heavy tails do not disturb. Skewness is
measured by m, the mean of the residuals, estimated by a truncated mean over n of them with the threshold

    B = sqrt(v n) / Z,      v = mean of min(residual^2, B^2),

which balances bias and deviation without knowing a moment (Wang, Zheng, Zhou and Zhou 2021). While m is more
than Z standard errors, sqrt(v / n), from 0, Huber's threshold grows towards B, where the regression is one of
means; otherwise it shrinks. To the extent that it has grown, m is added to the network's predictions.

Predictions use an exponential average of the weights. As distances from their mean, they are shrunk to what
they are worth: `shrinkage` is the slope of Huber's regression of new rewards on them, measured before the
network learns from these rewards. If all states pay the same, it goes to 0 and removes the noise.

`renew_units` renews the units, and returns the factor by which the Q-network must shrink. A typical reward,
`unit`, is the root mean square of the predicted ones; values are in units of sqrt(T) typical rewards, where T
is the number of rewards that a value adds up, 1 / (1 - discount): the geometric mean of one reward and T
equal ones. In units of one reward, values of a hundred are learnt slowly, on CartPole hardly at all; in units
of T the differences between actions vanish beside Adam's epsilon. (Chosen on seeds 9000 to 9007.)
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from heavytail.deep.network import Parameters, init_network, q_values, scale_output
from heavytail.deep.replay import Transition
from heavytail.deep.settings import REWARD_BATCH

HIDDEN = (64, 64)
RATE, LAST_RATE = 1e-3, 1e-5  # of learning, at the first and at the last step
MIN_RATE = 1e-3  # of running averages and quantiles: they forget in a thousand steps
MEMORY = 0.2  # of all updates so far, while that is less
FAR = 0.1  # the share of rewards that are farther from the median than `distance`
TAIL = 6.0  # how many times the median distance that is, for tails like Cauchy's
Z = 3.0  # standard errors that chance explains
MIN_RESIDUAL = 1e-3  # the smallest scale of residuals, in units of scale
OUTLIER = 10.0  # a residual this many times that scale counts as an outlier


class RewardModel(NamedTuple):
    """A model of the mean reward, for one run. Residuals are in units of `scale`."""

    network: Parameters
    average: Parameters  # of the network's weights, over updates; used for predictions
    adam: optax.OptState
    median: jax.Array  # of rewards
    distance: jax.Array  # from it, which a share FAR of rewards exceeds
    offset: jax.Array  # the reward where outputs are 0
    scale: jax.Array  # of outputs; 0 before learning begins
    threshold: jax.Array  # of Huber's loss
    residual_scale: jax.Array  # the median absolute residual
    residual_mean: jax.Array  # truncated
    residual_square: jax.Array  # the mean of squares, truncated
    outliers: jax.Array  # the share of residuals beyond OUTLIER times their scale
    level: jax.Array  # the mean output
    agreement: jax.Array  # of new rewards with outputs, both less the level: the mean product
    variance: jax.Array  # of outputs, if new rewards are within the threshold
    power: jax.Array  # the mean square of predicted rewards
    lowest: jax.Array  # predicted reward in a batch, on average
    highest: jax.Array  # the same with the mean bonus
    unit: jax.Array  # a typical reward


def init_reward_model(key: jax.Array, dimension: int, n_actions: int) -> RewardModel:
    """Make a model that has seen nothing."""
    network = init_network(key, (dimension, *HIDDEN, n_actions))
    zero = jnp.float32(0.0)
    return RewardModel(network, network, _adam().init(network), *[zero] * 16)


def see_reward(model: RewardModel, reward: jax.Array, t: jax.Array) -> RewardModel:
    """Update the running median and the running quantile of distances from it, after t rewards.

    Steps are shares of the distance, so no unit is needed.
    """
    rate = jnp.maximum(1.0 / (t + 1.0), MIN_RATE)
    off = jnp.abs(reward - model.median)
    median = model.median + 0.5 * rate * model.distance * jnp.sign(reward - model.median)
    distance = model.distance * jnp.exp(rate / FAR * ((off > model.distance) - FAR))
    first = jnp.where(t == 0, 0.0, off)
    return model._replace(
        median=jnp.where(t == 0, reward, median),
        distance=jnp.where(model.distance == 0.0, first, distance),
    )


def renew_units(model: RewardModel) -> tuple[RewardModel, jax.Array]:
    """Renew the units. Returns the model and the factor that keeps Q-values unchanged.

    The scale never shrinks: if a good policy makes rewards nearly constant, their spread does not measure the
    differences that the network has to learn.
    """
    begins = model.scale == 0.0
    scale = jnp.maximum(model.scale, model.distance / TAIL + 0.1 * jnp.abs(model.median))
    ratio = _divide(model.scale, scale)
    unit = jnp.where(model.power > 0.0, jnp.sqrt(model.power), scale)
    renewed = model._replace(
        network=scale_output(model.network, ratio),
        average=scale_output(model.average, ratio),
        offset=jnp.where(begins, model.median, model.offset),
        scale=scale,
        threshold=jnp.where(begins, 1.0, ratio * model.threshold),
        residual_scale=jnp.where(begins, 1.0, ratio * model.residual_scale),
        residual_mean=ratio * model.residual_mean,
        residual_square=jnp.where(begins, 1.0, ratio * ratio * model.residual_square),
        level=ratio * model.level,
        agreement=ratio * ratio * model.agreement,
        variance=ratio * ratio * model.variance,
        unit=unit,
    )
    return renewed, jnp.where(model.unit > 0.0, _divide(model.unit, unit), 1.0)


def believed_outputs(model: RewardModel, batch: Transition) -> jax.Array:
    """Calculate the outputs of the averaged network, for the actions taken."""
    return _outputs(model.average, batch)


def judge_predictions(
    model: RewardModel, output: jax.Array, reward: jax.Array, updates: jax.Array
) -> RewardModel:
    """Compare the outputs for new transitions with their rewards, before learning from them."""
    output = output - model.level
    guess = shrinkage(model) * output
    residual = _divide(reward - model.offset, model.scale) - model.level - guess
    within = jnp.abs(residual) < model.threshold
    cut = jnp.clip(residual, -model.threshold, model.threshold)
    rate = jnp.where(updates > 0, 1.0 / (1.0 + MEMORY * updates), 0.0)  # at first there is no level
    product = jnp.mean(output * (cut + within * guess))
    return model._replace(
        agreement=model.agreement + rate * (product - model.agreement),
        variance=model.variance + rate * (jnp.mean(within * jnp.square(output)) - model.variance),
    )


def shrinkage(model: RewardModel) -> jax.Array:
    """Calculate the share of the differences between predictions that new rewards confirm, from 0 to 1."""
    return jnp.where(model.variance > 0.0, jnp.clip(_divide(model.agreement, model.variance), 0.0, 1.0), 1.0)


def learn_rewards(
    model: RewardModel, batch: Transition, progress: jax.Array, updates: jax.Array, stored: jax.Array
) -> RewardModel:
    """Make one gradient step on replayed rewards.

    Args:
        model: the model of the reward.
        batch: a batch of transitions.
        progress: the share of all steps made so far.
        updates: the number of updates before this one.
        stored: the number of transitions in replay, from which the batch is a sample.
    """
    guess, backward = jax.vjp(lambda network: _outputs(network, batch), model.network)
    residual = _divide(batch.reward - model.offset, model.scale) - guess
    rate = averaging_rate(updates)
    # Batches of the last 1 / rate updates, and of no more than is stored
    n = 1.0 / (1.0 / stored + 0.5 * rate / REWARD_BATCH)
    model = _measure_residuals(model, residual, rate, n)
    pull = jnp.clip(residual / model.threshold, -1.0, 1.0)  # Huber's loss over its threshold: its derivative
    (gradient,) = backward(-pull / REWARD_BATCH)
    direction, adam = _adam().update(gradient, model.adam)
    step = RATE + progress * (LAST_RATE - RATE)
    network = jax.tree.map(lambda p, d: p - step * d, model.network, direction)
    average = jax.tree.map(lambda a, p: a + rate * (p - a), model.average, network)
    return model._replace(network=network, average=average, adam=adam)


def _measure_residuals(model: RewardModel, residual: jax.Array, rate: jax.Array, n: jax.Array) -> RewardModel:
    """Update the statistics of residuals, and with them Huber's threshold."""
    bound = jnp.sqrt(model.residual_square * n) / Z
    cut = jnp.clip(residual, -bound, bound)
    mean = model.residual_mean + rate * (jnp.mean(cut) - model.residual_mean)
    square = model.residual_square + rate * (jnp.mean(jnp.square(cut)) - model.residual_square)
    is_skewed = jnp.square(mean) > Z * Z * square / n
    size = jnp.abs(residual)
    scale = model.residual_scale * jnp.exp(rate * jnp.mean(jnp.sign(size - model.residual_scale)))
    scale = jnp.maximum(scale, MIN_RESIDUAL)
    threshold = model.threshold * jnp.exp(jnp.where(is_skewed, rate, -rate))
    return model._replace(
        threshold=jnp.maximum(jnp.minimum(threshold, bound), scale),
        residual_scale=scale,
        residual_mean=mean,
        residual_square=square,
        outliers=model.outliers + rate * (jnp.mean(size > OUTLIER * scale) - model.outliers),
    )


def correction(model: RewardModel) -> jax.Array:
    """Calculate the correction for skewed noise: the mean residual, as far as the threshold has grown."""
    return (1.0 - _divide(model.residual_scale, model.threshold)) * model.residual_mean


def predict_rewards(
    model: RewardModel, output: jax.Array, bonus: jax.Array, updates: jax.Array, horizon: float
) -> tuple[RewardModel, jax.Array]:
    """Predict the mean rewards of transitions from their outputs and add a bonus, in typical rewards.

    The result is in the unit of values that add up `horizon` rewards. The model records its predictions.
    """
    rate = averaging_rate(updates)
    level = model.level + rate * (jnp.mean(output) - model.level)
    shrunk = level + shrinkage(model) * (output - level)
    reward = model.offset + model.scale * (shrunk + correction(model))
    highest = jnp.max(reward) + jnp.mean(bonus) * model.unit
    model = model._replace(
        level=level,
        power=model.power + rate * (jnp.mean(jnp.square(reward)) - model.power),
        lowest=model.lowest + rate * (jnp.min(reward) - model.lowest),
        highest=model.highest + rate * (highest - model.highest),
    )
    return model, (_divide(reward, model.unit) + bonus) / math.sqrt(horizon)


def value_bounds(model: RewardModel, discount: float, horizon: float) -> tuple[jax.Array, jax.Array]:
    """Calculate the bounds of values, in their unit: the least and the largest reward in every step, or 0.

    Estimates of values do not stay within these bounds on their own: the largest of several is too large on
    average, and with networks such errors can feed on each other without end.
    """
    low, high = _divide(model.lowest, model.unit), _divide(model.highest, model.unit)
    steps = 1.0 / max(1.0 - discount, 1e-9) / math.sqrt(horizon)
    return steps * jnp.minimum(low, 0.0), steps * jnp.maximum(high, 0.0)


def novelty_bonus(visits: jax.Array) -> jax.Array:
    """Calculate the bonus, in typical rewards: one for a new pair, half of one after four visits."""
    return 1.0 / jnp.sqrt(jnp.maximum(visits, 1).astype(jnp.float32))


def beliefs(model: RewardModel) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return the mean predicted reward, the scale of residuals, and the share of outliers."""
    mean = model.offset + model.scale * (model.level + correction(model))
    return mean, model.scale * model.residual_scale, model.outliers


def averaging_rate(updates: jax.Array) -> jax.Array:
    """Calculate the weight of the newest value in running averages, after `updates` updates."""
    return jnp.maximum(1.0 / (1.0 + MEMORY * updates), MIN_RATE)


def _outputs(network: Parameters, batch: Transition) -> jax.Array:
    """Calculate the outputs for the actions taken. A product is faster than indexing."""
    outputs = q_values(network, batch.observation)
    return jnp.sum(jax.nn.one_hot(batch.action, outputs.shape[-1]) * outputs, axis=-1)


def _divide(a: jax.Array, b: jax.Array) -> jax.Array:
    """Divide, with 0 / 0 = 0."""
    return jnp.where(b == 0.0, 0.0, a / jnp.where(b == 0.0, 1.0, b))


def _adam() -> optax.GradientTransformation:
    return optax.scale_by_adam()
