"""The engine `inline`: parts in this process, one after the other, for debuggers."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from heavytail.registry import register
from heavytail.studies.engines import Done, Event
from heavytail.studies.engines._worker import timed_part
from heavytail.studies.plan import Part


@register("engine", "inline")
def inline() -> "Inline":
    """This process, one part after the other: for debuggers."""
    return Inline()


class Inline:
    """In this process, one part after the other; for debuggers."""

    workers = 1

    def run(self, parts: Sequence[Part], drawers: Path) -> Iterator[Event]:
        """Do these parts."""
        for part in parts:
            yield Done(part, *timed_part(part.model_dump_json(), (), str(drawers)))
