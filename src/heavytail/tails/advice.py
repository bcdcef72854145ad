"""Advice in words: whether heavytail is needed, which agent suits, and with which numbers.

An agent that needs no prior knowledge is the first choice. Those of the paper need a moment of order
1 + epsilon and its bound: epsilon is halfway between 0 and what the lower end of the index's interval allows,
so that the moment is finite and can be estimated, and `moment` is the robust mean of abs(r)**(1 + epsilon).
"""

import math
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from heavytail.arrays import Floats
from heavytail.tails.location import robust_mean
from heavytail.tails.tail import Tail

Need: TypeAlias = Literal["no", "perhaps", "yes"]
PROBABLY = 0.8  # the confidence in an infinite variance from which on the answer is yes
MIN_EPSILON = 0.05  # the paper's, for an index of 1.1


class PaperNumbers(NamedTuple):
    """The numbers that the paper's agents need to know about rewards."""

    epsilon: float
    moment: float  # E|r|**(1 + epsilon), as far as the samples tell


def judge_need(upper: Tail, lower: Tail) -> Need:
    """Judge whether rewards with these tails need heavytail."""
    if all(tail.verdict in ("bounded", "light") for tail in (upper, lower)):
        return "no"
    return "yes" if min(upper.variance_finite, lower.variance_finite) <= 1.0 - PROBABLY else "perhaps"


def choose_epsilon(index_low: float) -> float:
    """Choose epsilon for an index that may be as low as this.

    >>> choose_epsilon(1.5), choose_epsilon(0.9), choose_epsilon(math.inf)
    (0.25, 0.05, 1.0)
    """
    halfway = math.floor(50.0 * (min(index_low, 3.0) - 1.0)) / 100.0
    return max(halfway, MIN_EPSILON)


def suggest_numbers(rewards: Floats, index_low: float) -> PaperNumbers:
    """Choose epsilon, and estimate the moment that goes with it."""
    epsilon = choose_epsilon(index_low)
    return PaperNumbers(epsilon, robust_mean(np.abs(rewards) ** (1.0 + epsilon)).mean)


def advise(upper: Tail, lower: Tail, numbers: PaperNumbers) -> Iterator[str]:
    """Yield advice, one sentence at a time."""
    need = judge_need(upper, lower)
    yield _reason(need, upper, lower)
    if need == "no":
        yield 'Ordinary agents do: ht.make_agent(env, "psrl") or "q_learning".'
        return
    if min(upper.mean_finite, lower.mean_finite) < 0.975:
        yield (
            "Even the mean may be infinite, and then there is nothing to maximise: a bounded function of the"
            " reward, such as its rank, always has a mean."
        )
    yield "Tabular: ht.make_agent(env), which is Heavy-PSRL and needs no prior knowledge of the rewards."
    yield "Deep: ht.gym.DenoiseReward(env) around the environment of any framework, or ht.deep.robust_dqn."
    yield (
        f'To insist on the paper: ht.make_agent(env, "heavy_q_learning", epsilon={numbers.epsilon:g},'
        f' moment={numbers.moment:.3g}), or "heavy_ucrl2".'
    )


def _reason(need: Need, upper: Tail, lower: Tail) -> str:
    if upper.verdict == lower.verdict == "bounded":
        return "Rewards are bounded: heavytail is not needed."
    heaviest = min(upper, lower, key=lambda tail: tail.index_low)
    side = "upper" if heaviest is upper else "lower"
    if need == "no":
        least = heaviest.index_low
        power = "no power law shows" if least == math.inf else f"the {side} tail's index is above {least:.2g}"
        return f"The tails are light: heavytail is not needed. The variance is finite, as {power}."
    if heaviest.unknown:
        return f"So few rewards lie in the {side} tail that nothing is known of it: it may be heavy."
    infinite = show_confidence(1.0 - heaviest.variance_finite)
    if need == "yes":
        return (
            f"The variance is infinite by the {side} tail (confidence {infinite}): averages follow the"
            " largest rewards."
        )
    return (
        f"The variance may be infinite by the {side} tail (confidence {infinite}). If it is not, an agent for"
        " heavy tails costs little."
    )


def show_moment(finite: float) -> str:
    """Show which is more probable, that a moment is finite or infinite, and how sure that is.

    >>> show_moment(0.912), show_moment(0.0001)
    ('finite 91%', 'infinite over 99%')
    """
    kind, confidence = ("finite", finite) if finite >= 0.5 else ("infinite", 1.0 - finite)
    return f"{kind} {show_confidence(confidence)}"


def show_confidence(p: float) -> str:
    """Show a probability, which is never quite 0 or 1.

    >>> show_confidence(0.912), show_confidence(0.9999), show_confidence(0.0001)
    ('91%', 'over 99%', 'under 1%')
    """
    return "over 99%" if p > 0.99 else "under 1%" if p < 0.01 else f"{p:.0%}"
