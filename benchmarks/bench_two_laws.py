"""How often any agent must be stuck with one of two laws that are hard to tell apart.

    python benchmarks/bench_two_laws.py

For each task of studies/tell-it-nothing: a law of its rewards, and another, Q, with a thinner upper tail and
so a lower mean, just low enough that an agent that plays well in the task, with at least 95% of the optimum,
is stuck where Q takes the law's place. The density of Q is that of the law times

    c / (1 + l (x - median)) above the median,   c below,

close to the law of that mean with the least divergence (Honda and Takemura 2010). Let all episodes be spent
on such rewards, and let it be known that the law is one of these two: then the likelihood ratio decides best
(Neyman and Pearson 1933). An agent that knows less and is stuck less often than this test errs on the task is
stuck more often on its twin. The table has the error of the test whose two errors are equal.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple, cast

import numpy as np
from scipy.optimize import brentq, minimize_scalar

import heavytail as ht
from _figures import HERE, print_table
from heavytail.arrays import Floats
from heavytail.kernels.compiling import entry
from heavytail.laws import Law
from heavytail.laws.law import law_table, laws_from_table
from heavytail.laws.table import LawTable, draw_law
from heavytail.studies.specs.reading import read_spec

SPEC = HERE.parent / "studies" / "tell-it-nothing" / "spec.toml"
GOOD = 0.95  # of the optimum; below it a run is stuck
NODES = 1000  # of the quadrature, in each of two directions and towards each end
TESTS = 2000  # that are simulated
MAX_DIVERGENCE = 25.0  # of all rewards; beyond it errors are below 0.03%, and no test is simulated
MAX_LOG_THINNING = 60.0
LEAST_MEAN = -100.0  # below the law's; where no lower mean is enough the law does not matter


class Quadrature(NamedTuple):
    """Values of a law, from the least on, and their probabilities."""

    values: Floats
    weights: Floats


class Twin(NamedTuple):
    """A law with a thinner upper tail."""

    median: float
    thinning: float  # l
    factor: float  # c
    divergence: float  # of one reward


def fill(table: LawTable, u: Floats, e: Floats, out: Floats) -> None:
    """Make the draws of all pairs of a uniform and an exponential."""
    for i in range(u.size):
        for j in range(e.size):
            out[i, j] = draw_law(table.code[0], table, 0, u[i], e[j])


def quadrature(law: Law) -> Quadrature:
    """Cut the uniform and the exponential of which a draw is made into cells, small where tails are made."""
    edges = np.concatenate([[0.0], np.geomspace(2.0**-51, 0.5, NODES)])
    near, mass = 0.5 * (edges[1:] + edges[:-1]), np.diff(edges)
    u, in_u = np.concatenate([near, 1.0 - near]), np.concatenate([mass, mass])
    edges = np.concatenate([[0.0], np.geomspace(1e-9, 45.0, NODES)])
    e, in_e = 0.5 * (edges[1:] + edges[:-1]), -np.diff(np.exp(-edges))
    table, values = law_table([law]), np.empty((u.size, e.size))
    entry(fill, table)(table, u, e, values)
    order = np.argsort(values, axis=None)
    weights = np.outer(in_u, in_e).ravel()[order]
    return Quadrature(values.ravel()[order], weights / weights.sum())


def find_twin(points: Quadrature, mean: float) -> Twin | None:
    """Thin the upper tail until the mean is this; None where it is below that of the lower half."""
    x, weights = points
    median = float(x[np.searchsorted(weights.cumsum(), 0.5)])
    excess = np.maximum(x - median, 0.0)

    def thinned(log_thinning: float) -> Floats:
        return weights / (1.0 + math.exp(log_thinning) * excess)

    def error(log_thinning: float) -> float:
        kept = thinned(log_thinning)
        return float(kept @ x / kept.sum()) - mean

    if error(MAX_LOG_THINNING) > 0.0:
        return None
    log_thinning = float(brentq(error, -MAX_LOG_THINNING, MAX_LOG_THINNING, xtol=1e-6))
    kept = thinned(log_thinning)
    factor = 1.0 / float(kept.sum())
    divergence = float(weights @ np.log1p(math.exp(log_thinning) * excess)) - math.log(factor)
    return Twin(median, math.exp(log_thinning), factor, divergence)


def simulate_tests(law: Law, twin: Twin, rewards: int) -> float:
    """Return how often the likelihood ratio of so many rewards errs, with either law as often."""
    ratios = np.empty(TESTS)  # logarithms of Q's density over the law's
    for i in range(TESTS):
        excess = np.maximum(law.sample(rewards, seed=i) - twin.median, 0.0)
        ratios[i] = rewards * math.log(twin.factor) - np.log1p(twin.thinning * excess).sum()
    ratios.sort()
    takes_law_for_q = 1.0 - np.arange(1, TESTS + 1) / TESTS
    takes_q_for_law = np.exp(ratios).cumsum() / TESTS  # a draw of the law stands for exp(ratio) draws of Q
    return float(np.minimum.reduce(np.maximum(takes_law_for_q, takes_q_for_law)))


def value(mdp: ht.MDP, means: Floats) -> float:
    """Return the optimal value with other mean rewards."""
    return ht.planning.optimal_value(mdp._replace(row_means=means))


def stuck_below(mdp: ht.MDP, use: Floats, mean: float) -> float:
    """Return the mean of a law, now `mean`, below which an agent that plays well in the MDP is stuck; or NaN.

    Args:
        mdp: the MDP.
        use: [row] how likely the reward is drawn from this law.
        mean: of the law.
    """
    good = GOOD * value(mdp, mdp.row_means)

    def best_margin(lower: float) -> float:
        """The most that a good mixture of policies has above 95% of the optimum, with the other mean."""
        means = mdp.row_means + (lower - mean) * use
        # The largest value of mixtures that are good in the MDP, by a multiplier of that condition
        dual = minimize_scalar(
            lambda log_m: value(mdp, means + math.exp(log_m) * mdp.row_means) - math.exp(log_m) * good,
            bounds=(-20.0, 20.0),
            method="bounded",
        )
        return float(dual.fun) - GOOD * value(mdp, means)

    if best_margin(mean + LEAST_MEAN) > 0.0:
        return math.nan
    return float(brentq(best_margin, mean + LEAST_MEAN, mean, xtol=1e-4))


def hardest_law(mdp: ht.MDP, episodes: int) -> tuple[Law, Twin, int] | None:
    """Find the law of an MDP that is hardest to tell from its twin, and how often it can be drawn."""
    found = list(_twins(mdp, episodes))
    return min(found, key=lambda each: each[2] * each[1].divergence, default=None)


def _twins(mdp: ht.MDP, episodes: int) -> Iterator[tuple[Law, Twin, int]]:
    for i, law in enumerate(laws_from_table(mdp.laws)):
        shares = mdp.probabilities() * (mdp.law == i)
        use: Floats = np.bincount(mdp.rows(), shares, len(mdp.row_means)).astype(np.float64)
        if law.name == "constant" or math.isnan(mean := stuck_below(mdp, use, law.mean())):
            continue
        if twin := find_twin(quadrature(law), mean):
            yield law, twin, round(episodes * value(mdp, use))


def main() -> None:
    """Print a row for each task in which a law's upper tail decides what is best."""
    spec, rows = read_spec(SPEC), []
    for env in spec.envs.values():
        hardest = hardest_law(ht.make_mdp(env.env, **env.parameters), cast("int", spec.episodes))
        if hardest is None:
            continue
        law, twin, rewards = hardest
        divergence = rewards * twin.divergence
        least = simulate_tests(law, twin, rewards) if divergence < MAX_DIVERGENCE else 0.0
        numbers = [f"{rewards:,}", f"{twin.factor:.3f}", f"{divergence:,.2g}", f"{100.0 * least:.1f}%"]
        rows.append([env.label, *numbers])
    header = ["task", "rewards", "density at most times", "divergence", "stuck at least"]
    print_table("On the task or on its twin any agent is stuck", header, rows)


if __name__ == "__main__":
    main()
