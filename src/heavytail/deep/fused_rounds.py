"""Periods of DQN on a GPU as one kernel, `rounds.cu`: a run's networks stay on the chip from round to round.

By XLA a round of 72 runs reads and writes 0.8 GB of networks and Adam's moments, however good its kernels
are. Here 16 multiprocessors hold all of them for one run, and change what they hold. What is of a few
numbers, such as the environment's step, is not written again: it is `heavytail.deep.dqn`'s, as C
(`heavytail.deep.c_source`).

It is for Heavy-DQN with the paper's network and batch, on GPUs of compute capability 9.0 (H100, H200).
Elsewhere XLA compiles the same functions; results are the same up to rounding. Products are of 10 bits, as
XLA's are by default on such a GPU. Where rewards or weights are no numbers any more, it is another action or
layer that is spoilt first.
"""

from collections.abc import Mapping
from functools import partial
from importlib.resources import files
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from heavytail.deep.batch import draw_batch, init_batch
from heavytail.deep.c_source import NoSourceError, c_function
from heavytail.deep.cuda_kernel import Kernel, call_kernel, is_hopper
from heavytail.deep.dqn import (
    DQN,
    RunParameters,
    StepRandomness,
    Totals,
    count_step,
    learning_rate,
    move,
    select_action,
    updates_per_period,
)
from heavytail.deep.envs._environment import Environment, State
from heavytail.deep.replay import Transition, pack
from heavytail.deep.rewards import RewardSettings, hash_code, transform_reward
from heavytail.deep.settings import Settings
from heavytail.deep.words import count_words, from_words, to_words

MAX_ROUNDS = 250  # in one start of the kernel, if a period has no more
DECAYS = (0.9, 0.999)  # of Adam's moments, as in `heavytail.deep.dqn`
RANKS, THREADS, SHARED_BYTES = 16, 512, 232_448  # multiprocessors of a run, and what each gives
# What rounds.cu is written for, and what its shared memory has room for
FITTING = {"agent": "heavy_dqn", "hidden": (512, 512), "batch": 64, "transform_at": "collection"}
MAX_OBSERVED, MAX_ACTIONS, MAX_STEPS, MAX_STATE = 6, 4, 4, 24
PRELUDE = """
#define INLINE __device__ __forceinline__
INLINE int as_int(float x) { return __float_as_int(x); }
INLINE float as_float(int x) { return __int_as_float(x); }
"""


class Fixed(NamedTuple):
    """What stays the same in a run."""

    learning_rate: jax.Array
    last_learning_rate: jax.Array
    rewards: RewardSettings
    projection: jax.Array


class Walk(NamedTuple):
    """Where a run is in its environment, as in `DQN`."""

    env: State
    observation: jax.Array
    episode_steps: jax.Array
    episode_return: jax.Array
    totals: Totals


# The functions that the kernel calls


def step(
    env: Environment,
    settings: Settings,
    fixed: Fixed,
    walk: Walk,
    randomness: StepRandomness,
    now: tuple[jax.Array, jax.Array],
) -> tuple[Walk, jax.Array]:
    """Make step t by the values of actions. Returns the transition, too, before it is counted."""
    t, values = now
    state = _state_of(fixed, walk)
    moved, place = move(env, settings, state, select_action(settings, values, randomness, t), randomness)
    reward, not_counted = moved.reward + randomness.noise, jnp.int32(0)
    transition = Transition(
        state.observation, moved.next_observation, reward, moved.terminated, moved.action, not_counted
    )
    return walk_of(count_step(state, moved)._replace(env=place)), pack(transition)


def code(fixed: Fixed, observation: jax.Array) -> tuple[jax.Array]:
    """Hash an observation."""
    return (hash_code(fixed.projection, observation),)


def keep(fixed: Fixed, visit: tuple[jax.Array, jax.Array]) -> tuple[tuple[jax.Array, jax.Array]]:
    """Transform the reward of the n-th visit, and tell whether it was beyond the threshold."""
    reward, n = visit
    return (transform_reward(reward, n, fixed.rewards.transform),)


def rates(
    settings: Settings, fixed: Fixed, now: tuple[jax.Array, jax.Array]
) -> tuple[tuple[jax.Array, jax.Array]]:
    """Calculate the learning rate after t steps; it, and Adam's second moment, times what undoes a bias."""
    t, updates = now
    of_mean, of_square = (1.0 / (1.0 - decay**updates) for decay in DECAYS)
    rate = learning_rate(settings, fixed.learning_rate, fixed.last_learning_rate, t)
    return ((rate * of_mean, of_square),)


def fixed_of(runs: RunParameters, states: DQN) -> Fixed:
    """Return what stays the same in runs."""
    return Fixed(runs.learning_rate, runs.last_learning_rate, runs.rewards, states.projection)


def walk_of(states: DQN) -> Walk:
    """Return where runs are."""
    return Walk(*(getattr(states, name) for name in Walk._fields))


def _state_of(fixed: Fixed, walk: Walk) -> DQN:
    absent = dict.fromkeys(("network", "target", "adam", "replay", "counts"))
    return DQN(**absent, projection=fixed.projection, **walk._asdict())  # type: ignore[arg-type]


# The kernel


def find_kernel(env: Environment, settings: Settings, runs: RunParameters) -> Kernel | None:
    """Return the kernel for these runs on the GPU they are on; None where XLA has to do."""
    (device,) = runs.learning_rate.devices()
    if not is_hopper(device) or not fits(env, settings):
        return None
    try:
        return make_kernel(env, settings, runs)._replace(device=device.id)
    except NoSourceError:
        return None


