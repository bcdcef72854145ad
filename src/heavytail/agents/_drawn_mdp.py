r"""The MDP that Heavy-PSRL draws from its posterior.

- *Mean rewards*, from the posteriors of the sketch (`heavytail.estimators.sketch`): of symmetric laws of any
  tail or, as far as the samples speak against symmetry, of laws whose tails are generalised Pareto. By what
  it is drawn as (`heavytail.agents._common_shape`) the mean of a cell is

  - *symmetric*: m + s t, the trimmed mean with its Student t;
  - *skewed, alone*: drawn from its own skewed posterior, and at least its centre, as the common offset is;
  - *skewed, pooled*: with what cells of one shape have in common, the offset o, tau and the spread sigma',

        B (draw of its own) + (1 - B) (m + s t + sigma' (o + tau z)),    B = tau^2 / (tau^2 + e_c^2),

    which has the mean and the variance of the posterior of a normal hierarchical model. The offset is drawn
    once for all cells, so that what is uncertain of it cancels in comparisons.
- *Transitions*: a cell that has always led to one state is certain or random, as cells like it say
  (`heavytail.agents._certainty`), and a random one leads elsewhere as often as others do. Of a cell that has
  led to several states: Dirichlet over them, and a lump Gamma(theta) on one more. The rate theta is drawn
  once for all cells from its posterior Gamma(N, M), where N counts their visits, but for each cell's first,
  that met a new successor, and M how many would have at rate 1 (sum of 1 / n). One visit more is supposed of
  each successor (Laplace), so that few visits do not rule out what they have shown once. Elsewhere, and one
  more, is a state that was never seen if there is any, and stands for all of them. Memory, draws and plans
  cost what was observed.
- *Narrower draws*: posterior sampling goes on trying what has long looked worse. So a count m is drawn as
  Gamma(c m) / c, with c from 1, where little is known, to 4: half as wide (as Chapelle and Li 2011, "An
  empirical evaluation of Thompson sampling", found best).
- *Rare rewards*: a cell that has paid the same all n times may yet pay otherwise, if it is drawn as one that
  does. It gets E R / (n U^(3/4)) more, E a standard exponential, U uniform and R the range of trimmed means
  so far: the part of the mean that is in rewards of a heavy tail that come once in n visits.
- *The unknown*: a cell never visited, visited once and not drawn as certain, or of fewer than `MIN_NOISY`
  rewards that differ, pays the largest trimmed mean so far and (L + E) R more, L the steps of an episode. A
  state never seen is worth the largest trimmed mean and 2 L R / U more, once: more than an episode spent on
  the way can cost, and in some draws far more, since R is not known before all is seen. In a continuing
  problem L is the number of states seen and the length of the phase before.
"""

import math
from typing import TYPE_CHECKING

from heavytail.agents._certainty import count_new_successors, draw_change, draw_pays_otherwise, draw_shares
from heavytail.agents._common_shape import (
    POOLED,
    SYMMETRIC,
    CommonShape,
    draw_common_shape,
    draw_spread,
)
from heavytail.agents._index_list import item
from heavytail.arrays import Stream, U
from heavytail.estimators.sketch import (
    MIDDLE,
    OFFSET,
    OFFSET_ERROR,
    SPREAD,
    Sketch,
    draw_skewed,
    draw_symmetric,
    is_constant,
)
from heavytail.kernels.array_ops import as_int
from heavytail.kernels.compiling import kernel, subroutine
from heavytail.kernels.rng import exponential, gamma, integer, normal, open_uniform

if TYPE_CHECKING:
    from heavytail.agents.heavy_psrl import HeavyPSRL


MIN_KNOWN = 2  # visits below which a cell is unknown unless it is drawn as certain,
MIN_NOISY = 8  # and where rewards differ: fewer say too little of their spread
MIN_RANGED = 4  # visits from which on its trimmed mean counts for the range of rewards
SUPPOSED = 1  # visits more of each successor
MOST_NARROWED = 3.0  # c - 1 of large counts,
HALF_NARROWED = 20.0  # and the count of which it is half that
UNSEEN, LEAST, SPAN = range(3)  # drawn: the value of a state never seen; an unknown reward at least, and R
HAS_UNIT = 3  # whether some trimmed mean was not 0, so that rewards have a unit


@kernel
def draw_mean(sketch: Sketch, cell: int, kind: int, common: CommonShape, rng: Stream) -> float:
    """Draw the mean of a cell of at least two samples, of which the summary is up to date."""
    block = sketch.histogram.block[U(cell)]
    if block < 0:
        return sketch.histogram.first[U(cell)]
    b, mean = U(block), 0.0
    own = 0.0 if kind == SYMMETRIC else 1.0
    if kind == POOLED and common.known:
        error, tau = sketch.summary[b, OFFSET_ERROR], common.tau
        own = tau * tau / (tau * tau + error * error)
    if own < 1.0:
        mean = draw_symmetric(sketch, block, rng)
        if kind == POOLED:
            mean += draw_spread(sketch, cell, common, rng) * (common.offset + common.tau * normal(rng))
    if own == 0.0:
        return mean
    centre = sketch.summary[b, MIDDLE] + sketch.summary[b, SPREAD] * sketch.summary[b, OFFSET]
    return own * max(draw_skewed(sketch, block, rng), centre) + (1.0 - own) * mean


