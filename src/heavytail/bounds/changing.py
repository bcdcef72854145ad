r"""Heavy-UCRL2 in an MDP that changes: restarts, and the regret with them (theorem 3; appendix D).

Theorem 3 of Zhuang and Sui (2021): if the MDP changes up to l - 1 times, epsilon < 1, and Heavy-UCRL2 with
delta / l^2 restarts at ceil(i^((1+2 epsilon)/epsilon) / l^((1+epsilon)/epsilon)), i = 1, 2, 3, ..., the
regret is with probability at least 1 - delta at most

    R l^(epsilon/(1+2 epsilon)) T^((1+epsilon)/(1+2 epsilon)) (S A)^a,

for T of the order D^((2+2 epsilon)/(1-epsilon)) S^(2 epsilon/(1-epsilon)) / A at least (printed as O instead
of Omega).

That is ``constants="paper"``, an order: the proof has 2 B (3 iota)^b and (1+2 epsilon)/epsilon besides, and
counts l twice. ``"tight"`` follows the proof. There are at most

    n = l^((1+epsilon)/(1+2 epsilon)) T^(epsilon/(1+2 epsilon))

stages. In the l of them in which the MDP changes any regret is possible; they have at most

    ((1+2 epsilon)/epsilon) l^(epsilon/(1+2 epsilon)) T^((1+epsilon)/(1+2 epsilon))

steps, the last stage being cut off at T (the mean value theorem; the paper drops all but the first term of a
series). In the others theorem 1 holds, and by Jensen's inequality

    sum of T_i^a       <= n^b T^a = l^(epsilon/(1+2 epsilon)) T^((1+epsilon)/(1+2 epsilon)),
    sum of sqrt(T_i)   <= sqrt(n T).

All terms of theorem 1 are summed so, with log(2 l^2 S A T / delta) in them, and no condition on T is needed;
epsilon = 1 is included and gives the l^(1/3) T^(2/3) of Jaksch et al. (2010), theorem 6. The remainder is
what the changes cost.
"""

import numpy as np
import numpy.typing as npt

from heavytail.agents.restarting import restart_steps
from heavytail.arrays import Floats
from heavytail.bounds._arguments import Constants, EstimatorName, check_arguments
from heavytail.bounds.bound import Bound, bound_at
from heavytail.bounds.catalogue import CatalogueEntry
from heavytail.bounds.heavy_ucrl2 import exponents, heavy_ucrl2_statement
from heavytail.bounds.terms import Statement, Term, log
from heavytail.errors import InputError
from heavytail.registry import register

MAX_RESTARTS = 1_000_000


def changing_regret(
    T: npt.ArrayLike,
    *,
    changes: npt.ArrayLike,
    S: npt.ArrayLike,
    A: npt.ArrayLike,
    diameter: npt.ArrayLike,
    reward_range: npt.ArrayLike,
    moment: npt.ArrayLike,
    epsilon: npt.ArrayLike,
    delta: npt.ArrayLike = 0.05,
    estimator: EstimatorName = "truncated_mean",
    constants: Constants = "tight",
) -> Bound:
    """The regret of restarted Heavy-UCRL2 in an MDP that changes (theorem 3).

    It holds with probability at least 1 - delta; the module says what was corrected.

    Args:
        T: steps.
        changes: l, one more than the number of changes.
        S: states.
        A: actions.
        diameter: the largest of all the MDPs.
        reward_range: the largest mean reward of all less the smallest.
        moment: a bound on E|r|**(1 + epsilon) of all.
        epsilon: rewards have a moment of order 1 + epsilon.
        delta: one minus the confidence.
        estimator: of mean rewards.
        constants: "tight" or "paper".
    """
    p = check_arguments("changing_regret", locals())
    x, R, l, epsilon = log(p.T), p.reward_range, p.changes, p.epsilon
    u, v = epsilon / (1.0 + 2.0 * epsilon), (1.0 + epsilon) / (1.0 + 2.0 * epsilon)
    cost = log(R) + u * log(l)
    if p.tight:
        one = heavy_ucrl2_statement(p._replace(delta=p.delta / l**2))
        stages = Term(v * log(l), u)
        summed = Statement(*(tuple(_over_stages(term, stages) for term in terms) for terms in one))
        return bound_at(summed._replace(remainder=(Term(cost - log(u), v),)), x, R)
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = (2.0 + 2.0 * epsilon) * log(p.diameter) + 2.0 * epsilon * log(p.S)
        least = np.where(epsilon < 1, steps / (1.0 - epsilon) - log(p.A), np.inf)
    order = Term(cost + exponents(epsilon)[0] * log(p.S * p.A), v)
    return bound_at(Statement(heavy_tail=(order,)), x, R, holds=x >= least, kind="order")


def _over_stages(term: Term, stages: Term) -> Term:
    """Sum a term over n stages: the sum of c T_i^power is at most n^(1 - power) c T^power."""
    rest = 1.0 - np.asarray(term.power)
    return term._replace(scale=term.scale + rest * stages.scale, power=term.power + rest * stages.power)


@register("bound", "changing")
def changing() -> CatalogueEntry:
    """Theorem 3."""
    label = "Heavy-UCRL2, changing MDP"
    return CatalogueEntry(changing_regret, "theorem 3", 40, "in the long run", label, "#B35900")


def restart_schedule(T: float, *, changes: int, epsilon: float) -> Floats:
    """The steps up to T at which theorem 3 starts anew, the first at 1, each once.

    >>> restart_schedule(1e6, changes=5, epsilon=0.05).tolist()
    [1.0, 5.0, 277.0, 8200.0, 154743.0]
    """
    p = check_arguments("restart_schedule", locals())
    if p.T.ndim or p.changes.ndim or p.epsilon.ndim:
        raise InputError("restart_schedule: T, changes and epsilon must be numbers, not arrays")
    log_n = ((1.0 + p.epsilon) * log(p.changes) + p.epsilon * log(p.T)) / (1.0 + 2.0 * p.epsilon)
    if log_n > np.log(MAX_RESTARTS):
        raise InputError(
            f"restart_schedule: up to T = {T:g} there would be more than {MAX_RESTARTS:,} restarts"
        )
    schedule = restart_steps(float(p.epsilon), int(p.changes), int(np.exp(log_n)) + 1)
    steps = np.array([step for _, step in schedule])
    return steps[steps <= p.T]
