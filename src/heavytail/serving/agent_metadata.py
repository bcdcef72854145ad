"""What the description of an agent file says of the agent and its problem."""

from typing import Annotated, Any

from annotated_types import Ge

from heavytail.checks import Count, cast_value
from heavytail.errors import InputError, short_repr
from heavytail.mdp.problem import Problem

MIN_LARGE = 1_000_000  # steps, states and actions from which on a file must hold something of them,
MAX_CELLS_PER_BYTE = 64  # namely a byte for so many: an agent that plans holds four for each step and state


def read_metadata(metadata: dict[str, Any]) -> tuple[str, dict[str, Any], Problem]:
    """Return the agent's name, its parameters and its problem."""
    parameters, problem = (_read_table(metadata, key) for key in ("parameters", "problem"))
    types = {"n_states": Count, "n_actions": Count, "horizon": Annotated[int, Ge(0)], "r_max": float | None}
    sizes = {key: cast_value(problem[key], hint, f"its {key}") for key, hint in types.items()}
    return metadata["agent"], parameters, Problem(**sizes)


def _read_table(metadata: dict[str, Any], key: str) -> dict[str, Any]:
    table = metadata[key]
    if not isinstance(table, dict):
        raise InputError(f"its {key} is {short_repr(table)}; it must be a table of names and values")
    return table


def check_size(problem: Problem, stored: int) -> None:
    """Refuse a problem that is far larger than what the file holds, before an agent is built for it."""
    cells = max(problem.horizon, 1) * problem.n_states * problem.n_actions
    if cells > max(MIN_LARGE, MAX_CELLS_PER_BYTE * stored):
        raise InputError(
            f"it says that there are {cells:,} steps, states and actions, and holds {stored:,} bytes"
        )
