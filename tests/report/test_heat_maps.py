"""The colours of heat maps, also where every run of a point failed."""

import numpy as np
import pytest

from heavytail.report.figures.heat_maps import HeatMap, Measure, compute_shades

REGRET, REWARD = (
    Measure("regret", "regret", large_is_good=False),
    Measure("reward", "reward", large_is_good=True),
)


@pytest.mark.parametrize(
    ("measure", "values", "expected"),
    [
        (REGRET, [[1.0, 10.0], [np.nan, 100.0]], [[1.0, 0.5], [1.0, 0.0]]),  # logarithmic
        (REGRET, [[-1.0, 1.0], [np.nan, 3.0]], [[1.0, 0.5], [1.0, 0.0]]),  # which these cannot be
        (REWARD, [[1.0, 10.0], [np.nan, 100.0]], [[0.0, 1 / 11], [1.0, 1.0]]),
        (REWARD, [[-200.0, -150.0], [np.nan, -100.0]], [[0.0, 0.5], [1.0, 1.0]]),
        (REWARD._replace(by_column=True), [[1.0, 10.0], [np.nan, 100.0]], [[1.0, 0.0], [1.0, 1.0]]),
        (REWARD, [[7.0, 7.0], [7.0, 7.0]], [[1.0, 1.0], [1.0, 1.0]]),
        (REGRET, [[np.nan, np.nan], [np.nan, np.nan]], [[1.0, 1.0], [1.0, 1.0]]),
    ],
)
def test_the_best_is_bright(measure: Measure, values: list[list[float]], expected: list[list[float]]) -> None:
    """One scale for both maps of a grid; a tile without a number is drawn without a colour."""
    maps = [
        HeatMap({"other": i}, "", "x", [None], [1, 2], np.array([row]), None) for i, row in enumerate(values)
    ]
    np.testing.assert_allclose(np.concatenate(compute_shades(maps, measure)), expected)
