"""The order in which parts are computed, so that all workers are busy to the end."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from heavytail.studies.backends import backend_of
from heavytail.studies.engines import Event, Message, PartDone, PartProgress, Result
from heavytail.studies.part import Part

H = TypeVar("H")  # an engine's handle of a part that is being computed


class Finished(NamedTuple):
    """A part that an engine has no more to do with."""

    handle: Any
    result: Result | None  # None: it was given up


def run_scheduled(
    parts: Sequence[Part],
    workers: int,
    submit: Callable[[Part], H],
    listen: Callable[[list[H]], Iterable[Finished | PartProgress | Message]],
    one_machine: bool = True,
) -> Iterator[Event]:
    """Compute parts, so many at a time.

    What a part needs compiled is compiled by one worker while the others do something else.

    Args:
        parts: to compute.
        workers: how many at a time.
        submit: starts a part and returns a handle.
        listen: waits until these handles have news, and yields them.
        one_machine: whether all parts run on one machine, which a part may need for itself.
    """
    waiting, compiled, busy = largest_first(parts), set[str](), dict[H, Part]()

    def begin_parts() -> None:
        while len(busy) < workers and (
            part := next_part(waiting, compiled, list(busy.values()), one_machine)
        ):
            waiting.remove(part)
            busy[submit(part)] = part

    begin_parts()
    while busy:
        for news in listen(list(busy)):
            if not isinstance(news, Finished):
                yield news
                continue
            part = busy.pop(news.handle)
            compiled.add(part.combination)
            try:
                begin_parts()  # before this one is written, so that no worker waits for the disk
            finally:
                if news.result is not None:
                    yield PartDone(part, *news.result)  # whatever happened to the next


def largest_first(parts: Sequence[Part]) -> list[Part]:
    """The parts with most steps first: the smallest fill the time in which others end."""
    return sorted(parts, key=lambda part: part.steps * len(part.replicates), reverse=True)


def next_part(
    waiting: Sequence[Part], compiled: set[str], busy: Sequence[Part], one_machine: bool = True
) -> Part | None:
    """The first part whose kernels are compiled, or are not being compiled by another worker.

    Where there is none, the first: its worker waits for the kernels and not for the other's whole part. A
    part that needs its machine for itself waits for it, and other parts wait for that.
    """
    if one_machine and any(backend_of(part).is_exclusive for part in busy):
        return None
    compiling = {part.combination for part in busy}
    free = [part for part in waiting if not (busy and one_machine and backend_of(part).is_exclusive)]
    ready = (part for part in free if part.combination in compiled or part.combination not in compiling)
    return next(ready, free[0] if free else None)
