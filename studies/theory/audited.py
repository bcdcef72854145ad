r"""An agent under audit: how often the true MDP leaves its confidence set.

The theory promises that it stays inside with probability 1 - delta. The auditor knows the MDP, changes
nothing and checks

* UCRL2 and Heavy-UCRL2 whenever a phase starts: whether for every state and action the mean reward lies
  within the interval, and the transitions within their L1 distance;
* Q-learning and Heavy-Q-Learning after every step: whether Q is at least Q*, where it was changed.
  (Nowhere else can it have become smaller.)

A run *escapes* if a check fails once. The theorems say that at most a share delta of runs does, with all
scales at 1; that means something only where the intervals are not so wide that no run could escape. So the
auditor also reports how wide they are where the agent has been most often: for UCRL2 the larger of the radius
of rewards over r_max and half the L1 distance, for Q-learning the bonus over H r_max, at the step of an
episode where it is largest.

It is a plugin of this study; ``heavytail learn ENV --agent audited --plugin audited`` uses it elsewhere.
"""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from heavytail.agents._bonuses import Bernstein, Hoeffding
from heavytail.agents.heavy_q_learning import HeavyQLearning
from heavytail.agents.q_learning import QLearning
from heavytail.agents.ucrl2 import MAX_RADIUS, UCRL2
from heavytail.arrays import Floats, Ints, Record, Stream, U
from heavytail.checks import Count, MomentOrder, OpenProbability
from heavytail.errors import InputError
from heavytail.kernels.array_ops import as_int
from heavytail.kernels.compiling import kernel
from heavytail.kernels.count_powers import count_power
from heavytail.kernels.dispatch import generic
from heavytail.kernels.elementary import log
from heavytail.kernels.verbs import act, begin, counter_names, mean, radius, reset, update, write_counters
from heavytail.mdp import MDP
from heavytail.mdp.problem import Problem
from heavytail.planning.episodic import episodic_plan
from heavytail.planning.matrices import transition_matrix
from heavytail.ranges import COUNT, Range
from heavytail.registry import find, register

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

ROUNDING = 1e-9  # relative to the largest value: so little below Q* is no escape


class GroundTruth(NamedTuple):
    """The exact quantities of an MDP. A row is (stage, state, action)."""

    means: Floats  # [G*S*A]
    offsets: Ints  # [G*S*A + 1] where the successors of each row begin
    successors: Ints  # [N] in ascending order; the end is S
    probabilities: Floats  # [N]
    values: Floats  # [H, S, A] Q*, less a tolerance for rounding; empty in a continuing problem
    r_max: float  # the largest mean reward, regardless of sign

    def constant_fields(self) -> tuple[str, ...]:
        """Name what never changes: all fields."""
        return self._fields


class Audited(NamedTuple):
    """An agent, the truth, and how often the truth violated what the agent promises."""

    agent: Record
    truth: GroundTruth
    audits: Ints  # [1]
    escapes: Ints  # [1]

    def counter_names(self) -> tuple[str, ...]:
        """Name its counters: audits, escapes, the relative width of intervals, and the agent's own."""
        return ("audits", "escapes", "narrowest", *counter_names(self.agent))

    def ranges(self) -> dict[str, Range]:
        """Declare which arrays hold counts."""
        return {"audits": COUNT, "escapes": COUNT}


@register("agent", "audited", example={"epsilon": 0.05, "moment": 14.25, "bonus_scale": 0.1})
def audited(
    problem: Problem,
    *,
    agent: str = "heavy_ucrl2",
    epsilon: MomentOrder | None = None,
    delta: OpenProbability = 0.05,
    planned_steps: Count | None = None,
    **parameters: Any,
) -> Audited:
    """An agent under audit: how often the true MDP leaves its confidence set, or Q falls below Q*.

    Args:
        problem: the environment, which must be an MDP that stays as it is.
        agent: the id of the agent: heavy_ucrl2, heavy_q_learning, ucrl2 or q_learning.
        epsilon: rewards have a finite moment of order 1 + epsilon; for an agent that needs it.
        delta: one minus the confidence; 0.05 throughout heavytail.
        planned_steps: the T inside the logarithm of the agents that have one; the agent's own if not given.
        **parameters: the agent's own; constants are "tight" by default, for only those are promised.

    >>> import heavytail as ht, audited
    >>> mdp = ht.make_mdp("two_state", law="student_t", df=3.0)
    >>> learner = ht.make_agent(mdp, "audited", seed=0, agent="heavy_ucrl2", epsilon=1.0, moment=4.0)
    >>> learner.learn(steps=10_000).counters["escapes"][-1]
    np.float64(0.0)
    """
    if problem.mdp is None:
        raise InputError(
            "audited compares an agent with the MDP it plays in, and this environment is none, or"
            " one that changes; give it an MDP such as make_mdp('six_arms')"
        )
    entry = find("agent", agent)
    shared = {"epsilon": epsilon, "delta": delta, "planned_steps": planned_steps, "constants": "tight"}
    known = {key: value for key, value in shared.items() if key in entry.parameters and value is not None}
    inner = entry.builder(problem, **{**known, **parameters})
    if type(inner) not in violates.methods:
        raise InputError(
            f"audited: {agent} promises nothing that could be audited; choose from:"
            " heavy_q_learning, heavy_ucrl2, q_learning, ucrl2"
        )
    return Audited(inner, ground_truth(problem.mdp), np.zeros(1, np.int64), np.zeros(1, np.int64))


