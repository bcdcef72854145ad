"""`AbsentEnv`: the Gymnasium environment of a learner that was loaded without it; its spaces are known."""

from typing import Any, NoReturn

import gymnasium
from gymnasium import Space

from heavytail.errors import InputError


class AbsentEnv(gymnasium.Env[Any, Any]):
    """An environment to predict for, not to play in."""

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
