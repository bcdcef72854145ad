"""Time rlberry's agents on SixArms: a script for the environment in which rlberry is installed.

rlberry wants an older Gymnasium than heavytail does, so they cannot share an environment. SixArms is that of
the textbook peer in pure Python, which is quicker than rlberry's own class of finite MDPs. Rewards are
divided by the largest mean, since rlberry's agents expect them between 0 and 1; PSRL takes no others, so that
it meets no noise.

Prints one line of JSON: the nanoseconds of a step of each agent, with noise off and on.
"""
# mypy: disable-error-code="import-not-found, misc"
# rlberry is not installed here, and has no types.

import json
import logging
import sys
from collections.abc import Callable
from random import Random
from typing import Any

from rlberry.agents import UCBVIAgent
from rlberry.agents.optql import OptQLAgent
from rlberry.agents.psrl import PSRLAgent
from rlberry.envs.interface import Model
from rlberry.spaces import Discrete

from _figures import cpu_seconds
from _peers import BONUS, R_MAX, A, H, S, python_step

OPTIMISM = {"horizon": H, "bonus_scale_factor": BONUS / R_MAX}
OFF, ON = "off", "on"


class SixArms(Model):
    """SixArms behind rlberry's interface."""

    def __init__(self, noise: bool) -> None:
        super().__init__()
        self.observation_space, self.action_space = Discrete(S), Discrete(A)
        self.reward_range = (0.0, 1.0)
        self.noise = noise
        self.draws = Random(0)  # noqa: S311 - no secrets here
        self.state = 0

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Start an episode."""
        self.state = 0
        return self.state, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Make one transition."""
        self.state, reward, _ = python_step(self.state, action, self.noise, self.draws)
        return self.state, reward / R_MAX, False, False, {}


def cost(new_agent: Callable[[SixArms], Any], noise: str, episodes: int) -> float:
    """Return the nanoseconds per step of an agent, after a first episode that compiles."""
    agent = new_agent(SixArms(noise == ON))
    agent.fit(1)
    started = cpu_seconds()
    agent.fit(episodes)
    return (cpu_seconds() - started) / (episodes * H) * 1e9


def costs(episodes: int) -> dict[str, dict[str, float]]:
    """Measure all agents."""
    agents: dict[str, tuple[Callable[[SixArms], Any], tuple[str, ...]]] = {
        "OptQL": (lambda env: OptQLAgent(env, **OPTIMISM), (OFF, ON)),
        "UCBVI": (lambda env: UCBVIAgent(env, **OPTIMISM), (OFF, ON)),
        "PSRL": (lambda env: PSRLAgent(env, horizon=H), (OFF,)),
    }
    return {
        name: {noise: cost(new, noise, episodes) for noise in noises}
        for name, (new, noises) in agents.items()
    }


if __name__ == "__main__":
    logging.disable()
    print(json.dumps(costs(int(sys.argv[1]))))
