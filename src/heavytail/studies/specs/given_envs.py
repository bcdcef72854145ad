"""Environments of a spec that are objects, or names of files: names are put in their place."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heavytail.studies.given_mdps import SUFFIX, give_mdp, to_mdp
from heavytail.studies.specs.messages import call_with_prefix

PLAIN = (str, int, float, list, dict, type(None))  # what a file can hold, and which is looked at later


def with_given_envs(raw: Mapping[str, Any], where: str, folder: Path) -> dict[str, Any]:
    """Put names in the place of objects, and of names of files, among the environments of a spec.

    Args:
        raw: the spec: under `envs` an MDP, a Gymnasium environment or a table, whose `env` may be one.
        where: what messages call the spec.
        folder: where the files are that it names.
    """
    envs = raw.get("envs")
    if not isinstance(envs, Mapping):
        return dict(raw)
    return {**raw, "envs": {key: _named(env, f"{where}: envs.{key}", folder) for key, env in envs.items()}}


def _named(env: Any, where: str, folder: Path) -> Any:
    table = env if isinstance(env, Mapping) else {"env": env}
    found = table.get("env")
    is_file = isinstance(found, str) and found.endswith(SUFFIX)
    if not is_file and isinstance(found, PLAIN):
        return env
    return {**table, "env": call_with_prefix(where, lambda: give_mdp(to_mdp(found, folder)))}
