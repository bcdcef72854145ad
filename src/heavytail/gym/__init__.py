"""heavytail and Gymnasium: environments, wrappers, visit counts and reward transforms.

heavytail's environments for every framework, heavy-tailed rewards for every environment, and truncation or
denoising of rewards for every learner.

>>> import heavytail as ht
>>> env = ht.gym.AddRewardNoise(ht.gym.MDPEnv("six_arms"), ht.laws.alpha_stable(alpha=1.1))
>>> env.reset(seed=0)
(0, {})

Names are imported when they are first used, as in `heavytail` itself.
"""

from importlib import import_module
from sys import modules
from typing import TYPE_CHECKING, Any

from heavytail.guards import gc_paused

if TYPE_CHECKING:
    from heavytail.gym.denoise import DenoiseReward
    from heavytail.gym.env import MDPEnv
    from heavytail.gym.observation_codes import SimHash
    from heavytail.gym.reward_noise import AddRewardNoise
    from heavytail.gym.truncate import TruncateReward
    from heavytail.gym.visit_counts import VisitCounter, visit_counter

_HOME = {
    "AddRewardNoise": "reward_noise",
    "DenoiseReward": "denoise",
    "MDPEnv": "env",
    "SimHash": "observation_codes",
    "TruncateReward": "truncate",
    "VisitCounter": "visit_counts",
    "visit_counter": "visit_counts",
}

__all__ = [
    "AddRewardNoise",
    "DenoiseReward",
    "MDPEnv",
    "SimHash",
    "TruncateReward",
    "VisitCounter",
    "visit_counter",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"heavytail.gym has no {name!r}", name=name, obj=modules[__name__])
    with gc_paused():
        value = getattr(import_module(f"heavytail.gym.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
