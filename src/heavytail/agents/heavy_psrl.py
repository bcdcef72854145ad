r"""Heavy-PSRL: posterior sampling that needs no prior knowledge of the rewards: no moment, range or scale.

As in `heavytail.agents.psrl` an MDP is drawn from the posterior (`heavytail.agents._drawn_mdp`), solved
(`heavytail.agents._drawn_plan`), and its policy played for a *phase*.

A phase ends when there is news: a state is new, or the visits of some cell have grown by a tenth. The j-th
ends after j / 4 units at the latest, so that T units have sqrt(8 T) draws at least, and what was unlucky at
first is tried again. A unit is an episode, or a step of a continuing problem. There a phase must also last,
since news comes at every step on the way to what is little known, and whoever draws again turns round: at
least (3 S)^V steps, S the number of states seen and V uniform, some long enough to cross all of them and some
short. And among very many cells a phase makes as many steps as its draw costs, so that this is little for
each step. States never seen cost nothing.

Within an episode a new state changes the plan but not the draw, and so does a cell that did the same again
and was not drawn as certain: it is taken as certain until the next draw. So one episode tries several unknown
actions and yet goes where it meant to go; among very many cells that would take too long. Cells that stay in
their state are excepted: trying again costs a step, and what mostly fails must be tried often.

Rewards times a factor or plus a constant, other numbers of states and actions, and numbers that never occur
change no decision but by rounding and by the order of random numbers. No regret bound is known for it.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from heavytail.agents._certainty import (
    Certainty,
    draw_change,
    draw_pays_otherwise,
    new_certainty,
    see_first_visit,
)
from heavytail.agents._drawn_mdp import (
    HAS_UNIT,
    HIGH,
    PAIRS,
    SINGLE,
    count_new_successors,
    draw_mdp,
    draw_new_state,
)
from heavytail.agents._drawn_means import POOLED
from heavytail.agents._drawn_plan import plan_average, plan_episode
from heavytail.agents._index_list import IndexList, append, item, new_index_list
from heavytail.agents._transition_counts import TransitionCounts, new_transition_counts, observe, uniformity
from heavytail.arrays import Floats, Indices, Ints, Stream, U
from heavytail.estimators.sketch import SEEN, Sketch, is_constant, sketch, skewness
from heavytail.estimators.sketch_beliefs import describe_cells
from heavytail.kernels.array_ops import as_int
from heavytail.kernels.compiling import kernel, subroutine
from heavytail.kernels.elementary import exp, log
from heavytail.kernels.rng import integer, uniform
from heavytail.kernels.verbs import act, begin, full, push, reset, update, write_counters
from heavytail.mdp.problem import Problem
from heavytail.ranges import COUNT, FLAG, Fact, Range, below
from heavytail.registry import register

NUMBER, STEPS, LEAST, NEWS = range(4)  # of a phase: its steps so far, and at least
SHORTER = 4  # the j-th phase ends after j over so many units at the latest
GROWTH = 10  # visits are news when one in so many of a cell's was made in the phase
CROSSINGS = 3  # a phase of a continuing problem lasts for so many steps for each state seen, or fewer
DRAWN_AT_ONCE = 500  # cells that a phase draws for each of its steps
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
    in_phase: Indices  # [S*A] visits in this phase
    phase: Ints  # [4] see above
    certainty: Certainty
    leads: Ints  # [S] how many cells of other states led to a state
    graph: Ints  # [2] pairs of a cell and a successor, and states to which one cell leads
    unknown: Floats  # [6] drawn for what is not known, see `heavytail.agents._drawn_mdp`
    kinds: Indices  # [S*A] what rewards are drawn as, see `heavytail.agents._drawn_means`
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
            "leads": COUNT,
            "graph": COUNT,
        }

    def facts(self) -> Iterator[Fact]:
        """Check that its parts fit together."""
        yield "drawn has not the length of the model's pools", len(self.drawn) == len(self.model.counts)
        yield "visits and rewards were not counted alike", (self.model.visits == self.sketch.n).all()
        yield "states seen are not those listed", self.seen.holds_exactly(self.known)
        yield "pairs are not those of the model", self.graph[PAIRS] == self.model.size.sum()
        yield "states with one way in are not those counted", self.graph[SINGLE] == (self.leads == 1).sum()
        yield "cells tried are not those listed", self.tried.holds_exactly(self.model.visits)
        yield "the end has a value", not self.values[:, self.model.n_states].any()

    def beliefs(self) -> dict[str, Floats]:
        """Return what it believes of each cell's rewards."""
        return describe_cells(self.sketch)


