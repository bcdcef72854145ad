r"""Steps until the average regret is small (corollary 1, appendix B).

(Zhuang and Sui 2021; and what follows from theorems 4 and 5.) The paper writes down the number for
Heavy-UCRL2; ``constants="tight"`` solves the regret bound for T instead. The numbers are so large that they
are given by their logarithms.
"""

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats
from heavytail.bounds._arguments import Arguments, Bonus, Constants, EstimatorName, check_arguments
from heavytail.bounds.bound import LOG_10, SampleSize, Steps
from heavytail.bounds.catalogue import CatalogueEntry
from heavytail.bounds.heavy_q_learning import STATEMENTS
from heavytail.bounds.heavy_ucrl2 import heavy_ucrl2_statement, reward_term
from heavytail.bounds.terms import Statement, log, log_steps
from heavytail.registry import register


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

    The paper's:           7 c (4 C + 2)^(1/b) v^(1/epsilon) (S A)^(1/epsilon) / accuracy^(1/b).
    From the tight term:   7 S A (4 C' K / accuracy)^(1/b) m^(1/epsilon), linear in S A.

    >>> float(log10_pac_constant(0.1, S=7, A=6, moment=13.26, epsilon=0.05, constants="paper").round(1))
    110.9
    """
    return _log10_pac_constant(check_arguments("log10_pac_constant", locals()))[()]


def _log10_pac_constant(p: Arguments) -> Floats:
    rewards = reward_term(p._replace(delta=np.asarray(0.5)))  # alpha does not depend on delta
    return np.asarray((rewards.scale + np.log(2.0) - log(p.accuracy)) / (rewards.log_power * LOG_10))


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
    """The T from which on the average regret is at most `accuracy` (corollary 1).

    It holds with probability at least 1 - delta. The paper, with alpha as in `log10_pac_constant`:

        T >= max{16 * 400 R^2 D^2 S^2 A / accuracy^2 log(40 R D S A / (delta accuracy)),
                 alpha log(2 S A / delta) + 2 alpha log(alpha / delta)}.

    Its derivation holds if alpha is not far below 1. ``constants="tight"`` solves theorem 1 for T directly.
    """
    p = check_arguments("heavy_ucrl2_sample_size", locals())
    S, A, delta = p.S, p.A, p.delta
    if p.tight:
        return _solve(heavy_ucrl2_statement(p), p.accuracy, log(np.maximum(S * A, np.e * delta)))
    ratio = log(40.0 * p.reward_range * p.diameter * S / p.accuracy)
    first = log(4.0) + 2.0 * ratio + log(A) + log(np.maximum(ratio + log(A / delta), 0.0))
    alpha = LOG_10 * _log10_pac_constant(p)
    second = alpha + log(np.maximum(log(2.0 * S * A / delta) + 2.0 * (alpha - log(delta)), 0.0))
    first, second = np.maximum(first, 0.0), np.maximum(second, 0.0)
    return SampleSize(Steps(np.maximum(first, second)), Steps(first), Steps(second))


def _solve(statement: Statement, accuracy: Floats, start: Floats) -> SampleSize:
    """Find when the average of a statement is at most `accuracy`, and each part's at most half of it.

    Averages must fall from `start` on.
    """
    half, heavy_tail = log(accuracy / 2.0), Statement(heavy_tail=statement.heavy_tail)
    total = log_steps(statement, log(accuracy), start)
    transitions = log_steps(statement._replace(heavy_tail=()), half, start)
    return SampleSize(Steps(total), Steps(transitions), Steps(log_steps(heavy_tail, half, start)))


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
    """The T from which on the average regret per step is at most `accuracy`.

    That of an episode is then at most H times that. The paper says that its regret bound "naturally
    translates into a PAC bound" and does not write it down. This solves the regret bound for T.
    """
    p = check_arguments("heavy_q_learning_sample_size", locals())
    return _solve(STATEMENTS[p.bonus](p), p.accuracy, np.log(np.maximum(p.H, np.e**2 * p.delta)))


@register("bound", "heavy_ucrl2_sample_size")
def _heavy_ucrl2() -> CatalogueEntry:
    """Corollary 1."""
    return CatalogueEntry(heavy_ucrl2_sample_size, "corollary 1: average regret at most lambda", 210)


@register("bound", "heavy_q_learning_sample_size")
def _heavy_q_learning() -> CatalogueEntry:
    """The sample size that follows from theorem 4."""
    where = "after theorem 4: average regret at most lambda"
    return CatalogueEntry(heavy_q_learning_sample_size, where, 230)
