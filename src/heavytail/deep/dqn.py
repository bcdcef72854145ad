r"""DQN and Heavy-DQN: Mnih et al. (2015); Zhuang and Sui (2021), section 3.4 and its table of hyperparameters.

Three pure functions of one run: `new_dqn`, `act` (one step of the environment, kept in the replay memory) and `update` (one gradient step); `learn` puts many runs side by side and
loops. Heavy-DQN is DQN whose rewards pass through the adaptive transform of `heavytail.deep.rewards` when they are collected, as Heavy-Q-Learning's do (the paper does not
say when), or when they are replayed.

All runs of a batch share the clock t, so that what happens at certain steps (updates, new targets) is a branch and not a selection between two results.
"""

from functools import partial
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax

from heavytail.deep.environment import Environment, State
from heavytail.deep.network import Parameters, new_network, q_values
from heavytail.deep.replay import Replay, new_replay, sample, store
from heavytail.deep.rewards import Treatment, hash_code, stable_noise, transformed


class Settings(NamedTuple):
    """What all runs of a batch share; the defaults are the paper's table. Plain numbers: each combination is compiled."""

    total_steps: int
    cap: int  # steps in an episode; the paper does not say how many
    hidden: tuple[int, ...] = (512, 512)
    discount: float = 0.99
    batch: int = 64
    replay: int = 500_000
    start: int = 500
    update_every: int = 2
    target_every: int = 50
    adam_epsilon: float = 0.0003125
    last_exploration: float = 0.01
    exploration_share: float = 0.1
    loss: Literal["huber", "squared"] = "huber"
    transform_at: Literal["collection", "replay"] = "collection"
    bits: int = 16  # of the hash


class Run(NamedTuple):
    """In what the runs of a batch may differ."""

    key: jax.Array
    learning_rate: jax.Array
    last_learning_rate: jax.Array
    treatment: Treatment


class Totals(NamedTuple):
    """What a run has come to."""

    episodes: jax.Array
    clean_return: jax.Array  # of finished episodes, without noise
    length: jax.Array  # of finished episodes
    truncated: jax.Array  # rewards that the transform changed


class DQN(NamedTuple):
    """Everything that a run remembers."""

    network: Parameters
    target: Parameters
    adam: optax.OptState
    replay: Replay
    counts: jax.Array  # [2^bits, A]
    projection: jax.Array  # [bits, D + 1]
    env: State
    observation: jax.Array  # [D] scaled
    episode_steps: jax.Array
    episode_return: jax.Array
    key: jax.Array
    totals: Totals


def scaled(env: Environment, observation: jax.Array) -> jax.Array:
    """An observation, in [-1, 1] by the environment's bounds."""
    low, high = jnp.array(env.low), jnp.array(env.high)
    return 2.0 * (observation - low) / (high - low) - 1.0


def new_dqn(env: Environment, settings: Settings, run: Run) -> DQN:
    """The first moment of a run."""
    for_network, for_hash, for_env, key = jax.random.split(run.key, 4)
    dimension = len(env.low)
    network = new_network(for_network, (dimension, *settings.hidden, env.n_actions))
    state = env.reset(for_env)
    zero = jnp.float32(0.0)
    return DQN(
        network=network,
        target=network,
        adam=_adam(settings).init(network),
        replay=new_replay(settings.replay, dimension),
        counts=jnp.zeros((1 << settings.bits, env.n_actions), jnp.int32),
        projection=jax.random.normal(for_hash, (settings.bits, dimension + 1)),
        env=state,
        observation=scaled(env, env.observe(state)),
        episode_steps=jnp.int32(0),
        episode_return=zero,
        key=key,
        totals=Totals(jnp.int32(0), zero, zero, jnp.int32(0)),
    )


def exploration(settings: Settings, t: jax.Array) -> jax.Array:
    """From 1 to its last value over the first share of all steps, linearly."""
    progress = jnp.clip(t / (settings.exploration_share * settings.total_steps), 0.0, 1.0)
    return 1.0 + progress * (settings.last_exploration - 1.0)


def act(env: Environment, settings: Settings, run: Run, state: DQN, t: jax.Array) -> DQN:
    """One step of the environment."""
    key, for_choice, for_action, for_noise, for_reset = jax.random.split(state.key, 5)
    greedy = jnp.argmax(q_values(state.network, state.observation))
    other = jax.random.randint(for_action, (), 0, env.n_actions)
    action = jnp.where(jax.random.uniform(for_choice) < exploration(settings, t), other, greedy)

    moved, clean, terminated = env.step(state.env, action)
    reward = clean + stable_noise(for_noise, run.treatment.noise_alpha, run.treatment.noise_scale)
    code = hash_code(state.projection, state.observation)
    n = state.counts[code, action] + 1  # read before it is written: then the table is changed in place
    counts = state.counts.at[code, action].set(n)
    learnt, changed = transformed(reward, n, run.treatment.transform)
    kept = learnt if settings.transform_at == "collection" else reward
    following = scaled(env, env.observe(moved))
    replay = store(state.replay, t, Replay(state.observation, action, kept, following, terminated, code))

    steps, total = state.episode_steps + 1, state.episode_return + clean
    over = terminated | (steps >= settings.cap)  # the cap ends an episode, and is not stored: values follow it
    fresh = env.reset(for_reset)
    was = state.totals
    return state._replace(
        replay=replay,
        counts=counts,
        env=jax.tree.map(partial(jnp.where, over), fresh, moved),
        observation=jnp.where(over, scaled(env, env.observe(fresh)), following),
        episode_steps=jnp.where(over, 0, steps),
        episode_return=jnp.where(over, 0.0, total),
        key=key,
        totals=Totals(
            was.episodes + over,
            was.clean_return + jnp.where(over, total, 0.0),
            was.length + jnp.where(over, steps, 0),
            was.truncated + changed,
        ),
    )