@register("agent", "heavy_psrl", version=9)
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
        in_phase=np.zeros(cells, np.uint32),
        phase=np.zeros(4, np.int64),
        certainty=new_certainty(cells),
        leads=np.zeros(S, np.int64),
        graph=np.zeros(2, np.int64),
        unknown=np.zeros(6),
        kinds=np.zeros(cells, np.uint32),
        episodic=problem.horizon > 0,
    )


@full.method(HeavyPSRL)
def _full(record: HeavyPSRL) -> bool:
    return record.model.pool_used[0] + 2 * record.model.max_capacity[0] > record.drawn.size


# Phases


@kernel
def is_due(agent: HeavyPSRL) -> bool:
    """Return whether another MDP must be drawn."""
    unit = agent.policy.shape[0] if agent.episodic else 1
    steps, drawn = agent.phase[STEPS], agent.seen.size[0] * (agent.rewards.size // agent.model.n_states)
    due = agent.phase[NEWS] > 0 or SHORTER * steps >= agent.phase[NUMBER] * unit
    lasted = steps >= agent.phase[LEAST] and DRAWN_AT_ONCE * steps > drawn
    return agent.phase[NUMBER] == 0 or (due and lasted)


@subroutine
def new_phase(agent: HeavyPSRL, rng: Stream) -> None:
    """Draw an MDP and plan in it."""
    if agent.episodic:
        draw_mdp(agent, float(agent.policy.shape[0]), rng)
        plan_episode(agent)
    else:
        draw_mdp(agent, float(agent.seen.size[0] + agent.phase[STEPS]), rng)
        plan_average(agent)
        agent.phase[LEAST] = int(exp(uniform(rng) * log(float(CROSSINGS * agent.seen.size[0]))))
    agent.phase[STEPS] = 0
    agent.phase[NEWS] = 0
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
    # Beside what was drawn before two rewards differed, a reward would be little or much by its unit alone
    reward = agent.sketch.histogram.first[i] if agent.unknown[HAS_UNIT] == 1.0 else agent.unknown[HIGH]
    n = model.visits[i]
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


@kernel
def count_pair(agent: HeavyPSRL, s: int, s_next: int, terminated: bool) -> None:
    """Count that a cell of a state has led to another state for the first time."""
    agent.graph[PAIRS] += 1
    if not terminated and s_next != s:
        agent.leads[U(s_next)] += 1
        if agent.leads[U(s_next)] == 1:
            agent.graph[SINGLE] += 1
        elif agent.leads[U(s_next)] == 2:
            agent.graph[SINGLE] -= 1


@begin.method(HeavyPSRL)
def _begin(agent: HeavyPSRL, s: int, rng: Stream) -> None:
    see(agent, s, rng)
    if is_due(agent):
        new_phase(agent, rng)


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
    agent.phase[STEPS] += 1
    if GROWTH * as_int(agent.in_phase[i]) > n:
        agent.phase[NEWS] += 1
    changed = not terminated and see(agent, s_next, rng)
    if agent.model.size[i] > successors:
        count_pair(agent, s, s_next, terminated)
        take_as_seen(agent, cell)  # its successors have changed places, the drawn probabilities have not
    if not agent.episodic:
        if changed:
            try_any_action(agent, s_next, A, rng)
        if is_due(agent):
            new_phase(agent, rng)
    elif agent.seen.size[0] * A * agent.policy.shape[0] <= MAX_REPLANNED:
        if settles(agent, cell, rng) or changed:
            plan_episode(agent)
    elif changed:
        try_any_action(agent, s_next, A, rng)


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
    record.leads[:] = 0
    record.graph[:] = 0
