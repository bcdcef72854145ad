"""Colours and lines: one for each action, one for each way to pay."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from heavytail.mdp.diagram.contents import Pay

Dashes: TypeAlias = Literal["-"] | tuple[float, tuple[float, ...]]


class Style(NamedTuple):
    """How an arrow is drawn."""

    colour: str
    dashes: Dashes


# Action 0 is dashed and action 1 solid, as in both figures of the paper.
DASHES: tuple[Dashes, ...] = (
    (0, (4, 2)),
    "-",
    (0, (1.2, 1.3)),
    (0, (5, 1.5, 1.2, 1.5)),
    (0, (8, 2)),
    (0, (4, 1.2, 1, 1.2, 1, 1.2)),
)
COLOURS = ("#0072B2", "#B35900", "#00875F", "#B0528A", "#7A5CC8", "#5E7A00")
ANY = Style("black", "-")
SEVERAL = Style("#777777", "-")

INK: dict[Pay, str] = {"nothing": "#444444", "fixed": "#444444", "random": "#0060A0", "heavy": "#C22F00"}
FILL: dict[Pay, str] = {"nothing": "white", "fixed": "#DDDDDD", "random": "#C9E3F5", "heavy": "#FBCDB8"}
MEANING: dict[Pay, str] = {
    "nothing": "pays nothing",
    "fixed": "fixed reward",
    "random": "random reward",
    "heavy": "heavy-tailed reward",
}


def action_style(actions: Sequence[int], n_actions: int) -> Style:
    """The line of one action, of several, or of all."""
    if len(actions) == n_actions:
        return ANY
    if len(actions) > 1:
        return SEVERAL
    a = actions[0]
    return Style(COLOURS[a % len(COLOURS)], DASHES[(a + a // len(COLOURS)) % len(DASHES)])
