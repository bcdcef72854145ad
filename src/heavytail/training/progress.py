"""A progress bar for one run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple


class Place(NamedTuple):
    """The progress of a run."""

    units: int  # episodes or steps, shown by the bar
    steps: int


@contextmanager
def progress_bar(
    name: str, unit: str, place: Callable[[], Place], until: int
) -> Iterator[Callable[[], None]]:
    """Show a progress bar on the terminal; yield a function that redraws it."""
    from rich import progress  # imported here: it is slow, and most runs show no bar

    first = place()
    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.TextColumn("{task.completed:,}/{task.total:,} " + unit),
        progress.TextColumn("{task.fields[speed]}"),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns) as bar:
        task = bar.add_task(name, total=until - first.units, speed="")

        def redraw() -> None:
            now, elapsed = place(), bar.tasks[0].elapsed or 0.0
            speed = f"{(now.steps - first.steps) / elapsed:,.0f} steps/s" if elapsed > 0 else ""
            bar.update(task, completed=now.units - first.units, speed=speed)

        yield redraw
