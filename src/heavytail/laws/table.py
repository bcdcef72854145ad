"""Laws as data: a table of codes and parameters, and the one kernel that draws from any row of it.

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
    samples: Floats  # all data of the laws given by data, one behind the other

    def constant_fields(self) -> tuple[str, ...]:
        """All of it."""
        return self._fields


@switch
def draw_law(code: int, table: LawTable, i: int, u: float, e: float) -> float:  # type: ignore[empty-body]
    """A draw from row `i`, whose code is `code`, made from a uniform and an exponential."""


def law_code(name: str) -> int:
    """The code under which a law stands in a table."""
    return crc32(name.encode())


def draws(name: str) -> Callable[[F], F]:
    """Register the decorated kernel ``(table, i, u, e) -> float`` as the sampler of the law `name`."""
    return draw_law.case(law_code(name))


def law_table(laws: "Sequence[Law]") -> LawTable:
    """The table of these laws, in this order."""
    registered("law")  # all samplers are compiled into one kernel: find them all before it is
    code = np.array([law_code(law.name) for law in laws], np.int64)
    parameters = np.zeros((len(laws), COLUMNS))
    samples = [law.data() for law in laws]
    starts = np.concatenate([[0], np.cumsum([len(s) for s in samples])])
    for i, law in enumerate(laws):
        row = law.row()
        parameters[i, : len(row)] = row
        if len(samples[i]):
            parameters[i, COLUMNS - 2 :] = starts[i], len(samples[i])
    return LawTable(code, parameters, np.concatenate([np.empty(0), *samples]))
