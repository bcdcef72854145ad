"""The problem: everything an agent may know about its environment before it starts."""

from typing import NamedTuple

from heavytail.errors import InputError
from heavytail.mdp.mdp import MDP


class Problem(NamedTuple):
    """The size of an environment, and the largest expected reward if it is known."""

    n_states: int
    n_actions: int
    horizon: int = 0  # 0: continuing
    r_max: float | None = None  # assumed known in the paper; an MDP has it
    mdp: MDP | None = None  # the MDP itself, if there is one: for reference agents such as "optimal"


def make_problem(*mdps: MDP) -> Problem:
    """Make the problem of an MDP, or of several in sequence."""
    first, r_max = mdps[0], max(float(mdp.row_means.max()) for mdp in mdps)
    return Problem(first.n_states, first.n_actions, first.horizon, r_max, first if len(mdps) == 1 else None)


def require_horizon(agent: str, problem: Problem) -> int:
    """Return the horizon, for an agent that learns only in episodes."""
    if problem.horizon == 0:
        raise InputError(f"{agent} learns in episodes, but this problem is continuing; give it a horizon=")
    return problem.horizon


def known_r_max(problem: Problem, given: float | None) -> float | None:
    """Return the largest expected reward, given or known from the environment; None if neither."""
    return problem.r_max if given is None else given


def require_r_max(agent: str, problem: Problem, given: float | None) -> float:
    """Return the largest expected reward, given or known from the environment."""
    known = known_r_max(problem, given)
    if known is None:
        raise InputError(
            f"{agent} needs r_max=, the largest expected reward: this environment does not provide it"
        )
    return known
