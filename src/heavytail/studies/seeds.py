"""Spawn keys of a study: what each random stream is for.

The seed of a study is spawned once per purpose, so that streams never overlap. The numbers are part of every
result and do not change. Sweeps and claims share one: sweeps spawn it by replicate (a second key), claims by
claim, condition and environment (three more keys), so that their streams differ all the same.
"""

from enum import IntEnum

import numpy as np


class SpawnKey(IntEnum):
    """The first spawn key of a stream."""

    TUNING = 0
    EVALUATION = 1
    SWEEPS = 2
    CLAIMS = 2
    MEDIANS = 3
    FAMILY_MEANS = 4
    GROWTH = 5
    CHOICES = 6
    LEADERBOARD = 7


def spawn_seed(seed: int, key: SpawnKey, *place: int) -> np.random.SeedSequence:
    """The seed of one purpose; `place` tells apart what has streams of its own there.

    >>> spawn_seed(7, SpawnKey.EVALUATION, 3).spawn_key
    (1, 3)
    """
    return np.random.SeedSequence(seed, spawn_key=(int(key), *place))


def make_rng(seed: int, key: SpawnKey, *place: int) -> np.random.Generator:
    """A generator of random numbers for one purpose."""
    return np.random.default_rng(spawn_seed(seed, key, *place))
