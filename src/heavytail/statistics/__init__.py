"""Honest statistics of several runs: location, intervals, and tests whether one agent is better.

Pure functions of arrays whose rows are runs (seeds) and whose columns are checkpoints; random numbers come
from the generator passed in.

>>> import numpy as np
>>> from heavytail import statistics
>>> regret = np.random.default_rng(0).normal(100.0, 10.0, size=(30, 5))
>>> interval = statistics.bootstrap_interval(regret, "median", rng=np.random.default_rng(1))
>>> bool((interval.low <= interval.estimate).all() and (interval.estimate <= interval.high).all())
True

A statistic is known by its name; ``@register("statistic", "my_statistic")`` adds one, see
`heavytail.statistics.location`. For values without a variance, such as realised returns:
`heavytail.statistics.heavy`.
"""

from heavytail.statistics import heavy
from heavytail.statistics.growth import growth_exponent
from heavytail.statistics.inputs import Interval
from heavytail.statistics.intervals import bootstrap_interval, rate_interval
from heavytail.statistics.location import interquartile_mean, mean_and_deviation, median, quantiles
from heavytail.statistics.permutation import (
    Comparison,
    holm,
    paired_permutation_test,
    permutation_test,
    probability_of_improvement,
    sign_test,
)
from heavytail.statistics.tasks import stratified_interval, winning_shares

__all__ = [
    "Comparison",
    "Interval",
    "bootstrap_interval",
    "growth_exponent",
    "heavy",
    "holm",
    "interquartile_mean",
    "mean_and_deviation",
    "median",
    "paired_permutation_test",
    "permutation_test",
    "probability_of_improvement",
    "quantiles",
    "rate_interval",
    "sign_test",
    "stratified_interval",
    "winning_shares",
]
