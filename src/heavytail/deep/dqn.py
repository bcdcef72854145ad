r"""DQN and Heavy-DQN: Mnih et al.

(2015); Zhuang and Sui (2021), section 3.4 and its table of hyperparameters.

Pure functions of one run: `new_dqn`; `act`, one step of the environment, which is to `choose` an action, to
let the environment move and to `store_transition` what happened; and `update`, one gradient step.
`run_periods` puts many runs side by side and loops. Heavy-DQN is DQN whose rewards pass through the adaptive
transform of `heavytail.deep.rewards` when they are collected, as Heavy-Q-Learning's do (the paper does not
say when), or when they are replayed.

A run is made of *periods* of `target_every` steps. The first periods, until `start` steps are made, only act;
each later one begins with a new target and has an update after every `update_every` steps. All runs of a
batch share this clock. The random numbers of a period are drawn at its beginning, all at once, from the run's
key and the number of the period: so they depend on nothing else, and a step has little to do but its
arithmetic.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from heavytail.deep.envs.environment import GENERATOR, Environment, State, scaled
from heavytail.deep.network import Parameters, new_network, q_values
from heavytail.deep.replay import Transition, new_replay, sample, store
from heavytail.deep.rewards import RewardModel, hash_code, stable_noise, transformed
from heavytail.deep.settings import Settings


class Run(NamedTuple):
    """In what the runs of a batch may differ, as arrays."""

    key: jax.Array
    learning_rate: jax.Array
    last_learning_rate: jax.Array
    treatment: RewardModel


class Totals(NamedTuple):
    """What a run has come to since they were last set to 0."""

    episodes: jax.Array
    clean_return: jax.Array  # of finished episodes, without noise
    truncated: jax.Array  # rewards that the transform changed


class DQN(NamedTuple):
    """Everything that a run remembers."""

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


class StepRandomness(NamedTuple):
    """The random numbers of one step, or of many with their axes in front."""

    explores: jax.Array  # uniform; below the share of random actions the action is random
    action: jax.Array  # the random one
    noise: jax.Array  # of the reward
    fresh: State  # where the next episode begins, if this step ends one


class Step(NamedTuple):
    """What the environment did."""

    action: jax.Array
    reward: jax.Array  # to which the run's noise is yet to be added
    clean: jax.Array  # without any noise
    following: jax.Array  # [D] the next observation, scaled
    terminated: jax.Array  # values end here
    over: (
        jax.Array
    )  # the episode ends here, be it by termination, by the environment's time limit or by the cap
    start: (
        jax.Array
    )  # [D] where the next step starts: in a new episode if this one is over, else at `following`


def no_totals() -> Totals:
    """Nothing yet."""
    return Totals(jnp.int32(0), jnp.float32(0.0), jnp.int32(0))


def new_dqn(env: Environment, settings: Settings, run: Run) -> DQN:
    """The first moment of a run."""
    for_network, for_hash, for_env = jax.random.split(jax.random.fold_in(run.key, 0), 3)
    dimension = len(env.low)
    network = new_network(for_network, (dimension, *settings.hidden, env.n_actions))
    state = env.reset(for_env)
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
        episode_return=jnp.float32(0.0),
        totals=no_totals(),
    )


def draw_period(
    env: Environment, settings: Settings, run: Run, period: jax.Array
) -> tuple[StepRandomness, jax.Array]:
    """The random numbers of a period.

    Of its steps [round, step of the round], and 32 random bits for each transition that is replayed [round,
    batch].
    """
    each, all_steps = 6, 6 * settings.update_every
    bits = jax.random.bits(
        jax.random.fold_in(run.key, period + 1), (updates_per_period(settings), all_steps + settings.batch)
    )
    words = jnp.moveaxis(bits[:, :all_steps].reshape(-1, settings.update_every, each), -1, 0)
    noise = stable_noise(
        uniform(words[2]), uniform(words[3]), run.treatment.noise_alpha, run.treatment.noise_scale
    )
    keys = jax.random.wrap_key_data(jnp.moveaxis(words[4:], 0, -1), impl=GENERATOR)
    action = (words[1] % env.n_actions).astype(jnp.int32)
    return StepRandomness(uniform(words[0]), action, noise, jax.vmap(jax.vmap(env.reset))(keys)), bits[
        :, all_steps:
    ]


def uniform(bits: jax.Array) -> jax.Array:
    """Uniform numbers in [0, 1), multiples of 2^-23, from 32 random bits each."""
    return (bits >> 9).astype(jnp.float32) * jnp.float32(2.0**-23)


def updates_per_period(settings: Settings) -> int:
    """How many times a period has `update_every` steps."""
    return settings.target_every // settings.update_every


def exploration(settings: Settings, t: jax.Array) -> jax.Array:
    """From 1 to its last value over the first share of all steps, linearly."""
    progress = jnp.clip(t / (settings.exploration_share * settings.total_steps), 0.0, 1.0)
    return 1.0 + progress * (settings.last_exploration - 1.0)


def choose(settings: Settings, state: DQN, chance: StepRandomness, t: jax.Array) -> jax.Array:
    """The action of step t: the best one, or now and then a random one."""
    greedy = jnp.argmax(q_values(state.network, state.observation))
    return jnp.where(chance.explores < exploration(settings, t), chance.action, greedy).astype(jnp.int32)


def store_transition(
    settings: Settings, run: Run, state: DQN, chance: StepRandomness, t: jax.Array, step: Step
) -> DQN:
    """Count the visit, transform the reward, keep the transition, and add up."""
    reward = step.reward + chance.noise
    code = hash_code(state.projection, state.observation)
    n = state.counts[code, step.action] + 1  # read before it is written: then the table is changed in place
    learnt, changed = transformed(reward, n, run.treatment.transform)
    kept = learnt if settings.transform_at == "collection" else reward
    total, was = state.episode_return + step.clean, state.totals
    return state._replace(
        replay=store(
            state.replay,
            t,
            Transition(state.observation, step.following, kept, step.terminated, step.action, code),
        ),
        counts=state.counts.at[code, step.action].set(n),
        observation=step.start,
        episode_steps=jnp.where(step.over, 0, state.episode_steps + 1),
        episode_return=jnp.where(step.over, 0.0, total),
        totals=Totals(
            was.episodes + step.over,
            was.clean_return + jnp.where(step.over, total, 0.0),
            was.truncated + changed,
        ),
    )


def act(
    env: Environment, settings: Settings, run: Run, state: DQN, chance: StepRandomness, t: jax.Array
) -> DQN:
    """One step of a compiled environment."""
    action = choose(settings, state, chance, t)
    moved, reward, terminated = env.step(state.env, action)
    over = terminated | (
        state.episode_steps + 1 >= settings.cap
    )  # the cap ends an episode, and is not stored: values follow it
    following = scaled(env, env.observe(moved))
    start = jnp.where(over, scaled(env, env.observe(chance.fresh)), following)
    remembered = store_transition(
        settings, run, state, chance, t, Step(action, reward, reward, following, terminated, over, start)
    )
    return remembered._replace(env=jax.tree.map(partial(jnp.where, over), chance.fresh, moved))


def update(settings: Settings, run: Run, state: DQN, bits: jax.Array, t: jax.Array) -> DQN:
    """One gradient step, after t steps of the environment."""
    batch = sample(state.replay, t, bits)
    reward = batch.reward
    if settings.transform_at == "replay":
        n = jnp.maximum(state.counts[batch.code, batch.action], 1)
        reward = jax.vmap(lambda r, n: transformed(r, n, run.treatment.transform)[0])(reward, n)
    best = jnp.max(q_values(state.target, batch.following), axis=-1)
    goal = reward + settings.discount * jnp.where(batch.terminated, 0.0, best)

    taken = jax.nn.one_hot(
        batch.action, state.counts.shape[-1]
    )  # a product is quicker than a choice, whose derivative is a scatter

    def loss(network: Parameters) -> jax.Array:
        value = jnp.sum(taken * q_values(network, batch.observation), axis=-1)
        error = (
            optax.huber_loss(value, goal) if settings.loss == "huber" else optax.squared_error(value, goal)
        )
        return jnp.mean(error)

    direction, adam = _adam(settings).update(jax.grad(loss)(state.network), state.adam)
    rate = run.learning_rate + t / settings.total_steps * (run.last_learning_rate - run.learning_rate)
    return state._replace(
        network=jax.tree.map(lambda p, d: p - rate * d, state.network, direction), adam=adam
    )


def _adam(settings: Settings) -> optax.GradientTransformation:
    return optax.scale_by_adam(eps=settings.adam_epsilon)


# Many runs side by side


@partial(jax.jit, static_argnums=(0, 1))
def new_batch(env: Environment, settings: Settings, runs: Run) -> DQN:
    """The first moment of many runs."""
    return jax.vmap(partial(new_dqn, env, settings))(runs)


@partial(jax.jit, static_argnums=(0, 1, 2), donate_argnums=(4,))
def run_periods(
    env: Environment,
    settings: Settings,
    learning: bool,
    runs: Run,
    states: DQN,
    first: jax.Array,
    until: jax.Array,
) -> DQN:
    """All runs through the periods from `first` to the one before `until`, with updates or without.

    How many they are is no part of the program, so that nothing is compiled anew for another number.
    """
    return jax.lax.fori_loop(first, until, partial(_period, env, settings, learning, runs), states)


def _period(
    env: Environment, settings: Settings, learning: bool, runs: Run, period: jax.Array, states: DQN
) -> DQN:
    draw = jax.vmap(
        partial(draw_period, env, settings), in_axes=(0, None), out_axes=(2, 1)
    )  # [round, step, run] and [round, run, batch]
    acting = jax.vmap(partial(act, env, settings), in_axes=(0, 0, 0, None))
    updating = jax.vmap(partial(update, settings), in_axes=(0, 0, 0, None))

    def one_round(
        carry: tuple[DQN, jax.Array], drawn: tuple[StepRandomness, jax.Array]
    ) -> tuple[tuple[DQN, jax.Array], None]:
        (states, t), (chance, bits) = carry, drawn
        for j in range(settings.update_every):
            states = acting(runs, states, jax.tree.map(lambda leaf: leaf[j], chance), t + j)  # noqa: B023 - used at once
        t = t + settings.update_every
        return (updating(runs, states, bits, t) if learning else states, t), None

    if learning:
        states = states._replace(target=states.network)
    return jax.lax.scan(one_round, (states, period * settings.target_every), draw(runs, period))[0][0]


def learn(env: Environment, settings: Settings, runs: Run, states: DQN, first: int, until: int) -> DQN:
    """All runs through these periods, which are either all before the first update or all after it.

    See `first_learning_period`.
    """
    return run_periods(
        env,
        settings,
        first >= first_learning_period(settings),
        runs,
        states,
        jnp.int32(first),
        jnp.int32(until),
    )


def first_learning_period(settings: Settings) -> int:
    """The first period with updates: `start` steps are made before it."""
    return -(-settings.start // settings.target_every)
