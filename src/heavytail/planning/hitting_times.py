"""Least expected times from state to state, the diameter, and policies that surely arrive."""

from operator import index
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np

from heavytail.arrays import Bools, Floats, Ints
from heavytail.errors import InputError
from heavytail.mdp import MDP
from heavytail.planning.markov_chains import hitting_times
from heavytail.planning.matrices import better_actions, require_stationary, transition_matrix

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

MAX_EDGE_STEPS = 1e9
MAX_IMPROVEMENTS = 10_000
MAX_TARGETS = 5_000


def diameter(mdp: MDP) -> float:
    """Compute the diameter: the largest least expected time from one state to another.

    Infinite if some state cannot be reached from some other.

    >>> import heavytail as ht
    >>> round(ht.planning.diameter(ht.make_mdp("six_arms")), 6)
    6.0
    """
    from scipy.sparse.csgraph import connected_components

    if require_stationary(mdp).n_states > MAX_TARGETS:
        raise InputError(
            f"diameter solves one problem per state, and this MDP has {mdp.n_states:,}; it takes up"
            f" to {MAX_TARGETS:,}"
        )
    matrix = transition_matrix(mdp, restart=True)
    graph = predecessor_graph(matrix)
    if connected_components(graph, directed=True, connection="strong")[0] > 1:
        return float("inf")
    return max(float(_times_to(matrix, graph, target).max()) for target in range(mdp.n_states))


def times_to(mdp: MDP, target: SupportsIndex) -> Floats:
    """Compute the least expected number of steps [S] from each state to `target`.

    Infinite where no policy is sure to reach it.

    >>> import heavytail as ht
    >>> ht.planning.times_to(ht.make_mdp("six_arms", probabilities="ones"), 6).tolist()
    [1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 0.0]
    """
    if not 0 <= index(target) < require_stationary(mdp).n_states:
        raise InputError(f"target is {target}; states go from 0 to {mdp.n_states - 1}")
    matrix = transition_matrix(mdp, restart=True)
    return _times_to(matrix, predecessor_graph(matrix), index(target))


def _times_to(matrix: "csr_matrix", graph: "csr_matrix", target: int) -> Floats:
    """Solve a stochastic shortest path by policy iteration, from a policy that surely arrives."""
    S, A = matrix.shape[1], matrix.shape[0] // matrix.shape[1]
    sure, safe = _almost_surely_reaching(matrix, graph, target)
    arrived = np.arange(S) == target
    graph = graph if safe.all() else predecessor_graph(matrix, safe)
    policy = policy_towards(matrix, graph, arrived, safe, otherwise=np.zeros(S, np.int64))
    others = np.flatnonzero(sure & ~arrived)
    times = np.where(sure, 0.0, np.inf)
    if not others.size:
        return times
    for _ in range(MAX_IMPROVEMENTS):
        times[others] = hitting_times(matrix[np.arange(S) * A + policy], others)
        q = np.where(safe, 1.0 + matrix @ np.where(sure, times, 0.0), np.inf).reshape(S, A)
        better = policy.copy()
        scale = float(times[others].max())
        better[others], _, _ = better_actions(policy[others], -q[others], -times[others], scale)
        if np.array_equal(better, policy):
            return times
        policy = better
    raise RuntimeError(f"policy iteration did not settle within {MAX_IMPROVEMENTS} improvements")


def _almost_surely_reaching(matrix: "csr_matrix", graph: "csr_matrix", target: int) -> tuple[Bools, Bools]:
    """Find the states [S] from which some policy reaches the target with probability one.

    Returns:
        Those states, and the rows [S*A] that do not lead out of them.
    """
    safe = np.ones(matrix.shape[0], np.bool_)
    while True:
        reaching = np.isfinite(_distances(graph, np.arange(matrix.shape[1]) == target))
        if reaching.all():
            return reaching, safe
        smaller = _prune_unsafe(matrix, safe, ~reaching, target)
        if np.array_equal(smaller, safe):
            return reaching, safe
        safe = smaller
        graph = predecessor_graph(matrix, safe)


def _prune_unsafe(matrix: "csr_matrix", safe: Bools, lost: Bools, target: int) -> Bools:
    """Keep the safe rows that cannot lead to lost states; a state without such rows is lost too.

    With a queue: between a trap and the target a random walk loses one state after the other.
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


def predecessor_graph(matrix: "csr_matrix", rows: Bools | None = None) -> "csr_matrix":
    """Build the graph [S, S] from each state to those it can be reached from by one of these rows.

    An edge is as long as the steps it takes on average by the likeliest row, repeated until it succeeds.
    """
    from scipy.sparse import csr_matrix

    S, A = matrix.shape[1], matrix.shape[0] // matrix.shape[1]
    edges = matrix.tocoo()
    keep = edges.data > 0 if rows is None else rows[edges.row]
    into, out, p = edges.col[keep].astype(np.int64), edges.row[keep] // A, edges.data[keep]
    order = np.lexsort((-p, out, into))
    pairs, first = np.unique((into * S + out)[order], return_index=True)
    steps = 1.0 / np.maximum(p[order][first], 1.0 / MAX_EDGE_STEPS)  # larger ones could not be added up
    return csr_matrix((steps, (pairs // S, pairs % S)), shape=(S, S))


def _distances(graph: "csr_matrix", targets: Bools) -> Floats:
    """Compute how far each state is from the nearest target."""
    from scipy.sparse.csgraph import dijkstra

    distances: Floats = dijkstra(graph, indices=np.flatnonzero(targets), min_only=True)
    return distances


def policy_towards(
    matrix: "csr_matrix", graph: "csr_matrix", targets: Bools, rows: Bools | None = None, *, otherwise: Ints
) -> Ints:
    """Choose in every state, of the actions that may lead nearer to the targets, the nearest on average.

    Where no action does, the policy is `otherwise`.
    """
    S, A = matrix.shape[1], matrix.shape[0] // matrix.shape[1]
    distances = _distances(graph, targets)
    edges = matrix.tocoo()
    nearer = np.zeros(matrix.shape[0], np.bool_)
    nearer[edges.row[distances[edges.col] < distances[edges.row // A]]] = True
    if rows is not None:
        nearer &= rows
    far = distances[np.isfinite(distances)].max()
    expected = matrix @ np.where(np.isfinite(distances), distances, 2.0 * S * (far + 1.0))
    nearest = np.where(nearer, expected, np.inf).reshape(S, A).argmin(axis=1)
    return np.where(nearer.reshape(S, A).any(axis=1), nearest, otherwise)
