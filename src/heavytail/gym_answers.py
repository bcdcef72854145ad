"""The answers of Gymnasium environments: one that is not as Gymnasium says is an error of one line."""

import numbers
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

import gymnasium
import numpy as np
from gymnasium import Space

from heavytail.checks import as_bool
from heavytail.errors import InputError, short_repr


class GymStep(NamedTuple):
    """What a step of an environment gives."""

    observation: Any
    reward: float
    terminated: bool
    truncated: bool
    info: Mapping[str, Any]


def check_step(answer: Any) -> GymStep:
    """Return what ``env.step(action)`` gave, as numbers and booleans of Python.

    >>> check_step((3, 10**400, False, False, {}))
    Traceback (most recent call last):
    heavytail.errors.InputError: the environment gave the reward 100..., which is too large for a float
    """
    try:
        observation, reward, terminated, truncated, info = answer
    except (TypeError, ValueError):
        raise InputError(
            f"the environment's step gave {short_repr(answer)}; it must give an observation, a reward,"
            " terminated, truncated and info"
        ) from None
    if not isinstance(info, Mapping):
        raise InputError(f"the environment gave the info {short_repr(info)}; it must be a dictionary")
    return GymStep(
        observation,
        to_float("reward", reward),
        as_bool("what the environment gives for terminated", terminated),
        as_bool("what the environment gives for truncated", truncated),
        info,
    )


def check_reset(answer: Any) -> Any:
    """Return the observation that ``env.reset()`` gave."""
    try:
        observation, _ = answer
    except (TypeError, ValueError):
        raise InputError(
            f"the environment's reset gave {short_repr(answer)}; it must give an observation and info"
        ) from None
    return observation


def to_float(name: str, value: Any) -> float:
    """Return a number that an environment gave as a float."""
    if isinstance(value, float):  # as most are
        return float(value)
    if not isinstance(value, numbers.Real) and (np.ndim(value) or not hasattr(value, "__float__")):
        raise InputError(f"the environment gave the {name} {short_repr(value)}; it must be a number")
    try:
        return float(value)
    except (TypeError, ValueError):  # a span of time, or NaN that signals
        raise InputError(
            f"the environment gave the {name} {short_repr(value)}; it must be a number"
        ) from None
    except OverflowError:
        large = f"the environment gave the {name} {short_repr(value)}"
        raise InputError(f"{large}, which is too large for a float") from None


class AbsentEnv(gymnasium.Env[Any, Any]):
    """The environment of a learner that was loaded without it: one to predict for, not to play in."""

    def __init__(self, observations: Space[Any], actions: Space[Any]) -> None:
        self.observation_space = observations
        self.action_space = actions

    def reset(self, **given: Any) -> NoReturn:
        """Say what is missing."""
        raise InputError(
            "this learner was loaded without its environment and can only predict; to learn, load it with"
            " one: ht.load(path, env)"
        )

    def step(self, action: Any) -> NoReturn:
        """Say what is missing."""
        self.reset()
