"""What a sketch believes of each cell, as columns of a table."""

import math
from copy import deepcopy

import numpy as np

from heavytail.arrays import Floats, U
from heavytail.estimators.sketch import Sketch, is_constant, renew, skewness
from heavytail.estimators.sketch_tails import TAIL_COUNT, index_at
from heavytail.kernels.compiling import entry
from heavytail.kernels.quantiles import normal_quantile
from heavytail.kernels.verbs import interval

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


def describe_cells(sketch: Sketch, log_confidence: float = LOG_CONFIDENCE) -> dict[str, Floats]:
    """Describe each cell: its samples, its mean and tail indices with their intervals, and its skewness.

    "skewed" is the probability that symmetry is not relied upon. An infinite index is that of a light tail.
    What is not known yet is NaN.
    """
    sketch = deepcopy(sketch)  # summaries are renewed here, and looking must not change what is learnt
    table = np.full((len(COLUMNS), sketch.n.size), np.nan)
    entry(_fill, sketch)(sketch, table, log_confidence)
    return dict(zip(COLUMNS, table, strict=True))


def _fill(sketch: Sketch, table: Floats, log_confidence: float) -> None:
    for cell in range(table.shape[1]):
        n = sketch.histogram.n[cell]
        table[0, cell] = n
        if n < 2:
            continue
        table[1, cell], table[2, cell], table[3, cell] = interval(sketch, cell, log_confidence)
        table[4, cell] = 0.0
        if not is_constant(sketch, cell):
            block = renew(sketch, cell)
            table[4, cell] = skewness(sketch, block)
            for side in range(2):
                if sketch.tails[U(block), U(side), TAIL_COUNT] > 0.0:
                    for i in range(3):  # the index and the ends of its interval
                        z = (0.0, -1.0, 1.0)[i] * normal_quantile(log_confidence)
                        table[5 + 3 * side + i, cell] = index_at(sketch.tails, block, side, z)
