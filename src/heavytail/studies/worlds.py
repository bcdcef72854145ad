"""What a study needs to know of an environment, whatever kind of agent learns there.

There are two kinds of worlds: MDPs, where tabular agents learn (`heavytail.studies.tabular`), and compiled environments, where deep ones do (`heavytail.studies.deep`).
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from heavytail.arrays import Floats, Ints
from heavytail.studies.spec import Kind, canonical, kind_of_env

if TYPE_CHECKING:
    from heavytail.studies.plan import Part


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


class Desk(NamedTuple):
    """Where a part is worked on."""

    tell: Callable[[float], None]  # is told now and then which share of the part is done
    drawer: Path | None  # a file in which a long part may keep what it has come to, and find it again

    @classmethod
    def bare(cls) -> "Desk":
        """Nobody listens, and nothing is kept."""
        return cls(lambda share: None, None)


Outcome: TypeAlias = RunCurve | Failed


class World(Protocol):
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
        """What an agent with these (complete) parameters counts. It is built for it, so that mistakes show."""

    def outcomes(self, part: "Part", desk: Desk) -> Iterator[Outcome]:
        """Do the runs of a part."""

    def made_with(self) -> dict[str, str]:
        """What its results owe to this machine, beyond what all parts do."""


def world_of(env: str, parameters: Mapping[str, Any]) -> World:
    """The world that a spec names; built once."""
    return _world(env, canonical(parameters))


@lru_cache(maxsize=256)
def _world(env: str, parameters: str) -> World:
    kinds: dict[Kind, Callable[[str, dict[str, Any]], World]] = {"tabular": _tabular, "deep": _deep}
    return kinds[kind_of_env(env)](env, json.loads(parameters))


def _tabular(env: str, parameters: dict[str, Any]) -> World:
    from heavytail.studies.tabular import Tabular

    return Tabular(env, parameters)


def _deep(env: str, parameters: dict[str, Any]) -> World:
    from heavytail.studies.deep import Deep

    return Deep(env, parameters)
