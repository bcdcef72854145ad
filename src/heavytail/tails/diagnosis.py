"""The diagnosis of rewards: how heavy their tails are, where they lie, and what to do about it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats
from heavytail.checks import as_finite_floats
from heavytail.errors import InputError
from heavytail.tails.advice import Need, advise, judge_need, show_confidence, show_moment, suggest_numbers
from heavytail.tails.cautions import are_drawn_again, draw_once, is_notable, size_correlation
from heavytail.tails.location import fill_sketch, largest_share, spread_around
from heavytail.tails.tail import LOWER, UPPER, Tail, read_tail

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MIN_REWARDS = 50
MAX_SIZE = 1e150  # of a reward: squares of larger ones are no numbers


@dataclass(frozen=True, repr=False, eq=False)
class Diagnosis:
    """The result of a diagnosis: tails, mean and spread of rewards.

    Intervals hold with probability 95%, about: docs/tails.md has a table of how often, law by law.
    """

    n: int  # rewards; of those that repeat a list, how many it has
    mean: float  # as agents estimate it,
    mean_low: float  # with its interval
    mean_high: float
    median: float
    scale: float  # the standard deviation of a normal law that spreads as much
    skewed: float  # the probability that symmetry is not relied upon
    largest_share: float  # of the largest reward in the sum, both without their signs
    upper: Tail
    lower: Tail
    epsilon: float  # for agents that want it
    moment: float  # E|r|**(1 + epsilon), likewise
    advice: tuple[str, ...]  # sentences
    rewards: Floats  # in the order of arrival

    @property
    def need(self) -> Need:
        """The answer: "no", "perhaps" or "yes", these rewards need heavytail."""
        return judge_need(self.upper, self.lower)

    @property
    def mean_finite(self) -> float:
        """The confidence that the mean is finite."""
        return min(self.upper.mean_finite, self.lower.mean_finite)

    @property
    def variance_finite(self) -> float:
        """The confidence that the variance is finite."""
        return min(self.upper.variance_finite, self.lower.variance_finite)

    def to_dict(self) -> dict[str, Any]:
        """Return all but the rewards, as plain numbers and strings; what is not known is None."""
        row: dict[str, Any] = {name: getattr(self, name) for name in _NUMBERS}
        row |= {side: _tail_dict(getattr(self, side)) for side in ("upper", "lower")}
        return {**row, "advice": list(self.advice)}

    def plot(self, title: str = "") -> "Figure":
        """Draw the tails with their fits, the index against the threshold, and the share of the largest."""
        from heavytail.tails.plot import draw_diagnoses  # here, because importing Matplotlib takes a while

        return draw_diagnoses({title: self})

    def __repr__(self) -> str:
        return "\n".join(_lines(self))


_NUMBERS = (
    "n",
    "need",
    "mean",
    "mean_low",
    "mean_high",
    "median",
    "scale",
    "skewed",
    "largest_share",
    "mean_finite",
    "variance_finite",
    "epsilon",
    "moment",
)


def diagnose(rewards: npt.ArrayLike) -> Diagnosis:
    """Diagnose rewards: tail indices, mean and scale, and what to do.

    Args:
        rewards: at least 50 finite numbers that are not all equal, in the order of arrival. Of a dependent
            sequence the intervals are too short, and the advice says so; of a list that was drawn from again
            and again it is the list that is diagnosed.

    Raises:
        InputError: there are too few, they are all equal, or one is not a finite number.

    >>> import heavytail as ht
    >>> found = ht.tails.diagnose(ht.laws.pareto(alpha=1.5).sample(10_000, seed=0))
    >>> found.need, found.upper.index_low < 1.5 < found.upper.index_high, found.lower.verdict
    ('yes', True, 'bounded')
    """
    given = as_finite_floats("rewards", rewards).ravel()
    if given.size < MIN_REWARDS:
        raise InputError(
            f"{given.size} rewards are too few to tell how heavy their tails are; at least {MIN_REWARDS}"
        )
    samples, (least, centre, greatest) = given, _ends_and_median(given)
    if least[0] == greatest[-1]:
        raise InputError(
            f"all {given.size:,} rewards are {least[0]:g}: a constant has no tails, and any agent will do"
        )
    if max(-least[0], greatest[-1]) > MAX_SIZE:
        raise InputError(
            f"rewards reach {max(-least[0], greatest[-1]):g}; at most {MAX_SIZE:g}, in larger units"
        )
    repeated = are_drawn_again(greatest) or are_drawn_again(-least[::-1])
    if repeated and (listed := draw_once(given)).size >= MIN_REWARDS:
        samples, (least, centre, greatest) = listed, _ends_and_median(listed)
    filled = fill_sketch(samples)
    upper, lower = read_tail(filled, samples, UPPER), read_tail(filled, samples, LOWER)
    numbers = suggest_numbers(samples, min(upper.index_low, lower.index_low))
    return Diagnosis(
        n=samples.size,
        mean=filled.mean.mean,
        mean_low=filled.mean.low,
        mean_high=filled.mean.high,
        median=centre,
        scale=spread_around(centre, samples),
        skewed=filled.mean.skewed,
        largest_share=largest_share(samples),
        upper=upper,
        lower=lower,
        epsilon=numbers.epsilon,
        moment=numbers.moment,
        advice=(*_cautions(given.size, samples, centre), *advise(upper, lower, numbers)),
        rewards=samples,
    )


def _ends_and_median(samples: Floats) -> tuple[Floats, float, Floats]:
    """Return the least samples, the median and the greatest ones, each in ascending order."""
    n = samples.size
    ends, middle = min(round(16.0 * math.sqrt(n)), 2 * n // 5), n // 2
    ordered = np.partition(samples, (ends, middle - 1, middle, n - ends - 1))
    centre = 0.5 * float(ordered[middle - 1 + n % 2]) + 0.5 * float(ordered[middle])
    return np.sort(ordered[: ends + 1]), centre, np.sort(ordered[n - ends - 1 :])


def _cautions(n_given: int, samples: Floats, centre: float) -> Iterator[str]:
    """Report rewards that intervals are not made for: drawn repeatedly, or not independent."""
    if samples.size < n_given:
        yield (
            f"The {n_given:,} rewards repeat a list of about {samples.size:,}, as those of a law made of data"
            " do: what is said is of the list."
        )
    alike = size_correlation(samples, centre)
    if is_notable(alike, samples.size):
        yield (
            f"Rewards that follow each other are of like size (rank correlation {alike:.2f}): they are not"
            " independent, and the intervals are too short."
        )


# As words


def _lines(found: Diagnosis) -> Iterator[str]:
    yield f"{found.n:,} rewards; needs heavytail: {found.need} (intervals are of 95%)"
    yield f"  upper tail  {describe_tail(found.upper)}"
    yield f"  lower tail  {describe_tail(found.lower)}"
    only_if = "" if found.mean_finite > 0.975 else ", if it is finite"
    yield f"  mean        {found.mean:.4g} ({found.mean_low:.4g} to {found.mean_high:.4g}){only_if}"
    yield f"  median      {found.median:.4g}, scale {found.scale:.4g}"
    mean, variance = show_moment(found.mean_finite), show_moment(found.variance_finite)
    yield f"  confidence  mean {mean}, variance {variance}"
    yield f"  symmetry    relied upon by {show_confidence(1.0 - found.skewed)}"
    yield f"  largest     {found.largest_share:.2g} of the sum of sizes"
    yield from found.advice


def describe_tail(tail: Tail) -> str:
    """Describe a tail in a line."""
    if tail.ends:
        return f"bounded by {tail.threshold:.4g}"
    if tail.unknown:
        return f"unclear: only {tail.excesses} beyond {tail.threshold:.4g}"
    interval = f"index {tail.index:.3g} ({tail.index_low:.3g} to {tail.index_high:.3g})"
    hill = "" if math.isnan(tail.hill) else f", Hill's {tail.hill:.3g}"
    return f"{tail.verdict}: {interval}{hill}, of {tail.excesses:,} rewards beyond {tail.threshold:.4g}"


def _tail_dict(tail: Tail) -> dict[str, Any]:
    return {f.name: _known(getattr(tail, f.name)) for f in fields(tail)}


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
