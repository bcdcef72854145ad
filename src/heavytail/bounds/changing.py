r"""Heavy-UCRL2 in an MDP that changes.

Restarts, and the regret with them (Zhuang and Sui 2021, theorem 3; appendix D).

Theorem 3 of the paper: if the MDP changes up to l - 1 times, epsilon < 1, and Heavy-UCRL2 with delta / l^2
restarts at ceil(i^((1+2 epsilon)/epsilon) / l^((1+epsilon)/epsilon)), i = 1, 2, 3, ..., the regret is with
probability at least 1 - delta at most

    R l^(epsilon/(1+2 epsilon)) T^((1+epsilon)/(1+2 epsilon)) (S A)^a,      for T of the order D^((2+2
    epsilon)/(1-epsilon)) S^(2 epsilon/(1-epsilon)) / A at least (printed as O instead of Omega).

That is ``constants="paper"``, an order: the proof has 2 B (3 iota)^b and (1+2 epsilon)/epsilon besides, and
counts l twice. ``"tight"`` follows the proof. There are at most n = l^((1+epsilon)/(1+2 epsilon))
T^(epsilon/(1+2 epsilon)) stages. In the l of them in which the MDP changes any regret is possible; they have
at most ((1+2 epsilon)/epsilon) l^(epsilon/(1+2 epsilon)) T^((1+epsilon)/(1+2 epsilon)) steps, the last stage
being cut off at T (the mean value theorem; the paper drops all but the first term of a series). In the others
theorem 1 holds, and by Jensen's inequality

    sum of T_i^a <= n^b T^a = l^(epsilon/(1+2 epsilon)) T^((1+epsilon)/(1+2 epsilon)),       sum of sqrt(T_i)
    <= sqrt(n T).

All terms of theorem 1 are summed so, with log(2 l^2 S A T / delta) in them, and no condition on T is needed;
epsilon = 1 is included and gives the l^(1/3) T^(2/3) of Jaksch et al. (2010), theorem 6. The remainder is
what the changes cost.
"""

import numpy as np
import numpy.typing as npt

from heavytail.agents.restarting import restart_steps
from heavytail.arrays import Floats
from heavytail.bounds._arguments import chosen_constants, given
from heavytail.bounds.bound import Bound, Constants, bound_at
from heavytail.bounds.heavy_ucrl2 import EstimatorName, heavy_ucrl2_statement, orders
from heavytail.bounds.terms import Statement, Term, log
from heavytail.errors import InputError

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
    """The regret of restarted Heavy-UCRL2 in an MDP that changes, with probability at least 1 - delta (theorem 3; what was corrected: see the module).

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
    where = "changing_regret"
    tight = chosen_constants(where, constants)
    T, l, S, A, D, R, moment, epsilon, delta = given(
        where,
        T=T,
        changes=changes,
        S=S,
        A=A,
        diameter=diameter,
        reward_range=reward_range,
        moment=moment,
        epsilon=epsilon,
        delta=delta,
    )
    a, _ = orders(epsilon)
    p, q = epsilon / (1.0 + 2.0 * epsilon), (1.0 + epsilon) / (1.0 + 2.0 * epsilon)
    of_changes = log(R) + p * log(l)
    if tight:
        one = heavy_ucrl2_statement(S, A, D, R, moment, epsilon, delta / l**2, estimator, constants)
        stages = Term(q * log(l), p)
        every = Statement(*(tuple(_over_stages(term, stages) for term in part) for part in one))
        return bound_at(every._replace(remainder=(Term(of_changes - log(p), q),)), log(T), R)
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.where(
            epsilon < 1,
            ((2.0 + 2.0 * epsilon) * log(D) + 2.0 * epsilon * log(S)) / (1.0 - epsilon) - log(A),
            np.inf,
        )
    return bound_at(
        Statement(heavy_tail=(Term(of_changes + a * log(S * A), q),)),
        log(T),
        R,
        holds=log(T) >= least,
        kind="order",
    )


def _over_stages(term: Term, stages: Term) -> Term:
    """The sum of c T_i^power over n stages is at most n^(1 - power) c T^power."""
    times = 1.0 - np.asarray(term.power)
    return term._replace(scale=term.scale + times * stages.scale, power=term.power + times * stages.power)


def restart_schedule(T: float, *, changes: int, epsilon: float) -> Floats:
    """The steps up to T at which theorem 3 starts anew, the first at 1, each once.

    >>> restart_schedule(1e6, changes=5, epsilon=0.05).tolist()
    [1.0, 5.0, 277.0, 8200.0, 154743.0]
    """
    steps, l, order = given("restart_schedule", T=T, changes=changes, epsilon=epsilon)
    if steps.ndim or l.ndim or order.ndim:
        raise InputError("restart_schedule: T, changes and epsilon must be numbers, not arrays")
    log_n = ((1.0 + order) * log(l) + order * log(steps)) / (1.0 + 2.0 * order)
    if log_n > np.log(MAX_RESTARTS):
        raise InputError(
            f"restart_schedule: up to T = {T:g} there would be more than {MAX_RESTARTS:,} restarts"
        )
    found = np.array([step for _, step in restart_steps(float(order), int(l), int(np.exp(log_n)) + 1)])
    return found[found <= steps]
