"""A study in ten lines
====================

Which agent learns DoubleChain fastest, and how sure is that? A study tunes on some seeds, runs on others, in
parallel, and can be interrupted anywhere.
"""

import tempfile
from typing import Literal

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

import heavytail as ht


def main(episodes: int = 5000, seeds: int = 20, engine: Literal["local", "inline"] = "local") -> Figure:
    """Run the study, and draw its regret."""
    spec = {
        "name": "ten-lines",
        "episodes": episodes,
        "seeds": seeds,
        "envs": {"double_chain": {}},
        "agents": {
            "heavy_psrl": {},
            "heavy_q_learning": {"grid": {"bonus_scale": [0.01, 0.1, 1.0]}},
            "q_learning": {"grid": {"bonus_scale": [0.01, 0.1, 1.0]}},
        },
    }
    study = ht.Study(spec, tempfile.mkdtemp())  # or a folder of yours, to go on with after an interruption
    study.run(engine=engine)
    study.report()  # one page, with intervals and tests
    table = study.curves().groupby(["agent_key", "at"])["regret"].quantile([0.25, 0.5, 0.75]).unstack()
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for agent, rows in table.groupby("agent_key"):
        at = rows.index.get_level_values("at")
        (line,) = axes.plot(at, rows[0.5], label=agent)
        axes.fill_between(at, rows[0.25], rows[0.75], color=line.get_color(), alpha=0.2)
    axes.set(xlabel="episodes", ylabel="regret", title=f"Median and quartiles of {seeds} runs")
    axes.legend()
    return figure


# %%
# The agent without parameters is ahead of both tuned ones; how it compares on other tasks is in the
# study ``tell-it-nothing``.
if __name__ == "__main__":
    main()
    plt.show()
