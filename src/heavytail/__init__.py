"""heavytail: reinforcement learning when rewards have heavy tails.

>>> import heavytail as ht
>>> mdp = ht.make_mdp("six_arms")
>>> learner = ht.make_agent(mdp, "q_learning", seed=0, transition_scale=0.01)
>>> curve = learner.learn(episodes=1000)
>>> learner.predict(0) in range(6)
True

Names are imported on first use, so that ``import heavytail`` is quick. The import registers Gymnasium ids:
``gymnasium.make("heavytail/SixArms-v0")``.
"""

from importlib import import_module
from sys import modules
from typing import TYPE_CHECKING, Any

from heavytail.guards import gc_paused
from heavytail.gym.ids import register_ids

if TYPE_CHECKING:
    from heavytail import bounds, deep, estimators, gym, laws, planning, statistics, tails
    from heavytail.description import describe
    from heavytail.envs import make_mdp
    from heavytail.errors import InputError
    from heavytail.loading import load
    from heavytail.mdp import MDP
    from heavytail.mdp.builders import mdp_from_arrays, mdp_from_slots
    from heavytail.mdp.changing import ChangingMDP, changing_mdp
    from heavytail.mdp.from_gymnasium import mdp_from_gymnasium
    from heavytail.mdp.from_log import LoggedMDP, mdp_from_log
    from heavytail.mdp.problem import Problem
    from heavytail.registry import register, registered
    from heavytail.serving.make_online import make_online
    from heavytail.serving.online_agent import OnlineAgent
    from heavytail.studies.study import Study
    from heavytail.training.curve import Curve
    from heavytail.training.learner import Learner
    from heavytail.training.make_agent import make_agent

__version__ = "0.1.0"

register_ids()

_HOME = {
    "ChangingMDP": "mdp.changing",
    "Curve": "training.curve",
    "InputError": "errors",
    "Learner": "training.learner",
    "LoggedMDP": "mdp.from_log",
    "MDP": "mdp",
    "Problem": "mdp.problem",
    "OnlineAgent": "serving.online_agent",
    "Study": "studies.study",
    "changing_mdp": "mdp.changing",
    "describe": "description",
    "load": "loading",
    "make_agent": "training.make_agent",
    "make_mdp": "envs",
    "make_online": "serving.make_online",
    "mdp_from_arrays": "mdp.builders",
    "mdp_from_gymnasium": "mdp.from_gymnasium",
    "mdp_from_log": "mdp.from_log",
    "mdp_from_slots": "mdp.builders",
    "register": "registry",
    "registered": "registry",
}

__all__ = [
    "MDP",
    "ChangingMDP",
    "Curve",
    "InputError",
    "Learner",
    "LoggedMDP",
    "OnlineAgent",
    "Problem",
    "Study",
    "bounds",
    "changing_mdp",
    "deep",
    "describe",
    "estimators",
    "gym",
    "laws",
    "load",
    "make_agent",
    "make_mdp",
    "make_online",
    "mdp_from_arrays",
    "mdp_from_gymnasium",
    "mdp_from_log",
    "mdp_from_slots",
    "planning",
    "register",
    "registered",
    "statistics",
    "tails",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"heavytail has no {name!r}", name=name, obj=modules[__name__])
    with gc_paused():
        module = import_module(f"heavytail.{_HOME.get(name, name)}")
        value = getattr(module, name) if name in _HOME else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
