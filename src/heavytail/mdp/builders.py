"""Build MDPs from slots or from dense arrays; mistakes are reported in one line."""

import numbers
from collections.abc import Iterable, Sequence
from types import NoneType
from typing import Any

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats, Indices, Ints
from heavytail.checks import (
    MAX_COUNT,
    as_bools,
    as_count,
    as_finite_floats,
    as_floats,
    as_ints,
    require_memory,
)
from heavytail.errors import InputError, short_repr, show_count
from heavytail.laws import Law
from heavytail.laws.constant import constant
from heavytail.laws.law import law_table
from heavytail.mdp.mdp import MDP
from heavytail.mdp.validation import SUM_TOLERANCE, check_slots

LONG_ROW = 16  # slots
BYTES_PER_SLOT = 150  # approximately, while an MDP is being built
ENDLESS = "terminal states need episodes: give horizon=, or let them lead back to the start"


def require_memory_for_slots(env: str, n_slots: int) -> None:
    """Raise InputError if an MDP with this many slots would not fit in memory; call it before building."""
    require_memory(f"{env}: {show_count(n_slots)} possible transitions", n_slots * BYTES_PER_SLOT)


def mdp_from_slots(
    rows: npt.ArrayLike,
    successors: npt.ArrayLike,
    probabilities: npt.ArrayLike,
    rewards: npt.ArrayLike | None = None,
    *,
    n_states: int,
    n_actions: int,
    laws: Sequence[Law] = (),
    law: npt.ArrayLike | None = None,
    ends: npt.ArrayLike | None = None,
    start: npt.ArrayLike = 0,
    horizon: int | None = None,
    n_stages: int = 1,
) -> MDP:
    """Build an MDP from its possible transitions, one slot each; use it for large MDPs.

    Args:
        rows: [N] the row (stage * n_states + state) * n_actions + action of each slot, in ascending order.
        successors: [N] the next state.
        probabilities: [N]; they sum to one in each row.
        rewards: [N] deterministic rewards; or give `laws` and `law`.
        n_states: how many states there are.
        n_actions: how many actions there are.
        laws: reward laws.
        law: [N] the index of each slot's law in `laws`.
        ends: [N] whether the episode ends with this transition; needs a horizon.
        start: the first state, or [S] its probabilities.
        horizon: steps in an episode; without it the problem is continuing.
        n_stages: 1, or `horizon` if transitions or rewards depend on the step.

    >>> mdp = mdp_from_slots([0, 1], [0, 0], [1, 1], rewards=[0, 1], n_states=1, n_actions=2)
    >>> mdp.mean_rewards
    array([[0., 1.]])
    """
    n_states, n_actions = as_count("n_states", n_states), as_count("n_actions", n_actions)
    n_stages = as_count("n_stages", n_stages)
    n_rows = n_stages * n_states * n_actions
    row, next_state = as_ints("rows", rows), as_ints("successors", successors)
    p = as_floats("probabilities", probabilities)
    check_slots(row, next_state, p, n_states, n_actions, n_rows)
    horizon = parse_horizon(horizon, n_stages)
    terminal = np.zeros(len(row), np.bool_) if ends is None else as_bools("ends", ends, len(row))
    if horizon == 0 and terminal.any():
        raise InputError(ENDLESS)
    which, all_laws = _laws_by_slot(rewards, laws, law, len(row))
    kept, sums = p > 0, np.bincount(row, p, n_rows)
    row, which, p = row[kept], which[kept], p[kept] / sums[row[kept]]
    row_means = np.bincount(row, p * _finite_means(all_laws, which)[which], n_rows)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n_rows))])
    start_states, start_cumulative = _parse_start(start, n_states)
    return MDP(
        offsets=offsets.astype(np.uint32),
        cumulative=_cumulative(p, offsets),
        successors=next_state[kept].astype(np.uint32),
        ends=terminal[kept],
        law=which.astype(np.uint32),
        laws=law_table(all_laws),
        row_means=row_means.astype(np.float64),
        start_states=start_states,
        start_cumulative=start_cumulative,
        n_states=n_states,
        n_actions=n_actions,
        n_stages=n_stages,
        horizon=horizon,
    )


