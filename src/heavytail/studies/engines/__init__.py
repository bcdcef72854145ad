"""Engines do the missing parts of a study; an engine decides nothing about results."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

from heavytail.registry import find
from heavytail.studies.plan import Part

Result: TypeAlias = tuple[bytes, float, dict[str, str]]  # the bytes of a part, seconds, where and with what


class PartDone(NamedTuple):
    """A part, done."""

    part: Part
    content: bytes
    seconds: float
    about: dict[str, str]  # where it was done, and with what


class PartProgress(NamedTuple):
    """A part that is being done."""

    part: str  # its id
    share: float  # of it that is done


class Message(NamedTuple):
    """Something that whoever watches should know."""

    words: str


Event: TypeAlias = PartDone | PartProgress | Message


class Engine(Protocol):
    """What a study needs of an engine."""

    workers: int

    def run(self, parts: Sequence[Part], resume_folder: Path) -> Iterator[Event]:
        """Do these parts; each is given back as soon as it is done.

        In the folder `resume_folder` long parts keep what they have come to.
        """


def make_engine(engine: str | Engine, **options: Any) -> Engine:
    """Make an engine by its name, with those of its options that are not None.

    An engine is given back as it is.
    """
    if not isinstance(engine, str):
        return engine
    made: Engine = find("engine", engine).builder(
        **{name: value for name, value in options.items() if value is not None}
    )
    return made