def ground_truth(mdp: MDP) -> GroundTruth:
    """Compute what is exactly true of an MDP.

    >>> import heavytail as ht
    >>> truth = ground_truth(ht.make_mdp("two_state"))
    >>> truth.offsets.tolist(), truth.probabilities.round(2).tolist()
    ([0, 2, 4, 6, 8], [0.85, 0.15, 0.9, 0.1, 0.1, 0.9, 0.1, 0.9])
    """
    from scipy.sparse import csr_matrix, hstack

    alive = transition_matrix(mdp, restart=False)
    ended = np.where(mdp.ends.any(), np.maximum(1.0 - alive.sum(axis=1), 0.0), 0.0)
    both = csr_matrix(hstack([alive, csr_matrix(ended)]))
    both.sort_indices()
    return GroundTruth(
        means=mdp.row_means.copy(),
        offsets=both.indptr.astype(np.int64),
        successors=both.indices.astype(np.int64),
        probabilities=both.data,
        values=_optimal_values(mdp, alive),
        r_max=max(float(np.abs(mdp.row_means).max()), 1e-300),
    )


def _optimal_values(mdp: MDP, alive: "csr_matrix") -> Floats:
    S, A, H = mdp.n_states, mdp.n_actions, mdp.horizon
    if H == 0:
        return np.zeros((0, S, A))
    values, means = episodic_plan(mdp).values, mdp.row_means.reshape(-1, S * A)
    q = np.empty((H, S * A))
    for h in range(H):
        stage = h if mdp.n_stages > 1 else 0
        q[h] = means[stage] + alive[stage * S * A : (stage + 1) * S * A] @ values[h + 1]
    return q.reshape(H, S, A) - ROUNDING * np.abs(q).max()


# What can be asked of an agent


@generic()
def audit_due(agent: Record, audits: int, learnt: bool) -> bool:  # type: ignore[empty-body]
    """Tell whether to audit now, after so many audits.

    `learnt`: a step was just made; otherwise an episode has just begun.
    """


@generic()
def violates(agent: Record, truth: GroundTruth, s: int, a: int, h: int) -> bool:  # type: ignore[empty-body]
    """Tell whether the truth violates what the agent promises, after (s, a) was played at step h."""


@generic()
def relative_width(agent: Record, truth: GroundTruth) -> float:  # type: ignore[empty-body]
    """Return the width of intervals where the agent was most often, relative to the largest value."""


@generic()
def bonus_at(bonus: Record, cell: int, t: float) -> float:  # type: ignore[empty-body]
    """Return the bonus of Q-learning for transitions, after t visits of a cell."""


# UCRL2


@audit_due.method(UCRL2)
def _new_phase(agent: UCRL2, audits: int, learnt: bool) -> bool:
    return agent.phases[0] > audits


@violates.method(UCRL2)
def _mdp_violates(agent: UCRL2, truth: GroundTruth, s: int, a: int, h: int) -> bool:
    cells = agent.rewards.size
    level = _level(agent)
    for row in range(truth.means.size):
        cell = row % cells
        n = agent.model.visits[cell]
        centre = mean(agent.estimator, cell, level)
        if not abs(centre) < MAX_RADIUS:  # as the agent does
            centre = 0.0
        width = agent.reward_scale * radius(agent.estimator, cell if n > 0 else cells, level)
        if abs(centre - truth.means[row]) > width:
            return True
        if n > 0 and _distance(agent, truth, row, cell) > 2.0 * agent.half_widths[cell]:
            return True
    return False


@kernel
def _level(agent: UCRL2) -> float:
    """Return the log-confidence of rewards that a phase starting now would use."""
    return 7.0 * log(2.0 * agent.rewards.size * (agent.steps[0] + 1.0) / agent.delta)


@kernel
def _distance(agent: UCRL2, truth: GroundTruth, row: int, cell: int) -> float:
    """Return the L1 distance of the frequencies of a cell from the probabilities of a row."""
    model, distance = agent.model, 1.0  # successors never seen add their probabilities, 1 less those seen
    for k in range(model.start[cell], model.start[cell] + model.size[cell]):
        p = _probability(truth, row, as_int(model.successor[k]))
        distance += abs(model.counts[k] / model.visits[cell] - p) - p
    return distance


