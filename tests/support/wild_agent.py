"""An agent that always plays the same action, whether there is one or not."""

from typing import NamedTuple

from heavytail.arrays import Stream
from heavytail.kernels.verbs import act, update


class Wild(NamedTuple):
    action: int


@act.method(Wild)
def _act(agent: Wild, s: int, h: int, rng: Stream) -> int:
    return agent.action


@update.method(Wild)
def _update(
    agent: Wild, s: int, a: int, r: float, s_next: int, h: int, terminated: bool, rng: Stream
) -> None:
    pass
