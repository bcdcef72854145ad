r"""What is exactly true of an MDP: optimal values, gain and bias, diameter, and the same for a given policy.

*In episodes*, backward induction: V_H = 0, Q_h(s, a) = r_h(s, a) + sum p_h(s' | s, a) V_{h+1}(s'), no value behind a terminal state.

*Continuing*, the gain rho(s) is the long-run average reward and the bias h(s) the total earned above it, so that rho + h = r + P h. Policy iteration for
multichain MDPs (Howard 1960, Veinott 1966; Puterman 1994, sections 9.2 and 10.4): evaluate a policy exactly, by its recurrent classes and a sparse linear
system; improve the gain, where that cannot be the bias, where that cannot be the term behind it; stop when none can be. The third term settles which of
several optimal policies has the largest bias, so that the optimal bias and its span are one number each. Nothing is iterated to a limit, so
periodic chains need no care. An episodic MDP is read as a continuing one that forgets its horizon and in which the end of an episode leads back to the
start; a terminal state is then never visited.

Matrices are sparse throughout: 100,000 states of a chain plan in seconds. A problem whose parts are so nearly cut off from each other that
double precision cannot tell raises an ArithmeticError.
"""

from collections.abc import Iterator, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Bools, Floats, Ints
from heavytail.chains import basin, evaluate, factorise, gain_and_bias, hitting_times, stationary
from heavytail.errors import InputError
from heavytail.mdp import MDP

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

RELATIVE_TOLERANCE = 1e-9
POLICY_TOLERANCE = 1e-6  # probabilities in single precision sum to one no better
ROUNDING = 64 * float(np.finfo(np.float64).eps)
SLOWEST_EDGE = 1e9
MOST_IMPROVEMENTS = 10_000
MOST_POLICIES = 2_000_000
MOST_TARGETS = 5_000
POLICIES_AT_ONCE = 4096


class EpisodicPlan(NamedTuple):
    """Values and actions at each step of an episode."""

    values: Floats  # [H + 1, S]
    policy: Ints  # [H, S]


class AveragePlan(NamedTuple):
    """Long-run average, bias and actions."""

    gain: Floats  # [S]; the same everywhere if every state can be reached from every other
    bias: Floats  # [S]; of all policies with this gain the largest
    policy: Ints  # [S]


# In episodes


def episodic_plan(mdp: MDP) -> EpisodicPlan:
    """Optimal values and policy of every step, by backward induction; of equally good actions the first.

    >>> import heavytail as ht
    >>> plan = ht.planning.episodic_plan(ht.make_mdp("six_arms"))
    >>> plan.values.shape, plan.policy.shape
    ((26, 7), (25, 7))
    """
    values, policy = np.zeros((_horizon(mdp) + 1, mdp.n_states)), np.zeros((mdp.horizon, mdp.n_states), np.int64)
    for h, transitions, means in _backwards(mdp):
        q = (means + transitions @ values[h + 1]).reshape(mdp.n_states, mdp.n_actions)
        policy[h] = q.argmax(axis=1)
        values[h] = _mixed(q, policy[h])
    return EpisodicPlan(values, policy)


def optimal_value(mdp: MDP) -> float:
    """The best expected total reward of an episode, from the start.

    >>> import heavytail as ht
    >>> round(ht.planning.optimal_value(ht.make_mdp("six_arms")), 2)
    40.06
    """
    return float(mdp.start @ episodic_plan(mdp).values[0])


def policy_values(mdp: MDP, policy: npt.ArrayLike) -> Floats:
    """Expected total rewards [H + 1, S] under a policy: actions [S] or [H, S], or probabilities [S, A] or [H, S, A].

    >>> import heavytail as ht
    >>> mdp = ht.make_mdp("six_arms")
    >>> ht.planning.policy_values(mdp, [0] * 7)[0].round(2).tolist()
    [28.8, 30.0, 27.6, 27.6, 27.6, 27.6, 27.6]
    """
    values = np.zeros((_horizon(mdp) + 1, mdp.n_states))
    steps = _checked(mdp, policy, (mdp.horizon,))
    for h, transitions, means in _backwards(mdp):
        q = (means + transitions @ values[h + 1]).reshape(mdp.n_states, mdp.n_actions)
        values[h] = _mixed(q, steps[h])
    return values


