"""Files of `OnlineAgent` agents: an agent file that holds a session and the labels of states and actions."""

import os
from typing import Any

from heavytail.agent_file import (
    AgentFile,
    flatten,
    read_agent_file,
    write_agent_file,
)
from heavytail.errors import InputError, one_line, short_repr
from heavytail.files import Arrays
from heavytail.kernels.rng import stream
from heavytail.kernels.validity import restore_valid
from heavytail.mdp.labels import Labels, label_from_json, label_to_json
from heavytail.mdp.problem import Problem
from heavytail.registry import find
from heavytail.serving.agent_metadata import check_size, read_metadata
from heavytail.serving.session import NEVER, Session, new_session

KIND = "stepwise"
BothLabels = tuple[Labels, Labels]  # of states and actions


def write_session(
    path: str | os.PathLike[str],
    name: str,
    parameters: dict[str, Any],
    problem: Problem,
    labels: BothLabels,
    session: Session,
) -> None:
    """Write the file, or leave the old one."""
    metadata = {
        "kind": KIND,
        "agent": name,
        "parameters": parameters,
        "problem": problem._replace(mdp=None)._asdict(),
        "labels": [None if each.are_codes else list(map(label_to_json, each)) for each in labels],
    }
    write_agent_file(path, AgentFile(metadata, flatten("session", session)))


def read_session(
    path: str | os.PathLike[str],
) -> tuple[str, dict[str, Any], Problem, BothLabels, Session]:
    """Read the agent's name, its parameters, its problem, the labels and the session."""
    metadata, arrays = read_agent_file(path)
    if metadata.get("kind") != KIND:
        raise InputError(f"{os.fspath(path)} is the file of a learner; read it with heavytail.load_agent")
    try:
        return _restore(metadata, arrays)
    except Exception as error:  # whatever a builder or a check says of what is in a file
        raise InputError(f"{os.fspath(path)} cannot be used: {one_line(error)}") from error


def _restore(
    metadata: dict[str, Any], arrays: Arrays
) -> tuple[str, dict[str, Any], Problem, BothLabels, Session]:
    name, parameters, problem = read_metadata(metadata)
    check_size(problem, sum(array.nbytes for array in arrays.values()))
    states, actions = metadata["labels"]
    labels = _read_labels(states, problem.n_states), _read_labels(actions, problem.n_actions)
    built = find("agent", name).builder(problem, **parameters)
    session: Session = restore_valid("session", new_session(built, stream(0), stream(0), problem), arrays)
    if not (session.rng.any() and session.predictions.any()):
        raise InputError("a random stream is all zeros, and would stay so")
    session.frozen[0] = 0  # it was, while it was written
    session.due[0] = NEVER  # to save again is for its new owner to say
    return name, parameters, problem, labels, session


def _read_labels(stored: Any, count: int) -> Labels:
    if stored is None:
        return Labels(range(count))
    if not isinstance(stored, list) or len(stored) != count:
        raise InputError(f"its labels are {short_repr(stored)}; there must be {count}")
    return Labels(map(label_from_json, stored))
