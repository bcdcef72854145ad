"""Laws as data: a table of codes and parameters, and one kernel that draws from any row of it.

A law's code is a checksum of its name, so that a table means the same in every process, whichever laws were
imported and in which order.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from zlib import crc32

import numpy as np

from heavytail.arrays import Floats, Ints
from heavytail.kernels.dispatch import switch
from heavytail.registry import registered

if TYPE_CHECKING:
    from heavytail.laws.law import Law

F = TypeVar("F", bound=Callable[..., Any])

COLUMNS = 6


class LawTable(NamedTuple):
    """Some laws, one per row."""

    code: Ints  # [M]
    parameters: Floats  # [M, COLUMNS]
    samples: Floats  # the data of all laws given by data, one after the other

    def constant_fields(self) -> tuple[str, ...]:
        """All of them."""
        return self._fields


@switch
def draw_law(code: int, table: LawTable, i: int, u: float, e: float) -> float:  # type: ignore[empty-body]
    """Draw from row `i`, whose code is `code`, with a uniform `u` and an exponential `e`."""


def law_code(name: str) -> int:
    """Return the code of a law in tables: the checksum of its name."""
    return crc32(name.encode())


def sampler(name: str) -> Callable[[F], F]:
    """Register the decorated kernel ``(table, i, u, e) -> float`` as the sampler of the law `name`."""
    return draw_law.case(law_code(name))


def law_table(laws: "Sequence[Law]") -> LawTable:
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
