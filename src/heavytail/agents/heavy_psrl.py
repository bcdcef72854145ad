r"""Heavy-PSRL: posterior sampling that must be told nothing of rewards: no moment, range or scale.

As in `heavytail.agents.psrl` an MDP is drawn from the posterior, solved, and its policy played.
What is drawn:

- *Mean rewards*, by `heavytail.agents._reward_posterior`: of symmetric laws of any tail or, as far as the
  samples speak against symmetry, of laws whose tails are generalised Pareto.
- *Transitions*: cells that have always led to one state are certain or random, as many as the other cells say
  (`heavytail.agents._certainty`). Of a random cell: Dirichlet over the successors seen, and a lump
  Gamma(theta) on one more state, one that was never seen if there is any. The rate theta is drawn once for
  all cells from its posterior Gamma(N, M), where N counts the visits of random cells, but for each cell's
  first, that met a new successor, and M how many would have at rate 1 (sum of 1 / n). Memory and planning
  cost what was observed.
- *Rare rewards*: a cell that has paid the same all n times may yet pay otherwise. It gets
  Gamma(theta') R / (n sqrt(U)) more, theta' drawn likewise, by the cells that ceased to be constant, U
  uniform and R the range of trimmed means so far.
- *The unknown*: a cell never visited, visited once and not drawn as certain, or of fewer than `MIN_NOISY`
  rewards that differ, pays the largest trimmed mean so far and (L + E) R more, E a standard
  exponential, L the steps of an episode. A state never seen is worth the largest trimmed mean and 2 L R / U
  more, once: more than an episode spent on the way can cost, and in some draws far more, since R is not
  known before all is seen. In a continuing problem L is the number of states seen and the length of the
  phase before.

Within an episode a new state, or a cell that became known and is drawn as certain, changes the plan but not
the draw, so that one episode tries several unknown actions and yet goes where it meant to go; among very many
cells that would take too long.

A draw is kept for a *phase*. It ends when a cell's visits have doubled or a state is new; in episodes when
the j-th phase has lasted sqrt(j) episodes, which makes K^(2/3) draws of K episodes; in a continuing problem
when it is one step longer than the one before (Ouyang et al. 2017, "Learning unknown Markov decision
processes: a Thompson sampling approach").

In episodes a phase ends also when its draw is *stale*: after an episode in which a twentieth of some cell's
visits are of this phase. A wrong draw that is kept until visits double is repeated as often as it was tried
before. But a phase that visits a cell drawn as skewed goes on, since few rewards do not show a tail: by them
such a cell looks worse than it is, and would be given up.

Rewards times a factor, or plus a constant, give the same decisions up to rounding once some cell has
`MIN_RANGED` samples. No regret bound is known for it.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from heavytail.agents._certainty import (
    KINDS,
    MOVES,
    REWARDS,
    STAYS,
    count_new_successors,
    doubt,
    draw_shares,
    has_stayed,
)
from heavytail.agents._common_shape import POOLED, SYMMETRIC, TAUS, draw_common_shape
from heavytail.agents._drawn_plan import plan_average, plan_episode
from heavytail.agents._reward_posterior import draw_mean
from heavytail.agents._transition_counts import TransitionCounts, new_transition_counts, observe, uniformity
from heavytail.arrays import Floats, Indices, Ints, Stream, U
from heavytail.estimators._beliefs import describe_cells
from heavytail.estimators.sketch import MIDDLE, SEEN, Sketch, is_constant, sketch, skewness
from heavytail.kernels.array_ops import as_int
from heavytail.kernels.compiling import kernel, subroutine
from heavytail.kernels.rng import exponential, gamma, integer, open_uniform, uniform
from heavytail.kernels.verbs import act, begin, full, push, reset, update, write_counters
from heavytail.mdp.problem import Problem
from heavytail.ranges import COUNT, FINITE, Fact, Range, below
from heavytail.registry import register

MIN_KNOWN = 2  # visits below which a cell is unknown unless it is drawn as certain,
MIN_NOISY = 8  # and where rewards differ: fewer say too little of their spread
MIN_RANGED = 4  # visits from which on its trimmed mean counts for the range of rewards
NUMBER, IS_OVER, LENGTH, LAST_LENGTH, IS_STALE, HAS_SKEWED = range(6)  # of a phase; in episodes or steps
STALE_AFTER = 20  # a draw is stale when one in so many of a cell's visits was made since
MAX_REPLANNED = 30_000  # cells times steps: a larger plan waits for the next episode, it would take too long
NEWS_PRIOR = 0.1  # the prior of the rate at which constant cells cease to be is as of so many


class HeavyPSRL(NamedTuple):
    """The memory of Heavy-PSRL. A cell is s * A + a."""

    sketch: Sketch  # of rewards
    model: TransitionCounts
    drawn: Floats  # [pool] drawn probabilities of the model's successors
    elsewhere: Indices  # [S*A] the drawn state of the lump
    lump: Floats  # [S*A] its drawn probability
    rewards: Floats  # [S*A] drawn means
    values: Floats  # [2, S + 1]
    policy: Indices  # [H or 1, S]
    known: Ints  # [S + 1] whether a state was seen; last, how many were
    in_phase: Ints  # [S*A] visits in this phase
    phase: Ints  # [6] see above
    news: Floats  # [2] how many constant cells ceased to be, and would have at rate 1
    shares: Floats  # [KINDS] drawn shares of random cells
    unseen: Floats  # [1] the drawn value of a state never seen
    kinds: Indices  # [S*A] whether rewards are drawn as skewed, see `heavytail.agents._common_shape`
    scratch: Floats  # [TAUS]
    episodic: bool

    def pools(self) -> tuple[str, ...]:
        """Name what is as long as the model's pools."""
        return ("drawn",)

    def counter_names(self) -> tuple[str, ...]:
        """Name its counters: phases, uniformity of play, cells probably skewed, and the two learnt rates."""
        return ("phases", "uniformity", "skewed_cells", "successor_rate", "reward_rate")

    def ranges(self) -> dict[str, Range]:
        """Say what is a state, an action and a count."""
        S = self.model.n_states
        return {
            "elsewhere": below(S),
            "kinds": below(POOLED + 1),
            "policy": below(self.rewards.size // S),
            "known": Range(0, S),
            "in_phase": COUNT,
            "phase": COUNT,
            "news": Range(0.0, FINITE.high),
            "shares": Range(0.0, 1.0),
        }

    def facts(self) -> Iterator[Fact]:
        """Say how its parts go together."""
        yield "drawn has not the length of the model's pools", len(self.drawn) == len(self.model.counts)
        yield "visits and rewards were not counted alike", (self.model.visits == self.sketch.n).all()
        known = self.known[:-1]
        yield "states seen are not counted right", known.max() <= 1 and known.sum() == self.known[-1]
        yield "a phase is neither over nor not", self.phase[[IS_OVER, IS_STALE, HAS_SKEWED]].max() <= 1

    def beliefs(self) -> dict[str, Floats]:
        """Return what it believes of each cell's rewards."""
        return describe_cells(self.sketch)


@register("agent", "heavy_psrl", version=4)
def heavy_psrl(problem: Problem) -> HeavyPSRL:
    """Posterior sampling for rewards of any tail, for episodes or continuing; the agent to start with.

    It needs no number: neither a moment, an exponent, a range or a scale, nor anything tuned.

    Args:
        problem: the environment's sizes.
    """
    S, cells = problem.n_states, problem.n_states * problem.n_actions
    model = new_transition_counts(S, problem.n_actions)
    return HeavyPSRL(
        sketch=sketch(cells),
        model=model,
        drawn=np.zeros(model.counts.size),
        elsewhere=np.zeros(cells, np.uint32),
        lump=np.zeros(cells),
        rewards=np.zeros(cells),
        values=np.zeros((2, S + 1)),
        policy=np.zeros((max(problem.horizon, 1), S), np.uint32),
        known=np.zeros(S + 1, np.int64),
        in_phase=np.zeros(cells, np.int64),
        phase=np.array([0, 1, 0, 0, 0, 0]),
        news=np.zeros(2),
        shares=np.zeros(KINDS),
        unseen=np.zeros(1),
        kinds=np.zeros(cells, np.uint32),
        scratch=np.zeros(TAUS),
        episodic=problem.horizon > 0,
    )


@full.method(HeavyPSRL)
def _full(record: HeavyPSRL) -> bool:
    return record.model.pool_used[0] + 2 * record.model.max_capacity[0] > record.drawn.size


# Drawing an MDP


@kernel
def first_unseen(agent: HeavyPSRL) -> int:
    """Return a state that was never seen, or the number of states."""
    s = 0
    while s < agent.model.n_states and agent.known[U(s)] == 1:
        s += 1
    return s


@kernel
def draw_transitions(agent: HeavyPSRL, rng: Stream) -> None:
    """Draw the probabilities of the successors seen, and of one state more."""
    model, unseen = agent.model, first_unseen(agent)
    new, expected = count_new_successors(model)
    theta = gamma(rng, new) / expected
    for cell in range(agent.rewards.size):
        i = U(cell)
        start, end = model.start[i], model.start[i] + model.size[i]
        agent.elsewhere[i] = integer(rng, model.n_states)
        agent.lump[i] = 1.0
        if start == end:
            continue
        if unseen < model.n_states:
            agent.elsewhere[i] = unseen
        share = agent.shares[STAYS if has_stayed(model, cell) else MOVES]
        random = end - start > 1 or uniform(rng) < doubt(share, model.visits[i])
        lump = gamma(rng, theta) if random else 0.0
        total = lump
        for k in range(start, end):
            agent.drawn[U(k)] = gamma(rng, float(model.counts[U(k)]))
            total += agent.drawn[U(k)]
        agent.lump[i] = lump / total
        for k in range(start, end):
            agent.drawn[U(k)] /= total


@kernel
def draw_rewards(agent: HeavyPSRL, rng: Stream) -> None:
    """Draw a mean reward for every cell, and the value of a state never seen."""
    rewards, n = agent.sketch.histogram, agent.sketch.histogram.n
    common = draw_common_shape(agent.sketch, agent.kinds, agent.scratch, rng)
    low, high = math.inf, -math.inf
    for cell in range(agent.rewards.size):
        i = U(cell)
        if n[i] >= MIN_KNOWN:
            agent.rewards[i] = draw_mean(agent.sketch, cell, as_int(agent.kinds[i]), common, rng)
        if n[i] >= MIN_RANGED:
            middle = rewards.first[i]
            if rewards.block[i] >= 0:
                middle = agent.sketch.summary[U(rewards.block[i]), MIDDLE]
            low, high = min(low, middle), max(high, middle)
    if low > high:
        low, high = 0.0, 0.0
    span = high - low
    if not span > 0.0:
        span = abs(high) if high != 0.0 else 1.0
    steps = float(
        agent.policy.shape[0]
        if agent.episodic
        else agent.known[U(agent.model.n_states)] + agent.phase[LENGTH]
    )
    theta = gamma(rng, agent.news[0] + NEWS_PRIOR) / (agent.news[1] + NEWS_PRIOR)
    for cell in range(agent.rewards.size):
        i = U(cell)
        constant = is_constant(agent.sketch, cell)
        if n[i] == 1 and agent.lump[i] == 0.0 and uniform(rng) > agent.shares[REWARDS]:
            agent.rewards[i] = rewards.first[i]
        elif n[i] < (MIN_KNOWN if constant else MIN_NOISY):
            agent.rewards[i] = high + (steps + exponential(rng)) * span
        elif constant:
            agent.rewards[i] += gamma(rng, theta) * span / (n[i] * math.sqrt(open_uniform(rng)))
    agent.unseen[0] = high + 2.0 * steps * span / open_uniform(rng)


# Phases


@subroutine
def new_phase(agent: HeavyPSRL, rng: Stream) -> None:
    """Draw an MDP and plan in it."""
    draw_shares(agent.shares, agent.model, agent.sketch, rng)
    draw_transitions(agent, rng)
    draw_rewards(agent, rng)
    if agent.episodic:
        plan_episode(agent)
    else:
        plan_average(agent)
    agent.phase[LAST_LENGTH] = agent.phase[LENGTH]
    agent.phase[LENGTH] = 0
    agent.phase[IS_OVER] = 0
    agent.phase[IS_STALE] = 0
    agent.phase[HAS_SKEWED] = 0
    agent.phase[NUMBER] += 1
    for cell in range(agent.in_phase.size):
        agent.in_phase[cell] = 0


@kernel
def take_as_seen(agent: HeavyPSRL, cell: int) -> None:
    """Let a cell lead where it has led, as often as it has, until it is drawn again."""
    model, i = agent.model, U(cell)
    agent.lump[i] = 0.0
    for k in range(model.start[i], model.start[i] + model.size[i]):
        agent.drawn[U(k)] = model.counts[U(k)] / model.visits[i]


@kernel
def settles(agent: HeavyPSRL, cell: int, r: float, rng: Stream) -> bool:
    """Take a cell of few visits as known, if it did the same at each and is drawn as certain."""
    model, i = agent.model, U(cell)
    if model.visits[i] > MIN_KNOWN or model.size[i] > 1 or not is_constant(agent.sketch, cell):
        return False
    random = agent.shares[STAYS if has_stayed(model, cell) else MOVES]
    if uniform(rng) >= (1.0 - random) * (1.0 - agent.shares[REWARDS]):
        return False
    take_as_seen(agent, cell)
    agent.rewards[i] = r
    return True


# The verbs


@kernel
def see(agent: HeavyPSRL, s: int) -> bool:
    """Be in a state, and tell whether it is new; that ends the phase."""
    if agent.known[U(s)] == 1:
        return False
    agent.known[U(s)] = 1
    agent.known[U(agent.model.n_states)] += 1
    agent.phase[IS_OVER] = 1
    return True


@begin.method(HeavyPSRL)
def _begin(agent: HeavyPSRL, s: int, rng: Stream) -> None:
    see(agent, s)
    long = agent.phase[LENGTH] * agent.phase[LENGTH] >= agent.phase[NUMBER]
    stale = agent.phase[IS_STALE] == 1 and agent.phase[HAS_SKEWED] == 0
    if agent.phase[IS_OVER] == 1 or (agent.episodic and (long or stale)):
        new_phase(agent, rng)
    agent.phase[LENGTH] += 1


@act.method(HeavyPSRL)
def _act(agent: HeavyPSRL, s: int, h: int, rng: Stream) -> int:
    return as_int(agent.policy[U(h), U(s)])


@update.method(HeavyPSRL)
def _update(
    agent: HeavyPSRL, s: int, a: int, r: float, s_next: int, h: int, terminated: bool, rng: Stream
) -> None:
    cell = s * (agent.rewards.size // agent.model.n_states) + a
    i = U(cell)
    n, successors, constant = agent.model.visits[i], agent.model.size[i], is_constant(agent.sketch, cell)
    if n == 0:
        see(agent, s)  # news in a log only, of which no episode begins
    push(agent.sketch, cell, r)
    observe(agent.model, cell, s_next, terminated)
    agent.in_phase[i] += 1
    if n > 0 and constant:
        agent.news[0] += 0.0 if is_constant(agent.sketch, cell) else 1.0
        agent.news[1] += 1.0 / n
    if agent.kinds[i] != SYMMETRIC:
        agent.phase[HAS_SKEWED] = 1
    if STALE_AFTER * agent.in_phase[i] > n:
        agent.phase[IS_STALE] = 1
    if 2 * agent.in_phase[i] > n:
        agent.phase[IS_OVER] = 1
    changed = not terminated and see(agent, s_next)
    if agent.model.size[i] > successors:
        take_as_seen(agent, cell)  # its successors have changed places, the drawn probabilities have not
    small = agent.episodic and agent.rewards.size * agent.policy.shape[0] <= MAX_REPLANNED
    if small and (settles(agent, cell, r, rng) or changed):
        plan_episode(agent)
    if not agent.episodic:
        agent.phase[LENGTH] += 1
        if agent.phase[IS_OVER] == 1 or agent.phase[LENGTH] > agent.phase[LAST_LENGTH]:
            new_phase(agent, rng)


@write_counters.method(HeavyPSRL)
def _write_counters(agent: HeavyPSRL, out: Floats) -> None:
    skewed, rewards = 0.0, agent.sketch.histogram
    for cell in range(agent.rewards.size):
        block = rewards.block[U(cell)]
        if block >= 0 and agent.sketch.summary[U(block), SEEN] > 0.0 and skewness(agent.sketch, block) > 0.5:
            skewed += 1.0
    out[0] = agent.phase[NUMBER]
    out[1] = uniformity(agent.model)
    out[2] = skewed
    new, expected = count_new_successors(agent.model)
    out[3] = new / expected
    out[4] = (agent.news[0] + NEWS_PRIOR) / (agent.news[1] + NEWS_PRIOR)


@reset.method(HeavyPSRL)
def _reset(record: HeavyPSRL) -> None:
    reset(record.sketch)
    reset(record.model)
    record.drawn[:] = 0.0
    record.elsewhere[:] = 0
    record.lump[:] = 0.0
    record.rewards[:] = 0.0
    record.values[:] = 0.0
    record.policy[:] = 0
    record.known[:] = 0
    record.in_phase[:] = 0
    record.phase[:] = 0
    record.phase[IS_OVER] = 1
    record.news[:] = 0.0
    record.shares[:] = 0.0
    record.unseen[:] = 0.0
    record.kinds[:] = 0
    record.scratch[:] = 0.0
