"""heavytail: reinforcement learning when rewards have heavy tails.

>>> import heavytail as ht
>>> mdp = ht.make_mdp("six_arms")
>>> learner = ht.make_agent("q_learning", mdp, seed=0, transition_scale=0.01)
>>> curve = learner.learn(episodes=1000)
>>> learner.predict(0) in range(6)
True

Names are imported when they are first used, so that ``import heavytail`` is quick. It makes the ids known to Gymnasium:
``gymnasium.make("heavytail/SixArms-v0")``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from heavytail.gym.ids import register_ids
from heavytail.starting import collector_paused

if TYPE_CHECKING:
    from heavytail import bounds, deep, estimators, gym, laws, planning, statistics
    from heavytail.building import mdp_from_arrays, mdp_from_gymnasium, mdp_from_slots
    from heavytail.changing import ChangingMDP, changing_mdp
    from heavytail.curve import Curve
    from heavytail.envs import make_changing_mdp, make_mdp
    from heavytail.errors import InputError
    from heavytail.learner import Learner, load_agent, make_agent, make_stepwise
    from heavytail.mdp import MDP
    from heavytail.problem import Problem
    from heavytail.registry import register, registered
    from heavytail.stepwise import Stepwise
    from heavytail.studies.study import Study

__version__ = "0.1.0"

register_ids()

_HOME = {
    "ChangingMDP": "changing",
    "Curve": "curve",
    "InputError": "errors",
    "Learner": "learner",
    "MDP": "mdp",
    "Problem": "problem",
    "Stepwise": "stepwise",
    "Study": "studies.study",
    "changing_mdp": "changing",
    "load_agent": "learner",
    "make_agent": "learner",
    "make_changing_mdp": "envs",
    "make_mdp": "envs",
    "make_stepwise": "learner",
    "mdp_from_arrays": "building",
    "mdp_from_gymnasium": "building",
    "mdp_from_slots": "building",
    "register": "registry",
    "registered": "registry",
}

__all__ = [
    "MDP",
    "ChangingMDP",
    "Curve",
    "InputError",
    "Learner",
    "Problem",
    "Stepwise",
    "Study",
    "bounds",
    "changing_mdp",
    "deep",
    "estimators",
    "gym",
    "laws",
    "load_agent",
    "make_agent",
    "make_changing_mdp",
    "make_mdp",
    "make_stepwise",
    "mdp_from_arrays",
    "mdp_from_gymnasium",
    "mdp_from_slots",
    "planning",
    "register",
    "registered",
    "statistics",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"heavytail has no {name!r}")
    with collector_paused():
        value = getattr(import_module(f"heavytail.{_HOME[name]}"), name) if name in _HOME else import_module(f"heavytail.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