@kernel
def draw_mdp(agent: "HeavyPSRL", steps: float, rng: Stream) -> None:
    """Draw an MDP from the posterior; steps is L."""
    draw_shares(agent.certainty, agent.model, agent.sketch, agent.tried, rng)
    draw_transitions(agent, rng)
    draw_rewards(agent, steps, rng)


# Transitions


@kernel
def draw_elsewhere(agent: "HeavyPSRL", rng: Stream) -> int:
    """Return the number of a state never seen, S + 1 for all of them, or draw any state if there is none."""
    S = agent.model.n_states
    return S + 1 if agent.seen.size[0] < S else integer(rng, S)


@kernel
def draw_count(count: int, rng: Stream) -> float:
    """Draw a gamma variate whose mean is a count, less wide the larger it is."""
    c = 1.0 + MOST_NARROWED * count / (count + HALF_NARROWED)
    return gamma(rng, c * count) / c


@subroutine
def draw_transitions(agent: "HeavyPSRL", rng: Stream) -> None:
    """Draw the probabilities of the successors seen, and of one state more."""
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
    agent.elsewhere[i] = draw_elsewhere(agent, rng)
    agent.lump[i] = 1.0
    if end - start == 1:
        agent.lump[i] = draw_change(agent.certainty, cell, model.visits[i], rng)
        agent.drawn[U(start)] = 1.0 - agent.lump[i]
        if as_int(agent.elsewhere[i]) == as_int(model.successor[U(start)]):
            agent.elsewhere[i] = (as_int(agent.elsewhere[i]) + 1) % model.n_states
    elif end - start > 1:
        lump = gamma(rng, theta)
        total = lump
        for k in range(start, end):
            agent.drawn[U(k)] = draw_count(model.counts[U(k)] + SUPPOSED, rng)
            total += agent.drawn[U(k)]
        agent.lump[i] = lump / total
        for k in range(start, end):
            agent.drawn[U(k)] /= total


# Rewards


@kernel
def draw_means(agent: "HeavyPSRL", rng: Stream) -> None:
    """Draw the mean reward of every cell that is known."""
    common = draw_common_shape(agent.sketch, agent.tried, agent.kinds, agent.pooled, agent.scratch, rng)
    for k in range(agent.tried.size[0]):
        cell = item(agent.tried, k)
        if agent.sketch.histogram.n[U(cell)] >= MIN_KNOWN:
            kind = as_int(agent.kinds[U(cell)])
            agent.rewards[U(cell)] = draw_mean(agent.sketch, cell, kind, common, rng)


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


@kernel
def reward_range(agent: "HeavyPSRL") -> tuple[float, float]:
    """Return the largest trimmed mean, and the range of all; it is 0 where all of them are.

    Cells of few visits count where no other has paid anything yet.
    """
    low, high = trimmed_means(agent, MIN_RANGED)
    if low > high or low == high == 0.0:
        low, high = trimmed_means(agent, 1)
    if low > high:
        return 0.0, 0.0
    return high, high - low if high > low else abs(high)


@kernel
def draw_rare(span: float, n: int, rng: Stream) -> float:
    """Draw what a cell may pay more on average that paid the same n times."""
    root = math.sqrt(open_uniform(rng))
    return exponential(rng) * span / (n * root * math.sqrt(root))


@kernel
def draw_unknown(agent: "HeavyPSRL", rng: Stream) -> float:
    """Draw the mean reward of a cell of which too little is known."""
    return agent.unknown[LEAST] + exponential(rng) * agent.unknown[SPAN]


@subroutine
def draw_rewards(agent: "HeavyPSRL", steps: float, rng: Stream) -> None:
    """Draw a mean reward for every cell of the states seen, and the value of a state never seen."""
    draw_means(agent, rng)
    high, span = reward_range(agent)
    agent.unknown[HAS_UNIT] = 1.0 if span > 0.0 else 0.0
    if not span > 0.0:
        span = 1.0
    agent.unknown[UNSEEN] = high + 2.0 * steps * span / open_uniform(rng)
    agent.unknown[LEAST] = high + steps * span
    agent.unknown[SPAN] = span
    A = agent.rewards.size // agent.model.n_states
    for j in range(agent.seen.size[0]):
        for a in range(A):
            draw_reward(agent, item(agent.seen, j) * A + a, rng)


@kernel
def draw_reward(agent: "HeavyPSRL", cell: int, rng: Stream) -> None:
    """Draw the mean reward of a cell, unless it is noisy and known."""
    i = U(cell)
    n, constant = agent.sketch.histogram.n[i], is_constant(agent.sketch, cell)
    otherwise = n > 0 and constant and draw_pays_otherwise(agent.certainty, agent.sketch, cell, n, rng)
    if n == 1 and agent.lump[i] == 0.0 and not otherwise:
        agent.rewards[i] = agent.sketch.histogram.first[i]
    elif n < (MIN_KNOWN if constant else MIN_NOISY):
        agent.rewards[i] = draw_unknown(agent, rng)
    elif otherwise:
        agent.rewards[i] += draw_rare(agent.unknown[SPAN], n, rng)


# States that are seen for the first time


@subroutine
def draw_new_state(agent: "HeavyPSRL", s: int, rng: Stream) -> None:
    """Draw what the actions of a new state do, until there is another draw: anything."""
    A = agent.rewards.size // agent.model.n_states
    for a in range(A):
        i = U(s * A + a)
        agent.elsewhere[i] = draw_elsewhere(agent, rng)
        agent.lump[i] = 1.0
        agent.rewards[i] = draw_unknown(agent, rng)
    agent.values[0, U(s)] = agent.unknown[UNSEEN]
