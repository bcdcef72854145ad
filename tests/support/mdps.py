"""Small MDPs that together use everything an MDP can have."""

from collections.abc import Callable

import numpy as np

import heavytail as ht
from heavytail.mdp import MDP

laws = ht.laws


def all_laws() -> list[ht.laws.Law]:
    """List one or two of each law, all with a mean."""
    return [
        laws.constant(0.5),
        laws.normal(1.0, 0.1),
        laws.alpha_stable(1.1, loc=1.5),
        laws.alpha_stable(1.6, beta=-0.7, loc=0.2, scale=0.5),
        laws.student_t(1.5, loc=0.3),
        laws.pareto(1.7, loc=-2.0),
        laws.pareto(1.7, symmetric=True),
        laws.log_normal(1.0, loc=-1.0, scale=0.5),
        laws.bernoulli(0.1, scale=5.0),
        laws.empirical([0.0, 1.0, -1.0, 3.0]),
    ]


def mixed(horizon: int | None = 4) -> MDP:
    """Make three states and two actions with another law in every successor slot and a random start.

    In episodes there is a terminal state.
    """
    rng = np.random.default_rng(5)
    transitions = rng.dirichlet(np.ones(3), size=(3, 2))
    transitions[1, 1] = [0.0, 1.0, 0.0]
    available = all_laws()
    per_slot = [
        [[available[(7 * s + 3 * a + k) % len(available)] for k in range(3)] for a in range(2)]
        for s in range(3)
    ]
    terminal = [False, False, True] if horizon else None
    return ht.mdp_from_arrays(
        transitions, laws=per_slot, horizon=horizon, start=[0.7, 0.3, 0.0], terminal=terminal
    )


def staged() -> MDP:
    """Make transitions and rewards that depend on the step."""
    rng = np.random.default_rng(6)
    transitions = rng.dirichlet(np.ones(2), size=(3, 2, 2))
    available = all_laws()
    per_step = [
        [[available[(h + 2 * s + 5 * a) % len(available)] for a in range(2)] for s in range(2)]
        for h in range(3)
    ]
    return ht.mdp_from_arrays(transitions, laws=per_step)


def infinite() -> MDP:
    """Make an MDP in which some rewards are infinite, of either sign.

    In one cell all are, so that the first visit has one. No law has an infinite mean, so the samples are
    changed after building.
    """
    sometimes, always = laws.empirical([0.0, 1.0, 2.0, 7.0, -7.0] * 3), laws.empirical([8.0])
    transitions = [[[0.5, 0.5], [1.0, 0.0]], [[1.0, 0.0], [0.5, 0.5]]]
    mdp = ht.mdp_from_arrays(transitions, laws=[[sometimes, 0.3], [sometimes, always]], horizon=3)
    samples = mdp.laws.samples
    samples[np.flatnonzero(samples == 7.0)[:1]] = np.inf
    samples[samples == 8.0] = np.inf
    samples[np.flatnonzero(samples == -7.0)[:1]] = -np.inf
    return mdp


MDPS: dict[str, Callable[[], MDP]] = {
    "mixed": mixed,
    "staged": staged,
    "infinite": infinite,
    "continuing": lambda: mixed(horizon=None),
}
