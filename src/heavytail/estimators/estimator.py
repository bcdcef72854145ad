"""An estimator inside an agent: built by name, from what the agent knows."""

import math
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats, Record, record_bytes
from heavytail.errors import InputError
from heavytail.kernels.compiling import entry
from heavytail.kernels.pools import with_larger_pools
from heavytail.kernels.verbs import full, mean, push, radius, reset
from heavytail.registry import find


def build_estimator(
    agent: str, name: str, n_cells: int, options: Mapping[str, Any] | None, **known: Any
) -> Record:
    """The record of an estimator.

    Of what the agent knows (epsilon, moment, constants and so on) those that its builder has, and the user's
    options.

    >>> type(build_estimator("mine", "median_of_means", 4, None, epsilon=0.5, moment=1.0, constants="tight")).__name__
    'MedianOfMeans'
    """
    try:
        found = find("estimator", name)
        taken = {key: value for key, value in known.items() if key in found.parameters}
        return found.builder(n_cells, **{**taken, **(options or {})})
    except InputError as error:
        raise InputError(f"{agent}: {error}") from None


class Estimator:
    """An estimator of means, by itself: `push` samples, ask for the `mean` and the `radius`.

    Attributes:
        record: what it remembers; what agents hold.
    """

    def __init__(self, record: Record) -> None:
        self.record = record

    def __repr__(self) -> str:
        return f"Estimator({type(self.record).__name__})"

    def push(self, x: npt.ArrayLike, cell: int = 0) -> None:
        """Take in one sample, or an array of them."""
        samples = np.asarray(x, np.float64).ravel()
        if np.isnan(samples).any():
            raise InputError(
                f"push: sample {int(np.flatnonzero(np.isnan(samples))[0])} is nan; samples may be"
                " infinite, but must be numbers"
            )
        done = 0
        while done < samples.size:
            done += entry(_push_all, self.record)(self.record, self._cell(cell), samples[done:])
            if done < samples.size:
                self.record = with_larger_pools(self.record)

    def mean(self, log_confidence: float, cell: int = 0) -> float:
        """The estimate at confidence 1 - exp(-log_confidence); 0 before the first sample."""
        return entry(_mean, self.record)(self.record, self._cell(cell), _positive(log_confidence))

    def radius(self, log_confidence: float, cell: int = 0) -> float:
        """How far the mean may be from the estimate, on each side with probability exp(-log_confidence); infinite where nothing can be said."""
        return entry(_radius, self.record)(self.record, self._cell(cell), _positive(log_confidence))

    def reset(self) -> None:
        """Forget everything."""
        entry(_reset, self.record)(self.record)

    @property
    def moment_kind(self) -> str | None:
        """Which moment it is told: "raw" (of X), "central" (of X less its mean), or None."""
        kind: str | None = self.record.moment_kind()
        return kind

    @property
    def bytes_per_cell(self) -> float:
        """Memory, over the number of cells."""
        return record_bytes(self.record) / self.record.n.size

    def _cell(self, cell: int) -> int:
        if not 0 <= cell < self.record.n.size:
            raise InputError(f"there is no cell {cell}; cells go from 0 to {self.record.n.size - 1}")
        return int(cell)


def alone(builder: Callable[..., Record]) -> Callable[..., Estimator]:
    """A builder of records as a builder of estimators for use by themselves."""

    @wraps(builder)
    def build(*args: Any, **kwargs: Any) -> Estimator:
        return Estimator(builder(*args, **kwargs))

    return build


def _positive(log_confidence: float) -> float:
    if not (log_confidence > 0 and math.isfinite(log_confidence)):
        raise InputError(f"log_confidence is {log_confidence}; it must be above 0 and finite, log(1 / delta)")
    return float(log_confidence)


def _push_all(record: Record, cell: int, samples: Floats) -> int:
    """Push until all are in or the record is full; how many are in."""
    for i in range(samples.size):
        if full(record):
            return i
        push(record, cell, samples[i])
    return samples.size


def _mean(record: Record, cell: int, log_confidence: float) -> float:
    return mean(record, cell, log_confidence)


def _radius(record: Record, cell: int, log_confidence: float) -> float:
    return radius(record, cell, log_confidence)


def _reset(record: Record) -> None:
    reset(record)
