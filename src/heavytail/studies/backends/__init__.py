"""Backends: the interface between a study and an environment, for tabular agents and for deep ones."""

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from heavytail.studies.backends.backend import Backend
from heavytail.studies.backends.deep import DeepBackend
from heavytail.studies.backends.tabular import TabularBackend
from heavytail.studies.part import Part
from heavytail.studies.specs.spec import Kind, canonical, env_kind

BACKENDS: dict[Kind, Callable[[str, dict[str, Any]], Backend]] = {
    "tabular": TabularBackend,
    "deep": DeepBackend,
}


def backend_for(env: str, parameters: Mapping[str, Any]) -> Backend:
    """Return the backend of an environment with these parameters; it is built once."""
    return _build(env, canonical(parameters))


def backend_of(part: Part) -> Backend:
    """Return the backend that computes the runs of a part."""
    return _build(*part.environment)


@lru_cache(maxsize=256)
def _build(env: str, parameters: str) -> Backend:
    return BACKENDS[env_kind(env)](env, json.loads(parameters))
