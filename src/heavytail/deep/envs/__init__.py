"""The compiled environments, by name."""

from collections.abc import Mapping

from heavytail.deep.envs.acrobot import ACROBOT
from heavytail.deep.envs.cart_pole import CART_POLE
from heavytail.deep.envs.environment import Environment
from heavytail.deep.envs.mountain_car import MOUNTAIN_CAR
from heavytail.deep.parameters import GYMNAX
from heavytail.errors import InputError, suggestion

ENVIRONMENTS: Mapping[str, Environment] = {env.name: env for env in (ACROBOT, CART_POLE, MOUNTAIN_CAR)}


def find_environment(name: str) -> Environment:
    """The environment of this name: ours, or after "gymnax/" one of gymnax's."""
    if isinstance(name, str) and name.startswith(GYMNAX):
        from heavytail.deep.envs.gymnax import gymnax_environment  # here, because gymnax is an extra

        return gymnax_environment(name.removeprefix(GYMNAX))
    if name not in ENVIRONMENTS:
        raise InputError(f"there is no compiled environment {name!r}; {suggestion(str(name), ENVIRONMENTS)}")
    return ENVIRONMENTS[name]
