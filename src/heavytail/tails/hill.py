r"""Hill's estimator of a tail index, the one that everybody quotes.

Of the k largest samples x_1, ..., x_k above the threshold u > 0

    1 / alpha = (1/k) sum log(x_i / u),

the maximum-likelihood estimate if x / u is exactly Pareto (Hill 1975). It assumes the tail to begin at 0: a
constant that is added to all rewards changes it, and it is never infinite. So it stands beside the estimate
and is no part of a verdict. Its standard error is alpha / sqrt(k).
"""

import math

import numpy as np
import numpy.typing as npt

from heavytail.checks import as_finite_floats
from heavytail.errors import InputError


def hill_index(exceedances: npt.ArrayLike, threshold: float) -> float:
    """Estimate the tail index from the samples above a threshold; NaN if the threshold is not above 0.

    >>> round(hill_index([2.0, 4.0, 8.0], 1.0), 3)
    0.721
    """
    x = as_finite_floats("exceedances", exceedances, "sample").ravel()
    if not x.size or x.min() < threshold:
        least = f"reach down to {x.min():g}" if x.size else "is empty"
        raise InputError(f"exceedances {least}; give the samples above the threshold {threshold:g}, alone")
    if not threshold > 0.0:
        return math.nan
    mean = float(np.log(x).mean()) - math.log(threshold)
    return 1.0 / mean if mean > 0.0 else math.inf
