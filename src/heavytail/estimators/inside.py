"""An estimator inside an agent: built by name, from what the agent knows."""

from collections.abc import Mapping
from typing import Any

from heavytail.arrays import Record
from heavytail.errors import InputError
from heavytail.registry import find


def estimator_for(agent: str, name: str, n_cells: int, options: Mapping[str, Any] | None, **known: Any) -> Record:
    """The record of an estimator: of what the agent knows (epsilon, moment, constants and so on) those that its builder has, and the user's options.

    >>> type(estimator_for("mine", "median_of_means", 4, None, epsilon=0.5, moment=1.0, constants="tight")).__name__
    'MedianOfMeans'
    """
    try:
        found = find("estimator", name)
        taken = {key: value for key, value in known.items() if key in found.parameters}
        return found.builder(n_cells, **{**taken, **(options or {})})
    except InputError as error:
        raise InputError(f"{agent}: {error}") from None
