"""The random reward laws of an MDP, grouped by what they have in common."""

from collections import defaultdict
from dataclasses import replace
from typing import NamedTuple

from heavytail.laws.constant import Constant
from heavytail.laws.law import Law, laws_from_table
from heavytail.mdp.diagram.contents import RewardKind, classify_law, list_slots
from heavytail.mdp.diagram.text import format_actions, format_integers
from heavytail.mdp.mdp import MDP

Cell = tuple[int, int]  # a state and an action


class LawFamily(NamedTuple):
    """Laws that differ only in their location."""

    laws: list[Law]  # by ascending mean
    kind: RewardKind
    states: list[str]  # where they give rewards, and for which actions if not for all

    @property
    def means(self) -> list[float]:
        """The distinct means, ascending."""
        return sorted({round(law.mean(), 12) for law in self.laws})


def group_laws(mdp: MDP) -> list[LawFamily]:
    """Return the families of the random laws of the first stage, heavy-tailed ones first."""
    laws, cells = laws_from_table(mdp.laws), _cells_by_law(mdp)
    alike: dict[tuple[str, bytes], list[int]] = defaultdict(list)
    for i in sorted(cells):
        if not isinstance(laws[i], Constant):
            alike[laws[i].name, _shape(laws[i])].append(i)
    families = [
        LawFamily(
            laws=sorted((laws[i] for i in rows), key=lambda law: law.mean()),
            kind=classify_law(laws[rows[0]]),
            states=_format_cells(set().union(*(cells[i] for i in rows)), mdp.n_actions),
        )
        for rows in alike.values()
    ]
    return sorted(families, key=lambda family: family.kind != "heavy")


def _shape(law: Law) -> bytes:
    """Return what is left of a law without its location."""
    centred = replace(law, loc=0.0)  # type: ignore[type-var]  # every law is a dataclass
    return repr(centred.row()).encode() + centred.data().tobytes()


def _cells_by_law(mdp: MDP) -> dict[int, set[Cell]]:
    cells: dict[int, set[Cell]] = defaultdict(set)
    for slot in list_slots(mdp):
        cells[slot.law].add((slot.state, slot.action))
    return cells


def _format_cells(cells: set[Cell], n_actions: int) -> list[str]:
    by_state: dict[int, list[int]] = defaultdict(list)
    for s, a in sorted(cells):
        by_state[s].append(a)
    whole = format_integers(s for s, actions in by_state.items() if len(actions) == n_actions)
    partly = [
        f"{s} ({format_actions(actions, n_actions)})"
        for s, actions in by_state.items()
        if len(actions) < n_actions
    ]
    return [*(whole.split(", ") if whole else []), *partly]
