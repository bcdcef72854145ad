r"""What regret is measured against: the rewards of the best policies, or gaps, without luck.

*Regret by gaps.* What a run earns above or below the average of its policies is luck, and may be more than
its regret. With the optimal values V and Q an action that is not the best one of its state loses the *gap*
V_h(s) - Q_h(s, a). The gaps of a run add up to its regret on average, whatever its policies are (the
performance difference lemma; Kakade and Langford 2002), and the best policy has none. So a run may record, in
the place of the expected reward r_h(s, a),

    r_h(s, a) + E V_{h+1}(s') - V_h(s) = -(V_h(s) - Q_h(s, a)),   and V* more at the first step of an episode.

No policy earns more or less by it on average. In a continuing problem the bias takes the place of V.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from heavytail.arrays import Floats, Ints
from heavytail.checks import require_memory
from heavytail.errors import InputError
from heavytail.mdp import MDP
from heavytail.mdp.changing import ChangingMDP
from heavytail.mdp.mdp_file import AnyMDP, as_changing
from heavytail.planning.average_reward import RELATIVE_TOLERANCE, average_plan, gain
from heavytail.planning.episodic import episodic_plan, optimal_value
from heavytail.planning.matrices import transition_matrix

MAX_VALUES = 2**24  # numbers in memory at once


def regret_by_gaps(mdp: AnyMDP) -> ChangingMDP:
    """Return the MDP, for runs that record gaps instead of expected rewards.

    Agents see and do the same in it. It takes a table for each step of an episode.

    >>> import heavytail as ht
    >>> mdp = ht.planning.regret_by_gaps(ht.make_mdp("river_swim"))
    >>> curve = ht.make_agent(mdp, "optimal", seed=0).learn(episodes=1000)
    >>> bool(abs(curve.regret[-1]) < 1e-6)
    True
    """
    changing = as_changing(mdp)
    gaps = {id(each): _with_gaps(each) for each in changing.mdps}
    return changing._replace(recorded=tuple(gaps[id(each)] for each in changing.mdps))


def _with_gaps(mdp: MDP) -> MDP:
    return _with_episodic_gaps(_by_stages(mdp)) if mdp.horizon else _with_lasting_gaps(mdp)


def _by_stages(mdp: MDP) -> MDP:
    """Return the same MDP with a stage for each step of an episode."""
    if mdp.n_stages == mdp.horizon:
        return mdp
    times, slots = mdp.horizon, len(mdp.successors)
    slot_arrays = {name: getattr(mdp, name) for name in ("cumulative", "successors", "ends", "law")}
    size = sum(array.nbytes for array in (*slot_arrays.values(), mdp.offsets, mdp.row_means))
    require_memory(f"regret by gaps: {times:,} stages of this MDP", times * size)
    starts = mdp.offsets[:-1].astype(np.int64) + slots * np.arange(times)[:, None]
    offsets = np.append(starts, times * slots).astype(mdp.offsets.dtype)
    if int(offsets[-1]) != times * slots:
        raise InputError(
            f"regret by gaps: {times:,} stages of this MDP have too many slots, {times * slots:,}"
        )
    repeated: dict[str, Any] = {name: np.tile(array, times) for name, array in slot_arrays.items()}
    return mdp._replace(
        **repeated, offsets=offsets, row_means=np.tile(mdp.row_means, times), n_stages=mdp.horizon
    )


def _with_episodic_gaps(mdp: MDP) -> MDP:
    values = episodic_plan(mdp).values
    rows = (mdp.horizon, mdp.n_states * mdp.n_actions)
    alive = transition_matrix(mdp, restart=False)
    follow = np.concatenate(
        [alive[h * rows[1] : (h + 1) * rows[1]] @ values[h + 1] for h in range(mdp.horizon)]
    )
    gaps = _spread(mdp, values[:-1]) - mdp.row_means - follow
    recorded = -gaps.reshape(rows)
    recorded[0] += float(mdp.start @ values[0])
    return mdp._replace(row_means=recorded.ravel())


def _with_lasting_gaps(mdp: MDP) -> MDP:
    plan = average_plan(mdp)
    if float(np.ptp(plan.gain)) > RELATIVE_TOLERANCE * float(np.abs(plan.gain).max()):
        raise InputError("regret by gaps: the best long-run average differs between states of this MDP")
    follow = transition_matrix(mdp, restart=True) @ plan.bias
    return mdp._replace(row_means=mdp.row_means + follow - _spread(mdp, plan.bias))


def _spread(mdp: MDP, values: Floats) -> Floats:
    """Repeat the values of states for each of their actions."""
    return np.repeat(values.ravel(), mdp.n_actions)


def best_rates(mdp: ChangingMDP) -> list[float]:
    """Compute the average reward of the best policy of each MDP, per episode or per step.

    >>> import heavytail as ht
    >>> [round(rate, 2) for rate in best_rates(ht.changing_mdp([ht.make_mdp("six_arms")], []))]
    [40.06]
    """
    different = {id(each): each for each in mdp.mdps}
    best = {key: optimal_value(each) if each.horizon else gain(each) for key, each in different.items()}
    return [best[id(each)] for each in mdp.mdps]


def best_rewards(mdp: ChangingMDP, rates: Sequence[float], at: Ints) -> Floats:
    """Compute the mean cumulative reward [C] of the best policy of each MDP while it lasts.

    Args:
        mdp: the MDPs, and when each begins.
        rates: their `best_rates`.
        at: [C] episodes, or steps in a continuing problem.

    >>> import heavytail as ht
    >>> two = [ht.make_mdp("two_state", best=best) for best in (0, 1)]
    >>> best_rewards(ht.changing_mdp(two, at=[100]), [0.5, 2.0], [100, 101]).tolist()
    [50.0, 52.0]
    """
    begins, ends = np.array([0, *mdp.at], np.float64), np.array([*mdp.at, np.inf])
    rows, few = np.asarray(at, np.float64)[:, None], max(1, MAX_VALUES // len(begins))
    pieces = (np.clip(rows[k : k + few], begins, ends) - begins for k in range(0, len(rows), few))
    return np.concatenate([within @ np.array(rates) for within in pieces])  # within: [checkpoint, MDP]
