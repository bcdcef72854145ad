"""`Backend`: an environment as a study sees it, results of its runs, and resume files of long ones.

A resume file names its owner, and only the same work continues from it: a damaged file, or one of another
part, is set aside under another name, and the work begins again.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np

from heavytail.arrays import Floats, Ints
from heavytail.errors import InputError
from heavytail.files import Arrays, read_arrays, write_arrays
from heavytail.studies.part import Part

# Counters: episodes, if runs are measured in steps and rewards are those of whole episodes
EPISODES = "episodes"
TRUNCATED = "truncated"  # rewards that an agent left out or changed because they were too large
# Beliefs of a model of the reward: the mean reward, how far rewards are from its predictions, and the share
# of those that are very far
BELIEFS = ("predicted_reward", "residual_scale", "outlier_share")
SECONDS_BETWEEN_SAVES = 30.0
MIN_WORK_PER_SAVE = 20.0  # times the time that saving takes
OWNER = "heavytail.owner"  # the entry of a resume file that names its owner
SET_ASIDE = ".damaged"  # suffix of a resume file that was set aside
T = TypeVar("T")


def throttled(save: Callable[[], object]) -> Callable[[], None]:
    """Make a function that may be called at any time, and calls `save` when a save is due.

    >>> due = throttled(lambda: print("saved"))
    >>> due()
    """
    due = time.monotonic() + SECONDS_BETWEEN_SAVES

    def save_if_due() -> None:
        nonlocal due
        started = time.monotonic()
        if started < due:
            return
        save()
        ended = time.monotonic()
        due = ended + max(SECONDS_BETWEEN_SAVES, MIN_WORK_PER_SAVE * (ended - started))

    return save_if_due


class RunCurve(NamedTuple):
    """The curve of one run: sums at its checkpoints."""

    at: Ints  # in units of the environment: episodes or steps
    mean_reward: Floats
    realised_reward: Floats | None  # None if it is not recorded
    regret: Floats | None  # against the best policy; None if that is unknown
    counters: Mapping[str, Floats]


class Failed(NamedTuple):
    """A run that raised."""

    error: str


def failure(error: Exception) -> Failed:
    """Return the result of a run that raised this error."""
    return Failed(f"{type(error).__name__}: {error}".splitlines()[0])


class WorkContext(NamedTuple):
    """The context in which a part is computed."""

    report_progress: Callable[[float], object]  # called now and then with the share done
    resume_file: Path | None  # where a long part may save its state and find it again
    say: Callable[[str], object] = lambda words: None  # a line for the user

    @classmethod
    def bare(cls) -> "WorkContext":
        """Return a context that neither reports progress nor saves anything."""
        return cls(lambda share: None, None)


RunResult: TypeAlias = RunCurve | Failed


class Backend(Protocol):
    """An environment as a study sees it."""

    unit: Literal["episode", "step"]  # in which lengths are counted
    horizon: int  # steps in a unit
    varying: frozenset[str]  # parameters of agents in which runs of one part may differ
    max_runs: int | None  # in a part; None: as many as take about a second
    longest_episode: int  # in units; so many may pass without a score

    @property
    def is_exclusive(self) -> bool:
        """True if a part needs the whole machine."""

    def best(self, at: Ints) -> Floats | None:
        """Return the mean cumulative reward of the best policy at these times; None if it is unknown."""

    def resolve_parameters(self, agent: str, parameters: Mapping[str, Any], steps: int) -> dict[str, Any]:
        """Check an agent's parameters and fill in the defaults."""

    def counter_names(self, agent: str, parameters: Mapping[str, Any]) -> Sequence[str]:
        """Return the names of the counters of an agent with these (complete) parameters.

        This builds the agent, so that mistakes show.
        """

    def checkpoints(self, part: Part) -> Ints:
        """Return the times at which the runs of a part are recorded, in units."""

    def run(self, part: Part, context: WorkContext) -> Iterator[RunResult]:
        """Compute the runs of a part."""

    def made_with(self) -> dict[str, str]:
        """Return versions and devices on which its results depend, beyond those that all parts record."""


# Resume files


def take_up(path: Path | None, load: Callable[[Path], T], say: Callable[[str], object]) -> T | None:
    """Load the state left in a file; None if there is no usable one.

    Args:
        path: the path of the file; None if nothing is saved.
        load: reads it, and raises InputError if it is damaged or of other work.
        say: receives a line about a file that was set aside.
    """
    if path is None or not path.exists():
        return None
    try:
        return load(path)
    except InputError as error:
        aside = path.with_name(path.name + SET_ASIDE)
        path.replace(aside)
        say(f"{error}; it was set aside as {aside.name}, and its work begins again")
        return None


def write_state(path: Path, owner: str, arrays: Arrays) -> None:
    """Write the state of the work with this id."""
    write_arrays(path, {OWNER: np.frombuffer(owner.encode(), np.uint8), **arrays})


def read_state(path: Path, owner: str) -> Arrays:
    """Read the state of the work with this id; a state of other work is an error."""
    arrays = read_arrays(path, "resume file of a study")
    require_owner(path, arrays.pop(OWNER, np.zeros(0, np.uint8)).tobytes().decode(errors="replace"), owner)
    return arrays


def require_owner(path: Path, found: str, owner: str) -> None:
    """Raise InputError if a file was left by other work."""
    if found != owner:
        raise InputError(f"{path} was left by other work ({found[:20] or 'unknown'}), not by {owner[:20]}")
