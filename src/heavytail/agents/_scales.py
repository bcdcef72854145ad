"""The scales of bonuses: given, those of the theorems, or practical ones.

The theorems' constants make bonuses so wide that agents learn nothing in any practical time. So with
``constants="practical"``, the default, a scale that is not given is one chosen on eight environments
(`studies/default-scales`; `benchmarks/bench_scales.py` prints the choice, and what it is worth on eight
others). No theorem holds then. With ``constants="tight"`` or ``"paper"`` it is 1.
"""

from typing import Literal, NamedTuple

Constants = Literal["practical", "tight", "paper"]


class Scales(NamedTuple):
    """The factors of the two parts of a bonus."""

    transitions: float
    rewards: float


def choose_scales(
    constants: Constants,
    practical: Scales,
    transition_scale: float | None,
    reward_scale: float | None,
    bonus_scale: float,
) -> Scales:
    """Return the scales that were given, and fill in the others.

    >>> choose_scales("practical", Scales(0.03, 0.1), None, 0.5, 1.0)
    Scales(transitions=0.03, rewards=0.5)
    >>> choose_scales("tight", Scales(0.03, 0.1), None, None, 2.0)
    Scales(transitions=2.0, rewards=2.0)
    """
    default = practical if constants == "practical" else Scales(1.0, 1.0)
    transitions = default.transitions if transition_scale is None else transition_scale
    rewards = default.rewards if reward_scale is None else reward_scale
    return Scales(bonus_scale * transitions, bonus_scale * rewards)


def exact_constants(constants: Constants) -> Literal["tight", "paper"]:
    """Return which formulas to use; practical scales multiply the tight ones."""
    return "paper" if constants == "paper" else "tight"
