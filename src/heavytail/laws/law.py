"""The interface of reward laws: sampling, mean, moments, and the row of a law table."""

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from heavytail.arrays import Floats, Stream
from heavytail.checks import require_memory
from heavytail.errors import InputError, short_repr
from heavytail.kernels.compiling import entry
from heavytail.kernels.rng import Seed, pair, stream
from heavytail.laws.table import COLUMNS, LawTable, draw_law, law_code
from heavytail.registry import registered


class Law(ABC):
    """A probability law for rewards.

    Builders are in `heavytail.laws`, one per law; each law is a frozen dataclass.
    """

    name: ClassVar[str]
    loc: float

    def sample(self, size: int, seed: Seed = 0) -> Floats:
        """Draw `size` independent samples; the same seed gives the same samples."""
        n = _whole(size, f"{self.name}.sample: size")
        require_memory(f"{self.name}.sample: {n:,} samples", 8.0 * n)
        out = np.empty(n)
        table = law_table([self])
        entry(fill, table)(table, stream(seed), out)
        return out

    def with_mean(self, mean: float) -> Self:
        """Move the law to have this mean.

        >>> import heavytail as ht
        >>> ht.laws.pareto(alpha=1.5).with_mean(2.0).mean()
        2.0
        """
        if not math.isfinite(_number(mean, f"{self.name}.with_mean: mean")):
            raise InputError(f"{self.name}.with_mean: mean must be finite, got {mean}")
        if not math.isfinite(self.mean()):
            raise InputError(
                f"{self} has no finite mean, so it cannot be moved to one; its tail index must be above 1"
            )
        loc = self.loc + (mean - self.mean())
        return replace(self, loc=loc)  # type: ignore[type-var]  # every law is a dataclass

    def moment(self, p: float, center: float = 0.0) -> float:
        """Compute E|X - center|**p, which may be infinite.

        With the law's own mean as `center` this is the central moment v of the paper, with 0 the raw moment
        u.
        """
        p, center = _number(p, f"{self.name}.moment: p"), _number(center, f"{self.name}.moment: center")
        if not (p > 0 and math.isfinite(p) and math.isfinite(center)):
            raise InputError(
                f"{self.name}.moment: p must be above 0 and both numbers finite, got p={p}, center={center}"
            )
        if p >= self.tail_index:
            return math.inf
        try:
            return self._moment(float(p), float(center))
        except OverflowError:  # a moment beyond the largest float
            return math.inf

    def plot(self, figure: Any = None) -> Any:
        """Draw the density, or the values of a discrete law, and how fast the tail falls.

        Args:
            figure: a Matplotlib figure, or part of one; a new figure by default.

        >>> import heavytail as ht
        >>> ht.laws.pareto(alpha=1.5).plot().savefig("pareto.svg")  # doctest: +SKIP
        """
        from heavytail.laws._plot import plot_law  # here, because most programs do without Matplotlib

        return plot_law(self, figure)

    @abstractmethod
    def _moment(self, p: float, center: float) -> float:
        """Compute E|X - center|**p for p below the tail index."""

    @abstractmethod
    def mean(self) -> float:
        """Return the mean: NaN if there is none, infinite if the integral diverges to one side."""

    @property
    @abstractmethod
    def tail_index(self) -> float:
        """The largest p below which absolute moments of order p are finite."""

    @abstractmethod
    def row(self) -> tuple[float, ...]:
        """Return the numbers that this law's sampler reads: at most `table.COLUMNS`."""

    @classmethod
    @abstractmethod
    def from_row(cls, row: Floats, data: Floats) -> Self:
        """Rebuild a law from its `row` and its `data`."""

    def data(self) -> Floats:
        """Return the samples that this law's sampler reads, for a law given by data."""
        return np.empty(0)

    def atoms(self) -> tuple[Floats, Floats] | None:
        """Return the values of a discrete law and their probabilities; None if unknown."""
        return None


def _number(value: Any, where: str) -> float:
    if not isinstance(value, numbers.Real):
        raise InputError(f"{where} must be a number, got {short_repr(value)}")
    return float(value)


def _whole(value: Any, where: str) -> int:
    number = _number(value, where)
    if not (number >= 0 and number == math.floor(number) < math.inf):
        raise InputError(f"{where} must be a whole number, at least 0, got {short_repr(value)}")
    return int(value)


def fill(table: LawTable, rng: Stream, out: Floats) -> None:
    """Fill `out` with draws of the first law of a table."""
    for k in range(out.size):
        u, e = pair(rng)
        out[k] = draw_law(table.code[0], table, 0, u, e)


def law_table(laws: Sequence[Law]) -> LawTable:
    """Build the table of these laws, in this order."""
    registered("law")  # all samplers are compiled into one kernel, so find them all first
    codes = {name: law_code(name) for name in {law.name for law in laws}}
    parameters, given = np.zeros((len(laws), COLUMNS)), [law.row() for law in laws]
    for length in {len(row) for row in given}:
        same = [i for i, row in enumerate(given) if len(row) == length]
        parameters[same, :length] = [given[i] for i in same]
    samples = [(i, data) for i, law in enumerate(laws) if len(data := law.data())]
    start = 0
    for i, data in samples:
        parameters[i, COLUMNS - 2 :] = start, len(data)
        start += len(data)
    return LawTable(
        np.array([codes[law.name] for law in laws], np.int64),
        parameters,
        np.concatenate([np.empty(0), *(data for _, data in samples)]),
    )


def laws_from_table(table: LawTable) -> list[Law]:
    """Rebuild the laws of a table, row by row.

    >>> import heavytail as ht
    >>> laws_from_table(ht.make_mdp("double_chain").laws)[-1]
    AlphaStable(alpha=1.1, beta=0.0, loc=1.0, scale=1.0)
    """
    registered("law")
    classes = {law_code(cls.name): cls for cls in Law.__subclasses__()}
    laws = []
    for code, row in zip(table.code.tolist(), table.parameters, strict=True):
        start, length = (int(x) for x in row[COLUMNS - 2 :]) if classes[code].name == "empirical" else (0, 0)
        laws.append(classes[code].from_row(row, table.samples[start : start + length]))
    return laws
