"""A tabular MDP as data, and the kernels that step through any of them.

Each row (stage, state, action) owns a run of *slots*; a slot is one possible successor with its probability,
its reward law and whether the episode ends there. So a chain of 100,000 states with two successors each is as
cheap to step through as one of ten, a reward may depend on the next state, and environments differ only in
numbers: none needs a compilation. If transitions and rewards depend on the step h of an episode, there are
`horizon` stages, otherwise one.

A horizon of 0 means a continuing problem, without episodes.
"""

import math
import os
from typing import NamedTuple

import numpy as np

from heavytail.arrays import Bools, Floats, Indices, Ints, Stream, U
from heavytail.errors import InputError
from heavytail.kernels.array_ops import as_index, as_int
from heavytail.kernels.compiling import kernel
from heavytail.kernels.rng import pair, skip_pair, uniform
from heavytail.laws.constant import CONSTANT
from heavytail.laws.table import LawTable, draw_law

MAX_DENSE = 10**9  # numbers in a dense array of transitions


class MDP(NamedTuple):
    """A tabular MDP. Build one with `make_mdp` or the functions of `heavytail.mdp.builders`."""

    offsets: Indices  # [G*S*A + 1]; row (g*S + s)*A + a owns the slots offsets[row] to offsets[row + 1]
    cumulative: Floats  # [N] probabilities, summed within the row
    successors: Indices  # [N]
    ends: Bools  # [N]: no value follows
    law: Indices  # [N] row of `laws`
    laws: LawTable
    row_means: Floats  # [G*S*A] expected reward
    start_states: Indices
    start_cumulative: Floats
    n_states: int
    n_actions: int
    n_stages: int  # G: 1, or the horizon where transitions or rewards depend on h
    horizon: int  # 0: continuing

    def __repr__(self) -> str:
        kind = f"horizon={self.horizon:,}" if self.horizon else "continuing"
        stages = f", {self.n_stages:,} stages" if self.n_stages > 1 else ""
        return f"MDP({self.n_states:,} states, {self.n_actions:,} actions, {kind}{stages})"

    def constant_fields(self) -> tuple[str, ...]:
        """Name all fields: no run changes an MDP."""
        return self._fields

    @property
    def transitions(self) -> Floats:
        """Probabilities [S, A, S], or [H, S, A, S] if they depend on h; dense, so for small MDPs."""
        shape = (self.n_stages, self.n_states, self.n_actions, self.n_states)
        if (cells := math.prod(shape)) > MAX_DENSE:
            raise InputError(
                f"transitions of this MDP would hold {cells:,} numbers; read its offsets, successors"
                " and cumulative instead"
            )
        dense = np.zeros((len(self.row_means), self.n_states))
        np.add.at(dense, (self.rows(), self.successors), self.probabilities())
        return self._by_stage(dense.reshape(shape))

    @property
    def mean_rewards(self) -> Floats:
        """Expected rewards [S, A], or [H, S, A] if they depend on h."""
        return self._by_stage(self.row_means.reshape(self.n_stages, self.n_states, self.n_actions))

    @property
    def start(self) -> Floats:
        """Probabilities [S] of the first state."""
        dense = np.zeros(self.n_states)
        dense[self.start_states] = np.diff(self.start_cumulative, prepend=0.0)
        return dense

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, which `heavytail.load`, `Study` and ``heavytail show`` read.

        Args:
            path: the file; its name ends in ``.npz``.

        >>> import heavytail as ht, tempfile
        >>> path = tempfile.mkdtemp() + "/six_arms.npz"
        >>> ht.make_mdp("six_arms").save(path)
        >>> ht.load(path)
        MDP(7 states, 6 actions, horizon=25)
        """
        from heavytail.mdp.mdp_file import save_mdp  # here, because it knows MDPs of all kinds

        save_mdp(self, path)

    def rows(self) -> Ints:
        """Return the row of each slot, [N]."""
        return np.repeat(np.arange(len(self.row_means)), np.diff(self.offsets))

    def probabilities(self) -> Floats:
        """Return the probability of each slot, [N]."""
        before = np.concatenate([[0.0], self.cumulative[:-1]])
        before[self.offsets[:-1]] = 0.0
        return self.cumulative - before

    def _by_stage(self, array: Floats) -> Floats:
        shown = array if self.n_stages > 1 else array[0]
        return shown.copy()  # not a view, through which the MDP could be changed


# Stepping


@kernel
def find_slot(cumulative: Floats, lower: int, upper: int, u: float) -> int:
    """Find the first slot from `lower` to `upper` whose cumulative probability is above u."""
    while lower < upper:
        middle = (lower + upper) >> 1
        if u < cumulative[U(middle)]:
            upper = middle
        else:
            lower = middle + 1
    return lower


@kernel
def first_state(mdp: MDP, transitions: Stream) -> int:
    """Draw the state in which an episode starts."""
    slot = find_slot(mdp.start_cumulative, 0, mdp.start_cumulative.size - 1, uniform(transitions))
    return as_int(mdp.start_states[U(slot)])


@kernel
def draw(mdp: MDP, slot: int, u: float, e: float) -> float:
    """Make the reward of a slot from a uniform and an exponential."""
    i = as_int(mdp.law[U(slot)])
    return draw_law(as_index(mdp.laws.code[U(i)]), mdp.laws, i, u, e)


@kernel
def reward(mdp: MDP, slot: int, rewards: Stream) -> float:
    """Draw the reward of a slot; a constant one consumes its pair too, so that streams stay in step."""
    i = as_int(mdp.law[U(slot)])
    if as_index(mdp.laws.code[U(i)]) == CONSTANT:
        skip_pair(rewards)
        return mdp.laws.parameters[U(i), 0]
    u, e = pair(rewards)
    return draw(mdp, slot, u, e)


@kernel
def locate_slot(mdp: MDP, s: int, a: int, h: int, transitions: Stream) -> tuple[int, int]:
    """Return the row of (s, a) at step h, and draw one of its slots."""
    stage = h if mdp.n_stages > 1 else 0
    row = U(stage * mdp.n_states + s) * U(mdp.n_actions) + U(a)
    first, last = as_int(mdp.offsets[row]), as_int(mdp.offsets[row + U(1)]) - 1
    return int(row), find_slot(mdp.cumulative, first, last, uniform(transitions))


@kernel
def step(
    mdp: MDP, s: int, a: int, h: int, transitions: Stream, rewards: Stream
) -> tuple[int, float, bool, float]:
    """Draw one transition.

    Returns:
        The next state, the reward, whether the episode ends there, and the expected reward of (s, a).
    """
    row, slot = locate_slot(mdp, s, a, h, transitions)
    return as_int(mdp.successors[slot]), reward(mdp, slot, rewards), mdp.ends[slot], mdp.row_means[U(row)]
