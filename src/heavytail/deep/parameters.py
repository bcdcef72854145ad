"""What deep agents and their environments can be told, and what they are told if nothing is said.

The paper's table. Needs no JAX, so that studies are planned and read without it.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

AGENTS = ("heavy_dqn",)
CAPS: Mapping[str, int] = MappingProxyType(
    {"acrobot": 500, "cart_pole": 500, "mountain_car": 200}
)  # steps in an episode, as in Gymnasium
GYMNAX = "gymnax/"  # begins the names of gymnax's environments

OF_A_BATCH: Mapping[str, Any] = MappingProxyType(
    {
        "hidden": [512, 512],
        "discount": 0.99,
        "batch": 64,
        "replay": 500_000,
        "start": 500,
        "update_every": 2,
        "target_every": 50,
        "adam_epsilon": 0.0003125,
        "last_exploration": 0.01,
        "exploration_share": 0.1,
        "loss": "huber",
        "transform_at": "collection",
        "bits": 16,
    }
)
OF_A_RUN: Mapping[str, Any] = MappingProxyType(
    {
        "transform": "zero",  # the paper's: a reward beyond its threshold counts as 0
        "coefficient": 0.015,  # the paper's best
        "epsilon": 0.05,
        "clip": 1.0,
        "learning_rate": 1e-4,
        "last_learning_rate": 1e-5,
    }
)
OF_AN_ENVIRONMENT: Mapping[str, Any] = MappingProxyType({"cap": None, "noise_scale": 0.0, "noise_alpha": 1.1})
DEFAULTS: Mapping[str, Any] = MappingProxyType({**OF_A_BATCH, **OF_A_RUN})


def is_environment(name: str) -> bool:
    """Whether this is a compiled environment."""
    return name in CAPS or name.startswith(GYMNAX)
