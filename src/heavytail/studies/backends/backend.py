"""The runs of a study as arrays: what every figure and every table of a report is made of.

A *cell* is an agent in an environment: `Runs` are its curves, one row per seed, one column per checkpoint.
`Task` holds all cells of one environment.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from heavytail.arrays import Floats, Ints

if TYPE_CHECKING:
    from heavytail.studies.plan import Part

# counted by agents whose runs are measured in steps and whose rewards are those of whole episodes
EPISODES = "episodes"
TRUNCATED = "truncated"  # counted by agents that leave out or change rewards which are too large
SECONDS_BETWEEN_SAVES = 30.0
MIN_WORK_PER_SAVE = 20.0  # times the time that saving takes


def throttled(save: Callable[[], object]) -> Callable[[], None]:
    """What may be called as often as one likes, and saves when it is due.

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
    """What became of one run: sums at its checkpoints."""

    at: Ints  # in the world's units
    mean_reward: Floats
    realised_reward: Floats | None  # None where it is not recorded
    regret: Floats | None  # against the best policy; None where nobody knows it
    counters: Mapping[str, Floats]


class Failed(NamedTuple):
    """A run that raised."""

    error: str


def failure(error: Exception) -> Failed:
    """What an error leaves behind."""
    return Failed(f"{type(error).__name__}: {error}".splitlines()[0])


class WorkContext(NamedTuple):
    """Where a part is worked on."""

    tell: Callable[[float], None]  # is told now and then which share of the part is done
    resume_file: Path | None  # a file in which a long part may keep what it has come to, and find it again

    @classmethod
    def bare(cls) -> "WorkContext":
        """Nobody listens, and nothing is kept."""
        return cls(lambda share: None, None)


RunResult: TypeAlias = RunCurve | Failed


class Backend(Protocol):
    """An environment as a study sees it."""

    unit: Literal["episode", "step"]  # in which lengths are counted
    horizon: int  # steps in a unit
    varying: frozenset[str]  # parameters of agents in which runs of one part may differ
    most_runs: int | None  # in a part; None: as many as make about a second of work
    longest: int  # units that may pass without anything that can be scored

    @property
    def alone(self) -> bool:
        """Whether a part wants the whole machine."""

    def best(self, at: Ints) -> Floats | None:
        """What the best policy earns by then, on average; None where nobody knows."""

    def resolved(self, agent: str, parameters: Mapping[str, Any], steps: int) -> dict[str, Any]:
        """An agent's parameters: checked, and complete."""

    def counters(self, agent: str, parameters: Mapping[str, Any]) -> Sequence[str]:
        """What an agent with these (complete) parameters counts.

        It is built for it, so that mistakes show.
        """

    def outcomes(self, part: "Part", desk: WorkContext) -> Iterator[RunResult]:
        """Do the runs of a part."""

    def made_with(self) -> dict[str, str]:
        """What its results owe to this machine, beyond what all parts do."""
