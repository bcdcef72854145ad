"""A progress bar for one run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from heavytail.training.fused import RunState


@contextmanager
def progress_bar(name: str, unit: str, run_state: RunState, until: int) -> Iterator[Callable[[], None]]:
    """Show a progress bar on the terminal; yields a function that redraws it."""
    from rich import progress  # here, because most runs show no bar and it is slow to import

    first_unit, first_step = int(run_state.episodes_or_steps[0]), int(run_state.steps[0])
    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.TextColumn("{task.completed:,}/{task.total:,} " + unit),
        progress.TextColumn("{task.fields[speed]}"),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns) as bar:
        task = bar.add_task(name, total=until - first_unit, speed="")

        def redraw() -> None:
            elapsed = bar.tasks[0].elapsed or 0.0
            speed = f"{(run_state.steps[0] - first_step) / elapsed:,.0f} steps/s" if elapsed > 0 else ""
            bar.update(task, completed=int(run_state.episodes_or_steps[0]) - first_unit, speed=speed)

        yield redraw
