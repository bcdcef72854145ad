"""``python benchmarks/draw_noise.py``: return against the scale of the noise, docs/deep-robust.svg.

From the published results of `studies/deep-robust`; nothing is computed anew.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import heavytail as ht
from heavytail.files import save_figure

ROOT = Path(__file__).parent.parent
TASKS = {
    "car_600": "MountainCar, cap 600",
    "car_200": "MountainCar, cap 200",
    "acrobot": "Acrobot",
    "pendulum": "Pendulum",
    "cart_pole": "CartPole",
}
AGENTS = {
    "robust": "robust model, nothing tuned",
    "clipped": "clipping, tuned",
    "heavy": "Heavy-DQN, tuned",
    "quantiles": "QR-DQN",
    "unclipped": "DQN",
}
SCALES = (0, 1, 5, 20, 100)
LAST = 0.1  # share of a run that counts


def last_returns(curves: pd.DataFrame) -> pd.Series:
    """Calculate the mean clean return of the last tenth of each run."""
    at = np.unique(curves["at"])
    rows = curves[curves["phase"] == "evaluation"].set_index(["env_key", "agent_key", "run"]).sort_index()
    end, begin = (
        rows.loc[rows["at"] == step, ["mean_reward", "episodes"]]
        for step in (at[-1], at[-1 - round(LAST * len(at))])
    )
    gained = end - begin
    return gained["mean_reward"] / gained["episodes"].clip(lower=1)


def main() -> None:
    """Draw a panel for each task: medians and quartiles over seeds."""
    returns = last_returns(ht.Study.open(str(ROOT / "studies/deep-robust")).curves())
    figure, panels = plt.subplots(1, len(TASKS), figsize=(15, 3.4), layout="constrained")
    for axes, (task, title) in zip(panels, TASKS.items(), strict=True):
        for agent, label in AGENTS.items():
            values = [returns[f"{task}.{scale}", agent] for scale in SCALES]
            low, middle, high = np.array([np.quantile(v, [0.25, 0.5, 0.75]) for v in values]).T
            (line,) = axes.plot(middle, "o-", label=label, lw=2.5 if agent == "robust" else 1.3, ms=4)
            axes.fill_between(range(len(SCALES)), low, high, color=line.get_color(), alpha=0.12)
        axes.set(title=title, xlabel="scale of the noise", xticks=range(len(SCALES)), xticklabels=SCALES)
    panels[0].set_ylabel("return, without the noise")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(AGENTS), frameon=False)
    print(save_figure(figure, ROOT / "docs/deep-robust.svg"))


if __name__ == "__main__":
    main()