def policy_value(mdp: MDP, policy: npt.ArrayLike) -> float:
    """The expected total reward of an episode under a policy, from the start.

    >>> import heavytail as ht
    >>> mdp = ht.make_mdp("six_arms")
    >>> round(ht.planning.policy_value(mdp, ht.planning.episodic_plan(mdp).policy), 2)
    40.06
    """
    return float(mdp.start @ policy_values(mdp, policy)[0])


def _backwards(mdp: MDP) -> Iterator[tuple[int, "csr_matrix", Floats]]:
    """Every step from the last to the first, with its transitions and mean rewards."""
    alive, n = _matrix(mdp, restart=False), mdp.n_states * mdp.n_actions
    for h in reversed(range(mdp.horizon)):
        if mdp.n_stages == 1:  # a slice would be a copy
            yield h, alive, mdp.row_means
        else:
            yield h, alive[h * n : (h + 1) * n], mdp.row_means[h * n : (h + 1) * n]


def _mixed(q: Floats, policy: npt.NDArray[Any]) -> Floats:
    """The values of actions [S, A], averaged over a policy of one step."""
    if policy.ndim == 1:
        return np.take_along_axis(q, policy[:, None], axis=1)[:, 0]
    mean: Floats = np.einsum("sa,sa->s", policy, q)
    return mean


# Continuing


def average_plan(mdp: MDP) -> AveragePlan:
    """Optimal gain, bias and policy in the long run.

    >>> import heavytail as ht
    >>> plan = ht.planning.average_plan(ht.make_mdp("six_arms", probabilities="strehl"))
    >>> round(float(plan.gain[0]), 6)
    2.0
    """
    means = _one_stage(mdp).row_means
    matrix = _matrix(mdp, restart=True)
    policy, seen, best = _towards_best_cell(matrix, means), set[int](), None
    for _ in range(MOST_IMPROVEMENTS):
        try:
            step = _improvement(matrix, means, policy)
        except ArithmeticError:
            # Improved here and there, a policy may have no way left between the places where it now stays. To lead all to the best of them is better still.
            step = _improvement(matrix, means, _towards_best_basin(matrix, means, policy))
        best = step if best is None else max(best, step, key=_rank)
        if np.array_equal(step.better, step.policy):
            return AveragePlan(step.gain, step.bias, step.policy)
        if (name := hash(step.policy.tobytes())) in seen:  # in circles, as among policies that differ by rounding only
            return _best_of_circle(best, means)
        seen.add(name)
        policy = step.better
    raise RuntimeError(f"policy iteration did not settle within {MOST_IMPROVEMENTS} improvements")


def gain(mdp: MDP) -> float:
    """The best long-run average reward, from the start.

    >>> import heavytail as ht
    >>> round(ht.planning.gain(ht.make_mdp("six_arms")), 6)
    2.0
    """
    return float(mdp.start @ average_plan(mdp).gain)


def span(mdp: MDP) -> float:
    """The difference between the largest and the smallest optimal bias.

    >>> import heavytail as ht
    >>> round(ht.planning.span(ht.make_mdp("six_arms")), 6)  # five steps on average from the hub, and one to get there, at 2 each
    12.0
    """
    return float(np.ptp(average_plan(mdp).bias))


