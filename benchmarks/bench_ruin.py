"""Whether Heavy-PSRL leaves an arm that looks better and is ruinous, and what it plays where the arm is not.

Arm A pays N(0.1, 1) and, once in a thousand steps, -1000 (its mean is -0.9); arm B pays N(0, 0.1). The mirror
of A pays N(-0.1, 1) and 1000 (0.9), and is found only by who tries it some thousand times.
"""

import argparse
import math

import numpy as np
from scipy import stats

import heavytail as ht
from _figures import print_table, scaled

STEPS, SEEDS = 50_000, 200
ORDINARY, RARE = 9_990, 10  # of the rewards of arm A


def bandit(rare: float) -> ht.MDP:
    """Make the bandit."""
    quantiles = stats.norm(math.copysign(0.1, -rare), 1.0).ppf((np.arange(ORDINARY) + 0.5) / ORDINARY)
    a = ht.laws.empirical(np.append(quantiles, np.full(RARE, rare)))
    return ht.mdp_from_arrays(np.ones((1, 2, 1)), laws=[[a, ht.laws.normal(0.0, 0.1)]])


def plays_of_worse(rare: float, seeds: int) -> tuple[list[float], list[float]]:
    """Return how often the worse arm is played, in all and in the last half."""
    mdp = bandit(rare)
    gap = float(np.ptp(mdp.mean_rewards))
    everything, late = [], []
    for seed in range(seeds):
        regret = ht.make_agent(mdp, "heavy_psrl", seed=seed).learn(steps=STEPS, checkpoints=2).regret
        everything.append(regret[1] / gap)
        late.append((regret[1] - regret[0]) / gap)
    return everything, late


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the seeds")
    seeds = scaled(SEEDS, parser.parse_args().quick)
    rows = []
    for name, rare in (("ruinous", -1000.0), ("jackpot", 1000.0)):
        everything, late = plays_of_worse(rare, seeds)
        stuck = np.mean(np.array(late) > 0.1 * STEPS / 2)
        low, high = np.quantile(everything, (0.05, 0.95))
        rows.append([name, f"{np.median(everything):,.0f} ({low:,.0f} to {high:,.0f})", f"{stuck:.1%}"])
    header = ["bandit", f"plays of the worse arm in {STEPS:,} (5% to 95%)", "more than 10% of the last half"]
    print_table("Ruin and jackpots", header, rows)


if __name__ == "__main__":
    main()
