"""Many runs of DQN side by side: the functions of one run, with a leading axis of runs, in one loop."""

from collections.abc import Callable
from functools import cache, partial

import jax
from jax.errors import JaxRuntimeError

from heavytail.deep.dqn import (
    DQN,
    RunParameters,
    StepRandomness,
    act,
    begin_period,
    draw_period,
    init_dqn,
    update,
)
from heavytail.deep.envs import Environment
from heavytail.deep.settings import Settings

# For a GPU: an update is some fifty kernels, most of them small. XLA starts them as one graph, by default one
# after the other; those that do not need each other's results can run at the same time.
SIDE_BY_SIDE = {"xla_gpu_command_buffer_scheduling_mode": "CONCURRENT"}


@partial(jax.jit, static_argnums=(0, 1))
def init_batch(env: Environment, settings: Settings, runs: RunParameters) -> DQN:
    """Make the initial states of many runs."""
    return jax.vmap(partial(init_dqn, env, settings))(runs)


def run_periods(
    env: Environment,
    settings: Settings,
    learning: bool,
    runs: RunParameters,
    states: DQN,
    first: jax.Array,
    until: jax.Array,
) -> DQN:
    """Advance all runs through the periods from `first` to the one before `until`.

    The number of periods is an argument of the compiled program, so another number needs no recompiling.

    Args:
        env: the environment.
        settings: the settings of the batch.
        learning: whether these periods have updates; see `heavytail.deep.dqn.first_learning_period`.
        runs: the parameters in which the runs differ.
        states: the states of the runs; donated to the result.
        first: the first period.
        until: the period after the last.
    """
    return jax.lax.fori_loop(first, until, partial(_run_period, env, settings, learning, runs), states)


@cache
def compiled_periods() -> Callable[..., DQN]:
    """Return `run_periods`, compiled for the device of this process."""
    options = _compiler_options()
    return jax.jit(run_periods, static_argnums=(0, 1, 2), donate_argnums=(4,), compiler_options=options)


def _compiler_options() -> dict[str, str]:
    """Return XLA's options for this device: none on a CPU, or if this version of JAX knows none."""
    if jax.default_backend() != "gpu":
        return {}
    try:
        jax.jit(lambda: 0, compiler_options=SIDE_BY_SIDE).lower().compile()
    except JaxRuntimeError:
        return {}
    return SIDE_BY_SIDE


def draw_batch(
    env: Environment, settings: Settings, runs: RunParameters, period: jax.Array
) -> tuple[StepRandomness, jax.Array]:
    """Draw the random numbers of a period for many runs: [round, step, run] and [round, run, replayed]."""
    return jax.vmap(partial(draw_period, env, settings), in_axes=(0, None), out_axes=(2, 1))(runs, period)


def _run_period(
    env: Environment, settings: Settings, learning: bool, runs: RunParameters, period: jax.Array, states: DQN
) -> DQN:
    act_all = jax.vmap(partial(act, env, settings), in_axes=(0, 0, 0, None))
    update_all = jax.vmap(partial(update, settings), in_axes=(0, 0, 0, None))

    def run_round(
        carry: tuple[DQN, jax.Array], drawn: tuple[StepRandomness, jax.Array]
    ) -> tuple[tuple[DQN, jax.Array], None]:
        (states, t), (randomness, bits) = carry, drawn
        for j in range(settings.update_every):
            # The lambda is used at once, within this turn of the loop.
            at_step = jax.tree.map(lambda leaf: leaf[j], randomness)  # noqa: B023
            states = act_all(runs, states, at_step, t + j)
        t = t + settings.update_every
        return (update_all(runs, states, bits, t) if learning else states, t), None

    if learning:
        states = jax.vmap(begin_period)(states)
    drawn = draw_batch(env, settings, runs, period)
    return jax.lax.scan(run_round, (states, period * settings.target_every), drawn)[0][0]
