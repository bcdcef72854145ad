"""Make an agent for a loop of one's own, by name."""

from typing import Any

from heavytail.errors import InputError, short_repr
from heavytail.kernels.rng import Seed, streams
from heavytail.mdp.builders import parse_horizon
from heavytail.mdp.labels import Labels, make_labels
from heavytail.mdp.problem import Problem
from heavytail.registry import find
from heavytail.serving.default_agent import DEFAULT_AGENT, name_first
from heavytail.serving.online_agent import OnlineAgent


def make_online(
    name: Any = None,
    problem: Any = None,
    *,
    states: Any = None,
    actions: Any = None,
    horizon: int | None = None,
    seed: Seed = 0,
    **parameters: Any,
) -> OnlineAgent:
    """Make an agent for a loop of your own, without an environment: for simulators, services and logs.

    Args:
        name: the agent's id; it may be left out, and is then "heavy_psrl".
        problem: a `Problem`, instead of `states`, `actions` and `horizon`.
        states: how many there are, or a list of them (of anything hashable: text, tuples), or a discrete
            space of Gymnasium; `act` and `update` then take the same.
        actions: likewise; `act` then returns one of them.
        horizon: the steps in an episode, 1 for a contextual bandit; left out, the problem has no end.
        seed: of its random streams.
        **parameters: the agent's own.

    >>> import heavytail as ht
    >>> agent = ht.make_online(states=3, actions=["left", "right"])
    >>> agent.act(0) in agent.actions
    True

    A bandit with a context has one step, and no next state:

    >>> bandit = ht.make_online(states=["morning", "evening"], actions=5, horizon=1)
    >>> bandit.update("morning", bandit.act("morning"), r=2.5)
    """
    labels: dict[str, Labels] = {}
    if states is not None or actions is not None:
        if states is None or actions is None or problem is not None or isinstance(name, Problem):
            raise InputError("make_online: give states= and actions=, both, or a Problem instead")
        labels = {"states": make_labels(states, "states"), "actions": make_labels(actions, "actions")}
        problem = Problem(len(labels["states"]), len(labels["actions"]), parse_horizon(horizon, 1))
    elif horizon is not None:
        raise InputError("make_online: horizon= comes with states= and actions=; a Problem has its own")
    name, problem = (DEFAULT_AGENT, problem) if name is None else name_first("make_online", name, problem)
    if not isinstance(problem, Problem):
        spaces = hasattr(problem, "observation_space")
        example = ", as states=env.observation_space, actions=env.action_space" if spaces else ""
        raise InputError(
            f"make_online: give states= and actions={example}, or a Problem; got {short_repr(problem)}"
        )
    builder = find("agent", name)
    complete = builder.arguments(problem, **parameters)
    del complete["problem"]
    run = streams(seed)
    return OnlineAgent(
        builder.builder(problem, **complete),
        run.agent,
        problem,
        predictions=run.predictions,
        name=name,
        parameters=complete,
        **labels,
    )