def mdp_from_arrays(
    transitions: npt.ArrayLike,
    mean_rewards: npt.ArrayLike | None = None,
    *,
    laws: Sequence[Any] | None = None,
    horizon: int | None = None,
    start: npt.ArrayLike = 0,
    terminal: npt.ArrayLike | None = None,
) -> MDP:
    """Build an MDP from dense arrays, with deterministic rewards or with laws.

    Args:
        transitions: probabilities [S, A, S], or [H, S, A, S] if they depend on the step.
        mean_rewards: deterministic rewards, of shape [S, A] or [S, A, S], with a leading [H] if they
            depend on the step.
        laws: alternatively, reward laws (or plain numbers) in nested sequences of these shapes.
        horizon: steps in an episode; without it the problem is continuing.
        start: the first state, or [S] its probabilities.
        terminal: [S] states in which an episode ends.

    >>> import heavytail as ht
    >>> stay = [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]]
    >>> heavy = ht.laws.student_t(df=1.5, loc=2.0)
    >>> mdp = ht.mdp_from_arrays(stay, laws=[[0.0, 1.0], [heavy, 0.0]], horizon=5)
    >>> mdp.mean_rewards
    array([[0., 1.],
           [2., 0.]])
    """
    dense = as_floats("transitions", transitions)
    if dense.ndim not in (3, 4) or dense.shape[-1] != dense.shape[-3]:
        raise InputError(
            f"transitions have shape {dense.shape}; they must be [S, A, S], or [H, S, A, S] where"
            " they depend on the step"
        )
    if (mean_rewards is None) == (laws is None):
        raise InputError("an MDP needs either mean_rewards or laws, not both")
    staged = dense.ndim == 4
    n_stages = dense.shape[0] if staged else 1
    n_states, n_actions = dense.shape[-3], dense.shape[-2]
    if staged and horizon is None:
        horizon = n_stages
    if horizon is not None:
        horizon = parse_horizon(horizon, n_stages)
    given = as_finite_floats("mean_rewards", mean_rewards) if laws is None else _nested(laws)
    what = "mean_rewards" if laws is None else "laws"
    rewards, n_stages = _rewards_by_stage(given, what, (n_states, n_actions), n_stages, horizon)
    dense = np.broadcast_to(dense if staged else dense[None], (n_stages, n_states, n_actions, n_states))
    rewards = np.broadcast_to(rewards, dense.shape)
    kept = dense != 0  # NaN stays, so that mdp_from_slots refuses it
    stage, s, a, s_next = np.nonzero(kept)
    values = {"rewards": rewards[kept]} if laws is None else _distinct_laws(rewards[kept])
    ends = None if terminal is None else as_bools("terminal", terminal, n_states)[s_next]
    return mdp_from_slots(
        (stage * n_states + s) * n_actions + a,
        s_next,
        dense[kept],
        **values,
        n_states=n_states,
        n_actions=n_actions,
        ends=ends,
        start=start,
        horizon=horizon,
        n_stages=n_stages,
    )


def mdp_with_horizon(mdp: MDP, horizon: int | None) -> MDP:
    """Change the length of an MDP's episodes, or make it continuing."""
    if mdp.n_stages > 1 and horizon != mdp.horizon:
        raise InputError(
            f"this MDP has rewards or transitions for {mdp.horizon} steps; its horizon cannot become"
            f" {horizon}"
        )
    if horizon is None and mdp.ends.any():
        raise InputError(ENDLESS)
    return mdp._replace(horizon=parse_horizon(horizon, 1) if mdp.n_stages == 1 else mdp.horizon)


def _nested(laws: Sequence[Any]) -> npt.NDArray[np.object_]:
    """Turn nested sequences of laws into an array of objects; NumPy does not look into a law."""
    return np.array(laws, dtype=object)


def _rewards_by_stage(
    given: npt.NDArray[Any], what: str, shape: tuple[int, int], n_stages: int, horizon: int | None
) -> tuple[npt.NDArray[Any], int]:
    """Reshape rewards to [G, S, A, S] or [G, S, A, 1]; return them and the number of stages they need."""
    n_states, n_actions = shape
    by_step = horizon is not None and given.shape == (horizon, n_states, n_actions)
    by_slot = given.shape == (n_states, n_actions, n_states)
    if by_step and by_slot:
        raise InputError(
            f"{what} of shape {given.shape} may be [S, A, S] or [H, S, A]; give all four axes, [H or"
            " 1, S, A, S or 1]"
        )
    if given.shape == (n_states, n_actions):
        return given[None, :, :, None], n_stages
    if by_slot:
        return given[None], n_stages
    if by_step:
        return given[..., None], int(horizon or 1)
    full = (
        given.ndim == 4
        and given.shape[0] in (1, horizon)
        and given.shape[1:3] == shape
        and given.shape[3] in (1, n_states)
    )
    if full:
        return given, max(n_stages, given.shape[0])
    raise InputError(
        f"{what} have shape {given.shape}; for {n_states} states and {n_actions} actions they must be"
        f" [{n_states}, {n_actions}] or [{n_states}, {n_actions}, {n_states}], with a leading horizon where"
        " they depend on the step"
    )