@kernel
def _probability(truth: GroundTruth, row: int, s_next: int) -> float:
    """Return the probability of a successor of a row, by bisection."""
    low, end = truth.offsets[row], truth.offsets[row + 1]
    high = end
    while low < high:
        middle = (low + high) >> 1
        if truth.successors[middle] < s_next:
            low = middle + 1
        else:
            high = middle
    return truth.probabilities[low] if low < end and truth.successors[low] == s_next else 0.0


@relative_width.method(UCRL2)
def _ucrl2_width(agent: UCRL2, truth: GroundTruth) -> float:
    most = 0
    for cell in range(agent.rewards.size):
        if agent.model.visits[cell] > agent.model.visits[most]:
            most = cell
    reward_width = agent.reward_scale * radius(agent.estimator, most, _level(agent)) / truth.r_max
    return max(reward_width, agent.half_widths[most])


# Q-learning


@audit_due.method(QLearning)
def _table_changed(agent: QLearning, audits: int, learnt: bool) -> bool:
    return learnt


@audit_due.method(HeavyQLearning)
def _heavy_table_changed(agent: HeavyQLearning, audits: int, learnt: bool) -> bool:
    return learnt


@violates.method(QLearning)
def _below(agent: QLearning, truth: GroundTruth, s: int, a: int, h: int) -> bool:
    return not agent.q[U(h), U(s), U(a)] >= truth.values[U(h), U(s), U(a)]


@violates.method(HeavyQLearning)
def _heavy_below(agent: HeavyQLearning, truth: GroundTruth, s: int, a: int, h: int) -> bool:
    return violates(agent.table, truth, s, a, h)


@relative_width.method(QLearning)
def _q_width(agent: QLearning, truth: GroundTruth) -> float:
    largest = 0.0
    for h in range(agent.q.shape[0]):
        cell, t = _most_visited(agent, h)
        largest = max(largest, bonus_at(agent.bonus, cell, t))
    return largest / (agent.horizon * truth.r_max)


@relative_width.method(HeavyQLearning)
def _heavy_q_width(agent: HeavyQLearning, truth: GroundTruth) -> float:
    largest = 0.0
    for h in range(agent.table.q.shape[0]):
        cell, t = _most_visited(agent.table, h)
        both = bonus_at(agent.table.bonus, cell, t) + agent.reward_bonus * count_power(agent.decay, t)
        largest = max(largest, both)
    return largest / (agent.table.horizon * truth.r_max)


@kernel
def _most_visited(table: QLearning, h: int) -> tuple[int, float]:
    """Find the most visited cell of step h, numbered through all steps, and its visits, at least 1."""
    _, S, A = table.visits.shape
    most = 0
    for cell in range(S * A):
        if table.visits[h, cell // A, cell % A] > table.visits[h, most // A, most % A]:
            most = cell
    return h * S * A + most, max(float(table.visits[h, most // A, most % A]), 1.0)


@bonus_at.method(Hoeffding)
def _hoeffding_at(bonus: Hoeffding, cell: int, t: float) -> float:
    return bonus.factor / math.sqrt(t)


@bonus_at.method(Bernstein)
def _bernstein_at(bonus: Bernstein, cell: int, t: float) -> float:
    return 0.5 * bonus.previous[cell]


# The verbs


@kernel
def _audit(agent: Audited, s: int, a: int, h: int, learnt: bool) -> None:
    if audit_due(agent.agent, agent.audits[0], learnt):
        agent.audits[0] += 1
        if violates(agent.agent, agent.truth, s, a, h):
            agent.escapes[0] += 1


@begin.method(Audited)
def _begin(agent: Audited, s: int, rng: Stream) -> None:
    begin(agent.agent, s, rng)
    _audit(agent, s, 0, 0, False)


@act.method(Audited)
def _act(agent: Audited, s: int, h: int, rng: Stream) -> int:
    return act(agent.agent, s, h, rng)


@update.method(Audited)
def _update(
    agent: Audited, s: int, a: int, r: float, s_next: int, h: int, terminated: bool, rng: Stream
) -> None:
    update(agent.agent, s, a, r, s_next, h, terminated, rng)
    _audit(agent, s, a, h, True)


@write_counters.method(Audited)
def _write_counters(agent: Audited, out: Floats) -> None:
    out[0] = agent.audits[0]
    out[1] = agent.escapes[0]
    out[2] = relative_width(agent.agent, agent.truth)
    write_counters(agent.agent, out[3:])


@reset.method(Audited)
def _reset(record: Audited) -> None:
    reset(record.agent)
    record.audits[0] = 0
    record.escapes[0] = 0
