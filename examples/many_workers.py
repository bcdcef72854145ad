"""One agent, many workers
=======================

A service with several processes has one agent, which lives in a process of its own; the workers ask it what
to do, and tell it what came of it. Every transition is learnt once, in the order in which it arrives, and a
worker that dies takes nothing with it. The agent saves itself while it works, so that its own process may die
too.
"""

import tempfile
import time
from multiprocessing import get_context
from multiprocessing.managers import BaseManager
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

import heavytail as ht

SHOPS = ["north", "south"]
PRICES = [8, 9, 10, 11]
BEST = {"north": 10, "south": 9}


class Owner(BaseManager):
    """The process that owns the agent."""


def start_agent(path: str) -> ht.OnlineAgent[Any]:
    """Go on with the agent of a file, or start a new one."""
    new = ht.make_online(states=SHOPS, actions=PRICES, horizon=1)
    agent = ht.OnlineAgent.load(path) if Path(path).exists() else new
    agent.autosave(path, seconds=5.0)
    return agent.warm_up()


Owner.register("agent", start_agent, exposed=("act", "update", "policy", "save"))


def work(agent: Any, shop: str, customers: int, seed: int, out: Any) -> None:
    """Offer prices in one shop; customers who buy a thousand pieces make the rewards heavy."""
    rng, started, chosen = np.random.default_rng(seed), time.perf_counter(), []
    for _ in range(customers):
        price = agent.act(shop)
        sold = rng.pareto(1.5) * (price == BEST[shop] or rng.random() < 0.5)
        agent.update(shop, price, sold)
        chosen.append(price == BEST[shop])
    out.put((np.array(chosen), (time.perf_counter() - started) / customers))


def main(customers: int = 2000, workers: int = 4) -> Figure:
    """Let workers share an agent, and draw how often they choose the best price."""
    context = get_context("spawn")
    with tempfile.TemporaryDirectory() as folder, Owner(ctx=context) as owner:
        path = str(Path(folder) / "agent.npz")
        agent, out = owner.agent(path), context.Queue()  # type: ignore[attr-defined] # made by register
        shops = [SHOPS[i % len(SHOPS)] for i in range(workers)]
        jobs = [(agent, shop, customers, seed, out) for seed, shop in enumerate(shops)]
        processes = [context.Process(target=work, args=job) for job in jobs]
        for process in processes:
            process.start()
        results = [out.get() for _ in processes]
        for process in processes:
            process.join()
        agent.save(path)
        learnt = ht.OnlineAgent.load(path)
    print(f"{learnt}; act and update: {1e6 * np.mean([t for _, t in results]):.0f} us in a worker")
    best = np.mean([chosen for chosen, _ in results], axis=0)
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    window = max(customers // 20, 1)
    axes.plot(np.convolve(best, np.full(window, 1 / window), "valid"))
    axes.set(xlabel="customers of each worker", ylabel="share of best prices", ylim=(0, 1))
    axes.set_title(f"{workers} workers, one agent")
    return figure


# %%
# All workers learn from what any of them sees. A call takes as long as a message to another process and back,
# hundreds of times longer than the agent itself.
if __name__ == "__main__":
    main()
    plt.show()
