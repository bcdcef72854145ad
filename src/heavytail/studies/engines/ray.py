"""The engine `ray`: a running Ray cluster, or one started here.

A running one is found by its address, or by ``$RAY_ADDRESS``, as Ray sets it.

Every part is a task; if its node dies, Ray computes it again elsewhere. Results come back as bytes and are
written by the process that runs the study, so that the cluster needs no shared disk.
"""

import os
import socket
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from heavytail.checks import Count
from heavytail.errors import InputError, install_extra
from heavytail.registry import register
from heavytail.studies.backends import backend_of
from heavytail.studies.engines import Event, Result
from heavytail.studies.engines._parts import Finished, Task, plugins_for, run_part_in_worker, run_scheduled
from heavytail.studies.part import Part
from heavytail.studies.specs import given_mdps

SECONDS_TO_ANSWER = 10
MAX_RETRIES = 10  # of a part whose worker or node died: a part that kills every worker must end at some point


@register("engine", "ray")
def ray(workers: Count | None = None, address: str | None = None) -> "RayEngine":
    """A Ray cluster at `address`, or one started here with `workers` workers.

    Args:
        workers: the number of workers of a cluster started here; by default one per core.
        address: the address of a running cluster; by default $RAY_ADDRESS.
    """
    return RayEngine(address, workers)


class RayEngine:
    """A Ray cluster; one that was started here ends with this object."""

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        self._ray, address = _import_ray(), address or os.environ.get("RAY_ADDRESS")
        if not self._ray.is_initialized():
            try:
                _check_reachable(address)
                self._ray.init(
                    # without "local", Ray would join the last cluster started on this machine
                    address=address or "local",
                    num_cpus=None if address else workers,
                    include_dashboard=False,
                    log_to_driver=False,
                    logging_level="error",
                )
            except (OSError, ValueError, RuntimeError) as error:
                where = f"the Ray cluster at {address}" if address else "Ray"
                raise InputError(f"{where} cannot be reached: {_why(error)}") from None
            weakref.finalize(self, self._ray.shutdown)
        self.workers = int(workers or self._ray.cluster_resources().get("CPU", 1))

    def run(self, parts: Sequence[Part], resume_folder: Path) -> Iterator[Event]:
        """Compute these parts.

        A part whose node dies starts again from its beginning, since other machines may not see
        `resume_folder`.
        """
        ray = self._ray
        gpus = (
            1
            if ray.cluster_resources().get("GPU") and any(backend_of(part).is_exclusive for part in parts)
            else 0
        )
        task = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=MAX_RETRIES)(run_part_on_ray)
        plugins, started = plugins_for(parts), dict[Any, None]()
        names = {part.env for part in parts if part.env.startswith(given_mdps.PREFIX)}
        mdps = {name: ray.put(given_mdps.to_bytes(name)) for name in names}

        def submit(part: Part) -> Any:
            reference = task.remote(part.model_dump_json(), plugins, mdps.get(part.env))
            started[reference] = None
            return reference

        def listen(busy: list[Any]) -> Iterator[Finished]:
            for reference in ray.wait(busy, num_returns=1)[0]:
                del started[reference]
                yield Finished(reference, self._result(reference))

        try:
            yield from run_scheduled(parts, self.workers, submit, listen, one_machine=False)
        finally:
            for reference in started:
                ray.cancel(reference, force=True)

    def _result(self, reference: Any) -> Result:
        errors = self._ray.exceptions
        try:
            result: Result = self._ray.get(reference)
        except errors.RayTaskError as error:  # the part raised on its worker
            raise error.cause if isinstance(error.cause, InputError) else error from None
        except errors.RayError as error:  # workers or nodes died, again and again
            reason = " ".join(str(error).split())
            raise InputError(
                f"Ray gave up on a part: {reason}; what is done is kept, continue with: heavytail resume"
            ) from None
        return result


def _why(error: Exception) -> str:
    why = " ".join(str(error).split())
    is_token = isinstance(error, OSError) and ".ray" in Path(error.filename or "").parts
    return f"{why}; Ray keeps a secret there: set RAY_AUTH_TOKEN to one instead" if is_token else why


def run_part_on_ray(part_json: str, plugins: Mapping[str, str], mdp: bytes | None) -> Result:
    """Run a part as a Ray task; Ray replaces references among its arguments by their values."""
    return run_part_in_worker(Task(part_json, plugins, None, mdp))


def _check_reachable(address: str | None) -> None:
    """Raise OSError if nothing answers at an address: Ray itself would try for minutes."""
    host, colon, port = (address or "").rpartition(":")
    if colon and "/" not in host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=SECONDS_TO_ANSWER).close()


def _import_ray() -> Any:
    try:
        import ray
    except ImportError:
        raise InputError(f"the engine 'ray' needs Ray; {install_extra('ray')}") from None
    return ray
