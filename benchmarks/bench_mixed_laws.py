"""Heavy-PSRL where the rewards of actions have laws of different shapes, which it does not expect.

    python benchmarks/bench_mixed_laws.py

Bandits of 4 states and 5 actions: one action of each state has a mean of 1, the others of 0.5, and their laws
take turns. Stuck is a run whose last tenth is below 95% of the optimum.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

import heavytail as ht
from _figures import print_table

STATES, ACTIONS, HORIZON = 4, 5, 5
EPISODES, SEEDS = 25_000, range(4_000_000, 4_000_040)
laws: Any = ht.laws
TASKS: dict[str, list[Any]] = {
    "Pareto 1.5, log-normal 1, normal, Student t 1.5, stable 1.5 (beta 0.5)": [
        laws.pareto(1.5),
        laws.log_normal(sigma=1.0),
        laws.normal(0.0, 1.0),
        laws.student_t(1.5),
        laws.alpha_stable(1.5, beta=0.5),
    ],
    "stable 1.5, beta 0.7 and -0.7": [laws.alpha_stable(1.5, beta=beta) for beta in (0.7, -0.7)],
    "Pareto 1.5, 2 and 3": [laws.pareto(alpha) for alpha in (1.5, 2.0, 3.0)],
    "log-normal 1, 1.5 and 2": [laws.log_normal(sigma=sigma) for sigma in (1.0, 1.5, 2.0)],
    "Pareto 1.5, of scale 0.5, 1 and 2": [laws.pareto(1.5, scale=scale) for scale in (0.5, 1.0, 2.0)],
}


def make_bandits(shapes: Sequence[Any]) -> ht.MDP:
    """Make an MDP whose states are bandits that follow one another at random."""
    cells = [
        [shapes[(a + 2 * s + s // 2) % len(shapes)].with_mean(1.0 if a == s else 0.5) for a in range(ACTIONS)]
        for s in range(STATES)
    ]
    anywhere = np.full(STATES, 1.0 / STATES)
    transitions = np.broadcast_to(anywhere, (STATES, ACTIONS, STATES))
    return ht.mdp_from_arrays(transitions, laws=cells, horizon=HORIZON, start=anywhere)


def measure(mdp: ht.MDP) -> tuple[float, float]:
    """Return the median regret, and the share of runs that are stuck."""
    regrets, lasts = [], []
    for seed in SEEDS:
        curve = ht.make_agent(mdp, "heavy_psrl", seed=seed).learn(EPISODES, checkpoints=10)
        regrets.append(curve.regret[-1])
        lasts.append(np.diff(curve.mean_reward)[-1])
    return float(np.median(regrets)), float(np.mean(np.array(lasts) < 0.95 * HORIZON * EPISODES / 10))


def main() -> None:
    """Print a row for each mixture of laws."""
    rows = []
    for name, shapes in TASKS.items():
        regret, stuck = measure(make_bandits(shapes))
        rows.append([name, f"{regret:,.0f}", f"{stuck:.0%}"])
    print_table(f"Heavy-PSRL, {len(SEEDS)} runs", ["laws of the actions", "regret", "stuck"], rows)


if __name__ == "__main__":
    main()
