"""Colours and lines: one for each action, one for each kind of reward."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

RewardKind: TypeAlias = Literal["nothing", "fixed", "random", "heavy"]
REWARD_KINDS: tuple[RewardKind, ...] = ("nothing", "fixed", "random", "heavy")  # a later one hides an earlier
# The colours of a kind's texts and circles, and its name in the legend.
INKS = {"nothing": "#444444", "fixed": "#444444", "random": "#0060A0", "heavy": "#C22F00"}
FILLS = {"nothing": "white", "fixed": "#DDDDDD", "random": "#C9E3F5", "heavy": "#FBCDB8"}
MEANINGS = {"fixed": "fixed reward", "random": "random reward", "heavy": "heavy-tailed reward"}


class Style(NamedTuple):
    """The style of an arrow."""

    colour: str
    dashes: Literal["-"] | tuple[float, tuple[float, ...]]


# Action 0 is dashed and action 1 solid, as in both figures of the paper.
DASHES = ((4, 2), (), (1.2, 1.3), (5, 1.5, 1.2, 1.5), (8, 2), (4, 1.2, 1, 1.2, 1, 1.2))
COLOURS = ("#0072B2", "#B35900", "#00875F", "#B0528A", "#7A5CC8", "#5E7A00")
ANY = Style("black", "-")
SEVERAL = Style("#777777", "-")


def action_style(actions: Sequence[int], n_actions: int) -> Style:
    """Return the line of one action, of several, or of all."""
    if len(actions) == n_actions:
        return ANY
    if len(actions) > 1:
        return SEVERAL
    a = actions[0]
    dashes = DASHES[(a + a // len(COLOURS)) % len(DASHES)]
    return Style(COLOURS[a % len(COLOURS)], (0.0, dashes) if dashes else "-")
