r"""The MDP that Heavy-PSRL draws from its posterior.

- *Mean rewards*: `heavytail.agents._drawn_means`.
- *Transitions*: a cell that has always led to one state is certain or random, as cells like it say
  (`heavytail.agents._certainty`), and a random one leads elsewhere with a rate from Beta(1, n). Of a cell
  that has led to several states: Dirichlet over them, and a lump Gamma(theta) on one more. The rate theta is
  drawn once for all cells from its posterior Gamma(N, M), where N counts their visits, but for each cell's
  first, that met a new successor, and M how many would have at rate 1 (sum of 1 / n). Memory, draws and plans
  cost what was observed.
- *Where lumps lead*: to a state that was never seen, which stands for all of them, or to a state seen.
  Numbers of states say nothing, since some may never be reached; how often something new turned up does (Good
  1953). Of E pairs of a cell and a successor, f are the only ones that lead from another state to theirs: as
  far as one can tell, the next pair is as likely to be such a one. So with a probability from
  Beta(f + 1, E - f) all lumps of a draw lead to states never seen, else none does.
- *Rare rewards*: a cell that has paid the same all n times may yet pay otherwise, as cells like it say. If it
  is drawn as one that does it gets X R / (n U^(3/4)) more, X a standard exponential, U uniform and R the
  range of trimmed means so far: the part of the mean that is in rewards of a heavy tail that come once in n
  visits.
- *The unknown*: a cell never visited, or visited once and not drawn as certain, pays high + (L + X) R, where
  high is the largest trimmed mean, and L the steps of an episode. A state never seen pays high + R / L at
  every step, since sooner is better, and 2 L R / U once: more than an episode on the way can cost, and in
  some draws far more, since R is not known before all is seen. In a continuing problem L is the number of
  states seen and the length of the phase before.
"""

import math
from typing import TYPE_CHECKING

from heavytail.agents._certainty import draw_beta, draw_change, draw_pays_otherwise, draw_shares
from heavytail.agents._drawn_means import draw_means
from heavytail.agents._index_list import IndexList, item
from heavytail.agents._transition_counts import TransitionCounts
from heavytail.arrays import Stream, U
from heavytail.estimators.sketch import MIDDLE, is_constant
from heavytail.kernels.compiling import kernel, subroutine
from heavytail.kernels.elementary import log
from heavytail.kernels.rng import exponential, gamma, integer, open_uniform, uniform

if TYPE_CHECKING:
    from heavytail.agents.heavy_psrl import HeavyPSRL

HIGH, RANGE, LENGTH, BONUS = range(4)  # of `unknown`, as above
NEW, HAS_UNIT = 4, 5  # whether lumps are on states never seen, and whether two mean rewards differ
PAIRS, SINGLE = range(2)  # of `graph`: E and f
BONUSES = 2.0  # episodes' worth of the range that a state never seen pays at least
RATE_PRIOR = 1.0  # new successors, and as many that would have been at rate 1
EULER = 0.5772156649015329


@kernel
def draw_mdp(agent: "HeavyPSRL", steps: float, rng: Stream) -> None:
    """Draw an MDP from the posterior; steps is L."""
    draw_shares(agent.certainty, agent.model, agent.sketch, agent.tried, rng)
    draw_transitions(agent, rng)
    draw_means(agent, rng)
    draw_unknowns(agent, steps, rng)


# Transitions


@kernel
def count_new_successors(model: TransitionCounts, tried: IndexList) -> tuple[float, float]:
    """Return how many successors of random cells were new, and would have been at rate 1; with the prior.

    A cell's first successor is new in any case. At rate 1 the sum of 1 / i for i below n would be.
    """
    new, expected = RATE_PRIOR, RATE_PRIOR
    for k in range(tried.size[0]):
        i = U(item(tried, k))
        if model.size[i] > 1:
            n = model.visits[i] - 1.0
            new += model.size[i] - 1.0
            expected += log(n) + EULER + 0.5 / n
    return new, expected


@subroutine
def draw_transitions(agent: "HeavyPSRL", rng: Stream) -> None:
    """Draw the probabilities of the successors seen, and of one state more."""
    pairs, single = float(agent.graph[PAIRS]), float(agent.graph[SINGLE])
    agent.unknown[NEW] = 1.0 if uniform(rng) < draw_beta(rng, single + 1.0, pairs - single) else 0.0
    new, expected = count_new_successors(agent.model, agent.tried)
    theta, A = gamma(rng, new) / expected, agent.rewards.size // agent.model.n_states
    for j in range(agent.seen.size[0]):
        for a in range(A):
            draw_successors(agent, item(agent.seen, j) * A + a, theta, rng)


