"""Sparse linear systems of Markov chains: factorised, or solved by iteration where factors would be dense.

Along a chain or a grid the factors of I - P stay sparse, and solving by them is exact but for rounding,
however slowly the chain mixes. Over a random graph they fill up, and 100,000 states would need 80 GB; but
there a chain forgets where it was after a few steps, and an iteration takes tens of products. So a system
whose factors might take long is solved by iteration, and factorised when that does not converge.
"""

from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from heavytail.arrays import Floats
from heavytail.checks import require_memory

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

MAX_WORK = 1e10  # multiplications of a factorisation, a second or more, beyond which iteration is tried
TOLERANCE = 1e-9  # of an iterated solution, relative; refined once, it is exact but for rounding
BASIS, MAX_RESTARTS = 40, 5  # of GMRES
BYTES_PER_ENTRY = 16  # of factors: a number, an index and a share of the working memory

Transposed = Literal["N", "T"]


class Solver(Protocol):
    """A matrix for which systems can be solved."""

    def solve(self, rhs: Floats, trans: Transposed = "N") -> Floats:
        """Solve for a right-hand side, also with the matrix transposed."""


class Iterated:
    """GMRES with the diagonal as preconditioner; factors as soon as it does not converge."""

    def __init__(self, system: "csr_matrix", width: int) -> None:
        self._matrices = {"N": system.tocsr(), "T": system.T.tocsr()}
        self._diagonal, self._width = system.diagonal(), width
        self._factors: Solver | None = None

    def solve(self, rhs: Floats, trans: Transposed = "N") -> Floats:
        """Solve, and refine the solution once."""
        if self._factors is None:
            first = self._iterate(rhs, trans)
            second = None if first is None else self._iterate(rhs - self._matrices[trans] @ first, trans)
            if first is not None and second is not None:
                return first + second
            n = len(rhs)
            require_memory(f"planning exactly in {n:,} states", BYTES_PER_ENTRY * n * self._width)
            self._factors = factorise(self._matrices["N"])
        return self._factors.solve(rhs, trans)

    def _iterate(self, rhs: Floats, trans: Transposed) -> Floats | None:
        """Solve up to the tolerance; None if that does not converge."""
        from scipy.sparse import diags_array
        from scipy.sparse.linalg import gmres

        inverse, limits = diags_array(1.0 / self._diagonal), {"restart": BASIS, "maxiter": MAX_RESTARTS}
        solution, failed = gmres(self._matrices[trans], rhs, rtol=TOLERANCE, M=inverse, **limits)
        return None if failed else np.asarray(solution, np.float64)


def factorise(system: Any) -> Solver:
    """Factorise a matrix; an ArithmeticError if it is singular."""
    from scipy.sparse.linalg import splu

    try:
        factors: Solver = splu(system.tocsc())
    except RuntimeError as singular:  # as SuperLU calls it
        raise ArithmeticError("a linear system is singular in double precision") from singular
    return factors


def make_solver(system: Any, graph: "csr_matrix") -> Solver:
    """Make a suitable solver for a square sparse matrix; an ArithmeticError if it is singular.

    `graph` is the same without full columns, which do not make its factors denser.
    """
    width = _bandwidth(graph)
    return Iterated(system, width) if graph.shape[0] * width**2 > MAX_WORK else factorise(system)


def _bandwidth(graph: "csr_matrix") -> int:
    """Return how far from the diagonal a matrix reaches when its rows are well ordered; at most n."""
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    n = graph.shape[0]
    if n**3 <= MAX_WORK:  # however they are ordered
        return n
    edges, place = graph.tocoo(), np.empty(n, np.int64)
    place[reverse_cuthill_mckee(graph)] = np.arange(n)
    return int(np.abs(place[edges.row] - place[edges.col]).max(initial=0))
