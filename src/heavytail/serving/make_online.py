"""Make an agent for a loop of one's own, by name."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from heavytail.kernels.rng import Seed, streams
from heavytail.mdp.builders import parse_horizon
from heavytail.mdp.labels import make_labels
from heavytail.mdp.problem import Problem
from heavytail.registry import find
from heavytail.serving.online_agent import Action, OnlineAgent

if TYPE_CHECKING:
    from gymnasium import Space, spaces


@overload
def make_online(
    states: Any,
    actions: "int | spaces.Discrete",
    name: str = "heavy_psrl",
    *,
    seed: Seed | None = None,
    horizon: int | None = None,
    **parameters: Any,
) -> OnlineAgent[int]: ...
@overload
def make_online(
    states: Any,
    actions: "Iterable[Action] | Space[Any]",
    name: str = "heavy_psrl",
    *,
    seed: Seed | None = None,
    horizon: int | None = None,
    **parameters: Any,
) -> OnlineAgent[Action]: ...
def make_online(
    states: Any,
    actions: Any,
    name: str = "heavy_psrl",
    *,
    seed: Seed | None = None,
    horizon: int | None = None,
    **parameters: Any,
) -> OnlineAgent[Any]:
    """Make an agent for a loop of your own, without an environment: for simulators, services and logs.

    Args:
        states: how many there are, or a list of them (of anything hashable: text, tuples), or a discrete
            space of Gymnasium; `act` and `update` then take the same.
        actions: likewise; `act` then returns one of them.
        name: the agent's id, as in `make_agent`.
        seed: of its random streams; the same seed and the same calls give the same answers. None draws a new
            one.
        horizon: the steps in an episode, 1 for a contextual bandit; left out, the problem has no end.
        **parameters: the agent's own.

    >>> import heavytail as ht
    >>> agent = ht.make_online(states=3, actions=["left", "right"])
    >>> agent.act(0) in agent.actions
    True

    A bandit with a context has one step, and no next state:

    >>> bandit = ht.make_online(states=["morning", "evening"], actions=5, horizon=1)
    >>> bandit.update("morning", bandit.act("morning"), r=2.5)
    """
    known_states, known_actions = make_labels(states, "states"), make_labels(actions, "actions")
    problem = Problem(len(known_states), len(known_actions), parse_horizon(horizon, 1))
    agent, complete = find("agent", name).build(problem, **parameters)
    del complete["problem"]
    run = streams(new_seed() if seed is None else seed)
    return OnlineAgent(
        agent,
        run.agent,
        problem,
        predictions=run.predictions,
        name=name,
        parameters=complete,
        states=known_states,
        actions=known_actions,
    )


def new_seed() -> Seed:
    """Draw a seed that no other run has, where none was given."""
    return np.random.SeedSequence().spawn(1)[0]  # a child: some environments take only short seeds
