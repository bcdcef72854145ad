"""An agent that is told nothing: neither the largest mean reward nor a moment, which an MDP else gives it."""

from typing import Any

from heavytail.arrays import Record
from heavytail.mdp.problem import Problem
from heavytail.registry import find, register


@register("agent", "untold", example={"agent": "heavy_ucrl2"})
def untold(problem: Problem, *, agent: str, **parameters: Any) -> Record:
    """An agent that knows states, actions and the horizon only, as in a Gymnasium environment.

    Args:
        problem: the environment's sizes.
        agent: the id of the agent.
        **parameters: the agent's own.

    >>> import heavytail as ht
    >>> ht.make_agent(ht.make_mdp("six_arms"), "untold", agent="ucbvi")
    Learner('untold', episodes=0, steps=0)
    """
    record: Record = find("agent", agent).builder(problem._replace(r_max=None, mdp=None), **parameters)
    return record
