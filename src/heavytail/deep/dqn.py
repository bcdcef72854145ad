"""DQN, Heavy-DQN, DQN with a model of the reward, and DQN by quantiles.

Mnih et al. (2015); Zhuang and Sui (2021), section 3.4 and its table of hyperparameters; Dabney et al. (2018).

Pure functions of one run: `init_dqn`; `act`, one step of the environment, which selects an action
(`select_action`), moves the environment and stores the transition (`store_transition`); and `update`, one
gradient step. `heavytail.deep.batch` runs many side by side in a loop. Heavy-DQN is DQN whose rewards pass
through the adaptive transform of `heavytail.deep.rewards` when they are collected, as in Heavy-Q-Learning
(the paper does not say when), or when they are replayed. `heavytail.deep.reward_model` replaces rewards by a
model, `heavytail.deep.network` values by quantiles of the return.

A run consists of *periods* of `target_every` steps. The first periods, until `start` steps are made, only
act; each later one begins with a new target network and has an update after every `update_every` steps. All
runs of a batch share this clock. The random numbers of a period are drawn all at once at its beginning, from
the run's key and the number of the period: so they depend on nothing else, and a step has little left to do
besides its arithmetic.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from heavytail.deep.envs import GENERATOR, Environment, State, scale_observation
from heavytail.deep.network import (
    Parameters,
    best_quantiles,
    init_network,
    middle_mean,
    q_values,
    quantile_loss,
    scale_output,
    split_quantiles,
)
from heavytail.deep.replay import Transition, init_replay, sample, split_batch, store
from heavytail.deep.reward_model import (
    RewardModel,
    believed_outputs,
    init_reward_model,
    judge_predictions,
    learn_rewards,
    novelty_bonus,
    predict_rewards,
    renew_units,
    see_reward,
    value_bounds,
)
from heavytail.deep.rewards import hash_code, reward_noise, transform_reward
from heavytail.deep.settings import WORDS_PER_STEP, Settings
from heavytail.gym.reward_transforms import RewardTransform

MAX_HORIZON = 1000.0  # rewards that a value adds up, if they are not discounted


class RunParameters(NamedTuple):
    """The parameters in which runs of a batch may differ, as arrays."""

    key: jax.Array
    learning_rate: jax.Array
    last_learning_rate: jax.Array
    transform: RewardTransform  # of rewards
    noise_alpha: jax.Array
    noise_scale: jax.Array


class Totals(NamedTuple):
    """Sums over the steps since the last reset to 0."""

    episodes: jax.Array
    clean_return: jax.Array  # of finished episodes, without noise
    truncated: jax.Array  # rewards that the transform changed


class DQN(NamedTuple):
    """The whole state of a run."""

    network: Parameters
    target: Parameters
    adam: optax.OptState
    replay: jax.Array  # [size, words]
    counts: jax.Array  # [2^bits, A]
    projection: jax.Array  # [bits, D + 1]
    env: State
    observation: jax.Array  # [D] scaled
    episode_steps: jax.Array
    episode_return: jax.Array
    totals: Totals
    model: RewardModel | None = None  # of the reward, if targets use one


class StepRandomness(NamedTuple):
    """The random numbers of one step, or of many with leading axes."""

    explore: jax.Array  # uniform; below the exploration rate the action is random
    action: jax.Array  # the random one
    noise: jax.Array  # of the reward
    reset_state: State  # the first state of the next episode, if this step ends one


class Step(NamedTuple):
    """The outcome of one step of the environment."""

    action: jax.Array
    reward: jax.Array  # before the run's noise is added
    clean_reward: jax.Array  # without any noise
    next_observation: jax.Array  # [D] scaled
    terminated: jax.Array  # nothing follows: the value of the next state is 0
    episode_over: jax.Array  # by termination, by the environment's time limit or by the cap
    start: jax.Array  # [D] observation of the next step: of a new episode if this one is over


def zero_totals() -> Totals:
    """Make totals of 0."""
    return Totals(jnp.int32(0), jnp.float32(0.0), jnp.int32(0))


def init_dqn(env: Environment, settings: Settings, run: RunParameters) -> DQN:
    """Make the initial state of a run."""
    network_key, hash_key, env_key = jax.random.split(jax.random.fold_in(run.key, 0), 3)
    dimension = len(env.low)
    network = init_network(network_key, (dimension, *settings.hidden, env.n_actions * settings.quantiles))
    state = env.reset(env_key)
    model_key = jax.random.fold_in(network_key, 0)
    return DQN(
        network=network,
        target=network,
        adam=_adam(settings).init(network),
        replay=init_replay(settings.replay, dimension),
        counts=jnp.zeros((1 << settings.bits, env.n_actions), jnp.int32),
        projection=jax.random.normal(hash_key, (settings.bits, dimension + 1)),
        env=state,
        observation=scale_observation(env, env.observe(state)),
        episode_steps=jnp.int32(0),
        episode_return=jnp.float32(0.0),
        totals=zero_totals(),
        model=init_reward_model(model_key, dimension, env.n_actions) if settings.models_rewards else None,
    )


def draw_period(
    env: Environment, settings: Settings, run: RunParameters, period: jax.Array
) -> tuple[StepRandomness, jax.Array]:
    """Draw the random numbers of a period.

    Returns:
        those of its steps [round, step of the round], and 32 random bits for each replayed transition
        [round, replayed]; a round is `update_every` steps and an update.
    """
    n_words = WORDS_PER_STEP * settings.update_every
    key = jax.random.fold_in(run.key, period + 1)
    bits = jax.random.bits(key, (updates_per_period(settings), n_words + settings.replayed))
    words = jnp.moveaxis(bits[:, :n_words].reshape(-1, settings.update_every, WORDS_PER_STEP), -1, 0)
    u, w = to_uniform(words[2]), to_uniform(words[3])
    noise = reward_noise(settings.noise_law, u, w, run.noise_alpha, run.noise_scale)
    keys = jax.random.wrap_key_data(jnp.moveaxis(words[4:], 0, -1), impl=GENERATOR)
    action = (words[1] % env.n_actions).astype(jnp.int32)
    reset_states = jax.vmap(jax.vmap(env.reset))(keys)
    return StepRandomness(to_uniform(words[0]), action, noise, reset_states), bits[:, n_words:]


def to_uniform(bits: jax.Array) -> jax.Array:
    """Convert 32 random bits each to uniform numbers in [0, 1), multiples of 2^-23."""
    return (bits >> 9).astype(jnp.float32) * jnp.float32(2.0**-23)


def updates_per_period(settings: Settings) -> int:
    """Count the rounds of a period, each of `update_every` steps."""
    return settings.target_every // settings.update_every


def exploration_rate(settings: Settings, t: jax.Array) -> jax.Array:
    """Decay linearly from 1 to the last value, over the first `exploration_share` of all steps."""
    progress = jnp.clip(t / (settings.exploration_share * settings.total_steps), 0.0, 1.0)
    return 1.0 + progress * (settings.last_exploration - 1.0)


def select_action(settings: Settings, state: DQN, randomness: StepRandomness, t: jax.Array) -> jax.Array:
    """Select the action of step t, epsilon-greedily."""
    greedy = jnp.argmax(action_values(settings, state.network, state.observation))
    explores = randomness.explore < exploration_rate(settings, t)
    return jnp.where(explores, randomness.action, greedy).astype(jnp.int32)


def action_values(settings: Settings, network: Parameters, observation: jax.Array) -> jax.Array:
    """Calculate the values used to select actions, for one scaled observation or many."""
    output = q_values(network, observation)
    if settings.quantiles > 1:
        return middle_mean(split_quantiles(output, settings.quantiles))
    return output


def store_transition(
    settings: Settings, run: RunParameters, state: DQN, randomness: StepRandomness, t: jax.Array, step: Step
) -> DQN:
    """Count the visit, transform the reward, store the transition, and add to the totals."""
    reward = step.reward + randomness.noise
    code = hash_code(state.projection, state.observation)
    n = state.counts[code, step.action] + 1  # read before it is written: then the table is changed in place
    transformed, truncated = transform_reward(reward, n, run.transform)
    kept = transformed if settings.transform_at == "collection" else reward
    transition = Transition(
        state.observation, step.next_observation, kept, step.terminated, step.action, code
    )
    over, episode_return, totals = step.episode_over, state.episode_return + step.clean_reward, state.totals
    return state._replace(
        replay=store(state.replay, t, transition),
        counts=state.counts.at[code, step.action].set(n),
        observation=step.start,
        episode_steps=jnp.where(over, 0, state.episode_steps + 1),
        episode_return=jnp.where(over, 0.0, episode_return),
        totals=Totals(
            totals.episodes + over,
            totals.clean_return + jnp.where(over, episode_return, 0.0),
            totals.truncated + truncated,
        ),
        model=None if state.model is None else see_reward(state.model, reward, t),
    )


def act(
    env: Environment,
    settings: Settings,
    run: RunParameters,
    state: DQN,
    randomness: StepRandomness,
    t: jax.Array,
) -> DQN:
    """Make one step of a compiled environment."""
    action = select_action(settings, state, randomness, t)
    moved, reward, terminated = env.step(state.env, action)
    # The cap ends an episode but is not stored as an end: values continue beyond it.
    over = terminated | (state.episode_steps + 1 >= settings.cap)
    next_observation = scale_observation(env, env.observe(moved))
    start = jnp.where(over, scale_observation(env, env.observe(randomness.reset_state)), next_observation)
    step = Step(action, reward, reward, next_observation, terminated, over, start)
    stored = store_transition(settings, run, state, randomness, t, step)
    return stored._replace(env=jax.tree.map(partial(jnp.where, over), randomness.reset_state, moved))


def begin_period(state: DQN) -> DQN:
    """Copy the network to the target. With a model of the reward, renew the units of both first."""
    network, model = state.network, state.model
    if model is not None:
        model, factor = renew_units(model)
        network = scale_output(network, factor)
    return state._replace(network=network, target=network, model=model)


def update(settings: Settings, run: RunParameters, state: DQN, bits: jax.Array, t: jax.Array) -> DQN:
    """Make one gradient step, after t steps of the environment."""
    latest = settings.update_every if settings.models_rewards else 0
    replayed = sample(state.replay, t, bits, latest)
    _, batch, _ = split_batch(replayed, latest, latest + settings.batch)
    reward, model = batch.reward, state.model
    if settings.transform_at == "replay":
        n = jnp.maximum(state.counts[batch.code, batch.action], 1)
        reward = jax.vmap(lambda r, n: transform_reward(r, n, run.transform)[0])(reward, n)
    if model is not None:
        bonus = novelty_bonus(state.counts[batch.code, batch.action])
        model, reward = _model_rewards(settings, model, replayed, bonus, t)
    goal = _goals(settings, state.target, batch, reward, model)
    gradient = jax.grad(partial(_loss, settings, batch, goal))(state.network)
    direction, adam = _adam(settings).update(gradient, state.adam)
    rate = run.learning_rate + t / settings.total_steps * (run.last_learning_rate - run.learning_rate)
    network = jax.tree.map(lambda p, d: p - rate * d, state.network, direction)
    return state._replace(network=network, adam=adam, model=model)


def _model_rewards(
    settings: Settings, model: RewardModel, replayed: Transition, bonus: jax.Array, t: jax.Array
) -> tuple[RewardModel, jax.Array]:
    """Predict the rewards of a batch, with a novelty bonus, and improve the model of the reward.

    Predicting does not wait for learning: a GPU does both at once.

    Args:
        settings: the settings of the batch of runs.
        model: the model before this update.
        replayed: the newest transitions, the batch, and those from which the model learns.
        bonus: the bonus of the batch.
        t: the number of steps so far.
    """
    latest = settings.update_every
    first = first_learning_period(settings) * settings.target_every
    updates = (t - first) // settings.update_every - 1  # before this one
    seen, to_learn = split_batch(replayed, latest + settings.batch)
    output = believed_outputs(model, seen)
    model = judge_predictions(model, output[:latest], seen.reward[:latest], updates)
    model, reward = predict_rewards(model, output[latest:], bonus, updates, _horizon(settings))
    stored = jnp.minimum(t, settings.replay)
    return learn_rewards(model, to_learn, t / settings.total_steps, updates, stored), reward


def _horizon(settings: Settings) -> float:
    """Count the rewards that a value adds up; a cap does not end them."""
    return 1.0 / max(1.0 - settings.discount, 1.0 / MAX_HORIZON)


def _goals(
    settings: Settings, target: Parameters, batch: Transition, reward: jax.Array, model: RewardModel | None
) -> jax.Array:
    """Calculate the targets of a batch's values, or of each of their quantiles [batch, quantile]."""
    follow = q_values(target, batch.next_observation)
    if settings.quantiles > 1:
        best = best_quantiles(split_quantiles(follow, settings.quantiles))
        return reward[:, None] + settings.discount * jnp.where(batch.terminated[:, None], 0.0, best)
    best = jnp.max(follow, axis=-1)
    if model is not None:
        best = jnp.clip(best, *value_bounds(model, settings.discount, _horizon(settings)))
    return reward + settings.discount * jnp.where(batch.terminated, 0.0, best)


def _loss(settings: Settings, batch: Transition, goal: jax.Array, network: Parameters) -> jax.Array:
    output = q_values(network, batch.observation)
    # A product is faster than indexing, whose derivative is a scatter.
    if settings.quantiles > 1:
        split = split_quantiles(output, settings.quantiles)
        taken = jax.nn.one_hot(batch.action, split.shape[-2])
        return quantile_loss(jnp.sum(taken[..., None] * split, axis=-2), goal)
    value = jnp.sum(jax.nn.one_hot(batch.action, output.shape[-1]) * output, axis=-1)
    loss_function = optax.huber_loss if settings.loss == "huber" else optax.squared_error
    return jnp.mean(loss_function(value, goal))


def _adam(settings: Settings) -> optax.GradientTransformation:
    return optax.scale_by_adam(eps=settings.adam_epsilon)


def first_learning_period(settings: Settings) -> int:
    """Find the first period with updates: `start` steps are made before it."""
    return -(-settings.start // settings.target_every)
