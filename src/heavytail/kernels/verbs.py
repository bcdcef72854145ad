"""The verbs of estimators and agents: the operations a record must support.

To give a record a verb, register a kernel for its class::

    @act.method(MyAgent)
    def _act(agent, s, h, rng):
        return ...

Kernels allocate nothing, print nothing and raise nothing: scratch space is a field of the record, changing
state lives in its arrays, and an error is a state that Python reads afterwards. `begin`, `write_counters` and
`full` are optional.

An agent sees states and actions as whole numbers, `h` as the step within the episode (always 0 in a
continuing problem) and `rng` as the agent's own stream. `act` changes nothing but that stream.
"""

from heavytail.arrays import Floats, Record, Stream
from heavytail.kernels.dispatch import generic


@generic()
def reset(record: Record) -> None:
    """Restore the state in which the record was built, in place."""


@generic(optional=True)
def full(record: Record) -> bool:
    """Return whether the next update may exceed the record's own pools (`heavytail.kernels.pools`).

    Results do not depend on when it returns True.
    """
    return False


# Agents


@generic(optional=True)
def begin(agent: Record, s: int, rng: Stream) -> None:
    """Start an episode in state `s`; in a continuing problem, start the run."""


@generic()
def act(agent: Record, s: int, h: int, rng: Stream) -> int:  # type: ignore[empty-body]
    """Choose an action in state `s` at step `h`."""


@generic()
def update(
    agent: Record, s: int, a: int, r: float, s_next: int, h: int, terminated: bool, rng: Stream
) -> None:
    """Learn from one transition.

    If `terminated`, the next state is terminal and no value follows it; none follows the last step of an
    episode either.
    """


@generic(optional=True)
def write_counters(agent: Record, out: Floats) -> None:
    """Write the agent's counters into `out`, in the order of its class's method `counter_names`.

    Called at checkpoints only.
    """


def counter_names(record: Record) -> tuple[str, ...]:
    """List the names of a record's counters; none if its class has no method `counter_names`."""
    return tuple(record.counter_names()) if hasattr(record, "counter_names") else ()


# Estimators: one record serves many cells, each with its own mean


@generic()
def push(estimator: Record, cell: int, x: float) -> None:
    """Add an observation to a cell; at most once per update, since `full` is checked once before each."""


@generic()
def mean(estimator: Record, cell: int, log_confidence: float) -> float:  # type: ignore[empty-body]
    """Estimate a cell's mean at confidence 1 - exp(-log_confidence)."""


@generic()
def radius(estimator: Record, cell: int, log_confidence: float) -> float:  # type: ignore[empty-body]
    """Return half the width of the interval around that estimate; infinite if none holds yet."""


@generic(optional=True)
def interval(estimator: Record, cell: int, log_confidence: float) -> tuple[float, float, float]:
    """Return a cell's mean and the ends of its interval, to be shown; infinite if none holds yet."""
    centre, reach = mean(estimator, cell, log_confidence), radius(estimator, cell, log_confidence)
    return centre, centre - reach, centre + reach
