"""Print which scales the agents' defaults are, and what they are worth where they were not chosen.

    python benchmarks/bench_scales.py

reads studies/default-scales. An agent's default is the point of its grid with the least regret, as a share of
that of playing at random, on average over the environments in `CHOSEN_ON`. For the other environments the
table has the regret there, median over seeds, beside that of both scales 1 (the theorem's), of the best point
for that environment alone, and of playing at random.

The rule and the set were settled after others had been tried with all regrets in view (docs/which_agent.md
says which), so the other environments are not an untouched test.
"""

from pathlib import Path

import pandas as pd

import heavytail as ht

STUDY = Path(__file__).parents[1] / "studies" / "default-scales"
CHOSEN_ON = (
    "six_arms",
    "six_arms_t",
    "double_chain_t",
    "double_chain_normal",
    "river_swim",
    "river_swim_t",
    "bandits_normal",
    "bandits_one_step",
)
SCALES = ["transition_scale", "reward_scale"]


def read_regrets(study: ht.Study) -> pd.DataFrame:
    """Median regret, a row for each map and point, a column for each environment."""
    frame = study.maps().table.to_pandas()
    frame["reward_scale"] = frame["reward_scale"].fillna(1.0)
    return frame.pivot_table(index=["map", *SCALES], columns="env", values="regret_median")


def choose(regrets: pd.DataFrame, chance: pd.Series) -> tuple[float, float]:
    """The point with the least mean share of the regret of playing at random."""
    return (regrets[list(CHOSEN_ON)] / chance[list(CHOSEN_ON)]).mean(axis=1).idxmin()


def random_regret(study: ht.Study) -> pd.Series:
    """The median final regret of playing at random, by environment."""
    curves = study.curves()
    final = curves[curves["at"] == curves["at"].max()]
    return final.groupby("env_key")["regret"].median()


def main() -> None:
    """Print a table for each agent."""
    study = ht.Study.open(STUDY)
    by_map, chance = read_regrets(study), random_regret(study)
    for name in study.spec.maps:
        regrets = by_map.loc[name].dropna(axis=1)
        best = choose(regrets, chance)
        table = pd.DataFrame(
            {
                "default": regrets.loc[best],
                "theorem's": regrets.loc[(1.0, 1.0)],
                "best for it": regrets.min(),
                "random": chance,
            }
        ).dropna()
        table.insert(0, "chosen on it", [env in CHOSEN_ON for env in table.index])
        print(f"\n{name}: transition_scale {best[0]:g}, reward_scale {best[1]:g}")
        print(table.sort_values("chosen on it", ascending=False).round(0).to_string())


if __name__ == "__main__":
    main()
