"""The same agent in any Gymnasium environment with a Box of observations and Discrete actions, driven step by step from Python.

It is made of the functions of `heavytail.deep.dqn`, compiled one by one, and draws its random numbers from
the same keys: an environment that does what a compiled one does gives the same run.
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

from heavytail.checks import as_floats
from heavytail.deep.dqn import (
    DQN,
    Run,
    Step,
    StepRandomness,
    choose,
    draw_period,
    first_learning_period,
    store_transition,
    update,
    updates_per_period,
)
from heavytail.deep.envs.environment import Environment, State, scaled
from heavytail.deep.settings import Settings
from heavytail.errors import InputError, short_repr

Observation = npt.NDArray[np.float32]


class Observed(NamedTuple):
    """What a step of the environment showed."""

    reward: float
    clean: float  # the same without noise, where the environment tells it
    following: Observation
    terminated: bool
    over: bool
    start: Observation  # of the next step


def outside(env: "gymnasium.Env[Any, Any]", low: Any = None, high: Any = None) -> Environment:
    """What the agent must know of an environment that is not compiled: its state is elsewhere."""
    if not isinstance(env, gymnasium.Env):
        raise InputError(
            f"heavy_dqn: env is {short_repr(env)}; it must be the name of a compiled environment, or a"
            " gymnasium.Env"
        )
    seen, actions = env.observation_space, env.action_space
    if not isinstance(seen, spaces.Box):
        raise InputError(
            f"heavy_dqn: observations are {short_repr(seen)}; they must be a Box, as"
            " gymnasium.wrappers.FlattenObservation makes them"
        )
    if not isinstance(actions, spaces.Discrete):
        raise InputError(f"heavy_dqn: actions are {short_repr(actions)}; they must be Discrete")
    ends = (
        _end("low", seen.low if low is None else low, seen),
        _end("high", seen.high if high is None else high, seen),
    )
    if any(a > b for a, b in zip(*ends, strict=True)):
        raise InputError("heavy_dqn: low must nowhere be above high")
    name = env.spec.id if env.spec is not None else type(env.unwrapped).__name__
    return Environment(name, int(actions.n), ends[0], ends[1], _nothing, _stays, _unseen(len(ends[0])))


class GymDriver:
    """A run in a Gymnasium environment: call it with periods, as the compiled loop."""

    def __init__(
        self, game: "gymnasium.Env[Any, Any]", env: Environment, settings: Settings, runs: Run, seed: int
    ) -> None:
        self.game = game
        self.env = env
        self.settings = settings
        self.runs = runs
        self.seed = seed
        self.first_action = int(game.action_space.start)  # type: ignore[attr-defined]  # `outside` saw that it is Discrete
        self.episode_steps = -1  # no episode has begun

    def __call__(self, states: DQN, first: int, until: int) -> DQN:
        """Through the periods from `first` to the one before `until`."""
        if self.episode_steps < 0:
            states = self._begin(states, first)
        for period in range(first, until):
            states = self._period(states, period, learning=first >= first_learning_period(self.settings))
        return states

    def _begin(self, states: DQN, period: int) -> DQN:
        # A run that goes on after it was saved must not play its first episode again.
        seed = (
            self.seed
            if period == 0
            else int(np.random.SeedSequence((self.seed, period)).generate_state(1)[0])
        )
        observation = _flat(self.game.reset(seed=seed)[0])
        self.episode_steps = 0
        return states._replace(
            observation=scaled(self.env, jnp.asarray(observation))[None],
            episode_steps=jnp.zeros_like(states.episode_steps),
            episode_return=jnp.zeros_like(states.episode_return),
        )

    def _period(self, states: DQN, period: int, *, learning: bool) -> DQN:
        chances, bits = _draw(self.env, self.settings, self.runs, jnp.int32(period))
        if learning:
            states = states._replace(target=jax.tree.map(jnp.copy, states.network))
        t = period * self.settings.target_every
        for i in range(updates_per_period(self.settings)):
            for j in range(self.settings.update_every):
                states = self._step(states, chances, (i, j), jnp.int32(t))
                t += 1
            if learning:
                states = _update(self.settings, self.runs, states, bits, i, jnp.int32(t))
        return states

    def _step(self, states: DQN, chances: StepRandomness, place: tuple[int, int], t: jax.Array) -> DQN:
        action = _choose(self.settings, states, chances, place, t)
        seen = self._move(int(action[0]) + self.first_action)
        return _remember(self.env, self.settings, self.runs, states, chances, place, t, action, seen)

    def _move(self, action: int) -> Observed:
        observation, own, terminated, truncated, info = self.game.step(action)
        self.episode_steps += 1
        following, reward = _flat(observation), float(own)
        over = bool(terminated or truncated or self.episode_steps >= self.settings.cap)
        start = following
        if over:
            start, self.episode_steps = _flat(self.game.reset()[0]), 0
        return Observed(
            reward, float(info.get("mean_reward", reward)), following, bool(terminated), over, start
        )


# The functions of a run, for a batch of one


@partial(jax.jit, static_argnums=(0, 1))
def _draw(
    env: Environment, settings: Settings, runs: Run, period: jax.Array
) -> tuple[StepRandomness, jax.Array]:
    return jax.vmap(partial(draw_period, env, settings), in_axes=(0, None), out_axes=(2, 1))(runs, period)


@partial(jax.jit, static_argnums=0)
def _choose(
    settings: Settings, states: DQN, chances: StepRandomness, place: Sequence[int], t: jax.Array
) -> jax.Array:
    return jax.vmap(partial(choose, settings), in_axes=(0, 0, None))(states, _at(chances, place), t)


@partial(jax.jit, static_argnums=(0, 1), donate_argnums=3)
def _remember(
    env: Environment,
    settings: Settings,
    runs: Run,
    states: DQN,
    chances: StepRandomness,
    place: Sequence[int],
    t: jax.Array,
    action: jax.Array,
    seen: Observed,
) -> DQN:
    following, start = (
        scaled(env, jnp.asarray(seen.following))[None],
        scaled(env, jnp.asarray(seen.start))[None],
    )
    reward, clean, terminated, over = (
        jnp.asarray(part)[None] for part in (seen.reward, seen.clean, seen.terminated, seen.over)
    )
    step = Step(action, reward, clean, following, terminated, over, start)
    return jax.vmap(partial(store_transition, settings), in_axes=(0, 0, 0, None, 0))(
        runs, states, _at(chances, place), t, step
    )


@partial(jax.jit, static_argnums=0, donate_argnums=2)
def _update(settings: Settings, runs: Run, states: DQN, bits: jax.Array, i: int, t: jax.Array) -> DQN:
    return jax.vmap(partial(update, settings), in_axes=(0, 0, 0, None))(runs, states, bits[i], t)


def _at(chances: StepRandomness, place: Sequence[int]) -> StepRandomness:
    return jax.tree.map(lambda leaf: leaf[place[0], place[1]], chances)


# An environment whose state is elsewhere


def _nothing(key: jax.Array) -> State:
    return ()


def _stays(state: State, action: jax.Array) -> tuple[State, jax.Array, jax.Array]:
    raise TypeError("this environment is not compiled")


@cache  # the same function for the same dimension, so that nothing is compiled twice
def _unseen(dimension: int) -> Callable[[State], jax.Array]:
    return lambda state: jnp.zeros(dimension)


def _end(name: str, value: Any, space: spaces.Box) -> tuple[float, ...]:
    size, numbers = int(np.prod(space.shape)), as_floats(name, value).reshape(-1)
    if len(numbers) not in (1, size):
        raise InputError(f"heavy_dqn: {name} must be {size} numbers or one, got {len(numbers)}")
    return tuple(np.broadcast_to(numbers, (size,)).tolist())


def _flat(observation: Any) -> Observation:
    return np.asarray(observation, np.float32).reshape(-1)
