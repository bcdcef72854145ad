"""How the benchmark of unseen tasks judges runs, on runs made up for it."""

from typing import Any

import numpy as np
import pytest

import bench_unseen


@pytest.fixture(scope="module")
def cells() -> Any:
    steps = np.arange(1.0, 11.0)
    return bench_unseen.summarise(
        {
            "random": np.array([100.0 * steps, 100.0 * steps]),
            "heavy_psrl": np.array([20.0 + 0.0 * steps, 20.0 + 5.1 * (steps - 1)]),
            "lucky": np.array([0.0 * steps, 900.0 + 4.9 * (steps - 1)]),
            "steady": np.array([60.0 + 0.0 * steps, 60.0 + 0.0 * steps]),
        }
    )


def test_a_run_is_stuck_that_loses_a_twentieth_of_what_chance_loses(cells: Any) -> None:
    shares = {agent: cell.stuck for agent, cell in cells.items()}
    assert shares == {"random": 1.0, "heavy_psrl": 0.5, "lucky": 0.0, "steady": 0.0}


def test_the_best_rival_is_chosen_by_the_statistic(cells: Any) -> None:
    rivals = ["lucky", "steady", "absent"]
    assert bench_unseen.best_of(cells, rivals, "median")[0] == "steady"
    assert bench_unseen.best_of(cells, rivals, "mean") == ("steady", cells["heavy_psrl"].mean / 60.0)
    assert bench_unseen.best_of(cells, ["lucky"], "mean")[1] == pytest.approx(42.95 / 472.05)


def test_luck_is_no_ratio_of_infinity() -> None:
    none, much = np.zeros((3, 10)), np.tile(np.linspace(100.0, 1000.0, 10), (3, 1))
    cells = bench_unseen.summarise({"random": much, "heavy_psrl": much, "rival": none})
    best, ratio = bench_unseen.best_of(cells, ["rival"], "mean")
    assert best == "rival"
    assert ratio == pytest.approx(1000.0)


def test_means_are_geometric() -> None:
    assert bench_unseen.geometric_mean([0.5, 8.0]) == "2.00"
