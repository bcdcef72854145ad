"""Agents for your own loop, made with what the registry has as their examples."""

from typing import Any

import heavytail as ht
from heavytail.registry import find, registered

NAMES = [entry.name for entry in registered("agent") if entry.name != "optimal"]


def example_agent(name: str, n_states: int = 3, n_actions: int = 2, **given: Any) -> ht.OnlineAgent[Any]:
    """Make one of a few states and actions, whose rewards are known to be at most 1 in expectation."""
    entry = find("agent", name)
    known = {"r_max": 1.0} if "r_max" in entry.parameters else {}
    return ht.make_online(
        n_states, n_actions, name, **{"seed": 1, "horizon": 4, **known, **entry.example, **given}
    )