def update(settings: Settings, run: Run, state: DQN, t: jax.Array) -> tuple[Parameters, optax.OptState, jax.Array]:
    """One gradient step: the new network, optimiser and key."""
    key, for_sample = jax.random.split(state.key)
    batch = sample(state.replay, t, for_sample, settings.batch)
    reward = batch.reward
    if settings.transform_at == "replay":
        n = jnp.maximum(state.counts[batch.code, batch.action], 1)
        reward = jax.vmap(lambda r, n: transformed(r, n, run.treatment.transform)[0])(reward, n)
    best = jnp.max(q_values(state.target, batch.following), axis=-1)
    goal = reward + settings.discount * jnp.where(batch.terminated, 0.0, best)

    def loss(network: Parameters) -> jax.Array:
        value = jnp.take_along_axis(q_values(network, batch.observation), batch.action[:, None].astype(jnp.int32), axis=-1)[:, 0]
        error = optax.huber_loss(value, goal) if settings.loss == "huber" else optax.squared_error(value, goal)
        return jnp.mean(error)

    gradient = jax.grad(loss)(state.network)
    direction, adam = _adam(settings).update(gradient, state.adam)
    rate = run.learning_rate + t / settings.total_steps * (run.last_learning_rate - run.learning_rate)
    return jax.tree.map(lambda p, d: p - rate * d, state.network, direction), adam, key


def _adam(settings: Settings) -> optax.GradientTransformation:
    return optax.scale_by_adam(eps=settings.adam_epsilon)


def new_batch(env: Environment, settings: Settings, runs: Run) -> DQN:
    """The first moment of many runs."""
    return jax.jit(jax.vmap(partial(new_dqn, env, settings)))(runs)


def _round(env: Environment, settings: Settings, runs: Run, updates: bool, states: DQN, t: jax.Array) -> DQN:
    """`update_every` steps of all runs, and an update."""
    acting = jax.vmap(partial(act, env, settings), in_axes=(0, 0, None))
    for j in range(settings.update_every):
        states = acting(runs, states, t + j)
    if not updates:
        return states
    network, adam, key = jax.vmap(partial(update, settings), in_axes=(0, 0, None))(runs, states, t + settings.update_every)
    return states._replace(network=network, adam=adam, key=key)


@partial(jax.jit, static_argnums=(0, 1, 5, 6), donate_argnums=(3,))
def learn_rounds(env: Environment, settings: Settings, runs: Run, states: DQN, t: jax.Array, rounds: int, updates: bool) -> DQN:
    """So many rounds of all runs from step t on, with updates or without, and with one target."""

    def one_round(states: DQN, i: jax.Array) -> tuple[DQN, None]:
        return _round(env, settings, runs, updates, states, t + i * settings.update_every), None

    return jax.lax.scan(one_round, states, jnp.arange(rounds))[0]


@partial(jax.jit, static_argnums=(0, 1, 5), donate_argnums=(3,))
def learn_periods(env: Environment, settings: Settings, runs: Run, states: DQN, t: jax.Array, periods: int) -> DQN:
    """So many periods of `target_every` steps from step t on, each with its own target: one loop in another, and no branch."""
    rounds = settings.target_every // settings.update_every

    def one_period(states: DQN, i: jax.Array) -> tuple[DQN, None]:
        states = states._replace(target=states.network)
        return learn_rounds(env, settings, runs, states, t + i * settings.target_every, rounds, True), None

    return jax.lax.scan(one_period, states, jnp.arange(periods))[0]


def learn(env: Environment, settings: Settings, runs: Run, states: DQN, t: int, until: int) -> DQN:
    """All runs from step t to step `until`, both multiples of `update_every`.

    A new target is taken at every multiple of `target_every` from the first update on. Where the way is cut changes nothing.
    """
    every, period = settings.update_every, settings.target_every
    first = -(-settings.start // every) * every  # the first update comes with the round in which `start` steps are reached
    while t < until:
        if t + every < first:
            stop = min(until, first - every)
            states = learn_rounds(env, settings, runs, states, jnp.int32(t), (stop - t) // every, False)
        elif t % period == 0 and t + period <= until:
            stop = t + (until - t) // period * period
            states = learn_periods(env, settings, runs, states, jnp.int32(t), (stop - t) // period)
        else:
            if t % period == 0:
                states = states._replace(target=jax.tree.map(jnp.copy, states.network))
            stop = min(until, (t // period + 1) * period)
            states = learn_rounds(env, settings, runs, states, jnp.int32(t), (stop - t) // every, True)
        t = stop
    return states
