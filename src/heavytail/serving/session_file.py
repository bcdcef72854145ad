"""Files of `OnlineAgent`s: a session with the labels of states and actions, and autosaving."""

import atexit
import os
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge

from heavytail.agent_file import (
    AgentFile,
    flatten,
    read_agent_file,
    write_agent_file,
)
from heavytail.checks import Count, Positive, cast_value
from heavytail.errors import InputError, one_line, short_repr
from heavytail.files import Arrays
from heavytail.kernels.rng import stream
from heavytail.kernels.validity import restore_valid
from heavytail.mdp.labels import Labels, label_from_json, label_to_json
from heavytail.mdp.problem import Problem
from heavytail.registry import find
from heavytail.serving.session import NEVER, Session, new_session

KIND = "stepwise"
MIN_LARGE = 1_000_000  # steps x states x actions; from here on, a file must hold
MAX_CELLS_PER_BYTE = 64  # a byte for this many: an agent that plans holds four for each step and state
LOOKS_PER_SAVE = 8  # least number of looks at the clock between two saves
MAX_UNSEEN = 16  # most updates between two looks, since a burst does not predict the next rate


def write_session(
    path: str | os.PathLike[str],
    name: str,
    parameters: dict[str, Any],
    problem: Problem,
    labels: tuple[Labels, Labels],  # of states and actions
    session: Session,
) -> None:
    """Write the file; on failure the old one stays."""
    metadata = {
        "kind": KIND,
        "agent": name,
        "parameters": parameters,
        "problem": problem._replace(mdp=None)._asdict(),
        "labels": [None if each.are_codes else list(map(label_to_json, each)) for each in labels],
    }
    write_agent_file(path, AgentFile(metadata, flatten("session", session)))


def read_session(path: str | os.PathLike[str]) -> tuple[Session, dict[str, Any]]:
    """Read the session and the other parts of an `OnlineAgent`."""
    metadata, arrays = read_agent_file(path)
    if metadata.get("kind") != KIND:
        raise InputError(f"{os.fspath(path)} is a learner's file; read it with ht.load")
    try:
        return _restore(metadata, arrays)
    except Exception as error:  # any error of a builder or check, on the file's contents
        raise InputError(f"{os.fspath(path)} cannot be used: {one_line(error)}") from error


def _restore(metadata: dict[str, Any], arrays: Arrays) -> tuple[Session, dict[str, Any]]:
    name, parameters, problem = read_metadata(metadata, arrays)
    states, actions = metadata["labels"]
    labels = {
        "states": _read_labels(states, problem.n_states),
        "actions": _read_labels(actions, problem.n_actions),
    }
    built = find("agent", name).builder(problem, **parameters)
    session: Session = restore_valid("session", new_session(built, stream(0), stream(0), problem), arrays)
    if not (session.rng.any() and session.predictions.any()):
        raise InputError("a random stream is all zeros, and would stay so")
    session.frozen[0] = 0  # it was frozen while it was written
    session.due[0] = NEVER  # its new owner decides when to save again
    return session, {"problem": problem, "name": name, "parameters": parameters, **labels}


def _read_labels(stored: Any, count: int) -> Labels:
    if stored is None:
        return Labels(range(count))
    if not isinstance(stored, list) or len(stored) != count:
        raise InputError(f"its labels are {short_repr(stored)}; there must be {count}")
    return Labels(map(label_from_json, stored))


# The agent and its problem, from the description in an agent file


def read_metadata(metadata: dict[str, Any], arrays: Arrays) -> tuple[str, dict[str, Any], Problem]:
    """Return the agent's name, its parameters and its problem.

    A problem far larger than the file's contents is refused before an agent is built for it.
    """
    table, size = dict[str, Any], Annotated[int, Ge(0)]
    parameters, sizes = (cast_value(metadata[key], table, f"its {key}") for key in ("parameters", "problem"))
    types = {"n_states": Count, "n_actions": Count, "horizon": size, "r_max": float | None}
    problem = Problem(**{key: cast_value(sizes[key], hint, f"its {key}") for key, hint in types.items()})
    cells = max(problem.horizon, 1) * problem.n_states * problem.n_actions
    stored = sum(array.nbytes for array in arrays.values())
    if cells > max(MIN_LARGE, MAX_CELLS_PER_BYTE * stored):
        raise InputError(f"it claims {cells:,} steps, states and actions, but holds {stored:,} bytes")
    return metadata["agent"], parameters, problem


class Autosave:
    """Saves every given number of updates, or of seconds.

    Reading the clock takes as long as an update, so it is read only after about an eighth of the time at the
    current rate, and at the latest after `MAX_UNSEEN` updates.
    """

    def __init__(
        self, path: str | os.PathLike[str], updates: int | None, seconds: float | None, done: int
    ) -> None:
        if (updates is None) == (seconds is None):
            raise InputError("autosave: give either updates= or seconds=")
        self.path = Path(path).absolute()  # a daemon may change its working folder
        if not self.path.parent.is_dir():  # now, and not at the first save
            raise InputError(f"autosave: there is no folder {self.path.parent}")
        self.updates = None if updates is None else cast_value(updates, Count, "autosave: updates")
        self.seconds = None if seconds is None else cast_value(seconds, Positive, "autosave: seconds")
        self.saved_updates, self.saved_time = done, time.monotonic()
        self.seen_updates, self.seen_time = done, self.saved_time

    def next_due(self, updates: int, save: Callable[[Path], None]) -> int:
        """Save if it is time, and return the update at which to ask again."""
        now = time.monotonic()
        if self.updates is not None:
            if updates >= self.saved_updates + self.updates:
                self._save(updates, now, save)
            return self.saved_updates + self.updates
        assert self.seconds is not None
        new, elapsed = updates - self.seen_updates, now - self.seen_time
        if now - self.saved_time >= self.seconds:
            self._save(updates, now, save)
        self.seen_updates, self.seen_time = updates, now
        wanted = self.seconds / LOOKS_PER_SAVE
        return updates + max(1, min(MAX_UNSEEN, 2 * new, int(new * wanted / max(elapsed, 1e-9))))

    def _save(self, updates: int, now: float, save: Callable[[Path], None]) -> None:
        self.saved_updates, self.saved_time = (
            updates,
            now,
        )  # first, so that a full disk is not retried at every update
        save(self.path)

    def save_at_exit(self, agent: Any) -> None:
        """Save any unsaved updates when Python exits, if the agent still exists."""
        reference = weakref.ref(agent)

        def save() -> None:
            alive = reference()
            if alive is not None and alive.updates > self.saved_updates:
                alive.save(self.path)

        atexit.register(save)
        self.stop = weakref.finalize(agent, atexit.unregister, save)
        self.stop.atexit = False
