"""Build an MDP from a log: its transitions, with their observed frequencies.

A log is a table with a row for each transition: state, action, reward, next state, and optionally whether the
episode ended there. The probabilities of the MDP are shares of rows, and its reward laws resample the logged
rewards of each (state, action, next state): so its tails are those seen in the data.
"""

import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from heavytail.arrays import Bools, Floats, Ints
from heavytail.checks import cast_value
from heavytail.errors import InputError, and_more, short_repr, suggestion
from heavytail.laws.constant import CONSTANT, constant
from heavytail.laws.table import COLUMNS, LawTable, law_code
from heavytail.mdp.builders import mdp_from_slots, parse_horizon, require_memory_for_slots
from heavytail.mdp.labels import Labels
from heavytail.mdp.log_rows import Column, LogColumns, LogRows, read_log
from heavytail.mdp.mdp import MDP

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class LoggedMDP:
    """An MDP made from a log, with the log's labels; made by `mdp_from_log`.

    `make_agent`, `Study` and `heavytail.gym.MDPEnv` accept it like an MDP; everything else takes its `mdp`.

    Attributes:
        mdp: the MDP, whose states and actions are counted from 0.
        states: the label of each state; a tuple if it spans several columns.
        actions: the label of each action.
        counts: [S, A] how often each action was taken in each state.
        filled: [S, A] whether it never was, and its outcome was specified by hand.
    """

    mdp: MDP
    states: tuple[Hashable, ...]
    actions: tuple[Hashable, ...]
    counts: Ints
    filled: Bools

    def __repr__(self) -> str:
        size = f"{len(self.states):,} states, {len(self.actions):,} actions"
        cells = f"{self.filled.sum():,} of {self.filled.size:,} cells unvisited"
        return f"LoggedMDP({size}, {self.counts.sum():,} transitions, {cells})"

    def __getattr__(self, name: str) -> Any:
        where = "; its mdp has: give that, `.mdp`, instead of the log" if hasattr(MDP, name) else ""
        raise AttributeError(f"LoggedMDP has no {name!r}{where}")

    @property
    def unvisited(self) -> list[tuple[Hashable, Hashable]]:
        """The states and actions missing from the log, by their labels."""
        return [(self.states[s], self.actions[a]) for s, a in np.argwhere(self.filled)]

    def state(self, label: Hashable) -> int:
        """Return the number of the state with this label."""
        return self._state_labels.code(label, "state")

    def action(self, label: Hashable) -> int:
        """Return the number of the action with this label."""
        return self._action_labels.code(label, "action")

    def to_frame(self) -> "pd.DataFrame":
        """Return a table of all states and actions: labels, how often they were seen, mean reward."""
        import pandas as pd  # here, because it takes a third of a second

        cells = [(s, a) for s in self.states for a in self.actions]
        labels = {"state": [s for s, _ in cells], "action": [a for _, a in cells]}
        return pd.DataFrame({**labels, "n": self.counts.ravel(), "mean_reward": self.mdp.row_means})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it with its labels to a file, as `MDP.save` does.

        Labels that are not numbers, texts or tuples of them are written as texts.
        """
        from heavytail.mdp.mdp_file import save_mdp  # here, because it knows MDPs of all kinds

        save_mdp(self, path)

    @cached_property
    def _state_labels(self) -> Labels:
        return Labels(self.states)

    @cached_property
    def _action_labels(self) -> Labels:
        return Labels(self.actions)


Unvisited: TypeAlias = Literal["error", "stay", "end"]
MAX_LISTED = 3  # cells in a message


def mdp_from_log(
    frame: Any,
    *,
    state: Column,
    action: Column,
    reward: str,
    next_state: Column | None = None,
    terminated: str | None = None,
    episode: str | None = None,
    start: Any = None,
    horizon: int | None = None,
    unvisited: Unvisited = "error",
    unvisited_reward: float | None = None,
) -> LoggedMDP:
    """Build an MDP from a log of transitions, with the logged rewards as its laws.

    Args:
        frame: a pandas or polars DataFrame, a pyarrow table, a dictionary of columns, or the path of a
            Parquet or CSV file; a row is a transition.
        state: the column of the state, or several that together form the state.
        action: the column of the action, or several.
        reward: the column of the reward.
        next_state: the column of the next state, or as many as the state has; if omitted, each row is an
            episode of one step, as in the log of a bandit, and the horizon is 1.
        terminated: the column that says whether the episode ended with this transition; needs a horizon.
        episode: the column that tells episodes apart: the MDP starts where they start. Without it, a row that
            does not continue from the previous row begins an episode.
        start: alternatively, the state in which the MDP starts, or a dictionary of states and probabilities.
        horizon: steps in an episode; without it the problem is continuing.
        unvisited: what happens if an action was never taken in a state: an "error"; the state does not
            change ("stay"), which keeps planning away from it; or the episode comes to its "end", which
            keeps planning away only if rewards are above 0.
        unvisited_reward: the reward there; by default the lowest mean reward of the log.

    >>> import heavytail as ht
    >>> log = {"load": ["low", "low", "high", "high"], "server": ["a", "b", "a", "a"]}
    >>> log |= {"reward": [-1.0, -2.0, -3.0, -40.0], "then": ["low", "high", "low", "high"]}
    >>> columns = {"state": "load", "action": "server", "reward": "reward", "next_state": "then"}
    >>> router = ht.mdp_from_log(log, **columns, start="low", horizon=10, unvisited="stay")
    >>> router
    LoggedMDP(2 states, 2 actions, 4 transitions, 1 of 4 cells unvisited)
    >>> router.unvisited
    [('high', 'b')]
    >>> ht.planning.optimal_value(router.mdp)
    -10.0
    >>> learner = ht.make_agent(router, seed=0)
    """
    if unvisited not in get_args(Unvisited):
        choices = suggestion(str(unvisited), get_args(Unvisited))
        raise InputError(f"mdp_from_log: unvisited is {short_repr(unvisited)}; {choices}")
    rows = read_log(frame, LogColumns(state, action, reward, next_state, terminated, episode))
    if next_state is None:
        if horizon not in (None, 1):
            raise InputError(
                f"mdp_from_log: horizon is {short_repr(horizon)}, but without next_state= each row is an"
                " episode of one step"
            )
        horizon = 1
    if parse_horizon(horizon, 1) == 0 and (unvisited == "end" or rows.ended.any()):
        raise InputError("mdp_from_log: episodes end here, so give horizon=, the most steps in an episode")
    shape = len(rows.states), len(rows.actions)
    counts = np.bincount(rows.s * shape[1] + rows.a, minlength=shape[0] * shape[1]).reshape(shape)
    starts = _start_distribution(rows, start)
    terminal = _terminal_states(rows, starts)
    filled = (counts == 0) & ~terminal[:, None]
    if unvisited == "error" and filled.any():
        raise InputError(_unvisited_message(rows, filled))
    seen, rewards = _seen_slots(rows)
    cost = float(seen.mean().min()) if unvisited_reward is None else unvisited_reward
    filler = cast_value(cost, float, "mdp_from_log: unvisited_reward")
    slots = _with_filler(seen, counts, filled, ends=unvisited == "end", reward=filler)
    samples = rewards[np.repeat(seen.low != seen.high, seen.n)]
    mdp = _make_mdp(slots, samples, shape, starts, horizon)
    return LoggedMDP(mdp, rows.states, rows.actions, counts, filled)


def _start_distribution(rows: LogRows, start: Any) -> Floats:
    """Return the probabilities [S] of the first state."""
    if start is None:
        begun = np.bincount(rows.s[rows.begins], minlength=len(rows.states))
        return begun / begun.sum()
    labels = Labels(rows.states)
    given = start if isinstance(start, Mapping) else {start: 1.0}
    p = np.zeros(len(rows.states))
    for label, probability in given.items():
        p[labels.code(label, "state")] = cast_value(probability, float, f"start: {short_repr(label)}")
    return p


def _terminal_states(rows: LogRows, start: Floats) -> Bools:
    """Find the states entered only when an episode ends: no action is taken there."""
    alive = start > 0
    alive[rows.s] = True
    alive[rows.s_next[~rows.ended]] = True
    return ~alive


def _unvisited_message(rows: LogRows, filled: Bools) -> str:
    cells = np.argwhere(filled)
    some = ", ".join(f"{rows.actions[a]!r:.40} in {rows.states[s]!r:.40}" for s, a in cells[:MAX_LISTED])
    more = and_more(len(cells) - MAX_LISTED)
    return (
        f"mdp_from_log: the log does not show {some}{more}; say what happens there:"
        " unvisited='stay' (nothing, for the lowest mean reward of the log, or unvisited_reward=) or"
        " unvisited='end' (the episode ends)"
    )


class _Slots(NamedTuple):
    """Groups of equal transitions: the same state, action, next state and end."""

    row: Ints  # ascending
    successor: Ints
    ends: Bools
    n: Ints  # how many
    total: Floats  # of their rewards
    low: Floats
    high: Floats

    def mean(self) -> Floats:
        return self.total / self.n


def _seen_slots(rows: LogRows) -> tuple[_Slots, Floats]:
    """Return the slots of a log, and its rewards slot by slot."""
    n_states, n_actions = len(rows.states), len(rows.actions)
    key = ((rows.s * n_actions + rows.a) * n_states + rows.s_next) * 2 + rows.ended
    order = np.argsort(key, kind="stable")
    key, r = key[order], rows.r[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    transition, ended = np.divmod(key[first], 2)
    row, successor = np.divmod(transition, n_states)
    n = np.diff(first, append=len(key))
    with np.errstate(over="ignore"):  # it is checked below
        total, low, high = (ufunc.reduceat(r, first) for ufunc in (np.add, np.minimum, np.maximum))
    if not np.isfinite(total).all():
        raise InputError("mdp_from_log: the rewards are too large to be averaged; give them another unit")
    return _Slots(row, successor, ended == 1, n, total, low, high), r


def _with_filler(seen: _Slots, counts: Ints, filled: Bools, *, ends: bool, reward: float) -> _Slots:
    """Add a slot to every cell that has none, leading back to its state, since a row must have one.

    Those of terminal states are never reached: they end the episode and pay nothing.
    """
    missing = np.flatnonzero(counts.ravel() == 0)
    known = filled.ravel()[missing]  # not of a terminal state
    pay = np.where(known, reward, 0.0)
    added = _Slots(
        missing, missing // counts.shape[1], ~known | ends, np.ones(len(missing), np.int64), pay, pay, pay
    )
    both = [np.concatenate(pair) for pair in zip(seen, added, strict=True)]
    order = np.argsort(both[0], kind="stable")
    return _Slots(*(column[order] for column in both))


def _make_mdp(
    slots: _Slots, samples: Floats, shape: tuple[int, int], start: Floats, horizon: int | None
) -> MDP:
    """Make the MDP of some slots; `samples` are the rewards of those that have different ones."""
    require_memory_for_slots("this log", len(slots.row))
    n_states, n_actions = shape
    share = slots.n / np.bincount(slots.row, slots.n)[slots.row]
    mdp = mdp_from_slots(
        slots.row,
        slots.successor,
        share,
        laws=[constant(0.0)],  # placeholder for the laws below, which are too many for objects
        law=np.zeros(len(slots.row)),
        n_states=n_states,
        n_actions=n_actions,
        ends=slots.ends,
        start=start,
        horizon=horizon,
    )
    which, laws = _make_laws(slots, samples)
    means = np.bincount(slots.row, share * slots.mean()).astype(np.float64)
    return mdp._replace(law=which.astype(np.uint32), laws=laws, row_means=means)


def _make_laws(slots: _Slots, samples: Floats) -> tuple[Ints, LawTable]:
    """Return the law of each slot, and the laws: distinct constants, then those that resample.

    `samples` are the rewards of the slots that have different ones, slot by slot.
    """
    same = slots.low == slots.high
    values, which_value = np.unique(slots.low[same], return_inverse=True)
    n_laws = len(values) + int((~same).sum())
    which = np.empty(len(same), np.int64)
    which[same], which[~same] = which_value, np.arange(len(values), n_laws)
    lengths = slots.n[~same]
    code = np.full(n_laws, law_code("empirical"), np.int64)
    code[: len(values)] = CONSTANT
    parameters = np.zeros((n_laws, COLUMNS))
    parameters[: len(values), 0] = values
    parameters[len(values) :, 1] = 1.0  # the scale
    parameters[len(values) :, COLUMNS - 2] = np.cumsum(lengths) - lengths
    parameters[len(values) :, COLUMNS - 1] = lengths
    return which, LawTable(code, parameters, samples)
