r"""What is known of the light-tailed agents, for comparison: rewards in an interval of length R.

Where tails are heavy none of this holds.

*UCRL2* (Jaksch, Ortner and Auer 2010, theorem 2): 34 R D S sqrt(A T log(T/delta)). ``constants="tight"``: the
sum from which their proof gets there, without the noise of realised rewards,

    (sqrt(2)+1) R D sqrt(14 S log(2 A T/delta)) sqrt(S A T)  +  (sqrt(2)+1) R sqrt(14 log(2 S A T/delta))
    sqrt(S A T)  +  what is of lower order, as in `heavytail.bounds.heavy_ucrl2`.

The second term is what Heavy-UCRL2's heavy-tail term is at epsilon = 1 if K sqrt(m) is R / sqrt(2), as
Hoeffding's inequality has it.

*Q-learning with UCB-Hoeffding* (Jin, Allen-Zhu, Bubeck and Jordan 2018, theorem 1): an order, sqrt(H^4 S A T
log(S A T/delta)), times r_max. "tight": with the constants of `heavytail.bounds.heavy_q_learning`, rewards
being known, as theirs are.

*UCBVI-CH* (Azar, Osband and Munos 2017, theorem 1): 20 H L sqrt(S A T) + 250 H^2 S^2 A L^2 with L = log(5 H S
A T/delta), times r_max, rewards being known. Nothing to correct.
"""

import numpy as np
import numpy.typing as npt

from heavytail.bounds._arguments import chosen_constants, given
from heavytail.bounds.bound import Bound, Constants, bound_at
from heavytail.bounds.heavy_q_learning import q_learning_statement
from heavytail.bounds.heavy_ucrl2 import SILVER, ucrl2_statement
from heavytail.bounds.terms import Statement, Term, log


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
    """The regret of UCRL2 after T steps, if rewards lie in an interval of length `reward_range`, with probability at least 1 - delta.

    >>> float(ucrl2_regret(1e6, S=2, A=2, diameter=2, reward_range=1, delta=0.1, constants="paper").total.round())
    772166.0
    """
    tight = chosen_constants("ucrl2_regret", constants)
    T, S, A, D, R, delta = given(
        "ucrl2_regret", T=T, S=S, A=A, diameter=diameter, reward_range=reward_range, delta=delta
    )
    if not tight:
        return bound_at(
            Statement((Term(log(34.0 * R * D * S) + 0.5 * log(A), 0.5, 0.5, -log(delta)),)), log(T), R
        )
    statement = ucrl2_statement(S, A, D, R, delta)
    rewards = Term(log(SILVER * R) + 0.5 * log(14.0 * S * A), 0.5, 0.5, log(2.0 * S * A / delta))
    return bound_at(statement._replace(lower_order=(rewards, *statement.lower_order)), log(T), R)


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

    `reward_range` is for what is vacuous, `r_max` if left out.
    """
    tight = chosen_constants("q_learning_regret", constants)
    T, S, A, H, r_max, R, delta = given(
        "q_learning_regret",
        T=T,
        S=S,
        A=A,
        H=H,
        r_max=r_max,
        reward_range=r_max if reward_range is None else reward_range,
        delta=delta,
    )
    if tight:
        return bound_at(q_learning_statement(S, A, H, r_max, delta), log(T), R)
    order = Term(log(r_max * H**2) + 0.5 * log(S * A), 0.5, 0.5, log(S * A / delta))
    return bound_at(Statement((order,)), log(T), R, kind="order")


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

    `reward_range` is for what is vacuous, `r_max` if left out.
    """
    chosen_constants("ucbvi_regret", constants)
    T, S, A, H, r_max, R, delta = given(
        "ucbvi_regret",
        T=T,
        S=S,
        A=A,
        H=H,
        r_max=r_max,
        reward_range=r_max if reward_range is None else reward_range,
        delta=delta,
    )
    offset = log(5.0 * H * S * A / delta)
    transitions = Term(np.log(20.0) + log(H * r_max) + 0.5 * log(S * A), 0.5, 1.0, offset)
    return bound_at(
        Statement(
            (transitions,), lower_order=(Term(log(250.0 * r_max * A) + 2.0 * log(H * S), 0.0, 2.0, offset),)
        ),
        log(T),
        R,
    )
