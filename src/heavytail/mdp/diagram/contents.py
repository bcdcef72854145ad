"""The contents of a diagram, of the first stage of an MDP: its arrows and the rewards of its states."""

import math
from collections import defaultdict
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from heavytail.laws.constant import Constant
from heavytail.laws.law import Law, laws_from_table
from heavytail.mdp.mdp import MDP

END = -1  # the target of an arrow with which the episode ends, wherever it leads
MAX_PARALLEL = 3
MAX_LOOPS = 2

RewardKind: TypeAlias = Literal["nothing", "fixed", "random", "heavy"]
REWARD_KINDS: tuple[RewardKind, ...] = ("nothing", "fixed", "random", "heavy")  # a later one hides an earlier


class Arrow(NamedTuple):
    """The transition from a state by some actions to a state, or to the `END` of the episode."""

    source: int
    target: int
    actions: tuple[int, ...]
    low: float  # the probability; where actions with different ones share an arrow, the smallest of them
    high: float


class MeanReward(NamedTuple):
    """The expected reward of some actions of a state."""

    actions: tuple[int, ...]
    mean: float
    kind: RewardKind


class Slot(NamedTuple):
    """A successor of a state and action."""

    state: int
    action: int
    target: int
    probability: float
    law: int  # its row in the table of laws


def list_slots(mdp: MDP) -> list[Slot]:
    """Return the slots of the first stage, without those of terminal states."""
    n, terminal = int(mdp.offsets[mdp.n_states * mdp.n_actions]), list(find_terminal_states(mdp))
    state, action = np.divmod(mdp.rows()[:n], mdp.n_actions)
    successors = mdp.successors[:n].astype(np.int64)
    target = np.where(mdp.ends[:n] & ~np.isin(successors, terminal), END, successors)
    columns = (state, action, target, mdp.probabilities()[:n], mdp.law[:n])
    kept = ~np.isin(state, terminal)
    return [Slot(*row) for row in zip(*(column[kept].tolist() for column in columns), strict=True)]


def find_terminal_states(mdp: MDP) -> set[int]:
    """Return the states that are entered only when the episode ends."""
    entered, ended = (set(mdp.successors[mdp.ends == end].tolist()) for end in (False, True))
    return ended - entered - set(mdp.start_states.tolist())


def list_arrows(mdp: MDP) -> list[Arrow]:
    """Return the arrows of the first stage; actions with the same successor and probability share one.

    Where there would be more than three between two states, or more than two loops, they share one too, with
    the range of their probabilities.
    """
    by_pair: dict[tuple[int, int], dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for slot in list_slots(mdp):
        by_pair[slot.state, slot.target][slot.action] += slot.probability
    return [
        arrow for pair, by_action in sorted(by_pair.items()) for arrow in _merge_actions(*pair, by_action)
    ]


def _merge_actions(source: int, target: int, by_action: dict[int, float]) -> list[Arrow]:
    groups: dict[float, list[int]] = defaultdict(list)
    for a, p in sorted(by_action.items()):
        groups[round(p, 9)].append(a)
    if len(groups) > (MAX_LOOPS if source == target else MAX_PARALLEL):
        return [Arrow(source, target, tuple(sorted(by_action)), min(groups), max(groups))]
    return [Arrow(source, target, tuple(actions), p, p) for p, actions in groups.items()]


def list_mean_rewards(mdp: MDP) -> list[list[MeanReward]]:
    """Return for each state the mean rewards of its actions.

    Actions with equal rewards share an entry, those without reward have none.
    """
    kinds = [classify_law(law) for law in laws_from_table(mdp.laws)]
    rows: dict[tuple[int, int], RewardKind] = defaultdict(lambda: "nothing")
    for slot in list_slots(mdp):
        row = slot.state, slot.action
        rows[row] = max(rows[row], kinds[slot.law], key=REWARD_KINDS.index)
    return [_group_actions(mdp, s, [rows[s, a] for a in range(mdp.n_actions)]) for s in range(mdp.n_states)]


def _group_actions(mdp: MDP, s: int, kinds: list[RewardKind]) -> list[MeanReward]:
    groups: dict[tuple[float, RewardKind], list[int]] = defaultdict(list)
    for a, kind in enumerate(kinds):
        if kind != "nothing":
            groups[round(float(mdp.row_means[s * mdp.n_actions + a]), 12), kind].append(a)
    return [MeanReward(tuple(actions), *key) for key, actions in groups.items()]


def classify_law(law: Law) -> RewardKind:
    """Return the kind of rewards that a law gives."""
    if isinstance(law, Constant):
        return "fixed" if law.loc != 0.0 else "nothing"
    return "heavy" if law.tail_index < math.inf else "random"
