"""What a picture shows of an MDP: its arrows, what its states pay, and the kinds of its laws."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from heavytail.arrays import Floats
from heavytail.laws.table import law_code
from heavytail.mdp.mdp import MDP
from heavytail.registry import registered

END = -1  # the target of an arrow with which the episode ends, wherever it leads
MAX_PARALLEL = 3
MAX_LOOPS = 2
MAX_LINES = 4

Pay: TypeAlias = Literal["nothing", "fixed", "random", "heavy"]
PAYS: tuple[Pay, ...] = (
    "nothing",
    "fixed",
    "random",
    "heavy",
)  # in ascending order of what deserves to be seen

# The tail index of the laws whose row of parameters tells it; one that is not here may have any tail.
TAILS: dict[str, Callable[[Floats], float]] = {
    "alpha_stable": lambda row: float(row[2]) if row[2] < 2.0 else math.inf,
    "bernoulli": lambda row: math.inf,
    "constant": lambda row: math.inf,
    "empirical": lambda row: math.inf,
    "log_normal": lambda row: math.inf,
    "normal": lambda row: math.inf,
    "pareto": lambda row: 1.0 / float(row[2]),
    "student_t": lambda row: float(row[2]),
}


class Arrow(NamedTuple):
    """From a state by some actions to a state, or to the `END` of the episode."""

    source: int
    target: int
    actions: tuple[int, ...]
    low: float  # the probability; where actions with different ones share an arrow, the smallest of them
    high: float


class Payment(NamedTuple):
    """What some actions of a state pay on average."""

    actions: tuple[int, ...]
    mean: float
    pay: Pay


class Slots(NamedTuple):
    """The slots of the first stage."""

    state: Sequence[int]
    action: Sequence[int]
    target: Sequence[int]
    probability: Sequence[float]
    law: Sequence[int]


def slots_of(mdp: MDP) -> Slots:
    """The slots of the first stage, without those of states in which nobody acts."""
    n, terminal = int(mdp.offsets[mdp.n_states * mdp.n_actions]), terminal_states(mdp)
    state, action = np.divmod(mdp.rows()[:n], mdp.n_actions)
    inside = np.isin(mdp.successors[:n], list(terminal))
    target = np.where(mdp.ends[:n] & ~inside, END, mdp.successors[:n].astype(np.int64))
    acted = ~np.isin(state, list(terminal))
    columns = (state, action, target, mdp.probabilities()[:n], mdp.law[:n])
    return Slots(*(column[acted].tolist() for column in columns))


def terminal_states(mdp: MDP) -> set[int]:
    """States that are entered only when the episode ends."""
    entered, ended = (set(mdp.successors[mdp.ends == end].tolist()) for end in (False, True))
    return ended - entered - set(mdp.start_states.tolist())


def arrows_of(mdp: MDP) -> list[Arrow]:
    """The arrows of the first stage; actions with the same successor and probability share one.

    Where there would be more than three between two states, or more than two loops, they share one too, with
    the range of their probabilities.
    """
    slots = slots_of(mdp)
    by_pair: dict[tuple[int, int], dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for s, a, target, p in zip(slots.state, slots.action, slots.target, slots.probability, strict=True):
        by_pair[s, target][a] += p
    return [
        arrow for (s, target), chances in sorted(by_pair.items()) for arrow in _merged(s, target, chances)
    ]


def _merged(source: int, target: int, chances: dict[int, float]) -> list[Arrow]:
    groups: dict[float, list[int]] = defaultdict(list)
    for a, p in sorted(chances.items()):
        groups[round(p, 9)].append(a)
    if len(groups) > (MAX_LOOPS if source == target else MAX_PARALLEL):
        return [Arrow(source, target, tuple(sorted(chances)), min(groups), max(groups))]
    return [Arrow(source, target, tuple(actions), p, p) for p, actions in groups.items()]


def payments_of(mdp: MDP) -> list[list[Payment]]:
    """For each state what its actions pay.

    Actions that pay the same share a line, those that pay nothing have none.
    """
    slots, kinds = slots_of(mdp), pays_of_laws(mdp)
    rows: dict[tuple[int, int], Pay] = defaultdict(lambda: "nothing")
    for s, a, i in zip(slots.state, slots.action, slots.law, strict=True):
        rows[s, a] = max(rows[s, a], kinds[i], key=PAYS.index)
    payments: list[list[Payment]] = []
    for s in range(mdp.n_states):
        groups: dict[tuple[float, Pay], list[int]] = defaultdict(list)
        for a in range(mdp.n_actions):
            if rows[s, a] != "nothing":
                groups[round(float(mdp.row_means[s * mdp.n_actions + a]), 12), rows[s, a]].append(a)
        payments.append([Payment(tuple(groups[key]), *key) for key in groups])
    return payments


def pays_of_laws(mdp: MDP) -> list[Pay]:
    """How each law of the table pays."""
    return [_pay(kind, row) for kind, row in zip(kinds_of_laws(mdp), mdp.laws.parameters, strict=True)]


def kinds_of_laws(mdp: MDP) -> list[str]:
    """The name of each law of the table."""
    names = {law_code(r.name): r.name for r in registered("law")}
    return [names.get(code, "a law of its own") for code in mdp.laws.code.tolist()]


def _pay(kind: str, row: Floats) -> Pay:
    if kind == "constant":
        return "fixed" if row[0] != 0.0 else "nothing"
    return "heavy" if kind in TAILS and TAILS[kind](row) < math.inf else "random"


# In words


def actions_in_words(actions: Sequence[int], n_actions: int) -> str:
    """Some of the actions, shortly.

    >>> [actions_in_words(some, 6) for some in ([2], [1, 2, 3, 4, 5], [0, 1, 3, 4, 5], [0, 1, 4], range(6))]
    ['a2', 'a1–a5', 'not a2', 'a0, a1, a4', 'any']
    """
    if len(actions) == n_actions:
        return "any"
    runs = numbers_in_words(actions, "a")
    missing = sorted(set(range(n_actions)) - set(actions))
    return f"not a{missing[0]}" if len(missing) == 1 and "," in runs else runs


def numbers_in_words(numbers: Iterable[int], letter: str = "") -> str:
    """Whole numbers with runs of three and more shortened.

    >>> numbers_in_words([1, 2, 3, 5, 6])
    '1–3, 5, 6'
    """
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = [[f"{letter}{r[0]}–{letter}{r[-1]}"] if len(r) > 2 else [f"{letter}{n}" for n in r] for r in runs]
    return ", ".join(part for each in parts for part in each)


def number_in_words(x: float) -> str:
    """Three digits, with a real minus sign.

    >>> [number_in_words(x) for x in (-0.1, 1.0, 0.99849, 1234567)]
    ['−0.1', '1', '0.998', '1.23e+06']
    """
    return f"{x:.3g}".replace("-", "−", 1) if x < 0 else f"{x:.3g}"


def arrow_in_words(arrow: Arrow, n_actions: int) -> str:
    """The label of an arrow.

    A single action is told by its line and a certain transition needs no number, so it may be empty.
    """
    several = 1 < len(arrow.actions) < n_actions
    chance = "" if arrow.low == arrow.high == 1.0 else number_in_words(arrow.low)
    if arrow.high > arrow.low:
        chance += f" to {number_in_words(arrow.high)}"
    return ": ".join(
        part for part in (actions_in_words(arrow.actions, n_actions) if several else "", chance) if part
    )


def payment_lines(payments: Sequence[Payment], n_actions: int) -> list[str]:
    """The label of a state: at most four lines, where there are more those that pay best."""
    best = sorted(payments, key=lambda p: -p.mean)[: MAX_LINES - 1]
    shown = payments if len(payments) <= MAX_LINES else [p for p in payments if p in best]
    lines = [f"r{_of_actions(p.actions, n_actions)} = {number_in_words(p.mean)}" for p in shown]
    return lines + ([f"and {len(payments) - len(shown)} less"] if len(shown) < len(payments) else [])


def _of_actions(actions: Sequence[int], n_actions: int) -> str:
    words = actions_in_words(actions, n_actions)
    return "" if words == "any" else f"({words})"
