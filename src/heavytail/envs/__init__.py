"""Environments, one per file: a function that returns an MDP."""

from typing import Any

from heavytail.mdp import MDP
from heavytail.registry import find


def make_mdp(name: str, **parameters: Any) -> MDP:
    """An environment by its name.

    >>> import heavytail as ht
    >>> mdp = ht.make_mdp("six_arms", horizon=10)
    >>> mdp.n_states, mdp.n_actions, mdp.horizon
    (7, 6, 10)
    """
    mdp: MDP = find("env", name).builder(**parameters)
    return mdp