def fits(env: Environment, settings: Settings) -> bool:
    """Tell whether the kernel is made for such runs."""
    sizes = (len(env.low), env.n_actions, settings.update_every)
    state = jax.eval_shape(env.reset, jax.random.key(0))
    return (
        all(getattr(settings, name) == value for name, value in FITTING.items())
        and all(n <= most for n, most in zip(sizes, (MAX_OBSERVED, MAX_ACTIONS, MAX_STEPS), strict=True))
        and count_words(state) <= MAX_STATE
        and settings.replay >= settings.update_every
        and env.n_actions << settings.bits < 2**31
    )


def make_kernel(env: Environment, settings: Settings, runs: RunParameters) -> Kernel:
    """Write the kernel for an environment and what all runs share.

    Raises:
        NoSourceError: if the environment does what is not known how to say in C.
    """
    run, state = jax.eval_shape(lambda: jax.tree.map(lambda x: x[0], (runs, init_batch(env, settings, runs))))
    fixed, walk, real, whole = fixed_of(run, state), walk_of(state), jnp.float32(0.0), jnp.int32(0)
    randomness, values = StepRandomness(real, whole, real, walk.env), jnp.zeros(env.n_actions)
    functions = [
        c_function("step", partial(step, env, settings), fixed, walk, randomness, (whole, values)),
        c_function("code", code, fixed, walk.observation),
        c_function("keep", keep, fixed, (real, whole)),
        c_function("rates", partial(rates, settings), fixed, (whole, whole)),
    ]
    sizes = {
        "WORDS": state.replay.shape[-1],
        "VISITS": count_words(state.counts),
        "FIXED": count_words(fixed),
        "STATE": count_words(walk),
        "RANDOM": count_words(randomness),
        "OBSERVATION": count_words(walk.env),
        "TRUNCATED": count_words(walk) - 1,
    }
    hopper, rounds = (read_source(name) for name in ("hopper.cu", "rounds.cu"))
    source = "\n".join([PRELUDE, *_constants(env, settings, sizes), *functions, hopper, rounds])
    return Kernel(source, "run_rounds", RANKS, THREADS, SHARED_BYTES, device=0)


def read_source(name: str) -> str:
    """Read a text in CUDA C++."""
    return (files("heavytail.deep") / name).read_text()


def _constants(env: Environment, settings: Settings, sizes: Mapping[str, int]) -> list[str]:
    """Write the constants of the kernel: what runs share, and these sizes."""
    whole = {
        "D": len(env.low),
        "A": env.n_actions,
        "STEPS": settings.update_every,
        "ROUNDS": updates_per_period(settings),
        "REPLAY": settings.replay,
        "HUBER": int(settings.loss == "huber"),
        **sizes,
    }
    real = {
        "DISCOUNT": settings.discount,
        "ADAM_EPSILON": settings.adam_epsilon,
        "MEAN_DECAY": DECAYS[0],
        "MEAN_GAIN": 1.0 - DECAYS[0],
        "SQUARE_DECAY": DECAYS[1],
        "SQUARE_GAIN": 1.0 - DECAYS[1],
    }
    lines = [f"constexpr int {name} = {number};" for name, number in whole.items()]
    return lines + [f"constexpr float {name} = {float(np.float32(x)).hex()}f;" for name, x in real.items()]


def run_fused_periods(
    env: Environment,
    settings: Settings,
    kernel: Kernel,
    runs: RunParameters,
    states: DQN,
    first: jax.Array,
    until: jax.Array,
) -> DQN:
    """Advance all runs through periods with updates, as `heavytail.deep.batch.run_periods` does."""
    at_once = periods_at_once(settings)

    def some_periods(i: jax.Array, states: DQN) -> DQN:
        period = first + at_once * i
        return _run_at_once(env, settings, kernel, runs, states, period, jnp.minimum(until - period, at_once))

    return jax.lax.fori_loop(0, -(-(until - first) // at_once), some_periods, states)


def periods_at_once(settings: Settings) -> int:
    """Count the periods in one start of the kernel, at most."""
    return max(1, MAX_ROUNDS // updates_per_period(settings))


def _run_at_once(
    env: Environment,
    settings: Settings,
    kernel: Kernel,
    runs: RunParameters,
    states: DQN,
    period: jax.Array,
    n_periods: jax.Array,
) -> DQN:
    clock = jnp.stack([period * settings.target_every, n_periods * updates_per_period(settings)])
    given = [clock, to_words(fixed_of(runs, states), 1), draw_words(env, settings, runs, period)]
    walk, adam = walk_of(states), states.adam
    weights, layers = jax.tree.flatten((states.network, states.target, adam.mu, adam.nu))
    changing = [to_words(walk, 1), adam.count, states.replay, states.counts, *weights]
    words, count, replay, counts, *weights = call_kernel(kernel, len(adam.count), given, changing)
    network, target, mean, square = jax.tree.unflatten(layers, weights)
    adam = adam._replace(count=count, mu=mean, nu=square)
    states = states._replace(network=network, target=target, adam=adam, replay=replay, counts=counts)
    return states._replace(**from_words(words, walk)._asdict())


def draw_words(env: Environment, settings: Settings, runs: RunParameters, period: jax.Array) -> jax.Array:
    """Draw the words of some periods [round, run, word]: for each step of a round, and for its batch."""
    draw, periods = jax.vmap(partial(draw_batch, env, settings, runs)), jnp.arange(periods_at_once(settings))
    drawn = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), draw(period + periods))
    randomness, bits = drawn
    steps = jnp.moveaxis(to_words(randomness, 3), 1, 2)  # round, run, step, word
    return jnp.concatenate([steps.reshape(*steps.shape[:2], -1), to_words(bits, 2)], axis=-1)
