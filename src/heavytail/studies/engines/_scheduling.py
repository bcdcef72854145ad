"""In which order parts are done, so that all workers are busy to the end."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from heavytail.studies.engines import Event, PartDone, PartProgress, Result
from heavytail.studies.plan import Part

H = TypeVar("H")  # what an engine knows a part by while it is being done


def scheduled(
    parts: Sequence[Part],
    workers: int,
    submit: Callable[[Part], H],
    next_done: Callable[[Iterable[H]], Iterable[H]],
    result: Callable[[H], Result],
    latest: Callable[[], Iterable[PartProgress]] = tuple,
    one_machine: bool = True,
) -> Iterator[Event]:
    """Do parts, so many at a time.

    What a part needs compiled is compiled by one worker while the others do something else.

    Args:
        parts: what to do.
        workers: how many at a time.
        submit: starts a part; what it gives stands for it.
        next_done: waits until one or more of these are done, or for a while.
        result: of one that is.
        latest: what has been heard of parts that are being done.
        one_machine: whether all of it is done on one machine, which a part may want for itself.
    """
    waiting, compiled, busy = list(parts), set[str](), dict[H, Part]()
    while waiting or busy:
        while len(busy) < workers and (
            part := next_part(waiting, compiled, list(busy.values()), one_machine)
        ):
            waiting.remove(part)
            busy[submit(part)] = part
        for handle in next_done(list(busy)):
            part = busy.pop(handle)
            yield PartDone(part, *result(handle))
            compiled.add(part.combination)
        yield from latest()


def next_part(
    waiting: Sequence[Part], compiled: set[str], busy: Sequence[Part], one_machine: bool = True
) -> Part | None:
    """The first part whose kernels are there, or are not being made by someone else right now.

    One that wants its machine for itself waits for it, and others for that.
    """
    if one_machine and any(part.backend.alone for part in busy):
        return None
    compiling = {part.combination for part in busy}
    free = (part for part in waiting if not (busy and one_machine and part.backend.alone))
    return next(
        (part for part in free if part.combination in compiled or part.combination not in compiling), None
    )
