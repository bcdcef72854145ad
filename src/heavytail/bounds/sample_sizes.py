r"""How many steps it takes until the average regret is small (Zhuang and Sui 2021, corollary 1, appendix B; and what follows from theorems 4 and 5).

The paper writes down that of Heavy-UCRL2; ``constants="tight"`` solves the regret bound for T instead. The
numbers are so large that they come as logarithms.
"""

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats
from heavytail.bounds._arguments import chosen, chosen_constants, given
from heavytail.bounds.bound import LOG_10, Constants, SampleSize, Steps
from heavytail.bounds.heavy_q_learning import STATEMENTS, Bonus
from heavytail.bounds.heavy_ucrl2 import EstimatorName, heavy_ucrl2_statement, reward_term
from heavytail.bounds.terms import Statement, log, log_steps


def log10_pac_constant(
    accuracy: npt.ArrayLike,
    *,
    S: npt.ArrayLike,
    A: npt.ArrayLike,
    moment: npt.ArrayLike,
    epsilon: npt.ArrayLike,
    estimator: EstimatorName = "truncated_mean",
    constants: Constants = "tight",
) -> Floats:
    """The decimal logarithm of alpha in corollary 1.

    The heavy-tail term is at most accuracy T / 2 once T >= alpha log(2 S A T / delta).

    The paper's: 7 c (4 C + 2)^(1/b) v^(1/epsilon) (S A)^(1/epsilon) / accuracy^(1/b). From the tight term: 7
    S A (4 C' K / accuracy)^(1/b) m^(1/epsilon), linear in S A.

    >>> float(log10_pac_constant(0.1, S=7, A=6, moment=13.26, epsilon=0.05, constants="paper").round(1))
    110.9
    """
    accuracy, S, A, moment, epsilon = given(
        "log10_pac_constant", accuracy=accuracy, S=S, A=A, moment=moment, epsilon=epsilon
    )
    chosen_constants("log10_pac_constant", constants)
    rewards = reward_term(S, A, moment, epsilon, np.asarray(0.5), estimator, constants)
    return np.asarray((rewards.scale + np.log(2.0) - log(accuracy)) / (rewards.log_power * LOG_10))[()]


def heavy_ucrl2_sample_size(
    accuracy: npt.ArrayLike,
    *,
    S: npt.ArrayLike,
    A: npt.ArrayLike,
    diameter: npt.ArrayLike,
    reward_range: npt.ArrayLike,
    moment: npt.ArrayLike,
    epsilon: npt.ArrayLike,
    delta: npt.ArrayLike = 0.05,
    estimator: EstimatorName = "truncated_mean",
    constants: Constants = "tight",
) -> SampleSize:
    """The T from which on the average regret is at most `accuracy`, with probability at least 1 - delta (corollary 1).

    The paper: T >= max{16 * 400 R^2 D^2 S^2 A / accuracy^2 log(40 R D S A / (delta accuracy)), alpha log(2 S
    A / delta) + 2 alpha log(alpha / delta)}, alpha as in `log10_pac_constant`. Its derivation holds if alpha
    is not far below 1. ``constants="tight"`` solves theorem 1 for T, without a detour.
    """
    where = "heavy_ucrl2_sample_size"
    chosen_constants(where, constants)
    accuracy, S, A, D, R, moment, epsilon, delta = given(
        where,
        accuracy=accuracy,
        S=S,
        A=A,
        diameter=diameter,
        reward_range=reward_range,
        moment=moment,
        epsilon=epsilon,
        delta=delta,
    )
    if constants == "tight":
        statement, start = (
            heavy_ucrl2_statement(S, A, D, R, moment, epsilon, delta, estimator, constants),
            log(np.maximum(S * A, np.e * delta)),
        )
        return _solved(statement, accuracy, start)
    ratio = log(40.0 * R * D * S / accuracy)
    first = log(4.0) + 2.0 * ratio + log(A) + log(np.maximum(ratio + log(A / delta), 0.0))
    alpha = LOG_10 * log10_pac_constant(
        accuracy, S=S, A=A, moment=moment, epsilon=epsilon, estimator=estimator, constants=constants
    )
    second = alpha + log(np.maximum(log(2.0 * S * A / delta) + 2.0 * (alpha - log(delta)), 0.0))
    first, second = (np.maximum(each, 0.0) for each in (first, second))
    return SampleSize(Steps(np.maximum(first, second)), Steps(first), Steps(second))


def _solved(statement: Statement, accuracy: Floats, start: Floats) -> SampleSize:
    """When the average of a statement is small, and when its parts are half as small.

    Averages must fall from `start` on.
    """
    half = log(accuracy / 2.0)
    rest = statement._replace(heavy_tail=())
    parts = log_steps(rest, half, start), log_steps(Statement(heavy_tail=statement.heavy_tail), half, start)
    return SampleSize(Steps(log_steps(statement, log(accuracy), start)), Steps(parts[0]), Steps(parts[1]))


def heavy_q_learning_sample_size(
    accuracy: npt.ArrayLike,
    *,
    S: npt.ArrayLike,
    A: npt.ArrayLike,
    H: npt.ArrayLike,
    r_max: npt.ArrayLike,
    moment: npt.ArrayLike,
    epsilon: npt.ArrayLike,
    delta: npt.ArrayLike = 0.05,
    bonus: Bonus = "hoeffding",
    constants: Constants = "tight",
) -> SampleSize:
    """The T from which on the average regret per step is at most `accuracy`, that of an episode at most H times that.

    The paper says that its regret bound "naturally translates into a PAC bound" and does not write it down.
    This solves the regret bound for T.
    """
    where = "heavy_q_learning_sample_size"
    chosen(where, "bonus", bonus, tuple(sorted(STATEMENTS)))
    chosen_constants(where, constants)
    accuracy, S, A, H, r_max, moment, epsilon, delta = given(
        where, accuracy=accuracy, S=S, A=A, H=H, r_max=r_max, moment=moment, epsilon=epsilon, delta=delta
    )
    return _solved(
        STATEMENTS[bonus](S, A, H, r_max, moment, epsilon, delta, constants),
        accuracy,
        np.log(np.maximum(H, np.e**2 * delta)),
    )
