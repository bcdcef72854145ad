"""Print how well the mean of a skewed law can be known: by the sketch, by the sample mean, and by an oracle.

    python benchmarks/bench_oracle.py

The oracle knows the family of the law and fits its parameters by maximum likelihood: no agent without
prior knowledge can do that. Numbers are the median distance from the true mean, over the mean, of 200
samples.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import heavytail as ht
from heavytail.arrays import Floats

SKETCH: Any = ht.estimators.sketch
SIZES = (300, 3_000, 30_000)
REPETITIONS = 200
LOG_NORMAL_SIGMA = 2.0


def fit_pareto(x: Floats) -> float:
    """The mean of the Pareto law of the largest likelihood; infinite if its index is below 1."""
    least = float(x.min())
    index = (len(x) - 1) / float(np.log(x / least).sum())  # less biased than n over the sum
    return least * index / (index - 1.0) if index > 1.0 else math.inf


def fit_log_normal(x: Floats) -> float:
    """The mean of the log-normal law of the largest likelihood."""
    logs = np.log(x)
    return math.exp(float(logs.mean()) + 0.5 * float(logs.var()))


def sketch_mean(x: Floats) -> float:
    """The mean by the sketch."""
    estimator: Any = SKETCH()
    estimator.push(x)
    return float(estimator.mean(math.log(20.0)))


def main() -> None:
    """Print a row for each law and size."""
    rng = np.random.default_rng(0)
    laws: dict[str, tuple[Callable[[int], Floats], Callable[[Floats], float], float]] = {
        "Pareto 1.2": (lambda n: 1.0 + rng.pareto(1.2, n), fit_pareto, 6.0),
        "Pareto 1.5": (lambda n: 1.0 + rng.pareto(1.5, n), fit_pareto, 3.0),
        "log-normal 2": (
            lambda n: rng.lognormal(0.0, LOG_NORMAL_SIGMA, n),
            fit_log_normal,
            math.exp(0.5 * LOG_NORMAL_SIGMA**2),
        ),
    }
    print(f"{'law':14}{'n':>8}{'oracle':>10}{'sketch':>10}{'mean':>10}")
    for name, (draw, fit, true) in laws.items():
        for n in SIZES:
            samples = [draw(n) for _ in range(REPETITIONS)]
            errors = [
                float(np.median([abs(estimate(x) / true - 1.0) for x in samples]))
                for estimate in (fit, sketch_mean, lambda x: float(np.mean(x)))
            ]
            print(f"{name:14}{n:8,}" + "".join(f"{error:10.3f}" for error in errors))


if __name__ == "__main__":
    main()
