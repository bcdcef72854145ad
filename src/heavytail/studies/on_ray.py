"""Parts on a Ray cluster: one that is running, by its address, or one started here.

Every part is a task; if the node that does it dies, Ray does it again elsewhere. Results come back as bytes and are written by the process that runs the study, so that the
cluster needs no common disk.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from heavytail.errors import InputError
from heavytail.studies.engines import Done, next_part, timed_part
from heavytail.studies.plan import Part


class OnRay:
    """A Ray cluster."""

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        self._ray = _import_ray()
        self._started = not self._ray.is_initialized()
        if self._started:
            try:
                self._ray.init(
                    address=address,
                    num_cpus=None if address else workers,
                    include_dashboard=False,
                    log_to_driver=False,
                    logging_level="error",
                )
            except (ConnectionError, ValueError, RuntimeError) as error:
                where = f"the Ray cluster at {address}" if address else "Ray"
                raise InputError(f"{where} cannot be reached: {str(error).splitlines()[0]}") from None
        self.workers = int(workers or self._ray.cluster_resources().get("CPU", 1))

    def run(self, parts: Sequence[Part]) -> Iterator[Done]:
        """Do these parts."""
        ray = self._ray
        task = ray.remote(num_cpus=1, max_retries=-1)(timed_part)
        waiting, compiled, busy = list(parts), set[str](), dict[Any, Part]()
        try:
            while waiting or busy:
                while len(busy) < self.workers and (part := next_part(waiting, compiled, [p.combination for p in busy.values()])):
                    waiting.remove(part)
                    busy[task.remote(part.model_dump_json())] = part
                (ready,), _ = ray.wait(list(busy), num_returns=1)
                part = busy.pop(ready)
                yield Done(part, *ray.get(ready))
                compiled.add(part.combination)
        finally:
            for reference in busy:
                ray.cancel(reference, force=True)
            if self._started:
                ray.shutdown()


def _import_ray() -> Any:
    try:
        import ray
    except ImportError:
        raise InputError("the engine 'ray' needs Ray; install it with: pip install 'heavytail[ray]'") from None
    return ray
