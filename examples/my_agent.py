"""An agent of one's own
=====================

It plays the action whose rewards look best to a robust estimator, and now and then another one. heavytail's
own agents are files like this one: a record of arrays, a builder, and a few small functions, which are
compiled. To try it::

    import heavytail as ht, my_agent
    ht.make_agent(ht.make_mdp("six_arms"), "greedy").learn(episodes=1000)
"""

from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from heavytail import Problem, make_agent, make_mdp, planning, register
from heavytail.arrays import Floats, Record, Stream
from heavytail.checks import Probability
from heavytail.estimators import build_estimator
from heavytail.kernels import act, argmax_row, integer, mean, push, reset, uniform, update


class Greedy(NamedTuple):
    """The agent's state: arrays, numbers and other such records."""

    estimator: Record  # a mean for each state and action; any estimator will do
    means: Floats  # [1, S, A]
    exploration: float


@register("agent", "greedy")
def greedy(problem: Problem, *, exploration: Probability = 0.1) -> Greedy:
    """Play the action with the best estimate, now and then any action.

    Args:
        problem: the sizes of the environment.
        exploration: the probability of any action.
    """
    S, A = problem.n_states, problem.n_actions
    sketch = build_estimator("greedy", "sketch", S * A, None)  # needs no prior knowledge
    return Greedy(sketch, np.zeros((1, S, A)), exploration)


@act.method(Greedy)
def _act(agent: Greedy, s: int, h: int, rng: Stream) -> int:
    if uniform(rng) < agent.exploration:
        return integer(rng, agent.means.shape[2])
    return argmax_row(agent.means, 0, s)


@update.method(Greedy)
def _update(
    agent: Greedy, s: int, a: int, r: float, s_next: int, h: int, terminated: bool, rng: Stream
) -> None:
    cell = s * agent.means.shape[2] + a
    push(agent.estimator, cell, r)
    agent.means[0, s, a] = mean(agent.estimator, cell, 5.0)


@reset.method(Greedy)
def _reset(record: Greedy) -> None:
    reset(record.estimator)
    record.means[:] = 0.0


# %%
# It runs like any other: compiled, in studies, on GPUs, saved and loaded.


def main(episodes: int = 20_000, runs: int = 20) -> Figure:
    """Let it play a bandit of five arms with infinite variance, beside the agent that needs no numbers."""
    mdp = make_mdp("bandits", n_actions=5, law="student_t", df=1.5, horizon=1)
    best = planning.optimal_value(mdp)
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for name in ("greedy", "heavy_psrl"):
        curves = [make_agent(mdp, name, seed=seed).learn(episodes) for seed in range(runs)]
        regret = np.median([best * curve.episodes - curve.mean_reward for curve in curves], axis=0)
        axes.plot(curves[0].episodes, regret, label=name)
    axes.set(xlabel="episodes", ylabel="regret", title=f"Median of {runs} runs")
    axes.legend()
    return figure


# %%
# An agent that never stops exploring never stops losing: the regret of `greedy` grows in a straight line.
if __name__ == "__main__":
    main()
    plt.show()
