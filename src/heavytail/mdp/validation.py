"""Whether the arrays of an MDP fit together.

Compiled code trusts them, and an index that leads nowhere would be a place in memory.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats
from heavytail.errors import InputError
from heavytail.laws.table import COLUMNS, draw_law, law_code
from heavytail.mdp.mdp import MDP

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


def check_mdp(mdp: MDP) -> MDP:
    """The same MDP, if its arrays fit together."""
    for words, holds in _facts(mdp):
        if not holds():
            raise InputError(f"the arrays of this MDP do not fit together: {words}")
    return mdp


def _facts(mdp: MDP) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What must not be wrong, in words and as a test; each rests on those before it."""
    rows, n, m = mdp.n_stages * mdp.n_states * mdp.n_actions, len(mdp.cumulative), len(mdp.start_cumulative)
    flat: list[tuple[npt.NDArray[Any], Any]] = [(getattr(mdp, name), dtype) for name, dtype in DTYPES.items()]
    flat += [(mdp.laws.code, np.int64), (mdp.laws.samples, np.float64)]
    typed = [*flat, (mdp.laws.parameters, np.float64)]
    yield (
        "it has no states, actions or steps",
        lambda: min(mdp.n_states, mdp.n_actions) > 0 <= mdp.horizon and mdp.n_stages in (1, mdp.horizon),
    )
    yield (
        "an array has another type",
        lambda: all(a.dtype == dtype and a.flags.c_contiguous for a, dtype in typed),
    )
    yield (
        "an array has another shape",
        lambda: (
            all(a.ndim == 1 for a, _ in flat) and mdp.laws.parameters.shape == (len(mdp.laws.code), COLUMNS)
        ),
    )
    yield "slots are not described alike", lambda: len(mdp.successors) == len(mdp.ends) == len(mdp.law) == n
    yield (
        "rows and slots do not match",
        lambda: (
            len(mdp.offsets) - 1 == rows == len(mdp.row_means)
            and mdp.offsets[0] == 0
            and mdp.offsets[-1] == n
        ),
    )
    yield "a row has no slots", lambda: bool((mdp.offsets[1:] > mdp.offsets[:-1]).all())
    yield "probabilities do not add up", partial(_adds_up, mdp.cumulative, mdp.offsets)
    yield (
        "the start is no distribution",
        lambda: len(mdp.start_states) == m > 0 and _adds_up(mdp.start_cumulative, np.array([0, m])),
    )
    yield "a state does not exist", lambda: max(mdp.successors.max(), mdp.start_states.max()) < mdp.n_states
    yield (
        "a law does not exist",
        lambda: (
            mdp.law.max() < len(mdp.laws.code) and all(int(code) in draw_law.cases for code in mdp.laws.code)
        ),
    )
    yield "a law has no samples", partial(_samples_exist, mdp)
    yield "an expected reward is not finite", lambda: bool(np.isfinite(mdp.row_means).all())
    yield "a continuing problem ends", lambda: mdp.horizon > 0 or not mdp.ends.any()


def _adds_up(cumulative: Floats, offsets: npt.NDArray[Any]) -> bool:
    rises = np.diff(cumulative, prepend=0.0)
    rises[offsets[:-1]] = cumulative[offsets[:-1]]
    return bool((rises >= 0).all() and (cumulative[offsets[1:] - 1] == 1.0).all())


def _samples_exist(mdp: MDP) -> bool:
    where = mdp.laws.parameters[mdp.laws.code == law_code("empirical"), COLUMNS - 2 :]
    first, length = where[:, 0], where[:, 1]
    return bool(((first >= 0) & (length >= 1) & (first + length <= len(mdp.laws.samples))).all())
