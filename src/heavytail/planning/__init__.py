r"""Exact facts of an MDP: values, gain, bias, span, diameter and moments, optimal or of a given policy.

*In episodes*, backward induction: V_H = 0,

    Q_h(s, a) = r_h(s, a) + sum over s' of p_h(s' | s, a) V_{h+1}(s'),

and no value follows a terminal state.

*Continuing*, the gain rho(s) is the long-run average reward and the bias h(s) the total earned above it, so
that rho + h = r + P h. Policy iteration for multichain MDPs (Howard 1960, Veinott 1966; Puterman 1994,
sections 9.2 and 10.4): evaluate a policy exactly, by its recurrent classes and a sparse linear system;
improve the gain; where that is optimal, the bias; where that is optimal too, the second bias, which is the
next term of the expansion; stop when none can be improved. The second bias settles which of several optimal
policies has the largest bias, so that the optimal bias and its span are well defined. Nothing is iterated to
a limit, so periodic chains need no care. An episodic MDP is read as a continuing one that forgets its horizon
and in which the end of an episode leads back to the start; a terminal state is then never visited.

Matrices are sparse throughout: a chain of 100,000 states is planned in seconds, a random MDP of that size in
a minute, its linear systems being solved by iteration up to rounding. A problem with parts so
nearly disconnected that double precision cannot resolve them raises an ArithmeticError.
"""

from heavytail.planning.average_reward import (
    AveragePlan,
    average_plan,
    gain,
    policy_gain,
    policy_gain_and_bias,
    span,
    stationary_distribution,
)
from heavytail.planning.episodic import (
    EpisodicPlan,
    episodic_plan,
    optimal_value,
    policy_value,
    policy_values,
)
from heavytail.planning.hitting_times import diameter, times_to
from heavytail.planning.policy_enumeration import policy_gap
from heavytail.planning.regret import regret_by_gaps
from heavytail.planning.reward_moments import reward_moments

__all__ = [
    "AveragePlan",
    "EpisodicPlan",
    "average_plan",
    "diameter",
    "episodic_plan",
    "gain",
    "optimal_value",
    "policy_gain",
    "policy_gain_and_bias",
    "policy_gap",
    "policy_value",
    "policy_values",
    "regret_by_gaps",
    "reward_moments",
    "span",
    "stationary_distribution",
    "times_to",
]
