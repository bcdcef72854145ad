"""Colours and lines: one for each action, one for each kind of reward."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from heavytail.mdp.diagram.contents import RewardKind

Dashes: TypeAlias = Literal["-"] | tuple[float, tuple[float, ...]]


class Style(NamedTuple):
    """The style of an arrow."""

    colour: str
    dashes: Dashes


class RewardStyle(NamedTuple):
    """The colours of a kind of rewards, and its name in the legend."""

    ink: str
    fill: str
    meaning: str


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

REWARD_STYLES: dict[RewardKind, RewardStyle] = {
    "nothing": RewardStyle("#444444", "white", "no reward"),
    "fixed": RewardStyle("#444444", "#DDDDDD", "fixed reward"),
    "random": RewardStyle("#0060A0", "#C9E3F5", "random reward"),
    "heavy": RewardStyle("#C22F00", "#FBCDB8", "heavy-tailed reward"),
}


def action_style(actions: Sequence[int], n_actions: int) -> Style:
    """Return the line of one action, of several, or of all."""
    if len(actions) == n_actions:
        return ANY
    if len(actions) > 1:
        return SEVERAL
    a = actions[0]
    return Style(COLOURS[a % len(COLOURS)], DASHES[(a + a // len(COLOURS)) % len(DASHES)])
