"""Make a learner by the name of its agent.

The word "true" in place of a number is computed from the MDP: ``moment="true"`` is the largest moment of the
rewards, of the order and kind that the agent needs; ``changes="true"`` is l, the number of successive MDPs.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from heavytail.errors import InputError
from heavytail.kernels.rng import Seed, streams
from heavytail.mdp import MDP
from heavytail.mdp.problem import Problem
from heavytail.planning.reward_moments import largest_moment
from heavytail.registry import find
from heavytail.serving.make_online import new_seed
from heavytail.training.fused import new_run_state
from heavytail.training.learner import Learner
from heavytail.training.runners import MDPRunner, make_runner

TRUE = "true"


def make_agent(
    env: Any,
    name: str = "heavy_psrl",
    *,
    seed: Seed | None = None,
    horizon: int | None = None,
    **parameters: Any,
) -> Learner:
    """Make an agent that learns in an environment.

    Args:
        env: its environment: an MDP or a changing one, in which learning is fused and fast, or a Gymnasium
            environment with discrete spaces, run one step at a time.
        name: the agent's id; ``heavytail.registered("agent")`` lists them. "heavy_psrl" needs no prior
            knowledge of the rewards.
        seed: of its random streams; the same seed gives the same run, and two agents with the same seed
            meet the same noise. None draws a new one.
        horizon: steps in an episode, for a Gymnasium environment that does not say, or to cut its episodes
            short.
        **parameters: the agent's own; ``ht.describe("q_learning")``, or ``heavytail list q_learning`` in a
            shell, explains each, with its type and default. ``moment="true"`` is computed from the laws of
            an MDP.

    >>> import heavytail as ht
    >>> ht.make_agent(ht.make_mdp("six_arms"), "q_learning", seed=1)
    Learner('q_learning', episodes=0, steps=0)
    >>> ht.make_agent(ht.make_mdp("six_arms"), seed=1)
    Learner('heavy_psrl', episodes=0, steps=0)
    """
    known_seed = new_seed() if seed is None else seed
    runner, entry = make_runner(env, horizon, known_seed), find("agent", name)
    mdps = runner.changing_mdp.mdps if isinstance(runner, MDPRunner) else ()
    agent, complete = entry.build(runner.problem, **with_true_values(name, parameters, runner.problem, mdps))
    del complete["problem"]
    return Learner(name, complete, agent, runner, streams(known_seed), new_run_state())


def with_true_values(
    agent: str, parameters: Mapping[str, Any], problem: Problem, mdps: Sequence[MDP]
) -> dict[str, Any]:
    """Replace "true" among an agent's parameters by the number it stands for.

    Args:
        agent: its id.
        parameters: its given parameters.
        problem: of the environment.
        mdps: of the environment, in turn; empty if it shows none.

    >>> import heavytail as ht
    >>> learner = ht.make_agent(ht.make_mdp("six_arms"), "heavy_q_learning", epsilon=0.05, moment="true")
    >>> round(learner.parameters["moment"], 2)
    14.24
    """
    given = dict(parameters)
    for name in ("changes", "moment"):
        if isinstance(given.get(name), str) and given[name] == TRUE and not mdps:
            raise InputError(
                f"{name} is 'true', but this environment is not an MDP to compute it from; give a number"
            )
    if given.get("changes") == TRUE:
        given["changes"] = len(mdps)
    if given.get("moment") == TRUE:
        given["moment"] = _true_moment(agent, given, problem, mdps)
    return given


def _true_moment(agent: str, parameters: Mapping[str, Any], problem: Problem, mdps: Sequence[MDP]) -> float:
    """Return the largest moment of the rewards, of the order and kind that the agent needs."""
    entry = find("agent", agent)
    built = entry.builder(problem, **{**parameters, "moment": 1.0})
    if "epsilon" not in entry.parameters:
        raise InputError(
            f"moment is 'true', but {agent} has no epsilon that would give its order; give a number"
        )
    kind: Literal["central", "raw"] = "central" if "central" in set(_moment_kinds(built)) else "raw"
    epsilon = parameters.get("epsilon", entry.parameters["epsilon"].default)
    order, moment = largest_moment(mdps, epsilon, kind)
    if not np.isfinite(moment):
        raise InputError(
            f"moment is 'true', but the rewards have no finite moment of order {order}; choose a smaller"
            " epsilon"
        )
    return moment


def _moment_kinds(record: Any) -> Iterator[str]:
    """Yield the kinds of moment needed by the estimators in a record and the records inside it."""
    if hasattr(record, "moment_kind"):
        yield record.moment_kind()
    elif isinstance(record, tuple):
        for inner in record:
            yield from _moment_kinds(inner)
