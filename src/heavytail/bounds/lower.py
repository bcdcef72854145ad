r"""Lower bounds: what no agent can avoid (Zhuang and Sui 2021, theorem 6, after Bubeck, Cesa-Bianchi and Lugosi 2013).

Theorem 6 of the paper: for any T and any agent there is a communicating MDP on which the expected regret is
of the order (S A)^b T^a at least, and in episodes H (S A)^b T^a. That is ``constants="paper"``, with the
constant 1. It lacks u^a; it needs the gap of its construction, (S A / T)^b, to be at most 1/2, that is T >= S
A 2^((1+epsilon)/epsilon); and the H of episodes is heuristic.

``"tight"`` is a number with a proof, for rewards with E|r|^(1+epsilon) <= u. The next state is drawn
uniformly, whatever the action, so that each state is a bandit of its own, with A arms and n = T/S visits on
average; all transitions are known. One arm, drawn at random, pays u^a q^-a with probability q, the others
with probability q/2; then u bounds their moments and the gap is u^a q^b / 2. By Pinsker's inequality the good
arm gets at most n/A + n sqrt(n kl / (2A)) of n visits on average, kl = KL(q/2 | q). So the expected regret of
any agent is for some of these MDPs at least

    u^a (S A)^b T^a  kappa^b / 2  (1 - 1/A - sqrt((1 + 1/n) n kl / (2A))),       q = kappa A / n,

for any kappa; the one that is best for large T is taken. (E n^(3/2) <= (T/S)^(3/2) sqrt(1 + S/T) for the
binomial number of visits.) The factor is 0.45 for epsilon = 1 and many actions, 0.41 for epsilon = 0.05. The
diameter is S. In episodes rewards may depend on the step, so that there are H S bandits with T/(H S) visits,
and (H S A)^b takes the place of (S A)^b.
"""

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats
from heavytail.bounds._arguments import chosen_constants, given
from heavytail.bounds.bound import Bound, Constants, Steps, make_bound
from heavytail.bounds.heavy_ucrl2 import orders
from heavytail.bounds.terms import log

KL_AT_ZERO = (1.0 - np.log(2.0)) / 2.0  # KL(q/2 | q) / q for small q


def hard_instance_steps(*, S: npt.ArrayLike, A: npt.ArrayLike, epsilon: npt.ArrayLike) -> Steps:
    """The least T for which the paper's construction exists: S A 2^((1+epsilon)/epsilon).

    >>> f"{hard_instance_steps(S=7, A=6, epsilon=0.05).steps:.1e}"
    '8.8e+07'
    """
    S, A, epsilon = given("hard_instance_steps", S=S, A=A, epsilon=epsilon)
    return Steps(np.asarray(log(S * A) + (1.0 + epsilon) / epsilon * np.log(2.0))[()])


def lower_bound(
    T: npt.ArrayLike,
    *,
    S: npt.ArrayLike,
    A: npt.ArrayLike,
    moment: npt.ArrayLike = 1.0,
    epsilon: npt.ArrayLike,
    constants: Constants = "tight",
) -> Bound:
    """What the regret of any agent is at least, on some MDP with S states and A actions (theorem 6; what was corrected: see the module). `holds` says whether the construction exists.

    >>> float(lower_bound(1e6, S=1, A=100, epsilon=1.0).total.round())
    4423.0
    """
    T, S, A, moment, epsilon = given("lower_bound", T=T, S=S, A=A, moment=moment, epsilon=epsilon)
    return _lower_bound("lower_bound", T, S, A, np.asarray(1.0), moment, epsilon, constants)


def episodic_lower_bound(
    T: npt.ArrayLike,
    *,
    S: npt.ArrayLike,
    A: npt.ArrayLike,
    H: npt.ArrayLike,
    moment: npt.ArrayLike = 1.0,
    epsilon: npt.ArrayLike,
    constants: Constants = "tight",
) -> Bound:
    """What the regret of any agent is at least, on some MDP with S states, A actions and episodes of H steps (theorem 6; what was corrected: see the module)."""
    T, S, A, H, moment, epsilon = given(
        "episodic_lower_bound", T=T, S=S, A=A, H=H, moment=moment, epsilon=epsilon
    )
    return _lower_bound("episodic_lower_bound", T, S, A, H, moment, epsilon, constants)


def _lower_bound(
    where: str,
    T: Floats,
    S: Floats,
    A: Floats,
    H: Floats,
    moment: Floats,
    epsilon: Floats,
    constants: Constants,
) -> Bound:
    a, b = orders(epsilon)
    nothing, x = np.array(-np.inf), log(T)
    if not chosen_constants(where, constants):
        holds = x - log(H) >= hard_instance_steps(S=S, A=A, epsilon=epsilon).log
        return make_bound(
            [nothing, log(H) + b * log(S * A) + a * x, nothing, nothing],
            np.inf,
            0.0,
            holds=holds,
            kind="order",
        )
    factor = bandit_factor(T / (H * S), A, b)
    return make_bound(
        [nothing, a * log(moment) + b * log(H * S * A) + a * x + log(factor), nothing, nothing],
        np.inf,
        0.0,
        holds=factor > 0,
    )


def bandit_factor(n: Floats, A: Floats, b: Floats) -> Floats:
    """What A^b n^a is multiplied by, for a bandit of A arms with n visits on average.

    0 if there are too few for the argument.
    """
    most = 1.0 - 1.0 / A
    best = (b * most / ((b + 0.5) * np.sqrt(KL_AT_ZERO / 2.0))) ** 2
    kappa = np.minimum(best, n / (2.0 * A))
    q = kappa * A / n
    kl = (1.0 - q / 2.0) * np.log1p(q / 2.0 / (1.0 - q)) - q / 2.0 * np.log(2.0)
    return np.maximum(0.5 * kappa**b * (most - np.sqrt((n + 1.0) * kl / (2.0 * A))), 0.0)
