"""The two uses of an estimator: as a record inside an agent, and by itself as an object."""

import inspect
import math
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Literal, ParamSpec

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats, Record, record_bytes
from heavytail.checks import OpenProbability, Positive, as_floats, cast_value
from heavytail.errors import InputError
from heavytail.kernels.compiling import entry
from heavytail.kernels.pools import any_pool_full, with_larger_pools
from heavytail.kernels.verbs import interval, push, radius, reset
from heavytail.registry import find

P = ParamSpec("P")
LOG_CONFIDENCE = math.log(40.0)  # 2.5% on each side: intervals of 95%


def build_estimator(
    agent: str, name: str, n_cells: int, options: Mapping[str, Any] | None, **known: Any
) -> Record:
    """Build the record of an estimator inside an agent.

    Args:
        agent: the agent's name, for error messages.
        name: the estimator's.
        n_cells: how many means are estimated side by side.
        options: the user's arguments for the estimator's builder.
        known: what the agent knows (epsilon, moment, constants and so on); the builder gets what it has a
            parameter for.

    >>> known = {"epsilon": 0.5, "moment": 1.0, "constants": "tight"}
    >>> type(build_estimator("mine", "median_of_means", 4, None, **known)).__name__
    'MedianOfMeans'
    """
    try:
        entry = find("estimator", name)
        arguments = {k: v for k, v in known.items() if k in entry.parameters and v is not None}
        return entry.builder(n_cells, **{**arguments, **(options or {})})
    except InputError as error:
        raise InputError(f"{agent}: {error}") from None


def moment_kind_of(name: str) -> Literal["raw", "central"] | None:
    """Return the kind of moment that an estimator of this name needs a bound on, None if it needs none.

    >>> moment_kind_of("median_of_means"), moment_kind_of("sketch")
    ('central', None)
    """
    entry = find("estimator", name)
    return _moment_kind(entry.builder(1, **entry.example))


def _moment_kind(record: Record) -> Literal["raw", "central"] | None:
    """Ask a record; one without the method needs no moment."""
    kind: Literal["raw", "central"] | None = getattr(record, "moment_kind", lambda: None)()
    return kind


class Estimator:
    """An estimator of means by itself: `push` samples, ask for the `mean` and its `interval`.

    A log-confidence of L means an error probability of exp(-L) on each side; the default is that of 95%
    intervals.

    Attributes:
        record: its state, as agents hold it.

    >>> import heavytail as ht
    >>> estimator = ht.estimators.sketch()
    >>> estimator.push(ht.laws.student_t(df=1.5, loc=2.0).sample(10_000, seed=0))
    >>> round(estimator.mean(), 2), [round(end, 2) for end in estimator.interval(0.95)]
    (2.0, [1.97, 2.13])
    """

    def __init__(self, record: Record) -> None:
        self.record = record

    def __repr__(self) -> str:
        cells = f", cells={self.record.n.size:,}" if self.record.n.size > 1 else ""
        return f"Estimator({type(self.record).__name__}, samples={int(self.record.n.sum()):,}{cells})"

    def push(self, x: npt.ArrayLike, cell: int = 0) -> None:
        """Add one sample, or an array of them."""
        samples = as_floats("push: samples", x).ravel()
        if np.isnan(samples).any():
            which = int(np.flatnonzero(np.isnan(samples))[0])
            raise InputError(f"push: sample {which} is nan; samples may be infinite, but must be numbers")
        done = 0
        while done < samples.size:
            done += entry(_push_all, self.record)(self.record, self._cell(cell), samples[done:])
            if done < samples.size:
                self.record = with_larger_pools(self.record)

    def mean(self, log_confidence: float = LOG_CONFIDENCE, cell: int = 0) -> float:
        """Estimate the mean at confidence 1 - exp(-log_confidence); 0 before the first sample."""
        return self._interval(log_confidence, cell)[0]

    def radius(self, log_confidence: float = LOG_CONFIDENCE, cell: int = 0) -> float:
        """Return how far the mean may be from the estimate; infinite where no bound holds.

        It is farther with probability at most exp(-log_confidence) on each side.
        """
        return entry(_radius, self.record)(self.record, self._cell(cell), _level(log_confidence))

    def interval(self, confidence: float = 0.95, cell: int = 0) -> tuple[float, float]:
        """Return the ends of an interval that holds the mean with this probability, at least."""
        miss = 1.0 - cast_value(confidence, OpenProbability, "confidence")
        _, low, high = self._interval(math.log(2.0 / miss), cell)
        return low, high

    def _interval(self, log_confidence: float, cell: int) -> tuple[float, float, float]:
        level = _level(log_confidence)
        centre, low, high = entry(_interval, self.record)(self.record, self._cell(cell), level)
        return centre, low, high

    def reset(self) -> None:
        """Forget all samples."""
        entry(_reset, self.record)(self.record)

    @property
    def moment_kind(self) -> str | None:
        """The moment it needs a bound on: "raw" (of X), "central" (of X less its mean) or None."""
        return _moment_kind(self.record)

    @property
    def bytes_per_cell(self) -> float:
        """The bytes of its arrays, divided by the number of cells."""
        return record_bytes(self.record) / self.record.n.size

    def _cell(self, cell: int) -> int:
        if not 0 <= cell < self.record.n.size:
            raise InputError(f"there is no cell {cell}; cells go from 0 to {self.record.n.size - 1}")
        return int(cell)


def standalone(builder: Callable[P, Record]) -> Callable[P, Estimator]:
    """Turn a builder of records into a builder of estimators for use by themselves."""

    @wraps(builder)
    def build(*args: P.args, **kwargs: P.kwargs) -> Estimator:
        return Estimator(builder(*args, **kwargs))

    # for help() and for the site, each of which looks elsewhere
    signature = inspect.signature(builder).replace(return_annotation=Estimator)
    build.__annotations__ = {**builder.__annotations__, "return": Estimator}
    build.__signature__ = signature  # type: ignore[attr-defined]
    return build


def _level(log_confidence: float) -> float:
    level: float = cast_value(log_confidence, Positive, "log_confidence")
    return level


def _push_all(record: Record, cell: int, samples: Floats) -> int:
    """Push until all are in or the record is full; return how many are in."""
    for i in range(samples.size):
        if any_pool_full(record):
            return i
        push(record, cell, samples[i])
    return samples.size


def _interval(record: Record, cell: int, log_confidence: float) -> tuple[float, float, float]:
    return interval(record, cell, log_confidence)


def _radius(record: Record, cell: int, log_confidence: float) -> float:
    return radius(record, cell, log_confidence)


def _reset(record: Record) -> None:
    reset(record)
