r"""Bounds of the light-tailed agents, for comparison: rewards in an interval of length R.

Where tails are heavy none of this holds.

*UCRL2* (Jaksch, Ortner and Auer 2010, theorem 2): 34 R D S sqrt(A T log(T/delta)). ``constants="tight"``: the
sum from which their proof gets there, without the noise of realised rewards,

    (sqrt(2)+1) R D sqrt(14 S log(2 A T/delta)) sqrt(S A T)
  + (sqrt(2)+1) R sqrt(14 log(2 S A T/delta)) sqrt(S A T)
  + terms of lower order, as in `heavytail.bounds.heavy_ucrl2`.

The second term is what Heavy-UCRL2's heavy-tail term is at epsilon = 1 if K sqrt(m) is R / sqrt(2), as
Hoeffding's inequality has it.

*Q-learning with UCB-Hoeffding* (Jin, Allen-Zhu, Bubeck and Jordan 2018, theorem 1): an order,
sqrt(H^4 S A T log(S A T/delta)), times r_max. "tight": with the constants of
`heavytail.bounds.heavy_q_learning`, rewards being known, as theirs are.

*UCBVI-CH* (Azar, Osband and Munos 2017, theorem 1): 20 H L sqrt(S A T) + 250 H^2 S^2 A L^2 with
L = log(5 H S A T/delta), times r_max, rewards being known. Nothing to correct.
"""

import numpy as np

from heavytail.bounds.bound import Bound, Statement, Term, bound_at, log
from heavytail.bounds.catalogue import EPISODES, LONG_RUN, theorem
from heavytail.bounds.heavy_q_learning import q_learning_statement
from heavytail.bounds.heavy_ucrl2 import SILVER, ucrl2_statement
from heavytail.bounds.quantities import Case

IN_EPISODES = ("S", "A", "H", "r_max")


@theorem(
    "Jaksch et al., theorem 2",
    ("S", "A", "diameter", "r_max"),
    rank=50,
    panel=LONG_RUN,
    label="UCRL2, were tails light",
    colour="#0072B2",
)
def ucrl2(case: Case) -> Bound:
    """The regret of UCRL2 if rewards lie in an interval, with probability at least 1 - delta."""
    S, A, R = case.S, case.A, case.reward_range
    if not case.tight:
        published = Term(log(34.0 * R * case.diameter * S) + 0.5 * log(A), 0.5, 0.5, -log(case.delta))
        return bound_at(Statement((published,)), case)
    statement = ucrl2_statement(case)
    rewards = Term(log(SILVER * R) + 0.5 * log(14.0 * S * A), 0.5, 0.5, log(2.0 * S * A / case.delta))
    return bound_at(statement._replace(lower_order=(rewards, *statement.lower_order)), case)


@theorem(
    "Jin et al., theorem 1",
    IN_EPISODES,
    rank=130,
    panel=EPISODES,
    label="Q-learning, were rewards known",
    colour="#0072B2",
)
def q_learning(case: Case) -> Bound:
    """The regret of Q-learning with UCB-Hoeffding bonuses, if rewards are known."""
    if case.tight:
        return bound_at(q_learning_statement(case), case)
    S, A, H = case.S, case.A, case.H
    order = Term(log(case.value_range * H**2) + 0.5 * log(S * A), 0.5, 0.5, log(S * A / case.delta))
    return bound_at(Statement((order,)), case, kind="order")


@theorem(
    "Azar et al., theorem 1",
    IN_EPISODES,
    rank=140,
    panel=EPISODES,
    label="UCBVI, were rewards known",
    colour="#7A5CC8",
)
def ucbvi(case: Case) -> Bound:
    """The regret of UCBVI-CH, if rewards are known."""
    S, A, H, r_max = case.S, case.A, case.H, case.value_range
    offset = log(5.0 * H * S * A / case.delta)
    transitions = Term(np.log(20.0) + log(H * r_max) + 0.5 * log(S * A), 0.5, 1.0, offset)
    lower = Term(log(250.0 * r_max * A) + 2.0 * log(H * S), 0.0, 2.0, offset)
    return bound_at(Statement((transitions,), lower_order=(lower,)), case)
