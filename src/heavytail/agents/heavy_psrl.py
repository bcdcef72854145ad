r"""Heavy-PSRL: posterior sampling that needs no prior knowledge of the rewards: no moment, range or scale.

As in `heavytail.agents.psrl` an MDP is drawn from the posterior (`heavytail.agents._drawn_mdp`), solved
(`heavytail.agents._drawn_plan`), and its policy played.

Within an episode a new state changes the plan but not the draw, and so does a cell that did the same again
and was not drawn as certain: it is taken as certain until the next draw. So one episode tries several unknown
actions and yet goes where it meant to go; among very many cells that would take too long. Cells that stay in
their state are excepted: trying again costs a step, and what mostly fails must be tried often.

A draw is kept for a *phase*. It ends when a cell's visits have doubled or a state is new; in episodes when
the j-th phase has lasted sqrt(j) episodes, which makes K^(2/3) draws of K episodes; in a continuing problem
when it is one step longer than the one before (Ouyang et al. 2017, "Learning unknown Markov decision
processes: a Thompson sampling approach"). Among very many cells there must be news of a hundredth of those
tried, and of one in `DRAWN_AT_ONCE` of those of states seen, or as many steps: so that what a phase costs is
little for each. States never seen cost nothing.

In episodes a phase ends also when its draw is *stale*: after an episode in which a twentieth of some cell's
visits are of this phase. A wrong draw that is kept until visits double is repeated as often as it was tried
before. But a phase that visits a cell drawn as skewed goes on, since few rewards do not show a tail: by them
such a cell looks worse than it is, and would be given up.

Rewards times a factor give the same decisions up to rounding unless only rare rewards were paid so far.
Rewards plus a constant do not while some state is unseen. No regret bound is known for it.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from heavytail.agents._certainty import (
    Certainty,
    count_new_successors,
    draw_change,
    draw_pays_otherwise,
    new_certainty,
    see_first_visit,
)
from heavytail.agents._common_shape import POOLED, SYMMETRIC, TAUS
from heavytail.agents._drawn_mdp import HAS_UNIT, draw_mdp, draw_new_state
from heavytail.agents._drawn_plan import plan_average, plan_episode
from heavytail.agents._index_list import IndexList, append, item, new_index_list
from heavytail.agents._transition_counts import TransitionCounts, new_transition_counts, observe, uniformity
from heavytail.arrays import Floats, Indices, Ints, Stream, U
from heavytail.estimators.sketch import SEEN, Sketch, is_constant, sketch, skewness
from heavytail.estimators.sketch_beliefs import describe_cells
from heavytail.kernels.array_ops import as_int
from heavytail.kernels.compiling import kernel, subroutine
from heavytail.kernels.rng import integer
from heavytail.kernels.verbs import act, begin, full, push, reset, update, write_counters
from heavytail.mdp.problem import Problem
from heavytail.ranges import COUNT, FLAG, Fact, Range, below
from heavytail.registry import register

NUMBER, LENGTH, LAST_LENGTH = range(3)  # of a phase; lengths in episodes or steps
NEWS, STALE = 3, 4  # visits of the phase that were news, or made its draw stale
HAS_SKEWED = 5  # whether it met a cell drawn as skewed
MANY = 100  # news count if they are more than one in so many of the cells tried,
DRAWN_AT_ONCE = 500  # and of those of states seen: a phase draws and plans all of them
STALE_AFTER = 20  # a draw is stale when one in so many of a cell's visits was made since
MAX_REPLANNED = 30_000  # cells times steps: a larger plan waits for the next episode, it would take too long


class HeavyPSRL(NamedTuple):
    """The memory of Heavy-PSRL. A cell is s * A + a."""

    sketch: Sketch  # of rewards
    model: TransitionCounts
    drawn: Floats  # [pool] drawn probabilities of the model's successors
    elsewhere: Indices  # [S*A] the drawn state of the lump; S + 1 is one that was never seen
    lump: Floats  # [S*A] its drawn probability
    rewards: Floats  # [S*A] drawn means
    values: Floats  # [2, S + 2] of states, of the end, which is 0, and of a state never seen
    policy: Indices  # [H or 1, S]
    known: Ints  # [S] whether a state was seen
    seen: IndexList  # those that were
    tried: IndexList  # cells with a visit
    pooled: IndexList  # cells drawn as skewed and pooled, see `heavytail.agents._common_shape`
    in_phase: Indices  # [S*A] visits in this phase
    phase: Ints  # [6] see above
    certainty: Certainty
    unknown: Floats  # [4] drawn for what is not known, see `heavytail.agents._drawn_mdp`
    kinds: Indices  # [S*A] whether rewards are drawn as skewed, see `heavytail.agents._common_shape`
    scratch: Floats  # [TAUS]
    episodic: bool

    def pools(self) -> tuple[str, ...]:
        """Name what is as long as the model's pools."""
        return ("drawn",)

    def counter_names(self) -> tuple[str, ...]:
        """Name its counters: phases, uniformity of play, cells that are skewed or certain, news."""
        return ("phases", "uniformity", "skewed_cells", "certain_cells", "successor_rate")

    def ranges(self) -> dict[str, Range]:
        """Declare which arrays hold states, actions and counts."""
        S = self.model.n_states
        return {
            "elsewhere": below(S + 2),
            "kinds": below(POOLED + 1),
            "policy": below(self.rewards.size // S),
            "known": FLAG,
            "in_phase": COUNT,
            "phase": COUNT,
        }

    def facts(self) -> Iterator[Fact]:
        """Check that its parts fit together."""
        yield "drawn has not the length of the model's pools", len(self.drawn) == len(self.model.counts)
        yield "visits and rewards were not counted alike", (self.model.visits == self.sketch.n).all()
        yield "states seen are not those listed", self.seen.holds_exactly(self.known)
        yield "a phase has neither met skewed cells nor not", self.phase[HAS_SKEWED] <= 1
        yield "cells tried are not those listed", self.tried.holds_exactly(self.model.visits)
        yield "the end has a value", not self.values[:, self.model.n_states].any()

    def beliefs(self) -> dict[str, Floats]:
        """Return what it believes of each cell's rewards."""
        return describe_cells(self.sketch)


@register("agent", "heavy_psrl", version=8)
def heavy_psrl(problem: Problem) -> HeavyPSRL:
    """Posterior sampling for rewards of any tail, for episodes or continuing; the agent to start with.

    It has no parameter: it needs no moment, exponent, range or scale, and no tuning.

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
        values=np.zeros((2, S + 2)),
        policy=np.zeros((max(problem.horizon, 1), S), np.uint32),
        known=np.zeros(S, np.int64),
        seen=new_index_list(S),
        tried=new_index_list(cells),
        pooled=new_index_list(cells),
        in_phase=np.zeros(cells, np.uint32),
        phase=np.zeros(6, np.int64),
        certainty=new_certainty(S, problem.n_actions),
        unknown=np.zeros(4),
        kinds=np.zeros(cells, np.uint32),
        scratch=np.zeros(TAUS),
        episodic=problem.horizon > 0,
    )


@full.method(HeavyPSRL)
def _full(record: HeavyPSRL) -> bool:
    return record.model.pool_used[0] + 2 * record.model.max_capacity[0] > record.drawn.size


# Phases


@kernel
def has_many(agent: HeavyPSRL, what: int) -> bool:
    """Return whether so much is new, or stale, that another MDP must be drawn."""
    n = agent.phase[U(what)]
    return agent.phase[NUMBER] == 0 or (MANY * n > agent.tried.size[0] and is_worth_it(agent, n))


@kernel
def is_worth_it(agent: HeavyPSRL, n: int) -> bool:
    """Return whether n events, or steps, are enough for what a phase costs."""
    return DRAWN_AT_ONCE * n > agent.seen.size[0] * (agent.rewards.size // agent.model.n_states)


@subroutine
def new_phase(agent: HeavyPSRL, rng: Stream) -> None:
    """Draw an MDP and plan in it."""
    if agent.episodic:
        draw_mdp(agent, float(agent.policy.shape[0]), rng)
        plan_episode(agent)
    else:
        draw_mdp(agent, float(agent.seen.size[0] + agent.phase[LENGTH]), rng)
        plan_average(agent)
    agent.phase[LAST_LENGTH] = agent.phase[LENGTH]
    agent.phase[LENGTH] = 0
    agent.phase[NEWS] = 0
    agent.phase[STALE] = 0
    agent.phase[HAS_SKEWED] = 0
    agent.phase[NUMBER] += 1
    for k in range(agent.tried.size[0]):
        agent.in_phase[U(item(agent.tried, k))] = 0


@kernel
def take_as_seen(agent: HeavyPSRL, cell: int) -> None:
    """Let a cell lead where it has led, as often as it has, until it is drawn again."""
    model, i = agent.model, U(cell)
    agent.lump[i] = 0.0
    for k in range(model.start[i], model.start[i] + model.size[i]):
        agent.drawn[U(k)] = model.counts[U(k)] / model.visits[i]


@kernel
def settles(agent: HeavyPSRL, cell: int, rng: Stream) -> bool:
    """Take a cell as certain that did the same again, unless it stays or its first visit is not enough."""
    model, certainty, i = agent.model, agent.certainty, U(cell)
    # Beside what was drawn before anything paid, a reward would be little or much by its unit alone
    n, reward = model.visits[i], agent.sketch.histogram.first[i] if agent.unknown[HAS_UNIT] == 1.0 else 0.0
    if model.size[i] > 1 or not is_constant(agent.sketch, cell):
        return False
    if n == 1:
        if draw_change(certainty, cell, 1, rng) > 0.0:
            return False
        if draw_pays_otherwise(certainty, agent.sketch, cell, 1, rng):
            return False
    elif certainty.stayed[i] or (agent.lump[i] == 0.0 and agent.rewards[i] == reward):
        return False
    take_as_seen(agent, cell)
    agent.rewards[i] = reward
    return True


# The verbs


@kernel
def try_any_action(agent: HeavyPSRL, s: int, A: int, rng: Stream) -> None:
    """Play any action in a new state until there is a plan for it: one is as unknown as another."""
    chosen = integer(rng, A)
    for h in range(agent.policy.shape[0]):
        agent.policy[U(h), U(s)] = chosen


@kernel
def see(agent: HeavyPSRL, s: int, rng: Stream) -> bool:
    """Mark a state as seen; return True the first time."""
    if agent.known[U(s)] == 1:
        return False
    agent.known[U(s)] = 1
    append(agent.seen, s)
    draw_new_state(agent, s, rng)
    agent.phase[NEWS] += 1
    return True


@begin.method(HeavyPSRL)
def _begin(agent: HeavyPSRL, s: int, rng: Stream) -> None:
    see(agent, s, rng)
    length = agent.phase[LENGTH]
    long = length * length >= agent.phase[NUMBER] and is_worth_it(agent, length * agent.policy.shape[0])
    stale = has_many(agent, STALE) and agent.phase[HAS_SKEWED] == 0
    if has_many(agent, NEWS) or (agent.episodic and (long or stale)):
        new_phase(agent, rng)
    agent.phase[LENGTH] += 1


@act.method(HeavyPSRL)
def _act(agent: HeavyPSRL, s: int, h: int, rng: Stream) -> int:
    return as_int(agent.policy[U(h), U(s)])


@update.method(HeavyPSRL)
def _update(
    agent: HeavyPSRL, s: int, a: int, r: float, s_next: int, h: int, terminated: bool, rng: Stream
) -> None:
    A = agent.rewards.size // agent.model.n_states
    cell = s * A + a
    i = U(cell)
    n, successors = agent.model.visits[i], agent.model.size[i]
    push(agent.sketch, cell, r)
    observe(agent.model, cell, s_next, terminated)
    if n == 0:
        see(agent, s, rng)  # news in a log only, of which no episode begins
        see_first_visit(
            agent.certainty, cell, s_next == s and not terminated, agent.sketch.histogram.first[i]
        )
        append(agent.tried, cell)
    agent.in_phase[i] += 1
    now = as_int(agent.in_phase[i])
    if agent.kinds[i] != SYMMETRIC:
        agent.phase[HAS_SKEWED] = 1
    if STALE_AFTER * now > n:
        agent.phase[STALE] += 1
    if 2 * now > n:
        agent.phase[NEWS] += 1
    changed = not terminated and see(agent, s_next, rng)
    if agent.model.size[i] > successors:
        take_as_seen(agent, cell)  # its successors have changed places, the drawn probabilities have not
    if agent.episodic and agent.rewards.size * agent.policy.shape[0] <= MAX_REPLANNED:
        if settles(agent, cell, rng) or changed:
            plan_episode(agent)
    elif changed:
        try_any_action(agent, s_next, A, rng)
    if not agent.episodic:
        agent.phase[LENGTH] += 1
        length = agent.phase[LENGTH]
        if has_many(agent, NEWS) or (length > agent.phase[LAST_LENGTH] and is_worth_it(agent, length)):
            new_phase(agent, rng)


@write_counters.method(HeavyPSRL)
def _write_counters(agent: HeavyPSRL, out: Floats) -> None:
    skewed, certain, rewards = 0.0, 0.0, agent.sketch.histogram
    for cell in range(agent.rewards.size):
        block = rewards.block[U(cell)]
        if block >= 0 and agent.sketch.summary[U(block), SEEN] > 0.0 and skewness(agent.sketch, block) > 0.5:
            skewed += 1.0
        if block < 0 and agent.model.size[U(cell)] == 1:
            certain += 1.0
    out[0] = agent.phase[NUMBER]
    out[1] = uniformity(agent.model)
    out[2] = skewed
    out[3] = certain
    new, expected = count_new_successors(agent.model, agent.tried)
    out[4] = new / expected


@reset.method(HeavyPSRL)
def _reset(record: HeavyPSRL) -> None:
    reset(record.sketch)
    reset(record.model)
    reset(record.certainty)
    reset(record.seen)
    reset(record.tried)
    reset(record.pooled)
    record.drawn[:] = 0.0
    record.elsewhere[:] = 0
    record.lump[:] = 0.0
    record.rewards[:] = 0.0
    record.values[:] = 0.0
    record.policy[:] = 0
    record.known[:] = 0
    record.in_phase[:] = 0
    record.phase[:] = 0
    record.unknown[:] = 0.0
    record.kinds[:] = 0
    record.scratch[:] = 0.0
