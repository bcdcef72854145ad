"""Environments from files: saved MDPs, and logs, whose columns are given like parameters."""

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

import heavytail as ht
from heavytail.errors import InputError, suggestion

if TYPE_CHECKING:
    from heavytail import MDP, ChangingMDP, LoggedMDP

MDP_FILE, LOGS = ".npz", (".parquet", ".csv")
LISTS = ("state", "action", "next_state")  # of columns, with commas
REQUIRED = ("state", "action", "reward")  # columns of a log


def is_env_file(env: str) -> bool:
    """Return whether an environment is the name of a file rather than registered."""
    return Path(env).suffix in (MDP_FILE, *LOGS)


def read_env_file(env: str, parameters: dict[str, Any]) -> "MDP | ChangingMDP | LoggedMDP":
    """Read the MDP of a file, or make it from a log whose columns the parameters name."""
    if Path(env).suffix in LOGS:
        return _from_log(env, parameters)
    if parameters:
        raise InputError(f"{env} is a saved MDP, so it takes no parameters, such as {', '.join(parameters)}")
    from heavytail.mdp.mdp_file import load_mdp  # here, because `--help` does without

    return load_mdp(env)


def make_single_mdp(env: str, parameters: dict[str, Any], what: str) -> "MDP | LoggedMDP":
    """Make an MDP that does not change, by its name or from a file; `what` needs a single MDP."""
    mdp = read_env_file(env, parameters) if is_env_file(env) else ht.make_mdp(env, **parameters)
    if isinstance(mdp, ht.ChangingMDP):
        raise InputError(f"{env} holds {len(mdp.mdps)} MDPs in sequence; {what} one")
    return mdp


def _from_log(path: str, parameters: dict[str, Any]) -> "LoggedMDP":
    known = list(inspect.signature(ht.mdp_from_log).parameters)[1:]
    for name in parameters:
        if name not in known:
            raise InputError(f"a log has no parameter {name!r}; {suggestion(name, known)}")
    if missing := [name for name in REQUIRED if name not in parameters]:
        raise InputError(f"{path} is a log: say which column is the {missing[0]}, as {missing[0]}=COLUMN")
    split = {name: _columns(value) if name in LISTS else value for name, value in parameters.items()}
    return ht.mdp_from_log(path, **split)


def _columns(value: Any) -> Any:
    """Split a comma-separated list of columns; a wrong type is reported later."""
    return value.split(",") if isinstance(value, str) and "," in value else value
