"""Honest statistics of several runs.

Where they lie, how they spread, how well that is known, and whether one agent is better than another.

Pure functions of arrays whose rows are runs (seeds) and whose columns are checkpoints or tasks; chance comes
from the generator passed in.

>>> import numpy as np
>>> from heavytail import statistics
>>> regret = np.random.default_rng(0).normal(100.0, 10.0, size=(30, 5))
>>> found = statistics.bootstrap_interval(regret, "median", rng=np.random.default_rng(1))
>>> bool((found.low <= found.estimate).all() and (found.estimate <= found.high).all())
True

For values without a variance, such as realised returns: `heavytail.statistics.heavy`.
"""

from heavytail.statistics import heavy
from heavytail.statistics._inputs import Interval
from heavytail.statistics.bands import Band, central_band, quantile_band, quantiles
from heavytail.statistics.bootstrap import bootstrap_interval, stratified_bootstrap_interval
from heavytail.statistics.growth import exponent_of, growth_exponent
from heavytail.statistics.improvement import (
    improvement_interval,
    probability_of_improvement,
    stratified_improvement_interval,
)
from heavytail.statistics.location import (
    MeanAndDeviation,
    Statistic,
    interquartile_mean,
    location_of,
    mean_and_deviation,
    median,
)
from heavytail.statistics.permutation import Comparison, holm, paired_permutation_test, permutation_test
from heavytail.statistics.rates import rate_interval

__all__ = [
    "Band",
    "Comparison",
    "Interval",
    "MeanAndDeviation",
    "Statistic",
    "bootstrap_interval",
    "central_band",
    "exponent_of",
    "growth_exponent",
    "heavy",
    "holm",
    "improvement_interval",
    "interquartile_mean",
    "location_of",
    "mean_and_deviation",
    "median",
    "paired_permutation_test",
    "permutation_test",
    "probability_of_improvement",
    "quantile_band",
    "quantiles",
    "rate_interval",
    "stratified_bootstrap_interval",
    "stratified_improvement_interval",
]
