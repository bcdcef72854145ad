"""Engines compute the missing parts of a study, in any order; they decide nothing about results.

One per file: `local`, `ray`, `cuda`, `inline`; a plugin adds one with ``@register("engine", NAME)``.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from heavytail.registry import find
from heavytail.studies.part import Part


class Result(NamedTuple):
    """The result of a worker."""

    content: bytes  # of the part's file
    seconds: float
    about: dict[str, str]  # where it was computed, and with what


class PartDone(NamedTuple):
    """A finished part."""

    part: Part
    content: bytes
    seconds: float
    about: dict[str, str]  # where it was computed, and with what


class PartProgress(NamedTuple):
    """The progress of a part."""

    part: str  # its id
    share: float  # of the part, done so far


class Message(NamedTuple):
    """A line for the user."""

    words: str


EngineName: TypeAlias = Literal["local", "ray", "cuda", "inline"]  # heavytail's own
Event: TypeAlias = PartDone | PartProgress | Message


class Engine(Protocol):
    """The interface of an engine."""

    def run(self, parts: Sequence[Part], resume_folder: Path) -> Iterator[Event]:
        """Compute these parts, and yield each as soon as it is done.

        Long parts keep their intermediate state in `resume_folder`, and continue from there.
        """


def make_engine(engine: str | Engine, **options: Any) -> Engine:
    """Make an engine by name, with those of its options that are not None.

    An engine is returned unchanged.
    """
    if not isinstance(engine, str):
        return engine
    made: Engine = find("engine", engine).builder(
        **{name: value for name, value in options.items() if value is not None}
    )
    return made
