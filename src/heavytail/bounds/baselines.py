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
import numpy.typing as npt

from heavytail.bounds._arguments import Constants, check_arguments
from heavytail.bounds.bound import Bound, bound_at
from heavytail.bounds.catalogue import CatalogueEntry
from heavytail.bounds.heavy_q_learning import q_learning_statement
from heavytail.bounds.heavy_ucrl2 import SILVER, ucrl2_statement
from heavytail.bounds.terms import Statement, Term, log
from heavytail.registry import register


def ucrl2_regret(
    T: npt.ArrayLike,
    *,
    S: npt.ArrayLike,
    A: npt.ArrayLike,
    diameter: npt.ArrayLike,
    reward_range: npt.ArrayLike,
    delta: npt.ArrayLike = 0.05,
    constants: Constants = "tight",
) -> Bound:
    """The regret of UCRL2 after T steps, if rewards lie in an interval of length `reward_range`.

    It holds with probability at least 1 - delta.

    >>> paper = ucrl2_regret(1e6, S=2, A=2, diameter=2, reward_range=1, delta=0.1, constants="paper")
    >>> float(paper.total.round())
    772166.0
    """
    p = check_arguments("ucrl2_regret", locals())
    S, A, R = p.S, p.A, p.reward_range
    if not p.tight:
        published = Term(log(34.0 * R * p.diameter * S) + 0.5 * log(A), 0.5, 0.5, -log(p.delta))
        return bound_at(Statement((published,)), log(p.T), R)
    statement = ucrl2_statement(p)
    rewards = Term(log(SILVER * R) + 0.5 * log(14.0 * S * A), 0.5, 0.5, log(2.0 * S * A / p.delta))
    return bound_at(statement._replace(lower_order=(rewards, *statement.lower_order)), log(p.T), R)


def q_learning_regret(
    T: npt.ArrayLike,
    *,
    S: npt.ArrayLike,
    A: npt.ArrayLike,
    H: npt.ArrayLike,
    r_max: npt.ArrayLike,
    reward_range: npt.ArrayLike | None = None,
    delta: npt.ArrayLike = 0.05,
    constants: Constants = "tight",
) -> Bound:
    """The regret of Q-learning with UCB-Hoeffding bonuses after T steps, if rewards are known.

    `reward_range` decides what is vacuous, and is `r_max` if left out.
    """
    p = check_arguments("q_learning_regret", locals())
    if p.tight:
        return bound_at(q_learning_statement(p), log(p.T), p.reward_range)
    order = Term(log(p.r_max * p.H**2) + 0.5 * log(p.S * p.A), 0.5, 0.5, log(p.S * p.A / p.delta))
    return bound_at(Statement((order,)), log(p.T), p.reward_range, kind="order")


def ucbvi_regret(
    T: npt.ArrayLike,
    *,
    S: npt.ArrayLike,
    A: npt.ArrayLike,
    H: npt.ArrayLike,
    r_max: npt.ArrayLike,
    reward_range: npt.ArrayLike | None = None,
    delta: npt.ArrayLike = 0.05,
    constants: Constants = "tight",
) -> Bound:
    """The regret of UCBVI-CH after T steps, if rewards are known.

    `reward_range` decides what is vacuous, and is `r_max` if left out.
    """
    p = check_arguments("ucbvi_regret", locals())
    S, A, H, r_max = p.S, p.A, p.H, p.r_max
    offset = log(5.0 * H * S * A / p.delta)
    transitions = Term(np.log(20.0) + log(H * r_max) + 0.5 * log(S * A), 0.5, 1.0, offset)
    lower = Term(log(250.0 * r_max * A) + 2.0 * log(H * S), 0.0, 2.0, offset)
    return bound_at(Statement((transitions,), lower_order=(lower,)), log(p.T), p.reward_range)


@register("bound", "ucrl2")
def ucrl2() -> CatalogueEntry:
    """UCRL2."""
    where, label = "Jaksch et al., theorem 2", "UCRL2, were tails light"
    return CatalogueEntry(ucrl2_regret, where, 50, "in the long run", label, "#0072B2")


@register("bound", "q_learning")
def q_learning() -> CatalogueEntry:
    """Q-learning with UCB-Hoeffding."""
    where, label = "Jin et al., theorem 1", "Q-learning, were rewards known"
    return CatalogueEntry(q_learning_regret, where, 130, "in episodes", label, "#0072B2")


@register("bound", "ucbvi")
def ucbvi() -> CatalogueEntry:
    """UCBVI-CH."""
    where, label = "Azar et al., theorem 1", "UCBVI, were rewards known"
    return CatalogueEntry(ucbvi_regret, where, 140, "in episodes", label, "#7A5CC8")
