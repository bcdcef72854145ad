r"""Histograms of samples of any scale, in bins that widen geometrically on both sides of a centre.

Of a cell whose samples are all equal only the number and the value are kept. The first sample that differs
gives it a *block*. The first `HELD` samples are kept as they are; then a centre and a unit are fixed (the
mean and half the range of the middle half of them) and counts and sums are kept in 2 `SIDE` bins, two an
octave from 2^-6 to 2^26 units; the innermost and the outermost bins of a side are open. Where more samples
than that were equal before one differed, they are the centre, and the unit is its distance. When a bin is
full, all of its cell are halved.

To be summarised, samples or bins are listed as *atoms* in ascending order: mean, count and edges of each,
relative to an origin and in units of a scale, so that no sum of squares overflows. The samples of a bin are
taken to have a linear density with their mean, on the whole bin or, where the mean is within a third of an
edge, on the part next to it; a single sample is a point.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from heavytail.arrays import Floats, Indices, Ints, U
from heavytail.kernels.compiling import kernel, subroutine
from heavytail.kernels.elementary import from_bits, to_bits
from heavytail.kernels.verbs import full, push, reset
from heavytail.ranges import COUNT as NATURAL
from heavytail.ranges import FINITE, Fact, Range

HELD = 16
BINS_PER_OCTAVE_LOG2 = 1
MIN_OCTAVE = -6
OCTAVES = 32
SIDE = OCTAVES << BINS_PER_OCTAVE_LOG2
BINS = 2 * SIDE
SHIFT = 52 - BINS_PER_OCTAVE_LOG2
FIRST_CODE = (1023 + MIN_OCTAVE) << BINS_PER_OCTAVE_LOG2  # the leading bits of the innermost edge
MAX_SAMPLE = 1e250  # larger ones count as this one
MAX_DEVIATION = 2.0**60  # in units, likewise
MAX_COUNT = 2**32 - 1
INITIAL_POOL = 4
CENTRE, UNIT, LEAST, GREATEST = range(HELD, HELD + 4)  # columns of `held`
RIGHT, LEFT = 0, 1  # sides, and the lists of atoms outwards; before that the second is ascending
X, COUNT, LOW, HIGH, FLOOR, CEILING = range(6)  # rows of a list


class Histogram(NamedTuple):
    """Samples, cell by cell. Arrays with one row per block are pools."""

    n: Ints  # [cells]
    first: Floats  # [cells] the first sample
    block: Ints  # [cells] -1 while all samples are equal
    used: Ints  # [1] blocks in use
    held: Floats  # [blocks, HELD + 4] the first samples; CENTRE and UNIT of bins, 0 without; ends of all
    counts: Indices  # [blocks, BINS]
    sums: Floats  # [blocks, BINS] of (x - centre) / unit
    atoms: Floats  # [2, 6, BINS] scratch: mean, count and edges of atoms, and of the bins that they are of

    def pools(self) -> tuple[str, ...]:
        """Name what grows with the number of blocks."""
        return ("held", "counts", "sums")

    def ranges(self) -> dict[str, Range]:
        """Declare which arrays hold blocks, counts and samples."""
        return {
            "n": NATURAL,
            "first": Range(-MAX_SAMPLE, MAX_SAMPLE),
            "block": Range(-1, int(self.used[0]) - 1),
            "used": Range(0, len(self.held)),
            "held": FINITE,
            "counts": Range(0, MAX_COUNT),
            "sums": FINITE,
        }

    def facts(self) -> Iterator[Fact]:
        """Declare which cells have blocks, and which blocks have bins."""
        cells = np.flatnonzero(self.block >= 0)
        block, n = self.block[cells], self.n[cells]
        yield "blocks and cells do not match", len(cells) == self.used[0] == np.unique(block).size
        yield "a cell of one sample has a block", (n >= 2).all()
        yield "samples are held beyond their number", ((self.held[block, UNIT] > 0.0) == (n >= HELD)).all()
        binned = self.counts[block[n >= HELD]].sum(axis=1, dtype=np.int64)
        yield "bins hold none or too many samples", ((binned >= 1) & (binned <= n[n >= HELD])).all()


class Atoms(NamedTuple):
    """The number of atoms listed and of their samples, and what they are relative to."""

    size: int
    n: float
    origin: float
    scale: float
    binned: bool


def new_histogram(n_cells: int) -> Histogram:
    """Make the histograms of cells without samples."""
    return Histogram(
        n=np.zeros(n_cells, np.int64),
        first=np.zeros(n_cells),
        block=np.full(n_cells, -1),
        used=np.zeros(1, np.int64),
        held=np.zeros((INITIAL_POOL, HELD + 4)),
        counts=np.zeros((INITIAL_POOL, BINS), np.uint32),
        sums=np.zeros((INITIAL_POOL, BINS)),
        atoms=np.zeros((2, 6, BINS)),
    )


@full.method(Histogram)
def _full(record: Histogram) -> bool:
    return record.used[0] == record.held.shape[0]


@kernel
def find_bin(y: float) -> int:
    """Return the bin of a deviation, in units."""
    j = int(np.int64(to_bits(abs(y)) >> U(SHIFT))) - FIRST_CODE
    j = min(max(j, 0), SIDE - 1)
    return SIDE + j if y >= 0.0 else SIDE - 1 - j


@kernel
def inner_edge(j: int) -> float:
    """Return the inner edge of the j-th bin of a side."""
    return from_bits(U(j + FIRST_CODE) << U(SHIFT)) if j > 0 else 0.0


@kernel
def _add(histogram: Histogram, block: int, x: float, times: int) -> None:
    b = U(block)
    y = (x - histogram.held[b, CENTRE]) / histogram.held[b, UNIT]
    y = min(max(y, -MAX_DEVIATION), MAX_DEVIATION)
    k = U(find_bin(y))
    if histogram.counts[b, k] > MAX_COUNT - times:
        _halve(histogram, block)
    histogram.counts[b, k] += np.uint32(times)
    histogram.sums[b, k] += times * y


@subroutine
def _halve(histogram: Histogram, block: int) -> None:
    """Halve all counts of a block; those of one stay, so that what is rare is not lost."""
    b = U(block)
    for k in range(BINS):
        before = float(histogram.counts[b, U(k)])
        if before > 1.0:
            histogram.counts[b, U(k)] -= histogram.counts[b, U(k)] >> np.uint32(1)
            histogram.sums[b, U(k)] *= histogram.counts[b, U(k)] / before


@push.method(Histogram)
def _push(estimator: Histogram, cell: int, x: float) -> None:
    i = U(cell)
    x = min(max(x, -MAX_SAMPLE), MAX_SAMPLE)
    estimator.n[i] += 1
    block = estimator.block[i]
    if block >= 0:
        if x < estimator.held[U(block), LEAST]:
            estimator.held[U(block), LEAST] = x
        elif x > estimator.held[U(block), GREATEST]:
            estimator.held[U(block), GREATEST] = x
    if block >= 0 and estimator.held[U(block), UNIT] > 0.0:
        _add(estimator, block, x, 1)
    elif estimator.n[i] == 1:
        estimator.first[i] = x
    elif block >= 0 or x != estimator.first[i]:
        _hold(estimator, cell, x)


@kernel
def _hold(histogram: Histogram, cell: int, x: float) -> None:
    """Keep a sample of a cell that has no bins yet, and give it bins if it is the last to be kept."""
    i = U(cell)
    n = histogram.n[i]
    if histogram.block[i] < 0:
        histogram.block[i] = histogram.used[0]
        histogram.used[0] += 1
        for k in range(min(n - 1, HELD)):
            histogram.held[U(histogram.block[i]), U(k)] = histogram.first[i]
        histogram.held[U(histogram.block[i]), LEAST] = min(x, histogram.first[i])
        histogram.held[U(histogram.block[i]), GREATEST] = max(x, histogram.first[i])
    block = histogram.block[i]
    b = U(block)
    if n <= HELD:
        histogram.held[b, U(n - 1)] = x
    if n < HELD:
        return
    for k in range(BINS):
        histogram.counts[b, U(k)] = 0
        histogram.sums[b, U(k)] = 0.0
    if n == HELD:
        _choose_bins(histogram, cell, block)
        for k in range(HELD):
            _add(histogram, block, histogram.held[b, U(k)], 1)
    else:
        histogram.held[b, CENTRE], histogram.held[b, UNIT] = histogram.first[i], abs(x - histogram.first[i])
        _add(histogram, block, histogram.first[i], min(n - 1, MAX_COUNT))
        _add(histogram, block, x, 1)


@kernel
def _choose_bins(histogram: Histogram, cell: int, block: int) -> None:
    """Fix centre and unit by the middle half of the samples held."""
    n, origin, scale = _sort_held(histogram, cell, block)
    quarter, total, deviations = HELD // 4, 0.0, 0.0
    for k in range(quarter, HELD - quarter):
        total += histogram.atoms[LEFT, X, U(k)]
    centre = total / (n - 2 * quarter)
    for k in range(HELD):
        deviations += abs(histogram.atoms[LEFT, X, U(k)] - centre)
    unit = 0.5 * (histogram.atoms[LEFT, X, U(HELD - 1 - quarter)] - histogram.atoms[LEFT, X, U(quarter)])
    if not unit > 0.0:
        unit = deviations / n
    histogram.held[U(block), CENTRE] = origin + scale * centre
    histogram.held[U(block), UNIT] = max(scale * unit, 1e-300)  # of subnormal differences


# Atoms


@kernel
def list_atoms(histogram: Histogram, cell: int) -> Atoms:
    """List the atoms of a cell that has a block, ascending."""
    block = histogram.block[U(cell)]
    if histogram.held[U(block), UNIT] > 0.0:
        return _list_bins(histogram, block)
    return _list_held(histogram, cell, block)


@kernel
def _sort_held(histogram: Histogram, cell: int, block: int) -> tuple[int, float, float]:
    """Sort the samples held, relative to the first and in units of their range."""
    n, origin, atoms = int(histogram.n[U(cell)]), histogram.held[U(block), U(0)], histogram.atoms
    for j in range(n):
        x, k = histogram.held[U(block), U(j)] - origin, j
        while k > 0 and atoms[LEFT, X, U(k - 1)] > x:
            atoms[LEFT, X, U(k)] = atoms[LEFT, X, U(k - 1)]
            k -= 1
        atoms[LEFT, X, U(k)] = x
    scale = atoms[LEFT, X, U(n - 1)] - atoms[LEFT, X, U(0)]
    for j in range(n):
        atoms[LEFT, X, U(j)] /= scale
    return n, origin, scale


@kernel
def _list_held(histogram: Histogram, cell: int, block: int) -> Atoms:
    """List the samples held; between two of them is nothing, so each has its neighbours for edges."""
    n, origin, scale = _sort_held(histogram, cell, block)
    atoms, size = histogram.atoms, 0
    for j in range(n):
        x = atoms[LEFT, X, U(j)]
        if size > 0 and atoms[LEFT, X, U(size - 1)] == x:
            atoms[LEFT, COUNT, U(size - 1)] += 1.0
        else:
            i = U(size)
            atoms[LEFT, X, i], atoms[LEFT, COUNT, i], atoms[LEFT, LOW, i], atoms[LEFT, HIGH, i] = x, 1.0, x, x
            size += 1
    for k in range(size):
        atoms[LEFT, FLOOR, U(k)] = atoms[LEFT, X, U(max(k - 1, 0))]
        atoms[LEFT, CEILING, U(k)] = atoms[LEFT, X, U(min(k + 1, size - 1))]
    return Atoms(size, float(n), origin, scale, False)


@kernel
def _list_bins(histogram: Histogram, block: int) -> Atoms:
    b, atoms, size, n = U(block), histogram.atoms, 0, 0.0
    for k in range(BINS):
        count = float(histogram.counts[b, U(k)])
        if count > 0.0:
            j = k - SIDE if k >= SIDE else SIDE - 1 - k
            inner = inner_edge(j)
            outer = inner_edge(j + 1) if j + 1 < SIDE else MAX_DEVIATION
            low, high = (inner, outer) if k >= SIDE else (-outer, -inner)
            x, i = min(max(histogram.sums[b, U(k)] / count, low), high), U(size)
            atoms[LEFT, FLOOR, i], atoms[LEFT, CEILING, i] = low, high
            if count == 1.0:
                low, high = x, x
            elif 3.0 * (x - low) < high - low:
                high = low + 3.0 * (x - low)
            elif 3.0 * (high - x) < high - low:
                low = high - 3.0 * (high - x)
            atoms[LEFT, X, i], atoms[LEFT, COUNT, i] = x, count
            atoms[LEFT, LOW, i], atoms[LEFT, HIGH, i] = low, high
            size += 1
            n += count
    return Atoms(size, n, histogram.held[b, CENTRE], histogram.held[b, UNIT], True)


@kernel
def list_sides(histogram: Histogram, atoms: Atoms, middle: float) -> None:
    """List the atoms outwards from a centre on both sides, the outermost first, as distances from it."""
    sides, size = histogram.atoms, atoms.size
    for k in range(size):
        i, j = U(k), U(size - 1 - k)
        sides[RIGHT, COUNT, j] = sides[LEFT, COUNT, i]
        for row in (X, LOW, HIGH, FLOOR, CEILING):
            sides[RIGHT, U(row), j] = sides[LEFT, U(row), i] - middle
    for k in range(size):
        i, j = U(k), U(size - 1 - k)
        sides[LEFT, X, i] = -sides[RIGHT, X, j]
        sides[LEFT, LOW, i], sides[LEFT, HIGH, i] = -sides[RIGHT, HIGH, j], -sides[RIGHT, LOW, j]
        sides[LEFT, FLOOR, i], sides[LEFT, CEILING, i] = -sides[RIGHT, CEILING, j], -sides[RIGHT, FLOOR, j]


@kernel
def _slope(histogram: Histogram, side: int, k: int) -> float:
    """Return the slope of a linear density over an atom, as if of width 1, that has the right mean.

    An even density would fake asymmetry at n = 10^6.
    """
    low, high = histogram.atoms[U(side), LOW, U(k)], histogram.atoms[U(side), HIGH, U(k)]
    if not high > low:
        return 0.0
    x = (histogram.atoms[U(side), X, U(k)] - low) / (high - low)
    return min(max(12.0 * (x - 0.5), -2.0), 2.0)


@kernel
def share_below(histogram: Histogram, side: int, k: int, x: float) -> float:
    """Return which share of an atom is below x, for x within it."""
    low, high = histogram.atoms[U(side), LOW, U(k)], histogram.atoms[U(side), HIGH, U(k)]
    t = (x - low) / (high - low)
    return t + 0.5 * _slope(histogram, side, k) * (t * t - t)


@kernel
def _first_moment(slope: float, share: float) -> float:
    """Integrate t over the lowest `share` of the density 1 + slope (t - 1/2) on [0, 1]."""
    a, b = 0.5 * slope, 1.0 - 0.5 * slope  # share = a t^2 + b t
    if share <= 0.0:
        return 0.0
    t = share / (0.5 * b + math.sqrt(max(0.25 * b * b + a * share, 0.0)))
    return t * t * (0.5 * b + 2.0 * a * t / 3.0)


@kernel
def mean_between(histogram: Histogram, side: int, k: int, a: float, b: float) -> float:
    """Return the mean of the part of an atom between two shares."""
    low, high = histogram.atoms[U(side), LOW, U(k)], histogram.atoms[U(side), HIGH, U(k)]
    if not 0.0 < high - low < MAX_DEVIATION:
        return histogram.atoms[U(side), X, U(k)]
    slope = _slope(histogram, side, k)
    return low + (high - low) * (_first_moment(slope, b) - _first_moment(slope, a)) / (b - a)


@reset.method(Histogram)
def _reset(record: Histogram) -> None:
    record.n[:] = 0
    record.first[:] = 0.0
    record.block[:] = -1
    record.used[0] = 0
    record.held[:] = 0.0
    record.counts[:] = 0
    record.sums[:] = 0.0
    record.atoms[:] = 0.0
