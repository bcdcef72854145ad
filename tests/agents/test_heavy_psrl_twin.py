"""Heavy-PSRL against its slow twin: what it draws of a history, and how it plays, in distribution.

Each comparison is a Kolmogorov-Smirnov test at the level 1e-4 / 40; there are some hundred, with fixed seeds:
were all of them new, one run in four thousand would fail.
"""

from typing import Any

import numpy as np
import pytest
from scipy.stats import ks_2samp

import heavytail as ht
from heavytail.agents._drawn_mdp import BONUS, HIGH, NEW, RANGE, draw_mdp
from heavytail.agents.heavy_psrl import HeavyPSRL, heavy_psrl
from heavytail.arrays import Floats, Stream
from heavytail.kernels.compiling import entry
from heavytail.kernels.pools import any_pool_full, with_larger_pools
from heavytail.kernels.rng import stream
from heavytail.kernels.verbs import begin, update
from heavytail.mdp import MDP
from heavytail.mdp.problem import make_problem
from support import naive_agents, psrl_twin

LEVEL = 1e-4 / 40
MDPS = {
    "pooled": (ht.make_mdp("bandits", n_states=2, n_actions=3, horizon=2, law="pareto", alpha=1.5), 150),
    "symmetric": (ht.make_mdp("bandits", n_states=2, n_actions=3, horizon=2, law="student_t", df=1.5), 150),
    "random": (ht.make_mdp("river_swim", horizon=8), 20),
    "continuing": (ht.make_mdp("garnet", n_states=4, n_actions=2, branching=2, horizon=None), 40),
}


def _begin(agent: HeavyPSRL, s: int, rng: Stream) -> None:
    begin(agent, s, rng)


def _update(
    agent: HeavyPSRL, s: int, a: int, r: float, s_next: int, h: int, terminated: bool, rng: Stream
) -> None:
    update(agent, s, a, r, s_next, h, terminated, rng)


def _draw(agent: HeavyPSRL, steps: float, rng: Stream, out: Floats) -> None:
    cells = agent.rewards.size
    for i in range(out.shape[0]):
        draw_mdp(agent, steps, rng)
        for cell in range(cells):
            out[i, cell] = agent.rewards[cell]
            out[i, cells + cell] = agent.lump[cell]
        for k in range(3):
            out[i, 2 * cells + k] = agent.unknown[(HIGH, RANGE, BONUS)[k]]
        out[i, 2 * cells + 3] = agent.unknown[NEW]


def fed(mdp: MDP, path: list[naive_agents.Step]) -> HeavyPSRL:
    """The agent that has seen a path."""
    agent, rng, episode = heavy_psrl(make_problem(mdp)), stream(0), -1
    for step in path:
        if any_pool_full(agent):
            agent = with_larger_pools(agent)
        if step.episode != episode and (mdp.horizon > 0 or episode < 0):
            episode = step.episode
            entry(_begin, agent)(agent, step.s, rng)
        entry(_update, agent)(agent, *step[2:6], step.h, step.terminated, rng)
    return agent


def twin_draws(twin: psrl_twin.HeavyPSRL, mdp: MDP, n: int) -> Floats:
    """What the twin draws n times, in the order of `_draw`."""
    out = np.zeros((n, 2 * mdp.n_states * mdp.n_actions + 4))
    for row in out:
        twin.draw()
        means, lumps = row[: (len(row) - 4) // 2], row[(len(row) - 4) // 2 : -4]
        for (s, a), (_, lump, elsewhere) in twin.goes.items():
            means[s * mdp.n_actions + a] = twin.mean[s, a]
            lumps[s * mdp.n_actions + a] = lump
            row[-1] = elsewhere == psrl_twin.NEW
        row[-4:-1] = twin.high, twin.range, twin.bonus
    return out


@pytest.mark.parametrize("name", MDPS)
def test_it_draws_of_a_history_as_its_twin_does(name: str) -> None:
    """Means, lumps, the unknown and whether states may be new, of 1,000 draws of each."""
    mdp, units = MDPS[name]
    twin = psrl_twin.HeavyPSRL(mdp.n_actions, mdp.horizon, seed=1)
    agent = fed(mdp, naive_agents.play(twin, mdp, seed=1, units=units))
    slow = twin_draws(twin, mdp, 1_000)
    fast = np.zeros_like(slow)
    entry(_draw, agent)(agent, twin.length, stream(2), fast)
    assert len(np.unique(fast, axis=0)) > 500
    for column, (x, y) in enumerate(zip(fast.T, slow.T, strict=True)):
        close = np.isclose(x.mean(), y.mean(), rtol=1e-9) and x.std() < 1e-9 * abs(x.mean())
        assert close or ks_2samp(x, y, method="asymp").pvalue > LEVEL, column


@pytest.mark.parametrize("name", MDPS)
def test_it_plays_as_its_twin_does(name: str) -> None:
    """How often each action of the first state was played, and how many states were seen, in 60 runs."""
    mdp, units = MDPS[name]
    units //= 2
    slow, fast = [], []
    for seed in range(60):
        twin = psrl_twin.HeavyPSRL(mdp.n_actions, mdp.horizon, seed)
        naive_agents.play(twin, mdp, seed, units)
        first = [len(twin.rewards.get((0, a), [])) for a in range(mdp.n_actions)]
        slow.append([*first, len(twin.seen), twin.number])
    for seed in range(1_000, 1_400):
        learner = ht.make_agent(mdp, seed=seed)
        learner.learn(units) if mdp.horizon else learner.learn(steps=units)
        agent: Any = learner.agent
        fast.append([*agent.model.visits[: mdp.n_actions], agent.seen.size[0], agent.phase[0]])
    for column, (x, y) in enumerate(zip(np.transpose(fast), np.transpose(slow), strict=True)):
        assert ks_2samp(x, y, method="asymp").pvalue > LEVEL, column


def test_phases_end_when_its_twins_do() -> None:
    """Where there is nothing to choose chance has no say: the same number after each of 1,500 episodes."""
    mdp = ht.mdp_from_arrays(np.ones((1, 1, 1)), [[1.0]], horizon=1)
    twin, learner = psrl_twin.HeavyPSRL(1, 1, seed=0), ht.make_agent(mdp, seed=0)
    for _ in range(1_500):
        twin.begin(0)
        twin.update(0, 0, 1.0, 0, 0, terminated=False)
        learner.learn(1)
        assert twin.number == learner.agent.phase[0]
    assert twin.number > 100
