"""The laws of a log, pooled for a picture: one for each state and action, wherever it led."""

import numpy as np

from heavytail.arrays import Floats
from heavytail.laws.constant import constant
from heavytail.laws.empirical import empirical
from heavytail.laws.law import Law, laws_from_table
from heavytail.laws.table import law_table
from heavytail.mdp.logged_mdp import LoggedMDP
from heavytail.mdp.mdp import MDP


def pool_laws(log: LoggedMDP) -> MDP:
    """Return the MDP of a log with one law for each state and action, of all rewards that it earned."""
    mdp, laws = log.mdp, laws_from_table(log.mdp.laws)
    rows = mdp.rows()
    visits = np.rint(mdp.probabilities() * log.counts.ravel()[rows]).astype(np.int64)
    slots = [_samples(laws[i], max(n, 1)) for i, n in zip(mdp.law.tolist(), visits.tolist(), strict=True)]
    cells = [
        np.concatenate(slots[first:last])
        for first, last in zip(mdp.offsets[:-1].tolist(), mdp.offsets[1:].tolist(), strict=True)
    ]
    return mdp._replace(law=rows.astype(np.uint32), laws=law_table([_law(rewards) for rewards in cells]))


def _samples(law: Law, n: int) -> Floats:
    return data if len(data := law.data()) else np.full(n, law.mean())


def _law(rewards: Floats) -> Law:
    return constant(float(rewards[0])) if np.ptp(rewards) == 0.0 else empirical(rewards)
