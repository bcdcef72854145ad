r"""Histograms of samples of any scale, in bins that widen geometrically on both sides of a centre.

Of a cell whose samples are all equal only the number and the value are kept. The first sample that differs
gives it a *block*. The first `HELD` samples are kept as they are; then a centre and a unit are fixed (the
mean and half the range of the middle half of them) and counts and sums are kept in 2 `SIDE` bins, two an
octave from 2^-6 to 2^26 units; the innermost and the outermost bins of a side are open. Where more samples
than that were equal before one differed, they are the centre, and the unit is its distance.

To be summarised, samples or bins are listed as *atoms* in ascending order: mean, count and edges of each,
relative to an origin and in units of a scale, so that no sum of squares overflows.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from heavytail.arrays import Floats, Indices, Ints, U
from heavytail.kernels.compiling import kernel
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
MAX_COUNT = 2**32 - 1  # a bin that is full counts no more
INITIAL_POOL = 4
CENTRE, UNIT = HELD, HELD + 1  # columns of `held`
X, COUNT, LOW, HIGH = range(4)  # rows of `atoms`


class Histogram(NamedTuple):
    """Samples, cell by cell. Arrays with one row per block are pools."""

    n: Ints  # [cells]
    first: Floats  # [cells] the first sample
    block: Ints  # [cells] -1 while all samples are equal
    used: Ints  # [1] blocks in use
    held: Floats  # [blocks, HELD + 2] the first samples; CENTRE and UNIT of the bins, 0 while there are none
    counts: Indices  # [blocks, BINS]
    sums: Floats  # [blocks, BINS] of (x - centre) / unit
    atoms: Floats  # [4, BINS] scratch: X, the mean of each atom, its COUNT, and its edges, LOW and HIGH

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
        held=np.zeros((INITIAL_POOL, HELD + 2)),
        counts=np.zeros((INITIAL_POOL, BINS), np.uint32),
        sums=np.zeros((INITIAL_POOL, BINS)),
        atoms=np.zeros((4, BINS)),
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
    if histogram.counts[b, k] <= MAX_COUNT - times:
        histogram.counts[b, k] += np.uint32(times)
        histogram.sums[b, k] += times * y


@push.method(Histogram)
def _push(estimator: Histogram, cell: int, x: float) -> None:
    i = U(cell)
    x = min(max(x, -MAX_SAMPLE), MAX_SAMPLE)
    estimator.n[i] += 1
    block = estimator.block[i]
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
    atoms, quarter, total, deviations = _list_held(histogram, cell, block), HELD // 4, 0.0, 0.0
    for k in range(quarter, HELD - quarter):
        total += histogram.atoms[X, U(k)]
    centre = total / (HELD - 2 * quarter)
    for k in range(HELD):
        deviations += abs(histogram.atoms[X, U(k)] - centre)
    unit = 0.5 * (histogram.atoms[X, U(HELD - 1 - quarter)] - histogram.atoms[X, U(quarter)])
    if not unit > 0.0:
        unit = deviations / HELD
    histogram.held[U(block), CENTRE] = atoms.origin + atoms.scale * centre
    histogram.held[U(block), UNIT] = max(atoms.scale * unit, 1e-300)  # of subnormal differences


# Atoms


@kernel
def list_atoms(histogram: Histogram, cell: int) -> Atoms:
    """List the atoms of a cell that has a block."""
    block = histogram.block[U(cell)]
    if histogram.held[U(block), UNIT] > 0.0:
        return _list_bins(histogram, block)
    return _list_held(histogram, cell, block)


@kernel
def _list_held(histogram: Histogram, cell: int, block: int) -> Atoms:
    """List the samples held, relative to the first and in units of their range."""
    n, origin = int(histogram.n[U(cell)]), histogram.held[U(block), U(0)]
    for j in range(n):
        x, k = histogram.held[U(block), U(j)] - origin, j
        while k > 0 and histogram.atoms[X, U(k - 1)] > x:
            histogram.atoms[X, U(k)] = histogram.atoms[X, U(k - 1)]
            k -= 1
        histogram.atoms[X, U(k)] = x
    scale = histogram.atoms[X, U(n - 1)] - histogram.atoms[X, U(0)]
    for j in range(n):
        x = histogram.atoms[X, U(j)] / scale
        histogram.atoms[X, U(j)] = x
        histogram.atoms[COUNT, U(j)] = 1.0
        histogram.atoms[LOW, U(j)] = x
        histogram.atoms[HIGH, U(j)] = x
    return Atoms(n, float(n), origin, scale, False)


@kernel
def _list_bins(histogram: Histogram, block: int) -> Atoms:
    b, size, n = U(block), 0, 0.0
    for k in range(BINS):
        count = float(histogram.counts[b, U(k)])
        if count > 0.0:
            j = k - SIDE if k >= SIDE else SIDE - 1 - k
            inner = inner_edge(j)
            outer = inner_edge(j + 1) if j + 1 < SIDE else MAX_DEVIATION
            i = U(size)
            histogram.atoms[X, i] = histogram.sums[b, U(k)] / count
            histogram.atoms[COUNT, i] = count
            histogram.atoms[LOW, i] = inner if k >= SIDE else -outer
            histogram.atoms[HIGH, i] = outer if k >= SIDE else -inner
            size += 1
            n += count
    return Atoms(size, n, histogram.held[b, CENTRE], histogram.held[b, UNIT], True)


@kernel
def _slope(histogram: Histogram, k: int) -> float:
    """Return the slope of a linear density over an atom, as if of width 1, that has the right mean.

    An even density would fake asymmetry at n = 10^6.
    """
    width = histogram.atoms[HIGH, U(k)] - histogram.atoms[LOW, U(k)]
    if not width > 0.0:
        return 0.0
    return min(max(12.0 * ((histogram.atoms[X, U(k)] - histogram.atoms[LOW, U(k)]) / width - 0.5), -2.0), 2.0)


@kernel
def share_below(histogram: Histogram, k: int, x: float) -> float:
    """Return which share of an atom is below x, for x within it."""
    t = (x - histogram.atoms[LOW, U(k)]) / (histogram.atoms[HIGH, U(k)] - histogram.atoms[LOW, U(k)])
    return t + 0.5 * _slope(histogram, k) * (t * t - t)


@kernel
def _first_moment(slope: float, share: float) -> float:
    """Integrate t over the lowest `share` of the density 1 + slope (t - 1/2) on [0, 1]."""
    a, b = 0.5 * slope, 1.0 - 0.5 * slope  # share = a t^2 + b t
    if share <= 0.0:
        return 0.0
    t = share / (0.5 * b + math.sqrt(max(0.25 * b * b + a * share, 0.0)))
    return t * t * (0.5 * b + 2.0 * a * t / 3.0)


@kernel
def mean_between(histogram: Histogram, k: int, a: float, b: float) -> float:
    """Return the mean of the part of an atom between two shares."""
    width = histogram.atoms[HIGH, U(k)] - histogram.atoms[LOW, U(k)]
    if not 0.0 < width < MAX_DEVIATION:
        return histogram.atoms[X, U(k)]
    slope = _slope(histogram, k)
    return histogram.atoms[LOW, U(k)] + width * (_first_moment(slope, b) - _first_moment(slope, a)) / (b - a)


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
