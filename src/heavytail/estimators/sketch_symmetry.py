r"""The mean of a symmetric law, and the evidence that a law is not symmetric.

**Trimmed mean.** The mean m of the middle half of the samples, with a Student t of its winsorised standard
error s: for every symmetric law, whatever its tails,

    (m - mean) / s  ~  t with h - 1 degrees of freedom, h the samples that are not trimmed,

nearly (Tukey and McLaughlin 1963, "Less vulnerable confidence and significance procedures for location").

**Asymmetry.** Under symmetry a sample beyond a distance d of the centre is as likely to be above as below. So

    z^2 = max over d of (up - down)^2 / (up + down),

with the counts beyond d above and below m, for d at the edges of the atoms of both sides. The odds of a
skewed law are exp(z^2 / 2) / n: the likelihood of the best d against the price of having chosen it.
"""

import math

from heavytail.arrays import U
from heavytail.estimators._histogram import COUNT, HIGH, LOW, Atoms, Histogram, X, mean_between, share_below
from heavytail.kernels.compiling import kernel
from heavytail.kernels.elementary import exp

TRIM = 0.25  # of the samples, at each end
SLACK = 0.02  # of an atom's count: how far interpolation within it may be wrong
MAX_SHARE = 0.6  # of the samples beyond a distance; nearer ones say nothing of the tails
MIN_BINNED = 4.0  # samples beyond a distance,
MIN_HELD = 2.0  # and where they are exact
MAX_HALF_EVIDENCE = 300.0  # so that its exponential is finite
MAX_PROBABILITY = 1.0 - 2.0**-53


@kernel
def trimmed_mean(histogram: Histogram, atoms: Atoms) -> tuple[float, float, float]:
    """Return the trimmed mean of the atoms, its standard error and its degrees of freedom."""
    n = atoms.n
    g = TRIM * n if atoms.binned else float(math.floor(TRIM * n))
    below, total, squares, first, last, started = 0.0, 0.0, 0.0, 0.0, 0.0, False
    for k in range(atoms.size):
        c = histogram.atoms[COUNT, U(k)]
        start, end = max(below, g), min(below + c, n - g)
        if end > start:
            value = histogram.atoms[X, U(k)]
            if end - start < c:
                value = mean_between(histogram, k, (start - below) / c, (end - below) / c)
            total += (end - start) * value
            squares += (end - start) * value * value
            if not started:
                first, started = value, True
            last = value
        below += c
    h = n - 2.0 * g
    winsorised = (total + g * (first + last)) / n
    spread = max(squares + g * (first * first + last * last) - n * winsorised * winsorised, 0.0)
    freedom = max(h - 1.0, 1.0)
    return total / h, math.sqrt(spread / (h * freedom)), freedom


@kernel
def asymmetry(histogram: Histogram, atoms: Atoms, middle: float) -> float:
    """Return the evidence z^2 against symmetry around a centre."""
    most = 0.0
    for side in range(2):
        most = max(most, _asymmetry_at_edges(histogram, atoms, middle, side == 1))
    return most


@kernel
def _asymmetry_at_edges(histogram: Histogram, atoms: Atoms, middle: float, mirrored: bool) -> float:
    """Return the largest z^2 at the edges of the upper atoms; mirrored, of the lower ones."""
    size, most, up, down, passed = atoms.size, 0.0, 0.0, 0.0, 0
    least = MIN_BINNED if atoms.binned else MIN_HELD
    for j in range(size):
        k = U(j if mirrored else size - 1 - j)
        d = middle - histogram.atoms[HIGH, k] if mirrored else histogram.atoms[LOW, k] - middle
        if d <= 0.0:
            break
        up += histogram.atoms[COUNT, k]
        while passed < size:
            k = U(size - 1 - passed if mirrored else passed)
            nearest = histogram.atoms[LOW, k] - middle if mirrored else middle - histogram.atoms[HIGH, k]
            if nearest < d:
                break
            down += histogram.atoms[COUNT, k]
            passed += 1
        part, doubt = 0.0, 0.0
        if passed < size:
            other = size - 1 - passed if mirrored else passed
            k = U(other)
            farthest = histogram.atoms[HIGH, k] - middle if mirrored else middle - histogram.atoms[LOW, k]
            if farthest > d:  # the distance is within this atom
                share = share_below(histogram, other, middle + d if mirrored else middle - d)
                share = 1.0 - share if mirrored else share
                part = histogram.atoms[COUNT, k] * share
                doubt = SLACK * histogram.atoms[COUNT, k] * 4.0 * share * (1.0 - share)
        both = up + down + part
        if both > MAX_SHARE * atoms.n:
            break
        if both >= least:
            apart = max(abs(up - down - part) - doubt, 0.0)
            most = max(most, apart * apart / both)
    return most


@kernel
def skew_probability(evidence: float, n: float) -> float:
    """Return the probability of a skewed law, by the evidence of n samples."""
    odds = exp(min(0.5 * evidence, MAX_HALF_EVIDENCE)) / n
    return min(odds / (1.0 + odds), MAX_PROBABILITY)
