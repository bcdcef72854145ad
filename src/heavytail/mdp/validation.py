"""Check the arrays used to build an MDP, and those of a built MDP.

Compiled code trusts them: an index out of range would read arbitrary memory.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats, Ints
from heavytail.errors import InputError
from heavytail.laws.table import COLUMNS, LawTable, draw_law, law_code
from heavytail.mdp.mdp import MDP

SUM_TOLERANCE = 1e-6
DTYPES = {
    "offsets": np.uint32,
    "cumulative": np.float64,
    "successors": np.uint32,
    "ends": np.bool_,
    "law": np.uint32,
    "row_means": np.float64,
    "start_states": np.uint32,
    "start_cumulative": np.float64,
}


# The arrays from which an MDP is built


def check_slots(row: Ints, successors: Ints, p: Floats, n_states: int, n_actions: int, n_rows: int) -> None:
    """Check the arrays of `mdp_from_slots`: shapes, order, probabilities, states and sums."""
    if n_states < 1 or n_actions < 1:
        raise InputError(f"an MDP needs at least one state and one action, got {n_states} and {n_actions}")
    if not row.shape == successors.shape == p.shape or row.ndim != 1:
        raise InputError(
            f"rows, successors and probabilities must have the same length, got {row.shape},"
            f" {successors.shape}, {p.shape}"
        )
    if len(row) and (np.diff(row).min(initial=0) < 0 or row[0] < 0 or row[-1] >= n_rows):
        raise InputError(f"rows must ascend from 0 to {n_rows - 1}")

    cells = n_states * n_actions

    def describe(row: int) -> str:
        stage, cell = divmod(row, cells)
        step = f", step {stage}" if n_rows > cells else ""
        return f"state {cell // n_actions}, action {cell % n_actions}{step}"

    def refuse(slot: int, problem: str) -> None:
        where = describe(int(row[slot]))
        raise InputError(f"the transition of {where} to state {successors[slot]} {problem}")

    if (bad := np.flatnonzero(~(p >= 0))).size:
        refuse(int(bad[0]), f"has probability {p[bad[0]]}; it must lie between 0 and 1")
    if (bad := np.flatnonzero((successors < 0) | (successors >= n_states))).size:
        refuse(int(bad[0]), f"leads nowhere: states go from 0 to {n_states - 1}")
    sums = np.bincount(row, weights=p, minlength=n_rows)
    if (bad := np.flatnonzero(np.abs(sums - 1.0) > SUM_TOLERANCE)).size:
        where, total = describe(int(bad[0])), sums[bad[0]]
        raise InputError(f"the transition probabilities of {where} sum to {total:.9g}; they must sum to 1")


# A built MDP


def check_mdp(mdp: MDP) -> MDP:
    """Return the MDP if its arrays fit together; raise a one-line error otherwise."""
    for message, holds in _facts(mdp):
        if not holds:
            raise InputError(f"the arrays of this MDP do not fit together: {message}")
    return mdp


def _facts(mdp: MDP) -> Iterator[tuple[str, Any]]:
    """Yield conditions, each with the message if it fails; later ones may rely on earlier ones."""
    laws, n, m = mdp.laws, len(mdp.cumulative), len(mdp.start_cumulative)
    sized = min(mdp.n_states, mdp.n_actions) > 0 <= mdp.horizon and mdp.n_stages in (1, mdp.horizon)
    yield "it has no states, actions or steps", sized
    flat: list[tuple[npt.NDArray[Any], Any]] = [(getattr(mdp, name), dtype) for name, dtype in DTYPES.items()]
    flat += [(laws.code, np.int64), (laws.samples, np.float64)]
    typed = [*flat, (laws.parameters, np.float64)]
    yield "an array has another type", all(a.dtype == dtype and a.flags.c_contiguous for a, dtype in typed)
    shaped = all(a.ndim == 1 for a, _ in flat) and laws.parameters.shape == (len(laws.code), COLUMNS)
    yield "an array has another shape", shaped
    yield "slot arrays differ in length", len(mdp.successors) == len(mdp.ends) == len(mdp.law) == n
    rows = mdp.n_stages * mdp.n_states * mdp.n_actions
    matched = len(mdp.offsets) - 1 == rows == len(mdp.row_means)
    yield "rows and slots do not match", matched and mdp.offsets[0] == 0 and mdp.offsets[-1] == n
    yield "a row has no slots", (mdp.offsets[1:] > mdp.offsets[:-1]).all()
    yield "probabilities do not add up", _adds_up(mdp.cumulative, mdp.offsets)
    started = len(mdp.start_states) == m > 0 and _adds_up(mdp.start_cumulative, np.array([0, m]))
    yield "the start is not a distribution", started
    yield "a state does not exist", max(mdp.successors.max(), mdp.start_states.max()) < mdp.n_states
    known = mdp.law.max() < len(laws.code) and all(int(code) in draw_law.cases for code in laws.code)
    yield "a law does not exist", known
    yield "a law has no samples", _samples_exist(laws)
    yield "an expected reward is not finite", np.isfinite(mdp.row_means).all()
    yield "a continuing problem ends", mdp.horizon > 0 or not mdp.ends.any()


def _adds_up(cumulative: Floats, offsets: npt.NDArray[Any]) -> bool:
    rises = np.diff(cumulative, prepend=0.0)
    rises[offsets[:-1]] = cumulative[offsets[:-1]]
    return bool((rises >= 0).all() and (cumulative[offsets[1:] - 1] == 1.0).all())


def _samples_exist(laws: LawTable) -> bool:
    where = laws.parameters[laws.code == law_code("empirical"), COLUMNS - 2 :]
    first, length = where[:, 0], where[:, 1]
    return bool(((first >= 0) & (length >= 1) & (first + length <= len(laws.samples))).all())
