"""A router that learns which server is fast
=========================================

Requests of three kinds come in; each can go to any of four servers. Latencies have a tail so heavy that their
variance is infinite: most answers take milliseconds, a few take minutes. Which server is best for which kind?

This is a contextual bandit: one step, a state (the kind of request) that comes by itself. The agent is told
what there is to choose from, and nothing else.
"""

from collections.abc import Callable

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

import heavytail as ht
from heavytail.arrays import Floats

KINDS = ["search", "checkout", "report"]
SERVERS = ["north", "east", "south", "west"]
TAIL_INDEX = 1.5  # known to the simulator, not to the agents
MEAN_MS = {"search": [20, 35, 35, 50], "checkout": [60, 40, 60, 80], "report": [300, 300, 300, 200]}


def latency(kind: str, server: str, rng: np.random.Generator) -> float:
    """Draw the latency of one request, in ms: a Pareto law with the server's mean."""
    mean = MEAN_MS[kind][SERVERS.index(server)]
    return mean * (TAIL_INDEX - 1) / TAIL_INDEX * (1 + rng.pareto(TAIL_INDEX))


class RunningAverages:
    """What one would write first: the best average so far, and a random server for one request in ten."""

    def __init__(self, seed: int) -> None:
        self.totals = {(kind, server): [0, 0.0] for kind in KINDS for server in SERVERS}
        self.rng = np.random.default_rng(seed)

    def act(self, kind: str) -> str:
        """Choose a server."""
        if self.rng.random() < 0.1:
            return str(self.rng.choice(SERVERS))
        return max(SERVERS, key=lambda server: self._average(kind, server))

    def update(self, kind: str, server: str, r: float) -> None:
        """Learn from one answer."""
        total = self.totals[kind, server]
        total[0] += 1
        total[1] += r

    def _average(self, kind: str, server: str) -> float:
        n, total = self.totals[kind, server]
        return total / n if n else np.inf


def route(agent: ht.OnlineAgent[str] | RunningAverages, requests: int, seed: int) -> Floats:
    """Let an agent route; return how many ms too many each request was expected to take."""
    rng, too_many = np.random.default_rng(seed), np.zeros(requests)
    for i in range(requests):
        kind = KINDS[rng.integers(len(KINDS))]
        server = agent.act(kind)
        agent.update(kind, server, -latency(kind, server, rng))
        too_many[i] = MEAN_MS[kind][SERVERS.index(server)] - min(MEAN_MS[kind])
    return too_many


def main(requests: int = 20_000, runs: int = 20) -> Figure:
    """Route, and draw what was lost."""
    makers: dict[str, Callable[[int], ht.OnlineAgent[str] | RunningAverages]] = {
        "running averages": RunningAverages,
        "psrl, for light tails": lambda seed: ht.make_online(KINDS, SERVERS, "psrl", seed=seed, horizon=1),
        "heavy_psrl": lambda seed: ht.make_online(KINDS, SERVERS, seed=seed, horizon=1),
    }
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for name, make in makers.items():
        lost = np.median([route(make(seed), requests, seed).cumsum() for seed in range(runs)], axis=0)
        axes.plot(np.arange(1, requests + 1), lost / 1000, label=name)
        print(f"{name}: {lost[-1] / requests:.2f} ms too many per request")
    axes.set(xlabel="requests", ylabel="seconds lost to slower servers", title=f"Median of {runs} runs")
    axes.legend()
    return figure


# %%
# Averages are pulled to and fro by single requests that take minutes; the agent for light tails is too. The
# one for heavy tails soon sends almost everything to the right server.
if __name__ == "__main__":
    main()
    plt.show()
