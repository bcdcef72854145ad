"""Make an agent for your own loop, by name."""

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
    """Make an agent for your own loop, without an environment: for simulators, services and logs.

    Args:
        states: their number, a list of them (anything hashable: text, tuples), or a discrete Gymnasium
            space; `act` and `update` take the same states.
        actions: likewise; `act` returns one of them.
        name: the agent's id, as in `make_agent`.
        seed: of its random streams; the same seed and the same calls give the same answers. None draws a new
            one.
        horizon: the steps in an episode, 1 for a contextual bandit; if omitted, the problem never ends.
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
    """Draw a fresh seed, for when none was given."""
    return np.random.SeedSequence().spawn(1)[0]  # a child, because some environments take only short seeds