def _distinct_laws(values: npt.NDArray[np.object_]) -> dict[str, Any]:
    """List the distinct laws, and the index of each slot's."""
    index: dict[Law, int] = {}
    which = np.array([index.setdefault(_as_law(value), len(index)) for value in values], np.int64)
    return {"laws": list(index), "law": which}


def _as_law(value: Any) -> Law:
    if not isinstance(value, Law) and isinstance(value, (Iterable, NoneType)):
        raise InputError(
            f"laws hold {short_repr(value)}; each must be a law or a number (for data ht.laws.empirical)"
        )
    return value if isinstance(value, Law) else constant(value)


def _laws_by_slot(
    rewards: npt.ArrayLike | None, laws: Sequence[Law], law: npt.ArrayLike | None, n: int
) -> tuple[Ints, list[Law]]:
    """Return the index of the law of each of the n slots, and the laws."""
    if rewards is not None:
        if len(laws) or law is not None:
            raise InputError(
                "an MDP takes the rewards of its slots, or laws and which law each slot has, and not both"
            )
        return _constant_laws(as_floats("rewards", rewards), n)
    if law is None:
        raise InputError("an MDP needs the rewards of its slots, or laws and which law each slot has")
    if not all(isinstance(entry, Law) for entry in laws):
        raise InputError("laws must be laws of heavytail.laws; for plain numbers give rewards instead")
    which = as_ints("law", law)
    if which.shape != (n,) or (n and not 0 <= which.min() <= which.max() < len(laws)):
        raise InputError(f"law must give one of the {len(laws)} laws for each of the {n} slots")
    return which, list(laws)


def _constant_laws(rewards: Floats, n: int) -> tuple[Ints, list[Law]]:
    if rewards.shape != (n,):
        raise InputError(f"rewards must be one number for each of the {n} slots, got shape {rewards.shape}")
    for slot in np.flatnonzero(~np.isfinite(rewards))[:1]:
        raise InputError(
            f"the reward of slot {slot} is {rewards[slot]}; every reward must be a finite number"
        )
    distinct, which = np.unique(rewards, return_inverse=True)
    return which.reshape(-1), [constant(x) for x in distinct]


def _finite_means(laws: Sequence[Law], used: Ints) -> Floats:
    means = np.array([law.mean() for law in laws])
    without = used[~np.isfinite(means[used])]
    if len(without):
        law = laws[without[0]]
        raise InputError(
            f"{law} has no finite mean, so nothing can be learnt from it; its tail index must be above 1"
        )
    return means


def _parse_start(start: npt.ArrayLike, n_states: int) -> tuple[Indices, Floats]:
    p = as_floats("start", start)
    if p.ndim == 0:
        if not (p == np.floor(p) and 0 <= p < n_states):
            raise InputError(f"start is {start!r}; states go from 0 to {n_states - 1}")
        p = np.eye(1, n_states, int(p))[0]
    if p.shape != (n_states,) or not (p >= 0).all() or abs(p.sum() - 1) > SUM_TOLERANCE:
        raise InputError(
            f"start must be a state or {n_states} probabilities that sum to one; it has shape"
            f" {p.shape} and sums to {p.sum():.9g}"
        )
    states = np.flatnonzero(p)
    return states.astype(np.uint32), _cumulative(p[states] / p.sum(), np.array([0, len(states)]))


def _cumulative(p: Floats, offsets: Ints) -> Floats:
    """Sum probabilities within each row; the last is exactly 1, so that every uniform finds a slot.

    One sum over all rows would round more. Long rows are few and summed one by one; for the others, the k-th
    slots of all rows are added at once.
    """
    summed, lengths = p.copy(), np.diff(offsets)
    for row in np.flatnonzero(lengths > LONG_ROW):
        summed[offsets[row] : offsets[row + 1]] = np.cumsum(p[offsets[row] : offsets[row + 1]])
    for k in range(1, LONG_ROW):
        at = offsets[:-1][(k < lengths) & (lengths <= LONG_ROW)] + k
        summed[at] += summed[at - 1]
    summed[offsets[1:] - 1] = 1.0
    return np.minimum(summed, 1.0)


def parse_horizon(horizon: Any, n_stages: int) -> int:
    """Check a horizon; return it as a number, 0 for a continuing problem."""
    number = 0
    if horizon is not None:
        real = isinstance(horizon, numbers.Real) and not isinstance(horizon, bool)
        if not (real and 1 <= horizon <= MAX_COUNT and horizon == int(horizon)):
            raise InputError(
                f"horizon is {short_repr(horizon)}; it must be a whole number, at least 1, or left out for a"
                " continuing problem"
            )
        number = int(horizon)
    if n_stages > 1 and number != n_stages:
        raise InputError(
            f"transitions or rewards have {n_stages} stages but the horizon is {horizon}; the two must agree"
        )
    return number
