"""The beliefs of a sketch about each cell, as columns of a table."""

import math
from copy import deepcopy

import numpy as np

from heavytail.arrays import Floats, U
from heavytail.estimators.sketch import Sketch, is_constant, renew, skewness
from heavytail.estimators.sketch_tails import LIGHT, MIN_INDEX, RIGHT, TAIL_COUNT, index_moments
from heavytail.kernels.compiling import entry, kernel
from heavytail.kernels.quantiles import normal_quantile
from heavytail.kernels.verbs import mean, radius

LOG_CONFIDENCE = math.log(20.0)  # 5% on each side
TAIL_COLUMNS = ("index", "index_low", "index_high")
COLUMNS = (
    "n",
    "mean",
    "mean_low",
    "mean_high",
    "skewed",
    *(f"{side}_{column}" for side in ("right", "left") for column in TAIL_COLUMNS),
)


def describe_cells(sketch: Sketch) -> dict[str, Floats]:
    """Describe each cell: its samples, its mean and tail indices with 90% intervals, and its skewness.

    "skewed" is the probability that the law is not symmetric. An infinite index is that of a light tail. What
    is not known yet is NaN.
    """
    sketch = deepcopy(sketch)  # summaries are renewed here, and reading must not change what was learnt
    table = np.full((len(COLUMNS), sketch.n.size), np.nan)
    entry(_fill, sketch)(sketch, table)
    return dict(zip(COLUMNS, table, strict=True))


def _fill(sketch: Sketch, table: Floats) -> None:
    for cell in range(table.shape[1]):
        n = sketch.histogram.n[cell]
        table[0, cell] = n
        if n < 2:
            continue
        centre, reach = mean(sketch, cell, LOG_CONFIDENCE), radius(sketch, cell, LOG_CONFIDENCE)
        table[1, cell], table[2, cell], table[3, cell] = centre, centre - reach, centre + reach
        table[4, cell] = 0.0
        if not is_constant(sketch, cell):
            block = renew(sketch, cell)
            table[4, cell] = skewness(sketch, block)
            for side in range(2):
                _fill_index(sketch.tails, block, side, table, cell)


@kernel
def _fill_index(tails: Floats, block: int, side: int, table: Floats, cell: int) -> None:
    b, j, row = U(block), U(side), 5 if side == RIGHT else 8
    if tails[b, j, TAIL_COUNT] == 0.0:
        return
    if tails[b, j, LIGHT] > 0.5:
        for i in range(row, row + 3):
            table[i, cell] = math.inf
        return
    centre, variance = index_moments(tails, block, side)
    reach = normal_quantile(LOG_CONFIDENCE) * math.sqrt(variance)
    table[row, cell] = max(centre, MIN_INDEX)
    table[row + 1, cell] = max(centre - reach, MIN_INDEX)
    table[row + 2, cell] = max(centre + reach, MIN_INDEX)
