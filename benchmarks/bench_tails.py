"""How often the intervals of `heavytail.tails` hold, law by law, and how fast a diagnosis is.

The table is written into docs/tails.md between its marks, and the page's picture is drawn.
"""

import argparse
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import files

import numpy as np

import heavytail as ht
from _figures import HERE, print_table, scaled, to_markdown, write_table
from heavytail.arrays import Floats
from heavytail.files import save_figure
from heavytail.tails import Diagnosis

PAGE = HERE.parent / "docs" / "tails.md"
PICTURE = PAGE.with_name("tails-sp500.svg")
SIZES = (100, 1_000, 10_000, 100_000)
REPEATS = 400
SPEED_SIZE = 10_000_000
NEEDS = ("no", "perhaps", "yes")
NO_BREAK = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class Setting:
    """A law: how to draw from it, and what is true of it."""

    draw: Callable[[int, int], Floats]  # of a number of samples and a seed
    index: float  # of the upper tail
    mean: float


def law(law: ht.laws.Law) -> Setting:
    """Take one of heavytail's laws."""
    return Setting(lambda n, seed: law.sample(n, seed=seed), law.tail_index, law.mean())


def frechet(alpha: float) -> Setting:
    """Take the law of largest values, whose distribution function is exp(-x**-alpha)."""

    def draw(n: int, seed: int) -> Floats:
        return np.random.default_rng(seed).exponential(size=n) ** (-1.0 / alpha)

    return Setting(draw, alpha, math.gamma(1.0 - 1.0 / alpha))


def exponential() -> Setting:
    """Take the exponential law."""
    return Setting(lambda n, seed: np.random.default_rng(seed).exponential(size=n), math.inf, 1.0)


SETTINGS = {
    "Pareto, 1.1": law(ht.laws.pareto(1.1)),
    "Pareto, 1.5": law(ht.laws.pareto(1.5)),
    "Pareto, 3": law(ht.laws.pareto(3.0)),
    "Fréchet, 1.5": frechet(1.5),
    "Student t, 1.5": law(ht.laws.student_t(1.5)),
    "Student t, 2": law(ht.laws.student_t(2.0)),
    "Student t, 3": law(ht.laws.student_t(3.0)),
    "Student t, 5": law(ht.laws.student_t(5.0)),
    "stable, 1.1": law(ht.laws.alpha_stable(1.1)),
    "stable, 1.5": law(ht.laws.alpha_stable(1.5)),
    "stable, 1.8": law(ht.laws.alpha_stable(1.8)),
    "normal": law(ht.laws.normal()),
    "exponential": exponential(),
    "log-normal, sigma 1": law(ht.laws.log_normal(1.0)),
    "log-normal, sigma 2": law(ht.laws.log_normal(2.0)),
}


@dataclass(frozen=True)
class Outcome:
    """What the diagnoses of one law and size say."""

    index: float  # the median estimate of the upper tail
    index_holds: float  # how often its interval holds the truth,
    mean_holds: float  # and that of the mean
    needs: tuple[float, ...]  # how often the answer is no, perhaps, yes


def measure(setting: Setting, n: int, repeats: int) -> Outcome:
    """Diagnose independent samples of a law."""
    found = [ht.tails.diagnose(setting.draw(n, seed)) for seed in range(repeats)]
    return Outcome(
        index=float(np.nanmedian([d.upper.index for d in found])),
        index_holds=float(np.mean([index_holds(d, setting.index) for d in found])),
        mean_holds=float(np.mean([d.mean_low <= setting.mean <= d.mean_high for d in found])),
        needs=tuple(float(np.mean([d.need == need for d in found])) for need in NEEDS),
    )


def index_holds(found: Diagnosis, index: float) -> bool:
    """Tell whether the interval of the upper tail holds an index."""
    return found.upper.index_low <= index <= found.upper.index_high


def row(name: str, outcomes: Sequence[Outcome]) -> list[str]:
    """Make the row of a law: for each size estimate, coverages and answers."""
    return [name, *(cell for outcome in outcomes for cell in cells(outcome))]


def cells(outcome: Outcome) -> list[str]:
    """Show an outcome."""
    holds = f"{outcome.index_holds:.0%} / {outcome.mean_holds:.0%}"
    return [f"{outcome.index:.3g}", holds, " ".join(f"{100.0 * share:.0f}" for share in outcome.needs)]


def header() -> list[str]:
    """Return the names of the columns."""
    return ["law, tail index", *(cell for n in SIZES for cell in (f"n = {n:,}", "index / mean", "no ? yes"))]


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """Make the table of the page, with numbers that stay in one line."""
    unbroken = ([name, *(cell.replace(" ", NO_BREAK) for cell in rest)] for name, *rest in lines)
    return to_markdown(header(), unbroken)


def seconds(n: int) -> float:
    """Measure a diagnosis of n samples by the clock, the best of three."""
    samples = ht.laws.student_t(1.5).sample(n, seed=0)
    ht.tails.diagnose(samples[:1000])
    times = []
    for _ in range(3):
        start = time.perf_counter()
        ht.tails.diagnose(samples)
        times.append(time.perf_counter() - start)
    return min(times)


def draw_returns() -> None:
    """Draw the tails of the S&P 500's daily returns, from the prices in the package arch."""
    import pandas as pd

    prices = next(f for f in files("arch") or () if f.name == "sp500.csv.gz")
    returns = 100.0 * np.diff(np.log(pd.read_csv(prices.locate())["Adj Close"].to_numpy()))
    save_figure(ht.tails.diagnose(returns).plot("S&P 500, daily returns in percent"), PICTURE)


def main() -> None:
    """Measure, print, and write the table into the page."""
    parser = argparse.ArgumentParser(description="Measure how often the intervals of ht.tails hold.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the repetitions; nothing is written")
    quick = parser.parse_args().quick
    repeats = scaled(REPEATS, quick)
    lines = [row(name, [measure(s, n, repeats) for n in SIZES]) for name, s in SETTINGS.items()]
    print_table(f"{repeats} samples of each law and size", header(), lines)
    print(f"\n{SPEED_SIZE:,} rewards: {seconds(SPEED_SIZE):.1f} s")
    if not quick:
        write_table(PAGE, "python benchmarks/bench_tails.py", markdown(lines))
        draw_returns()
        print(f"Written: docs/{PAGE.name}, docs/{PICTURE.name}")


if __name__ == "__main__":
    main()
