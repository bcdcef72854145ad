r"""The mean of a symmetric law, and the evidence that a law is not symmetric.

**Trimmed mean.** The mean m of the middle half of the samples, with a Student t of its winsorised standard
error s: for every symmetric law, whatever its tails,

    (m - mean) / s  ~  t with h - 1 degrees of freedom, h the samples that are not trimmed,

nearly (Tukey and McLaughlin 1963, "Less vulnerable confidence and significance procedures for location").

**Asymmetry.** Under symmetry a sample beyond a distance d of the centre is as likely to be above as below,
whatever the distances. So of up + down = k samples beyond d the Bayes factor of any probability (by Jeffreys'
prior) against a half, and of the self-normalised sum T the mixture of de la Pena (1999), are

    B_k = 2^k B(up + 1/2, down + 1/2) / pi,    B_T = sqrt(1 - L) exp(L T^2 / 2),    L = 0.8,

both with a mean of at most 1 under symmetry if the centre is known. They are averaged, B_T with a quarter,
over k that double (up to n/3, since the centre is estimated) with weights d sqrt(k): by as much as one
standard deviation of these signs moves the mean. So a few far samples count more than many near ones.
"""

import math

from heavytail.arrays import U
from heavytail.estimators._histogram import (
    COUNT,
    HIGH,
    LEFT,
    LOW,
    RIGHT,
    Atoms,
    Histogram,
    X,
    mean_between,
    share_below,
)
from heavytail.kernels.compiling import kernel, subroutine
from heavytail.kernels.elementary import exp, log

TRIM = 0.25  # of the samples, at each end
SLACK = 0.02  # of an atom's count: how far interpolation within it may be wrong
MAX_SHARE = 1.0 / 3.0  # of the samples beyond a distance
SUM_WEIGHT = 0.25  # of B_T
SUM_RATE = 0.8  # L
MAX_LOG = 300.0  # so that exponentials are finite


@kernel
def trimmed_mean(histogram: Histogram, atoms: Atoms) -> tuple[float, float, float]:
    """Return the trimmed mean of the atoms, its standard error and its degrees of freedom."""
    n = atoms.n
    g = TRIM * n if atoms.binned else float(int(TRIM * n))
    below, total, squares, first, last, started = 0.0, 0.0, 0.0, 0.0, 0.0, False
    for k in range(atoms.size):
        c = histogram.atoms[LEFT, COUNT, U(k)]
        start, end = max(below, g), min(below + c, n - g)
        if end > start:
            value = histogram.atoms[LEFT, X, U(k)]
            if end - start < c:
                value = mean_between(histogram, LEFT, k, (start - below) / c, (end - below) / c)
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


@subroutine
def asymmetry(histogram: Histogram, atoms: Atoms) -> float:
    """Return the evidence against symmetry around the centre from which the sides are listed."""
    above, below, up, down, last, total, weights = 0, 0, 0.0, 0.0, 1.0, 0.0, 0.0
    while above < atoms.size and below < atoms.size:
        on_right = histogram.atoms[RIGHT, LOW, U(above)] >= histogram.atoms[LEFT, LOW, U(below)]
        side, k = (RIGHT, above) if on_right else (LEFT, below)
        d = histogram.atoms[U(side), LOW, U(k)]
        if d <= 0.0:
            break
        other, j = (LEFT, below) if on_right else (RIGHT, above)
        part, doubt = 0.0, 0.0
        if histogram.atoms[U(other), HIGH, U(j)] > d:  # the distance is within this atom
            share = 1.0 - share_below(histogram, other, j, d)
            part = histogram.atoms[U(other), COUNT, U(j)] * share
            doubt = 4.0 * SLACK * part * (1.0 - share)
        if on_right:
            up += histogram.atoms[RIGHT, COUNT, U(above)]
            above += 1
        else:
            down += histogram.atoms[LEFT, COUNT, U(below)]
            below += 1
        both = up + down + part
        if both > MAX_SHARE * atoms.n:
            break
        if both >= 2.0 * last:
            last, weight = both, d * math.sqrt(both)
            apart = max(abs(up - down + (-part if on_right else part)) - doubt, 0.0)
            total += weight * _sign_evidence(0.5 * (both + apart), 0.5 * (both - apart))
            weights += weight
    signs = total / weights if weights > 0.0 else 1.0
    return (1.0 - SUM_WEIGHT) * signs + SUM_WEIGHT * _sum_evidence(histogram, atoms.size)


@kernel
def _sign_evidence(up: float, down: float) -> float:
    """Return B_k."""
    logs = log_gamma(up + 0.5) + log_gamma(down + 0.5) - log_gamma(up + down + 1.0)
    return exp(min(logs - log(math.pi) + (up + down) * log(2.0), MAX_LOG))


@kernel
def _sum_evidence(histogram: Histogram, size: int) -> float:
    """Return B_T."""
    total, squares = 0.0, 0.0
    for k in range(size):
        x = histogram.atoms[RIGHT, X, U(k)]
        total += histogram.atoms[RIGHT, COUNT, U(k)] * x
        squares += histogram.atoms[RIGHT, COUNT, U(k)] * x * x
    half = 0.5 * total * (total / max(squares, 1e-300))
    return math.sqrt(1.0 - SUM_RATE) * exp(min(SUM_RATE * half, MAX_LOG))


@kernel
def log_gamma(x: float) -> float:
    """Return log Gamma(x) for x above 0, to 1e-9 (Stirling, from x + 7 on)."""
    shift = x * (x + 1.0) * (x + 2.0) * (x + 3.0) * (x + 4.0) * (x + 5.0) * (x + 6.0)
    y = x + 7.0
    inverse = 1.0 / y
    series = inverse * (1.0 / 12.0 - inverse * inverse * (1.0 / 360.0 - inverse * inverse / 1260.0))
    return (y - 0.5) * log(y) - y + 0.9189385332046727 + series - log(shift)
