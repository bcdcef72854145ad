"""Whether Heavy-PSRL leaves an arm that looks better and is ruinous, and what it plays where the arm is not.

Arm A pays N(0.1, 1) and, once in a thousand steps, -1000 (its mean is -0.9); arm B pays N(0, 0.1). The mirror
of A pays N(-0.1, 1) and 1000 (0.9), and is found only by who tries it some thousand times. There are 50,000
steps for each state: of a bandit, of three that follow one another, and of one with eleven arms like B.
"""

import argparse
import math
from typing import Any

import numpy as np
from scipy import stats

import heavytail as ht
from _figures import print_table, scaled

STEPS, SEEDS = 50_000, 200
ORDINARY, RARE = 9_990, 10  # of the rewards of arm A


def choices(rare: float, *, states: int = 1, arms: int = 2, horizon: int | None = None) -> ht.MDP:
    """Make states that follow one another, with an arm A and others like B in each."""
    quantiles = stats.norm(math.copysign(0.1, -rare), 1.0).ppf((np.arange(ORDINARY) + 0.5) / ORDINARY)
    a = ht.laws.empirical(np.append(quantiles, np.full(RARE, rare)))
    laws = [[a, *[ht.laws.normal(0.0, 0.1)] * (arms - 1)]] * states
    following = np.repeat(np.roll(np.eye(states), 1, axis=1)[:, None], arms, axis=1)
    return ht.mdp_from_arrays(following, laws=laws, horizon=horizon)


TASKS = {
    "ruinous, bandit": choices(-1000.0),
    "ruinous, bandit in episodes": choices(-1000.0, horizon=1),
    "ruinous, three in turn": choices(-1000.0, states=3),
    "ruinous, three in turn, episodes": choices(-1000.0, states=3, horizon=30),
    "ruinous, twelve arms": choices(-1000.0, arms=12),
    "jackpot, bandit": choices(1000.0),
}


def plays_of_worse(mdp: ht.MDP, seeds: int) -> tuple[list[float], list[float]]:
    """Return which share of steps play worse arms, in all and in the last half."""
    steps, gap = STEPS * mdp.n_states, float(np.ptp(mdp.mean_rewards))
    units: dict[str, Any] = {"episodes": steps // mdp.horizon} if mdp.horizon else {"steps": steps}
    everything, late = [], []
    for seed in range(seeds):
        regret = ht.make_agent(mdp, "heavy_psrl", seed=seed).learn(**units, checkpoints=2).regret
        everything.append(regret[1] / gap / steps)
        late.append((regret[1] - regret[0]) / gap / steps * 2.0)
    return everything, late


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the seeds")
    seeds = scaled(SEEDS, parser.parse_args().quick)
    rows = []
    for name, mdp in TASKS.items():
        everything, late = plays_of_worse(mdp, seeds)
        low, high = np.quantile(everything, (0.05, 0.95))
        stuck = np.mean(np.array(late) > 0.1)
        rows.append([name, f"{np.median(everything):.1%} ({low:.1%} to {high:.1%})", f"{stuck:.1%}"])
    header = ["task", "steps that play the worse arm (5% to 95%)", "more than 10% of the last half"]
    print_table("Ruin and jackpots", header, rows)


if __name__ == "__main__":
    main()
