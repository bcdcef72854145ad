"""Checks of the answers of Gymnasium environments; an invalid one raises a one-line error."""

import numbers
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

import gymnasium
import numpy as np
from gymnasium import Space

from heavytail.checks import as_bool
from heavytail.errors import InputError, short_repr


class GymStep(NamedTuple):
    """The result of an environment's step."""

    observation: Any
    reward: float
    terminated: bool
    truncated: bool
    info: Mapping[str, Any]


def check_step(answer: Any) -> GymStep:
    """Return the result of ``env.step(action)``, as Python numbers and booleans.

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
    if isinstance(value, float):  # as most rewards are
        return float(value)
    if not isinstance(value, numbers.Real) and (np.ndim(value) or not hasattr(value, "__float__")):
        raise InputError(f"the environment gave the {name} {short_repr(value)}; it must be a number")
    try:
        return float(value)
    except (TypeError, ValueError):  # a time span, or a signalling NaN
        raise InputError(
            f"the environment gave the {name} {short_repr(value)}; it must be a number"
        ) from None
    except OverflowError:
        large = f"the environment gave the {name} {short_repr(value)}"
        raise InputError(f"{large}, which is too large for a float") from None


class AbsentEnv(gymnasium.Env[Any, Any]):
    """The environment of a learner loaded without one: it can predict, but not play."""

    def __init__(self, observations: Space[Any], actions: Space[Any]) -> None:
        self.observation_space = observations
        self.action_space = actions

    def reset(self, **given: Any) -> NoReturn:
        """Raise InputError: there is no environment."""
        raise InputError(
            "this learner was loaded without its environment and can only predict; to learn, load it with"
            " one: ht.load(path, env)"
        )

    def step(self, action: Any) -> NoReturn:
        """Raise InputError: there is no environment."""
        self.reset()