def policy_gain_and_bias(mdp: MDP, policy: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Gain [S] and bias [S] of a stationary policy: actions [S] or probabilities [S, A].

    >>> import heavytail as ht
    >>> gain, _ = ht.planning.policy_gain_and_bias(ht.make_mdp("six_arms"), [0] * 7)
    >>> round(float(gain[0]), 6)
    1.2
    """
    return gain_and_bias(*_chain(mdp, policy))


def policy_gain(mdp: MDP, policy: npt.ArrayLike) -> float:
    """The long-run average reward of a stationary policy, from the start."""
    return float(mdp.start @ policy_gain_and_bias(mdp, policy)[0])


def stationary_distribution(mdp: MDP, policy: npt.ArrayLike) -> Floats:
    """How often each state is visited in the long run under a stationary policy, from the start [S].

    Where the policy has several recurrent classes, they are weighed by how likely the start leads to each.
    """
    chain, _ = _chain(mdp, policy)
    return stationary(chain, mdp.start)


class _Improvement(NamedTuple):
    policy: Ints
    gain: Floats
    bias: Floats
    better: Ints  # a better policy; the same if there is none
    by: float  # how much better its actions are where gain or bias improve; 0 if only the term behind them does


def _rank(step: _Improvement) -> tuple[bool, float]:
    return step.by == 0.0, float(step.gain.sum())


def _best_of_circle(step: _Improvement, means: Floats) -> AveragePlan:
    if step.by > RELATIVE_TOLERANCE * float(np.abs(means).max()):
        raise ArithmeticError("which policies of this MDP are better than others is beyond double precision")
    return AveragePlan(step.gain, step.bias, step.policy)


def _improvement(matrix: "csr_matrix", means: Floats, policy: Ints) -> _Improvement:
    """Evaluates a policy and looks for a better one.

    An action is better if it is by more than rounding, else the one at hand stays, so that ties do not cycle. How much rounding there is, is seen
    in the equations that hold for the policy itself.
    """
    shape, scale = (len(policy), len(means) // len(policy)), float(np.abs(means).max())
    chain, rewards = _under(matrix, means, policy)
    factors = factorise(chain)
    gain, bias = evaluate(factors, rewards)
    better, tied, by = _better(policy, (matrix @ gain).reshape(shape), gain, scale)
    if by > 0.0:
        return _Improvement(policy, gain, bias, better, by)
    scale = max(scale, float(np.abs(bias).max()))
    better, tied, by = _better(policy, np.where(tied, (means + matrix @ bias).reshape(shape), -np.inf), gain + bias, scale)
    if by > 0.0:
        return _Improvement(policy, gain, bias, better, by)
    _, behind = evaluate(factors, -bias)
    scale = max(scale, float(np.abs(behind).max()))
    better, _, _ = _better(policy, np.where(tied, (matrix @ behind).reshape(shape), -np.inf), bias + behind, scale)
    return _Improvement(policy, gain, bias, better, 0.0)


def _better(policy: Ints, values: Floats, now: Floats, scale: float) -> tuple[Ints, Bools, float]:
    """The better actions by these values [S, A], those of the policy being `now` but for rounding; which are as good as the best [S, A]; and by how much."""
    own, best = _mixed(values, policy), values.argmax(axis=1)
    top, tolerance = _mixed(values, best), ROUNDING * scale + 4.0 * float(np.abs(own - now).max())
    better = top > now + tolerance
    return (
        np.where(better, best, policy),
        values >= np.minimum(top - tolerance, own)[:, None],
        float((top - now).max(where=better, initial=0.0)),
    )


def _towards_best_cell(matrix: "csr_matrix", means: Floats) -> Ints:
    """A first policy: to the cell with the largest reward, and stay. A good guess spares a large MDP most of the improvements."""
    greedy = means.reshape(matrix.shape[1], -1).argmax(axis=1)
    there = np.arange(matrix.shape[1]) == means.argmax() // (len(means) // len(greedy))
    return np.where(there, greedy, _towards(matrix, _ways(matrix), there, otherwise=greedy))


def _towards_best_basin(matrix: "csr_matrix", means: Floats, policy: Ints) -> Ints:
    """The same policy around the place where it earns most; from elsewhere, if possible, to that place."""
    there = basin(*_under(matrix, means, policy))
    return np.where(there, policy, _towards(matrix, _ways(matrix), there, otherwise=policy))


# Times


def diameter(mdp: MDP) -> float:
    """The largest expected time, over pairs of states, that the best policy needs to get from one to the other; infinite if it cannot.

    >>> import heavytail as ht
    >>> round(ht.planning.diameter(ht.make_mdp("six_arms")), 6)
    6.0
    """
    from scipy.sparse.csgraph import connected_components

    if _one_stage(mdp).n_states > MOST_TARGETS:
        raise InputError(f"diameter solves one problem per state, and this MDP has {mdp.n_states:,}; it takes up to {MOST_TARGETS:,}")
    matrix = _matrix(mdp, restart=True)
    ways = _ways(matrix)
    if connected_components(ways, directed=True, connection="strong")[0] > 1:
        return float("inf")
    return max(float(_times_to(matrix, ways, target).max()) for target in range(mdp.n_states))


def times_to(mdp: MDP, target: SupportsIndex) -> Floats:
    """The least expected number of steps [S] from each state to `target`; infinite where no policy is sure to reach it.

    >>> import heavytail as ht
    >>> ht.planning.times_to(ht.make_mdp("six_arms", probabilities="ones"), 6).tolist()
    [1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 0.0]
    """
    if not 0 <= index(target) < _one_stage(mdp).n_states:
        raise InputError(f"target is {target}; states go from 0 to {mdp.n_states - 1}")
    matrix = _matrix(mdp, restart=True)
    return _times_to(matrix, _ways(matrix), index(target))


def _times_to(matrix: "csr_matrix", ways: "csr_matrix", target: int) -> Floats:
    """Policy iteration for a stochastic shortest path, from a policy that surely arrives."""
    S, A = matrix.shape[1], matrix.shape[0] // matrix.shape[1]
    sure, safe = _sure(matrix, ways, target)
    there = np.arange(S) == target
    policy = _towards(matrix, ways if safe.all() else _ways(matrix, safe), there, safe, otherwise=np.zeros(S, np.int64))
    others = np.flatnonzero(sure & ~there)
    times = np.where(sure, 0.0, np.inf)
    if not others.size:
        return times
    for _ in range(MOST_IMPROVEMENTS):
        times[others] = hitting_times(matrix[np.arange(S) * A + policy], others)
        q = np.where(safe, 1.0 + matrix @ np.where(sure, times, 0.0), np.inf).reshape(S, A)
        better = policy.copy()
        better[others], _, _ = _better(policy[others], -q[others], -times[others], float(times[others].max()))
        if np.array_equal(better, policy):
            return times
        policy = better
    raise RuntimeError(f"policy iteration did not settle within {MOST_IMPROVEMENTS} improvements")


def _sure(matrix: "csr_matrix", ways: "csr_matrix", target: int) -> tuple[Bools, Bools]:
    """The states [S] from which some policy reaches the target with probability one, and the rows [S*A] that do not lead out of them."""
    safe = np.ones(matrix.shape[0], np.bool_)
    while True:
        reaching = np.isfinite(_distances(ways, np.arange(matrix.shape[1]) == target))
        if reaching.all():
            return reaching, safe
        smaller = _without(matrix, safe, ~reaching, target)
        if np.array_equal(smaller, safe):
            return reaching, safe
        safe = smaller
        ways = _ways(matrix, safe)


def _without(matrix: "csr_matrix", safe: Bools, lost: Bools, target: int) -> Bools:
    """The safe rows that cannot lead to lost states; a state without such rows is lost too.

    By a queue: between a trap and the target a random walk loses one state after the other.
    """
    A, into = matrix.shape[0] // matrix.shape[1], matrix.tocsc()
    rows, offsets = into.indices.tolist(), into.indptr.tolist()
    left, still = safe.reshape(-1, A).sum(axis=1).tolist(), safe.tolist()
    queue = np.flatnonzero(lost).tolist()
    while queue:
        state = queue.pop()
        for row in rows[offsets[state] : offsets[state + 1]]:
            if still[row]:
                still[row] = False
                left[row // A] -= 1
                if left[row // A] == 0 and not lost[row // A] and row // A != target:
                    queue.append(row // A)
    return np.array(still)


def _ways(matrix: "csr_matrix", rows: Bools | None = None) -> "csr_matrix":
    """For each state where one could have come from, by one of these rows: [S, S], the steps it takes by the likeliest row if one stays until it works."""
    from scipy.sparse import csr_matrix

    S, A = matrix.shape[1], matrix.shape[0] // matrix.shape[1]
    edges = matrix.tocoo()
    keep = edges.data > 0 if rows is None else rows[edges.row]
    into, out, p = edges.col[keep].astype(np.int64), edges.row[keep] // A, edges.data[keep]
    order = np.lexsort((-p, out, into))
    pairs, first = np.unique((into * S + out)[order], return_index=True)
    steps = 1.0 / np.maximum(p[order][first], 1.0 / SLOWEST_EDGE)  # larger ones could not be added up
    return csr_matrix((steps, (pairs // S, pairs % S)), shape=(S, S))


def _distances(ways: "csr_matrix", targets: Bools) -> Floats:
    """How far each state is from the nearest target."""
    from scipy.sparse.csgraph import dijkstra

    distances: Floats = dijkstra(ways, indices=np.flatnonzero(targets), min_only=True)
    return distances


def _towards(matrix: "csr_matrix", ways: "csr_matrix", targets: Bools, rows: Bools | None = None, *, otherwise: Ints) -> Ints:
    """In every state, of the actions that may bring the targets nearer, the one that brings them nearest on average; if there is none, another."""
    S, A = matrix.shape[1], matrix.shape[0] // matrix.shape[1]
    distances = _distances(ways, targets)
    edges = matrix.tocoo()
    nearer = np.zeros(matrix.shape[0], np.bool_)
    nearer[edges.row[distances[edges.col] < distances[edges.row // A]]] = True
    if rows is not None:
        nearer &= rows
    far = distances[np.isfinite(distances)].max()
    expected = matrix @ np.where(np.isfinite(distances), distances, 2.0 * S * (far + 1.0))
    nearest = np.where(nearer, expected, np.inf).reshape(S, A).argmin(axis=1)
    return np.where(nearer.reshape(S, A).any(axis=1), nearest, otherwise)


# All policies


def policy_gap(mdp: MDP) -> float:
    """The gain of the best policy less that of the next best, over all deterministic stationary policies and all states to start from.

    0 where every policy is optimal. By enumeration, so for small MDPs.
    """
    count = _one_stage(mdp).n_actions ** mdp.n_states
    if count > MOST_POLICIES:
        raise InputError(
            f"policy_gap goes through all {mdp.n_actions}**{mdp.n_states} policies of this MDP; it takes up to {MOST_POLICIES:,}"
        )
    parts = [np.unique(all_gains(mdp, n, min(n + POLICIES_AT_ONCE, count))) for n in range(0, count, POLICIES_AT_ONCE)]
    gains = np.unique(np.concatenate(parts))
    tolerance = RELATIVE_TOLERANCE * float(np.ptp(mdp.row_means)) + ROUNDING * float(np.abs(mdp.row_means).max())
    worse = gains[gains < gains[-1] - tolerance]
    return float(gains[-1] - worse[-1]) if worse.size else 0.0


def all_gains(mdp: MDP, first: int, last: int) -> Floats:
    """The gains [n, S] of the deterministic policies numbered from `first` to before `last`, their actions being the digits of the number.

    >>> import heavytail as ht
    >>> ht.planning.all_gains(ht.mdp_from_arrays([[[1.0], [1.0]]], [[0.0, 3.0]]), 0, 2).tolist()
    [[0.0], [3.0]]
    """
    count = _one_stage(mdp).n_actions ** mdp.n_states
    if not 0 <= first <= last <= count:
        raise InputError(f"the policies of this MDP are numbered from 0 to {mdp.n_actions}**{mdp.n_states}; got {first} to {last}")
    if mdp.n_actions == 1:  # one policy, of any number of states
        return gain_and_bias(_matrix(mdp, restart=True), mdp.row_means)[0][None][: last - first]
    states, base = np.arange(mdp.n_states), float(mdp.row_means.mean())
    actions = _digits(first, last, mdp.n_actions, mdp.n_states)
    dense = _matrix(mdp, restart=True).toarray().reshape(mdp.n_states, mdp.n_actions, mdp.n_states)
    limit = 0.5 * (np.eye(mdp.n_states) + dense[states, actions])  # half a step, so that periodic chains settle too
    for _ in range(60):  # 2**60 steps
        limit = limit @ limit
        limit /= limit.sum(axis=-1, keepdims=True)
    return base + np.einsum("nij,nj->ni", limit, mdp.mean_rewards[states, actions] - base)


def _digits(first: int, last: int, base: int, n: int) -> Ints:
    """The numbers from `first` to before `last` by their digits, the smallest first."""
    digits = np.zeros((last - first, n), np.int64)
    rest = np.arange(last - first, dtype=object) + first if last > 2**62 else np.arange(first, last)
    for k in range(n):
        digits[:, k] = rest % base
        rest = rest // base
    return digits


# Matrices and policies


def _matrix(mdp: MDP, *, restart: bool) -> "csr_matrix":
    """Transitions [rows, S]; what ends an episode leads nowhere, or back to the start."""
    from scipy.sparse import csr_matrix

    shape = (len(mdp.row_means), mdp.n_states)
    p = mdp.probabilities()
    alive = csr_matrix((np.where(mdp.ends, 0.0, p), mdp.successors.astype(np.int64), mdp.offsets.astype(np.int64)), shape=shape)
    alive.sum_duplicates()
    alive.eliminate_zeros()
    if restart and mdp.ends.any():
        ended = np.bincount(mdp.rows(), weights=p * mdp.ends, minlength=shape[0])
        alive = alive + csr_matrix(ended[:, None]) @ csr_matrix(mdp.start[None, :])
    return csr_matrix(alive)


def _one_stage(mdp: MDP) -> MDP:
    if mdp.n_stages > 1:
        raise InputError("transitions or rewards depend on the step of the episode, so there is no long run; ask for episodic values")
    return mdp


def _horizon(mdp: MDP) -> int:
    if mdp.horizon == 0:
        raise InputError("this problem is continuing, so it has no episodes; ask for its gain, or give it a horizon=")
    return mdp.horizon


def _checked(mdp: MDP, policy: npt.ArrayLike, lead: tuple[int, ...] = ()) -> npt.NDArray[Any]:
    """A policy as actions [*lead, S] or as probabilities [*lead, S, A]; integers are actions wherever their shape allows it."""
    given, cells = np.asarray(policy), (mdp.n_states, mdp.n_actions)
    shapes: Sequence[tuple[int, ...]] = [(), lead]
    if np.issubdtype(given.dtype, np.integer) and given.shape in [(*n, cells[0]) for n in shapes]:
        return np.broadcast_to(_checked_actions(given, mdp.n_actions), (*lead, cells[0]))
    if given.dtype.kind in "biuf" and given.shape in [(*n, *cells) for n in shapes]:
        return np.broadcast_to(_checked_probabilities(given.astype(np.float64)), (*lead, *cells))
    raise InputError(
        f"a policy is actions [{cells[0]}] or probabilities [{cells[0]}, {cells[1]}], in episodes also one for each step; "
        f"got {given.dtype}{list(given.shape)}"
    )


def _checked_actions(given: npt.NDArray[Any], n_actions: int) -> Ints:
    actions = given.astype(np.int64)
    for place in np.argwhere((actions < 0) | (actions >= n_actions))[:1]:
        raise InputError(f"a policy chooses action {actions[tuple(place)]} in state {place[-1]}; actions go from 0 to {n_actions - 1}")
    return actions


def _checked_probabilities(given: Floats) -> Floats:
    for place in np.argwhere(~(given >= 0.0))[:1]:
        raise InputError(
            f"a policy takes action {place[-1]} in state {place[-2]} with probability {given[tuple(place)]}; it must lie from 0 to 1"
        )
    sums = given.sum(axis=-1)
    for place in np.argwhere(~(np.abs(sums - 1.0) <= POLICY_TOLERANCE))[:1]:
        raise InputError(f"a policy's probabilities in state {place[-1]} sum to {sums[tuple(place)]:.9g}; they must sum to 1")
    return given / sums[..., None]


def _chain(mdp: MDP, policy: npt.ArrayLike) -> tuple["csr_matrix", Floats]:
    """The Markov chain and its rewards under a stationary policy."""
    from scipy.sparse import csr_matrix

    checked, matrix = _checked(_one_stage(mdp), policy), _matrix(mdp, restart=True)
    if checked.ndim == 1:
        return _under(matrix, mdp.row_means, checked.astype(np.int64))
    S, A = checked.shape
    mix = csr_matrix((checked.flatten(), np.arange(S * A), np.arange(0, S * A + 1, A)), shape=(S, S * A))
    mix.eliminate_zeros()
    return csr_matrix(mix @ matrix), mix @ mdp.row_means


def _under(matrix: "csr_matrix", means: Floats, policy: Ints) -> tuple["csr_matrix", Floats]:
    """The chain and the rewards of a deterministic policy."""
    rows = np.arange(len(policy)) * (len(means) // len(policy)) + policy
    return matrix[rows], means[rows]
