"""Small deep runs, the same in many tests.

XLA compiles a program for every environment, number of runs and combination of settings, which takes seconds.
The examples in `heavytail.deep.agents` are among these.
"""

from typing import Any

import jax
import numpy as np

# What all agents take
SHARED: dict[str, Any] = {"total_steps": 600, "hidden": (16, 16), "replay": 300, "start": 100}
SMALL: dict[str, Any] = {**SHARED, "bits": 8}  # of heavy_dqn
CAPPED: dict[str, Any] = {**SMALL, "cap": 30, "transform_at": "replay"}


def same(one: Any, other: Any) -> None:
    """Bit for bit."""
    for left, right in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(np.asarray(left), np.asarray(right))