@kernel
def draw_successors(agent: "HeavyPSRL", cell: int, theta: float, rng: Stream) -> None:
    """Draw where a cell leads."""
    model, i = agent.model, U(cell)
    start, end = model.start[i], model.start[i] + model.size[i]
    agent.elsewhere[i] = model.n_states + 1
    if agent.unknown[NEW] == 0.0:
        agent.elsewhere[i] = item(agent.seen, integer(rng, agent.seen.size[0]))
    agent.lump[i] = 1.0
    if end - start == 1:
        agent.lump[i] = draw_change(agent.certainty, cell, model.visits[i], rng)
        agent.drawn[U(start)] = 1.0 - agent.lump[i]
    elif end - start > 1:
        lump = gamma(rng, theta)
        total = lump
        for k in range(start, end):
            agent.drawn[U(k)] = gamma(rng, float(model.counts[U(k)]))
            total += agent.drawn[U(k)]
        agent.lump[i] = lump / total
        for k in range(start, end):
            agent.drawn[U(k)] /= total


# The unknown


@kernel
def trimmed_means(agent: "HeavyPSRL", least: int) -> tuple[float, float]:
    """Return the least and the largest trimmed mean of cells of at least so many visits."""
    rewards, low, high = agent.sketch.histogram, math.inf, -math.inf
    for k in range(agent.tried.size[0]):
        i = U(item(agent.tried, k))
        if rewards.n[i] >= least:
            middle = rewards.first[i]
            if rewards.block[i] >= 0:
                middle = agent.sketch.summary[U(rewards.block[i]), MIDDLE]
            low, high = min(low, middle), max(high, middle)
    return low, high


@subroutine
def draw_unknowns(agent: "HeavyPSRL", steps: float, rng: Stream) -> None:
    """Draw what a state never seen is worth, and the reward of every cell of which too little is known."""
    low, high = trimmed_means(agent, 2)
    if not high > low:
        low, high = trimmed_means(agent, 1)
    agent.unknown[HAS_UNIT] = 1.0 if high > low else 0.0
    if low > high:
        low, high = 0.0, 0.0
    span = high - low if high > low else abs(high)
    if not span > 0.0:
        span = 1.0
    agent.unknown[HIGH], agent.unknown[RANGE], agent.unknown[LENGTH] = high, span, steps
    agent.unknown[BONUS] = BONUSES * steps * span / open_uniform(rng)
    A = agent.rewards.size // agent.model.n_states
    for j in range(agent.seen.size[0]):
        for a in range(A):
            draw_reward(agent, item(agent.seen, j) * A + a, rng)


@kernel
def draw_reward(agent: "HeavyPSRL", cell: int, rng: Stream) -> None:
    """Draw the mean reward of a cell that is not known, or has paid the same always."""
    i = U(cell)
    n = agent.model.visits[i]
    if n > 0 and not is_constant(agent.sketch, cell):
        return
    otherwise = n > 0 and draw_pays_otherwise(agent.certainty, agent.sketch, cell, n, rng)
    if n == 0 or (n == 1 and (otherwise or agent.lump[i] > 0.0)):
        agent.rewards[i] = draw_unknown(agent, rng)
    elif otherwise:
        agent.rewards[i] += draw_rare(agent.unknown[RANGE], n, rng)


@kernel
def draw_rare(span: float, n: int, rng: Stream) -> float:
    """Draw what a cell may pay more on average that paid the same n times."""
    root = math.sqrt(open_uniform(rng))
    return exponential(rng) * span / (n * root * math.sqrt(root))


@kernel
def draw_unknown(agent: "HeavyPSRL", rng: Stream) -> float:
    """Draw the mean reward of a cell of which too little is known."""
    return agent.unknown[HIGH] + (agent.unknown[LENGTH] + exponential(rng)) * agent.unknown[RANGE]


@subroutine
def draw_new_state(agent: "HeavyPSRL", s: int, rng: Stream) -> None:
    """Draw what the actions of a new state do, until there is another draw: anything."""
    A = agent.rewards.size // agent.model.n_states
    for a in range(A):
        i = U(s * A + a)
        agent.elsewhere[i] = agent.model.n_states + 1
        agent.lump[i] = 1.0
        agent.rewards[i] = draw_unknown(agent, rng)
    agent.values[0, U(s)] = agent.unknown[BONUS]
