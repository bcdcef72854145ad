"""Laws as data: a table of codes and parameters, and one kernel that draws from any row of it.

A law's code is a checksum of its name, so a table means the same in every process, regardless of which laws
were imported and in which order.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

from heavytail.arrays import Floats, Ints
from heavytail.kernels.dispatch import switch

F = TypeVar("F", bound=Callable[..., Any])

COLUMNS = 6


class LawTable(NamedTuple):
    """Some laws, one per row."""

    code: Ints  # [M]
    parameters: Floats  # [M, COLUMNS]
    samples: Floats  # the data of all laws given by data, concatenated

    def constant_fields(self) -> tuple[str, ...]:
        """Name all fields."""
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
