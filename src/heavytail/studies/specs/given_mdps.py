"""MDPs given to a study as objects: identified by their content, kept in its folder.

A spec can only hold names. So an object gets the name ``mdp:DIGEST``, under which it is found like a
registered environment; the ids of runs depend on the MDP itself. The study's folder holds it as
``mdps/DIGEST.npz``: any process that opens the study knows it under the same name.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from heavytail.errors import InputError
from heavytail.files import read_plain
from heavytail.mdp import MDP
from heavytail.mdp.changing import ChangingMDP
from heavytail.mdp.from_gymnasium import mdp_from_gymnasium
from heavytail.mdp.mdp_file import as_changing, digest_mdp, load_mdp, mdp_from_bytes, mdp_to_bytes
from heavytail.mdp.validation import check_mdp
from heavytail.registry import find, give, is_given
from heavytail.studies.specs.messages import error_prefix
from heavytail.training.runners import REWARD_PRESERVING_WRAPPERS

PREFIX = "mdp:"  # of their names
NAME = re.compile(f"{PREFIX}[0-9a-f]{{20}}")
FOLDER = "mdps"
SUFFIX = ".npz"
PLAIN = (str, int, float, list, dict, type(None))  # values that a file can hold, which are checked later


def with_given_envs(raw: Mapping[str, Any], where: str, folder: Path) -> dict[str, Any]:
    """Replace objects and file names among the environments of a spec by names.

    Args:
        raw: the spec: under `envs` an MDP, a Gymnasium environment or a table, whose `env` may be one.
        where: the name of the spec in messages.
        folder: the folder of the files that it names.
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
    with error_prefix(where):
        return {**table, "env": give_mdp(to_mdp(found, folder))}


def to_mdp(env: Any, folder: Path) -> ChangingMDP:
    """Return the MDP of a file or of an object: any MDP, or a Gymnasium environment that has one."""
    if isinstance(env, str):
        return as_changing(load_mdp(folder / env))
    if hasattr(env, "reset") and hasattr(env, "step"):
        return as_changing(_without_wrappers(env))
    return as_changing(env)


def _without_wrappers(env: Any) -> MDP:
    """Return the MDP of a Gymnasium environment, if nothing else changes its behaviour."""
    inner = env
    while inner is not getattr(inner, "unwrapped", inner):
        if type(inner).__name__ not in REWARD_PRESERVING_WRAPPERS:
            raise InputError(
                f"{type(inner).__name__} is a wrapper, and may change what {type(env.unwrapped).__name__}"
                " does; a study needs the MDP itself, so give it without"
            )
        inner = inner.env
    return mdp_from_gymnasium(env)


def give_mdp(mdp: ChangingMDP) -> str:
    """Register an MDP in this process, and return its name."""
    for each in mdp.mdps:
        check_mdp(each)
    name = PREFIX + digest_mdp(mdp)
    give("env", name, mdp)
    return name


# Files


def given_names(spec: Any) -> Iterator[str]:
    """Yield the names of a spec's MDPs that were given as objects; the spec may be anything."""
    envs = spec.get("envs") if isinstance(spec, Mapping) else None
    for env in envs.values() if isinstance(envs, Mapping) else ():
        name = env.get("env") if isinstance(env, Mapping) else None
        if isinstance(name, str) and NAME.fullmatch(name):
            yield name


def file_of(name: str) -> str:
    """Return the file of a given MDP, in the folder of its study."""
    return f"{FOLDER}/{name.removeprefix(PREFIX)}{SUFFIX}"


def to_bytes(name: str) -> bytes:
    """Return the content of the file of a registered MDP."""
    return mdp_to_bytes(find("env", name).builder())


def take(name: str, content: bytes, where: str) -> None:
    """Register an MDP that was given to another process, from the content of its file."""
    if is_given("env", name):
        return
    found = give_mdp(as_changing(mdp_from_bytes(content, where)))
    if found != name:
        raise InputError(f"{where} holds another MDP than its name says; put the right one there")


def take_from_folder(name: str, folder: Path) -> None:
    """Register an MDP that was given to another process, from the folder of its study."""
    if is_given("env", name):
        return
    path = folder / file_of(name)
    try:
        content = read_plain(path)
    except OSError as error:
        raise InputError(f"{path} cannot be read, an MDP of the study: {error.strerror}") from None
    take(name, content, os.fspath(path))
