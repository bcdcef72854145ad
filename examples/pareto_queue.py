"""A queue whose jobs are sometimes endless
========================================

Jobs arrive at random and wait in line. Before each, a manager chooses a machine: the cheap one, or the
express one, which is twice as fast and costs extra. How long a job takes has a Pareto law of infinite
variance, so that a single job can fill the waiting room and cost more than a thousand others.

The simulator is a Python function, the state is how many wait, there is no end: the agent is told just that.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

import heavytail as ht
from heavytail.arrays import Floats

ROOM = 12  # places in the waiting room; who finds it full goes away
ARRIVALS = 0.8  # per minute
TAIL_INDEX = 1.6
MEAN_MINUTES = {"cheap": 1.0, "express": 0.5}
PRICE = {"cheap": 0.0, "express": 2.0}
LOST = 3.0  # what a customer who goes away costs; one who waits costs 1 per minute


def serve(waiting: int, machine: str, rng: np.random.Generator) -> tuple[float, int]:
    """Do one job; return what it cost, and how many wait then."""
    minutes = MEAN_MINUTES[machine] * (TAIL_INDEX - 1) / TAIL_INDEX * (1 + rng.pareto(TAIL_INDEX))
    arrived = int(rng.poisson(ARRIVALS * minutes))
    joined = min(arrived, ROOM - waiting)
    until_served = rng.uniform(0, minutes, joined).sum()
    cost = PRICE[machine] + waiting * minutes + until_served + LOST * (arrived - joined)
    return cost, max(waiting + joined - 1, 0)


def manage(agent: ht.OnlineAgent[str] | None, jobs: int, seed: int, machine: str = "") -> Floats:
    """Let an agent choose machines, or always take the same one; return the costs."""
    rng, waiting, costs = np.random.default_rng(seed), 0, np.zeros(jobs)
    for i in range(jobs):
        choice = machine if agent is None else agent.act(waiting)
        costs[i], waiting_next = serve(waiting, choice, rng)
        if agent is not None:
            agent.update(waiting, choice, -costs[i], waiting_next)
        waiting = waiting_next
    return costs


def main(jobs: int = 30_000, runs: int = 16) -> Figure:
    """Manage the queue, and draw what it cost and what was learnt."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for machine in PRICE:
        average = np.median([manage(None, jobs, seed, machine).mean() for seed in range(runs)])
        left.axhline(average, ls=":", color="grey")
        left.text(jobs, average, f"always {machine}", ha="right", va="bottom")
    for name in ("ucrl2", "heavy_psrl"):
        agents = [ht.make_online(ROOM, PRICE, name, seed=seed) for seed in range(runs)]
        costs = np.stack([manage(agent, jobs, seed) for seed, agent in enumerate(agents)])
        averages = np.median(costs.cumsum(axis=1), axis=0) / np.arange(1, jobs + 1)
        left.plot(averages, label=name)
        express = np.mean([agent.policy() == "express" for agent in agents], axis=0)
        right.plot(express, "o-", label=name)
        print(f"{name}: {averages[-1]:.2f} per job")
    left.set(xlabel="jobs", ylabel="cost per job so far", title=f"Median of {runs} runs", ylim=(0, None))
    right.set(xlabel="waiting", ylabel="share of runs that take the express", title="What was learnt")
    right.legend()
    return figure


# %%
# With nobody in line the cheap machine will do; with a few, the express pays for itself. The agent for heavy
# tails finds that out, and beats both machines; the one for light tails is led astray by the endless jobs.
if __name__ == "__main__":
    main()
    plt.show()
