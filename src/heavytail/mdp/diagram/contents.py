"""The contents of a diagram of an MDP's first step: arrows, rewards and laws, as short texts."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from heavytail.arrays import Floats
from heavytail.laws.constant import Constant, constant
from heavytail.laws.empirical import empirical
from heavytail.laws.law import Law, law_table, laws_from_table
from heavytail.mdp.from_log import LoggedMDP
from heavytail.mdp.mdp import MDP

RewardKind: TypeAlias = Literal["nothing", "fixed", "random", "heavy"]
REWARD_KINDS: tuple[RewardKind, ...] = ("nothing", "fixed", "random", "heavy")  # a later one hides an earlier

START, END = -2, -1  # where an arrow into a start state comes from, and where one that ends the episode leads
MAX_PARALLEL, MAX_LOOPS, MAX_LINES, MAX_NAMED = 3, 2, 4, 6


class Arrow(NamedTuple):
    """The transition from a state, or the `START`, by some actions to a state, or the `END`."""

    source: int
    target: int
    actions: tuple[int, ...]
    low: float  # the probability; where actions with different ones share an arrow, the smallest of them
    high: float


class Slot(NamedTuple):
    """A successor of a state and action."""

    state: int
    action: int
    target: int
    probability: float
    law: int  # its row in the table of laws


def list_slots(mdp: MDP) -> Iterator[Slot]:
    """Yield the slots of the first step, without those of terminal states."""
    n, terminal = int(mdp.offsets[mdp.n_states * mdp.n_actions]), find_terminal_states(mdp)
    columns = (mdp.rows(), mdp.successors, mdp.ends, mdp.probabilities(), mdp.law)
    for row, successor, ends, p, law in zip(*(column[:n].tolist() for column in columns), strict=True):
        state, action = divmod(row, mdp.n_actions)
        if state not in terminal:
            yield Slot(state, action, END if ends and successor not in terminal else successor, p, law)


def find_terminal_states(mdp: MDP) -> set[int]:
    """Return the states that are entered only when the episode ends."""
    entered, ended = (set(mdp.successors[mdp.ends == end].tolist()) for end in (False, True))
    return ended - entered - set(mdp.start_states.tolist())


def list_arrows(mdp: MDP) -> list[Arrow]:
    """Return the arrows of the first step; actions with the same successor and probability share one.

    Where there would be more than three between two states, or more than two loops, they share one too, with
    the range of their probabilities.
    """
    by_pair: dict[tuple[int, int], dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for slot in list_slots(mdp):
        by_pair[slot.state, slot.target][slot.action] += slot.probability
    everything, start = tuple(range(mdp.n_actions)), mdp.start.tolist()
    arrows = [Arrow(START, s, everything, start[s], start[s]) for s in mdp.start_states.tolist()]
    for (source, target), by_action in sorted(by_pair.items()):
        groups: dict[float, list[int]] = defaultdict(list)
        for a, p in sorted(by_action.items()):
            groups[round(p, 9)].append(a)
        if len(groups) > (MAX_LOOPS if source == target else MAX_PARALLEL):
            arrows.append(Arrow(source, target, tuple(sorted(by_action)), min(groups), max(groups)))
        else:
            arrows += [Arrow(source, target, tuple(actions), p, p) for p, actions in groups.items()]
    return arrows


def list_rewards(mdp: MDP) -> list[tuple[RewardKind, str]]:
    """Return the kind of rewards of each state, and the mean rewards of its actions as a text."""
    laws = [classify_law(law) for law in laws_from_table(mdp.laws)]
    kinds: list[RewardKind] = ["nothing"] * mdp.n_states
    by_mean: list[dict[float, set[int]]] = [defaultdict(set) for _ in kinds]
    for slot in list_slots(mdp):
        kinds[slot.state] = max(kinds[slot.state], laws[slot.law], key=REWARD_KINDS.index)
        if laws[slot.law] != "nothing":
            mean = float(mdp.row_means[slot.state * mdp.n_actions + slot.action])
            by_mean[slot.state][round(mean, 12)].add(slot.action)
    return [(kind, _format_rewards(each, mdp.n_actions)) for kind, each in zip(kinds, by_mean, strict=True)]


def classify_law(law: Law) -> RewardKind:
    """Return the kind of rewards that a law gives."""
    if isinstance(law, Constant):
        return "fixed" if law.loc != 0.0 else "nothing"
    return "heavy" if law.tail_index < math.inf else "random"


def _format_rewards(by_mean: dict[float, set[int]], n_actions: int) -> str:
    """Write at most four lines; where there were more, those of the largest means."""
    most = len(by_mean) if len(by_mean) <= MAX_LINES else MAX_LINES - 1
    shown = sorted(sorted(by_mean, reverse=True)[:most], key=lambda mean: min(by_mean[mean]))
    actions = [format_actions(by_mean[mean], n_actions) for mean in shown]
    which = ["" if text == "any" else f"({text})" for text in actions]
    lines = [f"r{text} = {format_number(mean)}" for text, mean in zip(which, shown, strict=True)]
    return "\n".join([*lines, *([f"and {len(by_mean) - most} less"] if most < len(by_mean) else [])])


class LawFamily(NamedTuple):
    """Laws that differ only in their location: one of them, and a description of all."""

    kind: RewardKind
    law: Law
    about: str


def group_laws(mdp: MDP) -> list[LawFamily]:
    """Return the families of the random laws of the first step, heavy-tailed ones first."""
    laws = laws_from_table(mdp.laws)
    alike: dict[tuple[str, bytes], dict[int, set[tuple[int, int]]]] = defaultdict(lambda: defaultdict(set))
    for slot in sorted(list_slots(mdp), key=lambda slot: slot.law):
        if not isinstance(law := laws[slot.law], Constant):
            centred = replace(law, loc=0.0)  # type: ignore[type-var]  # every law is a dataclass
            shape = law.name, repr(centred.row()).encode() + centred.data().tobytes()
            alike[shape][slot.law].add((slot.state, slot.action))
    families = []
    for cells in alike.values():
        family = sorted((laws[i] for i in cells), key=lambda law: law.mean())
        where = _say_where(set().union(*cells.values()), mdp.n_actions)
        about = f"{_describe(family)}\n{where}"
        families.append(LawFamily(classify_law(family[-1]), family[-1], about))
    return sorted(families, key=lambda family: family.kind != "heavy")


def _describe(laws: list[Law]) -> str:
    index = laws[0].tail_index
    tail = f"tail index {format_number(index)}" if index < math.inf else "all moments finite"
    tail += ", infinite variance" if index <= 2.0 else ""
    told = f"{n:,} samples" if (n := len(laws[0].data())) else tail
    means = list(dict.fromkeys(format_number(law.mean()) for law in laws))
    shown = ", ".join(means) if len(means) <= MAX_NAMED else f"{means[0]} to {means[-1]}"
    drawn = f"means {shown}, of which the last is drawn" if len(means) > 1 else f"mean {shown}"
    return f"{laws[0].name}, {told}\n{drawn}"


def _say_where(cells: set[tuple[int, int]], n_actions: int) -> str:
    by_state: dict[int, list[int]] = defaultdict(list)
    for s, a in sorted(cells):
        by_state[s].append(a)
    whole = [s for s, actions in by_state.items() if len(actions) == n_actions]
    parts = [format_integers(whole)] if whole else []
    parts += [f"{s} ({format_actions(by_state[s], n_actions)})" for s in by_state if s not in whole]
    others = " and others" if len(parts) > MAX_NAMED else ""
    return f"in state{'s' * (len(by_state) > 1)} {', '.join(parts[:MAX_NAMED])}{others}"


def pool_laws(log: LoggedMDP) -> MDP:
    """Return the MDP of a log with one law for each state and action, of all rewards that it earned."""
    mdp, laws = log.mdp, laws_from_table(log.mdp.laws)
    rows = mdp.rows()
    visits = np.rint(mdp.probabilities() * log.counts.ravel()[rows]).astype(np.int64)
    earned: dict[int, list[Floats]] = defaultdict(list)
    for row, i, n in zip(rows.tolist(), mdp.law.tolist(), visits.tolist(), strict=True):
        earned[row].append(data if len(data := laws[i].data()) else np.full(max(n, 1), laws[i].mean()))
    pooled = [np.concatenate(earned[row]) for row in range(len(mdp.row_means))]
    each = [empirical(rewards) if np.ptp(rewards) else constant(float(rewards[0])) for rewards in pooled]
    return mdp._replace(law=rows.astype(np.uint32), laws=law_table(each))


def format_arrow(arrow: Arrow, n_actions: int) -> str:
    """Return the label of an arrow, which may be empty.

    A single action is shown by the style of its line, and a certain transition needs no number.
    """
    actions = format_actions(arrow.actions, n_actions) if 1 < len(arrow.actions) < n_actions else ""
    probability = "" if arrow.low == arrow.high == 1.0 else format_number(arrow.low)
    if arrow.high > arrow.low:
        probability += f" to {format_number(arrow.high)}"
    return ": ".join(filter(None, (actions, probability)))


def format_number(x: float) -> str:
    """Format a number with three digits and a real minus sign.

    >>> [format_number(x) for x in (-0.1, 1.0, 0.99849, 1234567)]
    ['−0.1', '1', '0.998', '1.23e+06']
    """
    return f"{x:.3g}".replace("-", "−", 1) if x < 0 else f"{x:.3g}"


def format_integers(numbers: Iterable[int], prefix: str = "") -> str:
    """List integers, with runs of three and more shortened.

    >>> format_integers([1, 2, 3, 5, 6])
    '1–3, 5, 6'
    """
    runs: list[list[int]] = []
    for n in sorted(numbers):
        if not runs or n != runs[-1][-1] + 1:
            runs.append([])
        runs[-1].append(n)
    names = [[f"{prefix}{n}" for n in run] for run in runs]
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 2 else ", ".join(run) for run in names)


def format_actions(actions: Iterable[int], n_actions: int) -> str:
    """List some of the actions.

    >>> [format_actions(some, 6) for some in ([2], [1, 2, 3, 4, 5], [0, 1, 3, 4, 5], [0, 1, 4], range(6))]
    ['a2', 'a1–a5', 'not a2', 'a0, a1, a4', 'any']
    """
    text, missing = format_integers(actions, "a"), set(range(n_actions)) - set(actions)
    if not missing:
        return "any"
    return f"not a{min(missing)}" if len(missing) == 1 and "," in text else text
