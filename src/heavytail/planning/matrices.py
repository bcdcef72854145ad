"""An MDP as sparse matrices, and policies as checked arrays: the parts of exact planning."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Bools, Floats, Ints
from heavytail.errors import InputError
from heavytail.mdp import MDP

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

POLICY_TOLERANCE = 1e-6  # probabilities in single precision sum to one no better
ROUNDING = 64 * float(np.finfo(np.float64).eps)  # relative, of what exact planning computes


def transition_matrix(mdp: MDP, *, restart: bool) -> "csr_matrix":
    """Build the transitions [rows, S]; what ends an episode leads nowhere, or back to the start."""
    from scipy.sparse import csr_matrix

    shape = (len(mdp.row_means), mdp.n_states)
    p = mdp.probabilities()
    alive = csr_matrix(
        (np.where(mdp.ends, 0.0, p), mdp.successors.astype(np.int64), mdp.offsets.astype(np.int64)),
        shape=shape,
    )
    alive.sum_duplicates()
    alive.eliminate_zeros()
    if restart and mdp.ends.any():
        ended = np.bincount(mdp.rows(), weights=p * mdp.ends, minlength=shape[0])
        alive = alive + csr_matrix(ended[:, None]) @ csr_matrix(mdp.start[None, :])
    return csr_matrix(alive)


def require_stationary(mdp: MDP) -> MDP:
    """Return the MDP if its transitions and rewards do not depend on the step, so that it has a long run."""
    if mdp.n_stages > 1:
        raise InputError(
            "transitions or rewards depend on the step of the episode, so there is no long run; ask"
            " for episodic values"
        )
    return mdp


def require_episodes(mdp: MDP) -> int:
    """Return the horizon of an MDP with episodes."""
    if mdp.horizon == 0:
        raise InputError(
            "this problem is continuing, so it has no episodes; ask for its gain, or give it a horizon="
        )
    return mdp.horizon


def checked_policy(mdp: MDP, policy: npt.ArrayLike, lead: tuple[int, ...] = ()) -> npt.NDArray[Any]:
    """Check a policy; return it as actions [*lead, S] or as probabilities [*lead, S, A].

    Integers are actions wherever their shape allows it.
    """
    given, cells = np.asarray(policy), (mdp.n_states, mdp.n_actions)
    shapes: Sequence[tuple[int, ...]] = [(), lead]
    if np.issubdtype(given.dtype, np.integer) and given.shape in [(*n, cells[0]) for n in shapes]:
        return np.broadcast_to(_checked_actions(given, mdp.n_actions), (*lead, cells[0]))
    if given.dtype.kind in "biuf" and given.shape in [(*n, *cells) for n in shapes]:
        return np.broadcast_to(_checked_probabilities(given.astype(np.float64)), (*lead, *cells))
    raise InputError(
        f"a policy is actions [{cells[0]}] or probabilities [{cells[0]}, {cells[1]}], in episodes also one"
        f" for each step; got {given.dtype}{list(given.shape)}"
    )


def _checked_actions(given: npt.NDArray[Any], n_actions: int) -> Ints:
    actions = given.astype(np.int64)
    for place in np.argwhere((actions < 0) | (actions >= n_actions))[:1]:
        raise InputError(
            f"a policy chooses action {actions[tuple(place)]} in state {place[-1]}; actions go from"
            f" 0 to {n_actions - 1}"
        )
    return actions


def _checked_probabilities(given: Floats) -> Floats:
    for place in np.argwhere(~(given >= 0.0))[:1]:
        raise InputError(
            f"a policy takes action {place[-1]} in state {place[-2]} with probability"
            f" {given[tuple(place)]}; it must lie from 0 to 1"
        )
    sums = given.sum(axis=-1)
    for place in np.argwhere(~(np.abs(sums - 1.0) <= POLICY_TOLERANCE))[:1]:
        raise InputError(
            f"a policy's probabilities in state {place[-1]} sum to {sums[tuple(place)]:.9g}; they"
            " must sum to 1"
        )
    return given / sums[..., None]


def make_chain(mdp: MDP, policy: npt.ArrayLike) -> tuple["csr_matrix", Floats]:
    """Build the Markov chain and its rewards under a stationary policy."""
    from scipy.sparse import csr_matrix

    checked, matrix = checked_policy(require_stationary(mdp), policy), transition_matrix(mdp, restart=True)
    if checked.ndim == 1:
        return select_chain(matrix, mdp.row_means, checked.astype(np.int64))
    S, A = checked.shape
    mix = csr_matrix((checked.flatten(), np.arange(S * A), np.arange(0, S * A + 1, A)), shape=(S, S * A))
    mix.eliminate_zeros()
    return csr_matrix(mix @ matrix), mix @ mdp.row_means


def select_chain(matrix: "csr_matrix", means: Floats, policy: Ints) -> tuple["csr_matrix", Floats]:
    """Select the chain and the rewards of a deterministic policy."""
    rows = np.arange(len(policy)) * (len(means) // len(policy)) + policy
    return matrix[rows], means[rows]


def mixed_values(q: Floats, policy: npt.NDArray[Any]) -> Floats:
    """Average the values of actions [S, A] over a policy of one step."""
    if policy.ndim == 1:
        return np.take_along_axis(q, policy[:, None], axis=1)[:, 0]
    mean: Floats = np.einsum("sa,sa->s", policy, q)
    return mean


def better_actions(policy: Ints, values: Floats, now: Floats, scale: float) -> tuple[Ints, Bools, float]:
    """Find better actions by these values [S, A], those of the policy being `now` but for rounding.

    Returns:
        The improved policy [S]; which actions are as good as the best [S, A]; the largest improvement.
    """
    own, best = mixed_values(values, policy), values.argmax(axis=1)
    top, tolerance = mixed_values(values, best), ROUNDING * scale + 4.0 * float(np.abs(own - now).max())
    better = top > now + tolerance
    return (
        np.where(better, best, policy),
        values >= np.minimum(top - tolerance, own)[:, None],
        float((top - now).max(where=better, initial=0.0)),
    )
