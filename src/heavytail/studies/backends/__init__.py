"""Backends: what a study needs of an environment, for tabular agents and for deep ones."""

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from heavytail.studies.backends.backend import World
from heavytail.studies.backends.deep import Deep
from heavytail.studies.backends.tabular import Tabular
from heavytail.studies.specs.spec import Kind, canonical, kind_of_env

BACKENDS: dict[Kind, Callable[[str, dict[str, Any]], World]] = {"tabular": Tabular, "deep": Deep}


def world_of(env: str, parameters: Mapping[str, Any]) -> World:
    """The world that a spec names; built once."""
    return _world(env, canonical(parameters))


@lru_cache(maxsize=256)
def _world(env: str, parameters: str) -> World:
    return BACKENDS[kind_of_env(env)](env, json.loads(parameters))
