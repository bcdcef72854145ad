"""The same agent in a Gymnasium environment, driven step by step from Python.

Observations must be a Box and actions Discrete. It uses the functions of `heavytail.deep.dqn`, compiled one
by one, and draws its random numbers from the same keys: an environment that behaves like a compiled one gives
the same run.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from heavytail.deep.batch import draw_batch
from heavytail.deep.dqn import (
    DQN,
    RunParameters,
    Step,
    StepRandomness,
    begin_period,
    first_learning_period,
    select_action,
    store_transition,
    update,
    updates_per_period,
)
from heavytail.deep.envs import Environment, State, scale_observation
from heavytail.deep.settings import Settings
from heavytail.errors import InputError, short_repr
from heavytail.gym.observation_codes import check_bounds
from heavytail.gym_answers import check_reset, check_step, to_float
from heavytail.mdp.from_gymnasium import max_episode_steps

Observation = npt.NDArray[np.float32]


class Observed(NamedTuple):
    """The outcome of one step of the environment."""

    reward: float
    clean_reward: float  # without noise, if the environment reports it
    next_observation: Observation
    terminated: bool
    episode_over: bool
    start: Observation  # of the next step


def environment_from_gymnasium(
    env: "gymnasium.Env[Any, Any]",
    low: npt.ArrayLike | None = None,
    high: npt.ArrayLike | None = None,
    agent: str = "heavy_dqn",
) -> Environment:
    """Describe a Gymnasium environment for the agent; its state stays outside of compiled code."""
    if not isinstance(env, gymnasium.Env):
        raise InputError(
            f"{agent}: env is {short_repr(env)}; it must be the name of a compiled environment, or a"
            " gymnasium.Env"
        )
    observations, actions = env.observation_space, env.action_space
    if not isinstance(observations, spaces.Box):
        raise InputError(
            f"{agent}: observations are {short_repr(observations)}; they must be a Box, as made by"
            " gymnasium.wrappers.FlattenObservation"
        )
    if not isinstance(actions, spaces.Discrete):
        raise InputError(f"{agent}: actions are {short_repr(actions)}; they must be Discrete")
    bounds = observations.low if low is None else low, observations.high if high is None else high
    lows, highs = check_bounds(agent, bounds, int(np.prod(observations.shape)))
    return Environment(
        name=type(env.unwrapped).__name__ if env.spec is None else env.spec.id,
        n_actions=int(actions.n),
        low=tuple(lows.tolist()),
        high=tuple(highs.tolist()),
        max_episode_steps=max_episode_steps(env),
        reset=_no_state,
        step=_not_compiled,
        observe=_zeros(len(lows)),
    )


class GymDriver:
    """A run in a Gymnasium environment, called with periods like the compiled loop."""

    def __init__(
        self,
        gym_env: "gymnasium.Env[Any, Any]",
        env: Environment,
        settings: Settings,
        runs: RunParameters,
        seed: int,
    ) -> None:
        self.gym_env = gym_env
        self.env = env
        self.settings = settings
        self.runs = runs
        self.seed = seed
        # It is Discrete: environment_from_gymnasium has checked it.
        self.first_action = int(gym_env.action_space.start)  # type: ignore[attr-defined]
        self.episode_steps = -1  # no episode has begun

    def __call__(self, states: DQN, first: int, until: int) -> DQN:
        """Advance through the periods from `first` to the one before `until`."""
        if self.episode_steps < 0:
            states = self._begin(states, first)
        for period in range(first, until):
            states = self._run_period(states, period, learning=first >= first_learning_period(self.settings))
        return states

    def _begin(self, states: DQN, period: int) -> DQN:
        seed = self.seed
        if period:  # a loaded run must not repeat its first episode
            seed = int(np.random.SeedSequence((self.seed, period)).generate_state(1)[0])
        observation = _flatten(check_reset(self.gym_env.reset(seed=seed)))
        self.episode_steps = 0
        return states._replace(
            observation=scale_observation(self.env, jnp.asarray(observation))[None],
            episode_steps=jnp.zeros_like(states.episode_steps),
            episode_return=jnp.zeros_like(states.episode_return),
        )

    def _run_period(self, states: DQN, period: int, *, learning: bool) -> DQN:
        randomness, bits = _draw(self.env, self.settings, self.runs, jnp.int32(period))
        if learning:
            states = _begin_period(states)
            states = states._replace(target=jax.tree.map(jnp.copy, states.network))
        t = period * self.settings.target_every
        for i in range(updates_per_period(self.settings)):
            for j in range(self.settings.update_every):
                states = self._step(states, randomness, (i, j), jnp.int32(t))
                t += 1
            if learning:
                states = _update(self.settings, self.runs, states, bits, i, jnp.int32(t))
        return states

    def _step(self, states: DQN, randomness: StepRandomness, index: tuple[int, int], t: jax.Array) -> DQN:
        action = _select_action(self.settings, states, randomness, index, t)
        observed = self._move(int(action[0]) + self.first_action)
        return _store(self.env, self.settings, self.runs, states, randomness, index, t, action, observed)

    def _move(self, action: int) -> Observed:
        observation, reward, terminated, truncated, info = check_step(self.gym_env.step(action))
        self.episode_steps += 1
        next_observation = _flatten(observation)
        over = terminated or truncated or self.episode_steps >= self.settings.cap
        start = next_observation
        if over:
            start, self.episode_steps = _flatten(check_reset(self.gym_env.reset())), 0
        clean_reward = to_float("mean_reward", info.get("mean_reward", reward))
        return Observed(reward, clean_reward, next_observation, terminated, over, start)


# The functions of a run, compiled for a batch of one

_draw = jax.jit(draw_batch, static_argnums=(0, 1))
_begin_period = jax.jit(jax.vmap(begin_period))


@partial(jax.jit, static_argnums=0)
def _select_action(
    settings: Settings, states: DQN, randomness: StepRandomness, index: Sequence[int], t: jax.Array
) -> jax.Array:
    select = jax.vmap(partial(select_action, settings), in_axes=(0, 0, None))
    return select(states, _at(randomness, index), t)


@partial(jax.jit, static_argnums=(0, 1), donate_argnums=3)
def _store(
    env: Environment,
    settings: Settings,
    runs: RunParameters,
    states: DQN,
    randomness: StepRandomness,
    index: Sequence[int],
    t: jax.Array,
    action: jax.Array,
    observed: Observed,
) -> DQN:
    batch = jax.tree.map(lambda part: jnp.asarray(part)[None], observed)
    step = Step(
        action,
        batch.reward,
        batch.clean_reward,
        scale_observation(env, jnp.asarray(observed.next_observation))[None],
        batch.terminated,
        batch.episode_over,
        scale_observation(env, jnp.asarray(observed.start))[None],
    )
    store = jax.vmap(partial(store_transition, settings), in_axes=(0, 0, 0, None, 0))
    return store(runs, states, _at(randomness, index), t, step)


@partial(jax.jit, static_argnums=0, donate_argnums=2)
def _update(
    settings: Settings, runs: RunParameters, states: DQN, bits: jax.Array, i: int, t: jax.Array
) -> DQN:
    return jax.vmap(partial(update, settings), in_axes=(0, 0, 0, None))(runs, states, bits[i], t)


def _at(randomness: StepRandomness, index: Sequence[int]) -> StepRandomness:
    return jax.tree.map(lambda leaf: leaf[index[0], index[1]], randomness)


# An environment whose state is outside of compiled code


def _no_state(key: jax.Array) -> State:
    return ()


def _not_compiled(state: State, action: jax.Array) -> tuple[State, jax.Array, jax.Array]:
    raise TypeError("this environment is not compiled")


@cache  # the same function for the same dimension, so that nothing is compiled twice
def _zeros(dimension: int) -> Callable[[State], jax.Array]:
    return lambda state: jnp.zeros(dimension)


def _flatten(observation: Any) -> Observation:
    return np.asarray(observation, np.float32).reshape(-1)
