r"""What is exactly true of an MDP.

Optimal values, gain and bias, diameter, and the same for a given policy.

*In episodes*, backward induction: V_H = 0, Q_h(s, a) = r_h(s, a) + sum p_h(s' | s, a) V_{h+1}(s'), no value
behind a terminal state.

*Continuing*, the gain rho(s) is the long-run average reward and the bias h(s) the total earned above it, so
that rho + h = r + P h. Policy iteration for multichain MDPs (Howard 1960, Veinott 1966; Puterman 1994,
sections 9.2 and 10.4): evaluate a policy exactly, by its recurrent classes and a sparse linear system;
improve the gain, where that cannot be the bias, where that cannot be the term behind it; stop when none can
be. The third term settles which of several optimal policies has the largest bias, so that the optimal bias
and its span are one number each. Nothing is iterated to a limit, so periodic chains need no care. An episodic
MDP is read as a continuing one that forgets its horizon and in which the end of an episode leads back to the
start; a terminal state is then never visited.

Matrices are sparse throughout: 100,000 states of a chain plan in seconds. A problem whose parts are so nearly
cut off from each other that double precision cannot tell raises an ArithmeticError.
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
from heavytail.planning.policy_enumeration import all_gains, policy_gap
from heavytail.planning.reward_moments import reward_moments

__all__ = [
    "AveragePlan",
    "EpisodicPlan",
    "all_gains",
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
    "reward_moments",
    "span",
    "stationary_distribution",
    "times_to",
]
