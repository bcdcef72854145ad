"""The engine `inline`: this process, one part after the other, for debuggers."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from heavytail.registry import register
from heavytail.studies.engines import Event, PartDone
from heavytail.studies.engines._parts import Task, run_part_in_worker
from heavytail.studies.part import Part


@register("engine", "inline")
def inline() -> "InlineEngine":
    """This process, one part after the other: for debuggers."""
    return InlineEngine()


class InlineEngine:
    """This process, one part after the other."""

    def run(self, parts: Sequence[Part], resume_folder: Path) -> Iterator[Event]:
        """Compute these parts."""
        for part in parts:
            told: list[Event] = []
            done = run_part_in_worker(Task(part.model_dump_json(), {}, str(resume_folder)), told.append)
            yield from told
            yield PartDone(part, *done)
